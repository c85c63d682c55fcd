"""One self-contained HTML page with all reports."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from orthoboot.paper.section import LEGEND, PAPER, Section, run_in_words
from orthoboot.presentation.figures import Figure, Picture
from orthoboot.presentation.pages.elements import worded
from orthoboot.presentation.pages.frame import html_page as framed_page
from orthoboot.presentation.pages.style import STYLE
from orthoboot.presentation.tables import MARK, ReportTable

Pictures = Mapping[str, Picture]
"""By the stem of their files."""
TITLE = "The orthogonal bootstrap, reproduced"
_INTRODUCTION = (
    "Everything below was computed by orthoboot, through its public functions only, and stands beside what the paper "
    "prints, where it prints anything."
)


@dataclass(frozen=True)
class Excerpt:
    """The part of the page for one experiment, which a later run can read again.

    Attributes
    ----------
    name, title
        Of the section.
    run
        The run that its numbers come from, in words.
    differences
        In how many places the paper's figures differ.
    html
        The section.
    """

    name: str
    title: str
    run: str
    differences: int
    html: str


def excerpt(section: Section, pictures: Pictures) -> Excerpt:
    """Return the part of the page that an experiment is."""
    differences = sum(len(table.disagreements) for table in section.report.tables)
    return Excerpt(
        section.name,
        section.report.title,
        run_in_words(section.settings),
        differences,
        _section(section, pictures),
    )


def html_page(excerpts: Sequence[Excerpt], run: str, missing: Sequence[str] = ()) -> str:
    """Return the page of the experiments of one run; those that are `missing` are named."""
    parts = [_header(run), _contents(excerpts, missing), *(one.html for one in excerpts)]
    return framed_page(TITLE, STYLE, parts)


def _header(run: str) -> str:
    paragraphs = {"run": escape(run), "introduction": escape(_INTRODUCTION), "paper": worded(PAPER), "legend": LEGEND}
    shown = "\n".join(f'<p class="{kind}">{text}</p>' for kind, text in paragraphs.items())
    return f"<header>\n<h1>{escape(TITLE)}</h1>\n{shown}\n</header>"


def _contents(excerpts: Sequence[Excerpt], missing: Sequence[str]) -> str:
    entries = "\n".join(_entry(one) for one in excerpts)
    rest = f"<p>Not reproduced here: {escape(', '.join(missing))}.</p>\n" if missing else ""
    return f'<nav aria-label="Contents">\n<h2>Contents</h2>\n<ol>\n{entries}\n</ol>\n{rest}</nav>'


def _entry(one: Excerpt) -> str:
    note = f' <span class="differs">{one.differences} {MARK}</span>' if one.differences else ""
    return f'<li><a href="#{escape(one.name)}">{escape(one.title)}</a>{note}</li>'


def _section(section: Section, pictures: Pictures) -> str:
    report = section.report
    parts = [f"<h2>{escape(report.title)}</h2>"]
    parts += [f"<p>{worded(paragraph)}</p>" for paragraph in report.paragraphs]
    parts += [_table(table, section.stem(table.name)) for table in report.tables]
    parts += [_figure(figure, pictures[section.stem(figure.name)]) for figure in report.figures]
    parts.append(f'<p class="sizes">Repetitions: {escape(section.sizes)}.</p>')
    return f'<section id="{escape(section.name)}">\n' + "\n".join(parts) + "\n</section>"


def _table(table: ReportTable, stem: str) -> str:
    shown = list(zip(table.shown_columns(), table.shown_numbers(), strict=True))
    head = "".join(f'<th scope="col"{_of_kind(is_number)}>{escape(heading)}</th>' for heading, is_number in shown)
    body = "\n".join(
        f"<tr>{''.join(_cell(cell, is_number) for cell, (_, is_number) in zip(row, shown, strict=True))}</tr>"
        for row in table.shown_rows()
    )
    return (
        f'<div class="table">\n<p class="caption" id="table-{escape(stem)}">{escape(table.title)} '
        f'<a href="{escape(stem)}.csv">CSV</a></p>\n'
        # Focusable, so that the keyboard can scroll it too.
        f'<div class="scroll" role="region" tabindex="0" aria-labelledby="table-{escape(stem)}">\n'
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>\n"
        f"{_disagreements(table)}</div>"
    )


def _cell(cell: str, is_number: bool) -> str:
    return f"<td{_of_kind(is_number)}>{_marked(escape(cell))}</td>"


def _of_kind(is_number: bool) -> str:
    return ' class="number"' if is_number else ""


def _marked(escaped: str) -> str:
    return f'<span class="differs">{escaped}</span>' if MARK in escaped else escaped


def _disagreements(table: ReportTable) -> str:
    found = table.disagreements
    if not found:
        return ""
    entries = "".join(f"<li>{escape(one)}</li>" for one in found)
    return f"<details>\n<summary>Differences from the paper: {len(found)}</summary>\n<ul>{entries}</ul>\n</details>\n"


def _figure(figure: Figure, picture: Picture) -> str:
    # A picture of its own and not a part of the page: the names inside two figures cannot collide.
    source = f"data:image/svg+xml;base64,{b64encode(picture.svg).decode()}"
    return (
        f'<figure>\n<img src="{source}" alt="{escape(figure.caption)}">\n'
        f"<figcaption>{worded(figure.caption)}</figcaption>\n</figure>"
    )
