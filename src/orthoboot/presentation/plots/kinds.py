"""The kinds of plots of a bootstrap."""

from __future__ import annotations

from typing import Any

from orthoboot.presentation.plots.base import Kind
from orthoboot.presentation.plots.control import CONTROL
from orthoboot.presentation.plots.convergence import CONVERGENCE
from orthoboot.presentation.plots.distribution import DISTRIBUTION
from orthoboot.presentation.plots.drawing import checked_kind, plotted
from orthoboot.presentation.plots.forest import FOREST
from orthoboot.presentation.plots.influence import INFLUENCE
from orthoboot.presentation.plots.interval import INTERVAL
from orthoboot.presentation.summary import Answer

KINDS: dict[str, Kind[Answer]] = {
    kind.name: kind for kind in (INTERVAL, CONVERGENCE, CONTROL, INFLUENCE, FOREST, DISTRIBUTION)
}


def plotted_result(answer: Answer, kind: Any, ax: Any = None, output: Any = None) -> Any:
    """Return matplotlib's axes with a plot of that kind."""
    return plotted(answer, checked_kind(KINDS, kind, answer), ax, output)
