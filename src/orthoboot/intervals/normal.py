"""Symmetric intervals: a quantile times the standard error."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy

from orthoboot.estimators.estimation import Estimation
from orthoboot.intervals.base import Ends, Exclusion, Interval, Probabilities
from orthoboot.intervals.scale import natural_scale
from orthoboot.typing import BoolArray, FloatArray

_FARTHEST = 3.0
"""How many times as far from the estimate an end may be on the natural scale as on the plain one."""


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
        return _brought_back(plain, estimation) if self.is_natural(estimation) else plain

    def is_natural(self, estimation: Estimation) -> bool:
        """Return whether the interval is made on the natural scale: that of a transform which the user gave."""
        return estimation.run.given_limits is not None

    def exclusion(self, estimation: Estimation, null: FloatArray, above: BoolArray) -> Exclusion:
        """Return the tail of the normal or t distribution beyond the distance of `null` in standard errors."""
        if self.is_natural(estimation):
            null = natural_scale(estimation).position(null)
        distance = np.where(above, null - estimation.estimate, estimation.estimate - null)
        # Where nothing varies the interval is the estimate, and excludes all values but this one.
        apart = np.where(distance < 0, -np.inf, np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.where(estimation.standard_error > 0, distance / estimation.standard_error, apart)
        return Exclusion(self._probability(estimation, score), np.zeros(score.shape, dtype=bool))

    def degrees(self, estimation: Estimation) -> FloatArray | float | None:
        """Return those of the cheap estimator; none otherwise."""
        return _degrees(estimation) if estimation.estimator.always_t else None

    def _quantile(self, estimation: Estimation, probability: float) -> FloatArray | float:
        degrees = self.degrees(estimation)
        if degrees is None:
            return float(scipy.special.ndtri(probability))
        return np.asarray(scipy.special.stdtrit(degrees, probability), dtype=np.float64)

    def _probability(self, estimation: Estimation, score: FloatArray) -> FloatArray:
        degrees = self.degrees(estimation)
        if degrees is None:
            return np.asarray(scipy.special.ndtr(score), dtype=np.float64)
        return np.asarray(scipy.special.stdtr(degrees, score), dtype=np.float64)


class NaturalNormal(Normal):
    """``h^-1(phi_hat + z S)``, h the natural scale of the statistic: no end leaves its range."""

    def is_natural(self, estimation: Estimation) -> bool:
        """Return True."""
        return True


class Student(Normal):
    """``phi_hat + t S``, t with the degrees of freedom that the simulated standard error is worth.

    B - 1 for the standard bootstrap, B for the cheap one, and `equivalent_resamples` - 1 where the influence function
    has removed most of the simulation noise; B - 1 where that is not known.
    """

    name = "t"

    def degrees(self, estimation: Estimation) -> FloatArray | float | None:
        """Return the degrees of freedom that the standard error is worth."""
        return _degrees(estimation)


def _brought_back(plain: Ends, estimation: Estimation) -> Ends:
    """Return ends on the natural scale brought back to the plain one; their errors by its slope.

    Where a limit is so near that the scale sends an end far away on the other side, and nobody asked for that scale, it
    stays where it was, within the limits.
    """
    scale = natural_scale(estimation)
    if not scale.is_curved.any():
        return plain
    chosen = estimation.run.given_limits is not None
    ends, errors = [], []
    for end, error in ((plain.low, plain.low_error), (plain.high, plain.high_error)):
        with np.errstate(invalid="ignore"):
            back = scale.back(end)
            error_back = np.abs(scale.back(end + error) - scale.back(end - error)) / 2
            distance = np.abs(end - estimation.estimate)
            near = chosen | (np.abs(back - estimation.estimate) <= _FARTHEST * distance) | (distance == 0)
        ends.append(np.where(near, back, np.clip(end, scale.low, scale.high)))
        errors.append(np.where(near, error_back, error))
    return replace(plain, low=ends[0], high=ends[1], low_error=errors[0], high_error=errors[1])


def _degrees(estimation: Estimation) -> FloatArray | float | None:
    """Return the degrees of freedom of the estimator, one or more, where they are known; None for the normal limit."""
    n_resamples = len(estimation.replicates)
    degrees = estimation.estimator.degrees_of_freedom(n_resamples, estimation.error.equivalent_resamples)
    if degrees is None:
        return None
    known = np.where(np.isnan(degrees), n_resamples - 1, degrees)
    # Beyond a million degrees of freedom t is the normal to six digits, and `stdtrit` is not made for infinity.
    return np.asarray(np.clip(known, 1.0, 1e6), dtype=np.float64)
