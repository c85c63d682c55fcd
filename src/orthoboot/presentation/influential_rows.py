"""The rows that move the statistic most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from orthoboot.presentation.summary import Answer
from orthoboot.presentation.wording import shortened
from orthoboot.run import Run
from orthoboot.typing import FloatArray

MOST_NAMED = 10
_EQUAL = 1e-9
"""Relative differences of influence that are rounding."""


class InfluentialRow(NamedTuple):
    """A row and what it does.

    Attributes
    ----------
    sample, row
        Its place, counted from 0.
    name
        What the user calls it: its label in the index of a frame, or its number.
    change
        About how much the statistic would change if the row counted once more: its influence over the number of rows.
    share
        Of the squared influence of all rows.
    """

    sample: int
    row: int
    name: str
    change: float
    share: float


def missing_influence(run: Run) -> str:
    """Return why what needs an influence function is not there, where there is none, and what to do."""
    return (
        f"it needs an influence function, and the run has none ({run.influence_source}). "
        'Use `with_estimator("orthogonal")` first, or run again with `influence=`.'
    )


def missing_rows(answer: Answer) -> str:
    """Return why the influence of the rows is not at hand, and what to do; empty where it is."""
    run = answer.estimation.run
    if run.influence is None:
        return missing_influence(run)
    if not all(getattr(part, "at_hand", True) for part in run.influence):
        return "it needs a number for every row, and the rows are read in pieces. Load them first, if they fit."
    return ""


def row_changes(answer: Answer, j: int) -> tuple[FloatArray, ...]:
    """Return about how much output `j` would change if a row counted once more, shape ``(n_i,)`` for each sample."""
    influence = answer.estimation.run.influence
    assert influence is not None
    return tuple(np.asarray(part[:, j]) / len(part) for part in influence)


def influential_rows(answer: Answer, j: int) -> list[InfluentialRow]:
    """Return up to ten rows that move output `j` most, the first one most."""
    run = answer.estimation.run
    return largest_changes(row_changes(answer, j), lambda sample, row: row_name(run, sample, row))


def largest_changes(changes: Sequence[FloatArray], name: Callable[[int, int], str]) -> list[InfluentialRow]:
    """Return up to ten rows with the largest changes among all samples, the first one largest.

    Rows that move the answer as much as others that would not be among the ten are left out: which of them are named
    would be chance. So none is named where all move it alike, as they do the median.

    Parameters
    ----------
    changes
        By sample the changes of its rows, shape ``(n_i,)``.
    name
        What the user calls a row, by the numbers of its sample and of the row.
    """
    sizes = np.concatenate([np.abs(part) for part in changes])
    largest = float(sizes.max(initial=0.0))
    if not largest > 0:
        return []
    # Divided by the largest, so that squares are in the range of numbers.
    shares = (sizes / largest) ** 2
    starts = np.cumsum([0, *map(len, changes)])
    found = []
    order = np.argsort(-sizes, kind="stable")
    next_size = float(sizes[order[MOST_NAMED]]) if len(order) > MOST_NAMED else 0.0
    for place in order[:MOST_NAMED].tolist():
        if sizes[place] <= next_size * (1 + _EQUAL):
            break
        sample = int(np.searchsorted(starts, place, side="right")) - 1
        row = place - int(starts[sample])
        change, share = float(changes[sample][row]), float(shares[place] / shares.sum())
        found.append(InfluentialRow(sample, row, name(sample, row), change, share))
    return found


def row_name(run: Run, sample: int, row: int) -> str:
    """Return what the user calls a row: its label in the index of a frame, or its number."""
    tables = (table for table, i in zip(run.data.tables, run.data.sample_of, strict=True) if i == sample)
    labels = next((table.row_labels for table in tables if table.row_labels is not None), None)
    name = f"row {row:,}" if labels is None or labels[row] == row else shortened(str(labels[row]))
    return name if len(run.data.sizes) == 1 else f"{name} of sample {sample + 1}"
