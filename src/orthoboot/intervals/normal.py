"""Symmetric intervals: a quantile times the standard error."""

from __future__ import annotations

import numpy as np
from scipy import special

from orthoboot.intervals.base import Evidence, Interval
from orthoboot.typing import FloatArray


class Normal(Interval):
    """``phi_hat + z S`` (``alg:ciconstructionob``); with the cheap estimator t quantiles of B degrees of freedom."""

    name = "normal"

    def quantiles(self, evidence: Evidence, probabilities: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
        """Return phi_hat and a quantile times the standard error."""
        low, high = (self._quantile(evidence, p) for p in probabilities)
        return evidence.estimate + low * evidence.standard_error, evidence.estimate + high * evidence.standard_error

    def errors(self, evidence: Evidence, probabilities: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
        """Return the quantile times the simulation error of the standard error."""
        error = evidence.standard_error * evidence.error.relative_standard_error
        low, high = (np.abs(self._quantile(evidence, p)) for p in probabilities)
        return low * error, high * error

    def _quantile(self, evidence: Evidence, probability: float) -> FloatArray | float:
        if evidence.estimator.name == "cheap":
            return _t_quantile(evidence, probability)
        return float(special.ndtri(probability))


class Student(Normal):
    """``phi_hat + t S``, t with the degrees of freedom that the simulated standard error is worth.

    B - 1 for the standard bootstrap, B for the cheap one, and `equivalent_resamples` - 1 where the influence function
    has removed most of the simulation noise.
    """

    name = "t"

    def _quantile(self, evidence: Evidence, probability: float) -> FloatArray | float:
        return _t_quantile(evidence, probability)


def _t_quantile(evidence: Evidence, probability: float) -> FloatArray | float:
    degrees = evidence.estimator.degrees_of_freedom(len(evidence.replicates), evidence.error.equivalent_resamples)
    if degrees is None:
        return float(special.ndtri(probability))
    # Beyond a million degrees of freedom t is the normal to six digits, and `stdtrit` is not made for infinity.
    return np.asarray(special.stdtrit(np.clip(degrees, 1.0, 1e6), probability), dtype=np.float64)


normal = Normal()
student = Student()
