"""The first Newton steps of the refits of an M-estimator, many resamples side by side."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from orthoboot.errors import StatisticError
from orthoboot.functionals.optima.parameter_target import FunctionOfParameters, ParametersTarget
from orthoboot.functionals.output import Output
from orthoboot.functionals.surrogate import Surrogate
from orthoboot.optimisation.estimating_conditions import Conditions
from orthoboot.optimisation.first_steps import STEPS, Steps, ends_of_first_steps
from orthoboot.typing import FloatArray, IntArray

_OPERATIONS_OF_A_LOSS = 40
"""What the loss of a row costs, in multiplications, besides those with its parameters: that of an exponential."""

_HESSIANS_AT_ONCE = 1 << 21
"""Numbers of the Hessians that are held at once, sixteen megabytes."""


class FittedConditions(Protocol):
    """What is refitted: an M-estimator at its data, as `MEstimatorFit`; it can be pickled."""

    @property
    def conditions(self) -> Conditions:
        """Return the conditions that make parameters the estimate."""

    @property
    def fit(self) -> FloatArray:
        """Return the parameters fitted to the data, shape ``(p,)``."""

    @property
    def target(self) -> ParametersTarget | FunctionOfParameters:
        """Return the outputs as a function of the parameters."""

    @property
    def output(self) -> Output:
        """Return the shape of the outputs."""


@dataclass(frozen=True, eq=False)
class RefitSteps(Surrogate):
    r"""Three Newton steps from the fit of all rows, with the conditions of a resample and their derivative.

    .. math:: \theta_{t+1} = \theta_t - \Big(\sum_j v_j\,\ell''_j(\theta_t) + P''(\theta_t)\Big)^{-1}
              \Big(\sum_j v_j\,\ell'_j(\theta_t) + P'(\theta_t)\Big), \qquad v_j = w_j \Big/ \sum_i w_i,

    for weights w, with the penalty P as it is; or with estimating equations and their derivative in place of the
    gradients and Hessians of the losses. For a quadratic loss one step is exact. The few resamples whose third step is
    not much shorter than the second take up to twenty; there is no value where these do not shrink either, or where a
    Hessian is not positive definite.

    Attributes
    ----------
    at
        What is refitted.
    """

    at: FittedConditions

    @property
    def work(self) -> float:
        """Return the operations of one resample: a gradient is three losses, a row of a Hessian four."""
        n, p = len(self.at.conditions.arrays[0]), len(self.at.fit)
        losses = n * (_OPERATIONS_OF_A_LOSS + 2 * p) * (3 + 4 * p)
        return float(STEPS * (losses + p**3 / 3 + 2 * p**2))

    @property
    def exists(self) -> bool:
        """Return whether the user's functions take many parameters side by side, by a trial where that is not known."""
        conditions = self.at.conditions
        if conditions.is_traced:
            return True
        try:
            self.parameters(np.ones((2, len(conditions.arrays[0]))))
        except Exception:  # of the package, where steps depend on the numbers of the parameters
            return False
        return True

    def values_at(self, weights: tuple[FloatArray, ...]) -> FloatArray:
        """Return the target where the steps end, shape ``(B, k)``; so few at once that their Hessians can be held."""
        at_once = max(_HESSIANS_AT_ONCE // len(self.at.fit) ** 2, 1)
        parts = (weights[0][start : start + at_once] for start in range(0, max(len(weights[0]), 1), at_once))
        with np.errstate(all="ignore"):  # what overflows has no value
            return np.concatenate([self._targets(self._parameters_or_none(part)) for part in parts])

    def _parameters_or_none(self, weights: FloatArray) -> FloatArray:
        """Return `parameters`, or NaN where the package cannot take even a traced loss for many resamples."""
        try:
            return self.parameters(weights)
        except Exception:  # each primitive of a package may refuse, with an error of its own
            return np.full((len(weights), len(self.at.fit)), np.nan)

    def parameters(self, weights: FloatArray) -> FloatArray:
        """Return the parameters where the steps end for weights ``(B, n)``, shape ``(B, p)``; NaN where they do not."""
        shares = weights / weights.sum(axis=1, keepdims=True)

        def steps_from(points: FloatArray, numbers: IntArray) -> Steps:
            some = slice(None) if len(numbers) == len(shares) else numbers
            return self.at.conditions.steps(points, shares[some])

        return ends_of_first_steps(steps_from, self.at.fit, len(weights))

    def _targets(self, parameters: FloatArray) -> FloatArray:
        """Return the outputs, shape ``(B, k)``; NaN without parameters, and where the user's target raises."""
        values = np.full((len(parameters), self.at.output.size), np.nan)
        settled = np.flatnonzero(np.isfinite(parameters).all(axis=1))
        if not settled.size:
            return values
        try:
            values[settled] = self.at.target.values(parameters[settled])
        except StatisticError:
            for place in settled:
                with suppress(StatisticError):
                    values[place] = self.at.target.value(parameters[place])
        return values
