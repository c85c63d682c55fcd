"""The interval with its simulation error."""

from __future__ import annotations

import numpy as np

from orthoboot.presentation.plots.base import Kind, View, interval_words, legend_below, rounded, rounded_error
from orthoboot.presentation.plots.ends import axis_limits, draw_ends
from orthoboot.presentation.summary import Answer

_THICKNESS = 0.2
_LEAST_SHIFT = 0.01
"""Of the standard error: a smaller bias would put two marks on one place."""


def _draw(view: View) -> None:
    answer, axes, j = view.answer, view.axes, view.output
    estimation = answer.estimation
    axes.set(xlim=axis_limits(view, [j]), ylim=(-1.0, 1.0), xlabel=view.name)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False)
    draw_ends(view, j, 0.0, _THICKNESS, answer.level_words, "± simulation error of an end")
    estimate, bias = float(estimation.estimate[j]), float(estimation.bias[j])
    axes.plot(estimate, 0.0, "o", color=view.ink, markersize=8, linestyle="none", label="estimate", zorder=4)
    if abs(bias) > _LEAST_SHIFT * float(estimation.standard_error[j]):
        mark = {"markerfacecolor": "none", "markeredgecolor": view.ink, "markersize": 7, "linestyle": "none"}
        axes.plot(estimate - bias, 0.0, "D", **mark, label="estimate less its bias", zorder=5)
    _write(view, estimate, rounded(answer, j, estimate), above=True)
    for end, error in zip((answer.ends.low[j], answer.ends.high[j]), answer.end_errors[:, j], strict=True):
        if np.isfinite(end):
            words = f"{rounded(answer, j, float(end))}\n{rounded_error(answer, j, float(error))}".strip()
            _write(view, float(end), words, above=False)
    axes.set_title(view.title, loc="left")
    legend_below(view)


def _write(view: View, place: float, words: str, *, above: bool) -> None:
    """Write numbers above or below the line, kept from leaving the axes at the sides."""
    left, right = view.axes.get_xlim()
    share = (place - left) / (right - left)
    side = "left" if share < 0.1 else "right" if share > 0.9 else "center"
    height, align = (0.32, "bottom") if above else (-0.32, "top")
    view.axes.text(place, height, words, ha=side, va=align, color=view.ink)


def _caption(answer: Answer, j: int) -> str:
    estimate = rounded(answer, j, float(answer.estimation.estimate[j]))
    error = rounded_error(answer, j, float(np.fmax(*answer.end_errors[:, j])))
    known = f", the ends {error} from simulation" if error else ""
    return f"The estimate {estimate} in its {answer.level_words}, {interval_words(answer, j)}{known}."


INTERVAL = Kind("interval", _draw, _caption, size=lambda answer: (5.6, 2.2))
