"""The natural scale of a statistic, on which its replicates are nearer to normal and no end leaves its range."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from orthoboot.estimators.estimation import Estimation
from orthoboot.typing import BoolArray, FloatArray

_NEAREST = 1e-3
"""Values come no nearer to a limit than this share of the estimate's distance from it: at the limit all is infinite."""


@dataclass(frozen=True, eq=False)
class NaturalScale:
    r"""A logarithm for each limit of the range, tangent to the plain scale at the estimate.

    With g the logit, a multiple of Fisher's z, for a range with two limits a and b, and the logarithm for one:

    .. math:: h(x) = \hat\phi + \frac{g(x) - g(\hat\phi)}{g'(\hat\phi)}, \qquad g(x) = \log(x - a) - \log(b - x),

    each term only where its limit is finite. As h is one to first order, the linear part is the same on both scales. An
    estimate at a limit, or beyond, leaves the plain scale.

    Parameters
    ----------
    low, high
        The limits of each output, infinite where there is none, shape ``(k,)``.
    estimate
        phi_hat, shape ``(k,)``.
    """

    low: FloatArray
    high: FloatArray
    estimate: FloatArray

    def forward(self, values: FloatArray) -> FloatArray:
        """Return values of shape ``(..., k)`` on the natural scale."""
        if not self.is_curved.any():
            return values
        inside = np.clip(values, self._nearest_low, self._nearest_high)
        return np.where(self.is_curved, self.estimate + (self._g(inside) - self._centre) / self._slope, values)

    def position(self, values: FloatArray) -> FloatArray:
        """Return where values lie on the natural scale, infinitely far at a limit and beyond."""
        inside = (values > self.low) & (values < self.high)
        beyond = np.where(values >= self.high, np.inf, -np.inf)
        moved = np.where(inside, self.estimate + (self._g(values) - self._centre) / self._slope, beyond)
        return np.where(self.is_curved, moved, values)

    def back(self, values: FloatArray) -> FloatArray:
        """Return values of shape ``(..., k)`` on the plain scale; the inverse of `forward`."""
        if not self.is_curved.any():
            return values
        g = self._centre + (values - self.estimate) * self._slope
        with np.errstate(over="ignore", invalid="ignore"):
            from_low, from_high = self.low + np.exp(g), self.high - np.exp(-g)
            # Between two limits, from the nearer of them, so that small distances keep their digits.
            share = 1 / (1 + np.exp(-np.abs(g)))
            width = self.high - self.low
            between = np.where(g < 0, self.low + width * (1 - share), self.high - width * (1 - share))
        one_sided = np.where(np.isfinite(self.low), from_low, from_high)
        found = np.where(np.isfinite(self.low) & np.isfinite(self.high), between, one_sided)
        return np.where(self.is_curved, found, values)

    def some(self, outputs: slice) -> NaturalScale:
        """Return the scale of some outputs."""
        return NaturalScale(self.low[outputs], self.high[outputs], self.estimate[outputs])

    @cached_property
    def is_curved(self) -> BoolArray:
        """Return which outputs have a limit, and an estimate inside of it, shape ``(k,)``."""
        bounded = np.isfinite(self.low) | np.isfinite(self.high)
        return np.asarray(bounded & (self.estimate > self.low) & (self.estimate < self.high))

    @property
    def _nearest_low(self) -> FloatArray:
        distance = np.where(np.isfinite(self.low), self.estimate - self.low, 0.0)
        return np.where(np.isfinite(self.low), self.low + _NEAREST * distance, -np.inf)

    @property
    def _nearest_high(self) -> FloatArray:
        distance = np.where(np.isfinite(self.high), self.high - self.estimate, 0.0)
        return np.where(np.isfinite(self.high), self.high - _NEAREST * distance, np.inf)

    def _g(self, values: FloatArray) -> FloatArray:
        return _logarithm(values - self.low) - _logarithm(self.high - values)

    @cached_property
    def _centre(self) -> FloatArray:
        return self._g(self.estimate)

    @cached_property
    def _slope(self) -> FloatArray:
        """Return g' at the estimate; one where there is no limit."""
        with np.errstate(divide="ignore"):
            slope = 1 / (self.estimate - self.low) + 1 / (self.high - self.estimate)
        return np.where(self.is_curved, slope, 1.0)


def _logarithm(distance: FloatArray) -> FloatArray:
    """Return the logarithm of the distance from a limit, zero where there is none; outside of it, of no use."""
    known = np.isfinite(distance) & (distance > 0)
    return np.log(distance, out=np.zeros_like(distance), where=known)


def natural_scale(estimation: Estimation) -> NaturalScale:
    """Return the scale on which the ends of a run's outputs stay within their range."""
    low, high = estimation.run.limits
    return NaturalScale(low, high, estimation.estimate)
