"""A result in a notebook: the table of the summary, and a small picture."""

from __future__ import annotations

from typing import TypeVar

from orthoboot.presentation.estimates import Estimates
from orthoboot.presentation.plots.base import Kind
from orthoboot.presentation.plots.forest import FOREST
from orthoboot.presentation.style import has_matplotlib

_MOST_OUTPUTS = 12
"""Beyond these a picture of all outputs is not small."""

A = TypeVar("A", bound=Estimates)


def notebook_html(answer: A, table: str, interval: Kind[A]) -> str:
    """Return the summary as HTML, with a picture where matplotlib is installed.

    Parameters
    ----------
    answer
        What is shown.
    table
        The summary as HTML.
    interval
        The plot of its interval, for a single output; several are shown together.
    """
    k = len(answer.names)
    if k > _MOST_OUTPUTS or not has_matplotlib():
        return table
    from orthoboot.presentation.plots.drawing import figure_of
    from orthoboot.presentation.plots.inline import standalone_image

    kind, size = (interval, (4.6, interval.size(answer)[1] - 0.3)) if k == 1 else (FOREST, (4.6, 1.2 + 0.22 * k))
    if kind.refusal(answer):
        return table
    return f"<div>{table}{standalone_image(figure_of(answer, kind, 0, size))}</div>"
