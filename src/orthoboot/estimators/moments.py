"""The sums over replicates that every estimator is a function of, whole and with one replicate left out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from orthoboot.replicates import Replicates
from orthoboot.typing import FloatArray


@dataclass(frozen=True)
class Moments:
    """Sums over B replicates of the residual ``D = phi_b - phi_hat - linear_b`` and of ``L = linear_b``.

    phi_b itself is ``phi_hat + D + L``. Working with D instead of phi_b loses no digits when the statistic is nearly
    linear. Each array has shape ``(k,)``, or ``(B, k)`` when row b is the sum without replicate b.

    Attributes
    ----------
    size
        The number of replicates in each sum.
    residual_mean, linear_mean
        Means of D and L.
    residual, cross, linear
        Centred sums of D**2, D L and L**2.
    linear_variance
        V, the exact variance of L under the plan, shape ``(k,)``.
    second_order_bias
        The infinitesimal jackknife's bias, shape ``(k,)``; zero where it was not asked for.
    """

    size: int
    residual_mean: FloatArray
    linear_mean: FloatArray
    residual: FloatArray
    cross: FloatArray
    linear: FloatArray
    linear_variance: FloatArray
    second_order_bias: FloatArray

    @property
    def total(self) -> FloatArray:
        """Return the centred sum of phi_b**2."""
        return self.residual + 2 * self.cross + self.linear

    @property
    def shift(self) -> FloatArray:
        """Return ``mean(phi_b) - phi_hat``."""
        return self.residual_mean + self.linear_mean

    def residual_about(self, slope: FloatArray) -> FloatArray:
        """Return the centred sum of ``(phi_b - slope * linear_b)**2``."""
        excess = 1 - slope
        return np.maximum(self.residual + 2 * excess * self.cross + excess**2 * self.linear, 0)


def moments(replicates: Replicates) -> Moments:
    """Return the sums over all replicates."""
    residuals, linear = parts(replicates)
    residual_mean, linear_mean = _mean(residuals), _mean(linear)
    d, l = residuals - residual_mean, linear - linear_mean  # noqa: E741
    bias = replicates.second_order_bias
    return Moments(
        size=len(residuals),
        residual_mean=residual_mean,
        linear_mean=linear_mean,
        residual=(d**2).sum(axis=0),
        cross=(d * l).sum(axis=0),
        linear=(l**2).sum(axis=0),
        linear_variance=_linear_variance(replicates),
        second_order_bias=np.zeros_like(replicates.estimate) if bias is None else bias,
    )


def deleted_moments(replicates: Replicates) -> Moments:
    """Return the sums with each replicate left out in turn, shape ``(B, k)``.

    Leaving out replicate b changes a centred sum of products x y by ``- B/(B-1) (x_b - mean x) (y_b - mean y)``.
    """
    residuals, linear = parts(replicates)
    whole = moments(replicates)
    size = whole.size
    d, l = residuals - whole.residual_mean, linear - whole.linear_mean  # noqa: E741
    scale = size / (size - 1)
    return replace(
        whole,
        size=size - 1,
        residual_mean=whole.residual_mean - d / (size - 1),
        linear_mean=whole.linear_mean - l / (size - 1),
        residual=np.maximum(whole.residual - scale * d**2, 0),
        cross=whole.cross - scale * d * l,
        linear=np.maximum(whole.linear - scale * l**2, 0),
    )


def parts(replicates: Replicates) -> tuple[FloatArray, FloatArray]:
    """Return the residuals D and the linear part L, each ``(B, k)``; L is zero without an influence function."""
    linear = np.zeros_like(replicates.values) if replicates.linear is None else replicates.linear
    return replicates.values - replicates.estimate - linear, linear


def _linear_variance(replicates: Replicates) -> FloatArray:
    if replicates.linear_covariance is None:
        return np.zeros_like(replicates.estimate)
    return np.diag(replicates.linear_covariance).copy()


def _mean(values: FloatArray) -> FloatArray:
    return values.mean(axis=0) if len(values) else np.zeros(values.shape[1])
