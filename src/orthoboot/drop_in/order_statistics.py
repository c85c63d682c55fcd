"""Replicates of a median or another quantile of one column, without the resamples behind them."""

from __future__ import annotations

import math

import numpy as np

from orthoboot.typing import FloatArray, Key


def quantile_replicates(column: FloatArray, level: float, key: Key, n_resamples: int) -> FloatArray:
    r"""Return a quantile of each of many resamples of a column, shape ``(B,)``, in time that does not grow with n.

    A resample takes the rows of ranks :math:`\lfloor n U_1 \rfloor, \ldots, \lfloor n U_n \rfloor`, U uniform, so that
    the k-th of its ordered ranks is :math:`\lfloor n U_{(k)} \rfloor`. With :math:`U_{(k)}` of the Beta(k, n + 1 - k)
    law and :math:`U_{(k+1)}`, given it, at :math:`U_{(k)} + (1 - U_{(k)})` Beta(1, n - k), the two ordered values
    between which numpy's quantile lies have exactly their bootstrap law (David and Nagaraja 2003, chapter 2).

    Parameters
    ----------
    column
        Shape ``(n,)``.
    level
        Between 0 and 1.
    key
        The seed.
    n_resamples
        How many.
    """
    n, ordered = len(column), np.sort(column)
    generator = np.random.Generator(np.random.Philox(np.random.SeedSequence(list(key))))
    place = level * (n - 1)
    below = min(math.floor(place), n - 2)
    first = generator.beta(below + 1, n - below, size=n_resamples)
    second = first + (1 - first) * generator.beta(1, n - below - 1, size=n_resamples)
    low, high = (ordered[np.minimum((n * u).astype(np.int64), n - 1)] for u in (first, second))
    return between(low, high, place - below)


def quantile_without_each_row(column: FloatArray, level: float) -> FloatArray:
    """Return numpy's quantile of a column without each of its rows in turn, shape ``(n,)``."""
    n, order = len(column), np.argsort(column, kind="stable")
    ordered, rank = column[order], np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    place = level * (n - 2)
    below = math.floor(place)
    above = min(below + 1, n - 2)
    # What stands behind the row that is left out moves up by one.
    low, high = ordered[below + (rank <= below)], ordered[above + (rank <= above)]
    return between(low, high, place - below)


def between(low: FloatArray, high: FloatArray, share: float) -> FloatArray:
    """Return what lies between two arrays as numpy's quantile does: each of them itself where the share is 0 or 1."""
    step = high - low
    values: FloatArray = low + share * step if share < 0.5 else high - (1 - share) * step
    return values
