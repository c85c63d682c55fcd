"""Estimators of bias, covariance and simulation error from replicates, as pure functions."""

from orthoboot.estimators.base import Estimator, Sample
from orthoboot.estimators.cheap import Cheap
from orthoboot.estimators.jackknife import Jackknife
from orthoboot.estimators.moments import Moments, moments_of
from orthoboot.estimators.orthogonal import Orthogonal, r_squared, raw_slope, slope
from orthoboot.estimators.paper import Paper
from orthoboot.estimators.simulation_error import (
    EstimatorError,
    estimator_error,
    jackknife_spread,
    student_factor,
)
from orthoboot.estimators.slopes import prior_replicates, slope_t
from orthoboot.estimators.standard import Standard

ESTIMATORS: dict[str, Estimator] = {
    estimator.name: estimator for estimator in (Standard(), Cheap(), Jackknife(), Paper(), Orthogonal())
}

__all__ = [
    "ESTIMATORS",
    "Estimator",
    "EstimatorError",
    "Moments",
    "Sample",
    "estimator_error",
    "jackknife_spread",
    "moments_of",
    "prior_replicates",
    "r_squared",
    "raw_slope",
    "slope",
    "slope_t",
    "student_factor",
]
