"""What a model predicts for new rows, and the picture of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orthoboot.errors import OrthobootWarning
from orthoboot.presentation.plots.base import MOST_MARKS, Kind, Size, View, legend_below, limits, plain, rounded
from orthoboot.presentation.plots.forest import FOREST
from orthoboot.presentation.style import ACCENT
from orthoboot.presentation.wording import exponent, shortened
from orthoboot.typing import FloatArray

_MOST_NAMED = 30
"""Rows that are drawn one below the other; more are drawn in the order of their predictions."""


@dataclass(frozen=True)
class Predictions:
    """Predictions of m rows, each with an interval for its response.

    Attributes
    ----------
    model, target, features
        What predicts, what is predicted, and by which columns.
    names
        Of the rows.
    estimate, standard_error, standard_error_error, low, high
        The predictions, the standard deviations of the responses about them with their simulation errors, and the ends
        of the intervals, each of shape ``(m,)``.
    confidence_level
        Of the intervals.
    terms
        What they rest on, in words.
    code
        The program that makes them again.
    warnings
        The warnings.
    """

    model: str
    target: str
    features: tuple[str, ...]
    names: tuple[str, ...]
    estimate: FloatArray
    standard_error: FloatArray
    standard_error_error: FloatArray
    low: FloatArray
    high: FloatArray
    confidence_level: float
    terms: tuple[tuple[str, str], ...]
    code: str
    warnings: Sequence[OrthobootWarning | str] = ()

    simultaneous = False

    @property
    def bias(self) -> FloatArray:
        """Return zeros: predictions are shown as the model makes them."""
        return np.zeros_like(self.estimate)

    @property
    def end_errors(self) -> FloatArray:
        """Return zeros: the simulation error is that of the standard deviation."""
        return np.zeros((2, len(self.names)))

    @property
    def level_words(self) -> str:
        """Return what the intervals are, such as ``"95% prediction interval"``."""
        return f"{100 * self.confidence_level:g}% prediction interval"

    def decimals(self, j: int) -> int:
        """Return how many decimals of the prediction of row `j` are shown: three digits of the standard deviation."""
        sizes = (float(self.standard_error[j]), abs(float(self.estimate[j])), 1.0)
        return 2 - exponent(next(size for size in sizes if np.isfinite(size) and size > 0))


def _draw(view: View[Predictions]) -> None:
    if len(view.answer.names) <= _MOST_NAMED:
        view.axes.set_xlabel(plain(shortened(view.answer.target)))
        FOREST.draw(view)
    else:
        _draw_in_order(view)


def _draw_in_order(view: View[Predictions]) -> None:
    """Draw the predictions from the least to the largest, within the band of their intervals."""
    answer, axes = view.answer, view.axes
    m = len(answer.names)
    places = np.unique(np.linspace(0, m - 1, min(m, MOST_MARKS)).astype(int))
    rows = np.argsort(answer.estimate, kind="stable")[places]
    low, high = answer.low[rows], answer.high[rows]
    axes.fill_between(
        places + 1, low, high, facecolor=ACCENT, edgecolor=ACCENT, alpha=0.25, linewidth=0.8, label=answer.level_words
    )
    axes.plot(places + 1, answer.estimate[rows], color=view.ink, label="prediction", zorder=3)
    axes.set(
        xlim=(1, m),
        ylim=limits(np.concatenate([low, high])),
        xlabel="row, in the order of the predictions",
        ylabel=plain(shortened(answer.target)),
    )
    axes.set_title(f"{m:,} rows", loc="left")
    legend_below(view)


def _caption(answer: Predictions, j: int) -> str:
    least, most = (int(find(answer.estimate)) for find in (np.argmin, np.argmax))
    ends = f"{rounded(answer, least, answer.estimate[least])} to {rounded(answer, most, answer.estimate[most])}"
    rows = f"{len(answer.names):,} rows, from {ends}" if len(answer.names) > 1 else f"a row, {ends.partition(' ')[0]}"
    return f"Predictions of {shortened(answer.target)} for {rows}, each in its {answer.level_words}."


def _size(answer: Predictions) -> Size:
    return (5.6, FOREST.size(answer)[1] + 0.2) if len(answer.names) <= _MOST_NAMED else (5.6, 3.6)


PREDICTIONS: Kind[Predictions] = Kind("predictions", _draw, _caption, size=_size, shows_one=False)
