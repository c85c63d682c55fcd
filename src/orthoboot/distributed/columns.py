"""Columns of frames that are not in memory: checked before anything is read, and read as one array."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orthoboot.data.libraries import LIBRARIES, Library
from orthoboot.data.tables import largest_rounded, table_of
from orthoboot.distributed.blocks import Array
from orthoboot.errors import DataError


class Layout(NamedTuple):
    """What every row of a table holds."""

    columns: tuple[str, ...] | None
    shape: tuple[int, ...]


def layout_of(empty: Any, label: str) -> Layout:
    """Return the layout of a table that has the columns of `empty` and their types; raise where one holds no numbers.

    An empty table of the same library is read as one in memory is, so that both refuse the same with the same words.
    """
    table = table_of(empty, label)
    if table.has_columns and not table.columns:
        raise DataError(f"`{label}` must have at least one column; got a table without columns.")
    numbers = table.numbers()
    if numbers.ndim > 2 or 0 in numbers.shape[1:]:
        raise DataError(
            f"`{label}` must be one column, or a table of rows and at least one column; got shape "
            f"{('n', *numbers.shape[1:])}. Reshape it to two axes."
        )
    return Layout(table.columns, numbers.shape[1:])


def frame_rows(frame: Any, library: str) -> Array:
    """Return the rows of a frame in memory as one array of shape ``(m, d)``, missing values as NaN."""
    reader = LIBRARIES[library]
    columns = [column_rows(reader.column(frame, position), reader) for position in range(frame.shape[1])]
    rows = np.empty((frame.shape[0], len(columns)), np.result_type(*columns))
    if rows.dtype.kind == "f":
        _refuse_rounded(columns)
    for position, column in enumerate(columns):
        rows[:, position] = column
    return rows


def _refuse_rounded(columns: list[Array]) -> None:
    """Raise where whole numbers lose digits because other columns are no whole numbers."""
    largest = max(map(largest_rounded, columns), key=abs, default=0)
    if largest:
        raise DataError(
            f"`data` must not hold whole numbers beyond 2**53 beside columns of other numbers; got {largest}. Leave "
            "that column out, or subtract a constant first, such as the smallest of them."
        )


def column_rows(column: Any, reader: Library) -> Array:
    """Return a column of numbers in memory, shape ``(m,)``, missing values as NaN."""
    values = reader.values(column)
    # Whole numbers stay so, for whoever reads them to see whether a float holds them.
    if values.dtype.kind in "biuf":
        return values
    numbers = reader.floats(column)
    if numbers is None:
        raise DataError(f"`data` must hold real numbers; got a column of type {reader.column_type(column)}.")
    return numbers
