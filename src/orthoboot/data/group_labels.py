"""The column that holds the labels of groups: drawn twice, a group is two groups."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from orthoboot.data.samples import Data
from orthoboot.errors import ArgumentError
from orthoboot.typing import IntArray

_LARGEST_LABEL = 2.0**52
"""Up to here whole numbers are floating-point numbers too, with room for as many again."""


@dataclass(frozen=True, eq=False)
class GroupColumn:
    """A column of labels, by which whole groups of rows are drawn.

    Attributes
    ----------
    table, position
        Where the column is.
    labels
        What it holds, shape ``(n,)``.
    """

    table: int
    position: int
    labels: np.ndarray[Any, Any]

    def drawn(self, rows: IntArray) -> np.ndarray[Any, Any]:
        """Return labels of drawn rows: those of the data the first time a group is drawn, and another each time more.

        Where the numbers are too large to find others beyond them, all are numbered anew.

        Parameters
        ----------
        rows
            The rows in increasing order, each as often as it is drawn.
        """
        copies = np.arange(rows.size) - np.searchsorted(rows, rows)
        if self.labels.dtype.kind in "biuf":
            n_groups, codes = self._codes
            numbers = copies * n_groups + codes[rows]
            if self._first_free is not None:
                numbers = np.where(copies > 0, self._first_free + numbers - n_groups, self.labels[rows])
            return numbers.astype(np.float64) if self.labels.dtype.kind == "f" else numbers.astype(np.int64)
        again, texts = copies > 0, self.labels[rows].astype(object)
        texts[again] = [f"{text}{self._mark}{copy}" for text, copy in zip(texts[again], copies[again], strict=True)]
        return texts

    @cached_property
    def _codes(self) -> tuple[int, IntArray]:
        """Return the number of groups and the number of each row's group: labels may be too large to count on."""
        known, codes = np.unique(self.labels, return_inverse=True)
        return known.size, codes.reshape(-1).astype(np.int64)

    @cached_property
    def _first_free(self) -> int | None:
        """Return the first whole number beyond all labels; None where they are too large to count on from there."""
        largest = float(np.abs(self.labels.astype(np.float64)).max())
        return int(np.floor(float(self.labels.max()))) + 1 if largest < _LARGEST_LABEL else None

    @cached_property
    def _mark(self) -> str:
        """Return what stands between a label and the number of its copy, so that no label of the data is made anew."""
        texts, mark = [str(label) for label in np.unique(self.labels.astype(str))], "#"
        while any(mark in text for text in texts):
            mark += "#"
        return mark


def named_groups(data: Data, groups: Any) -> tuple[Data, Any]:
    """Return the data with the columns that `groups` names, and the labels that they hold.

    Parameters
    ----------
    data
        The samples.
    groups
        Labels, which are returned as they are, or the name of a column; for several samples a tuple of these.
    """
    if isinstance(groups, str):
        if len(data.sizes) > 1:
            raise ArgumentError(
                f"`groups` must be a tuple with one entry per sample, here {len(data.sizes)}; got the name {groups!r}."
            )
        column = _column_named(data, 0, groups)
        return replace(data, group_columns=(column,)), column.labels
    if len(data.sizes) == 1 or not isinstance(groups, (tuple, list)) or len(groups) != len(data.sizes):
        return data, groups
    columns = {i: _column_named(data, i, entry) for i, entry in enumerate(groups) if isinstance(entry, str)}
    labels = tuple(columns[i].labels if i in columns else entry for i, entry in enumerate(groups))
    return replace(data, group_columns=tuple(columns.values())), labels


def _column_named(data: Data, sample: int, name: str) -> GroupColumn:
    names = []
    for number, (table, own) in enumerate(zip(data.tables, data.sample_of, strict=True)):
        if own == sample and table.has_columns:
            names += list(table.columns or ())
            if name in (table.columns or ()):
                position = (table.columns or ()).index(name)
                return GroupColumn(number, position, table.column_values(position))
    has = f"has the columns {', '.join(map(repr, names))}" if names else "is no data frame"
    raise ArgumentError(
        f"`groups` must hold one label per row, or name a column of the data, which {has}; got the text {name!r}."
    )


def unnamed_group_column(data: Data, groups: Any) -> GroupColumn | None:
    """Return the first column that equals the labels of the rows although nobody named it, or None."""
    if groups is None or data.group_columns or len(data.sizes) > 1:
        return None
    labels = np.asarray(groups)
    for number, table in enumerate(data.tables):
        for position in range(table.n_columns):
            values = table.column_values(position)
            if values.shape == labels.shape and _are_alike(values, labels):
                return GroupColumn(number, position, values)
    return None


def _are_alike(values: np.ndarray[Any, Any], labels: np.ndarray[Any, Any]) -> bool:
    """Return whether the column holds the labels, as they are or as text."""
    return bool(np.all(np.asarray(values == labels))) or bool(np.all(values.astype(str) == labels.astype(str)))
