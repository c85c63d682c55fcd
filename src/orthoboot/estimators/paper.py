"""The orthogonal bootstrap as in the paper: ``alg:cap``, ``alg:varestimateob``, ``alg:ciconstructioniob``."""

from __future__ import annotations

import numpy as np

from orthoboot.estimators.base import Estimator, Sample
from orthoboot.estimators.moments import Moments
from orthoboot.typing import FloatArray


class Paper(Estimator):
    """Variance ``V + (1/B) sum Dc**2 + (2/B) sum Dc Lc``, and V where that is negative.

    D is ``phi_b - linear_b``, L is ``linear_b``, c means centred; ``eq:varianceestimator``. The bias is
    ``mean(phi_b - linear_b) - phi_hat``, so the debiased value is ``eq:debiasestimator``.
    """

    name = "paper"
    title = "Orthogonal bootstrap (as in the paper)"
    needs_influence = True
    minimum = 1
    default_resamples = 10

    def bias(self, moments: Moments) -> FloatArray:
        """Return ``mean(phi_b - linear_b) - phi_hat``."""
        return moments.residual_mean

    def variance(self, moments: Moments) -> FloatArray:
        """Return the three terms of ``eq:varianceestimator``, and V where they are negative."""
        simulated = moments.control_variance + (moments.residual + 2 * moments.cross) / moments.size
        return np.where(simulated >= 0, simulated, moments.control_variance)

    def covariance(self, sample: Sample) -> FloatArray:
        """Return the three terms as matrices; rows and columns of an output with a negative variance are V's."""
        linear_covariance = sample.linear_covariance
        assert sample.moments.parts is not None
        _, residuals, linear = sample.moments.parts
        cross = residuals.T @ linear
        # The sum of the crossed products first: it is symmetric to the last bit, and so is the whole.
        simulated = linear_covariance + (residuals.T @ residuals + (cross + cross.T)) / len(residuals)
        negative = np.diag(simulated) < 0
        return np.where(negative[:, np.newaxis] | negative, linear_covariance, simulated)
