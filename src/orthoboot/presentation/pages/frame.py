"""The frame of an HTML page, and the page of an answer in it."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

from orthoboot.errors import ArgumentError
from orthoboot.presentation.pages.style import RESULT_STYLE, STYLE
from orthoboot.presentation.style import has_matplotlib


def html_page(title: str, style: str, parts: Iterable[str]) -> str:
    """Return a page that needs nothing from elsewhere; `parts` are HTML."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )


def answer_page(title: str, heading: str, sections: Iterable[tuple[str, str]]) -> str:
    """Return the page of an answer.

    Parameters
    ----------
    title, heading
        What it is about, and one line on how that was found.
    sections
        Titles, and contents in HTML.
    """
    style = STYLE + RESULT_STYLE
    if has_matplotlib():
        from orthoboot.presentation.plots.inline import PLOT_STYLE

        style += PLOT_STYLE
    header = f'<header>\n<h1>{escape(title)}</h1>\n<p class="run">{escape(heading)}</p>\n</header>'
    return html_page(title, style, [header, *(_section(*one) for one in sections)])


def _section(title: str, content: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{content}\n</section>"


def written(page: str, path: Path) -> Path:
    """Write a page to a file, and return its path."""
    path.write_text(page, encoding="utf-8")
    return path


def checked_path(path: Any) -> Path:
    """Return the path of a file from what the user gives."""
    try:
        return Path(path)
    except TypeError:
        raise ArgumentError(
            f'`path` must be the name of a file, such as "result.html"; got {type(path).__name__}.'
        ) from None
