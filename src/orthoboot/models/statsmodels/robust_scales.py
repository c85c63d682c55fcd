"""Scales of residuals, estimated beside the coefficients of a robust regression."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from orthoboot.typing import FloatArray

_HALF = 1e-9
"""Shares of the weight this close to one half are one half but for rounding."""
_MAD_OF_A_NORMAL = float(ndtri(0.75))
_SCALE_STEPS = 3
"""Each squares the error of the logarithm of a scale that is some hundredths off."""


class Scale(ABC):
    """How the scale of the residuals is estimated, one step at a time beside the coefficients."""

    @abstractmethod
    def updated(self, residuals: FloatArray, weights: FloatArray, scale: float) -> float:
        """Return the next scale for weighted residuals; its fixed point solves the scale equation."""

    @abstractmethod
    def of_many(self, residuals: FloatArray, weights: FloatArray, nearby: float) -> FloatArray:
        """Return the fixed points for residuals ``(B, n)`` with weights ``(B, n)``, given a scale nearby."""


@dataclass(frozen=True)
class FixedScale(Scale):
    """A scale that is known."""

    def updated(self, residuals: FloatArray, weights: FloatArray, scale: float) -> float:
        """Return the scale as it is."""
        return scale

    def of_many(self, residuals: FloatArray, weights: FloatArray, nearby: float) -> FloatArray:
        """Return the scale as it is."""
        return np.full(len(residuals), nearby)


@dataclass(frozen=True)
class MedianScale(Scale):
    """The median of the absolute residuals over 0.6745, consistent for normal errors."""

    def updated(self, residuals: FloatArray, weights: FloatArray, scale: float) -> float:
        """Return the weighted median, whatever the last scale."""
        return weighted_median(np.abs(residuals), weights) / _MAD_OF_A_NORMAL

    def of_many(self, residuals: FloatArray, weights: FloatArray, nearby: float) -> FloatArray:
        """Return the weighted medians."""
        return weighted_medians(np.abs(residuals), weights) / _MAD_OF_A_NORMAL


@dataclass(frozen=True)
class HuberScale(Scale):
    r"""Huber's proposal 2: the s at which :math:`\sum_j w_j \min(r_j^2/s^2, d^2) / 2 = h \sum_j w_j`.

    Attributes
    ----------
    threshold
        d, in scales.
    freedom
        The residual degrees of freedom as a share of the rows, a factor of h.
    """

    threshold: float
    freedom: float

    def updated(self, residuals: FloatArray, weights: FloatArray, scale: float) -> float:
        """Return ``s sqrt(mean / h)``, a step of the fixed point iteration."""
        squares = np.minimum(np.square(residuals / scale), self.threshold**2) / 2
        return scale * float(np.sqrt(np.sum(weights * squares) / weights.sum() / self._normal_mean()))

    def of_many(self, residuals: FloatArray, weights: FloatArray, nearby: float) -> FloatArray:
        """Return the scales after a few Newton steps in their logarithm."""
        shares, scale = weights / weights.sum(axis=1, keepdims=True), np.full(len(residuals), nearby)
        for _ in range(_SCALE_STEPS):
            squares = np.square(residuals / scale[:, np.newaxis])
            inside = shares * (squares < self.threshold**2)
            outside = 1 - inside.sum(axis=1)
            total = (inside * squares).sum(axis=1)
            excess = (total + outside * self.threshold**2) / 2 - self._normal_mean()
            scale = scale * np.exp(np.clip(excess / total, -1.0, 1.0))
        return scale

    def _normal_mean(self) -> float:
        """Return h, what the mean is for normal errors."""
        d = self.threshold
        density = np.exp(-(d**2) / 2) / np.sqrt(2 * np.pi)
        return self.freedom * float(d**2 + (1 - d**2) * ndtr(d) - 0.5 - d * density)


def weighted_median(values: FloatArray, weights: FloatArray) -> float:
    """Return the median of values that count with their weights; half way where it lies between two.

    Examples
    --------
    >>> weighted_median(np.array([5.0, 1.0, 3.0]), np.array([1.0, 1.0, 2.0]))
    3.0
    >>> weighted_median(np.array([5.0, 1.0, 3.0]), np.array([2.0, 1.0, 1.0]))
    4.0
    """
    order = np.argsort(values, kind="stable")
    shares = np.cumsum(weights[order]) / weights.sum()
    below, above = np.searchsorted(shares, [0.5 - _HALF, 0.5 + _HALF])
    # Rows of weight zero may stand between the two: they were not drawn.
    return float(values[order[below]] + values[order[above]]) / 2


def weighted_medians(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted median of each row of values ``(B, n)``, as `weighted_median` does, shape ``(B,)``.

    Examples
    --------
    >>> weighted_medians(np.array([[5.0, 1.0, 3.0]] * 2), np.array([[1.0, 1.0, 2.0], [2.0, 1.0, 1.0]]))
    array([3., 4.])
    """
    order = np.argsort(values, axis=1)
    shares = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    shares /= shares[:, -1:]
    ranks = np.stack([(shares < 0.5 - _HALF).sum(axis=1), (shares < 0.5 + _HALF).sum(axis=1)], axis=1)
    chosen = np.take_along_axis(values, np.take_along_axis(order, ranks, axis=1), axis=1)
    return np.asarray(chosen.mean(axis=1))
