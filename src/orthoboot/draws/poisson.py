"""Poisson counts by inversion: one table per sample size, looked up with sixteen random bits per row."""

from __future__ import annotations

from functools import lru_cache
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from orthoboot.typing import FloatArray

LANES = 1 << 16
"""Buckets of the table: a lane is 16 random bits."""

MARK = 255
"""Table entry of a bucket in which the count is not settled, so that more random bits must decide."""

_LARGEST_COUNT = 25
"""The smallest uniform, half of 2^-80, lies above P(X > 25) at any rate below 1: no larger count can come out."""

CUTS = 8
"""``P(X > k)`` falls into lane 0 from k = 7 on, at any rate below 1."""

_FEWEST_ROWS = 64
"""Below this many rows so few of the draws would be Poisson that throwing all of them is as fast."""

_SPARE_DEVIATIONS = 6
"""The Poisson total exceeds n with odds of about 1e-9 when its mean is this many times sqrt(n) below n."""


class Inversion(NamedTuple):
    """The tables that turn random bits into Poisson counts.

    Attributes
    ----------
    table
        The count of each lane, or `MARK`; shape ``(65536,)``.
    cuts
        The lanes that ``P(X > k)`` falls into, shape ``(8,)``; the table in other words: the count of a lane is the
        number of cuts above it, unless it is a cut itself.
    survival
        ``P(X > k)`` for k = 0, 1, ...; empty where the rate is zero.
    """

    table: NDArray[np.uint8]
    cuts: NDArray[np.uint16]
    survival: FloatArray

    @property
    def is_zero(self) -> bool:
        """Return whether the rate is zero, so that every count is."""
        return self.survival.size == 0


def throw_capacity(n: int) -> int:
    """Return how many throws a resample of `n` rows is expected to need at most.

    n below 64 rows, where all are thrown, and from there ``12 sqrt(n)``, six standard deviations above their mean.
    """
    return min(n, ceil(2 * _SPARE_DEVIATIONS * n**0.5)) if n >= _FEWEST_ROWS else n


def poisson_rate(n: int) -> float:
    """Return the rate of the Poisson counts of `n` rows, before the remaining draws are added.

    ``(n - 6 sqrt(n)) / n``, and 0 below 64 rows, where all draws are thrown.
    """
    return (n - _SPARE_DEVIATIONS * n**0.5) / n if n >= _FEWEST_ROWS else 0.0


@lru_cache(maxsize=16)
def inversion(n: int) -> Inversion:
    """Return the table, the cuts and the survival function of the Poisson counts of `n` rows.

    Lane h stands for ``h/65536 <= u < (h+1)/65536``, u uniform, and the count is ``#{k : u < P(X > k)}``. Small u are
    large counts, so that the far tail is reached with the full relative precision of a double.

    Examples
    --------
    >>> table = inversion(100).table
    >>> int(table[60000]), int(table[10000]), int(table[0]) == MARK
    (0, 1, True)
    """
    rate = poisson_rate(n)
    counts = np.arange(1, _LARGEST_COUNT + 1) if rate > 0 else np.empty(0)
    survival = np.asarray(special.gammainc(counts, rate), dtype=np.float64)
    table = np.zeros(LANES, dtype=np.uint8)
    cut = np.floor(survival * LANES).astype(np.int64)
    for bucket in cut:
        table[:bucket] += 1
    table[cut] = MARK
    cuts = np.zeros(CUTS, dtype=np.uint16)
    cuts[: cut.size] = cut[:CUTS]
    for array in (table, cuts, survival):
        array.flags.writeable = False
    return Inversion(table, cuts, survival)
