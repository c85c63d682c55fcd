"""Failures of the library that are known and wait to be mended: a row goes when its cause does."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tools.fuzz.cases import Case

Where = Callable[[Case, str], bool]
"""Takes a case and the message of its failure."""


class Known(NamedTuple):
    """Where a failure is a known one: patterns of the statistic's name, the invariance and the message."""

    reason: str
    statistic: str = ""
    invariance: str = ""
    message: str = ""
    where: Where = lambda case, message: True


def _extreme(case: Case, message: str) -> bool:
    """Return whether squares of squares of the numbers leave the range of float64."""
    exponent = re.search(r"data \* 2\*\*(-?\d+)", message)
    factors = [0.0, float(exponent[1]) * np.log10(2) if exponent else 0.0]
    sizes = np.concatenate([np.abs(case.samples[i]).ravel() for i in case.changed])
    decades = np.log10(sizes[sizes > 0]) if (sizes > 0).any() else np.zeros(1)
    powers = max(case.degree or 1, 1)
    return any(powers * abs(decade + factor) > 65 for decade in (decades.min(), decades.max()) for factor in factors)


KNOWN = [
    Known("percentiles saturate at extreme confidence levels", invariance="higher level", message="^saturated"),
    Known(
        "ends of five replicates have no simulation error", invariance="^simulation errors", message="; 5 replicates"
    ),
    Known("rounding decides whether columns are dependent", "covariance_factor", "shift|weights are|order"),
    Known("a mean that is zero but for rounding", "norm_of_mean", "influence is"),
]


def reason(case: Case, invariance: str, message: str) -> str | None:
    """Return why a failure is known, or None."""
    for one in KNOWN:
        matches = (
            re.search(one.statistic, case.row.name),
            re.search(one.invariance, invariance),
            re.search(one.message, message),
        )
        if all(matches) and one.where(case, message):
            return one.reason
    return None
