"""Intervals from replicates, by arch's formulas."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from orthoboot.arch_compat.estimates import Estimates
from orthoboot.typing import FloatArray

_NORMAL = ("norm", "var", "cov")
_CORRECTED = ("bc", "debiased", "bias-corrected", "bca")
METHODS = (*_NORMAL, *_CORRECTED, "basic", "percentile", "studentized")


def interval_of(estimates: Estimates, method: str, size: float, tail: str) -> FloatArray:
    """Return the ends of the interval of each parameter, shape ``(2, k)``."""
    alpha = (1.0 - size) / 2 if tail == "two" else 1.0 - size
    levels = np.array([alpha, 1.0 - alpha])
    ends = _ends(estimates, method, levels)
    if tail == "lower":
        ends[1] = np.inf
    elif tail == "upper":
        ends[0] = -np.inf
    return ends


def _ends(estimates: Estimates, method: str, levels: FloatArray) -> FloatArray:
    base, values = estimates.base, estimates.values
    if method in _NORMAL:
        return base + ndtri(levels)[:, np.newaxis] * estimates.standard_error
    if method in _CORRECTED:
        corrected = corrected_levels(estimates, ndtri(levels), accelerated=method == "bca")
        pairs = zip(values.T, corrected, strict=True)
        return np.array([np.quantile(column, own) for column, own in pairs]).T
    if method == "percentile":
        return np.quantile(values, levels, axis=0)
    if method == "basic":
        return 2.0 * base - np.quantile(values, levels, axis=0)[::-1]
    assert estimates.studentized is not None
    return base - np.quantile(estimates.studentized, levels, axis=0)[::-1] * estimates.standard_error


def corrected_levels(estimates: Estimates, z: FloatArray, *, accelerated: bool) -> FloatArray:
    """Return the levels of the bias-corrected interval of each parameter, shape ``(k, 2)``."""
    below = (estimates.values < estimates.base).mean(axis=0)
    if below.min() <= 0.0 or below.max() >= 1.0:
        raise RuntimeError(
            "Empirical probability used in bias correction is 0 or 1, and so bias cannot be corrected. This may occur "
            "in extremum statistics that are not well approximated by a normal in a finite sample."
        )
    b = ndtri(below)[:, np.newaxis]
    a = acceleration(estimates)[:, np.newaxis] if accelerated else 0.0
    levels: FloatArray = ndtr(b + (b + z) / (1.0 - a * (b + z)))
    return levels


def acceleration(estimates: Estimates) -> FloatArray:
    """Return the skewness of the values without each row, over six, shape ``(k,)``."""
    values = estimates.without_each_row()
    u = values.mean(axis=0) - values
    cubes, squares = np.sum(u**3, axis=0), 6 * np.sum(u**2, axis=0) ** 1.5
    if (squares < np.abs(cubes) * np.finfo(np.float64).eps).any():
        raise RuntimeError(f"Jackknife variance estimate {squares} is too small to use BCa")
    return np.asarray(cubes / squares)
