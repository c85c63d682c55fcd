"""The matrix of a regression whose rows are read part by part: checked, and factorised in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from orthoboot.arrays.row_blocks import rows_times
from orthoboot.arrays.units import ones_for_zeros
from orthoboot.data import Data
from orthoboot.data.pieces import SampleInPieces, in_pieces
from orthoboot.draws.resamples import BlockWeights
from orthoboot.errors import OrthobootWarning
from orthoboot.functionals.regression.design_findings import (
    ROWS_WITH_THE_COMMON_VALUE,
    common_values,
    nearly_dependent,
    resting_on_few,
)
from orthoboot.functionals.regression.design_matrix import (
    RegressionArrays,
    arrays_of,
    check_enough_rows,
    check_independent,
    check_independent_on_resample,
    check_tables,
    column_names,
    refused_case_weights,
)
from orthoboot.solvers.tall_qr import ScaledTriangle, tall_triangle
from orthoboot.typing import BoolArray, FloatArray

Blocks = Iterator[tuple[int, Data]]
"""The blocks of a part, each with the number of its first row."""

_RESPONSE, _CASE_WEIGHTS = 1, 2
"""The places of the tables."""


class BasisRows(NamedTuple):
    """X, y and the case weights a of some rows, and the rows of X in the basis, shape ``(m, d)``.

    The columns of the basis, times the roots of the case weights, are orthonormal over all rows.
    """

    X: FloatArray
    response: FloatArray
    case_weights: FloatArray
    basis: FloatArray


@dataclass(frozen=True, eq=False)
class Basis:
    """The basis ``X R^-1`` in which the columns are rewritten, of which every block is computed by itself."""

    intercept: bool
    rotation: FloatArray

    def __call__(self, data: Data) -> BasisRows:
        """Return the rows of a block."""
        arrays = arrays_of(data, intercept=self.intercept)
        return BasisRows(*arrays, rows_times(arrays.X, self.rotation))


class Factors(NamedTuple):
    """The QR factorisation of the columns and the response, without the orthonormal columns Q.

    Attributes
    ----------
    factor
        The triangle of the columns.
    rotated
        ``Q' y``, shape ``(d,)``, rows times the roots of their weights in both.
    first_rows
        The first rows of X, as many as it takes to see the common value of a column.
    """

    factor: ScaledTriangle
    rotated: FloatArray
    first_rows: FloatArray


@dataclass(frozen=True, eq=False)
class DesignInPieces:
    """The columns and the response of a regression, read part by part.

    Attributes
    ----------
    name
        What messages call the regression.
    data
        The tables.
    intercept
        Whether a column of ones comes first.
    """

    name: str
    data: Data
    intercept: bool

    def check(self) -> None:
        """Raise a `DataError` unless the tables are those of a regression, with positive case weights."""
        check_tables(self.name, self.data)
        if self.has_case_weights and self.table_range(_CASE_WEIGHTS)[0] <= 0:
            raise refused_case_weights(self.name, *broken_rows(self.sample, _CASE_WEIGHTS, _not_positive))
        check_enough_rows(self.name, self.n_rows, len(self.names), intercept=self.intercept)

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return self.data.sizes[0]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return column_names(self.name, self.data, intercept=self.intercept)[0]

    @property
    def labels(self) -> tuple[str, ...]:
        """Return what messages call the columns."""
        return column_names(self.name, self.data, intercept=self.intercept)[1]

    @cached_property
    def sample(self) -> SampleInPieces:
        """Return the rows."""
        sample = in_pieces(self.data)
        assert sample is not None
        return sample

    @property
    def has_case_weights(self) -> bool:
        """Return whether the rows have weights of their own."""
        return len(self.data.tables) > _CASE_WEIGHTS

    @property
    def response_range(self) -> tuple[float, float]:
        """Return the smallest and the largest response."""
        return self.table_range(_RESPONSE)

    def refused_responses(self, is_broken: Callable[[FloatArray], BoolArray]) -> tuple[int, int, float]:
        """Return how many responses are not valid, the number of the first such row, and its response."""
        return broken_rows(self.sample, _RESPONSE, is_broken)

    def table_range(self, table: int) -> tuple[float, float]:
        """Return the smallest and the largest number of a table with one column."""
        (found,) = self.data.tables[table].ranges
        return float(found.low[0]), float(found.high[0])

    @cached_property
    def mean_response(self) -> float:
        """Return the mean of the responses."""
        frame, place = self.sample.whole.frame, int(np.prod(self.data.row_shapes[0], dtype=int))
        return float(frame.unit[place] * (frame.mean[0][place] + frame.mean[1][place]))

    @cached_property
    def peaks(self) -> FloatArray:
        """Return what no number of X exceeds, and none of y, shape ``(d + 1,)``; ones for columns of zeros."""
        largest = [found.largest for table in self.data.tables[:_CASE_WEIGHTS] for found in table.ranges]
        return ones_for_zeros(np.concatenate([np.ones(int(self.intercept)), *largest]))

    @cached_property
    def factors(self) -> Factors:
        """Return the factorisation; raise a `DataError` where the columns are dependent."""
        factors = self._factorised(partial(_all_rows, self.intercept))
        check_independent(self.name, factors.factor, self.labels)
        return factors

    def factors_of_resample(
        self, weights: BlockWeights, place: int, response: Callable[[RegressionArrays], FloatArray]
    ) -> Factors:
        """Return the factorisation on one resample; raise a `FitError` where its rows leave the columns dependent.

        Parameters
        ----------
        weights, place
            The weights of the rows of blocks, and which of the resamples is meant.
        response
            What stands in for y, given rows.
        """
        factors = self._factorised(partial(_resampled_rows, self.intercept, weights, place, response))
        check_independent_on_resample(factors.factor, self.labels)
        return factors

    def _factorised(self, rows: Callable[[int, Data], RegressionArrays]) -> Factors:
        """Return the factorisation of rows that are computed from blocks.

        Triangles of parts are joined to one of all (see `tall_qr`): as stable as a factorisation of the whole, while a
        matrix of cross products would lose digits with the square of the condition of the columns.
        """
        d = len(self.names)
        roots = np.sqrt(self.table_range(_CASE_WEIGHTS)[1]) if self.has_case_weights else 1.0
        peaks = self.peaks * roots
        parts = list(self.sample.reduced(partial(_part_triangle, rows, peaks), 2 * d))
        triangle = tall_triangle(np.concatenate([triangle for triangle, _ in parts]))[:d]
        lengths = ones_for_zeros(np.sqrt(np.sum(np.square(triangle[:, :d]), axis=0)))
        factor = ScaledTriangle(triangle[:, :d] / lengths, peaks[:d] * lengths)
        first_rows = np.concatenate([first for _, first in parts])[:ROWS_WITH_THE_COMMON_VALUE]
        return Factors(factor, triangle[:, d] * peaks[d], first_rows)

    @cached_property
    def basis(self) -> Basis:
        """Return the basis in which the columns are orthonormal."""
        return Basis(self.intercept, self.factors.factor.back_rotation())

    def findings(self) -> tuple[OrthobootWarning, ...]:
        """Return a warning where the columns are nearly dependent, and where a coefficient rests on few rows."""
        factor, common = self.factors.factor, common_values(self.factors.first_rows)
        task = partial(_part_shares, self.basis, factor.inverse_triangle.T, common)
        squares, fourth_powers, n_varying = sum(self.sample.reduced(task, 4 * len(common)), start=np.zeros(1))
        effective = squares**2 / fourth_powers
        return (*nearly_dependent(factor), *resting_on_few(self.names, self.n_rows, n_varying, effective))


def broken_rows(
    sample: SampleInPieces, table: int, is_broken: Callable[[FloatArray], BoolArray]
) -> tuple[int, int, float]:
    """Return how many numbers of a table are not valid, the number of the first such row, and its number."""
    found = [part for part in sample.reduced(partial(_part_broken, table, is_broken), 1) if part is not None]
    return sum(number for number, *_ in found), *found[0][1:]


def _not_positive(weights: FloatArray) -> BoolArray:
    return weights <= 0


def _part_broken(
    table: int, is_broken: Callable[[FloatArray], BoolArray], blocks: Blocks
) -> tuple[int, int, float] | None:
    number, first = 0, None
    for start, data in blocks:
        values = data.arrays[table].reshape(-1)
        broken = np.flatnonzero(is_broken(values))
        number += broken.size
        if first is None and broken.size:
            first = start + int(broken[0]), float(values[broken[0]])
    return None if first is None else (number, *first)


def _all_rows(intercept: bool, start: int, data: Data) -> RegressionArrays:
    return arrays_of(data, intercept=intercept)


def _resampled_rows(
    intercept: bool,
    weights: BlockWeights,
    place: int,
    response: Callable[[RegressionArrays], FloatArray],
    start: int,
    data: Data,
) -> RegressionArrays:
    arrays = arrays_of(data, intercept=intercept)
    drawn = weights([place], start, data)[0]
    return RegressionArrays(arrays.X, response(arrays), arrays.case_weights * drawn)


def _part_triangle(
    rows: Callable[[int, Data], RegressionArrays], peaks: FloatArray, blocks: Blocks
) -> tuple[FloatArray, FloatArray]:
    """Return the triangle of the columns and the response of a part, and the first rows of X."""
    triangle, first = np.empty((0, len(peaks))), np.empty((0, len(peaks) - 1))
    for start, data in blocks:
        X, response, case_weights = rows(start, data)
        scaled = np.column_stack([X, response]) / peaks * np.sqrt(case_weights)[:, np.newaxis]
        triangle = tall_triangle(np.concatenate([triangle, scaled]))
        first = np.concatenate([first, X[: ROWS_WITH_THE_COMMON_VALUE - len(first)]])
    return triangle, first


def _part_shares(basis: Basis, inverse_triangle: FloatArray, common: FloatArray, blocks: Blocks) -> FloatArray:
    """Return the sums of the rows' squared shares in the coefficients, of the squares of these, and of rows that vary.

    See `QRFactors.effective_rows`.
    """
    total = np.zeros((3, len(common)))
    for _, data in blocks:
        rows = basis(data)
        squares = rows.case_weights[:, np.newaxis] * np.square(rows_times(rows.basis, inverse_triangle))
        total += [squares.sum(axis=0), np.square(squares).sum(axis=0), np.count_nonzero(common != rows.X, axis=0)]
    return total
