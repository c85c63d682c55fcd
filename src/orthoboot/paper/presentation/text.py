"""Reports as Markdown and tables as CSV."""

from __future__ import annotations

import csv
from io import StringIO

from orthoboot.paper.presentation.section import LEGEND, PAPER, Section, run_in_words
from orthoboot.paper.tables import Table


def markdown_table(table: Table) -> str:
    """Return a table in Markdown, numbers to the right."""
    rules = ["---:" if number else "---" for number in table.shown_numbers()]
    return "\n".join(_row(cells) for cells in (table.shown_columns(), rules, *table.shown_rows()))


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(_within_row(cell) for cell in cells)} |"


def _within_row(cell: str) -> str:
    return " ".join(cell.replace("\\", "\\\\").replace("|", "\\|").split())


def csv_table(table: Table) -> str:
    """Return a table as CSV: every number in full, errors and the paper's in columns of their own."""
    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    headings, rows = table.records()
    writer.writerow(headings)
    writer.writerows(rows)
    return stream.getvalue()


def markdown(section: Section) -> str:
    """Return the Markdown file of an experiment, with links to the files of its tables and figures."""
    report = section.report
    blocks = [f"# {report.title}", PAPER, *report.paragraphs]
    if section.compares:
        blocks.append(LEGEND)
    for table in report.tables:
        file = f"{section.stem(table.name)}.csv"
        blocks += [f"## {table.title}", markdown_table(table), f"In full: [{file}]({file})"]
        if table.disagreements:
            blocks.append("Differs from the paper:\n\n" + "\n".join(f"- {one}" for one in table.disagreements))
    for figure in report.figures:
        stem = section.stem(figure.name)
        blocks += [f"![{_within_link(figure.caption)}]({stem}.svg)", figure.caption]
    blocks += ["---", f"{run_in_words(section.settings)}. Repetitions: {section.sizes}."]
    return "\n\n".join(blocks) + "\n"


def _within_link(caption: str) -> str:
    return caption.replace("[", "\\[").replace("]", "\\]")
