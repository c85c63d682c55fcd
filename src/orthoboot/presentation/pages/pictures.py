"""The pictures of a page, and the small one of a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import TypeVar

from orthoboot.presentation.estimates import Estimates
from orthoboot.presentation.pages.elements import worded
from orthoboot.presentation.plots.base import Kind
from orthoboot.presentation.style import has_matplotlib
from orthoboot.presentation.wording import shortened

_SIZE = (4.8, 3.3)
"""Of a picture in inches: small, so that its text can be read on a phone."""

_NO_PICTURES = 'Install matplotlib for pictures: `pip install "orthoboot[plot]"`.'

A = TypeVar("A", bound=Estimates)


def pictures(answer: A, kinds: Iterable[Kind[A]], j: int) -> str:
    """Return the plots that the answer has, and why it lacks the others; those of one output are of output `j`."""
    if not has_matplotlib():
        return f"<p>{worded(_NO_PICTURES)}</p>"
    return "\n".join(_pictures(answer, kinds, j))


def _pictures(answer: A, kinds: Iterable[Kind[A]], j: int) -> Iterator[str]:
    from orthoboot.presentation.plots.drawing import figure_of
    from orthoboot.presentation.plots.inline import inline_svg

    missing = []
    kinds = sorted(kinds, key=lambda one: one.shows_one)
    if len(answer.names) > 1 and kinds[-1].shows_one:
        yield f"<p>All but the first are of the output <code>{escape(shortened(answer.names[j]))}</code>.</p>"
    for number, kind in enumerate(kinds):
        reason = kind.refusal(answer)
        if reason and kind.shows_one:
            missing.append(f"No picture of the {kind.name}: {reason}")
        if not reason:
            height = kind.size(answer)[1]
            size = (_SIZE[0], height if height < _SIZE[1] or not kind.shows_one else _SIZE[1])
            figure = figure_of(answer, kind, j, size)
            drawing = inline_svg(figure, f"plot-{number}")
            yield f"<figure>\n{drawing}\n<figcaption>{escape(figure.caption)}</figcaption>\n</figure>"
    yield from (f"<p>{worded(sentence)}</p>" for sentence in missing)
