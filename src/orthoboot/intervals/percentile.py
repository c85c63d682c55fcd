"""Intervals from the quantiles of the replicates: percentile, basic and BCa.

They are functions of a `Distribution`, so that the same formula serves the replicates themselves and their control
distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from orthoboot.typing import FloatArray


class Distribution(Protocol):
    """The interface of a distribution of phi over resamples."""

    @property
    def size(self) -> int:
        """Return the number of points, which limits the resolution of probabilities to ``1 / size``."""
        ...

    def quantile(self, p: ArrayLike) -> FloatArray:
        """Return the values below which phi falls with probability `p`."""
        ...

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Return the probability of a value below `x`, values at `x` itself counting one half."""
        ...


@dataclass(frozen=True, eq=False)
class EmpiricalDistribution:
    """The empirical distribution of the replicates.

    Parameters
    ----------
    values
        The replicates phi_b of one output, shape ``(B,)``.

    Examples
    --------
    >>> replicates = EmpiricalDistribution(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    >>> replicates.quantile([0.25, 0.5])
    array([2., 3.])
    >>> float(replicates.cdf(2.0))
    0.3
    """

    values: FloatArray

    @property
    def size(self) -> int:
        """Return the number of replicates."""
        return len(self.values)

    def quantile(self, p: ArrayLike) -> FloatArray:
        """Return the sample quantiles at `p`, linear between the order statistics (type 7 of Hyndman and Fan)."""
        return np.asarray(np.quantile(self.values, np.asarray(p, dtype=np.float64)))

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Return the share of the replicates below `x`, those equal to it counting one half."""
        ordered = np.sort(self.values)
        below, not_above = np.searchsorted(ordered, x, side="left"), np.searchsorted(ordered, x, side="right")
        return np.asarray((below + not_above) / (2 * self.size))


def percentile_ends(distribution: Distribution, alphas: ArrayLike) -> FloatArray:
    """Return the quantiles of phi at `alphas`: the percentile interval.

    Parameters
    ----------
    distribution
        Of phi over resamples, one output.
    alphas
        Tail probabilities ``(lower, upper)`` in (0, 1), for example ``(0.025, 0.975)``; a one-sided interval of level
        0.95 is one end of ``(0.05, 0.95)``.

    Examples
    --------
    >>> percentile_ends(EmpiricalDistribution(np.arange(101.0)), (0.05, 0.95))
    array([ 5., 95.])
    """
    return distribution.quantile(alphas)


def basic_ends(distribution: Distribution, estimate: float, alphas: ArrayLike) -> FloatArray:
    """Return ``2 phi_hat - quantile(1 - alphas)``, the reverse percentile interval.

    Parameters
    ----------
    distribution
        Of phi over resamples, one output.
    estimate
        The value phi_hat on the data.
    alphas
        Tail probabilities ``(lower, upper)``.

    Examples
    --------
    >>> basic_ends(EmpiricalDistribution(np.arange(101.0)), 40.0, (0.05, 0.95))
    array([-15.,  75.])
    """
    return np.asarray(2 * estimate - distribution.quantile(1 - np.asarray(alphas)))


def bca_ends(distribution: Distribution, estimate: float, acceleration: float, alphas: ArrayLike) -> FloatArray:
    r"""Return the quantiles of phi at levels corrected for bias and skewness: the BCa interval of Efron (1987).

    .. math:: \Phi\Bigl(z_0 + \frac{z_0 + z_\alpha}{1 - a (z_0 + z_\alpha)}\Bigr),
              \qquad z_0 = \Phi^{-1}(P(\phi_b < \hat\phi))

    Where every replicate lies on one side of the estimate z_0 would be infinite. The probability is therefore kept
    within ``[0.5 / size, 1 - 0.5 / size]``: half a point of the distribution is thought to lie beyond the last one.
    Otherwise the levels are those of `scipy.stats.bootstrap`.

    Parameters
    ----------
    distribution
        Of phi over resamples, one output.
    estimate
        The value phi_hat on the data.
    acceleration
        The constant a, ``sum(influence**3) / (6 * sum(influence**2)**1.5)`` for one sample.
    alphas
        Tail probabilities ``(lower, upper)``.

    References
    ----------
    Efron, B. (1987). Better bootstrap confidence intervals. Journal of the American Statistical Association 82,
    171-185.

    Examples
    --------
    >>> bca_ends(EmpiricalDistribution(np.arange(101.0)), 50.0, 0.0, (0.05, 0.95))
    array([ 5., 95.])
    """
    half_a_point = 0.5 / distribution.size
    z_0 = ndtri(np.clip(distribution.cdf(estimate), half_a_point, 1 - half_a_point))
    shifted = z_0 + ndtri(np.asarray(alphas, dtype=np.float64))
    # Beyond the pole the formula would come back from the other side; the levels end at 0 and 1 instead.
    denominator = np.maximum(1 - acceleration * shifted, np.finfo(np.float64).tiny)
    return distribution.quantile(ndtr(z_0 + shifted / denominator))
