"""Intervals from replicates, by scipy's formulas."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import DegenerateDataWarning
from scipy.stats._common import ConfidenceInterval
from scipy.stats._resampling import BootstrapResult

from orthoboot.scipy_compat.request import Request, Slices
from orthoboot.typing import FloatArray

_DEGENERATE = (
    "The BCa confidence interval cannot be calculated. This problem is known to occur when the distribution is "
    "degenerate or the statistic is np.min."
)


def result_of(request: Request, known: Slices, drawn: FloatArray) -> BootstrapResult:
    """Return scipy's result of a call, from the replicates that it has drawn, with those of an earlier result."""
    earlier = request.bootstrap_result
    distribution = drawn if earlier is None else np.concatenate([earlier.bootstrap_distribution, drawn], axis=-1)
    tails = 2 if request.alternative == "two-sided" else 1
    alpha = (1 - request.confidence_level) / tails
    if request.method == "bca":
        levels = bca_levels(known, distribution, alpha)
    else:
        levels = tuple(np.full(distribution.shape[:-1], level) for level in (alpha, 1 - alpha))
    low, high = _quantiles(distribution, levels)
    if np.isnan(low).any() or np.isnan(high).any():
        warnings.warn(DegenerateDataWarning(_DEGENERATE), stacklevel=3)
    if request.method == "basic":
        estimate = known.estimate[..., 0]
        low, high = 2 * estimate - high, 2 * estimate - low
    if request.alternative == "less":
        low = np.full_like(low, -np.inf)
    elif request.alternative == "greater":
        high = np.full_like(high, np.inf)
    error = np.std(distribution, ddof=1, axis=-1)
    return BootstrapResult(
        confidence_interval=ConfidenceInterval(_number(low, drawn), _number(high, drawn)),
        bootstrap_distribution=distribution,
        standard_error=_number(error, drawn),
    )


def _number(values: Any, drawn: FloatArray) -> Any:
    return np.asarray(values, dtype=drawn.dtype)[()]


def bca_levels(known: Slices, distribution: FloatArray, alpha: float) -> tuple[FloatArray, ...]:
    r"""Return the levels of the BCa interval at the statistic's values.

    .. math:: \Phi\left(z_0 + \frac{z_0 + z_\alpha}{1 - a (z_0 + z_\alpha)}\right)

    with z0 from the share of replicates below the estimate, half of those equal to it included, and the acceleration
    a from the values without each row (Efron and Tibshirani 1993, sections 14.3 and 15.4), over all samples.
    """
    estimate = known.estimate
    below = np.count_nonzero(distribution < estimate, axis=-1) + np.count_nonzero(distribution <= estimate, axis=-1)
    z0 = ndtri(below / (2 * distribution.shape[-1]))
    with np.errstate(invalid="ignore", divide="ignore"):  # what is not finite is told by a warning
        a = acceleration(known)
        ends = (z0 + z for z in (ndtri(alpha), -ndtri(alpha)))
        low, high = (ndtr(z0 + end / (1 - a * end)) for end in ends)
    return low, high


def acceleration(known: Slices) -> FloatArray:
    r"""Return :math:`\frac16 \sum_i u_i^3 / (\sum_i u_i^2)^{3/2}`, u_i = (mean - value without row i) (n - 1) / n."""
    cubes: FloatArray | float = 0.0
    squares: FloatArray | float = 0.0
    for sample, n in enumerate(known.sizes):
        values = known.without_each_row(sample)
        # The mean of equal values may differ from them by rounding.
        mean = np.where(np.ptp(values, axis=-1) > 0, values.mean(axis=-1), values[..., 0])
        u = (mean[..., np.newaxis] - values) * ((n - 1) / n)
        cubes, squares = cubes + np.sum(u**3, axis=-1), squares + np.sum(u**2, axis=-1)
    return np.asarray(cubes / squares**1.5 / 6)


def _quantiles(distribution: FloatArray, levels: tuple[FloatArray, ...]) -> tuple[FloatArray, FloatArray]:
    """Return quantiles at levels of each value's own; NaN where the level or a replicate is."""
    flat = distribution.reshape(-1, distribution.shape[-1])
    pairs = np.stack([np.reshape(level, -1) for level in levels], axis=1)
    is_known = np.isfinite(pairs).all(axis=1)
    found = np.full(pairs.shape, np.nan)
    for place in np.flatnonzero(is_known):
        found[place] = _quantiles_of(flat[place], pairs[place])
    shape = distribution.shape[:-1]
    return found[:, 0].reshape(shape), found[:, 1].reshape(shape)


def _quantiles_of(values: FloatArray, levels: FloatArray) -> FloatArray:
    """Return quantiles of values that may be infinite, between which numpy finds none."""
    with np.errstate(invalid="ignore"):
        found = np.quantile(values, levels)
    if not np.isnan(found).any():
        return found
    low, high = (np.quantile(values, levels, method=side) for side in ("lower", "higher"))
    beside = np.where(np.isfinite(low) | (low == high), high, np.where(np.isfinite(high), low, np.nan))
    return np.where(np.isnan(found), beside, found)
