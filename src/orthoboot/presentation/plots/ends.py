"""How an interval is drawn: a line, open at an end that is infinite, with the simulation errors of its ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoboot.presentation.estimates import Estimates
from orthoboot.presentation.plots.base import View, limits, within
from orthoboot.presentation.style import ACCENT
from orthoboot.typing import FloatArray


def axis_limits(view: View[Estimates], outputs: list[int]) -> tuple[float, float]:
    """Return limits of the axis of values that leave room for the ends and their errors."""
    answer, errors = view.answer, np.nan_to_num(view.answer.end_errors)
    estimate = answer.estimate
    # An end that is infinite is drawn as a line that goes on for a while.
    room = 2 * answer.standard_error
    shown = [estimate[outputs], estimate[outputs] - answer.bias[outputs]]
    shown += [(estimate - room)[outputs][np.isneginf(answer.low[outputs])]]
    shown += [(estimate + room)[outputs][np.isposinf(answer.high[outputs])]]
    for end, error in zip((answer.low, answer.high), errors, strict=True):
        shown += [end[outputs] - error[outputs], end[outputs] + error[outputs]]
    return limits(within(np.concatenate(shown)))


def draw_ends(
    view: View[Estimates], j: int, height: float, thickness: float, label: str = "", error_label: str = ""
) -> None:
    """Draw the interval of output `j` at `height`; the errors of its ends are bands of `thickness`."""
    answer, axes = view.answer, view.axes
    left, right = axes.get_xlim()
    low, high = float(answer.low[j]), float(answer.high[j])
    if np.isnan(low) or np.isnan(high):
        return
    start, stop = max(low, left), min(high, right)
    axes.plot([start, stop], [height, height], color=ACCENT, linewidth=2.2, solid_capstyle="butt", zorder=2)
    for end, place, mark in ((low, start, "<"), (high, stop, ">")):
        tip = {"marker": "|", "markersize": 11} if np.isfinite(end) else {"marker": mark, "markersize": 7}
        axes.plot(place, height, color=ACCENT, markeredgewidth=2.0, clip_on=False, **tip)
    # Bands are thin where the errors are small, so that they need edges to be seen.
    for end, error in ((low, answer.end_errors[0, j]), (high, answer.end_errors[1, j])):
        if np.isfinite(end) and error > 0:
            _draw_band(axes, end, float(error), height, thickness, error_label)
            error_label = ""
    if label:
        axes.plot([], [], color=ACCENT, linewidth=2.2, marker="|", markersize=8, markeredgewidth=2.0, label=label)


def _draw_band(axes: Any, end: float, error: float, height: float, thickness: float, label: str) -> None:
    places: FloatArray = np.array([end - error, end + error])
    axes.fill_between(
        places,
        height - thickness,
        height + thickness,
        facecolor=ACCENT,
        edgecolor=ACCENT,
        alpha=0.3,
        linewidth=0.8,
        label=label or None,
        zorder=1,
    )
