"""Poisson counts by inversion: one table per sample size, looked up with sixteen random bits per row."""

from __future__ import annotations

from functools import lru_cache
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
    survival
        ``P(X > k)`` for k = 0, 1, ...; empty where the rate is zero.
    """

    table: NDArray[np.uint8]
    survival: FloatArray


def poisson_rate(n: int) -> float:
    """Return the rate of the Poisson counts of `n` rows, before the remaining draws are added.

    ``(n - 6 sqrt(n)) / n``, and 0 below 64 rows, where all draws are thrown.
    """
    return (n - _SPARE_DEVIATIONS * n**0.5) / n if n >= _FEWEST_ROWS else 0.0


@lru_cache(maxsize=16)
def inversion(n: int) -> Inversion:
    """Return the table and the survival function of the Poisson counts of `n` rows.

    Lane h stands for ``h/65536 <= u < (h+1)/65536``, u uniform, and the count is ``#{k : u < P(X > k)}``. Small u are
    large counts, so that the far tail is reached with the full relative precision of a double.

    Examples
    --------
    >>> table, survival = inversion(100)
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
    for array in (table, survival):
        array.flags.writeable = False
    return Inversion(table, survival)
