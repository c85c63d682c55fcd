"""Poisson counts by inversion: a row has eight random bits, and one in seventy needs more."""

from __future__ import annotations

from functools import lru_cache
from math import ceil, sqrt
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from orthoboot.draws.summation import CHUNK
from orthoboot.typing import FloatArray

LANES = 1 << 8
"""Values of a lane, the eight random bits of a row."""

LONG_LANES = 1 << 16
"""Parts into which an open lane is divided by sixteen more bits."""

OPEN = 255
"""Table entry of an open lane: more random bits must decide."""

CUTS = 4
"""No lane is settled at a count above 4, at any rate below 1."""

LONG_CUTS = 11
"""Counts above 10 share one part of an open lane, at any rate below 1."""

_LARGEST_COUNT = 26
"""No larger count can come out: it has odds below the smallest uniform, half of 2^-88, at any rate below 1."""

_FEWEST_ROWS = 64
"""Below this many rows throwing all draws is faster than Poisson counts and a few throws."""

_SPARE_DEVIATIONS = 3.0, 4.0
"""How many times sqrt(n) the mean of the Poisson total lies below n: with one chunk of rows, and with more.

The total exceeds n, and is drawn again, with odds of at most 1.2e-3 and 3.2e-5. To draw one chunk again costs less
than to throw more rows in every resample; to read long data again does not.
"""

_CAPACITY_DEVIATIONS = 6.0
"""How far above its mean, in standard deviations, a number of draws is that the counter has room for."""


class Inversion(NamedTuple):
    """The tables that turn random bits into Poisson counts.

    Of the 256 lanes ``floor(256 P(X = k))`` have the count k, the largest counts first. The few that are left are open:
    counted from the first of them, a uniform number v is the count ``#{k : v < rest_k}``, where ``rest_k`` is what the
    settled lanes lack of ``256 P(X > k)``.

    Attributes
    ----------
    table
        The count of each lane, or `OPEN`; shape ``(256,)``.
    cuts
        How many lanes have a count above k, for k = 0, 1, ..., shape ``(4,)``: the count of a lane is the number of
        cuts above it, unless it is open.
    n_open
        The number of open lanes, which are the last.
    rest
        ``256 P(X > k) - cut_k``, decreasing; empty where the rate is zero.
    long_cuts
        The part of 65536 of an open lane that each falls into, ``floor(65536 rest_k)``, shape ``(11,)``. The count of a
        part is the number of these above it, unless it is one itself: that leaves it open.
    long_table
        The count by the first eight of the sixteen bits, or `OPEN`; shape ``(256 n_open,)``.
    deviations
        How far above their expected number, in standard deviations, there is room for open rows.
    """

    table: NDArray[np.uint8]
    cuts: NDArray[np.uint8]
    n_open: int
    rest: FloatArray
    long_cuts: NDArray[np.uint32]
    long_table: NDArray[np.uint8]
    deviations: float

    @property
    def is_zero(self) -> bool:
        """Return whether the rate is zero, so that every count is."""
        return self.rest.size == 0


def _spare_deviations(n: int) -> float:
    return _SPARE_DEVIATIONS[0] if n <= CHUNK else _SPARE_DEVIATIONS[1]


def throw_capacity(n: int) -> int:
    """Return how many throws a resample of `n` rows is expected to need at most.

    n below 64 rows, where all are thrown, and from there six standard deviations above their mean.
    """
    return min(n, ceil((_spare_deviations(n) + _CAPACITY_DEVIATIONS) * n**0.5)) if n >= _FEWEST_ROWS else n


def open_capacity(rows: int, n_open: int, deviations: float) -> int:
    """Return how many of `rows` are expected to have an open lane at most.

    Examples
    --------
    >>> open_capacity(1000, 3, 6.0), open_capacity(8192, 3, 6.0)
    (33, 155)
    """
    mean = n_open / LANES * rows
    return ceil(mean + deviations * sqrt(mean))


def poisson_rate(n: int) -> float:
    """Return the rate of the Poisson counts of `n` rows, before the remaining draws are added.

    ``(n - d sqrt(n)) / n`` with d = 3, or 4 beyond 8192 rows; and 0 below 64 rows, where all draws are thrown.
    """
    return (n - _spare_deviations(n) * n**0.5) / n if n >= _FEWEST_ROWS else 0.0


@lru_cache(maxsize=16)
def inversion(n: int) -> Inversion:
    """Return the tables of the Poisson counts of `n` rows.

    Examples
    --------
    >>> law = inversion(10**6)
    >>> law.cuts, law.n_open
    (array([158,  64,  18,   3], dtype=uint8), 4)
    """
    rate = poisson_rate(n)
    counts = np.arange(1, _LARGEST_COUNT + 1) if rate > 0 else np.empty(0)
    survival = np.asarray(scipy.special.gammainc(counts, rate), dtype=np.float64)
    settled = np.floor(-LANES * np.diff(survival, prepend=1.0))
    above = settled.sum() - settled.cumsum()
    rest = LANES * survival - above
    cuts, long_cuts = above[:CUTS].astype(np.uint8), np.floor(LONG_LANES * rest[:LONG_CUTS]).astype(np.uint32)
    n_open = LANES - int(settled.sum())
    table, long_table = _counts_below(cuts, LANES), _counts_below(long_cuts // LANES, LANES * n_open)
    table[LANES - n_open :] = OPEN
    long_table[long_cuts // LANES] = OPEN
    for array in (table, cuts, rest, long_cuts, long_table):
        array.flags.writeable = False
    return Inversion(table, cuts, n_open, rest, long_cuts, long_table, _CAPACITY_DEVIATIONS)


def _counts_below(cuts: NDArray[Any], size: int) -> NDArray[np.uint8]:
    """Return the number of cuts above each number below `size`."""
    counts: NDArray[np.uint8] = (np.arange(size)[:, np.newaxis] < cuts).sum(axis=1, dtype=np.uint8)
    return counts
