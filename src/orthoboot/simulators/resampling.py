"""Bias and variance from base runs that are repeated under resamples of the data, with common random numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from orthoboot.typing import FloatArray

LEAST_PAIRS = 20
"""Fewer resamples say nothing about a variance."""


@dataclass(frozen=True, eq=False)
class ResampledVariance:
    """The variance of the output over resamples: two runs each, and their linear part as control.

    ``Z = Y_b - gamma (Y - phi_hat)`` is a run under resample b less what the same draws gave at the data. Its two
    values Z', Z'' have independent noise given b, so that their covariance over resamples is the variance. With L the
    linear part, whose variance V is exact, ``beta^2 V + 2 beta cov(L, D) + cov(D', D'')``, ``D = Z - beta L``.

    Attributes
    ----------
    pairs
        Y_b of the two runs of each resample, shape ``(B, 2, k)``.
    base
        What the same runs gave at the data, less the estimate, shape ``(B, 2, k)``.
    linear
        L of each resample, shape ``(B, k)``.
    linear_variance
        V, shape ``(k,)``.
    """

    pairs: FloatArray
    base: FloatArray
    linear: FloatArray
    linear_variance: FloatArray

    def __len__(self) -> int:
        return len(self.pairs)

    @cached_property
    def gamma(self) -> FloatArray:
        """Return the slope of runs under resamples on the same runs at the data, shape ``(k,)``."""
        rest = self.pairs - self.pairs.mean(axis=(0, 1)) - self.linear[:, np.newaxis]
        squares = (self.base**2).sum(axis=(0, 1))
        found: FloatArray = (rest * self.base).sum(axis=(0, 1)) / np.where(squares > 0, squares, 1.0)
        return found

    @cached_property
    def _values(self) -> FloatArray:
        return np.asarray(self.pairs - self.gamma * self.base)

    @cached_property
    def beta(self) -> FloatArray:
        """Return the slope of the outputs on their linear part, shape ``(k,)``."""
        means = self._values.mean(axis=1)
        squares = (self.linear**2).sum(axis=0)
        found: FloatArray = ((means - means.mean(axis=0)) * self.linear).sum(axis=0) / np.where(squares > 0, squares, 1)
        return found

    @cached_property
    def _terms(self) -> FloatArray:
        """Return what each resample says of the variance, shape ``(B, k)``."""
        rest = self._values - (self.beta * self.linear)[:, np.newaxis]
        rest = rest - rest.mean(axis=0)
        n = len(self)
        linear = 2 * self.beta * rest.mean(axis=1) * self.linear
        terms: FloatArray = self.beta**2 * self.linear_variance + linear + rest[:, 0] * rest[:, 1] * n / (n - 1)
        return terms

    @property
    def variance(self) -> FloatArray:
        """Return the variance, shape ``(k,)``."""
        return np.asarray(self._terms.mean(axis=0))

    @property
    def variance_error(self) -> FloatArray:
        """Return its simulation error, shape ``(k,)``."""
        return np.asarray(self._terms.std(axis=0) / np.sqrt(len(self)))

    def bias(self, estimate: FloatArray) -> FloatArray:
        """Return the mean of the outputs less the estimate, shape ``(k,)``."""
        means = self._values.mean(axis=1) - self.beta * self.linear
        return np.asarray(means.mean(axis=0) - estimate)

    @property
    def bias_error(self) -> FloatArray:
        """Return its simulation error, but for that of the estimate, shape ``(k,)``."""
        means = self._values.mean(axis=1) - self.beta * self.linear
        return np.asarray(means.std(axis=0) / np.sqrt(len(self)))
