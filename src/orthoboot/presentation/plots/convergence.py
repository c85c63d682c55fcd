"""The standard error against the number of replicates, ours and the standard bootstrap's, from the same replicates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orthoboot.estimators import ESTIMATORS, Estimator
from orthoboot.estimators.estimation import Estimation
from orthoboot.presentation.plots.base import Kind, View, legend_below, limits, rounded
from orthoboot.presentation.style import ACCENT, QUIET
from orthoboot.presentation.summary import Answer
from orthoboot.typing import FloatArray, IntArray

_FEWEST = 3
"""Replicates from which on there is a simulation error to show."""

_POINTS = 24
_TICKS = (3, 5, 10, 20, 50)
_TOO_WIDE = 3.0
"""Bands of a few replicates that are wider, in terms of the last standard error, are cut."""


@dataclass(frozen=True)
class Convergence:
    """The standard error of one output by the first B replicates, for several B.

    Attributes
    ----------
    sizes
        B.
    standard_error, error
        The standard error and its simulation error, NaN where that is not known.
    """

    sizes: IntArray
    standard_error: FloatArray
    error: FloatArray


def convergence(answer: Answer, j: int, estimator: Estimator) -> Convergence:
    """Return how the standard error of output `j` settles as replicates are added.

    An influence function that is fitted to the replicates is that of all of them throughout.
    """
    # In units once, rather than again for every number of replicates.
    whole = answer.estimation.in_units
    sizes = _sizes(len(whole.replicates), max(estimator.minimum, _FEWEST))
    parts = [Estimation(whole.run, whole.replicates.among(slice(int(size))), estimator) for size in sizes]
    unit = float(answer.estimation.unit[j])
    return Convergence(
        sizes,
        unit * np.array([part.standard_error[j] for part in parts]),
        unit * np.array([part.standard_error_error[j] for part in parts]),
    )


def _sizes(most: int, least: int) -> IntArray:
    """Return numbers of replicates from `least` to `most`, evenly spaced in their logarithm."""
    return np.unique(np.rint(np.geomspace(least, most, _POINTS)).astype(np.int64))


def _draw(view: View[Answer]) -> None:
    answer, axes = view.answer, view.axes
    own, standard = answer.estimation.estimator, ESTIMATORS["standard"]
    found = []
    if own is not standard:
        found.append(convergence(answer, view.output, standard))
        _draw_line(view, found[-1], "standard, same replicates", QUIET, ("--", "s"))
    found.append(convergence(answer, view.output, own))
    _draw_line(view, found[-1], own.name, ACCENT, ("-", "o"))
    axes.set_xscale("log")
    axes.set_xlim(found[0].sizes[0] * 0.94, found[0].sizes[-1] * 1.06)
    _set_ticks(view, found[0].sizes)
    axes.set_ylim(*_height_limits(found))
    axes.fill_between([], [], facecolor=view.ink, alpha=0.2, label="± simulation error")
    axes.set(xlabel="replicates B", ylabel="standard error")
    axes.set_title(view.title, loc="left")
    legend_below(view)


def _draw_line(view: View[Answer], found: Convergence, label: str, colour: str, shape: tuple[str, str]) -> None:
    low, high = found.standard_error - found.error, found.standard_error + found.error
    view.axes.fill_between(found.sizes, np.maximum(low, 0.0), high, facecolor=colour, alpha=0.22, linewidth=0)
    # Edges in the style of the line, so that the bands can be told apart in grey.
    for edge in (np.maximum(low, 0.0), high):
        view.axes.plot(found.sizes, edge, linestyle=shape[0], color=colour, linewidth=0.6)
    style = {"linestyle": shape[0], "marker": shape[1], "markersize": 3.5, "color": colour}
    view.axes.plot(found.sizes, found.standard_error, **style, label=label)


def _height_limits(found: list[Convergence]) -> tuple[float, float]:
    last = float(found[-1].standard_error[-1])
    shown = [np.concatenate([one.standard_error - one.error, one.standard_error + one.error]) for one in found]
    lines = np.concatenate([one.standard_error for one in found])
    bands = np.concatenate(shown)
    low, high = limits(np.concatenate([lines, bands[bands < max(_TOO_WIDE * last, float(lines.max()))]]))
    return max(low, 0.0), high


def _set_ticks(view: View[Answer], sizes: IntArray) -> None:
    """Set ticks at round numbers of replicates, as they are written."""
    candidates = [tick * 10**power for power in range(8) for tick in (1, 2, 5)]
    ticks = [tick for tick in sorted({*candidates, *_TICKS}) if sizes[0] <= tick <= sizes[-1]] or [int(sizes[-1])]
    # At most so many that they stand apart.
    most = max(2, int(view.size[0] / 0.55))
    step = -(-len(ticks) // most)
    view.axes.set_xticks(ticks[::step], [f"{tick:,}" for tick in ticks[::step]])
    view.axes.set_xticks([], minor=True)


def _refusal(answer: Answer) -> str:
    estimation = answer.estimation
    if not estimation.estimator.simulates:
        return f'estimator="{estimation.estimator.name}" reads no replicates. Use `with_estimator("orthogonal")` first.'
    least = max(estimation.estimator.minimum, _FEWEST) + 1
    if len(estimation.replicates) >= least:
        return ""
    n = len(estimation.replicates)
    return f"it needs {least} replicates or more, and there are {n}. `extend` the result first."


def _caption(answer: Answer, j: int) -> str:
    error = rounded(answer, j, float(answer.estimation.standard_error[j]))
    n, own = len(answer.estimation.replicates), answer.estimation.estimator
    beside = "" if own.name == "standard" else ", beside the standard bootstrap's from the same replicates"
    return f"The standard error as replicates are added, {error} with all {n:,}{beside}; bands are simulation errors."


CONVERGENCE: Kind[Answer] = Kind("convergence", _draw, _caption, _refusal)
