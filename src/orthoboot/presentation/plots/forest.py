"""The intervals of all outputs, one below the other."""

from __future__ import annotations

import numpy as np

from orthoboot.presentation.estimates import Estimates
from orthoboot.presentation.plots.base import Kind, Size, View, legend_below, lines_with_room, plain
from orthoboot.presentation.plots.ends import axis_limits, draw_ends
from orthoboot.presentation.wording import shortened

_MOST_INCHES = 11.0
_INCHES_OF_AN_OUTPUT = 0.24
_THICKNESS = 0.28


def _draw(view: View[Estimates]) -> None:
    answer, axes = view.answer, view.axes
    k = len(answer.names)
    shown = lines_with_room(view, k)
    outputs = list(range(shown))
    axes.set(xlim=axis_limits(view, outputs), ylim=(shown - 0.4, -0.6))
    axes.set_yticks(outputs, [plain(shortened(answer.names[j])) for j in outputs])
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    left, right = axes.get_xlim()
    if left < 0 < right:
        axes.axvline(0.0, color=view.ink, linewidth=0.9, linestyle=(0, (1, 2)))
    words = f"simultaneous {answer.level_words}" if answer.simultaneous else answer.level_words
    # The first output may have no band to name.
    has_band = (np.isfinite([answer.low, answer.high]) & (answer.end_errors > 0)).any(axis=0)
    for j in outputs:
        error_words = "± simulation error" if j == int(np.argmax(has_band)) else ""
        draw_ends(view, j, j, _THICKNESS, words if j == 0 else "", error_words)
    axes.plot(
        answer.estimate[outputs],
        outputs,
        "o",
        color=view.ink,
        markersize=5,
        label="estimate",
        zorder=4,
    )
    axes.set_title("" if shown == k else f"the first {shown} of {k:,} outputs", loc="left")
    legend_below(view)


def _refusal(answer: Estimates) -> str:
    if len(answer.names) > 1:
        return ""
    return 'it compares outputs, and there is one. Use kind="interval".'


def _caption(answer: Estimates, j: int) -> str:
    k = len(answer.names)
    together = "Simultaneous intervals" if answer.simultaneous else "Intervals"
    apart = int(np.sum((answer.low > 0) | (answer.high < 0)))
    return f"{together} of {k:,} outputs, {answer.level_words}; {apart:,} of them do not contain zero."


def _size(answer: Estimates) -> Size:
    return 5.6, min(1.4 + _INCHES_OF_AN_OUTPUT * len(answer.names), _MOST_INCHES)


FOREST: Kind[Estimates] = Kind("forest", _draw, _caption, _refusal, _size, shows_one=False)
