"""The orthogonal bootstrap with an estimated slope of the linear part, shrunk towards one."""

from __future__ import annotations

import numpy as np

from orthoboot.estimators.base import Estimator
from orthoboot.estimators.moments import Moments, centred_parts, moments_of
from orthoboot.estimators.slopes import ratio
from orthoboot.replicates import Replicates
from orthoboot.typing import FloatArray


class Orthogonal(Estimator):
    """Variance ``beta**2 V + sum((Pc - beta Lc)**2)/(B - 1)``, bias ``mean(P - beta L) - phi_hat``.

    P is phi_b, L is linear_b, c means centred, and beta is the regression slope of P on L, shrunk towards one as if k
    more replicates had been seen with slope one::

        beta = (sum(Pc Lc) + k V) / (sum(Lc**2) + k V)
        k    = 5 min(1, (3/t)**2) min(1, s2(P)/s2(P - L))**2

    with t the t statistic of the unshrunk slope against one. It is never negative, it tends to the bootstrap's own
    variance as B grows, and it falls back to the standard bootstrap by itself where the influence function is wrong.
    With beta = 1 and divisor B it would be the paper's estimator (``eq:varianceestimator``) up to the cross term,
    which the regression makes small.
    """

    name = "orthogonal"
    title = "Orthogonal bootstrap"
    needs_influence = True
    minimum = 2
    default_resamples = 10

    def bias(self, moments: Moments) -> FloatArray:
        """Return ``mean(P - beta L) - phi_hat``."""
        return moments.residual_mean + (1 - slope(moments)) * moments.linear_mean

    def variance(self, moments: Moments) -> FloatArray:
        """Return the explained and the simulated part of the variance together."""
        beta = slope(moments)
        return beta**2 * moments.linear_variance + moments.residual_about(beta) / (moments.size - 1)

    def covariance(self, replicates: Replicates, linear_covariance: FloatArray) -> FloatArray:
        """Return ``diag(beta) V diag(beta) + R'R/(B - 1)``, R the residuals: positive semi-definite."""
        beta = slope(moments_of(replicates))
        residuals, linear = centred_parts(replicates)
        remainder = residuals + (1 - beta) * linear
        explained: FloatArray = np.outer(beta, beta) * linear_covariance
        simulated: FloatArray = remainder.T @ remainder / (len(remainder) - 1)
        return explained + simulated


def slope(moments: Moments) -> FloatArray:
    """Return beta, the shrunken slope of phi_b on linear_b; one where nothing can be learnt."""
    return moments.slope


def raw_slope(moments: Moments) -> FloatArray:
    """Return the least-squares slope of phi_b on linear_b; one where linear_b does not vary."""
    return 1 + ratio(moments.cross, moments.linear, otherwise=0.0)


def r_squared(moments: Moments) -> FloatArray:
    """Return the share of the variance between replicates that the linear part explains, in [0, 1].

    Where the replicates do not vary it is zero if the linear part says that they should, and one if it does not.
    """
    explained = slope(moments) ** 2 * moments.linear_variance
    simulated = moments.residual_about(slope(moments)) / (moments.size - 1)
    share = ratio(explained, explained + simulated, otherwise=0.0)
    return np.where((explained + simulated == 0) & (moments.linear_variance == 0), 1.0, share)
