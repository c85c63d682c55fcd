"""The cheap bootstrap of Lam (2022): few replicates and t quantiles."""

from __future__ import annotations

from orthoboot.estimators.base import Estimator, Sample
from orthoboot.estimators.moments import Moments
from orthoboot.typing import FloatArray


class Cheap(Estimator):
    """Variance ``mean((phi_b - phi_hat)**2)``, interval with t quantiles of B degrees of freedom.

    References
    ----------
    Lam, H. (2022). A cheap bootstrap method for fast inference. arXiv:2202.00090.
    """

    name = "cheap"
    title = "Cheap bootstrap"
    needs_influence = False
    minimum = 1
    default_resamples = 10
    always_t = True

    def bias(self, moments: Moments) -> FloatArray:
        """Return ``mean(phi_b) - phi_hat``."""
        return moments.shift

    def variance(self, moments: Moments) -> FloatArray:
        """Return the mean square of ``phi_b - phi_hat``."""
        return moments.total / moments.size + moments.shift**2

    def covariance(self, sample: Sample) -> FloatArray:
        """Return the mean product of ``phi_b - phi_hat``."""
        shifts = sample.replicates.values - sample.replicates.estimate
        covariance: FloatArray = shifts.T @ shifts / len(shifts)
        return covariance

    def degrees_of_freedom(self, n_resamples: int, equivalent_resamples: FloatArray) -> FloatArray | float | None:
        """Return B."""
        return float(n_resamples)
