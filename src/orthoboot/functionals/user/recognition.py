"""Well-known callables that have an entry in the catalogue."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from orthoboot.errors import ArgumentError
from orthoboot.functionals.base import Functional
from orthoboot.functionals.columns.moments import kurtosis, mean, skewness, std, variance
from orthoboot.functionals.columns.quantiles import median, quantile

Entry = Callable[..., Functional]
"""Takes the options a callable was bound with, and raises a TypeError for those the catalogue does not have."""


def _without_options(functional: Functional) -> Entry:
    def without_options() -> Functional:
        return functional

    return without_options


def _with_ddof(functional: Functional) -> Entry:
    def with_ddof(*, ddof: float = 0) -> Functional:
        return functional.replace(ddof=ddof)

    return with_ddof


def _quantile(*, q: Any) -> Functional:
    return quantile(q)


def _entries() -> list[tuple[Any, Entry]]:
    entries: list[tuple[Any, Entry]] = [
        (np.mean, _without_options(mean)),
        (np.var, _with_ddof(variance)),
        (np.std, _with_ddof(std)),
        (np.median, _without_options(median)),
        (np.quantile, _quantile),
    ]
    # Whoever passes a function of scipy.stats has imported it; importing it here would slow everybody's start.
    stats = sys.modules.get("scipy.stats")
    if stats is not None:
        entries += [(stats.skew, _without_options(skewness)), (stats.kurtosis, _without_options(kurtosis))]
    return entries


def recognized(statistic: Any) -> Functional | None:
    """Return the entry of the catalogue that computes the same as `statistic`, or None where there is none.

    Known are `numpy.mean`, `var`, `std`, `median` and `quantile`, `scipy.stats.skew` and `kurtosis`, and
    `functools.partial` of these with ``ddof`` or ``q``. The entries work column by column, as these callables do with
    ``axis=0``; for rows that are single numbers there is no difference.

    Parameters
    ----------
    statistic
        Anything; a `Functional` is returned as it is.

    Examples
    --------
    >>> from functools import partial
    >>> from orthoboot.functionals import recognized
    >>> recognized(partial(np.var, ddof=1))
    Variance(ddof=1)
    >>> recognized(len) is None
    True
    """
    if isinstance(statistic, Functional):
        return statistic
    bound = statistic if isinstance(statistic, partial) else partial(statistic) if callable(statistic) else None
    if bound is None or bound.args:
        return None
    for known, entry in _entries():
        if bound.func is known:
            return _with_options(entry, bound.keywords)
    return None


def _with_options(entry: Entry, options: dict[str, Any]) -> Functional | None:
    try:
        return entry(**options)
    except (TypeError, ArgumentError):
        return None
