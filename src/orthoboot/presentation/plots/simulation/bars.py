"""Bars with names to the left, and what they are in words to the right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from orthoboot.presentation.plots.base import Size, View, lines_with_room, plain
from orthoboot.presentation.simulation_answer import SimulationAnswer
from orthoboot.presentation.style import QUIET, SECOND
from orthoboot.presentation.wording import shortened

_INCHES_OF_A_BAR = 0.3
_MOST_INCHES = 9.0
_MARGIN = 1.06

_STYLES: tuple[dict[str, Any], dict[str, Any]] = (
    {"color": SECOND},
    {"facecolor": "none", "edgecolor": QUIET, "hatch": "////", "linewidth": 1.0},
)
"""Of bars, and of those that are set apart, which print in grey tells too."""


class Bar(NamedTuple):
    """A bar: its name, its length with the simulation error of that, its words, and whether it is set apart."""

    name: str
    length: float
    error: float
    words: str
    is_apart: bool = False


def draw_bars(view: View[SimulationAnswer], bars: Sequence[Bar], labels: tuple[str, str], least: float = 0.0) -> int:
    """Draw as many bars as have room for their names, and return their number.

    Parameters
    ----------
    view
        Where to.
    bars
        From the top down.
    labels
        What the legend calls bars, and those that are set apart.
    least
        What the axis is to reach.
    """
    axes = view.axes
    shown = bars[: lines_with_room(view, len(bars))]
    lengths, errors = (np.nan_to_num([getattr(bar, name) for bar in shown]) for name in ("length", "error"))
    most = max(float((lengths + errors).max(initial=0.0)), least) or 1.0
    axes.set(xlim=(0.0, _MARGIN * most), ylim=(len(shown) - 0.4, -0.6))
    for label, apart, style in zip(labels, (False, True), _STYLES, strict=True):
        places = [place for place, bar in enumerate(shown) if bar.is_apart == apart]
        if places:
            axes.barh(places, lengths[places], height=0.62, label=label or None, **style)
    whiskers = {"fmt": "none", "ecolor": view.ink, "elinewidth": 1.2, "capsize": 2.5, "label": "± simulation error"}
    axes.errorbar(lengths, np.arange(len(shown)), xerr=errors, **whiskers)
    for place, bar in enumerate(shown):
        at = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center", "color": view.ink}
        axes.annotate(bar.words, xy=(1.0, place), xytext=(6, 0), **at)
    axes.set_yticks(range(len(shown)), [plain(shortened(bar.name)) for bar in shown])
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    axes.axvline(0.0, color=view.ink, linewidth=0.9)
    return len(shown)


def size_of_bars(number: int) -> Size:
    """Return the size of a figure for so many bars."""
    return 5.6, min(1.5 + _INCHES_OF_A_BAR * number, _MOST_INCHES)
