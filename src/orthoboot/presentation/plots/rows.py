"""How the influence of rows is drawn: a line for each of them, the most influential ones named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from orthoboot.presentation.estimates import Estimates
from orthoboot.presentation.influential_rows import InfluentialRow
from orthoboot.presentation.plots.base import MOST_MARKS, View, limits, plain
from orthoboot.presentation.style import ACCENT, SECOND
from orthoboot.typing import FloatArray

_STRIPES = 400
"""Ranges of rows in whose place only the smallest and the largest influence is drawn, where there are many rows."""

_NAME_SIZE = 7.5
_POINTS = 72.0
_LONGEST = 24
"""Letters of a name in the margin."""


def draw_influence(view: View[Estimates], changes: Sequence[FloatArray], rows: list[InfluentialRow]) -> None:
    """Draw what every row of the samples changes, side by side, and name `rows`."""
    axes = view.axes
    everything = np.concatenate(changes)
    starts = np.cumsum([0, *map(len, changes)])
    axes.set(
        xlim=(-0.02 * len(everything) - 0.5, 1.02 * len(everything) - 0.5), ylim=limits(np.append(everything, 0.0))
    )
    axes.axhline(0.0, color=view.ink, linewidth=0.8)
    _draw_rows(axes, everything)
    for start in starts[1:-1]:
        axes.axvline(start - 0.5, color=view.ink, linewidth=0.9, linestyle=(0, (4, 2)))
    places = [int(starts[row.sample]) + row.row for row in rows]
    axes.plot(places, [row.change for row in rows], "o", color=ACCENT, markersize=4.5, linestyle="none", zorder=3)
    _name(view, places, rows)
    axes.set_ylabel("change if it counted twice")


def influence_caption(rows: list[InfluentialRow]) -> str:
    """Return what such a plot shows, in words."""
    if not rows:
        return "About how much the estimate would change if a row counted twice, for every row; none stands out."
    return (
        "About how much the estimate would change if a row counted twice, for every row; those with names move it "
        f"most, {rows[0].name} by {rows[0].change:.3g}."
    )


def _draw_rows(axes: Any, changes: FloatArray) -> None:
    """Draw each row as a line from zero; of many rows the range of their influence, stripe by stripe."""
    if len(changes) <= MOST_MARKS:
        axes.vlines(np.arange(len(changes)), 0.0, changes, color=SECOND, linewidth=0.9)
        return
    edges = np.linspace(0, len(changes), _STRIPES + 1).astype(int)
    low = np.minimum(np.minimum.reduceat(changes, edges[:-1]), 0.0)
    high = np.maximum(np.maximum.reduceat(changes, edges[:-1]), 0.0)
    axes.fill_between(edges[:-1], low, high, step="post", color=SECOND, linewidth=0.3)


def _name(view: View[Estimates], places: list[int], rows: list[InfluentialRow]) -> None:
    """Name the rows in the right margin, from the largest change down, each led to by a line."""
    order = sorted(range(len(rows)), key=lambda i: -rows[i].change)
    bottom, top = view.axes.get_ylim()
    wanted = np.array([(rows[i].change - bottom) / (top - bottom) for i in order])
    line = 1.3 * _NAME_SIZE / (_POINTS * view.size[1])
    for i, height in zip(order, _spread(wanted, line), strict=True):
        view.axes.annotate(
            plain(_cut(rows[i].name)),
            xy=(places[i], rows[i].change),
            xytext=(1.05, float(height)),
            textcoords="axes fraction",
            fontsize=_NAME_SIZE,
            va="center",
            color=view.ink,
            arrowprops={
                "arrowstyle": "-",
                "color": view.ink,
                "linewidth": 0.5,
                "alpha": 0.55,
                "shrinkA": 1,
                "shrinkB": 2,
                "relpos": (0, 0.5),
            },
        )


def _spread(heights: FloatArray, least: float) -> FloatArray:
    """Return falling heights between 0 and 1 near the wanted ones, `least` apart, or evenly where that does not fit."""
    n = len(heights)
    if n * least >= 1:
        return np.linspace(1.0, 0.0, n) if n > 1 else heights
    placed = heights.copy()
    for i in range(1, n):
        placed[i] = min(placed[i], placed[i - 1] - least)
    if n and placed[-1] < 0:
        placed[-1] = 0.0
        for i in range(n - 2, -1, -1):
            placed[i] = max(placed[i], placed[i + 1] + least)
    return placed


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..."
