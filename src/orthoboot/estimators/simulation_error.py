"""What another seed would change: a delete-one-replicate jackknife of any estimator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orthoboot.estimators.base import Estimator
from orthoboot.estimators.moments import deleted_moments
from orthoboot.replicates import Replicates
from orthoboot.typing import FloatArray


@dataclass(frozen=True)
class EstimatorError:
    """Standard deviations over seeds, each of shape ``(k,)``.

    Attributes
    ----------
    bias
        Of the bias, in its own units.
    log_variance
        Of the logarithm of the variance: its relative error.
    """

    bias: FloatArray
    log_variance: FloatArray

    @property
    def relative_standard_error(self) -> FloatArray:
        """Return the relative simulation error of the standard error."""
        return self.log_variance / 2

    @property
    def equivalent_resamples(self) -> FloatArray:
        """Return how many standard replicates have the same relative error: ``1 + 2 / relvar``, by normal theory."""
        with np.errstate(divide="ignore"):
            return 1 + 2 / self.log_variance**2


def estimator_error(estimator: Estimator, replicates: Replicates) -> EstimatorError:
    """Return how far the bias and the variance would move with another seed.

    NaN where too few replicates are left when one is taken away; zero where nothing is simulated.
    """
    k = len(replicates.estimate)
    if estimator.minimum == 0:
        return EstimatorError(np.zeros(k), np.zeros(k))
    if len(replicates) - 1 < max(estimator.minimum, 2):
        return EstimatorError(np.full(k, np.nan), np.full(k, np.nan))
    deleted = deleted_moments(replicates)
    variance = estimator.variance(deleted)
    with np.errstate(divide="ignore"):
        log_variance = np.where(variance > 0, np.log(variance), 0.0)
    return EstimatorError(jackknife_spread(estimator.bias(deleted)), jackknife_spread(log_variance))


def jackknife_spread(deleted: FloatArray) -> FloatArray:
    """Return the jackknife standard error ``sqrt((G - 1)/G sum_g (value_g - mean)**2)`` over the first axis."""
    size = len(deleted)
    spread: FloatArray = np.sqrt((size - 1) / size * ((deleted - deleted.mean(axis=0)) ** 2).sum(axis=0))
    return spread
