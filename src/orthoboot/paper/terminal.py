"""Reports of experiments on the terminal, and in a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orthoboot.paper.section import LEGEND, Section
from orthoboot.presentation.terminal import rich_table

if TYPE_CHECKING:
    from rich.console import Console

_PAGE = 100
"""Columns of running text at most."""


def show(section: Section, where: Console) -> None:
    """Show the title and tables of a report, with differences from the paper in colour."""
    from rich.text import Text

    where.print(Text(f"\n{section.report.title} ({section.name})", style="bold"))
    for table in section.report.tables:
        where.print(rich_table(table))
    if section.compares:
        where.print(Text(LEGEND, style="dim"), width=min(where.width, _PAGE))
