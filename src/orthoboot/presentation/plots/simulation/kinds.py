"""The kinds of plots of a simulation."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoboot.arguments import checked_name
from orthoboot.errors import ArgumentError
from orthoboot.presentation.plots.base import Kind
from orthoboot.presentation.plots.drawing import checked_kind, plotted
from orthoboot.presentation.plots.forest import FOREST
from orthoboot.presentation.plots.simulation.contributions import CONTRIBUTIONS
from orthoboot.presentation.plots.simulation.influence import influence_kind
from orthoboot.presentation.plots.simulation.interval import INTERVAL
from orthoboot.presentation.plots.simulation.more_data import MORE_DATA
from orthoboot.presentation.simulation_answer import SimulationAnswer

KINDS: dict[str, Kind[SimulationAnswer]] = {
    kind.name: kind for kind in (INTERVAL, CONTRIBUTIONS, MORE_DATA, influence_kind(None), FOREST)
}

_MOST_INPUTS = 3
"""Whose rows have a picture on a page."""


def plotted_simulation(answer: SimulationAnswer, kind: Any, ax: Any = None, output: Any = None, of: Any = None) -> Any:
    """Return matplotlib's axes with a plot of that kind; `of` is the input whose rows are shown."""
    return plotted(answer, simulation_kind(answer, kind, of), ax, output)


def simulation_kind(answer: SimulationAnswer, kind: Any, of: Any = None) -> Kind[SimulationAnswer]:
    """Return the kind of that name; `of` is the input whose rows it shows. Raise if the answer has no such plot."""
    chosen = checked_kind(KINDS, kind, answer)
    if of is not None:
        if chosen.name != "influence":
            raise ArgumentError(
                f'`input` must be None for kind="{chosen.name}", which shows no rows; got {of!r}. For the rows of an '
                'input use kind="influence".'
            )
        names = [entry.name for entry in answer.inputs]
        chosen = influence_kind(names.index(checked_name("input", of, names)))
    return chosen


def page_kinds(answer: SimulationAnswer, j: int) -> list[Kind[SimulationAnswer]]:
    """Return the plots of a page: all kinds, with the rows of the inputs that have the largest shares."""
    shares = np.nan_to_num(answer.shares[: len(answer.inputs), j])
    largest = np.argsort(-shares, kind="stable")[:_MOST_INPUTS]
    others = [kind for name, kind in KINDS.items() if name != "influence"]
    return [*others, *(influence_kind(int(i)) for i in largest)]
