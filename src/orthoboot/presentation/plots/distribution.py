"""The bootstrap distribution with the estimate and the interval."""

from __future__ import annotations

import numpy as np

from orthoboot.presentation.plots.base import (
    MOST_MARKS,
    Kind,
    View,
    interval_words,
    legend_below,
    limits,
    rounded,
    too_large,
)
from orthoboot.presentation.style import ACCENT, SECOND
from orthoboot.presentation.summary import Answer
from orthoboot.typing import FloatArray

_FEW = 50
"""Replicates below which a histogram shows its bins rather than a distribution."""

_MOST_BINS = 60


def _draw(view: View[Answer]) -> None:
    answer, axes, j = view.answer, view.axes, view.output
    values = answer.estimation.replicates.values[:, j]
    low, high, estimate = (float(array[j]) for array in (answer.ends.low, answer.ends.high, answer.estimation.estimate))
    left, right = _limits(answer, j)
    axes.set_xlim(left, right)
    _draw_normal(view)
    if len(values) >= _FEW and _has_bins(values):
        counts, edges = np.histogram(values, min(_MOST_BINS, max(10, int(2 * len(values) ** (1 / 3)))))
        heights = counts / (len(values) * np.diff(edges) / _spread(answer, j))
        bars = {"color": SECOND, "alpha": 0.55, "edgecolor": SECOND, "linewidth": 0.4, "align": "edge"}
        axes.bar(edges[:-1], heights, np.diff(edges), label=f"{len(values):,} replicates", **bars)
    else:
        ticks = {"color": SECOND, "marker": "|", "markersize": 14, "markeredgewidth": 1.4, "linestyle": "none"}
        heights = np.full(min(len(values), MOST_MARKS), 0.06)
        axes.plot(
            values[:MOST_MARKS],
            heights,
            transform=axes.get_xaxis_transform(),
            label=f"{len(values):,} replicate{'s' if len(values) > 1 else ''}",
            **ticks,
        )
    axes.axvline(estimate, color=view.ink, linewidth=1.4, label="estimate")
    if not np.isnan(low) and not np.isnan(high):
        start, stop = max(low, left), min(high, right)
        axes.axvspan(start, stop, facecolor=ACCENT, alpha=0.1, linewidth=0)
        for number, end in enumerate(end for end in (low, high) if np.isfinite(end)):
            words = answer.level_words if number == 0 else None
            axes.axvline(end, color=ACCENT, linewidth=1.4, linestyle="--", label=words)
    axes.set_ylim(bottom=0.0)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False)
    axes.set(xlabel=view.name, ylabel="density")
    axes.set_title(view.title, loc="left")
    legend_below(view)


def _has_bins(values: FloatArray) -> bool:
    """Return whether replicates differ beyond their last digits: edges of bins are numbers that differ too."""
    low, high = float(values.min()), float(values.max())
    return high - low > 2 * _MOST_BINS * float(np.spacing(max(abs(low), abs(high))))


def _limits(answer: Answer, j: int) -> tuple[float, float]:
    estimation, ends = answer.estimation, answer.ends
    spread = 3.0 * float(estimation.standard_error[j])
    centre = float(estimation.estimate[j])
    marks = np.array([ends.low[j], ends.high[j], centre - spread, centre + spread])
    return limits(np.concatenate([estimation.replicates.values[:, j], marks]))


def _spread(answer: Answer, j: int) -> float:
    """Return the unit of the axis of densities: the standard error, which keeps them in the range of numbers."""
    return float(answer.estimation.standard_error[j]) or 1.0


def _draw_normal(view: View[Answer]) -> None:
    """Draw the normal law with the bias and the standard error of the result."""
    estimation, j = view.answer.estimation, view.output
    error = float(estimation.standard_error[j])
    left, right = view.axes.get_xlim()
    # Narrower than the axis can show, or without a width at all, it is no curve.
    if not error > 1e-6 * (right - left):
        return
    places = np.linspace(left, right, 300)
    distance: FloatArray = (places - estimation.estimate[j] - estimation.bias[j]) / error
    density = np.exp(-0.5 * distance**2) / np.sqrt(2 * np.pi)
    dotted = {"color": view.ink, "linestyle": (0, (3, 1, 1, 1)), "linewidth": 1.1}
    view.axes.plot(places, density, **dotted, label="normal, same std. error", zorder=3)


def _refusal(answer: Answer) -> str:
    if len(answer.estimation.replicates):
        return too_large(answer)
    return "there are no replicates. `extend` the result first."


def _caption(answer: Answer, j: int) -> str:
    n = len(answer.estimation.replicates)
    estimate = rounded(answer, j, float(answer.estimation.estimate[j]))
    return (
        f"{n:,} replicates of the statistic about the estimate {estimate}, with the {answer.level_words}, "
        f"{interval_words(answer, j)}, and the normal law of the same standard error."
    )


DISTRIBUTION: Kind[Answer] = Kind("distribution", _draw, _caption, _refusal)
