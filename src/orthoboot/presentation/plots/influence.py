"""The influence of every row, the most influential ones named."""

from __future__ import annotations

from orthoboot.presentation.influential_rows import influential_rows, missing_rows, row_changes
from orthoboot.presentation.plots.base import Kind, View
from orthoboot.presentation.plots.rows import draw_influence, influence_caption
from orthoboot.presentation.summary import Answer


def _draw(view: View[Answer]) -> None:
    changes = row_changes(view.answer, view.output)
    draw_influence(view, changes, influential_rows(view.answer, view.output))
    view.axes.set_xlabel(f"row, {len(changes)} samples side by side" if len(changes) > 1 else "row")
    view.axes.set_title(view.title, loc="left")


INFLUENCE: Kind[Answer] = Kind(
    "influence", _draw, lambda answer, j: influence_caption(influential_rows(answer, j)), missing_rows
)
