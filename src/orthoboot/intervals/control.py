"""The distribution of phi over resamples, from few replicates and the exact law of the linear part."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial.hermite_e import hermeval, hermevander
from numpy.typing import ArrayLike

from orthoboot.arguments import too_few_replicates
from orthoboot.errors import ArgumentError
from orthoboot.estimators import prior_replicates
from orthoboot.intervals.percentile import EmpiricalDistribution
from orthoboot.intervals.saddlepoint import LinearDistribution
from orthoboot.typing import FloatArray, IntArray

LEAST_REPLICATES = 5
"""With fewer the curve through the residuals could not be told from their noise."""

_SQUARE_PRIOR, _CUBE_PRIOR = 2.0, 5.0
"""Replicates without a curve that the prior is worth, for its square and its cube; the slope has the estimator's.

The square is the leading term of a smooth statistic's remainder; the cube is of the next order in n.
"""

_LEAST_WINDOW = 20
"""How many residuals are taken to be exchangeable, at least."""

_POINTS_PER_RESIDUAL = 1024
"""How many points of the linear part's law each residual of a window is added to."""


@dataclass(frozen=True, eq=False)
class ControlDistribution:
    r"""The distribution of one output of phi, as that of its linear part carried over by the replicates' residuals.

    .. math:: \phi = \hat\phi + L + f(L) + e

    L has its exact law (its saddlepoint approximation). The curve f is a cubic in L, fitted to the residuals
    :math:`D_b = \phi_b - \hat\phi - L_b` and shrunk towards a constant; e is what it leaves, drawn from the replicates
    whose L is nearest. The more replicates, the less the prior counts and the narrower the neighbourhood, so that the
    distribution tends to the bootstrap's own; with a linear phi there is no simulation error at any number of them.

    The idea is that of Davison, Hinkley and Schechtman (1986) and Efron (1990), and R's ``boot::control`` is its form
    with f = 0 and neighbourhoods of one replicate. The residual is the one which the paper's estimators average
    (``eq:debiasestimator``, ``eq:varianceestimator``).

    Parameters
    ----------
    estimate
        The value phi_hat on the data.
    values
        The replicates phi_b, shape ``(B,)``.
    linear
        The linear parts linear_b, less their exact mean, shape ``(B,)``.
    distribution
        The law of the linear part; its mean does not matter.

    References
    ----------
    Davison, A. C., Hinkley, D. V. and Schechtman, E. (1986). Efficient bootstrap simulation. Biometrika 73, 555-566.

    Efron, B. (1990). More efficient bootstrap computations. Journal of the American Statistical Association 85, 79-89.

    Examples
    --------
    >>> from orthoboot.plans.base import Draws
    >>> law = LinearDistribution([Draws(10, np.arange(10.0) / 10)])
    >>> linear = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    >>> phi = ControlDistribution(4.5, 4.5 + linear, linear, law)
    >>> phi.quantile([0.025, 0.975]).round(2)
    array([2.73, 6.27])
    """

    estimate: float
    values: FloatArray
    linear: FloatArray
    distribution: LinearDistribution

    def __post_init__(self) -> None:
        if len(self.values) < LEAST_REPLICATES:
            asker = "an interval from control quantiles"
            raise ArgumentError(too_few_replicates(asker, LEAST_REPLICATES, f"got {len(self.values)}"))

    @property
    def size(self) -> int:
        """Return how many points make the distribution."""
        return _POINTS_PER_RESIDUAL * _window(len(self.values))

    def quantile(self, p: ArrayLike) -> FloatArray:
        """Return the values below which phi falls with probability `p`, linear between the points' midpoints."""
        position = np.asarray(p, dtype=np.float64) * self.size
        return np.asarray(np.interp(position, np.arange(self.size) + 0.5, self._points))

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Return the probability of a value below `x`, values at `x` itself counting one half."""
        return EmpiricalDistribution(self._points).cdf(x)

    @cached_property
    def _points(self) -> FloatArray:
        """Return equally probable values of phi in increasing order, shape ``(size,)``."""
        scale = self.distribution.variance**0.5 or 1.0
        order = np.argsort(self.linear)
        z = self.linear[order] / scale
        residuals = (self.values[order] - self.estimate) / scale - z
        curve, remainder = _curve(z, residuals)
        p = (np.arange(self.size) + 0.5) / self.size
        law = (self.distribution.quantile(p) - self.distribution.mean) / scale
        neighbours = remainder[_neighbours(z, law)]
        return np.sort(self.estimate + scale * (law + hermeval(law, curve) + neighbours))


def _window(n_resamples: int) -> int:
    """Return how many neighbours share their residuals: all of few replicates, the square root of many.

    The number is even, so that as many lie on one side as on the other.
    """
    return min(n_resamples, max(_LEAST_WINDOW, 2 * (int(n_resamples**0.5) // 2)))


def _neighbours(z: FloatArray, law: FloatArray) -> IntArray:
    """Return for each point of the law the replicate whose residual it takes.

    The points take the residuals of their neighbourhood in turn, so that every stretch of the law meets them all.
    """
    window = _window(len(z))
    first = np.clip(np.searchsorted(z, law) - window // 2, 0, len(z) - window)
    return first + np.arange(len(law)) % window


def _curve(z: FloatArray, residuals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the coefficients of f on the Hermite polynomials, and the residuals that remain.

    Hermite polynomials are uncorrelated under a normal law, with variance j! for degree j: a prior of k replicates on
    term j is a penalty of k j!. The remainder is inflated for the degrees of freedom that the curve has used.
    """
    basis = hermevander(z, 3)
    penalty = np.diag([0.0, _slope_prior(z, residuals), 2 * _SQUARE_PRIOR, 6 * _CUBE_PRIOR])
    gram = basis.T @ basis
    coefficients = np.linalg.solve(gram + penalty, basis.T @ residuals).astype(np.float64)
    used = float(np.trace(np.linalg.solve(gram + penalty, gram)))
    remainder = residuals - basis @ coefficients
    return coefficients, remainder * (len(z) / (len(z) - used)) ** 0.5


def _slope_prior(z: FloatArray, residuals: FloatArray) -> float:
    """Return how many replicates without a slope the prior is worth: those of the orthogonal estimator's slope."""
    z, residuals = z - z.mean(), residuals - residuals.mean()
    changes = z + residuals
    sums = (changes @ changes, residuals @ residuals, residuals @ z, z @ z)
    return float(prior_replicates(len(z), *(np.array([total]) for total in sums))[0])
