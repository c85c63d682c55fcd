"""The interval with its simulation error."""

from __future__ import annotations

import numpy as np

from orthoboot.presentation.estimates import Estimates
from orthoboot.presentation.plots.base import (
    Kind,
    View,
    interval_words,
    legend_below,
    rounded,
    rounded_error,
    too_large,
)
from orthoboot.presentation.plots.ends import axis_limits, draw_ends

_THICKNESS = 0.2
_LEAST_SHIFT = 0.01
"""Of the standard error: a smaller bias would put two marks on one place."""

_DISTANCE = 0.32
"""Of the numbers from the line."""


def _draw(view: View[Estimates]) -> None:
    draw_axis(view, -1.0)
    draw_interval(view)
    view.axes.set_title(view.title, loc="left")
    legend_below(view)


def draw_axis(view: View[Estimates], bottom: float) -> None:
    """Lay out the axes for an interval at the height zero, and for what is below it."""
    axes = view.axes
    axes.set(xlim=axis_limits(view, [view.output]), ylim=(bottom, 1.0), xlabel=view.name)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False)


def draw_interval(view: View[Estimates]) -> None:
    """Draw estimate and interval at the height zero, with their numbers."""
    answer, axes, j = view.answer, view.axes, view.output
    draw_ends(view, j, 0.0, _THICKNESS, answer.level_words, "± simulation error of an end")
    estimate, bias = float(answer.estimate[j]), float(answer.bias[j])
    axes.plot(estimate, 0.0, "o", color=view.ink, markersize=8, linestyle="none", label="estimate", zorder=4)
    if abs(bias) > _LEAST_SHIFT * float(answer.standard_error[j]):
        mark = {"markerfacecolor": "none", "markeredgecolor": view.ink, "markersize": 7, "linestyle": "none"}
        axes.plot(estimate - bias, 0.0, "D", **mark, label="estimate less its bias", zorder=5)
    write_at(view, estimate, _DISTANCE, rounded(answer, j, estimate), align="bottom")
    for end, error in zip((answer.low[j], answer.high[j]), answer.end_errors[:, j], strict=True):
        if np.isfinite(end):
            words = f"{rounded(answer, j, float(end))}\n{rounded_error(answer, j, float(error))}".strip()
            write_at(view, float(end), -_DISTANCE, words)


def write_at(view: View[Estimates], place: float, height: float, words: str, align: str = "top") -> None:
    """Write words at a place of the axis, kept from leaving the axes at the sides."""
    left, right = view.axes.get_xlim()
    share = (place - left) / (right - left)
    side = "left" if share < 0.1 else "right" if share > 0.9 else "center"
    view.axes.text(place, height, words, ha=side, va=align, color=view.ink)


def interval_caption(answer: Estimates, j: int) -> str:
    """Return estimate and interval of output `j` in words, without a stop."""
    estimate = rounded(answer, j, float(answer.estimate[j]))
    error = rounded_error(answer, j, float(np.fmax(*answer.end_errors[:, j])))
    known = f", the ends {error} from simulation" if error else ""
    return f"The estimate {estimate} in its {answer.level_words}, {interval_words(answer, j)}{known}"


INTERVAL: Kind[Estimates] = Kind(
    "interval", _draw, lambda answer, j: f"{interval_caption(answer, j)}.", too_large, size=lambda answer: (5.6, 2.2)
)
