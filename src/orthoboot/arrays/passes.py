"""Ranges and sums of squares of the columns of a long array, without temporary arrays of its length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from orthoboot.typing import FloatArray

_NUMBERS_IN_CACHE = 1 << 15
"""Numbers of a piece: 256 KB, which the processor keeps at hand from one operation to the next."""

_WIDE = 16
"""Columns from which numpy reduces the rows of a table together faster than column by column."""


class Ranges(NamedTuple):
    """The smallest and the largest number of each column, shape ``(d,)``; NaN where a column has one."""

    low: FloatArray
    high: FloatArray

    @property
    def largest(self) -> FloatArray:
        """Return the largest absolute value of each column, shape ``(d,)``."""
        return np.maximum(self.high, -self.low)


def pieces(n_rows: int, n_columns: int = 1) -> Iterator[slice]:
    """Yield the rows of a table piece by piece."""
    step = max(_NUMBERS_IN_CACHE // n_columns, 512)
    return (slice(start, start + step) for start in range(0, n_rows, step))


def ranges(columns: FloatArray) -> Ranges:
    """Return the range of each column of an ``(n, d)`` array.

    Examples
    --------
    >>> ranges(np.array([[1.0, -3.0], [2.0, 0.0]])).largest
    array([2., 3.])
    """
    if columns.shape[1] >= _WIDE:
        return Ranges(columns.min(axis=0), columns.max(axis=0))
    low, high = ([reduced(column) for column in columns.T] for reduced in (np.min, np.max))
    return Ranges(np.array(low), np.array(high))


def sums_of_squares(columns: FloatArray, centre: FloatArray | float = 0.0) -> FloatArray:
    """Return ``sum_j (column_j - centre)**2`` of each column of an ``(n, k)`` array, shape ``(k,)``.

    Examples
    --------
    >>> sums_of_squares(np.array([[1.0], [3.0]]), np.array([2.0]))
    array([2.])
    """
    n, k = columns.shape
    total = np.zeros(k)
    for piece in pieces(n, k):
        part = columns[piece] - centre
        np.square(part, out=part)
        total += column_sums(part)
    return total


def column_sums(columns: FloatArray) -> FloatArray:
    """Return the sum of each column of an ``(n, d)`` array, shape ``(d,)``."""
    if columns.shape[1] >= _WIDE:
        total: FloatArray = columns.sum(axis=0)
        return total
    return np.array([column.sum() for column in columns.T])
