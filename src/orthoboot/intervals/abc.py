"""Approximate bootstrap confidence: second-order accurate from four more evaluations of the statistic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from orthoboot.errors import ArgumentError
from orthoboot.estimators import Estimator
from orthoboot.intervals.base import Evidence, Interval
from orthoboot.intervals.linear import acceleration
from orthoboot.simulation import Simulation
from orthoboot.typing import FloatArray

_STEP = 1e-3


@dataclass(frozen=True)
class _Curve:
    """The constants of ABC for each output, shape ``(k,)``."""

    sigma: FloatArray
    acceleration: FloatArray
    curvature: FloatArray
    shift: FloatArray

    def position(self, probability: float) -> FloatArray:
        """Return how far along the tilt the end lies: ``w / (1 - a w)**2``, ``w = shift + z``."""
        w = self.shift + special.ndtri(probability)
        return np.asarray(w / (1 - self.acceleration * w) ** 2)


class Abc(Interval):
    """ABC of DiCiccio and Efron (1992), on the weights: transformation respecting.

    With sigma the infinitesimal jackknife's standard error, a the acceleration, b the bias and c the curvature along
    the tilt ``weights = 1 + t Cov(weights) influence / (n sigma)``, the end is the statistic at ``t = w/(1 - a w)**2``,
    ``w = z + a + c - b/sigma``. The bias is the estimator's: simulated, or of second order under "jackknife", which
    gives the digits of R's ``boot::abc.ci``.

    References
    ----------
    DiCiccio, T. and Efron, B. (1992). More accurate confidence intervals in exponential families. Biometrika 79.
    """

    name = "abc"
    needs_influence = True

    def check(self, simulation: Simulation, estimator: Estimator, n_resamples: int) -> None:
        """Raise unless there is an influence function, fractional weights, and a plan of independent draws."""
        if simulation.influence is None:
            raise ArgumentError('method="abc" needs an influence function; none was found. Use method="percentile".')
        if not simulation.functional.fractional:
            raise ArgumentError(
                'method="abc" evaluates the statistic at weights that are not whole numbers; this one gets whole rows. '
                'Give it a `weights` parameter, or use method="percentile" or "bca".'
            )
        if simulation.plan.tilt(simulation.influence) is None:
            raise ArgumentError('method="abc" is not valid for blocks of dependent rows. Use method="normal".')

    def quantiles(self, evidence: Evidence, probabilities: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
        """Return the statistic at the two tilted weights."""
        curve = _curve(evidence)
        low, high = (_along_tilt(evidence, curve, curve.position(p)) for p in probabilities)
        return low, high

    def errors(self, evidence: Evidence, probabilities: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
        """Return the derivative of each end with respect to the bias, times the bias's simulation error."""
        curve = _curve(evidence)
        low, high = (_sensitivity(curve, p) * evidence.error.bias for p in probabilities)
        return low, high


def _curve(evidence: Evidence) -> _Curve:
    covariance, influence = evidence.simulation.linear_covariance, evidence.simulation.influence
    assert covariance is not None
    assert influence is not None
    sigma = np.sqrt(np.diag(covariance))
    skew = acceleration(evidence.simulation.plan, influence)
    plain = _Curve(sigma, skew, np.zeros_like(sigma), np.zeros_like(sigma))
    up, down = (_along_tilt(evidence, plain, np.full_like(sigma, step)) for step in (_STEP, -_STEP))
    scale = np.where(sigma > 0, sigma, 1.0)
    curvature = (up - 2 * evidence.estimate + down) / (2 * _STEP**2 * scale)
    return _Curve(sigma, skew, curvature, skew + curvature - evidence.bias / scale)


def _along_tilt(evidence: Evidence, curve: _Curve, positions: FloatArray) -> FloatArray:
    """Return each output at weights tilted to its own position, shape ``(k,)``."""
    simulation = evidence.simulation
    assert simulation.influence is not None
    tilt = simulation.plan.tilt(simulation.influence)
    assert tilt is not None
    steps = positions / np.where(curve.sigma > 0, curve.sigma, 1.0)
    weights = tuple(1 + (direction * steps).T for direction in tilt)
    return np.diag(simulation.evaluate(weights)).copy()


def _sensitivity(curve: _Curve, probability: float) -> FloatArray:
    w = curve.shift + special.ndtri(probability)
    stretch = (1 + curve.acceleration * w) / (1 - curve.acceleration * w) ** 3
    return np.asarray(np.abs(stretch * (1 + 2 * curve.curvature * curve.position(probability))))


abc = Abc()
