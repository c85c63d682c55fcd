"""Simulation errors by a delete-one-replicate jackknife of any estimator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from orthoboot.controls.base import ControlValues
from orthoboot.estimators.base import Estimator
from orthoboot.estimators.moments import (
    Moments,
    centred,
    deleted_moments,
    linear_variance,
    moments_by_draws,
    moments_of,
)
from orthoboot.estimators.slopes import ratio
from orthoboot.replicates import Replicates
from orthoboot.typing import FloatArray

_OF_MEANS, _OF_SQUARES = 3.0, 15.0
"""The kurtosis of normal numbers and of their squares."""

_FEWEST_CARRYING = 10.0
"""Replicates below which a jackknife spread is not widened further: Student's t of three, say, has no end."""

_ROUNDING = 1e-12
"""A variance below this share of the others is what cancellation leaves of zero."""


@dataclass(frozen=True, eq=False)
class EstimatorError:
    """Simulation errors, each of shape ``(k,)``: standard deviations over seeds, widened where replicates are few.

    Attributes
    ----------
    bias
        Of the bias, in its own units.
    log_variance
        Of the logarithm of the variance: its relative error.
    log_variance_by_draws
        The part of that which comes from the draws of a control, and which more replicates do not make smaller.
    """

    bias: FloatArray
    log_variance: FloatArray
    log_variance_by_draws: FloatArray | float = 0.0

    @property
    def relative_standard_error(self) -> FloatArray:
        """Return the relative simulation error of the standard error."""
        return self.log_variance / 2

    @property
    def equivalent_resamples(self) -> FloatArray:
        """Return how many standard replicates have the same relative error: ``1 + 2 / relvar``, by normal theory."""
        with np.errstate(divide="ignore"):
            return 1 + 2 / self.log_variance**2


def estimator_error(
    estimator: Estimator,
    replicates: Replicates,
    whole: Moments | None = None,
    control: ControlValues | None = None,
) -> EstimatorError:
    """Return the simulation errors of the bias and the variance; `whole` are the sums over all replicates, where known.

    One replicate is left out in turn, and then one group of the draws from which the control's moments are simulated.
    Zero where nothing is simulated or nothing varies; NaN, for unknown, where too few replicates are left when one is
    taken away, or where one replicate carries all the variance or none does.
    """
    k = len(replicates.estimate)
    if not estimator.simulates:
        return EstimatorError(np.zeros(k), np.zeros(k))
    if len(replicates) - 1 < max(estimator.minimum, 2):
        return EstimatorError(np.full(k, np.nan), np.full(k, np.nan))
    whole = moments_of(replicates, control) if whole is None else whole
    if estimator.is_exact(whole):
        return EstimatorError(np.zeros(k), np.zeros(k))
    deleted = deleted_moments(whole)
    # What does not use the influence function must not depend on it.
    explained = linear_variance(replicates) if estimator.needs_influence else np.zeros(k)
    of_bias = _bias_error(estimator, whole, deleted)
    spread = estimator.error_inflation(whole) * _log_variance_spread(estimator.variance(deleted), explained)
    of_variance = np.hypot(np.maximum(spread, estimator.least_error(whole)), estimator.doubt(whole))
    by_draws = None if control is None else moments_by_draws(whole, control)
    if by_draws is None:
        return EstimatorError(of_bias, of_variance)
    assert control is not None
    assert control.law is not None
    share = whole.control_share
    of_draws = np.hypot(
        _log_variance_spread(estimator.variance(by_draws), explained), share * control.law.limited_log_variance
    )
    of_mean = np.hypot(jackknife_spread(estimator.bias(by_draws)), share * control.law.limited_mean)
    return EstimatorError(np.hypot(of_bias, of_mean), np.hypot(of_variance, of_draws), of_draws)


def _bias_error(estimator: Estimator, whole: Moments, deleted: Moments) -> FloatArray:
    """Return the error of the bias, widened by Student's t where the replicates alone tell of it.

    If a bias is known to second order, `Estimator.bias_doubt` has what few replicates miss; it is zero if none is.
    """
    biases, doubt = estimator.bias(deleted), estimator.bias_doubt(whole)
    spread = tail_factor(biases, _OF_MEANS) * jackknife_spread(biases)
    return np.where(doubt > 0, np.hypot(spread, doubt), student_factor(whole.size) * spread)


def _log_variance_spread(deleted: FloatArray, linear_variance: FloatArray) -> FloatArray:
    """Return the jackknife spread of the logarithms of the variances ``(B, k)`` with one replicate left out."""
    largest = deleted.max(axis=0)
    nothing_varies = (largest == 0) & (linear_variance == 0)
    unknown = (deleted <= _ROUNDING * largest).any(axis=0) & ~nothing_varies
    usable = np.where(unknown | nothing_varies, 1.0, deleted)
    logs = np.log(usable)
    return np.where(unknown, np.nan, tail_factor(logs, _OF_SQUARES) * jackknife_spread(logs))


def tail_factor(deleted: FloatArray, kurtosis: float) -> FloatArray:
    """Return Student's t of the replicates that carry a jackknife spread, over that of normal ones, shape ``(k,)``.

    A spread that a few far replicates carry varies as one of that few. With d the changes when one of B is left out,
    ``sum(d**2)**2/sum(d**4)`` carry it, and B divided by the kurtosis of d if they are normal; both count as ten at
    least.

    Parameters
    ----------
    kurtosis
        Of d where the replicates are normal: 3 for a mean of them, 15 for a mean of their squares.
    """
    usual = max(len(deleted) / kurtosis, _FEWEST_CARRYING)
    with np.errstate(over="ignore", invalid="ignore"):  # as in `jackknife_spread`
        changes = np.abs(centred(deleted))
        squares = np.square(ratio(changes, changes.max(axis=0), otherwise=0.0))
        carrying = ratio(np.square(squares.sum(axis=0)), np.square(squares).sum(axis=0), otherwise=usual)
    return student_factor(np.clip(carrying, _FEWEST_CARRYING, usual)) / student_factor(usual)


def student_factor(size: ArrayLike) -> FloatArray:
    """Return the quantile of Student's t for so many values over the normal one, both at three standard deviations.

    Examples
    --------
    >>> student_factor([10, 20, 1000]).round(2)
    array([1.36, 1.15, 1.  ])
    """
    return np.asarray(scipy.special.stdtrit(np.asarray(size) - 1, scipy.special.ndtr(3.0)) / 3.0)


def jackknife_spread(deleted: FloatArray) -> FloatArray:
    """Return the jackknife standard error ``sqrt((G - 1)/G sum_g (value_g - mean)**2)`` over the first axis."""
    size = len(deleted)
    with np.errstate(over="ignore", invalid="ignore"):  # ends may be infinite on their natural scale
        spread: FloatArray = np.sqrt((size - 1) / size * (centred(deleted) ** 2).sum(axis=0))
    return spread
