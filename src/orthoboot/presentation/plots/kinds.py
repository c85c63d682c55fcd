"""The kinds of plots, and a plot of an answer."""

from __future__ import annotations

from typing import Any

from orthoboot.arguments import checked_name
from orthoboot.errors import ArgumentError
from orthoboot.presentation.figures import Figure
from orthoboot.presentation.outputs import output_number
from orthoboot.presentation.plots.base import Kind, View
from orthoboot.presentation.plots.control import CONTROL
from orthoboot.presentation.plots.convergence import CONVERGENCE
from orthoboot.presentation.plots.distribution import DISTRIBUTION
from orthoboot.presentation.plots.forest import FOREST
from orthoboot.presentation.plots.influence import INFLUENCE
from orthoboot.presentation.plots.interval import INTERVAL
from orthoboot.presentation.style import PLOT_SETTINGS, check_matplotlib, figure_style
from orthoboot.presentation.summary import Answer

KINDS = {kind.name: kind for kind in (INTERVAL, CONVERGENCE, CONTROL, INFLUENCE, FOREST, DISTRIBUTION)}


def plotted(answer: Answer, kind: Any, ax: Any = None, output: Any = None) -> Any:
    """Return matplotlib's axes with a plot: a new figure of pyplot, or `ax` in the style that it has."""
    chosen = _checked_kind(kind, answer)
    j = output_number(answer, output) if chosen.shows_one else _no_output(chosen, output)
    check_matplotlib("`plot`")
    if ax is not None:
        chosen.draw(View(answer, j, _checked_axes(ax)))
        return ax
    with figure_style(PLOT_SETTINGS):
        import matplotlib.pyplot as plt

        _, axes = plt.subplots(figsize=chosen.size(answer), layout="constrained")
        chosen.draw(View(answer, j, axes))
    return axes


def figure_of(answer: Answer, kind: Kind, j: int, size: tuple[float, float] | None = None) -> Figure:
    """Return a plot as a figure for a page."""
    caption = kind.caption(answer, j)
    return Figure(
        kind.name,
        caption,
        lambda canvas: kind.draw(View(answer, j, canvas.subplots())),
        kind.size(answer) if size is None else size,
    )


def _no_output(kind: Kind, output: Any) -> int:
    if output is not None:
        raise ArgumentError(
            f'`output` must be None for kind="{kind.name}", which shows all outputs; got {output!r}. For one of them '
            'use kind="interval".'
        )
    return 0


def _checked_kind(kind: Any, answer: Answer) -> Kind:
    chosen = KINDS[checked_name("kind", kind, KINDS)]
    reason = chosen.refusal(answer)
    if reason:
        raise ArgumentError(f'kind="{chosen.name}" cannot be drawn: {reason}')
    return chosen


def _checked_axes(ax: Any) -> Any:
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        hint = "; of several take one, such as `axes[0]`" if hasattr(ax, "__len__") else ""
        raise ArgumentError(
            f"`ax` must be the Axes of matplotlib to draw into, or None for a new figure; got {type(ax).__name__}"
            f"{hint}."
        )
    return ax
