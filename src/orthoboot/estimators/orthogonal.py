"""The orthogonal bootstrap with an estimated slope of the control, shrunk towards one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from orthoboot.controls.base import ControlValues
from orthoboot.estimators.base import Estimator, Sample
from orthoboot.estimators.moments import Moments, centred_parts
from orthoboot.estimators.slopes import ratio
from orthoboot.replicates import Replicates
from orthoboot.typing import FloatArray

_BELIEVED = 2.0
"""How many of its standard errors a difference from the known bias must have to count at all."""

_UNRELATED = 0.01
"""A control whose variance is below this share of what it leaves has nothing to do with the statistic."""

_LEAST_BIAS_ERROR = 0.1
"""Share of the error of a bias that is not shrunk, which a shrunken one has at least: that of right known biases."""


class Orthogonal(Estimator):
    """Variance ``beta**2 V + sum((Pc - beta Cc)**2)/(B - 1)``, bias ``mean(P - beta C) - phi_hat``.

    P is phi_b, c means centred, C is the control of mean zero and variance V: the linear part linear_b, or what comes
    nearer to the statistic, its quadratic part or a surrogate. beta is the regression slope of P on C, shrunk towards
    one as if k more replicates had been seen with slope one::

        beta = (sum(Pc Cc) + k V) / (sum(Cc**2) + k V)
        k    = K min(1, (3/t)**2) min(1, s2(P)/s2(P - C))**2

    with t the t statistic of the unshrunk slope against one, and K = 20 for the library's own influence functions of
    smooth statistics, 5 for others. It is never negative, it tends to the bootstrap's own variance as B grows, and it
    falls back to the standard bootstrap by itself where the influence function is wrong. With C = L, beta = 1 and
    divisor B it would be the paper's estimator (``eq:varianceestimator``) up to the cross term, which the regression
    makes small.

    A control beyond the linear part counts by how much nearer it is to the replicates, `Moments.control_share`. A bias
    that is known to second order, E, is believed until the replicates contradict it::

        bias = E + w m,   m = mean(P - beta C) - phi_hat - E,   w = max(0, 1 - 4/t**2),   t = sqrt(B) m / s(P - beta C)
    """

    name = "orthogonal"
    title = "Orthogonal bootstrap"
    needs_influence = True
    uses_control = True
    minimum = 2
    default_resamples = 10

    def bias(self, moments: Moments) -> FloatArray:
        """Return ``mean(P - beta C) - phi_hat``, shrunk towards the bias of second order where that is known."""
        return _mixed(moments, _bias)

    def variance(self, moments: Moments) -> FloatArray:
        """Return the explained and the simulated part of the variance together."""
        return _mixed(moments, _variance)

    def covariance(self, sample: Sample) -> FloatArray:
        """Return ``diag(beta) V diag(beta) + R'R/(B - 1)``, R the residuals: positive semi-definite."""
        moments, linear = sample.moments, sample.linear_covariance
        if sample.control_covariance is None or moments.by_linear is None:
            return _covariance(sample.replicates, None, moments.slope, linear)
        share = np.sqrt(moments.control_share)
        rest = np.sqrt(1 - moments.control_share)
        by_control = _covariance(sample.replicates, sample.control, moments.slope, sample.control_covariance)
        by_linear = _covariance(sample.replicates, None, moments.by_linear.slope, linear)
        mixed: FloatArray = np.outer(share, share) * by_control + np.outer(rest, rest) * by_linear
        return mixed

    def error_inflation(self, size: int) -> float:
        """Return ``1 + 2/B``: remainders are small mostly and large now and then, and few of them show too little."""
        return 1 + 2 / size

    def least_bias_error(self, moments: Moments) -> FloatArray:
        """Return the error that a bias has which the replicates seem to confirm, shape ``(k,)``.

        Leaving out replicates does not show it, as long as no single one makes a difference that counts.
        """
        error = np.sqrt(_variance_left(moments) / moments.size)
        return np.where(np.isfinite(moments.known_bias), _LEAST_BIAS_ERROR * error, 0.0)


def _mixed(moments: Moments, quantity: Callable[[Moments], FloatArray]) -> FloatArray:
    """Return a quantity by the control and by the linear part, each with its share."""
    if moments.by_linear is None:
        return quantity(moments)
    share = moments.control_share
    return np.asarray(share * quantity(moments) + (1 - share) * quantity(moments.by_linear))


def _bias(moments: Moments) -> FloatArray:
    simulated = moments.residual_mean + (1 - moments.slope) * moments.control_mean
    known = moments.known_bias
    difference = simulated - known
    noise = _variance_left(moments) / moments.size
    t_squared = np.where(noise > 0, ratio(difference**2, noise, otherwise=0.0), np.inf)
    weight = np.maximum(0.0, 1 - ratio(np.full_like(t_squared, _BELIEVED**2), t_squared, otherwise=1.0))
    # A control that explains nothing, as at a correlation of one, knows nothing of the bias either.
    believed = np.isfinite(known) & (moments.control_variance > _UNRELATED * _variance_left(moments))
    return np.where(believed, known + weight * difference, simulated)


def _variance(moments: Moments) -> FloatArray:
    return np.asarray(moments.slope**2 * moments.control_variance + _variance_left(moments))


def _variance_left(moments: Moments) -> FloatArray:
    """Return the variance of ``P - beta C``, shape ``(k,)``."""
    return moments.residual_about(moments.slope) / (moments.size - 1)


def _covariance(
    replicates: Replicates, control: ControlValues | None, beta: FloatArray, known: FloatArray
) -> FloatArray:
    residuals, values = centred_parts(replicates, control)
    remainder = residuals + (1 - beta) * values
    explained: FloatArray = np.outer(beta, beta) * known
    simulated: FloatArray = remainder.T @ remainder / (len(remainder) - 1)
    return explained + simulated


def slope(moments: Moments) -> FloatArray:
    """Return beta, the shrunken slope of phi_b on its control; one where nothing can be learnt."""
    return _of_nearer(moments, lambda some: some.slope)


def raw_slope(moments: Moments) -> FloatArray:
    """Return the least-squares slope of phi_b on its control; one where the control does not vary."""
    return _of_nearer(moments, lambda some: 1 + ratio(some.cross, some.control, otherwise=0.0))


def r_squared(moments: Moments) -> FloatArray:
    """Return the share of the variance between replicates that the control explains, in [0, 1].

    Where the replicates do not vary it is zero if the control says that they should, and one if it does not.
    """
    return _of_nearer(moments, _r_squared)


def _of_nearer(moments: Moments, quantity: Callable[[Moments], FloatArray]) -> FloatArray:
    """Return a quantity by the control or by the linear part, whichever counts more."""
    if moments.by_linear is None:
        return quantity(moments)
    return np.where(moments.control_share >= 0.5, quantity(moments), quantity(moments.by_linear))


def _r_squared(moments: Moments) -> FloatArray:
    explained = moments.slope**2 * moments.control_variance
    simulated = _variance_left(moments)
    share = ratio(explained, explained + simulated, otherwise=0.0)
    return np.where((explained + simulated == 0) & (moments.control_variance == 0), 1.0, share)
