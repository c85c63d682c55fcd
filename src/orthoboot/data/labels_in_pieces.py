"""Labels that are read part by part with the rows: only what is added up label by label is held."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from orthoboot.data.pieces import Block, RowsInPieces, in_pieces
from orthoboot.data.samples import Data
from orthoboot.data.strata_in_pieces import StrataOfParts
from orthoboot.data.tables_in_pieces import SurveyedSource, TableInPieces
from orthoboot.errors import ArgumentError
from orthoboot.typing import FloatArray, IntArray

MOST_STRATA = 1 << 18
"""Strata of all parts together, each counted in every part that has rows of it: so many are sent with a task, 10 MB."""


class TooManyStrataError(ArgumentError):
    """More strata than are held where rows are read part by part; rows that lie in memory may have them."""


class PartLabels(NamedTuple):
    """The different labels of a part in ascending order, the number of the first row of each, and its rows."""

    labels: FloatArray
    firsts: IntArray
    sizes: IntArray


@dataclass(frozen=True, eq=False)
class LabelsInPieces:
    """The group or the stratum of each row, as a number in a column of a table that is read part by part.

    Attributes
    ----------
    rows
        The labels, shape ``(n, 1)``.
    table, column
        Where they are in the rows of their source.
    most
        How many labels the parts may have together, each counted in every part that has it; None for any number.
    """

    rows: RowsInPieces
    table: int
    column: int
    most: int | None = None
    _known_totals: list[tuple[RowsInPieces, FloatArray]] = field(default_factory=list, repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def parts(self) -> tuple[PartLabels, ...]:
        """Return the labels of each part, from one pass that ends where they are too many: all of them may differ."""
        parts: list[PartLabels] = []
        n_labels = 0
        for part in self.rows.reduced(_labels_of_part):
            parts.append(part)
            n_labels += part.labels.size
            if self.most is not None and n_labels > self.most:
                raise self._too_many(len(parts))
        return tuple(parts)

    def _too_many(self, n_read: int) -> TooManyStrataError:
        return TooManyStrataError(
            f"`strata` must be few enough to count the rows of each in every part: at most {self.most:,} strata, each "
            f"counted in every part that has rows of it; got more in the first {n_read} of "
            f"{len(self.rows.sample.starts)} part(s). Use coarser strata, fewer and larger parts, or sort the rows by "
            "their strata, so that each lies in few parts."
        )

    @cached_property
    def groups(self) -> tuple[FloatArray, IntArray]:
        """Return the different labels in ascending order, and the number of each group by its first row."""
        labels = np.concatenate([part.labels for part in self.parts])
        firsts = np.concatenate([part.firsts for part in self.parts])
        known, place = np.unique(labels, return_index=True)
        # Parts come in their order, so that the first place of a label is that of its first row.
        order = np.argsort(firsts[place])
        numbers = np.empty(known.size, dtype=np.int64)
        numbers[order] = np.arange(known.size)
        return known, numbers

    @cached_property
    def sizes(self) -> IntArray:
        """Return the number of rows of each group, shape ``(G,)``."""
        sizes = np.zeros(self.groups[0].size, dtype=np.int64)
        for part in self.parts:
            sizes[self._numbers(part.labels)] += part.sizes
        return sizes

    @cached_property
    def strata(self) -> StrataOfParts:
        """Return the strata, or the groups, with the rows of each before every part."""
        known, numbers = self.groups
        seen, before = np.zeros(known.size, dtype=np.int64), []
        for part in self.parts:
            strata = self._numbers(part.labels)
            before.append((strata, seen[strata]))
            seen[strata] += part.sizes
        return StrataOfParts(self.table, self.column, known, numbers, self.sizes, tuple(before))

    def of_rows(self, rows: IntArray) -> IntArray:
        """Return the groups or strata of some rows, and their numbers within these, shape ``(2, m)``; takes a pass.

        Parameters
        ----------
        rows
            In ascending order, each once, shape ``(m,)``.
        """
        sample = replace(self.rows.sample, strata=self.strata)
        return np.concatenate(list(sample.reduced(partial(_strata_of_rows, rows), 1)), axis=1)

    def _numbers(self, labels: FloatArray) -> IntArray:
        known, numbers = self.groups
        return numbers[np.searchsorted(known, labels)]

    def totals(self, values: RowsInPieces) -> FloatArray:
        """Return the sum of `values` over the rows of each group, shape ``(G, p)``; remembered for the same values."""
        for known, totals in self._known_totals:
            if known is values:
                return totals
        totals = self._added(values)
        self._known_totals.append((values, totals))
        return totals

    def looked_up(self, table: FloatArray) -> RowsInPieces:
        """Return for each row what a table ``(G, k)`` holds of its group."""
        known, numbers = self.groups
        return self.rows.mapped(partial(_entries, known, table[numbers]), table.shape[1])

    def _added(self, values: RowsInPieces) -> FloatArray:
        totals = np.zeros((self.groups[0].size, values.width))
        for labels, sums in values.beside(self.rows).reduced(_group_sums):
            if labels.size:  # a part may be empty
                totals[self._numbers(labels)] += sums
        return totals

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the totals that are remembered by what they were computed from."""
        return {**vars(self), "_known_totals": []}


def _strata_of_rows(rows: IntArray, pieces: Iterator[tuple[int, Data]]) -> IntArray:
    """Return the strata of those rows that lie in a part, and their numbers within these, shape ``(2, m)``."""
    found = [np.empty((2, 0), dtype=np.int64)]
    for start, data in pieces:
        first, last = np.searchsorted(rows, [start, start + data.sizes[0]]).tolist()
        found.append(data.strata.of_rows[:, rows[first:last] - start])
    return np.concatenate(found, axis=1)


def _entries(known: FloatArray, table: FloatArray, labels: FloatArray) -> FloatArray:
    entries: FloatArray = table[np.searchsorted(known, labels[:, 0])]
    return entries


def _labels_of_part(pieces: Iterator[Block]) -> PartLabels:
    """Return the different labels of a part, with the number of the first row and the rows of each."""
    known = PartLabels(np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    for start, values in pieces:
        labels, firsts, sizes = np.unique(values[:, 0], return_index=True, return_counts=True)
        found = PartLabels(labels, start + firsts, sizes)
        labels, firsts, sizes = (np.concatenate(pair) for pair in zip(known, found, strict=True))
        joined, place, inverse = np.unique(labels, return_index=True, return_inverse=True)
        known = PartLabels(joined, firsts[place], np.bincount(inverse, sizes).astype(np.int64))
    return known


def _group_sums(pieces: Iterator[Block]) -> tuple[FloatArray, FloatArray]:
    """Return the different labels in the last column of a part, and the sums of the other columns for each."""
    labels: FloatArray = np.empty(0)
    sums: FloatArray = np.empty((0, 0))
    for _, values in pieces:
        found, code = np.unique(values[:, -1], return_inverse=True)
        added: FloatArray = np.stack(
            [np.bincount(code, column, minlength=found.size) for column in values[:, :-1].T], axis=1
        )
        if not labels.size:
            labels, sums = found, added
            continue
        joined, place = np.unique(np.concatenate([labels, found]), return_inverse=True)
        total = np.zeros((joined.size, added.shape[1]))
        total[place[: labels.size]] = sums
        total[place[labels.size :]] += added
        labels, sums = joined, total
    return labels, sums


def labels_in_pieces(data: Data, labels: Any, argument: str) -> LabelsInPieces:
    """Return the labels of the only sample, which is read part by part.

    Parameters
    ----------
    data
        The sample.
    labels
        The name of a column; or labels that are read beside the rows, as the last table of their source.
    argument
        What messages call them: "groups" or "strata".
    """
    table = data.tables[0]
    assert isinstance(table, TableInPieces)
    known = table.surveyed
    number, column = _place(data, labels, argument) if isinstance(labels, str) else _only_column(known, argument)
    _refuse_rounded(known, number, argument)
    only = TableInPieces(table.container, argument, surveyed=known, number=number)
    sample = in_pieces(Data((only,), (0,), data.sizes))
    assert sample is not None
    most = MOST_STRATA if argument == "strata" else None
    return LabelsInPieces(RowsInPieces(sample, partial(_column, column), 1), number, column, most)


def with_strata(data: Data, labels: LabelsInPieces) -> Data:
    """Return the only sample with the strata, or groups, of its rows, for whoever draws the counts of a block."""
    tables = (table for table in data.tables if isinstance(table, TableInPieces))
    return replace(data, tables=tuple(replace(table, strata=labels.strata) for table in tables))


def _place(data: Data, name: str, argument: str) -> tuple[int, int]:
    names = [column for columns in data.columns for column in columns or ()]
    for number, columns in enumerate(data.columns):
        if name in (columns or ()):
            return number, (columns or ()).index(name)
    has = f"has the columns {', '.join(map(repr, names))}" if names else "has no names for its columns"
    raise ArgumentError(f"`{argument}` must name a column of the data, which {has}; got {name!r}.")


def _only_column(known: SurveyedSource, argument: str) -> tuple[int, int]:
    """Return the place of labels that are the last table; raise unless they are one column."""
    number, shape = len(known.source.shapes) - 1, known.source.shapes[-1]
    if np.prod(shape) != 1:
        raise ArgumentError(
            f"`{argument}` must be one-dimensional, with one label per row; got {shape[0]} columns. To cross several "
            "columns, join them into one label per row first."
        )
    return number, 0


def _refuse_rounded(known: SurveyedSource, number: int, argument: str) -> None:
    """Raise where labels lie in a table with whole numbers that a float rounds, so that different ones may be equal."""
    largest = max((part.rounded[number] for part in known.parts if part.rounded), key=abs, default=0)
    if largest:
        raise ArgumentError(
            f"`{argument}` must lie in a table of numbers that a float represents exactly if data are read part by "
            f"part, as whole numbers beyond 2**53 may not be; got {largest}. Renumber them, subtract the smallest of "
            "them, or leave out the column if it does not hold the labels."
        )


def _column(column: int, data: Data) -> FloatArray:
    rows = data.arrays[0].reshape(data.sizes[0], -1)
    return rows[:, column : column + 1]
