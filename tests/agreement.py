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
    return ((ours - theirs) / np.hypot(*errors))[varies]


def _joined(value: Any) -> Any:
    return np.concatenate([np.ravel(part) for part in value.values()]) if isinstance(value, dict) else value


def limit(n_outputs: int) -> float:
    """Return what "within two simulation errors" is for the largest of several distances.

    That all of them are within it has the probability with which a single one is within two (Bonferroni).
    """
    return float(stats.norm.isf(TWO_ERRORS / (2 * n_outputs)))
