"""Arrays with a row for each row of a sample, computed block by block whenever they are needed and never held whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce
from typing import Any, TypeVar, cast

import numpy as np

from orthoboot.arrays.passes import KnowsSpread, Ranges, Spread, column_sums, spread_of, sums_of_cubes
from orthoboot.data.samples import Data, Whole
from orthoboot.data.sources import MemorySource, Rows, Source, blocks
from orthoboot.data.tables import InputTable
from orthoboot.errors import DataError
from orthoboot.typing import FloatArray, IntArray

LONG = 1 << 17
"""Rows in memory from which what is computed of them is not held; fewer stay in the processor's cache anyway."""

_NUMBERS_AT_ONCE = 1 << 19
"""Numbers of a block, 4 MB at most where no row has more columns than that."""

Result = TypeVar("Result")

Block = tuple[int, FloatArray]
"""The number of the first of some consecutive rows, and values of them, shape ``(m, p)``."""


@dataclass(frozen=True, eq=False)
class SampleInPieces:
    """A sample whose rows are read block by block.

    Attributes
    ----------
    source
        Where the rows come from.
    starts
        The number of the first row of each part.
    n_rows
        The number of all rows.
    whole
        The frame of all rows, in which each block is measured.
    """

    source: Source
    starts: tuple[int, ...]
    n_rows: int
    whole: Whole

    def reduced(self, task: Callable[[Iterator[tuple[int, Data]]], Result], width: int) -> Iterator[Result]:
        """Yield what `task` makes of the blocks of each part, in the order of the parts.

        Parameters
        ----------
        task
            Takes the blocks of one part, each with the number of its first row; runs where that part is read.
        width
            How many numbers are computed of a row.
        """
        return self.source.each(partial(_of_blocks, task, self.starts, self.whole, width))

    def blocks(self, width: int) -> Iterator[tuple[int, Data]]:
        """Yield the blocks of all rows in their order; only where they lie in memory."""
        assert isinstance(self.source, MemorySource)
        return _blocks_of_data(0, iter([self.source.tables]), self.whole, width)

    def at(self, rows: IntArray) -> Data:
        """Return some of the rows, in the order asked for; only where they lie in memory."""
        assert isinstance(self.source, MemorySource)
        return _as_data(self.source.at(rows), self.whole)


def _blocks_of_data(start: int, rows: Iterator[Rows], whole: Whole, width: int) -> Iterator[tuple[int, Data]]:
    size = _NUMBERS_AT_ONCE // max(width, 1)
    return ((first, _as_data(block, whole)) for first, block in blocks(start, rows, size))


def _of_blocks(
    task: Callable[[Iterator[tuple[int, Data]]], Result],
    starts: tuple[int, ...],
    whole: Whole,
    width: int,
    part: int,
    rows: Iterator[Rows],
) -> Result:
    return task(_blocks_of_data(starts[part], rows, whole, width))


def _as_data(rows: Rows, whole: Whole) -> Data:
    tables = tuple(InputTable(table, "data") for table in rows)
    return Data(tables, (0,) * len(tables), (len(rows[0]),), whole=whole)


def in_pieces(data: Data) -> SampleInPieces | None:
    """Return the only sample as one that is worked on block by block, or None where it is short."""
    if len(data.sizes) > 1 or data.sizes[0] < LONG:
        return None
    source = MemorySource(data.arrays)
    return SampleInPieces(source, source.starts, data.sizes[0], data)


@dataclass(frozen=True, eq=False)
class RowsInPieces(KnowsSpread):
    """Columns computed from the rows of a sample, shape ``(n, p)``, as an array that nobody holds.

    What it takes to know of them, sums above all, is found in passes over the blocks. `numpy.asarray` computes all of
    them where the rows lie in memory.

    Attributes
    ----------
    sample
        The rows.
    compute
        Returns the columns of a block, shape ``(m, p)``; each row must be computed from itself and the frame alone.
    width
        p.
    is_centred
        Whether the mean of each column is zero, by construction.
    """

    __array_ufunc__ = None
    """Arrays of numpy leave products with this one to `__mul__`."""

    sample: SampleInPieces
    compute: Callable[[Data], FloatArray]
    width: int
    is_centred: bool = False

    def __len__(self) -> int:
        return self.sample.n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """Return ``(n, p)``."""
        return len(self), self.width

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        """Return all rows as an array."""
        return self.held

    @cached_property
    def held(self) -> FloatArray:
        """Return all rows as an array, column by column in memory; only where they lie there themselves."""
        if not self.sample.source.in_memory:
            raise DataError(
                "this needs a number for every row at once, and the rows are read in pieces. Load them into memory "
                "first, if they fit."
            )
        columns = np.empty((self.width, len(self)))
        for _ in self.reduced(partial(_store, columns)):
            pass
        return columns.T

    def __mul__(self, factor: FloatArray | float) -> RowsInPieces:
        return _ScaledRows(
            self.sample, partial(_times, self.compute, factor), self.width, self.is_centred, self, factor
        )

    def __truediv__(self, divisor: FloatArray | float) -> RowsInPieces:
        return self * (1 / np.asarray(divisor))

    __rmul__ = __mul__

    def mapped(
        self, function: Callable[[FloatArray], FloatArray], width: int | None = None, *, is_centred: bool = False
    ) -> RowsInPieces:
        """Return the columns that `function` computes from these ``(m, p)``."""
        compute = partial(_composed, self.compute, function)
        return RowsInPieces(self.sample, compute, self.width if width is None else width, is_centred)

    def reduced(self, task: Callable[[Iterator[Block]], Result]) -> Iterator[Result]:
        """Yield what `task` makes of the blocks of each part, in the order of the parts."""
        return self.sample.reduced(partial(_of_values, task, self.compute), self.width)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of all rows in their order; only where they lie in memory."""
        return ((start, self.compute(data)) for start, data in self.sample.blocks(self.width))

    def at(self, rows: IntArray) -> FloatArray:
        """Return the columns of some rows, shape ``(m, p)``."""
        return self.compute(self.sample.at(rows))

    @cached_property
    def mean(self) -> FloatArray:
        """Return the means of the columns, shape ``(p,)``."""
        return np.zeros(self.width) if self.is_centred else self._total(_sums) / len(self)

    def sums_of_cubes(self, centre: FloatArray) -> FloatArray:
        """Return ``sum_j (row_j - centre)**3`` of each column, shape ``(p,)``."""
        return self._total(partial(_cubes, centre))

    def cross_sums(self, other: RowsInPieces) -> FloatArray:
        """Return ``self.T @ other`` of columns of the same rows, shape ``(p, q)``."""
        side_by_side = partial(_side_by_side, self.compute, other.compute)
        both = RowsInPieces(self.sample, side_by_side, self.width + other.width)
        return both._total(partial(_products, self.width))

    def covariance(self) -> FloatArray:
        """Return the covariance of the columns, shape ``(p, p)``; best of columns whose means are about zero."""
        products = self._total(_products_and_sums)
        mean = products[:-1, -1] / len(self)
        covariance: FloatArray = products[:-1, :-1] / len(self) - np.outer(mean, mean)
        return covariance

    def _total(self, task: Callable[[Iterator[Block]], FloatArray | float]) -> FloatArray:
        total: Any = sum(self.reduced(task), start=0.0)
        return np.asarray(total)

    @cached_property
    def spread(self) -> Spread:
        """Return the ranges, the means and the sums of squares of the columns, from one pass."""
        found = reduce(joined_spread, self.reduced(_spread))
        assert found is not None
        return found


@dataclass(frozen=True, eq=False)
class _ScaledRows(RowsInPieces):
    """Columns times a factor, whose spread is known where theirs is."""

    of: RowsInPieces = field(kw_only=False, default=cast(RowsInPieces, None))
    factor: FloatArray | float = 1.0

    @property
    def spread(self) -> Spread:
        """Return the ranges, the means and the sums of squares of the columns."""
        n, (low, high), mean, squares = self.of.spread
        ends = low * self.factor, high * self.factor
        return Spread(n, Ranges(np.minimum(*ends), np.maximum(*ends)), mean * self.factor, squares * self.factor**2)


def as_array(rows: RowsInPieces) -> FloatArray:
    """Return the rows where an array is expected: they stand in for one wherever sums are all that is asked of it."""
    return cast(FloatArray, rows)


def as_pieces(values: Any) -> RowsInPieces | None:
    """Return rows that stand in for an array, or None where it is one."""
    return values if isinstance(values, RowsInPieces) else None


def _of_values(
    task: Callable[[Iterator[Block]], Result],
    compute: Callable[[Data], FloatArray],
    pieces: Iterator[tuple[int, Data]],
) -> Result:
    return task((start, compute(data)) for start, data in pieces)


def _store(columns: FloatArray, pieces: Iterator[Block]) -> None:
    for start, values in pieces:
        columns[:, start : start + len(values)] = values.T


def _composed(inner: Callable[[Data], FloatArray], outer: Callable[[FloatArray], FloatArray], data: Data) -> FloatArray:
    return outer(inner(data))


def _times(compute: Callable[[Data], FloatArray], factor: FloatArray | float, data: Data) -> FloatArray:
    product: FloatArray = compute(data) * factor
    return product


def _sums(pieces: Iterator[Block]) -> FloatArray | float:
    return sum((column_sums(values) for _, values in pieces), start=0.0)


def _cubes(centre: FloatArray, pieces: Iterator[Block]) -> FloatArray | float:
    return sum((sums_of_cubes(values, centre) for _, values in pieces), start=0.0)


def _side_by_side(first: Callable[[Data], FloatArray], second: Callable[[Data], FloatArray], data: Data) -> FloatArray:
    return np.hstack([first(data), second(data)])


def _products(width: int, pieces: Iterator[Block]) -> FloatArray | float:
    return sum((values[:, :width].T @ values[:, width:] for _, values in pieces), start=0.0)


def _products_and_sums(pieces: Iterator[Block]) -> FloatArray | float:
    with_ones = (np.vstack([values.T, np.ones(len(values))]) for _, values in pieces)
    return sum((columns @ columns.T for columns in with_ones), start=0.0)


def _spread(pieces: Iterator[Block]) -> Spread | None:
    return reduce(lambda known, block: joined_spread(known, spread_of(block[1])), pieces, None)


def joined_spread(one: Spread | None, other: Spread | None) -> Spread | None:
    """Return the spread of the rows of both; None stands for no rows."""
    return one.joined(other) if one is not None and other is not None else one or other
