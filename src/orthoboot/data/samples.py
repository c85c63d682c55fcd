"""Arrays, lists and data frames become samples with rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from orthoboot.arrays.passes import Extent, Ranges
from orthoboot.data.frame import Frame, frame_of
from orthoboot.data.group_column import GroupColumn
from orthoboot.data.sources import Source
from orthoboot.data.strata_in_pieces import BlockStrata
from orthoboot.data.tables import InputTable, table_of
from orthoboot.data.tables_in_pieces import SurveyedSource, TableInPieces
from orthoboot.errors import ArgumentError, DataError, OrthobootWarning
from orthoboot.typing import FloatArray, IntArray

_FEW_DIGITS = 1e-12
"""Relative standard error below which data variation looks like rounding."""


class Whole(Protocol):
    """What is known of all rows of a sample."""

    @property
    def frame(self) -> Frame:
        """Return the ranges and the means of the columns."""

    @property
    def ranges(self) -> Ranges:
        """Return the ranges of the columns, each of shape ``(d,)``."""


@dataclass(frozen=True)
class Data:
    """Samples with rows.

    Arrays that are paired share one sample, and so one vector of weights; independent arrays have one each.

    Attributes
    ----------
    tables
        One per argument of the statistic.
    sample_of
        For each table the number of the sample it belongs to.
    sizes
        Rows of each sample.
    group_columns
        Columns with the labels of groups that are drawn whole, where the user named them.
    """

    tables: tuple[InputTable, ...]
    sample_of: tuple[int, ...]
    sizes: tuple[int, ...]
    group_columns: tuple[GroupColumn, ...] = ()
    whole: Whole | None = field(default=None, kw_only=True, repr=False)
    """What is known of all rows, where these are some of them."""
    find_strata: Callable[[], BlockStrata] | None = field(default=None, kw_only=True, repr=False)
    """Finds `strata`, where these are a block of rows that are drawn within strata."""

    @cached_property
    def frame(self) -> Frame:
        """Return the ranges and the means of the columns of the only sample, all of its rows."""
        if self.whole is not None:
            return self.whole.frame
        extents = [found for table in self.tables for found in table.extents]
        return frame_of(self.arrays, self.ranges, [found for found in extents if isinstance(found, Extent)])

    @cached_property
    def ranges(self) -> Ranges:
        """Return the ranges of the columns of the only sample, all of its rows, each of shape ``(d,)``."""
        if self.whole is not None:
            return self.whole.ranges
        low, high = zip(*(found for table in self.tables for found in table.ranges), strict=True)
        return Ranges(np.concatenate(low), np.concatenate(high))

    @cached_property
    def strata(self) -> BlockStrata:
        """Return where the rows of a block lie among those of their strata, or of their groups."""
        assert self.find_strata is not None
        return self.find_strata()

    @property
    def containers(self) -> tuple[Any, ...]:
        """Return the rows as the user gave them."""
        return tuple(table.for_call() for table in self.tables)

    @property
    def samples_hint(self) -> str:
        """Return advice for a function that fails on independent samples of equal size, else an empty string."""
        if len(self.sizes) == 1 or len(set(self.sizes)) > 1:
            return ""
        rows = " If each is a row of one table pass `np.array(data)`." if len(self.sizes) > 2 else ""
        return f" If the rows of the samples belong together pass `paired=True`.{rows}"

    @cached_property
    def arrays(self) -> tuple[FloatArray, ...]:
        """Return the rows as float arrays, one per argument of the statistic."""
        return tuple(table.numbers() for table in self.tables)

    @property
    def row_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Return the shape of a row of each table: ``()`` for single numbers, else ``(d,)`` mostly."""
        if not self.is_in_pieces:
            return tuple(array.shape[1:] for array in self.arrays)
        return tuple(
            table.row_shape if isinstance(table, TableInPieces) else table.numbers().shape[1:] for table in self.tables
        )

    @property
    def is_in_pieces(self) -> bool:
        """Return whether the rows are read part by part, so that no array of them is at hand."""
        return any(isinstance(table, TableInPieces) for table in self.tables)

    @cached_property
    def relative_spread(self) -> float:
        """Return the smallest range of a column that varies, relative to its largest value; one if none varies."""
        return min((spread for table in self.tables for spread in table.relative_spreads()), default=1.0)

    @property
    def is_constant(self) -> bool:
        """Return whether there are numbers, and no column of them varies."""
        has_numbers = any(self.first_numbers(sample) is not None for sample in range(len(self.sizes)))
        return has_numbers and not any(True for table in self.tables for _ in table.relative_spreads())

    def first_numbers(self, sample: int) -> FloatArray | None:
        """Return the first column of numbers of a sample, shape ``(n,)``; None where it has none."""
        tables = (table for table, i in zip(self.tables, self.sample_of, strict=True) if i == sample)
        columns = (values for table in tables for values in table.numeric_columns())
        return next((values.reshape(len(values), -1)[:, 0] for values in columns), None)

    @cached_property
    def has_few_digits(self) -> bool:
        """Return whether column means vary only in their last digits."""
        return bool(self.relative_spread <= _FEW_DIGITS * np.sqrt(max(self.sizes)))

    @property
    def findings(self) -> tuple[OrthobootWarning, ...]:
        """Return warnings about digits that are lost where the rows become floating-point numbers, as in `arrays`."""
        return tuple(finding for table in self.tables if (finding := table.lost_digits()) is not None)

    @property
    def columns(self) -> tuple[tuple[str, ...] | None, ...]:
        """Return the column names of each table, where it has them."""
        return tuple(table.columns for table in self.tables)

    def take(self, indices: Sequence[IntArray]) -> tuple[Any, ...]:
        """Return containers with the rows `indices[i]` of sample i, in their order."""
        return tuple(table.take(indices[i]) for table, i in zip(self.tables, self.sample_of, strict=True))

    def taken(self, indices: Sequence[IntArray]) -> Data:
        """Return the rows `indices[i]` of each sample i, in their order, as data of their own."""
        tables = zip(self.tables, self.take(indices), strict=True)
        rows = tuple(replace(table, container=container) for table, container in tables)
        return Data(rows, self.sample_of, tuple(map(len, indices)))

    def resampled(self, indices: Sequence[IntArray]) -> tuple[Any, ...]:
        """Return containers with the drawn rows; a group that is drawn again has another label each time."""
        taken = list(self.take(indices))
        for column in self.group_columns:
            labels = column.resampled(indices[self.sample_of[column.table]])
            taken[column.table] = self.tables[column.table].with_column(taken[column.table], column.position, labels)
        return tuple(taken)

    def sample(self, number: int) -> Data:
        """Return sample `number` alone."""
        tables = tuple(table for table, i in zip(self.tables, self.sample_of, strict=True) if i == number)
        return Data(tables, (0,) * len(tables), (self.sizes[number],))


SourceOf = Callable[[Sequence[Any], Sequence[str]], Source | None]
"""Finds the source of one sample, given its containers and their labels; None where they lie in memory."""


def read(
    data: Any,
    *,
    paired: bool = False,
    text: bool = False,
    source_of: SourceOf | None = None,
    beside: Mapping[str, Any] = MappingProxyType({}),
) -> Data:
    """Return `data` as samples, checked to be non-empty, numeric where required, and finite.

    One array, list of numbers, series or frame is one sample; a tuple or list of these is a sequence of samples,
    independent unless `paired`. With `text` a series or an array may hold labels, as a column of a frame may. With
    `source_of` those that do not lie in memory are read in pieces, one sample together with the labels that `beside`
    holds by their argument.

    Examples
    --------
    >>> read(([1.0, 2.0, 3.0], [4.0, 5.0])).sizes
    (3, 2)
    >>> read(([1.0, 2.0], [4.0, 5.0]), paired=True).sizes
    (2,)
    """
    if not isinstance(paired, (bool, np.bool_)):
        raise ArgumentError(f"`paired` must be True or False; got {paired!r}.")
    containers = list(data) if _is_sequence_of_samples(data) else [data]
    if not containers:
        raise DataError("`data` must hold at least one sample; got an empty sequence. Pass an array or a data frame.")
    alone = len(containers) == 1
    labels = ["data"] if alone else [f"data[{i}]" for i in range(len(containers))]
    in_pieces = _in_pieces(containers, labels, beside, paired=bool(paired), source_of=source_of)
    tables = tuple(in_pieces.get(i) or table_of(one, labels[i], text=text) for i, one in enumerate(containers))
    for table in tables:
        table.check()
    sizes = tuple(table.n_rows for table in tables)
    if not paired:
        return Data(tables, tuple(range(len(tables))), sizes)
    if len(set(sizes)) > 1:
        raise DataError(
            "`data` must have the same number of rows in every sample when `paired=True`; got "
            f"{' and '.join(map(str, sizes))}. For independent samples leave `paired=False`."
        )
    return Data(tables, (0,) * len(tables), sizes[:1])


def _in_pieces(
    containers: Sequence[Any],
    labels: Sequence[str],
    beside: Mapping[str, Any],
    *,
    paired: bool,
    source_of: SourceOf | None,
) -> dict[int, InputTable]:
    """Return the tables that are read in pieces, by their places."""
    if source_of is None:
        return {}
    found: dict[int, InputTable] = {}
    everything = range(len(containers))
    for places in [everything] if paired else [range(i, i + 1) for i in everything]:
        source = source_of([containers[i] for i in places], [labels[i] for i in places])
        if source is not None and beside:
            source = source_of(
                [*(containers[i] for i in places), *beside.values()], [*(labels[i] for i in places), *beside]
            )
        if source is not None:
            surveyed = SurveyedSource(source, labels[places[0]] if len(places) == 1 else "data", tuple(beside))
            for number, i in enumerate(places):
                found[i] = TableInPieces(containers[i], labels[i], surveyed=surveyed, number=number)
    return found


def _is_sequence_of_samples(data: Any) -> bool:
    if not isinstance(data, (tuple, list)):
        return False
    return not data or not all(_is_single_value(element) for element in data)


def _is_single_value(element: Any) -> bool:
    if hasattr(type(element), "schema"):  # a table whose length is not known before it is read
        return False
    return not hasattr(element, "__len__") or isinstance(element, (str, bytes)) or getattr(element, "ndim", None) == 0
