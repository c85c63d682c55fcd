"""Distributions of phi over resamples, and the levels of the quantiles that make intervals of them.

The same formulas serve the replicates themselves and their control distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import scipy
from numpy.typing import ArrayLike

from orthoboot.estimators import student_factor
from orthoboot.intervals.laws.outputs import by_output
from orthoboot.typing import FloatArray


class Distribution(Protocol):
    """The interface of distributions of phi over resamples, one for each output of any number."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the outputs."""
        ...

    @property
    def resolution(self) -> FloatArray | float:
        """Return the smallest probability that can be told from zero, of a shape that broadcasts with the outputs'."""
        ...

    def quantile(self, p: ArrayLike) -> FloatArray:
        """Return the values below which phi falls with probability `p`, which broadcasts with the outputs."""
        ...

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Return the probability of a value below `x`, values at `x` itself counting one half."""
        ...


_ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""A relative difference that rounding makes."""


@dataclass(frozen=True, eq=False)
class EmpiricalDistribution:
    """The empirical distribution of the replicates.

    Parameters
    ----------
    values
        The replicates phi_b, shape ``(B,)``, or ``(B, ...)`` for more than one output.

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
    def shape(self) -> tuple[int, ...]:
        """Return the shape of one replicate."""
        return self.values.shape[1:]

    @property
    def resolution(self) -> float:
        """Return the probability assumed beyond the last replicate, half a replicate."""
        return 0.5 / len(self.values)

    def quantile(self, p: ArrayLike) -> FloatArray:
        """Return the sample quantiles at `p`, linear between the order statistics (type 7 of Hyndman and Fan)."""
        return by_output(self._between, np.asarray(p, dtype=np.float64), self.shape)

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Return the share of the replicates below `x`, those equal to it counting one half."""
        return by_output(self._share_below, np.asarray(x, dtype=np.float64), self.shape)

    @cached_property
    def _ordered(self) -> FloatArray:
        """Return the replicates of each output in increasing order, shape ``(k, B)``."""
        return np.sort(self.values.reshape(len(self.values), -1).T, axis=1)

    def _between(self, p: FloatArray) -> FloatArray:
        last = len(self.values) - 1
        below = np.floor(last * p).astype(np.int64)
        low, high = (np.take_along_axis(self._ordered, np.minimum(below + step, last), axis=1) for step in (0, 1))
        share = last * p - below
        # From the nearer of the two, as numpy does: so they are met exactly.
        return np.where(share < 0.5, low + share * (high - low), high - (1 - share) * (high - low))

    def _share_below(self, x: FloatArray) -> FloatArray:
        ordered, x = self._ordered[:, np.newaxis, :], x[:, :, np.newaxis]
        rounding = _rounding(ordered[:, :, 0], ordered[:, :, -1])[:, :, np.newaxis]
        below, up_to = (ordered < x - rounding).sum(axis=2), (ordered <= x + rounding).sum(axis=2)
        return np.asarray((below + up_to) / (2 * len(self.values)))


_STEPS = np.arange(-7, 8) / 2
_SHARES = np.exp(-np.square(_STEPS) / 2) / np.sum(np.square(_STEPS) * np.exp(-np.square(_STEPS) / 2))
"""Steps of a normal score in standard deviations, with normal weights that make their mean square one.

Steps beyond these are rarer than one in two thousand.
"""

_COVERED = 2.5
"""How many standard deviations of the score three errors must cover: a step that is missed is one in a hundred."""

_NEARBY = 5.0
"""How many replicates tell how far apart they are at a level, for each one beyond it, and for one at least."""


def rank_errors(
    end: Callable[[FloatArray], FloatArray], levels: FloatArray, noise: FloatArray, size: int
) -> FloatArray:
    """Return the simulation errors of ends made of sample quantiles, in the shape of `levels`.

    The root mean square of how far an end moves with the normal score of its level. Tails are longer outwards; and
    where replicates are equal, as those of medians are, a standard deviation mostly moves nothing, and yet a step may
    be near: three errors are at least as far as two and a half standard deviations of the score move the end.

    Where few replicates lie beyond a level, they tell little of how far apart they are there, and a sample whose
    largest value is small has both too small an end and too small an error. So errors are widened by Student's t of
    five values for each replicate beyond.

    Parameters
    ----------
    end
        Takes levels, with one more axis in front, and returns the ends that are made of the quantiles there.
    levels
        Of any shape.
    noise
        The standard deviation of their normal scores, as `share_noise` or `bca_score_noise` has it.
    size
        The number of replicates.

    Examples
    --------
    >>> replicates = EmpiricalDistribution(np.arange(1001.0))
    >>> median = np.array([0.5])
    >>> rank_errors(replicates.quantile, median, share_noise(median, 1001), 1001).round()
    array([16.])
    """
    steps = _STEPS.reshape(-1, *(1 for _ in levels.shape))
    moved = np.abs(end(scipy.special.ndtr(scipy.special.ndtri(levels) + steps * noise)) - end(levels[np.newaxis]))
    typical = np.sqrt(np.tensordot(_SHARES, np.square(moved), axes=1))
    farthest = moved[np.abs(_STEPS) <= _COVERED].max(axis=0)
    beyond = size * np.minimum(levels, 1 - levels)
    return np.asarray(student_factor(_NEARBY * np.maximum(beyond, 1.0)) * np.maximum(typical, farthest / 3))


def share_noise(share: FloatArray, size: int) -> FloatArray:
    """Return the standard deviation of the normal score of a share of so many replicates, a binomial one."""
    within = _inside(share, size)
    density = np.exp(-np.square(scipy.special.ndtri(within)) / 2) / np.sqrt(2 * np.pi)
    return np.asarray(np.sqrt(within * (1 - within) / size) / density)


def bca_score_noise(
    distribution: Distribution, estimate: FloatArray | float, acceleration: FloatArray, levels: FloatArray, size: int
) -> FloatArray:
    r"""Return the standard deviation of the normal scores of BCa's levels: of z_0, and of the ranks at the levels.

    With :math:`s = z_0 + w/(1 - aw)`, where w moves as z_0 does, the slope of s by z_0 is :math:`1 + (1 - aw)^{-2}`,
    and :math:`(1 - aw)^{-1} = 1 + a (s - z_0)`. More replicates below the estimate are mostly more below the end, too,
    which brings it back: two shares :math:`p < q` have the correlation :math:`\sqrt{p (1 - q) / (q (1 - p))}`.
    """
    level, share = _inside(levels, size), _inside(distribution.cdf(estimate), size)
    score, z_0 = scipy.special.ndtri(level), scipy.special.ndtri(share)
    of_rank = share_noise(level, size)
    of_z_0 = (1 + np.square(1 + acceleration * (score - z_0))) * share_noise(share, size)
    less, more = np.minimum(level, share), np.maximum(level, share)
    correlation = np.sqrt(less * (1 - more) / (more * (1 - less)))
    variance = of_rank**2 + of_z_0**2 - 2 * correlation * of_rank * of_z_0
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def _inside(share: FloatArray, size: int) -> FloatArray:
    """Return shares kept half a replicate away from none and all."""
    return np.clip(share, 0.5 / size, 1 - 0.5 / size)


def _rounding(first: FloatArray, last: FloatArray) -> FloatArray:
    """Return how far rounding may move replicates between the first and the last of them.

    Those that a trimmed mean, say, shares with the data differ from the estimate in the last digit or not.
    """
    return _ROUNDING * np.maximum(np.abs(first), np.abs(last))


def same_levels(distribution: Distribution, probabilities: ArrayLike) -> FloatArray:
    """Return `probabilities` as levels of all outputs, shape ``(len(probabilities), *shape)``.

    Those of more than one dimension are levels already, each output having its own.
    """
    levels = np.asarray(probabilities, dtype=np.float64)
    if levels.ndim > 1:
        return np.broadcast_to(levels, (len(levels), *distribution.shape))
    return np.broadcast_to(levels.reshape(-1, *(1,) * len(distribution.shape)), (len(levels), *distribution.shape))


def bca_levels(
    distribution: Distribution, estimate: FloatArray | float, acceleration: FloatArray | float, probabilities: ArrayLike
) -> FloatArray:
    r"""Return `probabilities` corrected for bias and skewness: the levels of the BCa interval of Efron (1987).

    .. math:: \Phi\Bigl(z_0 + \frac{z_0 + z_\alpha}{1 - a (z_0 + z_\alpha)}\Bigr),
              \qquad z_0 = \Phi^{-1}(P(\phi_b < \hat\phi))

    Where every replicate lies on one side of the estimate z_0 would be infinite. The probability is therefore kept away
    from 0 and 1 by the resolution of the distribution. Otherwise the levels are those of `scipy.stats.bootstrap`.

    Parameters
    ----------
    distribution
        Of phi over resamples.
    estimate
        The values phi_hat on the data, of a shape that broadcasts with the outputs'.
    acceleration
        The constants a, ``sum(influence**3) / (6 * sum(influence**2)**1.5)`` for one sample.
    probabilities
        What the ends leave below them, ``(lower, upper)``.

    References
    ----------
    Efron, B. (1987). Better bootstrap confidence intervals. Journal of the American Statistical Association 82,
    171-185.

    Examples
    --------
    >>> bca_levels(EmpiricalDistribution(np.arange(101.0)), 50.0, 0.0, (0.05, 0.95)).round(4)
    array([0.05, 0.95])
    """
    smallest = distribution.resolution
    z_0 = scipy.special.ndtri(np.clip(distribution.cdf(estimate), smallest, 1 - smallest))
    shifted = z_0 + scipy.special.ndtri(same_levels(distribution, probabilities))
    # Beyond the pole the formula would come back from the other side; the levels end at 0 and 1 instead.
    denominator = np.maximum(1 - acceleration * shifted, np.finfo(np.float64).tiny)
    with np.errstate(over="ignore"):
        return np.asarray(scipy.special.ndtr(z_0 + shifted / denominator))
