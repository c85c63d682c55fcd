"""Copies, ranges and sums of squares of the columns of a long array, without temporary arrays of its length."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from orthoboot.arrays.threads import run_tasks
from orthoboot.typing import FloatArray

NUMBERS_IN_CACHE = 1 << 17
"""Numbers of a piece: 1 MB, which the processor keeps at hand from one operation to the next."""

_NUMBERS_AT_HAND = 1 << 15
"""Numbers of a piece that several operations read one after the other, beside a copy of it: 256 KB each."""

_WIDE = 16
"""Columns from which numpy reduces the rows of a table together faster than column by column."""


_ROWS_BESIDE = 512
"""Rows that are compared side by side where there are a few columns."""


class Ranges(NamedTuple):
    """The smallest and the largest number of each column, shape ``(d,)``; NaN where a column has one."""

    low: FloatArray
    high: FloatArray

    @property
    def largest(self) -> FloatArray:
        """Return the largest absolute value of each column, shape ``(d,)``."""
        return np.maximum(self.high, -self.low)

    def joined(self, other: Ranges) -> Ranges:
        """Return the ranges of the rows of both."""
        return Ranges(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


class Extent(NamedTuple):
    """The ranges of the columns of some rows, at least one, and the sums of their differences from a centre."""

    ranges: Ranges
    sums: FloatArray
    centre: FloatArray

    def joined(self, other: Extent) -> Extent:
        """Return the same of the rows of both, whose centre is the same."""
        return Extent(self.ranges.joined(other.ranges), self.sums + other.sums, self.centre)


class Spread(NamedTuple):
    """The ranges, the means and the sums of squares about them of the columns of some rows."""

    n_rows: int
    ranges: Ranges
    mean: FloatArray
    squares: FloatArray

    def joined(self, other: Spread) -> Spread:
        """Return the same of the rows of both."""
        n, step = self.n_rows + other.n_rows, other.mean - self.mean
        squares = self.squares + other.squares + np.square(step) * (self.n_rows * (other.n_rows / n))
        return Spread(n, self.ranges.joined(other.ranges), self.mean + step * (other.n_rows / n), squares)


class KnowsSpread:
    """Columns that nobody holds as an array, such as `orthoboot.data.pieces.RowsInPieces`.

    No abstract class, since whether an array is of such a one takes longer to find out.
    """

    @property
    def means(self) -> FloatArray:
        """Return the means of the columns, shape ``(d,)``."""
        raise NotImplementedError

    @property
    def spread(self) -> Spread:
        """Return the ranges, the means and the sums of squares about them."""
        raise NotImplementedError


def _without_array(columns: Any) -> KnowsSpread | None:
    return columns if isinstance(columns, KnowsSpread) else None


def pieces(n_rows: int, n_columns: int = 1) -> Iterator[slice]:
    """Yield the rows of a table piece by piece."""
    step = max(NUMBERS_IN_CACHE // n_columns, 512)
    return (slice(start, start + step) for start in range(0, n_rows, step))


def copied(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a copy of an array, of a long one on all processors: memory that is new takes longer than the copying.

    Examples
    --------
    >>> copied(np.arange(3))
    array([0, 1, 2])
    """
    is_long = array.size > NUMBERS_IN_CACHE and array.ndim and array.flags.c_contiguous
    if not is_long or type(array) is not np.ndarray or array.dtype.hasobject:
        return np.array(array)
    copy = np.empty_like(array)
    one, other = copy.reshape(-1), array.reshape(-1)
    run_tasks([partial(np.copyto, one[piece], other[piece]) for piece in pieces(array.size)])
    return copy


def ranges(columns: FloatArray) -> Ranges:
    """Return the range of each column of an ``(n, d)`` array, or of one that knows its spread.

    Examples
    --------
    >>> ranges(np.array([[1.0, -3.0], [2.0, 0.0]])).largest
    array([2., 3.])
    """
    known = _without_array(columns)
    if known is not None:
        return known.spread.ranges
    if columns.size <= NUMBERS_IN_CACHE:
        return _ranges(columns)
    some = list(pieces(*columns.shape))
    low, high = np.empty((2, len(some), columns.shape[1]))

    def store(number: int) -> None:
        low[number], high[number] = _ranges(columns[some[number]])

    run_tasks([partial(store, number) for number in range(len(some))])
    return Ranges(low.min(axis=0), high.max(axis=0))


def _ranges(columns: FloatArray) -> Ranges:
    if columns.shape[1] >= _WIDE:
        return Ranges(columns.min(axis=0), columns.max(axis=0))
    # The ufuncs themselves: around them `min` and `max` take longer than a short column does.
    low, high = (_extremes(extreme, columns) for extreme in (np.minimum, np.maximum))
    return Ranges(low, high)


def _extremes(extreme: np.ufunc, columns: FloatArray) -> FloatArray:
    """Return the smallest or the largest number of each of a few columns, shape ``(d,)``."""
    n, d = columns.shape
    if d == 1 or n < 8 * _ROWS_BESIDE or not columns.flags.c_contiguous:
        return np.array([extreme.reduce(column) for column in columns.T])
    # Columns of a table have gaps between their numbers; rows side by side are one stretch of memory.
    whole = n - n % _ROWS_BESIDE
    beside = extreme.reduce(columns[:whole].reshape(-1, _ROWS_BESIDE * d), axis=0).reshape(_ROWS_BESIDE, d)
    found: FloatArray = extreme.reduce(np.concatenate([beside, columns[whole:]]), axis=0)
    return found


def is_long(columns: FloatArray) -> bool:
    """Return whether an array is so long that a pass over it takes longer than to set it up."""
    return columns.size > NUMBERS_IN_CACHE


def extent_of(columns: FloatArray, centre: FloatArray) -> Extent:
    """Return the ranges of the columns of an ``(n, d)`` array and their sums about `centre`, shape ``(d,)``.

    In one pass: each piece is brought to the cache once, and the sums of the pieces are added one after the other.

    Examples
    --------
    >>> extent_of(np.array([[1.0, -3.0], [2.0, 0.0]]), np.zeros(2)).sums
    array([ 3., -3.])
    """
    n, d = columns.shape
    step = max(_NUMBERS_AT_HAND // d, _ROWS_BESIDE)
    starts = range(0, n, step)
    low, high, sums = np.empty((3, len(starts), d))

    def store(some: range) -> None:
        memory = np.empty((d, min(step, n)))
        for number in some:
            rows = columns[starts[number] : starts[number] + step]
            _store_extent(rows, centre, memory[:, : len(rows)], low[number], high[number], sums[number])

    at_once = -(-NUMBERS_IN_CACHE // (step * d))
    run_tasks([partial(store, numbers) for numbers in _shared_out(len(starts), at_once)])
    return Extent(Ranges(low.min(axis=0), high.max(axis=0)), np.add.accumulate(sums)[-1], centre)


def _shared_out(number: int, at_once: int) -> Iterator[range]:
    return (range(start, min(start + at_once, number)) for start in range(0, number, at_once))


def _store_extent(
    rows: FloatArray, centre: FloatArray, memory: FloatArray, low: FloatArray, high: FloatArray, sums: FloatArray
) -> None:
    """Write the ranges and the sums of some rows; `memory` of shape ``(d, m)`` takes their columns."""
    # Column by column: numbers of one column with gaps between them would take numpy several times as long.
    np.copyto(memory, rows.T)
    np.minimum.reduce(memory, axis=1, out=low)
    np.maximum.reduce(memory, axis=1, out=high)
    if centre.any():
        np.subtract(memory, centre[:, np.newaxis], out=memory)
    np.add.reduce(memory, axis=1, out=sums)


def sums_of_squares(columns: FloatArray, centre: FloatArray | float = 0.0) -> FloatArray:
    """Return ``sum_j (column_j - centre)**2`` of each column of an ``(n, k)`` array, shape ``(k,)``.

    Examples
    --------
    >>> sums_of_squares(np.array([[1.0], [3.0]]), np.array([2.0]))
    array([2.])
    """
    n, k = columns.shape
    known = _without_array(columns)
    if known is not None:
        squares: FloatArray = known.spread.squares + n * np.square(known.spread.mean - centre)
        return squares
    total = np.zeros(k)
    for piece in pieces(n, k):
        part = columns[piece] - centre
        np.square(part, out=part)
        total += column_sums(part)
    return total


def less(columns: FloatArray, centre: FloatArray) -> FloatArray:
    """Return ``columns - centre`` of an ``(n, d)`` array and a number for each column, shape ``(d,)``.

    Examples
    --------
    >>> less(np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([1.0, 2.0]))
    array([[0., 0.],
           [2., 3.]])
    """
    if columns.shape[1] >= _WIDE:
        return columns - centre
    # Row after row of a few numbers would take numpy several times as long.
    differences = np.empty(columns.shape[::-1])
    return np.subtract(columns.T, centre[:, np.newaxis], out=differences).T


def joined_spread(one: Spread | None, other: Spread | None) -> Spread | None:
    """Return the spread of the rows of both; None stands for no rows."""
    return one.joined(other) if one is not None and other is not None else one or other


def sums_of_cubes(columns: FloatArray, centre: FloatArray | float = 0.0) -> FloatArray:
    """Return ``sum_j (column_j - centre)**3`` of each column of an ``(n, k)`` array, shape ``(k,)``."""
    n, k = columns.shape
    total = np.zeros(k)
    for piece in pieces(n, k):
        part = columns[piece] - centre
        cubes = part * part
        cubes *= part
        total += column_sums(cubes)
    return total


def spread_of(columns: FloatArray) -> Spread | None:
    """Return the spread of the columns of an ``(n, d)`` array; None where it has no rows."""
    n = len(columns)
    if not n:
        return None
    mean = column_sums(columns) / n
    return Spread(n, ranges(columns), mean, sums_of_squares(columns, mean))


def column_sums(columns: FloatArray) -> FloatArray:
    """Return the sum of each column of an ``(n, d)`` array, shape ``(d,)``."""
    known = _without_array(columns)
    if known is not None:
        return known.means * len(columns)
    if columns.shape[1] >= _WIDE:
        total: FloatArray = columns.sum(axis=0)
        return total
    if columns.size <= NUMBERS_IN_CACHE:
        return np.array([np.add.reduce(column) for column in columns.T])
    sums = np.empty(columns.shape[1])

    # A column for each processor, and not some rows of all: the order of a sum does not depend on the other columns.
    def store(column: int) -> None:
        sums[column] = np.add.reduce(columns[:, column])

    run_tasks([partial(store, column) for column in range(len(sums))])
    return sums
