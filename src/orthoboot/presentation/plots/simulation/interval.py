"""The interval with both errors, beside the one that the runs alone would give."""

from __future__ import annotations

import numpy as np

from orthoboot.presentation.plots.base import Kind, View, legend_below, rounded
from orthoboot.presentation.plots.interval import draw_axis, draw_interval, interval_caption, write_at
from orthoboot.presentation.simulation_answer import SimulationAnswer
from orthoboot.presentation.style import SECOND

_HEIGHT = -2.2
"""Of the second line, below the numbers of the first."""

_BOTTOM = -3.6
_DISTANCE = 0.45


def _draw(view: View[SimulationAnswer]) -> None:
    axes = view.axes
    draw_axis(view, _BOTTOM)
    draw_interval(view)
    low, high = _run_ends(view.answer, view.output)
    if np.isfinite(low) and np.isfinite(high):
        line = {"color": SECOND, "linewidth": 2.2, "linestyle": (0, (2, 1)), "solid_capstyle": "butt"}
        axes.plot([low, high], [_HEIGHT, _HEIGHT], **line)
        tips = {"color": SECOND, "marker": "|", "markersize": 9, "markeredgewidth": 1.6}
        axes.plot([low, high], [_HEIGHT, _HEIGHT], linestyle="none", **tips)
        # With its tips, without which a line in the legend is no interval.
        axes.plot([], [], **line, marker="|", markersize=8, markeredgewidth=1.6, label="from runs alone")
        write_at(view, (low + high) / 2, _HEIGHT - _DISTANCE, _run_words(view.answer, view.output))
    axes.set_title(view.title, loc="left")
    legend_below(view)


def _run_ends(answer: SimulationAnswer, j: int) -> tuple[float, float]:
    return float(answer.run_low[j]), float(answer.run_high[j])


def _run_words(answer: SimulationAnswer, j: int) -> str:
    low, high = (rounded(answer, j, end) for end in _run_ends(answer, j))
    return f"{low} to {high}"


def _caption(answer: SimulationAnswer, j: int) -> str:
    return f"{interval_caption(answer, j)}; the runs alone would give {_run_words(answer, j)}."


INTERVAL: Kind[SimulationAnswer] = Kind("interval", _draw, _caption, size=lambda answer: (5.6, 2.8))
