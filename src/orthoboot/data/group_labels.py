"""Columns that hold the labels of groups: those that the user names, and others that tell the same groups apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from orthoboot.data.group_column import GroupColumn
from orthoboot.data.samples import Data
from orthoboot.errors import ArgumentError
from orthoboot.typing import IntArray

_FIRST_ROWS = 100
"""Compared before all of them are."""

_MOST_COLUMNS = 4
"""Columns that are tried as labels: where every row is a group, any column of measurements tells the groups apart."""


def named_groups(data: Data, groups: Any, argument: str = "groups") -> tuple[Data, Any]:
    """Return the data with the columns that `groups` names, and the labels that they hold.

    Parameters
    ----------
    data
        The samples.
    groups
        Labels, which are returned as they are, or the name of a column; for several samples a tuple of these.
    argument
        What the user calls them.
    """
    if isinstance(groups, str):
        if len(data.sizes) > 1:
            raise ArgumentError(
                f"`{argument}` must be a tuple with one entry per sample, here {len(data.sizes)}; got the name "
                f"{groups!r}."
            )
        column = _column_named(data, 0, groups, argument)
        return replace(data, group_columns=(column,)), column.labels
    if len(data.sizes) == 1 or not isinstance(groups, (tuple, list)) or len(groups) != len(data.sizes):
        return data, groups
    columns = {i: _column_named(data, i, entry, argument) for i, entry in enumerate(groups) if isinstance(entry, str)}
    labels = tuple(columns[i].labels if i in columns else entry for i, entry in enumerate(groups))
    return replace(data, group_columns=tuple(columns.values())), labels


def named_strata(data: Data, strata: Any) -> Any:
    """Return the labels that `strata` holds, those of a column where it names one; for several samples a tuple."""
    return named_groups(data, strata, "strata")[1]


def _column_named(data: Data, sample: int, name: str, argument: str) -> GroupColumn:
    names = []
    for number, (table, own) in enumerate(zip(data.tables, data.sample_of, strict=True)):
        if own == sample and table.has_columns:
            names += list(table.columns or ())
            if name in (table.columns or ()):
                position = (table.columns or ()).index(name)
                return GroupColumn(number, position, table.column_values(position))
    has = f"has the columns {', '.join(map(repr, names))}" if names else "is no data frame"
    raise ArgumentError(
        f"`{argument}` must hold one label per row, or name a column of the data, which {has}; got the text {name!r}."
    )


def unnamed_group_columns(data: Data, codes: IntArray) -> tuple[GroupColumn, ...]:
    """Return columns that divide the rows into the groups although nobody named them, at most a few.

    Parameters
    ----------
    data
        One sample.
    codes
        The group of each row, numbered from 0, shape ``(n,)``.
    """
    _, first_rows = np.unique(codes, return_index=True)
    fitting = (column for column in _unnamed(data) if _tells_apart(column.labels, first_rows, codes))
    return tuple(islice(fitting, _MOST_COLUMNS))


def _unnamed(data: Data) -> Iterator[GroupColumn]:
    """Yield the columns that nobody named, measurements last, since they are seldom labels."""
    named, measured = {(column.table, column.position) for column in data.group_columns}, []
    for number, table in enumerate(data.tables):
        for position in range(table.n_columns):
            if (number, position) not in named:
                column = GroupColumn(number, position, table.column_values(position))
                if not _is_fractional(column.labels):
                    yield column
                else:
                    measured.append(column)
    yield from measured


def _tells_apart(values: np.ndarray[Any, Any], first_rows: IntArray, codes: IntArray) -> bool:
    """Return whether a column holds one value in each group and another one in every other."""
    if values.ndim != 1:
        return False
    try:
        # Most columns differ in the first few rows.
        for n in (_FIRST_ROWS, len(values)):
            if not np.all(np.asarray(values[first_rows[codes[:n]]] == values[:n])):
                return False
        of_groups = values[first_rows]
        known = set(of_groups.tolist()) if values.dtype.kind == "O" else np.unique(of_groups)
        return len(known) == len(first_rows)
    except Exception:  # values of any kind, which may refuse to be compared, as lists and missing ones do
        return False


def _is_fractional(values: np.ndarray[Any, Any]) -> bool:
    """Return whether a column holds numbers that are not all whole."""
    return values.dtype.kind == "f" and bool((values != np.floor(values)).any())
