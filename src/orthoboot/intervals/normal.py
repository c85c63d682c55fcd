"""Symmetric intervals: a quantile times the standard error."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy

from orthoboot.estimators.estimation import Estimation
from orthoboot.intervals.base import Ends, Interval, Probabilities
from orthoboot.intervals.scale import natural_scale
from orthoboot.typing import FloatArray


class Normal(Interval):
    """``phi_hat + z S`` (``alg:ciconstructionob``); with the cheap estimator t quantiles of B degrees of freedom."""

    name = "normal"

    def ends(self, estimation: Estimation, probabilities: Probabilities) -> Ends:
        """Return phi_hat and a quantile times the standard error; on the scale of a transform that the user gave."""
        low, high = (self._quantile(estimation, probability) for probability in probabilities)
        error = estimation.standard_error_error
        plain = Ends(
            estimation.estimate + low * estimation.standard_error,
            estimation.estimate + high * estimation.standard_error,
            np.abs(low) * error,
            np.abs(high) * error,
        )
        return plain if estimation.run.given_limits is None else _brought_back(plain, estimation)

    def _quantile(self, estimation: Estimation, probability: float) -> FloatArray | float:
        if estimation.estimator.always_t:
            return _t_quantile(estimation, probability)
        return float(scipy.special.ndtri(probability))


class NaturalNormal(Normal):
    """``h^-1(phi_hat + z S)``, h the natural scale of the statistic: no end leaves its range."""

    def ends(self, estimation: Estimation, probabilities: Probabilities) -> Ends:
        """Return the ends of the normal interval, which is that of h too, brought back."""
        plain = super().ends(estimation, probabilities)
        return plain if estimation.run.given_limits is not None else _brought_back(plain, estimation)


class Student(Normal):
    """``phi_hat + t S``, t with the degrees of freedom that the simulated standard error is worth.

    B - 1 for the standard bootstrap, B for the cheap one, and `equivalent_resamples` - 1 where the influence function
    has removed most of the simulation noise; B - 1 where that is not known.
    """

    name = "t"

    def _quantile(self, estimation: Estimation, probability: float) -> FloatArray | float:
        return _t_quantile(estimation, probability)


def _brought_back(plain: Ends, estimation: Estimation) -> Ends:
    """Return ends on the natural scale brought back to the plain one; their errors by its slope."""
    scale = natural_scale(estimation)
    low_error, high_error = (
        np.abs(scale.back(end + error) - scale.back(end - error)) / 2
        for end, error in ((plain.low, plain.low_error), (plain.high, plain.high_error))
    )
    low, high = scale.back(plain.low), scale.back(plain.high)
    return replace(plain, low=low, high=high, low_error=low_error, high_error=high_error)


def _t_quantile(estimation: Estimation, probability: float) -> FloatArray | float:
    n_resamples = len(estimation.replicates)
    degrees = estimation.estimator.degrees_of_freedom(n_resamples, estimation.error.equivalent_resamples)
    if degrees is None:
        return float(scipy.special.ndtri(probability))
    known = np.where(np.isnan(degrees), n_resamples - 1, degrees)
    # Beyond a million degrees of freedom t is the normal to six digits, and `stdtrit` is not made for infinity.
    return np.asarray(scipy.special.stdtrit(np.clip(known, 1.0, 1e6), probability), dtype=np.float64)
