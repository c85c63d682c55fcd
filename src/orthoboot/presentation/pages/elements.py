"""The elements of a page: words, numbers, lists, tables and programs, as HTML."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from orthoboot.errors import OrthobootWarning
from orthoboot.presentation.influential_rows import InfluentialRow
from orthoboot.presentation.wording import error_text, number_text


def worded(text: str) -> str:
    """Return escaped text, in which words between backticks are code.

    Examples
    --------
    >>> worded("`a < b` & more")
    '<code>a &lt; b</code> &amp; more'
    """
    return re.sub(r"(`+)(.+?)\1", r"<code>\2</code>", escape(text))


def number(value: float, decimals: int, error: float = 0.0) -> str:
    """Return a number as it is read, with its simulation error, and in full for programs."""
    shown = f'<data value="{float(value)!r}">{escape(number_text(value, decimals))}</data>'
    known = error_text(float(error), decimals) if np.isfinite(value) else ""
    return f'{shown} <span class="error">{escape(known)}</span>' if known else shown


def listed(sentences: Iterable[str], kind: str) -> str:
    """Return a list of sentences, of a kind that the style knows."""
    return f'<ul class="{kind}">\n' + "\n".join(f"<li>{worded(one)}</li>" for one in sentences) + "\n</ul>"


def warnings_or_none(warnings: Sequence[OrthobootWarning | str], checked: str) -> str:
    """Return the warnings as a list, or a note that there are none; `checked` is what was checked."""
    if not warnings:
        return f"<p>None: the checks of {escape(checked)} found no problem.</p>"
    return listed([str(warning) for warning in warnings], "warnings")


def table(name: str, caption: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table whose first column is names, and the others numbers; the cells are HTML."""
    first, *others = head
    columns = f'<th scope="col">{first}</th>' + "".join(f'<th scope="col" class="number">{one}</th>' for one in others)
    body = "\n".join(
        f'<tr><th scope="row">{row[0]}</th>' + "".join(f'<td class="number">{cell}</td>' for cell in row[1:]) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="table">\n<p class="caption" id="table-{name}">{escape(caption)}</p>\n'
        # Focusable, so that the keyboard can scroll it too.
        f'<div class="scroll" role="region" tabindex="0" aria-labelledby="table-{name}">\n'
        f"<table>\n<thead><tr>{columns}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>\n</div>\n"
    )


def table_of_rows(rows: Sequence[InfluentialRow], of: str) -> str:
    """Return the most influential rows as a table; `of` says of which output, where there are several."""
    if not rows:
        return "<p>No row stands out: many rows have the same influence.</p>"
    caption = f"About how much the estimate{of} would change if the row counted twice; rows are counted from 0."
    cells = [
        (escape(row.name), f'<data value="{row.change!r}">{row.change:+#.3g}</data>', f"{100 * row.share:.1f}%")
        for row in rows
    ]
    return table("rows", caption, ("row", "change", "share of squared influence"), cells)


def terms(entries: Iterable[tuple[str, str]]) -> str:
    """Return terms, and what they are, in words."""
    shown = "\n".join(f"<dt>{escape(term)}</dt>\n<dd>{worded(words)}</dd>" for term, words in entries)
    return f"<dl>\n{shown}\n</dl>"


def program(code: str, command: str | None = None) -> str:
    """Return a program, with the versions that it ran with; first the shell command, where one was typed."""
    typed = ""
    if command:
        typed = f"<p>On the command line:</p>\n{_block(command, 'command')}\n<p>The same in Python:</p>\n"
    return f'{typed}{_block(code)}\n<p class="versions">{escape(", ".join(_versions()))}</p>'


def _block(text: str, kind: str = "program") -> str:
    # Focusable, so that the keyboard can scroll it too.
    return f'<pre class="{kind}" tabindex="0"><code>{escape(text)}</code></pre>'


def _versions() -> Iterator[str]:
    # The root imports this room, so that it cannot be imported here; it always is by then.
    yield f"orthoboot {sys.modules[__name__.partition('.')[0]].__version__}"
    yield f"Python {platform.python_version()}"
    for package in ("numpy", "scipy", "matplotlib"):
        try:
            yield f"{package} {version(package)}"
        except PackageNotFoundError:
            continue
