"""Whether a statistic aligns rows by their index, in which a row that is drawn twice has the same label twice."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoboot.data import Data
from orthoboot.errors import OrthobootWarning, RepeatedLabelsWarning
from orthoboot.functionals.base import Prepared
from orthoboot.functionals.user.callables import PreparedRows
from orthoboot.influence.probe import PROBE_SEED
from orthoboot.plans import Plan
from orthoboot.typing import FloatArray, Key


def repeated_labels_finding(prepared: Prepared[Any], plan: Plan, key: Key) -> tuple[OrthobootWarning, ...]:
    """Return a warning if the statistic confuses rows of pandas that have the same label: two evaluations, or three.

    Pandas makes four rows of two where it aligns or looks up a label that stands twice. A function that does so has
    another value on a resample once its rows are numbered; but so has one that reads the labels, as years. On the data,
    where no label stands twice, only the second one has another value with other labels.
    """
    if not isinstance(prepared, PreparedRows) or not _are_unique(prepared.data):
        return ()
    rows = plan.resamples(key, range(1)).indices(0)
    data = prepared.data
    numbers = [np.arange(len(rows[sample])) for sample in data.sample_of]
    # Drawn anew for each call: the function may change its rows in place.
    own = _value(prepared, data.resampled(rows))
    numbered = _value(prepared, _labelled(data, data.resampled(rows), numbers))
    if own is None or numbered is None or _are_equal(own, numbered):
        return ()
    same_rows = data.take(tuple(np.arange(n) for n in data.sizes))
    renamed = _value(prepared, _labelled(data, same_rows, _other_labels(data)))
    if renamed is None or not _are_equal(renamed, prepared.estimate):
        return ()
    worst = int(np.argmax(np.abs(own - numbered)))
    name = prepared.functional.name if prepared.output.is_scalar else prepared.output.names[worst]
    return (
        RepeatedLabelsWarning(
            f"`{name}` aligns rows by their index, where rows drawn twice share a label: on one resample it is "
            f"{own[worst]:.6g} instead of {numbered[worst]:.6g} with a label for every row. Call "
            "`.reset_index(drop=True)` first in your function."
        ),
    )


def _are_unique(data: Data) -> bool:
    """Return whether some rows have labels, and no label stands twice in a table."""
    known = [table.row_labels for table in data.tables if table.row_labels is not None]
    return bool(known) and all(labels.is_unique for labels in known)


def _labelled(data: Data, containers: tuple[Any, ...], labels: list[Any]) -> tuple[Any, ...]:
    triples = zip(data.tables, containers, labels, strict=True)
    return tuple(table.with_row_labels(container, own) for table, container, own in triples)


def _other_labels(data: Data) -> list[Any]:
    """Return other labels for each table: whole numbers at uneven distances, equal where the data's are equal."""
    known = [table.row_labels for table in data.tables]
    first, *others = (labels for labels in known if labels is not None)
    codes, labels = first.append(others).factorize()
    generator = np.random.default_rng(PROBE_SEED)
    numbers = generator.permutation(np.cumsum(generator.integers(1, 1000, size=len(labels))))[codes]
    ends = np.cumsum([0 if labels is None else len(labels) for labels in known])
    return [
        None if labels is None else numbers[end - len(labels) : end] for labels, end in zip(known, ends, strict=True)
    ]


def _value(prepared: Prepared[Any], containers: tuple[Any, ...]) -> FloatArray | None:
    """Return the statistic of the containers, or None if it has no finite value there."""
    try:
        value = prepared.output.flatten(prepared.functional.function(*containers))
    except Exception:  # the user's function may raise anything
        return None
    return value if np.isfinite(value).all() else None


def _are_equal(first: FloatArray, second: FloatArray) -> bool:
    return bool(np.allclose(first, second, rtol=1e-9, atol=0))
