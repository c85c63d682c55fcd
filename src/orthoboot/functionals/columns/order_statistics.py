"""Which rows of sorted data a quantile lies between, and between which levels its slope is taken."""

from __future__ import annotations

import numpy as np
import scipy

from orthoboot.typing import FloatArray, IntArray

_BANDWIDTH_LEVEL = 0.95
"""The coverage for which Hall and Sheather's bandwidth is best."""


def hall_sheather_bandwidth(levels: FloatArray, n_rows: int) -> FloatArray:
    r"""Return the bandwidth for the slope of the quantile function, shape as `levels`.

    .. math:: h = n^{-1/3} z_{0.975}^{2/3}
              \left(\frac{1.5\,\varphi(z_q)^2}{2 z_q^2 + 1}\right)^{1/3}

    Hall and Sheather (1988), Journal of the Royal Statistical Society B 50, for a normal density; the rule of R's
    quantreg.

    Examples
    --------
    >>> hall_sheather_bandwidth(np.array([0.5]), 1000).round(4)
    array([0.0972])
    """
    z = scipy.special.ndtri(levels)
    density = np.exp(-np.square(z) / 2) / np.sqrt(2 * np.pi)
    best = np.cbrt(1.5 * np.square(density) / (2 * np.square(z) + 1))
    bandwidths: FloatArray = best * np.cbrt(np.square(scipy.special.ndtri((1 + _BANDWIDTH_LEVEL) / 2)) / n_rows)
    return bandwidths


def slope_levels(levels: FloatArray, n_rows: int) -> tuple[FloatArray, FloatArray]:
    """Return the levels between which the slope of the quantile function is taken, each of shape as `levels`."""
    bandwidths = hall_sheather_bandwidth(levels, n_rows)
    return np.clip(levels - bandwidths, 0, 1), np.clip(levels + bandwidths, 0, 1)


def interpolation(levels: FloatArray, n_rows: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the rank below each quantile, counted from zero, and the fraction towards the next."""
    position = (n_rows - 1) * levels
    below = np.floor(position)
    return below, np.minimum(below + 1, n_rows - 1), position - below


def positions_of(cumulative: FloatArray, ranks: FloatArray) -> IntArray:
    """Return the positions in the sorted data that hold the given ranks among the repeated rows."""
    # Half a row further: whole counts give the same answer, and rescaled ones are safe from rounding.
    positions = np.searchsorted(cumulative, ranks + 0.5, side="right")
    return np.minimum(positions, len(cumulative) - 1)


def interpolated(low: FloatArray, high: FloatArray, fraction: FloatArray) -> FloatArray:
    """Return the point between `low` and `high`, from the nearer end as numpy does, so that the bits agree."""
    rise = high - low
    return np.where(fraction >= 0.5, high - rise * (1 - fraction), low + rise * fraction)


def quantiles_of_sorted(values: FloatArray, levels: FloatArray) -> FloatArray:
    """Return the quantiles of sorted columns ``(d, n)``, shape ``(n_levels, d)``."""
    below, above, fraction = interpolation(levels, values.shape[1])
    return interpolated(values[:, below.astype(int)], values[:, above.astype(int)], fraction).T
