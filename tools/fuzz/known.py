"""Failures of the library that are known and wait to be mended: a row goes when its cause does."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

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


KNOWN = [
    Known(
        "rounding decides whether columns are dependent", "covariance_factor", "shift|weights are|order|influence is"
    ),
    Known("a mean that is zero but for rounding", "norm_of_mean", "influence is"),
    Known("a quotient by a mean that is zero but for rounding", "relative_difference|quotient", "order|weights|own"),
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
