"""A result in a notebook: the table of the summary, and a small picture."""

from __future__ import annotations

from orthoboot.presentation.style import has_matplotlib
from orthoboot.presentation.summary import Answer, table

_MOST_OUTPUTS = 12
"""Beyond these a picture of all outputs is not small."""


def notebook_html(answer: Answer) -> str:
    """Return the summary as HTML, with its interval as a picture where matplotlib is installed."""
    k = len(answer.names)
    if k > _MOST_OUTPUTS or not has_matplotlib():
        return table(answer)
    from orthoboot.presentation.plots.inline import standalone_image
    from orthoboot.presentation.plots.kinds import KINDS, figure_of

    kind, size = (KINDS["interval"], (4.6, 1.9)) if k == 1 else (KINDS["forest"], (4.6, 1.2 + 0.22 * k))
    picture = standalone_image(figure_of(answer, kind, 0, size))
    return f"<div>{table(answer)}{picture}</div>"
