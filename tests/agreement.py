"""Whether standard errors from few refits are those of many, within the simulation errors of both."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

TWO_ERRORS = 2 * stats.norm.sf(2)
"""The probability that a normal difference is more than two of its standard errors off: 4.6%."""


def distances(few: Any, many: Any) -> Any:
    """Return how far the standard errors of two results are apart, in the simulation error of their difference.

    A vector with an entry for each output that varies.
    """
    ours, theirs = (np.ravel(_joined(result.standard_error)) for result in (few, many))
    errors = [np.ravel(_joined(result.simulation_error.standard_error)) for result in (few, many)]
    varies = theirs > 0
    return (ours - theirs)[varies] / np.hypot(*errors)[varies]


def _joined(value: Any) -> Any:
    return np.concatenate([np.ravel(part) for part in value.values()]) if isinstance(value, dict) else value


def check(apart: dict[str, Any]) -> None:
    """Print all distances, by the names of the models, and raise where the largest is no accident of the draws.

    "Within two simulation errors" is 95.4% for one distance. For the largest of k the limit is the one that all of them
    keep with that probability (Bonferroni): 3.1 for 20 of them and 3.5 for 100.
    """
    for name, distances in apart.items():
        print(f"{name:45} simulation errors apart {distances.round(1)}")
    together = np.abs(np.concatenate(list(apart.values())))
    limit = float(stats.norm.isf(TWO_ERRORS / (2 * len(together))))
    within, largest = np.mean(together <= 2), together.max()
    print(f"{within:.1%} of {len(together)} within two, the largest {largest:.2f}, the limit {limit:.2f}")
    assert largest < limit
