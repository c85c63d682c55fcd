"""Replicates become a bias, a covariance and a simulation error; no random numbers here."""

from orthoboot.estimators.base import Estimator
from orthoboot.estimators.cheap import cheap
from orthoboot.estimators.jackknife import jackknife
from orthoboot.estimators.moments import Moments, moments
from orthoboot.estimators.orthogonal import orthogonal, prior_replicates, r_squared, raw_slope, slope, slope_t
from orthoboot.estimators.paper import paper
from orthoboot.estimators.simulation_error import EstimatorError, estimator_error, jackknife_spread
from orthoboot.estimators.standard import standard

ESTIMATORS: dict[str, Estimator] = {
    estimator.name: estimator for estimator in (standard, cheap, jackknife, paper, orthogonal)
}

__all__ = [
    "ESTIMATORS",
    "Estimator",
    "EstimatorError",
    "Moments",
    "estimator_error",
    "jackknife_spread",
    "moments",
    "prior_replicates",
    "r_squared",
    "raw_slope",
    "slope",
    "slope_t",
]
