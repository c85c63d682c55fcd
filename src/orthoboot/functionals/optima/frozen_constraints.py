"""Constrained optima with the constraints frozen that bind at the data: surrogates of solving them again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orthoboot.draws.resamples import Resamples
from orthoboot.errors import FitError
from orthoboot.functionals.feature_means import FeatureMeans
from orthoboot.functionals.surrogate import Surrogate
from orthoboot.optimisation.frozen_conditions import FrozenConditions, ManyConditions, in_blocks
from orthoboot.optimisation.kkt import Optimum, is_linear_in_unknowns, system_at
from orthoboot.optimisation.lagrangian import Lagrangian
from orthoboot.typing import FloatArray, IntArray

_CALLS_OF_A_SEARCH = 5e6
"""What the calls of a search from the optimum of the data cost beyond its arithmetic, in operations: a millisecond."""
_PASS = 4
"""How many times what a function takes its derivative along a direction takes."""


@dataclass(frozen=True, eq=False)
class LagrangianConditions(ManyConditions):
    """The derivative of a Lagrangian by x and by the multipliers of the constraints held.

    Attributes
    ----------
    lagrangian
        Of all constraints.
    unknowns
        The positions of x and of the multipliers held among x and all multipliers.
    n_constraints, n_parameters
        Their numbers, m and q.
    """

    lagrangian: Lagrangian
    unknowns: IntArray
    n_constraints: int
    n_parameters: int

    def residuals(self, points: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return the derivatives of the Lagrangian by the unknowns, shape ``(B, N)``."""
        return self.lagrangian.gradients(self._filled(points), parameters)[:, self.unknowns]

    def matrices(self, points: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return the second derivatives by the unknowns, shape ``(B, N, N)``."""
        matrices = self.lagrangian.matrices(self._filled(points), parameters)
        return matrices[:, self.unknowns[:, np.newaxis], self.unknowns]

    @property
    def numbers(self) -> int:
        """Return how many second derivatives there are, with the functions' own numbers."""
        return self._size * (self._size + self.n_parameters)

    @property
    def work(self) -> float:
        """Return the operations of one pass for each unknown through functions of all numbers."""
        return float(_PASS * (self._size + 1) * (self._size + self.n_parameters))

    @property
    def _size(self) -> int:
        return self.lagrangian.n_variables + self.n_constraints

    def _filled(self, points: FloatArray) -> FloatArray:
        filled = np.zeros((len(points), self._size))
        filled[:, self.unknowns] = points
        return filled


@dataclass(frozen=True, eq=False)
class FrozenConstraints(Surrogate):
    """The optimum at the mean of a resample, with the constraints held that bind at the data and no others.

    Which constraints bind is not looked at again: where a resample lets one go or makes another one bind, the
    surrogate is wrong, and the replicates and the probes tell.

    Attributes
    ----------
    means
        The rows whose mean is the parameter xi.
    frozen
        The KKT conditions at the optimum of the data.
    lagrangian
        Whose objective is the value.
    parts
        Which of ``"solution"`` and ``"value"`` are the outputs, in order.
    """

    means: FeatureMeans
    frozen: FrozenConditions
    lagrangian: Lagrangian
    parts: tuple[str, ...]

    def values_at(self, weights: tuple[FloatArray, ...]) -> FloatArray:
        """Return the outputs, shape ``(B, k)``."""
        resamples = Resamples(weights)
        shifts = resamples.sums(0, self.means.deviations) / resamples.totals(0)[:, np.newaxis]
        return self.outputs(self.means.centre + shifts)

    def outputs(self, parameters: FloatArray) -> FloatArray:
        """Return the outputs at values of xi in rows ``(B, q)``, shape ``(B, k)``; NaN where there is no optimum."""
        x = self.frozen.solutions(parameters)[:, : self.lagrangian.n_variables]
        outputs = {"solution": x}
        if "value" in self.parts:
            numbers = self.frozen.conditions.numbers
            outputs["value"] = in_blocks(self.lagrangian.objectives, numbers, x, parameters)[:, np.newaxis]
        return np.hstack([outputs[part] for part in self.parts])

    @property
    def work(self) -> float:
        """Return the operations of the mean and of the steps of one resample."""
        return float(2 * self.means.deviations.size + self.frozen.work)

    @property
    def replaced_work(self) -> float:
        """Return the operations of one search: its calls, and the arithmetic of its steps and of what verifies them."""
        return _CALLS_OF_A_SEARCH + 2 * self.frozen.work


def frozen_constraints(means: FeatureMeans, optimum: Optimum, parts: tuple[str, ...]) -> FrozenConstraints | None:
    """Return the surrogate of an optimum at the mean of the rows; None where there is none.

    The package must be able to differentiate the functions at many points together, and the KKT matrix be regular.
    """
    problem, centre, working = optimum.system.problem, means.centre, optimum.system.working
    try:
        system = system_at(problem, centre, optimum.x, optimum.multipliers, working)
        factor = system.factor
    except FitError:
        return None
    unknowns, lagrangian = system.unknowns, problem.lagrangian
    frozen = FrozenConditions(
        conditions=LagrangianConditions(lagrangian, unknowns, problem.n_constraints, len(centre)),
        start=np.concatenate([optimum.x, optimum.multipliers])[unknowns],
        matrix=system.matrix[np.ix_(unknowns, unknowns)],
        n_constraints=len(working),
        is_linear=is_linear_in_unknowns(optimum, centre),
        constant=factor if optimum.system.constant else None,
    )
    surrogate = FrozenConstraints(means, frozen, lagrangian, parts)
    try:
        found = surrogate.outputs(centre[np.newaxis])
    except Exception:  # where the steps of the functions depend on the numbers, each package has an error of its own
        return None
    return surrogate if np.isfinite(found).all() else None
