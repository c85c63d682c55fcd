"""The infinitesimal jackknife: no replicates at all."""

from __future__ import annotations

import numpy as np

from orthoboot.estimators.base import Estimator, Sample
from orthoboot.estimators.moments import Moments
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
        """Return the second-order bias; zero where it is not known."""
        return np.nan_to_num(moments.known_bias, nan=0.0, posinf=np.inf, neginf=-np.inf)

    def variance(self, moments: Moments) -> FloatArray:
        """Return V."""
        return moments.control_variance

    def covariance(self, sample: Sample) -> FloatArray:
        """Return the exact covariance of the linear part."""
        return sample.linear_covariance

    def degrees_of_freedom(self, n_resamples: int, equivalent_resamples: FloatArray) -> FloatArray | float | None:
        """Return None: nothing is simulated."""
        return None
