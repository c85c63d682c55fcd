"""What twice the rows of each input would do to the input error."""

from __future__ import annotations

import numpy as np

from orthoboot.presentation.plots.base import Kind, View, legend_below, rounded
from orthoboot.presentation.plots.simulation.bars import Bar, draw_bars, size_of_bars
from orthoboot.presentation.simulation_answer import SimulationAnswer
from orthoboot.presentation.style import ACCENT


def _draw(view: View[SimulationAnswer]) -> None:
    now = float(view.answer.input_error[view.output])
    bars = _bars(view.answer, view.output)
    shown = draw_bars(view, bars, ("", ""), now)
    words = f"now: {rounded(view.answer, view.output, now)}"
    view.axes.axvline(now, color=ACCENT, linewidth=1.6, linestyle="--", label=words)
    view.axes.set_xlabel("input error with twice the rows")
    left_out = "" if shown == len(bars) else f"; the best {shown} of {len(bars)}"
    view.axes.set_title(f"{view.title}{left_out}", loc="left")
    legend_below(view)


def _bars(answer: SimulationAnswer, j: int) -> list[Bar]:
    """Return bars from the smallest input error up, that for all inputs last."""
    now = float(answer.input_error[j])
    found = []
    for entry in answer.read_doubled():
        ratio, error = float(entry.ratio[j]), float(entry.error[j])
        words = "unknown" if np.isnan(ratio) else f"{100 * (ratio - 1):+.1f}% ± {100 * error:.1f}%"
        found.append(Bar(entry.name, ratio * now, error * now, words))
    inputs = sorted(found[: len(answer.inputs)], key=lambda bar: np.nan_to_num(bar.length))
    return [*inputs, *found[len(answer.inputs) :]]


def _refusal(answer: SimulationAnswer) -> str:
    if any(np.isfinite(entry.ratio).any() for entry in answer.read_doubled()):
        return ""
    return "no part of the input variance is above its noise, so that nobody knows its inputs. `extend` the result."


def _caption(answer: SimulationAnswer, j: int) -> str:
    now = rounded(answer, j, float(answer.input_error[j]))
    words = ", ".join(f"{bar.name} {bar.words}" for bar in _bars(answer, j)[:4])
    return f"How twice the rows of an input would change the input error, now {now}: {words}."


MORE_DATA: Kind[SimulationAnswer] = Kind(
    "more_data", _draw, _caption, _refusal, lambda answer: size_of_bars(len(answer.inputs) + 1)
)
