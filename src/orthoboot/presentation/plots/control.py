"""The replicates against their control, which shows whether the influence function explains the statistic."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orthoboot.estimators import r_squared, slope
from orthoboot.presentation.influential_rows import missing_influence
from orthoboot.presentation.plots.base import MOST_MARKS, Kind, View, legend_below, limits
from orthoboot.presentation.style import ACCENT, SECOND
from orthoboot.presentation.summary import Answer
from orthoboot.typing import FloatArray


class Explained(NamedTuple):
    """Of one output: the control on each replicate, what the replicate is more than the estimate, and how they relate.

    Attributes
    ----------
    name
        What the control is.
    control, changes
        Shape ``(B,)`` each.
    slope, r_squared
        As the result has them.
    """

    name: str
    control: FloatArray
    changes: FloatArray
    slope: float
    r_squared: float


def explained(answer: Answer, j: int) -> Explained:
    """Return what the control says of the replicates of output `j`, beside what they are."""
    estimation = answer.estimation
    moments, unit, known = estimation.moments, float(estimation.unit[j]), estimation.control_values
    changes = estimation.replicates.values[:, j] - estimation.estimate[j]
    assert estimation.replicates.linear is not None
    name, control = "linear part", estimation.replicates.linear[:, j]
    if known is not None and estimation.run.control is not None and moments.control_is_nearer[j]:
        name = {"quadratic": "linear and quadratic part"}.get(estimation.run.control.name, estimation.run.control.name)
        control = unit * (known.values[:, j] + known.mean[j])
    return Explained(name, control, changes, float(slope(moments)[j]), float(r_squared(moments)[j]))


def _draw(view: View[Answer]) -> None:
    axes, found = view.axes, explained(view.answer, view.output)
    control, changes = found.control[:MOST_MARKS], found.changes[:MOST_MARKS]
    axes.set(xlim=limits(control), ylim=limits(np.concatenate([control, changes])))
    axes.axline((0.0, 0.0), slope=1.0, color=view.ink, linestyle=(0, (1, 2)), linewidth=1.1, label="slope 1")
    middle = float(found.control.mean()), float(found.changes.mean())
    line = {"color": ACCENT, "linestyle": "-", "linewidth": 1.6}
    axes.axline(middle, slope=found.slope, **line, label=f"slope {found.slope:.2f}", zorder=3)
    size = 5.0 if len(control) <= 200 else 3.0
    count = f"{len(control):,}" if len(control) == len(changes) == len(found.control) else f"first {len(control):,}"
    dots = {"markersize": size, "color": SECOND, "alpha": 0.75, "markeredgewidth": 0, "linestyle": "none"}
    axes.plot(control, changes, "o", **dots, label=f"{count} replicates")
    axes.set(xlabel=f"control: {found.name}", ylabel="replicate less estimate")
    axes.set_title(f"{view.title}: {100 * found.r_squared:.1f}% explained", loc="left")
    legend_below(view)


def _refusal(answer: Answer) -> str:
    estimation = answer.estimation
    if estimation.run.influence is None or estimation.replicates.linear is None:
        return missing_influence(estimation.run)
    if len(estimation.replicates) < 2:
        n = len(estimation.replicates)
        return f"it needs two replicates or more, and there are {n}. `extend` the result first."
    return ""


def _caption(answer: Answer, j: int) -> str:
    found = explained(answer, j)
    return (
        f"Each replicate, less the estimate, against its control, the {found.name}, which explains "
        f"{100 * found.r_squared:.1f}% of the variance, with slope {found.slope:.2f}; near 100% and 1 the influence "
        "function explains the statistic."
    )


CONTROL: Kind[Answer] = Kind("control", _draw, _caption, _refusal)
