"""The shares of the inputs and of their interactions in the input variance."""

from __future__ import annotations

import numpy as np

from orthoboot.presentation.plots.base import Kind, View, legend_below
from orthoboot.presentation.plots.simulation.bars import Bar, draw_bars, size_of_bars
from orthoboot.presentation.simulation_answer import SimulationAnswer
from orthoboot.presentation.simulation_summary import share_text, shown_parts


def _draw(view: View[SimulationAnswer]) -> None:
    from matplotlib.ticker import PercentFormatter

    bars = _bars(view.answer, view.output)
    # Bars of one kind need no name.
    labels = ("input", "interaction") if any(bar.is_apart for bar in bars) else ("", "")
    shown = draw_bars(view, bars, labels)
    view.axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    view.axes.set_xlabel("share of the input variance")
    left_out = "" if shown == len(bars) else f"; the largest {shown} of {len(bars)}"
    view.axes.set_title(f"{view.title}{left_out}", loc="left")
    legend_below(view)


def _bars(answer: SimulationAnswer, j: int) -> list[Bar]:
    """Return bars from the largest share down."""
    m = len(answer.inputs)
    found = []
    for part in shown_parts(answer):
        share, error = float(answer.shares[part, j]), float(answer.share_errors[part, j])
        found.append(Bar(answer.parts[part], share, error, share_text(share, error), part >= m))
    return sorted(found, key=lambda bar: -np.nan_to_num(bar.length))


def _refusal(answer: SimulationAnswer) -> str:
    if np.isfinite(answer.shares).any():
        return ""
    return "no part of the input variance is above its noise, so that nobody knows its shares. `extend` the result."


def _caption(answer: SimulationAnswer, j: int) -> str:
    words = ", ".join(f"{bar.name} {bar.words}" for bar in _bars(answer, j)[:4])
    return f"Shares of the input variance by input and interaction: {words}."


CONTRIBUTIONS: Kind[SimulationAnswer] = Kind(
    "contributions", _draw, _caption, _refusal, lambda answer: size_of_bars(len(shown_parts(answer)))
)
