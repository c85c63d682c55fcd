"""The most influential rows."""

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
"""Relative differences of influence that count as rounding."""


class InfluentialRow(NamedTuple):
    """A row and its influence.

    Attributes
    ----------
    sample, row
        Its place, counted from 0.
    name
        Its label in the index of a frame, or its number.
    change
        About how much the statistic would change if the row counted once more: its influence divided by the number
        of rows.
    share
        Its share of the squared influence of all rows.
    """

    sample: int
    row: int
    name: str
    change: float
    share: float


def missing_influence(run: Run) -> str:
    """Return the message that an influence function is needed, and what to do."""
    return (
        f"it needs an influence function, and the run has none ({run.influence_source}). "
        'Use `with_estimator("orthogonal")` first, or run again with `influence=`.'
    )


def missing_rows(answer: Answer) -> str:
    """Return why the influence of the rows is not available, and what to do; empty if it is."""
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
    """Return up to ten rows with the largest influence on output `j`, in decreasing order."""
    run = answer.estimation.run
    return largest_changes(row_changes(answer, j), lambda sample, row: row_name(run, sample, row))


def largest_changes(changes: Sequence[FloatArray], name: Callable[[int, int], str]) -> list[InfluentialRow]:
    """Return up to ten rows with the largest changes among all samples, in decreasing order.

    Rows tied with others beyond the ten are left out, since the choice among them would be arbitrary. So none is
    returned if all rows have the same change, as for the median.

    Parameters
    ----------
    changes
        The changes of the rows of each sample, shape ``(n_i,)``.
    name
        A function of the numbers of the sample and of the row that returns the name of the row.
    """
    sizes = np.concatenate([np.abs(part) for part in changes])
    largest = float(sizes.max(initial=0.0))
    if not largest > 0:
        return []
    # Divided by the largest, so that squares neither overflow nor vanish.
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
    """Return the name of a row: its label in the index of a frame, or its number."""
    tables = (table for table, i in zip(run.data.tables, run.data.sample_of, strict=True) if i == sample)
    labels = next((table.row_labels for table in tables if table.row_labels is not None), None)
    name = f"row {row:,}" if labels is None or labels[row] == row else shortened(str(labels[row]))
    return name if len(run.data.sizes) == 1 else f"{name} of sample {sample + 1}"
