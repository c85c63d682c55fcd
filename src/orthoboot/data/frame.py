"""What the features of a row depend on besides the row: the ranges and the means of the columns of all rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from orthoboot.arrays.passes import Extent, Ranges, column_sums, less, pieces
from orthoboot.arrays.threads import run_tasks
from orthoboot.arrays.units import divided, power_of_two
from orthoboot.typing import FloatArray


@dataclass(frozen=True, eq=False)
class Frame:
    """The number of rows of a sample, and the unit, the mean and the ranges of its columns, each of shape ``(d,)``.

    Rows that are read in pieces are all measured in the frame of the whole.

    Attributes
    ----------
    n_rows
        How many rows there are in all.
    ranges
        The smallest and the largest number of each column.
    mean
        The means of the columns in units, a first sum and what rounding left out of it.
    """

    n_rows: int
    ranges: Ranges
    mean: tuple[FloatArray, FloatArray]

    @property
    def frame(self) -> Frame:
        """Return itself: it is all that is known of the whole where a piece is measured."""
        return self

    @cached_property
    def unit(self) -> FloatArray:
        """Return the power of two in which each column is measured, shape ``(d,)``; one for ordinary numbers."""
        return power_of_two(self.ranges.largest)

    @cached_property
    def largest_deviation(self) -> FloatArray:
        """Return the largest deviation from the mean of each column, in units, shape ``(d,)``."""
        # A difference of rounded numbers grows with them: the ends of a column deviate most.
        low, high = (self.deviations(end[np.newaxis])[0] for end in self.ranges)
        return np.asarray(np.maximum(high, -low))

    @cached_property
    def deviation_unit(self) -> FloatArray:
        """Return the power of two next above the largest deviation of each column, shape ``(d,)``.

        Dividing by it, or multiplying by its inverse, changes no digit, and deviations become smaller than one.
        """
        _, exponent = np.frexp(self.largest_deviation)
        # Inverses of much smaller numbers overflow.
        unit: FloatArray = np.ldexp(1.0, np.maximum(exponent, -1000))
        return unit

    def deviations(self, columns: FloatArray) -> FloatArray:
        """Return the deviations of rows ``(m, d)`` from the means of the columns, in units."""
        deviations: FloatArray = divided(columns, self.unit) - self.mean[0] - self.mean[1]
        return deviations


def frame_of(tables: Sequence[FloatArray], found: Ranges, extents: Sequence[Extent] = ()) -> Frame:
    """Return the frame of the columns of tables with the same rows, each ``(n,)`` or ``(n, ...)``.

    Sums about a centre near the mean take out what rounding leaves in it, so that data far from zero lose no digits.
    For a constant column that rest is a few units in the last place, whose mean is exact: such a column deviates by
    zero exactly.

    Parameters
    ----------
    found
        The ranges of the columns.
    extents
        What is known of the columns, in their order, with such sums; where there are none, two more passes find them.
    """
    unit, n = power_of_two(found.largest), len(tables[0])
    if sum(len(known.centre) for known in extents) == len(unit) and (unit == 1).all():
        return Frame(n, found, (_joined([e.centre for e in extents]), _joined([e.sums for e in extents]) / n))
    first, rest = np.empty_like(unit), np.zeros_like(unit)
    for places, columns in _column_places(tables):
        first[places] = column_sums(divided(columns, unit[places])) / n
        rest[places] = _sums_about(first[places], columns, unit[places]) / n
    return Frame(n, found, (first, rest))


def _joined(columns: Sequence[FloatArray]) -> FloatArray:
    return columns[0] if len(columns) == 1 else np.concatenate(columns)


def _sums_about(centre: FloatArray, columns: FloatArray, unit: FloatArray) -> FloatArray:
    """Return the sums of the deviations of columns ``(n, d)`` from `centre`, in units, piece by piece."""
    some = list(pieces(*columns.shape))
    sums = np.empty((len(some), len(centre)))

    def store(number: int) -> None:
        sums[number] = column_sums(less(divided(columns[some[number]], unit), centre))

    run_tasks([partial(store, number) for number in range(len(some))])
    # One after the other, whatever the order in which they were found.
    total: FloatArray = np.add.accumulate(sums)[-1]
    return total


def _column_places(tables: Sequence[FloatArray]) -> Iterator[tuple[slice, FloatArray]]:
    """Yield the columns of each table ``(n, d)`` and their places among the columns of all."""
    start = 0
    for table in tables:
        columns = table.reshape(len(table), -1)
        yield slice(start, start + columns.shape[1]), columns
        start += columns.shape[1]
