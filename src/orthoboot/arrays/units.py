"""Columns in units, powers of two, so that squares of their numbers neither overflow nor vanish."""

from __future__ import annotations

import numpy as np

from orthoboot.arrays.passes import ranges, sums_of_squares
from orthoboot.typing import FloatArray

_ORDINARY = 100
"""Sizes from 2**-100 to 2**100 need no units: their cubes are numbers too."""

_LEAST = 2.0**-_ORDINARY


def power_of_two(size: FloatArray) -> FloatArray:
    """Return the powers of two next to `size`; one where it is ordinary, zero or not finite.

    Dividing by a power of two changes no digit.

    Examples
    --------
    >>> power_of_two(np.array([0.0, 3.0, 2.0**500])) == np.array([1.0, 1.0, 2.0**500])
    array([ True,  True,  True])
    """
    # Mostly all sizes are ordinary, and small data are read in less time than logarithms take.
    if ((size > _LEAST) & (size < 1 / _LEAST)).all():
        return np.ones_like(size)
    usable = np.isfinite(size) & (size > 0)
    exponent = np.round(np.log2(np.where(usable, size, 1.0)))
    # Beyond the normal numbers the reciprocal would overflow.
    bounded = np.clip(exponent, -1000, 1000)
    return np.asarray(np.exp2(np.where(np.abs(exponent) > _ORDINARY, bounded, 0.0)))


def divided(columns: FloatArray, unit: FloatArray) -> FloatArray:
    """Return the columns divided by their units; the same array where all are one, which they mostly are."""
    return columns if (unit == 1).all() else columns / unit


def ones_for_zeros(lengths: FloatArray) -> FloatArray:
    """Return lengths to divide by: one where a column is zero throughout."""
    return np.where(lengths > 0, lengths, 1.0)


def times_unit(values: FloatArray, unit: FloatArray | float) -> FloatArray:
    """Return values ``(m, k)`` multiplied by their units; the same array where all are one, which they mostly are."""
    return values if np.all(np.equal(unit, 1)) else values * unit


def root_mean_square(columns: FloatArray) -> FloatArray:
    """Return the root of the mean of the squares of each column ``(n, p)``, of any size, shape ``(p,)``."""
    unit = power_of_two(ranges(columns).largest)
    return unit * np.sqrt(sums_of_squares(divided(columns, unit)) / len(columns))
