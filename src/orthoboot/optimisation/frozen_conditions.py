"""The KKT conditions with the constraints frozen that bind at one parameter, solved for many others at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from orthoboot.autodiff.base import equal_chunks
from orthoboot.optimisation.kkt_factor import kkt_scales, lone_variables
from orthoboot.solvers import FactoredMatrix
from orthoboot.typing import BoolArray, FloatArray, IntArray

STEPS, MOST_STEPS = 3, 12
"""Each squares the error; the few parameters for which the third is not much shorter than the second take some more."""
_SHRINKING = 0.2
"""Near a solution a step is at most this part of the one before."""
_NEGLIGIBLE = 1e-9
"""Of the first step and of the start: steps so short are rounding, or matter to nobody."""
_NUMBERS_AT_ONCE, _MOST_AT_ONCE = 1 << 18, 256
"""Numbers of the matrices that are held at once, and parameters: their arrays stay in the cache."""
OPERATIONS_OF_CALLS = 1e4
"""What the calls of one step cost beyond its arithmetic for each parameter, in operations."""


class ManyConditions(ABC):
    """Conditions of N unknowns, of which the last are the multipliers of the constraints held, at many parameters.

    They can be pickled.
    """

    @abstractmethod
    def residuals(self, points: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return the conditions at points ``(B, N)``, each with a parameter of its own ``(B, q)``, shape ``(B, N)``."""

    @abstractmethod
    def matrices(self, points: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return their derivatives by the unknowns, symmetric, shape ``(B, N, N)``."""

    @property
    @abstractmethod
    def numbers(self) -> int:
        """Return how many numbers both hold for one parameter."""

    @property
    @abstractmethod
    def work(self) -> float:
        """Return how many operations both take for one parameter: counted, not measured."""


def in_blocks(function: Callable[..., FloatArray], numbers: int, *arrays: FloatArray) -> FloatArray:
    """Return ``function(*arrays)``, found a few rows at a time, all blocks of one size.

    Parameters
    ----------
    function
        Takes rows of the arrays, and returns as many rows.
    numbers
        How many numbers it holds for one row.
    arrays
        As many rows each, at least one.
    """
    size, n = max(min(_NUMBERS_AT_ONCE // numbers, _MOST_AT_ONCE), 1), len(arrays[0])
    return np.concatenate([function(*(array[chunk] for array in arrays)) for chunk in equal_chunks(n, size)])[:n]


@dataclass(frozen=True, eq=False)
class FrozenConditions:
    r"""The solution of conditions :math:`F(z, \xi) = 0` for many :math:`\xi`, by Newton's method from one known.

    .. math:: z_{t+1} = z_t - F_z(z_t, \xi)^{-1} F(z_t, \xi)

    One step is exact where the conditions are linear in z, as those of a quadratic objective under linear constraints
    are. Else three are taken, and a few more where they do not shrink yet. There is no solution where they never do, or
    where the determinant of :math:`F_z` has not the sign that it has at the known solution: on the way a direction has
    lost its curvature.

    Attributes
    ----------
    conditions
        The conditions and their derivatives.
    start
        The solution that is known, shape ``(N,)``.
    matrix
        The derivative there, shape ``(N, N)``.
    n_constraints
        How many of the unknowns are multipliers, the last ones.
    is_linear
        Whether the conditions are linear in z.
    constant
        The factors of the derivative where it is the same for all z and parameters, else None.
    """

    conditions: ManyConditions
    start: FloatArray
    matrix: FloatArray
    n_constraints: int
    is_linear: bool
    constant: FactoredMatrix | None = None

    @property
    def n_steps(self) -> int:
        """Return how many steps are taken mostly."""
        return 1 if self.is_linear else STEPS

    @property
    def work(self) -> float:
        """Return how many operations one parameter takes: the conditions, a determinant and a solution."""
        size = len(self.start)
        algebra = 2 * size**2 if self.constant is not None else 4 * size**3 / 3 + 2 * size**2
        return self.n_steps * (OPERATIONS_OF_CALLS + self.conditions.work + algebra)

    def solutions(self, parameters: FloatArray) -> FloatArray:
        """Return the solutions at parameters ``(B, q)``, shape ``(B, N)``; NaN where there is none."""
        with np.errstate(all="ignore"):  # what overflows has no value
            return in_blocks(self._side_by_side, self.conditions.numbers, parameters)

    def _side_by_side(self, parameters: FloatArray) -> FloatArray:
        points = np.tile(self.start, (len(parameters), 1))
        if self.is_linear:
            return points - self._steps(points, parameters)
        settled = np.zeros(len(parameters), dtype=np.bool_)
        first = previous = np.full(len(parameters), np.nan)
        for number in range(1, MOST_STEPS + 1):
            steps = self._steps(points, parameters)
            points = np.where(settled[:, np.newaxis], points, points - steps)
            lengths = self._lengths(steps)
            if number == 1:
                first = lengths
            elif number >= STEPS:
                settled |= self._has_settled(first, previous, lengths)
            if (settled | np.isnan(lengths)).all():
                break
            previous = lengths
        return np.where(settled[:, np.newaxis], points, np.nan)

    def _has_settled(self, first: FloatArray, previous: FloatArray, lengths: FloatArray) -> BoolArray:
        rounding = _NEGLIGIBLE * np.maximum(first, self._lengths(self.start))
        settled: BoolArray = lengths <= np.maximum(_SHRINKING * previous, rounding)
        return settled

    def _lengths(self, steps: FloatArray) -> FloatArray:
        """Return the lengths of steps ``(..., N)`` in units that the derivative gives, shape ``(...,)``."""
        lengths: FloatArray = np.linalg.norm(steps / self._scales, axis=-1)
        return lengths

    def _steps(self, points: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return what each point is to be moved back by, shape ``(B, N)``; NaN where there is no step."""
        residuals = self.conditions.residuals(points, parameters)
        if self.constant is not None:
            return self.constant.solve(residuals.T).T
        matrices = self.conditions.matrices(points, parameters)
        steps = self._solved(matrices, residuals)
        bounds, held = self._lone
        entries = matrices[:, bounds, held]
        # What a bound holds does not move, to the last bit.
        alone = np.count_nonzero(matrices[:, bounds], axis=2) == 1
        steps[:, held] = np.where(alone, residuals[:, bounds] / entries, steps[:, held])
        return steps

    def _solved(self, matrices: FloatArray, residuals: FloatArray) -> FloatArray:
        scales = self._scales
        scaled = matrices * np.outer(scales, scales)
        regular = np.linalg.slogdet(scaled)[0] == self._sign
        scaled[~regular] = np.eye(len(scales))
        solved = scales * np.linalg.solve(scaled, (residuals * scales)[..., np.newaxis])[..., 0]
        return np.where(regular[:, np.newaxis], solved, np.nan)

    @cached_property
    def _scales(self) -> FloatArray:
        return kkt_scales(self.matrix, self.n_constraints)

    @cached_property
    def _sign(self) -> float:
        return float(np.linalg.slogdet(self.matrix * np.outer(self._scales, self._scales))[0])

    @cached_property
    def _lone(self) -> tuple[IntArray, IntArray]:
        """Return the constraints that hold one variable alone, as rows of the matrix, and these variables."""
        p = len(self.start) - self.n_constraints
        bounds, held = lone_variables(self.matrix[p:, :p])
        return p + bounds, held
