"""Columns that hold the labels of groups: those that the user names, and one that equals the labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from orthoboot.data.group_column import GroupColumn
from orthoboot.data.samples import Data
from orthoboot.errors import ArgumentError

_FIRST_ROWS = 10
"""Compared as text before all of them are."""


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
    if bool(np.all(np.asarray(values == labels))):
        return True
    if values.dtype.kind in "biuf" and labels.dtype.kind in "biuf":
        return False
    # Text is slow to make of many rows, and other columns differ in the first few.
    return all(bool(np.all(values[:n].astype(str) == labels[:n].astype(str))) for n in (_FIRST_ROWS, len(values)))
