"""Resamples drawn without the library, to judge it."""

from __future__ import annotations

from typing import Any

import numpy as np

import orthoboot as ob
from tools.fuzz.cases import Case
from tools.fuzz.outcomes import flat, outcome


def _rows(plan: dict[str, Any], sample: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return the rows of one resample of one sample."""
    entry = next((plan[name] for name in ("strata", "groups", "block_length") if name in plan), None)
    entry = entry[sample] if isinstance(entry, tuple) else entry
    if "strata" in plan:
        parts = [np.flatnonzero(entry == label) for label in np.unique(entry)]
        return np.concatenate([rng.choice(part, len(part)) for part in parts])
    if "groups" in plan:
        parts = [np.flatnonzero(entry == label) for label in np.unique(entry)]
        return np.concatenate([parts[i] for i in rng.integers(len(parts), size=len(parts))])
    if entry is not None:
        starts = rng.integers(n - entry + 1, size=-(-n // entry))
        return (starts[:, None] + np.arange(entry)).ravel()[:n]
    return rng.integers(n, size=n)


def values_on_resamples(case: Case, rng: np.random.Generator, n_resamples: int) -> np.ndarray:
    """Return the statistic on resampled rows, shape ``(B, k)``; what is not defined on a resample is left out."""
    found = []
    for _ in range(n_resamples):
        drawn = [_rows(case.plan, i, n, rng) for i, n in enumerate(case.sizes)]
        arrays = [sample[drawn[0 if case.paired else i]] for i, sample in enumerate(case.samples)]
        value = outcome(lambda arrays=arrays: of_rows(case, arrays))
        if value.error is None:
            found.append(flat(value.result))
    return np.array(found) if found else np.full((1, 1), np.nan)


def of_rows(case: Case, arrays: Any) -> Any:
    """Return the statistic of the rows of some arrays."""
    if "weighted" in case.row.name:
        return case.statistic(*arrays, np.ones(len(arrays[0])))
    if not case.row.row_function and not isinstance(case.statistic, ob.Functional):
        return np.nan
    return case.statistic(*arrays)
