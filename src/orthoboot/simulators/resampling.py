"""Bias and variance from base runs that are repeated under resamples of the data, with common random numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from orthoboot.typing import FloatArray, IntArray

LEAST_PAIRS = 20
"""Fewer resamples say nothing about a variance."""


_PAIRS_PER_COLUMN = 10
"""Fewer resamples for each column would fit noise."""


@dataclass(frozen=True, eq=False)
class ResampledVariance:
    """The variance of the output over resamples: two runs each, and their linear part as control.

    Z is the output of a run under resample b, less what is known of the run: what the same draws gave at the data, its
    sums over features G, and both times the linear part L of the resample. Given b these have mean zero, so that the
    mean of Z is that of the output. The two values Z', Z'' of a resample have independent noise, so that their
    covariance over resamples is the variance. The variance V of L is exact: ``beta^2 V + 2 beta cov(L, D) +
    cov(D', D'')``, ``D = Z - beta L``.

    Attributes
    ----------
    pairs
        Outputs of the two runs of each resample, shape ``(B, 2, k)``.
    base
        What the same runs gave at the data, less the estimate, shape ``(B, 2, k)``.
    features
        G of these runs, shape ``(B, 2, p)``.
    linear
        L of each resample, shape ``(B, k)``.
    linear_variance
        V, shape ``(k,)``.
    runs
        Numbers of the runs of each resample, shape ``(B, 2)``.
    """

    pairs: FloatArray
    base: FloatArray
    features: FloatArray
    linear: FloatArray
    linear_variance: FloatArray
    runs: IntArray

    def __len__(self) -> int:
        return len(self.pairs)

    @cached_property
    def _fits(self) -> list[_Fit]:
        """Return the fits of all outputs."""
        return [self._fit(output) for output in range(self.pairs.shape[2])]

    def _fit(self, output: int) -> _Fit:
        linear = np.repeat(self.linear[:, output], 2)
        outputs, base = self.pairs[:, :, output].reshape(-1), self.base[:, :, output].reshape(-1)
        known = [base, base * linear]
        if self._has_features:
            features = self.features.reshape(len(linear), -1).T
            known += [*features, *(features * linear)]
        columns = np.stack([np.ones_like(linear), linear, *known], axis=1)
        # In units of their own, so that the units of the outputs do not decide which columns count as dependent.
        sizes = np.abs(columns).max(axis=0)
        columns = columns / np.where(sizes > 0, sizes, 1.0)
        coefficients = np.linalg.lstsq(columns, outputs, rcond=None)[0]
        rest = outputs - columns[:, 2:] @ coefficients[2:]
        slopes = np.divide(coefficients, sizes, out=np.zeros_like(sizes), where=sizes > 0)
        return _Fit(rest.reshape(-1, 2), float(slopes[1]), float(slopes[2]))

    @property
    def _values(self) -> FloatArray:
        """Return Z, shape ``(B, 2, k)``."""
        return np.stack([fit.values for fit in self._fits], axis=2)

    @property
    def beta(self) -> FloatArray:
        """Return the slope of the outputs on their linear part, shape ``(k,)``."""
        return np.array([fit.beta for fit in self._fits])

    @property
    def common(self) -> FloatArray:
        """Return how far an output under a resample follows that of the same run at the data, shape ``(k,)``."""
        return np.array([fit.common for fit in self._fits])

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
        return error_of_mean(self._terms) * self._degrees_of_freedom_factor

    @property
    def _means(self) -> FloatArray:
        return np.asarray(self._values.mean(axis=1) - self.beta * self.linear)

    def bias(self, estimate: FloatArray) -> FloatArray:
        """Return the mean of the outputs less the estimate, shape ``(k,)``."""
        return np.asarray(self._means.mean(axis=0) - estimate)

    @property
    def bias_error(self) -> FloatArray:
        """Return its simulation error, but for that of the estimate, shape ``(k,)``.

        A run is repeated under several resamples, so that their noise is not independent: to the squared error over
        resamples comes that over runs, without what is in both.
        """
        rest = self._values - (self.beta * self.linear)[:, np.newaxis]
        rest = rest - rest.mean(axis=(0, 1))
        by_run = np.zeros((int(self.runs.max()) + 1, rest.shape[2]))
        np.add.at(by_run, self.runs, rest)
        between = ((by_run**2).sum(axis=0) - (rest**2).sum(axis=(0, 1))) / rest[:, :, 0].size ** 2
        return np.asarray(
            np.sqrt(error_of_mean(self._means) ** 2 + np.maximum(between, 0.0)) * self._degrees_of_freedom_factor
        )

    @property
    def _degrees_of_freedom_factor(self) -> float:
        """Return how much smaller residuals are than errors, for the columns that were fitted."""
        rows = 2 * len(self)
        return float(np.sqrt(rows / max(rows - self._n_columns, 1)))

    @property
    def _n_columns(self) -> int:
        known = 2 * self.features.shape[2] if self._has_features else 0
        return 4 + known

    @property
    def _has_features(self) -> bool:
        return bool(len(self) >= _PAIRS_PER_COLUMN * 2 * (2 + self.features.shape[2]))


class _Fit(NamedTuple):
    """The fit of one output under resamples.

    Attributes
    ----------
    values
        Z, shape ``(B, 2)``.
    beta
        The slope on the linear part.
    common
        The slope on the output of the same run at the data.
    """

    values: FloatArray
    beta: float
    common: float


def error_of_mean(terms: FloatArray) -> FloatArray:
    """Return the error of the mean of terms ``(B, k)``: ``s / sqrt(B)`` times ``1 + 2/B + skewness / (2 sqrt(B))``.

    The last factor corrects for skewness: samples that miss the rare large terms have both a small mean and a small
    spread.
    """
    n = len(terms)
    centred = terms - terms.mean(axis=0)
    size = np.abs(centred).max(axis=0)
    scaled = centred / np.where(size > 0, size, 1.0)
    root = np.sqrt((scaled**2).mean(axis=0))
    spread = size * root
    skewness = (scaled**3).mean(axis=0) / np.where(root > 0, root, 1.0) ** 3
    inflation = 1 + 2 / n + np.abs(skewness) / (2 * np.sqrt(n))
    return np.asarray(inflation * spread / np.sqrt(n))
