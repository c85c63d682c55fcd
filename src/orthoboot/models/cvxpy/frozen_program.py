"""Solutions of cvxpy problems with the constraints frozen that bind at the data: surrogates of solving them again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from orthoboot.draws.resamples import Resamples
from orthoboot.errors import FitError
from orthoboot.functionals.base import Prepared
from orthoboot.functionals.surrogate import Surrogate
from orthoboot.optimisation.frozen_conditions import FrozenConditions, ManyConditions
from orthoboot.optimisation.kkt_factor import kkt_factor
from orthoboot.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from orthoboot.models.cvxpy.cone_program import SolvedProgram
    from orthoboot.models.cvxpy.solution import SolutionMap

_MOST_PARAMETERS = 100
"""Parameters for which a problem is compiled again to see how it depends on them: half a millisecond each."""
_SOLVE, _COMPILATION = 7e6, 2.5e6
"""What a solve, and a compilation for another parameter, cost in operations: 1.5 and 0.5 milliseconds."""
_SOLVES = 10
"""Which are to cost no less than the compilations and the draws."""
_REPRODUCED = 1e-6
"""How far, beside the largest number of its target, the surrogate may be off the solution at the data."""


@dataclass(frozen=True, eq=False)
class ProgramConditions(ManyConditions):
    r"""The conditions :math:`Px + c + A'y = 0`, :math:`Ax = b` with the rows of A that are held.

    Attributes
    ----------
    numbers_here
        P, c, A and b one after the other at the estimates of the parameters.
    n_variables, n_rows
        The length of x, and of y.
    point
        The estimates of the K parameters that move, shape ``(K,)``.
    places, slopes
        Which numbers change with them, ``(j,)``, and how, ``(K, j)``.
    """

    numbers_here: FloatArray
    n_variables: int
    n_rows: int
    point: FloatArray
    places: IntArray
    slopes: FloatArray

    def residuals(self, points: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return the conditions, shape ``(B, n + m)``."""
        P, c, A, b = self.data(parameters)
        x, y = points[:, : self.n_variables], points[:, self.n_variables :]
        slope = np.einsum("bij,bj->bi", P, x) + c + np.einsum("bji,bj->bi", A, y)
        return np.hstack([slope, np.einsum("bij,bj->bi", A, x) - b])

    def matrices(self, points: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return the KKT matrices, shape ``(B, n + m, n + m)``."""
        P, _, A, _ = self.data(parameters)
        n, size = self.n_variables, self.n_variables + self.n_rows
        matrices = np.zeros((len(parameters), size, size))
        matrices[:, :n, :n], matrices[:, n:, :n], matrices[:, :n, n:] = P, A, A.transpose(0, 2, 1)
        return matrices

    def data(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return P, c, A and b at parameters ``(B, K)``, with B in front of their shapes."""
        numbers = np.tile(self.numbers_here, (len(parameters), 1))
        numbers[:, self.places] += (parameters - self.point) @ self.slopes
        n, m = self.n_variables, self.n_rows
        P, c, A, b = np.split(numbers, np.cumsum([n * n, n, m * n]), axis=1)
        return P.reshape(-1, n, n), c, A.reshape(-1, m, n), b

    @property
    def numbers(self) -> int:
        """Return the numbers of a KKT matrix."""
        return (self.n_variables + self.n_rows) ** 2

    @property
    def work(self) -> float:
        """Return the operations of the products of parameters with slopes, and of matrices with points."""
        return float(4 * (self.slopes.size + self.numbers))

    @property
    def is_constant(self) -> bool:
        """Return whether neither P nor A depends on the parameters."""
        n, m = self.n_variables, self.n_rows
        of_matrices = (self.places < n * n) | ((self.places >= n * n + n) & (self.places < n * n + n + m * n))
        return not of_matrices.any()


def rounded(numbers: FloatArray, units: FloatArray) -> FloatArray:
    """Return the nearest multiples of units; a unit of zero leaves its number as it is."""
    multiples = np.divide(numbers, units, out=np.zeros_like(numbers), where=units > 0)
    return np.where(units > 0, np.round(multiples) * units, numbers)


@dataclass(frozen=True, eq=False)
class TargetRounding:
    """What is told of the numbers of the targets.

    Attributes
    ----------
    units
        To which they are rounded, shape ``(k,)``.
    held
        The values of those that have no influence, as what a bound holds, and NaN for the others, shape ``(k,)``.
    """

    units: FloatArray
    held: FloatArray

    def __call__(self, numbers: FloatArray) -> FloatArray:
        """Return the numbers ``(B, k)`` rounded; those that are held stay where they are."""
        return np.where(np.isnan(self.held) | np.isnan(numbers), rounded(numbers, self.units), self.held)


@dataclass(frozen=True, eq=False)
class FrozenProgram(Surrogate):
    """The targets at the parameters of a resample, with the constraints held that bind at the data and no others.

    The cone program is affine in the parameters, and with its binding rows as equalities its solution is that of one
    system of linear equations.

    Attributes
    ----------
    estimates
        The statistics that estimate the parameters, at the data.
    moving
        Which of their numbers move, shape ``(K,)``.
    frozen
        The KKT conditions at the solution of the data.
    solved
        The program there, whose targets are known.
    rounding
        What is told of the digits of the targets.
    """

    estimates: tuple[Prepared[Any], ...]
    moving: IntArray
    frozen: FrozenConditions
    solved: SolvedProgram
    rounding: TargetRounding

    def values_at(self, weights: tuple[FloatArray, ...]) -> FloatArray:
        """Return the targets, shape ``(B, k)``; NaN where a parameter has no estimate."""
        resamples = Resamples(weights)
        points = np.hstack([estimate.evaluate(resamples).values for estimate in self.estimates])
        return self.outputs(points[:, self.moving])

    def outputs(self, parameters: FloatArray) -> FloatArray:
        """Return the targets at parameters that move in rows ``(B, K)``, shape ``(B, k)``."""
        x = self.frozen.solutions(parameters)[:, : self.solved.program.n_variables]
        parts = [
            self._objectives(x, parameters) if known is None else x @ known[0].T + known[1]
            for known in self.solved.recovery
        ]
        return self.rounding(np.hstack(parts))

    def _objectives(self, x: FloatArray, parameters: FloatArray) -> FloatArray:
        conditions = self.frozen.conditions
        assert isinstance(conditions, ProgramConditions)
        P, c, _, _ = conditions.data(parameters)
        values = np.einsum("bi,bij,bj->b", x, P, x) / 2 + np.einsum("bi,bi->b", c, x)
        offsets = self.solved.offset + (parameters - conditions.point) @ self.solved.offset_slopes
        objectives: FloatArray = self.solved.sign * values + offsets
        return objectives[:, np.newaxis]

    @property
    def work(self) -> float:
        """Return the operations of the estimates and of the system of one resample."""
        estimates = sum(2 * (estimate.work or 0.0) * estimate.output.size for estimate in self.estimates)
        return float(estimates + self.frozen.work)

    @property
    def replaced_work(self) -> float:
        """Return the operations of one solve, a call and the systems of its steps, less a tenth of the compilations."""
        return max(_SOLVE + 10 * self.frozen.work - _COMPILATION * len(self.moving) / _SOLVES, 0.0)


def _frozen_conditions(solved: SolvedProgram, point: FloatArray) -> FrozenConditions | None:
    """Return the conditions of a program with its binding rows as equalities; None where they are singular."""
    program, rows = solved.program, solved.held
    m, n = program.shape
    # The numbers of the rows that are not held are left out, and the places of the others change with that.
    kept = np.concatenate(
        [
            np.arange(n * n + n),
            n * n + n + (rows[:, np.newaxis] * n + np.arange(n)).ravel(),
            n * n + n + m * n + rows,
        ]
    )
    new_places = np.full(program.numbers.size, -1)
    new_places[kept] = np.arange(len(kept))
    among_kept = new_places[solved.places] >= 0
    conditions = ProgramConditions(
        program.numbers[kept], n, len(rows), point, new_places[solved.places[among_kept]], solved.slopes[:, among_kept]
    )
    start = np.concatenate([solved.x, solved.multipliers[rows]])
    matrix = conditions.matrices(start[np.newaxis], point[np.newaxis])[0]
    try:
        factor = kkt_factor(matrix, tuple(map(str, range(len(matrix)))), len(rows))
    except FitError:
        return None
    return FrozenConditions(
        conditions, start, matrix, len(rows), is_linear=True, constant=factor if conditions.is_constant else None
    )


def frozen_program(
    solutions: SolutionMap, estimates: tuple[Prepared[Any], ...], moving: IntArray, rounding: TargetRounding
) -> FrozenProgram | None:
    """Return the surrogate of a problem; None where it is no linear or quadratic program, or too large for one.

    Parameters
    ----------
    solutions
        The problem, which is solved here at other parameters.
    estimates
        The statistics that estimate its parameters, at the data.
    moving
        Which of their numbers move.
    rounding
        What is told of the digits of the targets.
    """
    from orthoboot.models.cvxpy.cone_program import solved_program

    point = np.concatenate([estimate.estimate for estimate in estimates])
    if not 0 < len(moving) <= _MOST_PARAMETERS:
        return None
    try:
        solved = solved_program(solutions, point, moving)
    except Exception:  # what cvxpy compiles a problem to may change: without it the linear part remains
        return None
    frozen = None if solved is None else _frozen_conditions(solved, point[moving])
    if solved is None or frozen is None:
        return None
    surrogate = FrozenProgram(estimates, moving, frozen, solved, rounding)
    targets = solutions(point)
    apart, largest = np.abs(surrogate.outputs(point[np.newaxis, moving])[0] - targets), solutions.scales(targets)
    # What reproduces the solution has the right constraints and the right program.
    return surrogate if (apart <= _REPRODUCED * np.maximum(largest, solutions.zero)).all() else None
