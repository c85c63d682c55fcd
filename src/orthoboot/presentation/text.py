"""Tables as Markdown and as CSV."""

from __future__ import annotations

import csv
from io import StringIO

from orthoboot.presentation.tables import ReportTable


def markdown_table(table: ReportTable) -> str:
    """Return a table in Markdown, numbers to the right."""
    rules = ["---:" if number else "---" for number in table.shown_numbers()]
    return "\n".join(_row(cells) for cells in (table.shown_columns(), rules, *table.shown_rows()))


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(_within_row(cell) for cell in cells)} |"


def _within_row(cell: str) -> str:
    return " ".join(cell.replace("\\", "\\\\").replace("|", "\\|").split())


def csv_table(table: ReportTable) -> str:
    """Return a table as CSV: all digits, with errors and the paper's numbers in separate columns."""
    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    headings, rows = table.records()
    writer.writerow(headings)
    writer.writerows(rows)
    return stream.getvalue()
