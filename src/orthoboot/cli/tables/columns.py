"""Columns of a table by their names: chosen, and read as numbers."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from orthoboot.cli.tables.files import Table
from orthoboot.errors import ArgumentError, DataError

if TYPE_CHECKING:
    import pandas as pd

_LISTED = 12
_SHOWN_ROWS = 5


def names_of(listed: str | None) -> list[str]:
    """Return the names in a list with commas.

    Examples
    --------
    >>> names_of("LSAT, GPA")
    ['LSAT', 'GPA']
    """
    return [] if listed is None else [name.strip() for name in listed.split(",") if name.strip()]


def check_columns(names: Iterable[str | None], known: Sequence[str], file: str) -> None:
    """Raise if a column is not there; the message names the nearest ones that are."""
    for name in names:
        if name is not None and name not in known:
            raise ArgumentError(f"there is no column {name!r} in {file}.{_hint(name, known)}")


def _hint(name: str, known: Sequence[str]) -> str:
    lower = {one.lower(): one for one in known}
    close = [lower[one] for one in difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.5)]
    if close:
        return f" Did you mean {' or '.join(map(repr, close))}?"
    more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return f" It has {', '.join(map(repr, known[:_LISTED]))}{more}."


def numeric_columns(table: Table, without: Iterable[str | None]) -> list[str]:
    """Return the names of the columns that hold numbers, without those that are used otherwise."""
    left_out = set(without)
    return [str(name) for name in table.frame.select_dtypes(["number", "bool"]).columns if name not in left_out]


def complete(table: Table, names: Sequence[str], *, drop: bool) -> tuple[Table, int]:
    """Return the table without rows that lack one of the named cells, and how many these are; raise if not `drop`."""
    missing = table.frame[list(names)].isna()
    if not missing.to_numpy().any():
        return table, 0
    if not drop:
        column = str(missing.any().idxmax())
        rows = [str(row + 1) for row in table.frame.index[missing[column]]]
        raise DataError(
            f"column {column!r} of {table.name} has no value in {_rows(rows)}. Fill in the cells, or leave out such "
            "rows with --drop-missing."
        )
    incomplete = missing.any(axis=1)
    kept = replace(table, frame=table.frame[~incomplete])
    if len(kept.frame) < 2:
        raise DataError(
            f"{table.name} has {len(kept.frame)} row(s) with a value in every column of {', '.join(names)}."
        )
    return kept, int(incomplete.sum())


def numbers(table: Table, names: Sequence[str]) -> pd.DataFrame:
    """Return columns as numbers; raise where one holds text, with the rows."""
    import pandas as pd

    return pd.DataFrame({name: _numbers(table, name) for name in names})


def check_text_among_numbers(table: Table, names: Iterable[str]) -> None:
    """Raise where most cells of a column are numbers and some are text: a slip in the file, and no labels."""
    import pandas as pd

    for name in names:
        column = table.frame[name]
        if pd.api.types.is_string_dtype(column.dtype) or column.dtype.kind == "O":
            wrong = column[pd.to_numeric(column, errors="coerce").isna()]
            if 0 < 2 * len(wrong) < len(column):
                raise DataError(_text_in_column(table, name, wrong))


def codes(table: Table, names: Sequence[str]) -> pd.DataFrame:
    """Return columns of labels as numbers, the same for the same label."""
    import pandas as pd

    return pd.DataFrame({name: pd.factorize(table.frame[name])[0] for name in names}, index=table.frame.index)


def _numbers(table: Table, name: str) -> pd.Series[float]:
    import pandas as pd

    column = table.frame[name]
    if pd.api.types.is_bool_dtype(column.dtype):
        return column.astype(float)
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.astype(float) if column.dtype.kind not in "iuf" else column
    found = pd.to_numeric(column, errors="coerce") if column.dtype.kind not in "mM" else None
    if found is None:
        raise DataError(f"column {name!r} of {table.name} must hold numbers; it holds dates.")
    wrong = column[found.isna()]
    if len(wrong):
        raise DataError(_text_in_column(table, name, wrong))
    return found.astype(float)


def _text_in_column(table: Table, name: str, wrong: pd.Series[str]) -> str:
    where = [f"{row + 1} ({str(value)!r})" for row, value in zip(wrong.index, wrong, strict=True)]
    return (
        f"column {name!r} of {table.name} must hold numbers; there is text in {_rows(where)}. Correct the cells, leave "
        "them empty and use --drop-missing, or choose another column."
    )


def _rows(places: Sequence[str]) -> str:
    """Return places in words; rows are counted from 1 below the header."""
    more = f" and {len(places) - _SHOWN_ROWS} more" if len(places) > _SHOWN_ROWS else ""
    return f"row{'s' if len(places) > 1 else ''} {', '.join(places[:_SHOWN_ROWS])}{more}"
