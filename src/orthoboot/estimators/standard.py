"""The ordinary bootstrap."""

from __future__ import annotations

from orthoboot.estimators.base import Estimator, Sample
from orthoboot.estimators.moments import Moments, centred
from orthoboot.typing import FloatArray


class Standard(Estimator):
    """Variance ``s2(phi_b)`` with divisor B - 1, bias ``mean(phi_b) - phi_hat``."""

    name = "standard"
    title = "Standard bootstrap"
    needs_influence = False
    minimum = 2
    default_resamples = 1000

    def bias(self, moments: Moments) -> FloatArray:
        """Return ``mean(phi_b) - phi_hat``."""
        return moments.shift

    def variance(self, moments: Moments) -> FloatArray:
        """Return the sample variance of phi_b."""
        return moments.total / (moments.size - 1)

    def covariance(self, sample: Sample) -> FloatArray:
        """Return the sample covariance of phi_b."""
        values = centred(sample.replicates.values)
        covariance: FloatArray = values.T @ values / (len(values) - 1)
        return covariance

    def degrees_of_freedom(self, n_resamples: int, equivalent_resamples: FloatArray) -> FloatArray | float | None:
        """Return B - 1."""
        return float(max(n_resamples - 1, 1))
