"""Mean losses of weighted rows that are read part by part, for many vectors of weights in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from orthoboot.arrays.pairs import pair_columns
from orthoboot.arrays.pairs import symmetric as symmetric_matrices
from orthoboot.arrays.products import product_in_one_thread
from orthoboot.draws.resamples import BlockWeights
from orthoboot.errors import FitError
from orthoboot.functionals.regression.design_in_pieces import Basis, BasisRows, Blocks, DesignInPieces
from orthoboot.functionals.regression.design_matrix import RegressionArrays
from orthoboot.functionals.regression.families import Family, PredictorLosses
from orthoboot.functionals.regression.search_limits import MAX_ITERATIONS, REGULAR, RUNNING_AWAY, STEP, no_fit
from orthoboot.optimisation.newton import Minimum, newton_minima
from orthoboot.solvers.positive_solution import positive_solution
from orthoboot.typing import FloatArray

_NUMBERS_OF_A_BLOCK = 64
"""Numbers for which a row counts: blocks are to be short, since each row has a weight and a loss in many resamples."""

_NUMBERS_AT_ONCE = 1 << 17
"""Losses that are computed at once, a megabyte for each of their derivatives."""


@dataclass(frozen=True, eq=False)
class RowLosses:
    """The losses of rows as functions of coefficients in the orthonormal basis of the columns.

    Attributes
    ----------
    basis
        The rows in that basis.
    family, link
        The loss of a row as a function of its linear predictor.
    """

    basis: Basis
    family: Family
    link: str


class Diagnosis(NamedTuple):
    """What is to be known of resamples whose fit is in doubt, each of shape ``(B,)``.

    Attributes
    ----------
    n_rows
        How many rows they have, each counted once.
    n_edge
        How many of these have a fitted mean at the end of its range.
    largest_shift
        By how much the last step changed the linear predictor of a row at most.
    """

    n_rows: FloatArray
    n_edge: FloatArray
    largest_shift: FloatArray


@dataclass(frozen=True, eq=False)
class LossesInPieces:
    """The mean losses of all rows for several vectors of weights on them.

    Attributes
    ----------
    design
        The rows.
    of_rows
        The loss of a row.
    weights
        On the rows, without the case weights.
    typical
        The mean response of all rows.
    largest_row
        The length of the longest row of the basis.
    """

    design: DesignInPieces
    of_rows: RowLosses
    weights: BlockWeights
    typical: float
    largest_row: float
    directions: dict[int, FloatArray] = field(default_factory=dict)
    """The last step from each point, by the places of the weights."""

    def at(self, places: Sequence[int], points: Sequence[FloatArray], *, expected: bool = False) -> list[LossAt]:
        """Return the losses for some of the weights, each at a point of its own, from one pass.

        Parameters
        ----------
        places, points
            Which weights, and the coefficients of each in the orthonormal basis.
        expected
            Whether the Hessian is the expected one, that of Fisher's scoring.
        """
        task = _SumOfLosses(self.of_rows, self.weights, tuple(places), np.array(points), expected)
        d = len(self.design.names)
        width = max(_NUMBERS_OF_A_BLOCK, d * (d + 1) // 2)
        sums = sum(self.design.sample.reduced(task, width), start=np.zeros(1))
        means = sums[:, 1:] / sums[:, :1]
        hessians = symmetric_matrices(means[:, 2 + d :], d)
        return [
            LossAt(self, place, point, float(mean[0]), float(mean[1]), mean[2 : 2 + d], hessian)
            for place, point, mean, hessian in zip(places, points, means, hessians, strict=True)
        ]

    def minima(self, places: Sequence[int], starts: Sequence[FloatArray]) -> list[FloatArray | FitError]:
        """Return for some of the weights the coefficients that minimise the loss, or why there are none."""
        found = newton_minima(
            starts,
            lambda some, points: self.at([places[one] for one in some], points),
            tolerance=_tolerance,
            max_iterations=MAX_ITERATIONS,
        )
        return [self._checked(place, minimum) for place, minimum in zip(places, found, strict=True)]

    def _checked(self, place: int, found: Minimum | FitError) -> FloatArray | FitError:
        if isinstance(found, FitError):
            return found
        # No row has moved further than the longest; only where that is far is a pass worth its time.
        farthest = self.largest_row * float(np.linalg.norm(self.directions[place]))
        if found.converged and farthest <= RUNNING_AWAY:
            return found.point
        diagnosis = self.diagnosis([place], [found.point])
        if not found.converged or (diagnosis.largest_shift[0] > RUNNING_AWAY and diagnosis.n_edge[0] > 0):
            return FitError(self.failure(diagnosis))
        return found.point

    def diagnosis(self, places: Sequence[int], points: Sequence[FloatArray]) -> Diagnosis:
        """Return what is to be known of weights whose fit is in doubt, from one pass."""
        still = np.zeros(len(self.design.names))
        steps = np.array([self.directions.get(place, still) for place in places])
        task = _Diagnosing(self.of_rows, self.weights, tuple(places), np.array(points), steps, self.typical)
        n_rows, n_edge, shifts = zip(*self.design.sample.reduced(task, _NUMBERS_OF_A_BLOCK), strict=True)
        return Diagnosis(np.sum(n_rows, axis=0), np.sum(n_edge, axis=0), np.max(shifts, axis=0))

    def failure(self, diagnosis: Diagnosis) -> str:
        """Return in words why there is no fit."""
        return no_fit(int(diagnosis.n_edge[0]), int(diagnosis.n_rows[0]), self.of_rows.link)


@dataclass(frozen=True, eq=False)
class LossAt:
    """The mean loss for one vector of weights at a point.

    Attributes
    ----------
    losses, place, point
        Which of the losses, and where.
    value, gradient, hessian
        The loss and its derivatives by the coefficients in the orthonormal basis.
    size
        The mean of the squared linear predictors, each times the information of its row.
    """

    losses: LossesInPieces
    place: int
    point: FloatArray
    value: float
    size: float
    gradient: FloatArray
    hessian: FloatArray

    def step(self) -> FloatArray:
        """Return the Newton step; where the Hessian is not positive definite, the one of Fisher's scoring."""
        for matrix in self._matrices():
            direction = positive_solution(matrix, -self.gradient, least_condition=REGULAR)
            if direction is not None:
                self.losses.directions[self.place] = direction
                return direction
        raise FitError(self.losses.failure(self.losses.diagnosis([self.place], [self.point])))

    def _matrices(self) -> Iterator[FloatArray]:
        yield self.hessian
        # Not positive definite: for lack of rows, which no other matrix helps, or for the shape of the loss.
        self.losses.design.factors_of_resample(self.losses.weights, self.place, _response)
        yield self.losses.at([self.place], [self.point], expected=True)[0].hessian


def _response(rows: RegressionArrays) -> FloatArray:
    return rows.response


def _tolerance(start: LossAt) -> float:
    """Return the decrement at which the predictors change by a negligible share of themselves."""
    return STEP**2 * start.size


def _groups(number: int, n_rows: int) -> Iterator[slice]:
    """Yield the places of a few resamples at a time, so that what is computed of a block stays small."""
    step = max(_NUMBERS_AT_ONCE // max(n_rows, 1), 1)
    return (slice(start, start + step) for start in range(0, number, step))


@dataclass(frozen=True, eq=False)
class _SumOfLosses:
    """Sums over the rows of a part, shape ``(B, 3 + d + d (d + 1) / 2)``.

    Of the weights, the losses, the squared predictors times the information, the gradients, and the Hessians' upper
    triangles.
    """

    of_rows: RowLosses
    weights: BlockWeights
    places: tuple[int, ...]
    points: FloatArray
    expected: bool

    def __call__(self, blocks: Blocks) -> FloatArray:
        """Return the sums over the blocks of a part."""
        d = self.points.shape[1]
        total = np.zeros((len(self.places), 3 + d + d * (d + 1) // 2))
        for start, data in blocks:
            rows = self.of_rows.basis(data)
            pairs = pair_columns(np.ascontiguousarray(rows.basis.T)).T
            for group in _groups(len(self.places), len(rows.basis)):
                weights = self.weights(self.places[group], start, data) * rows.case_weights
                total[group] += self._sums(weights, rows, pairs, self.points[group])
        return total

    def _sums(self, weights: FloatArray, rows: BasisRows, pairs: FloatArray, points: FloatArray) -> FloatArray:
        eta = product_in_one_thread(points, rows.basis.T)
        losses = self.of_rows.family.losses(rows.response, eta, self.of_rows.link)
        sums = self._weighted(weights, eta, losses, rows, pairs)
        if np.isfinite(sums).all():
            return sums
        # Rows of weight zero are not looked at: their predictors may be where the link has no mean.
        kept = weights != 0
        losses = PredictorLosses(
            *(
                np.where(kept, values, 0.0)
                for values in (losses.value, losses.slope, losses.curvature, losses.information)
            )
        )
        return self._weighted(weights, eta, losses, rows, pairs)

    def _weighted(
        self, weights: FloatArray, eta: FloatArray, losses: PredictorLosses, rows: BasisRows, pairs: FloatArray
    ) -> FloatArray:
        curvature = losses.information if self.expected else losses.curvature
        return np.column_stack(
            [
                weights.sum(axis=1),
                np.einsum("bj,bj->b", weights, losses.value),
                np.einsum("bj,bj,bj,bj->b", weights, losses.information, eta, eta),
                product_in_one_thread(weights * losses.slope, rows.basis),
                product_in_one_thread(weights * curvature, pairs),
            ]
        )


@dataclass(frozen=True, eq=False)
class _Diagnosing:
    """What a part has of a `Diagnosis`."""

    of_rows: RowLosses
    weights: BlockWeights
    places: tuple[int, ...]
    points: FloatArray
    steps: FloatArray
    typical: float

    def __call__(self, blocks: Blocks) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the numbers of rows and of those at the edge, and the largest shifts, each of shape ``(B,)``."""
        n_rows, n_edge, shifts = np.zeros((3, len(self.places)))
        for start, data in blocks:
            rows = self.of_rows.basis(data)
            for group in _groups(len(self.places), len(rows.basis)):
                kept = self.weights(self.places[group], start, data) != 0
                eta = self.points[group] @ rows.basis.T
                edge = self.of_rows.family.at_the_edge(rows.response, eta, self.of_rows.link, self.typical)
                moved = np.where(kept, np.abs(self.steps[group] @ rows.basis.T), 0.0)
                n_rows[group] += kept.sum(axis=1)
                n_edge[group] += (kept & edge).sum(axis=1)
                shifts[group] = np.maximum(shifts[group], moved.max(axis=1, initial=0.0))
        return n_rows, n_edge, shifts
