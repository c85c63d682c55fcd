"""One HTML page with all reports, which needs nothing beside itself: no script, no font, no picture from elsewhere."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import count

from orthoboot.paper.experiment import Figure
from orthoboot.paper.presentation.page_style import STYLE
from orthoboot.paper.presentation.pictures import Picture
from orthoboot.paper.presentation.section import LEGEND, Section, run_in_words
from orthoboot.paper.tables import MARK, Table

Pictures = Mapping[str, Picture]
"""By the stem of their files."""
TITLE = "The orthogonal bootstrap, reproduced"
_INTRODUCTION = (
    "Every table and figure below was computed by orthoboot, through its public functions only, and stands beside what "
    "the paper prints."
)


def html_page(sections: Sequence[Section], pictures: Pictures) -> str:
    """Return the page of some experiments of one run."""
    tables, figures = count(1), count(1)
    parts = [_header(sections), _contents(sections)]
    parts += [_section(section, pictures, tables, figures) for section in sections]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(TITLE)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )


def _header(sections: Sequence[Section]) -> str:
    run = f'<p class="run">{escape(run_in_words(sections[0].settings))}</p>' if sections else ""
    legend = f'<p class="legend">{_worded(LEGEND)}</p>' if any(section.compares for section in sections) else ""
    return f"<header>\n<h1>{escape(TITLE)}</h1>\n{run}\n<p>{escape(_INTRODUCTION)}</p>\n{legend}\n</header>"


def _contents(sections: Sequence[Section]) -> str:
    if not sections:
        return "<p>No experiment is complete yet.</p>"
    entries = "\n".join(_entry(section) for section in sections)
    return f'<nav aria-label="Contents">\n<h2>Contents</h2>\n<ol>\n{entries}\n</ol>\n</nav>'


def _entry(section: Section) -> str:
    different = sum(len(table.disagreements) for table in section.report.tables)
    note = f' <span class="differs">{different} {MARK}</span>' if different else ""
    return f'<li><a href="#{escape(section.name)}">{escape(section.report.title)}</a>{note}</li>'


def _section(section: Section, pictures: Pictures, tables: Iterator[int], figures: Iterator[int]) -> str:
    report = section.report
    parts = [f"<h2>{escape(report.title)}</h2>"]
    parts += [f"<p>{_worded(paragraph)}</p>" for paragraph in report.paragraphs]
    parts += [_table(table, next(tables), f"{section.stem(table.name)}.csv") for table in report.tables]
    parts += [_figure(figure, next(figures), pictures[section.stem(figure.name)]) for figure in report.figures]
    parts.append(f'<p class="sizes">Repetitions: {escape(section.sizes)}.</p>')
    return f'<section id="{escape(section.name)}">\n' + "\n".join(parts) + "\n</section>"


def _table(table: Table, number: int, file: str) -> str:
    shown = list(zip(table.shown_columns(), table.shown_numbers(), strict=True))
    head = "".join(f'<th scope="col"{_of_kind(is_number)}>{escape(heading)}</th>' for heading, is_number in shown)
    body = "\n".join(
        f"<tr>{''.join(_cell(cell, is_number) for cell, (_, is_number) in zip(row, shown, strict=True))}</tr>"
        for row in table.shown_rows()
    )
    return (
        f'<div class="table">\n<p class="caption" id="table-{number}"><b>Table {number}.</b> {escape(table.title)} '
        f'<a href="{escape(file)}">CSV</a></p>\n'
        # Focusable, so that the keyboard can scroll it too.
        f'<div class="scroll" role="region" tabindex="0" aria-labelledby="table-{number}">\n'
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>\n"
        f"{_disagreements(table)}</div>"
    )


def _cell(cell: str, is_number: bool) -> str:
    return f"<td{_of_kind(is_number)}>{_marked(escape(cell))}</td>"


def _of_kind(is_number: bool) -> str:
    return ' class="number"' if is_number else ""


def _marked(escaped: str) -> str:
    return f'<span class="differs">{escaped}</span>' if MARK in escaped else escaped


def _disagreements(table: Table) -> str:
    found = table.disagreements
    if not found:
        return ""
    entries = "".join(f"<li>{escape(one)}</li>" for one in found)
    return f"<details>\n<summary>Differences from the paper: {len(found)}</summary>\n<ul>{entries}</ul>\n</details>\n"


def _figure(figure: Figure, number: int, picture: Picture) -> str:
    # A picture of its own and not a part of the page: the names inside two figures cannot collide.
    source = f"data:image/svg+xml;base64,{b64encode(picture.svg).decode()}"
    return (
        f'<figure>\n<img src="{source}" alt="{escape(figure.caption)}">\n'
        f"<figcaption><b>Figure {number}.</b> {_worded(figure.caption)}</figcaption>\n</figure>"
    )


def _worded(text: str) -> str:
    """Return escaped text, in which words between backticks are code."""
    return re.sub(r"(`+)(.+?)\1", r"<code>\2</code>", escape(text))
