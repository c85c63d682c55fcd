"""Tables on the terminal, and in a pipe."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from orthoboot.errors import MissingDependencyError
from orthoboot.presentation.tables import MARK, ReportTable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

_UNBOUNDED = 1000
"""Columns in a pipe, where rows need not fit and should not be broken."""


def console(stream: IO[str] | None = None) -> Console:
    """Return the console for reports: standard output by default, as wide as the terminal or, in a pipe, as needed."""
    try:
        from rich.console import Console
    except ImportError as error:
        raise MissingDependencyError(
            'tables on the terminal need rich; install it with `pip install "orthoboot[paper]"`.'
        ) from error
    shown = Console(file=stream, highlight=False)
    return shown if shown.is_terminal else Console(file=stream, highlight=False, width=_UNBOUNDED)


def rich_table(table: ReportTable) -> RichTable:
    """Return a table for the terminal; cells that differ from the paper's are in colour."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    # `Text`, since in plain strings rich takes square brackets for its own.
    shown = RichTable(title=Text(table.title), title_justify="left", title_style="italic", box=box.SIMPLE_HEAD)
    shown.padding = (0, 1, 0, 0)
    rows = table.shown_rows()
    for position, (heading, number) in enumerate(zip(table.shown_columns(), table.shown_numbers(), strict=True)):
        longest = max(len(word) for cell in (heading, *(row[position] for row in rows)) for word in ("", *cell.split()))
        shown.add_column(Text(heading), justify="right" if number else "left", overflow="fold", min_width=longest)
    for row in rows:
        shown.add_row(*(Text(cell, style="bold red" if MARK in cell else "") for cell in row))
    return shown
