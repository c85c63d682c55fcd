"""The frame of an HTML page, and text on it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape


def html_page(title: str, style: str, parts: Iterable[str]) -> str:
    """Return a page that needs nothing from elsewhere; `parts` are HTML."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )


def worded(text: str) -> str:
    """Return escaped text, in which words between backticks are code.

    Examples
    --------
    >>> worded("`a < b` & more")
    '<code>a &lt; b</code> &amp; more'
    """
    return re.sub(r"(`+)(.+?)\1", r"<code>\2</code>", escape(text))
