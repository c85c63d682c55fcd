"""A run, its replicates and an estimator, with the numbers that follow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from orthoboot.estimators import Estimator, EstimatorError, Moments, estimator_error, moments_of
from orthoboot.replicates import Replicates
from orthoboot.run import Run
from orthoboot.typing import FloatArray


@dataclass(frozen=True, eq=False)
class Estimation:
    """A run, its replicates, and the estimator applied to them."""

    run: Run
    replicates: Replicates
    estimator: Estimator

    @property
    def estimate(self) -> FloatArray:
        """Return phi_hat, shape ``(k,)``."""
        return self.replicates.estimate

    @cached_property
    def moments(self) -> Moments:
        """Return the sums over the replicates."""
        return moments_of(self.replicates)

    @cached_property
    def bias(self) -> FloatArray:
        """Return the bias, shape ``(k,)``."""
        return self.estimator.bias(self.moments)

    @cached_property
    def variance(self) -> FloatArray:
        """Return the variance, shape ``(k,)``."""
        return self.estimator.variance(self.moments)

    @cached_property
    def standard_error(self) -> FloatArray:
        """Return the standard error, shape ``(k,)``."""
        return np.sqrt(self.variance)

    @cached_property
    def error(self) -> EstimatorError:
        """Return the simulation error of bias and variance."""
        return estimator_error(self.estimator, self.replicates)

    @property
    def standard_error_error(self) -> FloatArray:
        """Return the simulation error of the standard error, shape ``(k,)``."""
        return self.standard_error * self.error.relative_standard_error
