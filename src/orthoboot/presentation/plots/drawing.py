"""A plot of an answer, for users and for pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from orthoboot.arguments import checked_name
from orthoboot.errors import ArgumentError
from orthoboot.presentation.estimates import Estimates
from orthoboot.presentation.figures import Figure
from orthoboot.presentation.outputs import output_number
from orthoboot.presentation.plots.base import Kind, Size, View
from orthoboot.presentation.style import PLOT_SETTINGS, check_matplotlib, figure_style

A = TypeVar("A", bound=Estimates)


def checked_kind(kinds: Mapping[str, Kind[A]], kind: Any, answer: A) -> Kind[A]:
    """Return the kind of that name; raise if there is none, or the answer has no such plot."""
    chosen = kinds[checked_name("kind", kind, kinds)]
    reason = chosen.refusal(answer)
    if reason:
        raise ArgumentError(f'kind="{chosen.name}" cannot be drawn: {reason}')
    return chosen


def plotted(answer: A, kind: Kind[A], ax: Any = None, output: Any = None) -> Any:
    """Return matplotlib's axes with a plot: a new figure of pyplot, or `ax` in the style that it has."""
    j = output_number(answer, output) if kind.shows_one else _no_output(kind, output)
    check_matplotlib("`plot`")
    if ax is not None:
        kind.draw(View(answer, j, _checked_axes(ax)))
        return ax
    with figure_style(PLOT_SETTINGS):
        import matplotlib.pyplot as plt

        _, axes = plt.subplots(figsize=kind.size(answer), layout="constrained")
        kind.draw(View(answer, j, axes))
    return axes


def figure_of(answer: A, kind: Kind[A], j: int, size: Size | None = None) -> Figure:
    """Return a plot as a figure for a page."""
    caption = kind.caption(answer, j)
    return Figure(
        kind.name,
        caption,
        lambda canvas: kind.draw(View(answer, j, canvas.subplots())),
        kind.size(answer) if size is None else size,
    )


def _no_output(kind: Kind[Any], output: Any) -> int:
    if output is not None:
        raise ArgumentError(
            f'`output` must be None for kind="{kind.name}", which shows all outputs; got {output!r}. For one of them '
            'use kind="interval".'
        )
    return 0


def _checked_axes(ax: Any) -> Any:
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        hint = "; of several take one, such as `axes[0]`" if hasattr(ax, "__len__") else ""
        raise ArgumentError(
            f"`ax` must be the Axes of matplotlib to draw into, or None for a new figure; got {type(ax).__name__}"
            f"{hint}."
        )
    return ax
