"""Distributions of phi over resamples, and the levels of the quantiles that make intervals of them.

The same formulas serve the replicates themselves and their control distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
import scipy
from numpy.typing import ArrayLike

from orthoboot.intervals.laws.outputs import by_output
from orthoboot.typing import FloatArray, IntArray


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
        return _interpolated(lambda ranks: np.take_along_axis(self._ordered, ranks, axis=1), len(self.values) - 1, p)

    def _share_below(self, x: FloatArray) -> FloatArray:
        ordered, x = self._ordered[:, np.newaxis, :], x[:, :, np.newaxis]
        rounding = _rounding(ordered[:, :, 0], ordered[:, :, -1])[:, :, np.newaxis]
        below, up_to = (ordered < x - rounding).sum(axis=2), (ordered <= x + rounding).sum(axis=2)
        return np.asarray((below + up_to) / (2 * len(self.values)))


@dataclass(frozen=True, eq=False)
class DistributionsWithoutGroups:
    """The empirical distributions of the replicates without each of some groups in turn, from one order of them all.

    Parameters
    ----------
    values
        The replicates phi_b, shape ``(B, k)``.
    n_groups
        Replicate b belongs to the group b modulo this number.

    Examples
    --------
    >>> replicates = DistributionsWithoutGroups(np.array([[1.0], [2.0], [3.0], [4.0]]), 2)
    >>> replicates.quantile(0.5)
    array([[3.],
           [2.]])
    """

    values: FloatArray
    n_groups: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the number of groups and of outputs."""
        return self.n_groups, self.values.shape[1]

    @property
    def resolution(self) -> FloatArray:
        """Return the probability assumed beyond the last replicate, half of one, shape ``(n_groups, 1)``."""
        return 0.5 / self._sizes[:, np.newaxis]

    def quantile(self, p: ArrayLike) -> FloatArray:
        """Return the sample quantiles at `p`; see `EmpiricalDistribution`."""
        return by_output(self._between, np.asarray(p, dtype=np.float64), self.shape)

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Return the share of the replicates below `x`, those equal to it counting one half."""
        return by_output(self._share_below, np.asarray(x, dtype=np.float64), self.shape)

    @cached_property
    def _sizes(self) -> IntArray:
        """Return how many replicates are left without each group, shape ``(n_groups,)``."""
        n = len(self.values)
        return np.array([n - len(range(group, n, self.n_groups)) for group in range(self.n_groups)])

    @cached_property
    def _last(self) -> IntArray:
        """Return the last rank among the replicates that are left, for each output of each group, as a column."""
        return np.repeat(self._sizes - 1, self.values.shape[1])[:, np.newaxis]

    @cached_property
    def _order(self) -> IntArray:
        """Return the numbers of the replicates of each output in increasing order, shape ``(k, B)``."""
        return np.argsort(self.values.T, axis=1)

    @cached_property
    def _ordered(self) -> FloatArray:
        return np.take_along_axis(self.values.T, self._order, axis=1)

    @cached_property
    def _places(self) -> IntArray:
        """Return where the replicates of a group stand among all, in increasing order, for each output of each group.

        Shape ``(n_groups * k, m)``; a group that is shorter than the others ends with places beyond all.
        """
        n, k = self.values.shape
        longest = -(-n // self.n_groups)
        ranks = np.full((k, longest * self.n_groups), 2 * n)
        np.put_along_axis(ranks, self._order, np.arange(n)[np.newaxis], axis=1)
        groups = np.sort(ranks.reshape(k, longest, self.n_groups), axis=1)
        return groups.transpose(2, 0, 1).reshape(-1, longest)

    def _at(self, ranks: IntArray) -> FloatArray:
        """Return the replicates at some ranks among those that are left, for each output of each group."""
        # One of the group stands before a rank if no more than that are left before it.
        left_before = self._places - np.arange(self._places.shape[1])
        missing = (left_before[:, np.newaxis] <= ranks[:, :, np.newaxis]).sum(axis=2)
        outputs = np.arange(len(ranks)) % self.values.shape[1]
        found: FloatArray = self._ordered[outputs[:, np.newaxis], ranks + missing]
        return found

    def _between(self, p: FloatArray) -> FloatArray:
        return _interpolated(self._at, self._last, p)

    def _share_below(self, x: FloatArray) -> FloatArray:
        rounding = _rounding(self._at(np.zeros_like(self._last)), self._at(self._last))
        below, up_to = self._number(x - rounding, "left"), self._number(x + rounding, "right")
        return np.asarray((below + up_to) / (2 * (self._last + 1)))

    def _number(self, x: FloatArray, side: Literal["left", "right"]) -> IntArray:
        """Return how many of the replicates that are left lie below `x`, with those at `x` itself or without."""
        k = self.values.shape[1]
        of_all = np.empty(x.shape, dtype=np.int64)
        for output, ordered in enumerate(self._ordered):
            of_all[output::k] = np.searchsorted(ordered, x[output::k], side=side)
        number: IntArray = of_all - (self._places[:, np.newaxis] < of_all[:, :, np.newaxis]).sum(axis=2)
        return number


def _interpolated(at: Callable[[IntArray], FloatArray], last: IntArray | int, p: FloatArray) -> FloatArray:
    """Return the quantiles at `p`, linear between the values `at` two ranks, of which `last` is the highest."""
    below = np.floor(last * p).astype(np.int64)
    low, high = (at(np.minimum(below + step, last)) for step in (0, 1))
    share = last * p - below
    # From the nearer of the two, as numpy does: so they are met exactly.
    return np.where(share < 0.5, low + share * (high - low), high - (1 - share) * (high - low))


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
