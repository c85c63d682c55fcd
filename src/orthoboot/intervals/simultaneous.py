"""Simultaneous intervals: the level of each output at which all of them together cover with the level asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy

from orthoboot.typing import FloatArray, IntArray

_SEED = 20240607
"""The probability of a maximum is a number, not a simulation: the same draws serve every call."""

_LEAST_DRAWS, _MOST_DRAWS, _HEIGHTS = 2**14, 2**15, 2**22
"""Draws for the answer: as many as make so many heights of outputs, within these limits."""

_FIRST_DRAWS = 2**11
"""Draws for the place near which those of the answer are drawn."""

_AT_ONCE = 2**20
"""The largest array of draws, in numbers."""

_NODES = 2**13
"""Nodes of the table of the radius; between them it is straight."""

_NORMAL_FROM = 1e6
"""Degrees of freedom from which t is the normal distribution to six digits."""

_CLOSE = 1e-6
"""Relative error to which a tail is searched, far below that of the draws."""

_NEIGHBOUR = 0.01
"""Distance, in logarithms of the critical value, over which a slope is taken."""

_LARGEST_SIDE = 0.49
"""The largest tail of one side for which there are draws: its end must lie beyond the estimate."""

_MOST_TAILS = 32
"""Tails for which the probability of the maximum is found one by one; more are read off a curve through so many."""


class Tail(NamedTuple):
    """A tail probability, with the relative error of the critical value that belongs to it.

    Attributes
    ----------
    probability
        What one output leaves outside its own interval.
    error
        The standard deviation of the critical value over draws, in units of that value.
    """

    probability: float
    error: float


@dataclass(frozen=True, eq=False)
class Maximum:
    r"""The largest of k standardised outputs, normal or t with their correlations.

    The outputs are ``Z_j = R f_j . u``: rows f_j of a factor of the correlations, a direction u and a radius R that is
    independent of it. Given the direction, the largest exceeds c with the probability ``P(R > c / a(u))``, where
    ``a_j(u) = |f_j . u|`` and a is the largest of them. Directions are drawn from those in which an output exceeds c,
    each output in turn, so that

    .. math:: U(c) = k p\, E\Bigl[\frac{P(R > c / a(u))}{\sum_j P(R > c / a_j(u))}\Bigr],

    with p the tail probability of one output. The quotient lies between 1/k and 1, so that the relative error does not
    grow as p falls. The seed is fixed. The critical value of `tail` has a relative error of 0.1% mostly, and below
    0.5% for the correlations of the tests, at levels of 80% and more; `Tail.error` says it for others.

    Parameters
    ----------
    correlation
        Of the outputs, shape ``(k, k)``. One that simulation has left indefinite is replaced by its positive part.
    two_sided
        Whether an output leaves its interval on either side, or on one alone.
    degrees
        Degrees of freedom of a multivariate t; infinite for the normal.

    References
    ----------
    Hothorn, T., Bretz, F. and Westfall, P. (2008). Simultaneous inference in general parametric models. Biometrical
    Journal 50, 346-363.
    Owen, A. B., Maximov, Y. and Chertkov, M. (2019). Importance sampling the union of rare events. Electronic Journal
    of Statistics 13, 231-254.

    Examples
    --------
    >>> round(Maximum(np.eye(3)).probability(0.02), 3), round(1 - 0.98**3, 3)
    (0.059, 0.059)
    """

    correlation: FloatArray
    two_sided: bool = True
    degrees: float = np.inf

    def probability(self, tail: float) -> float:
        """Return U: the probability that an output lies outside where each does with probability `tail`.

        From fewer draws than `tail` takes: to one percent for tens of outputs, to some percent for hundreds.
        """
        k = len(self.correlation)
        draws = int(np.clip(_HEIGHTS // (2 * k), _FIRST_DRAWS, _LEAST_DRAWS // 2))
        found = self._directions(tail, draws).exceedances(self._critical_value(tail)).mean()
        # True of every correlation: at least one output, and at most the sum of all.
        return float(np.clip(found, tail, min(k * tail, 1.0)))

    def tail(self, probability: float) -> Tail:
        """Return the tail of one output with which some output lies outside with `probability`.

        It lies between Bonferroni's ``probability / k`` and `probability` itself.
        """
        k = len(self.correlation)
        if k < 2:
            return Tail(probability, 0.0)
        draws = int(np.clip(_HEIGHTS // k, _LEAST_DRAWS, _MOST_DRAWS))
        guess = min(probability / np.sqrt(k), self._largest_tail)
        near = self._solved(self._directions(guess, _FIRST_DRAWS), probability)
        directions = self._directions(min(near, self._largest_tail), draws)
        found = self._solved(directions, probability)
        return Tail(found, directions.error(float(self._critical_value(min(found, self._largest_tail)))))

    def probabilities(self, tails: FloatArray) -> FloatArray:
        """Return U for tails of any number, shape ``(m,)``; of many by a curve through some, straight in logarithms."""
        inside = np.unique(tails[(tails > 0) & (tails <= self._largest_tail)])
        if len(inside) > _MOST_TAILS:
            inside = np.geomspace(inside[0], inside[-1], _MOST_TAILS)
        # Draws must not let it fall where the tail grows.
        values = np.maximum.accumulate([*(self.probability(float(tail)) for tail in inside), 1.0])
        curve = np.log([*inside, 1.0]), np.log(values)
        usable = np.where(tails > 0, tails, 1.0)
        return np.where(tails == 0, 0.0, np.exp(np.interp(np.log(usable), *curve)))

    def _solved(self, directions: _Directions, probability: float) -> float:
        """Return the tail with which the maximum lies outside with `probability`, by some directions."""

        def excess(logarithm: float) -> float:
            exceedances = directions.exceedances(self._critical_value(float(np.exp(logarithm))))
            return float(np.log(exceedances.mean() / probability))

        low, high = (float(np.log(min(end, self._largest_tail))) for end in self._bounds(probability))
        # Both may be met exactly: outputs that never leave together, and outputs that are all the same.
        if excess(low) >= 0:
            return float(np.exp(low))
        if excess(high) > 0:
            return float(np.exp(scipy.optimize.brentq(excess, low, high, xtol=_CLOSE)))
        if probability <= self._largest_tail:
            return probability
        # Beyond the draws both go to one together, straight in logarithms.
        reached = min(float(excess(high) + np.log(probability)), -_CLOSE)
        return float(np.exp(np.clip(high * np.log(probability) / reached, low, np.log(probability))))

    def _bounds(self, probability: float) -> tuple[float, float]:
        """Return the tails of outputs that never lie outside together, and of outputs that always do."""
        return probability / len(self.correlation), probability

    @property
    def _largest_tail(self) -> float:
        """Return the largest tail for which there are draws."""
        return 1 - _CLOSE if self.two_sided else _LARGEST_SIDE

    def _critical_value(self, tail: FloatArray | float) -> FloatArray:
        """Return the value beyond which an output is outside with probability `tail`."""
        side = np.asarray(tail) / 2 if self.two_sided else np.asarray(tail)
        if self.degrees >= _NORMAL_FROM:
            return np.asarray(-scipy.special.ndtri(side))
        return np.asarray(-scipy.special.stdtrit(self.degrees, side))

    @cached_property
    def _factor(self) -> FloatArray:
        """Return the symmetric root of the correlations with rows of length one, shape ``(k, k)``.

        It is the only one: of equal eigenvalues every processor has other vectors, and with them other draws.
        """
        values, vectors = np.linalg.eigh(self.correlation)
        factor: FloatArray = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        factor /= np.linalg.norm(factor, axis=1, keepdims=True)
        return factor

    def _radius(self) -> _Radius:
        return _Radius(self._factor.shape[1], self.degrees)

    def _directions(self, tail: float, draws: int) -> _Directions:
        """Return directions from where an output is outside with probability `tail`, about `draws` in all."""
        k, radius, generator = len(self.correlation), self._radius(), np.random.default_rng(_SEED)
        each = max(draws // k, 1)
        at_once = max(_AT_ONCE // (each * k), 1)
        starts = range(0, k, at_once)
        pieces = [self._some(tail, np.arange(i, min(i + at_once, k)), each, radius, generator) for i in starts]
        largest, weights = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
        return _Directions(radius, largest, weights, each)

    def _some(
        self, tail: float, outputs: IntArray, each: int, radius: _Radius, generator: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Return the largest a of directions in which `outputs` are outside, and what each direction counts."""
        # The values of an output beyond its end are spread evenly over their law.
        shares = (np.arange(each) + generator.random((len(outputs), 1))) / each
        x = self._critical_value(tail * shares.ravel())[:, np.newaxis]
        own = np.repeat(self._factor[outputs], each, axis=0)
        rest = generator.standard_normal(own.shape)
        rest -= (rest * own).sum(axis=1, keepdims=True) * own
        if self.degrees < _NORMAL_FROM:
            # A large t tells of its denominator, which the others share.
            rest *= np.sqrt((self.degrees + x**2) / generator.chisquare(self.degrees + 1, size=x.shape))
        places = x * own + rest
        places /= np.linalg.norm(places, axis=1, keepdims=True)
        heights = places @ self._factor.T
        heights = np.minimum(np.abs(heights) if self.two_sided else np.maximum(heights, 0.0), 1.0)
        sums = radius.tabulated(float(self._critical_value(tail)), heights).sum(axis=1)
        return heights.max(axis=1), len(self.correlation) * tail / sums


@dataclass(frozen=True)
class _Radius:
    """The length of r standard normal numbers, or of r numbers of a multivariate t."""

    dimension: int
    degrees: float

    def beyond(self, c: FloatArray | float, heights: FloatArray) -> FloatArray:
        """Return the probability that the radius times a height exceeds c, which is positive."""
        with np.errstate(divide="ignore"):
            squares = np.square(c / heights)
        if self.degrees >= _NORMAL_FROM:
            return np.asarray(scipy.special.chdtrc(self.dimension, squares))
        return np.asarray(scipy.special.fdtrc(self.dimension, self.degrees, squares / self.dimension))

    def tabulated(self, c: float, heights: FloatArray) -> FloatArray:
        """Return `beyond` for very many heights, from a table."""
        nodes = np.linspace(0.0, float(heights.max()), _NODES)
        return np.interp(heights, nodes, self.beyond(c, nodes))


@dataclass(frozen=True, eq=False)
class _Directions:
    """Directions with their largest heights and what they count, output by output."""

    radius: _Radius
    largest: FloatArray
    weights: FloatArray
    each: int

    def exceedances(self, c: FloatArray | float) -> FloatArray:
        """Return numbers whose mean is the probability that the maximum exceeds c, shape ``(N,)``."""
        return self.weights * self.radius.beyond(c, self.largest)

    def error(self, c: float) -> float:
        """Return the relative error of the critical value c at which the probability is what was asked for."""
        found = self.exceedances(c)
        strata = found.reshape(-1, self.each)
        within = strata.var(axis=1, ddof=1).mean() if self.each > 1 else found.var()
        error = np.sqrt(within / len(found)) / found.mean()
        around = [float(np.log(self.exceedances(c * np.exp(step)).mean())) for step in (-_NEIGHBOUR, _NEIGHBOUR)]
        return float(error * 2 * _NEIGHBOUR / (around[0] - around[1]))


def maximum_of(covariance: FloatArray, degrees: FloatArray | float | None, *, two_sided: bool) -> Maximum:
    """Return the law of the largest standardised output.

    Parameters
    ----------
    covariance
        Of all outputs, shape ``(k, k)``; those without variance are left out.
    degrees
        Degrees of freedom of each output, None for the normal. Where they differ the largest counts: outputs depend the
        less on each other, and the intervals err to the wide side.
    two_sided
        Whether the intervals have two ends.
    """
    variance = np.diag(covariance)
    varies = variance > 0
    scale = np.sqrt(variance[varies])
    correlation = covariance[np.ix_(varies, varies)] / np.outer(scale, scale)
    largest = np.inf if degrees is None else float(np.max(np.broadcast_to(degrees, varies.shape)[varies], initial=1.0))
    return Maximum(correlation, two_sided, largest)
