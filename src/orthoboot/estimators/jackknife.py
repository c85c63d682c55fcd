"""The infinitesimal jackknife: no replicates at all."""

from __future__ import annotations

from orthoboot.estimators.base import Estimator
from orthoboot.estimators.moments import Moments
from orthoboot.replicates import Replicates
from orthoboot.typing import FloatArray


class Jackknife(Estimator):
    """Variance V, the exact variance of the linear part (lemma ``lem: influence var``).

    The bias is ``(1/2) sum_i sum_j d2_ij / n_i**2`` with d2_ij the second derivative towards row j.
    """

    name = "jackknife"
    title = "Infinitesimal jackknife"
    needs_influence = True
    simulates = False
    minimum = 0
    default_resamples = 0

    def bias(self, moments: Moments) -> FloatArray:
        """Return the second-order bias."""
        return moments.second_order_bias

    def variance(self, moments: Moments) -> FloatArray:
        """Return V."""
        return moments.linear_variance

    def covariance(self, replicates: Replicates, linear_covariance: FloatArray) -> FloatArray:
        """Return the exact covariance of the linear part."""
        return linear_covariance

    def degrees_of_freedom(self, n_resamples: int, equivalent_resamples: FloatArray) -> FloatArray | float | None:
        """Return None: nothing is simulated."""
        return None
