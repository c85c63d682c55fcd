"""Tables whose rows are read part by part: one pass counts the rows, checks them and finds the frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce
from typing import Any, NamedTuple, NoReturn

import numpy as np

from orthoboot.arrays.passes import Extent, Ranges, column_sums, extent_of
from orthoboot.arrays.units import power_of_two
from orthoboot.data.frame import Frame
from orthoboot.data.sources import Rows, Source, blocks
from orthoboot.data.strata_in_pieces import StrataOfParts
from orthoboot.data.tables import InputTable, largest_rounded, rounded_warning
from orthoboot.errors import ArgumentError, DataError, OrthobootWarning
from orthoboot.typing import FloatArray, IntArray


class Survey(NamedTuple):
    """What one pass finds of a part."""

    n_rows: int
    extent: Extent | None
    broken: tuple[int, int, int, int] | None
    """Where the first number is that is NaN or infinite, its row in the part and its column, and how many of each."""
    first: Rows
    """Its first row, if it has one."""
    rounded: tuple[int, ...]
    """The largest whole number of each table that a float does not hold; 0 where it holds all."""


def surveyed(part: int, rows: Iterator[Rows]) -> Survey:
    """Return what one pass finds of a part."""
    n, extent, broken = 0, None, None
    first: Rows = ()
    rounded: tuple[int, ...] = ()
    with np.errstate(all="ignore"):  # what is not finite shows in the values
        for start, block in blocks(0, rows, 1 << 16):
            columns = _columns(block)
            found = extent_of(columns, np.zeros(columns.shape[1]))
            if not all(np.isfinite(ends).all() for ends in found.ranges):
                broken = _counted(broken, start, columns)
            extent = found if extent is None else extent.joined(found)
            first = first or tuple(table[:1].copy() for table in block)
            largest = tuple(map(largest_rounded, block))
            rounded = tuple(max(pair, key=abs) for pair in zip(rounded, largest, strict=True)) if rounded else largest
            n = start + len(columns)
    return Survey(n, extent, broken, first, rounded)


def _columns(block: Rows) -> FloatArray:
    tables = [np.asarray(table, dtype=np.float64).reshape(len(table), -1) for table in block]
    # `hstack` copies even a single table.
    return np.hstack(tables) if len(tables) > 1 else tables[0]


def _sums_in_units(unit: FloatArray, part: int, rows: Iterator[Rows]) -> FloatArray:
    """Return the sums of the columns of a part in units, shape ``(d,)``."""
    zero = np.zeros_like(unit)
    return sum((column_sums(_columns(block) / unit) for _, block in blocks(0, rows, 1 << 16)), start=zero)


def _counted(known: tuple[int, int, int, int] | None, start: int, columns: FloatArray) -> tuple[int, int, int, int]:
    row, column = np.argwhere(~np.isfinite(columns))[0].tolist()
    n_missing, n_infinite = int(np.isnan(columns).sum()), int(np.isinf(columns).sum())
    if known is None:
        return start + row, column, n_missing, n_infinite
    return known[0], known[1], known[2] + n_missing, known[3] + n_infinite


@dataclass(frozen=True, eq=False)
class SurveyedSource:
    """A source and what one pass over its rows has found; the frame of all rows.

    Attributes
    ----------
    source
        Where the rows come from.
    label
        What messages call the sample.
    labelling
        The arguments whose labels are its last tables: "groups" or "strata".
    """

    source: Source
    label: str
    labelling: tuple[str, ...] = ()

    @cached_property
    def parts(self) -> tuple[Survey, ...]:
        """Return what was found of each part, all of it finite numbers; raise where it is not."""
        parts: list[Survey] = []
        for number, part in enumerate(self.source.each(surveyed)):
            if part.broken is not None:
                self._refuse(number, part.broken, sum(known.n_rows for known in parts))
            parts.append(part)
        return tuple(parts)

    def _refuse(self, number: int, broken: tuple[int, int, int, int], before: int) -> NoReturn:
        row, column, n_missing, n_infinite = broken
        self._refuse_labels(number, broken, before)
        found = " and ".join(f"{n} {kind}" for n, kind in ((n_missing, "NaN"), (n_infinite, "infinite")) if n)
        raise DataError(
            f"`{self.label}` must be finite; got {found} value(s) in {self.source.part_name(number)}, the first in its "
            f"row {row}{self._column_name(column)}, row {before + row:,} of all (counted from 0). Drop or impute such "
            "rows before the call, or leave that column out."
        )

    def _column_name(self, place: int) -> str:
        """Return what messages call the column at a place among those of all tables, some of which may have names."""
        n_tables = len(self.source.shapes) - len(self.labelling)
        table = next(table for table in range(n_tables) if place < self.columns_of(table).stop)
        column, names = place - self.columns_of(table).start, self.source.columns[table]
        found = f", column {column}" if names is None else f" of column {names[column]!r}"
        return f"{found} of `data[{table}]`" if n_tables > 1 else found

    def _refuse_labels(self, number: int, broken: tuple[int, int, int, int], before: int) -> None:
        """Raise where it is a label that is missing."""
        row, column, n_missing, n_infinite = broken
        first = len(self.source.shapes) - len(self.labelling)
        for table, argument in enumerate(self.labelling, start=first):
            if column >= self.columns_of(table).start:
                found = f"{n_missing + n_infinite} missing or infinite in {self.source.part_name(number)}"
                raise ArgumentError(
                    f"`{argument}` must have a label for every row; got {found}, the first in its row {row}, row "
                    f"{before + row:,} of all (counted from 0). Drop those rows, or give them a separate label."
                )

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Return the number of the first row of each part."""
        sizes = [part.n_rows for part in self.parts]
        return tuple((np.cumsum(sizes) - sizes).tolist())

    @cached_property
    def n_rows(self) -> int:
        """Return the number of all rows."""
        return sum(part.n_rows for part in self.parts)

    @cached_property
    def extent(self) -> Extent:
        """Return the ranges and the sums of the columns of all rows; raise where there are fewer than two."""
        if self.n_rows < 2:
            raise DataError(
                f"`{self.label}` must have at least two rows, since fewer cannot vary under resampling; got "
                f"{self.n_rows} in {self.source.n_parts} partition(s)."
            )
        with np.errstate(all="ignore"):  # what is not finite shows in the values
            return reduce(Extent.joined, (part.extent for part in self.parts if part.extent is not None))

    @property
    def ranges(self) -> Ranges:
        """Return the ranges of the columns."""
        return self.extent.ranges

    def frame(self, tables: Sequence[int]) -> Frame:
        """Return the frame of all rows of some of the tables."""
        places = np.concatenate([np.arange(self.extent.sums.size)[self.columns_of(table)] for table in tables])
        found = Ranges(*(ends[places] for ends in self.ranges))
        mean = self._mean[places]
        return Frame(self.n_rows, found, (mean, np.zeros_like(mean)))

    @cached_property
    def _mean(self) -> FloatArray:
        """Return the means of the columns in units, shape ``(d,)``; exact where a column is constant."""
        unit = power_of_two(self.ranges.largest)
        mean = self.extent.sums / self.n_rows / unit
        if not np.isfinite(mean).all():  # numbers whose sums are beyond the range of numbers
            total = sum(self.source.each(partial(_sums_in_units, unit)), start=np.zeros_like(unit))
            mean = total / self.n_rows
        low, high = self.ranges
        return np.where(low == high, low / unit, mean)

    @property
    def first_row(self) -> Rows:
        """Return the first of all rows."""
        return next(part.first for part in self.parts if part.first)

    def columns_of(self, table: int) -> slice:
        """Return the places of the columns of one table among those of all."""
        widths = [int(np.prod(shape, dtype=int)) for shape in self.source.shapes]
        return slice(sum(widths[:table]), sum(widths[: table + 1]))


@dataclass(frozen=True)
class TableInPieces(InputTable):
    """A table whose rows are read part by part."""

    surveyed: SurveyedSource = field(kw_only=True)
    number: int = field(kw_only=True)
    """Which of the tables of its sample it is."""
    strata: StrataOfParts | None = field(default=None, kw_only=True)
    """The strata of its rows, where these are drawn within strata."""

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return self.surveyed.n_rows

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Return the names of the columns, where the container has them."""
        return self.surveyed.source.columns[self.number]

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Return the shape of a row."""
        return self.surveyed.source.shapes[self.number]

    @cached_property
    def ranges(self) -> tuple[Ranges, ...]:
        """Return the ranges of the columns."""
        places = self.surveyed.columns_of(self.number)
        return (Ranges(*(ends[places] for ends in self.surveyed.ranges)),)

    def check(self) -> None:
        """Raise unless there are two rows, all finite."""
        _ = self.surveyed.extent

    def numbers(self) -> FloatArray:
        """Raise: the rows are not at hand."""
        raise DataError(
            f"`{self.label}` is read in pieces, and this needs all rows at once. Load them into memory first, if they "
            "fit."
        )

    def take(self, rows: IntArray) -> Any:
        """Raise: the rows are not at hand."""
        self.numbers()

    def lost_digits(self) -> OrthobootWarning | None:
        """Return a warning if whole numbers are too large to be kept exactly as floating-point numbers."""
        found = (part.rounded[self.number] for part in self.surveyed.parts if part.rounded)
        return rounded_warning(self.label, max(found, key=abs, default=0))
