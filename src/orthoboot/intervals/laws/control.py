"""The distribution of phi over resamples, from few replicates and the exact law of the linear part."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy
from numpy.polynomial.hermite_e import hermevander
from numpy.typing import ArrayLike, NDArray

from orthoboot.arguments import too_few_replicates
from orthoboot.errors import ArgumentError
from orthoboot.estimators import prior_replicates
from orthoboot.estimators.slopes import PRIOR_REPLICATES
from orthoboot.intervals.laws.monotone import IncreasingLines, roots
from orthoboot.intervals.laws.outputs import by_output
from orthoboot.intervals.laws.saddlepoint import GRID
from orthoboot.typing import BoolArray, FloatArray, IntArray

LEAST_REPLICATES = 5
"""With fewer the curve through the residuals could not be told from their noise."""

_SQUARE_PRIOR, _CUBE_PRIOR = 2.0, 5.0
"""Replicates without a curve that the prior is worth, for its square and its cube; the slope has the estimator's.

The square is the leading term of a smooth statistic's remainder; the cube is of the next order in n.
"""

_LEAST_WINDOW = 20
"""How many residuals are taken to be exchangeable, at least."""

_SMALLEST_SLOPE = 0.01
"""The share of its mean slope that G has at least."""

_LEAST_FOLLOWED = 0.1
"""The mean slope of G from which on the law of the linear part says something about the tails of phi."""

_SAME_LINEAR = 9
"""Linear parts that agree in so many decimals of a standard deviation are the same, whatever rounding makes of them."""

_FARTHEST = 9.0
"""Normal scores beyond this are taken to be this one, a probability of 1e-19."""

_RESOLUTION = 2e-5
"""Smallest tail probability that replicates support; below it the fitted curve extrapolates."""


class Law(Protocol):
    """The law of a control, of the linear part or of another one."""

    @property
    def variance(self) -> FloatArray:
        """Return the variance of each output."""

    @property
    def scale(self) -> FloatArray:
        """Return the standard deviation of each output; one where it is constant."""

    @property
    def on_grid(self) -> FloatArray:
        """Return the standardised values at `GRID`, shape ``(k, nodes)``."""

    def standardised(self, scores: FloatArray) -> FloatArray:
        """Return the values, less the mean and divided by `scale`, at normal scores of shape ``(k, m)``."""

    def is_edge(self, p: ArrayLike) -> BoolArray:
        """Return whether no value lies beyond that at probability `p`."""


@dataclass(frozen=True, eq=False)
class ControlDistribution:
    r"""The distribution of phi, output by output, as that of its linear part carried over by the replicates' residuals.

    .. math:: \phi = \hat\phi + L + f(L) + e

    L has its exact law (its saddlepoint approximation). The curve f is a cubic in L, fitted to the residuals
    :math:`D_b = \phi_b - \hat\phi - L_b` and shrunk towards a constant; e is what it leaves, drawn from the W
    replicates whose L is nearest. The more replicates, the less the prior counts and the narrower the neighbourhood, so
    that the distribution tends to the bootstrap's own; with a linear phi there is no simulation error at any number of
    them.

    With z the normal score of L and :math:`G(z) = L(z) + f(L(z))`, replicate b is among the nearest while z is between
    two scores :math:`a_b < c_b`, so that

    .. math:: P(\phi \le \hat\phi + y) = \frac1W \sum_b
              \bigl[\Phi(\min(c_b, G^{-1}(y - e_b))) - \Phi(a_b)\bigr]_+ .

    The same with the complements gives the upper tail, so that both keep their digits however small they are. Where the
    cubic would turn back, beyond the replicates, G goes on growing slowly.

    The idea is that of Davison, Hinkley and Schechtman (1986) and Efron (1990), and R's ``boot::control`` is its form
    with f = 0 and neighbourhoods of one replicate. The residual is the one which the paper's estimators average
    (``eq:debiasestimator``, ``eq:varianceestimator``).

    Parameters
    ----------
    estimate
        The values phi_hat on the data, shape ``(k,)``, or a number for one output.
    values
        The replicates phi_b, shape ``(B, k)``, or ``(B,)``; ``(B, sets, k)`` for the distributions that several sets of
        replicates give.
    linear
        The linear parts linear_b, less their exact mean, of the same shape.
    distribution
        The law of the linear part, of shape ``(k,)`` or ``()``; its mean does not matter.
    reach
        How far out, in standard deviations of the linear part, the curve f is followed; beyond it is constant.
    prior
        How many replicates with slope one the prior of the slope is worth, as for the estimator.

    References
    ----------
    Davison, A. C., Hinkley, D. V. and Schechtman, E. (1986). Efficient bootstrap simulation. Biometrika 73, 555-566.

    Efron, B. (1990). More efficient bootstrap computations. Journal of the American Statistical Association 85, 79-89.

    Examples
    --------
    >>> from orthoboot.intervals.laws.saddlepoint import LinearDistribution
    >>> from orthoboot.plans.base import Draws
    >>> law = LinearDistribution([Draws(10, np.arange(10.0) / 10)])
    >>> linear = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    >>> phi = ControlDistribution(4.5, 4.5 + linear, linear, law)
    >>> phi.quantile([0.025, 0.975]).round(2)
    array([2.73, 6.27])
    """

    estimate: FloatArray | float
    values: FloatArray
    linear: FloatArray
    distribution: Law
    reach: float = np.inf
    prior: float = PRIOR_REPLICATES

    def __post_init__(self) -> None:
        if len(self.values) < LEAST_REPLICATES:
            asker = "an interval from control quantiles"
            raise ArgumentError(too_few_replicates(asker, LEAST_REPLICATES, f"got {len(self.values)}"))

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the outputs: that of one replicate."""
        return self.values.shape[1:]

    @property
    def resolution(self) -> float:
        """Return the smallest probability on either side of the estimate that BCa may use."""
        return _RESOLUTION

    @cached_property
    def follows_linear(self) -> BoolArray:
        """Return whether phi moves with its linear part, of the shape of the outputs; else e alone has tails."""
        follows = np.asarray(1 + self._mixture.coefficients[:, 0] > _LEAST_FOLLOWED).reshape(self.shape)
        return follows & (self.distribution.variance > 0)

    def quantile(self, p: ArrayLike) -> FloatArray:
        """Return the values below which phi falls with probability `p`, which broadcasts with the outputs."""
        z = np.clip(scipy.special.ndtri(np.asarray(p, dtype=np.float64)), -_FARTHEST, _FARTHEST)
        y = by_output(self._mixture.quantile, z, self.shape)
        return np.asarray(self.estimate + self._scale * y)

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Return the probability of a value of at most `x`, which broadcasts with the outputs."""
        y = (np.asarray(x, dtype=np.float64) - self.estimate) / self._scale
        return by_output(self._mixture.cdf, y, self.shape)

    @cached_property
    def _scale(self) -> FloatArray:
        """Return the standard deviation of L; where it is constant a power of two of the size of the changes of phi."""
        size = np.abs(self.values - self.estimate).max(axis=0)
        of_changes = np.exp2(np.round(np.log2(np.where(size > 0, size, 1.0))))
        return np.where(self.distribution.variance > 0, self.distribution.scale, of_changes)

    @cached_property
    def _mixture(self) -> _Mixture:
        """Return the distribution of (phi - phi_hat) / scale."""
        scale = self._scale
        # What rounding leaves of a linear part that does not vary must not pass for one that does.
        linear = _rows(np.where(self.distribution.variance > 0, self.linear, 0.0) / scale)
        order = np.argsort(linear.round(_SAME_LINEAR), axis=1, kind="stable")
        z = np.maximum.accumulate(np.take_along_axis(linear, order, axis=1), axis=1)
        changes = np.take_along_axis(_rows((self.values - self.estimate) / scale), order, axis=1)
        coefficients, remainder = _curve(z, changes - z, self.prior)
        law = _Law(self.distribution, len(z))
        return _Mixture(law, self.reach, coefficients, remainder, *_neighbourhoods(law, z))


def _rows(values: FloatArray) -> FloatArray:
    """Return replicates of any number of outputs with one row to each, shape ``(k, B)``."""
    return np.ascontiguousarray(values.reshape(len(values), -1).T)


@dataclass(frozen=True, eq=False)
class _Law:
    """The standardised law of L for each of `rows` rows: those of the outputs, once for each set of replicates."""

    distribution: Law
    rows: int

    @cached_property
    def on_grid(self) -> FloatArray:
        """Return L at `GRID`, shape ``(rows, nodes)``."""
        return self._tiled(self.distribution.on_grid)

    @cached_property
    def is_constant(self) -> BoolArray:
        """Return whether L does not vary, shape ``(rows, 1)``."""
        return self._tiled(self.distribution.variance.reshape(-1, 1) == 0)

    def at(self, scores: FloatArray) -> FloatArray:
        """Return L at normal scores of shape ``(rows, m)``."""
        sets = scores.reshape(self._sets, -1, scores.shape[1])
        together = np.concatenate(list(sets), axis=1)
        return np.concatenate(np.split(self.distribution.standardised(together), self._sets, axis=1))

    @property
    def _sets(self) -> int:
        return self.rows // self.distribution.variance.size

    def _tiled(self, quantity: NDArray[Any]) -> NDArray[Any]:
        return np.tile(quantity, (self._sets, 1))


@dataclass(frozen=True, eq=False)
class _Mixture:
    """The law of L + f(L) + e, L and e in units of `ControlDistribution._scale`, for every output.

    Parameters
    ----------
    law
        The law of L.
    reach
        Where f ends, in standard deviations of L.
    coefficients
        Of f on the Hermite polynomials of degree 1 to 3, shape ``(k, 3)``; its constant is part of e.
    residuals
        The values of e, shape ``(k, B)``.
    first, last
        The normal scores of L between which each of them occurs, shape ``(k, B)``.
    """

    law: _Law
    reach: float
    coefficients: FloatArray
    residuals: FloatArray
    first: FloatArray
    last: FloatArray

    def cdf(self, y: FloatArray) -> FloatArray:
        """Return the probability of at most `y`, shape ``(k, m)``."""
        row = _row_numbers(y)
        inverse = IncreasingLines(self._carried(self.law.on_grid), np.broadcast_to(GRID, self.law.on_grid.shape))
        everywhere = np.full(y.size, np.inf)
        tails = _Tails(self, inverse, row, np.ones(y.size), -everywhere, everywhere)
        return tails.at(y.ravel(), np.arange(y.size)).reshape(y.shape)

    def quantile(self, score: FloatArray) -> FloatArray:
        """Return the values at normal scores, shape ``(k, m)``.

        They are between G + min(e) and G + max(e) with G at the score itself, whatever the neighbourhoods are: so a
        linear statistic has the quantiles of its law to the last digit.
        """
        nearest = np.searchsorted((GRID[:-1] + GRID[1:]) / 2, score)
        grid, values = np.tile(GRID, (len(score), 1)), self.law.on_grid.copy()
        # The nodes nearest to the scores are moved to them, so that G is exact there.
        np.put_along_axis(grid, nearest, score, axis=1)
        np.put_along_axis(values, nearest, self.law.at(score), axis=1)
        carried, row, z = self._carried(values), _row_numbers(score), score.ravel()
        inverse, side = IncreasingLines(carried, grid), np.where(z > 0, -1.0, 1.0)
        middle = _read(grid, carried, nearest, score).ravel()
        low, high = self.residuals.min(axis=1)[row], self.residuals.max(axis=1)[row]
        lowest, highest = (inverse.value((middle + e)[:, np.newaxis], row)[:, 0] for e in (low - high, high - low))
        tails = _Tails(self, inverse, row, side, lowest, highest)

        def excess(shift: FloatArray, which: IntArray) -> FloatArray:
            """Return the normal score of G + shift, less the one that is wanted."""
            tail = np.clip(tails.at(middle[which] + shift, which), 1e-300, 1 - 1e-16)
            return np.asarray(side[which] * scipy.special.ndtri(tail) - z[which])

        return (middle + roots(excess, low, high)).reshape(score.shape)

    def _carried(self, values: FloatArray) -> FloatArray:
        """Return G = L + f(L), less its constant, at values of L, forced to be monotone outwards from the median.

        Where the cubic turns back, beyond the replicates, G grows by a share of its mean slope, which is 1 + the
        coefficient of degree 1.
        """
        slope, square, cube = (each[:, np.newaxis] for each in self.coefficients.T)
        least = _SMALLEST_SLOPE * np.maximum(1 + slope, 0.0)
        within = np.clip(values, -self.reach, self.reach)
        carried = (1 - least) * values + within * (slope - 3 * cube + within * (square + within * cube))
        upper, lower = (slice(len(GRID) // 2, None), slice(len(GRID) // 2, None, -1))
        np.maximum.accumulate(carried[:, upper], axis=1, out=carried[:, upper])
        np.minimum.accumulate(carried[:, lower], axis=1, out=carried[:, lower])
        return np.asarray(carried + least * values)


class _Tails:
    """Probabilities of one tail each, of some outputs of a mixture.

    Residuals whose neighbourhood lies in the tail for certain are added up once; those that cannot be in it are left
    out. Seen from its own side every tail is a lower one.

    Parameters
    ----------
    mixture, inverse
        The mixture, and the inverse of its G.
    row
        The output of each tail, shape ``(m,)``.
    side
        1 where the tail is the lower one, -1 where it is the upper one, shape ``(m,)``.
    lowest, highest
        Bounds on the normal score of L at which the tail ends, shape ``(m,)``.
    """

    def __init__(
        self,
        mixture: _Mixture,
        inverse: IncreasingLines,
        row: IntArray,
        side: FloatArray,
        lowest: FloatArray,
        highest: FloatArray,
    ) -> None:
        self._inverse, self._row, self._side = inverse, row, side[:, np.newaxis]
        self._residuals = mixture.residuals[row]
        self._window = _window(mixture.residuals.shape[1])
        self._certain, self._below, self._last = (
            np.zeros(len(row)),
            np.zeros((len(row), 1)),
            np.full((len(row), 1), np.inf),
        )
        if self._window < mixture.residuals.shape[1]:
            nearest, farthest = np.sort([side * lowest, side * highest], axis=0)[:, :, np.newaxis]
            self._limit(mixture, nearest, farthest)

    def _limit(self, mixture: _Mixture, nearest: FloatArray, farthest: FloatArray) -> None:
        """Keep the residuals that occur between two scores, seen from the side of the tail, shape ``(m, 1)``."""
        is_lower = self._side > 0
        first = np.where(is_lower, mixture.first[self._row], -mixture.last[self._row, ::-1])
        last = np.where(is_lower, mixture.last[self._row], -mixture.first[self._row, ::-1])
        begin, end = (last <= nearest).sum(axis=1), (first < farthest).sum(axis=1)
        length = max(int((end - begin).max(initial=1)), 1)
        begin = np.minimum(begin, first.shape[1] - length)[:, np.newaxis]
        whole = np.cumsum(scipy.special.ndtr(last) - scipy.special.ndtr(first), axis=1)
        self._certain = np.where(begin > 0, np.take_along_axis(whole, np.maximum(begin - 1, 0), axis=1), 0.0)[:, 0]
        some = begin + np.arange(length)
        self._last, self._below = (np.take_along_axis(each, some, axis=1) for each in (last, first))
        self._below = scipy.special.ndtr(self._below)
        some = np.where(is_lower, some, first.shape[1] - 1 - some)
        self._residuals = np.take_along_axis(self._residuals, some, axis=1)

    def at(self, y: FloatArray, which: IntArray) -> FloatArray:
        """Return the probabilities of those of the tails that end at `y`, both of shape ``(j,)``."""
        z = self._inverse.value(y[:, np.newaxis] - self._residuals[which], self._row[which])
        mass = scipy.special.ndtr(np.minimum(self._side[which] * z, self._last[which])) - self._below[which]
        return np.asarray((self._certain[which] + np.maximum(mass, 0.0).sum(axis=1)) / self._window)


def _row_numbers(rows: FloatArray) -> IntArray:
    """Return in which row each element of a flattened array ``(k, m)`` was."""
    return np.repeat(np.arange(len(rows)), rows.shape[1])


def _read(grid: FloatArray, values: FloatArray, nearest: IntArray, score: FloatArray) -> FloatArray:
    """Return the values at scores of shape ``(k, m)`` whose nearest nodes are known, straight between two nodes.

    Most scores are nodes. Those of which several have the same nearest one need not be.
    """
    node, value = (np.take_along_axis(each, nearest, axis=1) for each in (grid, values))
    following = nearest + np.sign(score - node).astype(np.int64)
    next_node, next_value = (np.take_along_axis(each, following, axis=1) for each in (grid, values))
    share = (score - node) / np.where(next_node == node, 1.0, next_node - node)
    return np.asarray(value + share * (next_value - value))


def _window(n_resamples: int) -> int:
    """Return how many neighbours share their residuals: all of few replicates, the square root of many.

    The number is even, so that as many lie on one side as on the other.
    """
    return min(n_resamples, max(_LEAST_WINDOW, 2 * (int(n_resamples**0.5) // 2)))


def _neighbourhoods(law: _Law, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return between which normal scores of L each replicate is one of its W neighbours, each of shape ``(k, B)``.

    As L grows it leaves one neighbour and meets another whenever it passes a replicate: the neighbours from number m on
    are those of all L between the replicates number m - 1 + W/2 and m + W/2. Those of the lowest L of all are the first
    W, and those of the highest the last W.

    Parameters
    ----------
    law
        The law of L.
    z
        The standardised L of the replicates in increasing order, shape ``(k, B)``.
    """
    k, n_resamples = z.shape
    window = _window(n_resamples)
    unlimited = np.full((k, window), np.inf)
    if window == n_resamples:
        return -unlimited, unlimited
    passed = slice(window // 2, n_resamples - window + window // 2)
    lines = IncreasingLines(law.on_grid, np.broadcast_to(GRID, law.on_grid.shape))
    # Where L is constant no replicate is nearer than another; by their ranks each has its turn.
    ranks = scipy.special.ndtri((np.arange(n_resamples) + 0.5) / n_resamples)
    scores = np.where(law.is_constant, ranks, lines.value(z, np.arange(k)))[:, passed]
    return np.append(-unlimited, scores, axis=1), np.append(scores, unlimited, axis=1)


def _curve(z: FloatArray, residuals: FloatArray, most: float) -> tuple[FloatArray, FloatArray]:
    """Return the coefficients of f on the Hermite polynomials of degree 1 to 3, ``(k, 3)``, and the rest, ``(k, B)``.

    Hermite polynomials are uncorrelated under a normal law, with variance j! for degree j: a prior of k replicates on
    term j is a penalty of k j!. The remainder is inflated for the degrees of freedom that the curve has used; it holds
    the constant of the polynomial.

    Parameters
    ----------
    z, residuals
        L and phi - phi_hat - L of the replicates in standard deviations of L, shape ``(k, B)``.
    most
        How many replicates the prior of the slope is worth at most.
    """
    k, n_resamples = z.shape
    basis = hermevander(z, 3)
    penalty = np.zeros((k, 4, 4))
    penalty[:, [1, 2, 3], [1, 2, 3]] = np.stack(
        [_slope_prior(z, residuals, most), np.full(k, 2 * _SQUARE_PRIOR), np.full(k, 6 * _CUBE_PRIOR)], axis=1
    )
    gram = basis.mT @ basis
    moments = basis.mT @ residuals[:, :, np.newaxis]
    solved = np.linalg.solve(gram + penalty, np.concatenate([gram, moments], axis=2))
    coefficients, used = solved[:, :, 4], np.trace(solved[:, :, :4], axis1=1, axis2=2)
    remainder = residuals - (basis @ coefficients[:, :, np.newaxis])[:, :, 0]
    inflation = np.sqrt(n_resamples / (n_resamples - used))
    constant = coefficients[:, 0] - coefficients[:, 2]
    return coefficients[:, 1:], constant[:, np.newaxis] + remainder * inflation[:, np.newaxis]


def _slope_prior(z: FloatArray, residuals: FloatArray, most: float) -> FloatArray:
    """Return how many replicates without a slope the prior is worth: those of the orthogonal estimator's slope."""
    z, residuals = (each - each.mean(axis=1, keepdims=True) for each in (z, residuals))
    changes = z + residuals
    pairs = ((changes, changes), (residuals, residuals), (residuals, z), (z, z))
    total, residual, cross, linear = ((one * other).sum(axis=1) for one, other in pairs)
    return prior_replicates(z.shape[1], total, residual, cross, linear, most)
