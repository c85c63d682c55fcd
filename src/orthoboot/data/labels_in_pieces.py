"""Labels of groups that are read part by part with the rows: only what is added up group by group is held."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from orthoboot.data.pieces import Block, RowsInPieces, in_pieces
from orthoboot.data.samples import Data
from orthoboot.data.tables_in_pieces import TableInPieces
from orthoboot.errors import ArgumentError
from orthoboot.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class LabelsInPieces:
    """The group of each row, as a number in a column of a table that is read part by part.

    Attributes
    ----------
    rows
        The labels, shape ``(n, 1)``.
    """

    rows: RowsInPieces
    _known_totals: list[tuple[RowsInPieces, FloatArray]] = field(default_factory=list, repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def groups(self) -> tuple[FloatArray, IntArray]:
        """Return the different labels in ascending order, and the number of each group by its first row."""
        parts = list(self.rows.reduced(_first_rows))
        labels = np.concatenate([labels for labels, _ in parts])
        firsts = np.concatenate([firsts for _, firsts in parts])
        known, place = np.unique(labels, return_index=True)
        # Parts come in their order, so that the first place of a label is that of its first row.
        order = np.argsort(firsts[place])
        numbers = np.empty(known.size, dtype=np.int64)
        numbers[order] = np.arange(known.size)
        return known, numbers

    @cached_property
    def sizes(self) -> IntArray:
        """Return the number of rows of each group, shape ``(G,)``."""
        counts = self._added(self.rows.mapped(np.ones_like))[:, 0]
        return np.rint(counts).astype(np.int64)

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
        known, numbers = self.groups
        totals = np.zeros((known.size, values.width))
        for places, sums in values.beside(self.rows).reduced(_group_sums):
            if places.size:  # a part may be empty
                totals[numbers[np.searchsorted(known, places)]] += sums
        return totals

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the totals that are remembered by what they were computed from."""
        return {**vars(self), "_known_totals": []}


def _entries(known: FloatArray, table: FloatArray, labels: FloatArray) -> FloatArray:
    entries: FloatArray = table[np.searchsorted(known, labels[:, 0])]
    return entries


def _first_rows(pieces: Iterator[Block]) -> tuple[FloatArray, IntArray]:
    """Return the different labels of a part, and the number of the first row of each."""
    labels, firsts = np.empty(0), np.empty(0, dtype=np.int64)
    for start, values in pieces:
        found, place = np.unique(values[:, 0], return_index=True)
        joined, first = np.unique(np.concatenate([labels, found]), return_index=True)
        labels, firsts = joined, np.concatenate([firsts, start + place])[first]
    return labels, firsts


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


def labels_in_pieces(data: Data, groups: Any) -> LabelsInPieces:
    """Return the labels of the groups of the only sample, which is read part by part.

    Parameters
    ----------
    data
        The sample.
    groups
        The name of a column; or labels that are read beside the rows, as the last table of their source.
    """
    table = data.tables[0]
    assert isinstance(table, TableInPieces)
    number, column = _place(data, groups) if isinstance(groups, str) else (len(table.surveyed.source.shapes) - 1, 0)
    only = TableInPieces(table.container, "groups", surveyed=table.surveyed, number=number)
    sample = in_pieces(Data((only,), (0,), data.sizes))
    assert sample is not None
    return LabelsInPieces(RowsInPieces(sample, partial(_column, column), 1))


def _place(data: Data, name: str) -> tuple[int, int]:
    names = [column for columns in data.columns for column in columns or ()]
    for number, columns in enumerate(data.columns):
        if name in (columns or ()):
            return number, (columns or ()).index(name)
    has = f"has the columns {', '.join(map(repr, names))}" if names else "has no names for its columns"
    raise ArgumentError(f"`groups` must name a column of the data, which {has}; got {name!r}.")


def _column(column: int, data: Data) -> FloatArray:
    rows = data.arrays[0].reshape(data.sizes[0], -1)
    return rows[:, column : column + 1]
