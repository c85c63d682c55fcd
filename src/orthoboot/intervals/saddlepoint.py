"""The distribution of the linear part, by its saddlepoint approximation: no replicates at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicHermiteSpline
from scipy.special import ndtr, ndtri

from orthoboot.errors import ArgumentError
from orthoboot.plans.base import Draws
from orthoboot.typing import FloatArray, IntArray

_REACH = 7.0
"""The curve is computed for |r| up to here, a probability of 1e-12; beyond it continues as a straight line."""

_SPACING = 0.1
"""Distance in r between the nodes of the curve: the cubic between them errs by about spacing**4 / 384."""

_CLOSEST = 1e-9
"""Nodes nearer than this in r are one."""

_EDGE_GAP = 1e-4
"""The curve is joined to the edge of the support once r is this close to its limit there."""

_TIE = 1e-6
"""Values count as equal to the largest where this moves the sum by at most so many standard deviations."""

_SMALLEST_SLOPE = 0.5
"""The correction of r is frozen where r* would grow slower than this share of r."""

_LARGEST_EXPONENT = 30.0
"""Exponents beyond this are counted from the largest one."""

_LARGEST_POPULATION = 8192
"""Populations with more values than this are condensed."""

_TAIL = 1024
"""How many values at each end a condensed population keeps as they are."""

_BLOCKS = 2048
"""How many blocks stand for the rest of a condensed population."""

_BISECTIONS = 45
"""Halvings of a cell of the curve until it is narrower than rounding."""


@dataclass(frozen=True, eq=False)
class LinearDistribution:
    r"""The distribution of a sum of independent draws from finite populations.

    With :math:`K(t) = \sum_i m_i \log \operatorname{mean}_j e^{t v_{ij}}` and the saddlepoint :math:`K'(t) = x`,

    .. math:: P(L \le x) \approx \Phi(r + \log(v / r) / r), \quad
              r = \operatorname{sign}(t) \sqrt{2 (t x - K(t))}, \quad v = t \sqrt{K''(t)},

    the form of Barndorff-Nielsen (1986), as in R's ``boot::saddle``; Davison and Hinkley (1988) is its use for the
    bootstrap. Its mean and variance are exact: the variance is that of lemma ``lem: influence var``.

    The curve :math:`t \mapsto (r^*(t), x(t))` is computed once, at nodes about equally spaced in r and with exact
    slopes; both `cdf` and `quantile` read it, so that they are each other's inverse. Near the ends of the support of
    a small sample r* would turn back, for it knows nothing of the steps there; from that point on the correction is
    held constant, which keeps the curve monotone and leads it to the end of the support.

    Parameters
    ----------
    draws
        The parts of the sum; each has `values` of shape ``(size,)`` or ``(size, 1)``.

    References
    ----------
    Barndorff-Nielsen, O. E. (1986). Inference on full or partial parameters based on the standardized signed log
    likelihood ratio. Biometrika 73, 307-322.

    Davison, A. C. and Hinkley, D. V. (1988). Saddlepoint approximations in resampling methods. Biometrika 75, 417-431.

    Examples
    --------
    >>> linear = LinearDistribution([Draws(10, np.arange(10.0) / 10)])
    >>> float(linear.mean)
    4.5
    >>> linear.quantile([0.025, 0.5, 0.975]).round(2)
    array([2.73, 4.5 , 6.27])
    """

    draws: Sequence[Draws]

    def __post_init__(self) -> None:
        for part in self.draws:
            if part.values.ndim > 2 or part.values.size != len(part.values) or part.values.size == 0:
                raise ArgumentError(
                    f"`draws` must have one column of values each; got shape {part.values.shape}. "
                    "Build one distribution per output."
                )

    @cached_property
    def mean(self) -> float:
        """Return the exact mean."""
        return float(sum(part.number * part.values.mean() for part in self.draws))

    @cached_property
    def variance(self) -> float:
        """Return the exact variance (lemma ``lem: influence var``)."""
        return self._cumulant(2)

    @cached_property
    def third_cumulant(self) -> float:
        """Return the exact third cumulant, the third central moment."""
        return self._cumulant(3)

    @cached_property
    def support(self) -> tuple[float, float]:
        """Return the smallest and the largest possible value."""
        low = sum(part.number * part.values.min() for part in self.draws)
        high = sum(part.number * part.values.max() for part in self.draws)
        return float(low), float(high)

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Return the probability of a value of at most `x`; 0 below the support and 1 from its upper end on.

        Parameters
        ----------
        x
            Any shape.
        """
        x = np.asarray(x, dtype=np.float64)
        low, high = self.support
        if self._is_constant:
            return np.asarray(x >= self.mean, dtype=np.float64)
        inside = ndtr(self._curve.score((x - self.mean) / np.sqrt(self.variance)))
        return np.asarray(np.where(x < low, 0.0, np.where(x >= high, 1.0, inside)))

    def quantile(self, p: ArrayLike) -> FloatArray:
        """Return the values below which the sum falls with probability `p`.

        Parameters
        ----------
        p
            Probabilities in [0, 1], any shape; 0 and 1 give the ends of the support.
        """
        p = np.asarray(p, dtype=np.float64)
        if not np.all((p >= 0) & (p <= 1)):
            raise ArgumentError(f"`p` must lie in [0, 1]; got {p}.")
        low, high = self.support
        if self._is_constant:
            return np.full(p.shape, self.mean)
        value = self.mean + np.sqrt(self.variance) * self._curve.value(ndtri(np.clip(p, 1e-300, 1 - 2**-53)))
        return np.asarray(np.where(p == 0, low, np.where(p == 1, high, np.clip(value, low, high))))

    @property
    def _is_constant(self) -> bool:
        return self.variance == 0

    def _cumulant(self, order: int) -> float:
        """Return the exact cumulant of order 2 or 3, for which it is the central moment."""
        return float(sum(part.number * np.mean(_centred(part.values) ** order) for part in self.draws))

    @cached_property
    def _curve(self) -> _Curve:
        populations = _populations(self.draws, self.variance**0.5)
        upper, lower = _branch(populations), _branch(populations.reflected())
        return _Curve(
            np.concatenate([-lower.score[:0:-1], upper.score]),
            np.concatenate([-lower.value[:0:-1], upper.value]),
            np.concatenate([lower.slope[:0:-1], upper.slope]),
        )


class _Curve:
    """A monotone curve from normal scores r* to standardised values x, straight beyond its ends.

    Parameters
    ----------
    score, value, slope
        The nodes r*, x and the derivatives dx / dr*, each of shape ``(nodes,)``.
    """

    def __init__(self, score: FloatArray, value: FloatArray, slope: FloatArray) -> None:
        # Slopes of at most three times the neighbouring secants keep a cubic monotone (Fritsch and Carlson 1980).
        secant = np.diff(value) / np.diff(score)
        steepest = 3 * np.minimum(np.append(secant, np.inf), np.append(np.inf, secant))
        self._nodes = score, value
        self._ends = np.minimum(slope, steepest)[[0, -1]]
        self._spline = CubicHermiteSpline(score, value, np.minimum(slope, steepest))

    def value(self, score: FloatArray) -> FloatArray:
        """Return the values at normal scores."""
        inside = np.clip(score, *self._nodes[0][[0, -1]])
        beyond = score - inside
        return np.asarray(self._spline(inside) + np.where(beyond < 0, *self._ends) * beyond)

    def score(self, value: FloatArray) -> FloatArray:
        """Return the normal scores at values, the inverse of `value`."""
        scores, values = self._nodes
        inside = np.clip(value, values[0], values[-1])
        cell = np.clip(np.searchsorted(values, inside, side="right"), 1, len(values) - 1)
        low, high = scores[cell - 1], scores[cell]
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            above = self._spline(middle) > inside
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        beyond = value - inside
        # A flat end is an end of the support: nothing lies beyond it, and `cdf` overrides what is said here.
        return np.asarray(low + beyond / np.maximum(np.where(beyond < 0, *self._ends), 1e-3))


@dataclass(frozen=True)
class _Populations:
    """All populations in one flat array, so that many small strata cost no more than one large sample.

    Attributes
    ----------
    number
        Draws from each population, shape ``(m,)``.
    sizes
        Nodes of each population, shape ``(m,)``.
    nodes, probabilities
        The values, of mean zero in each population, and their probabilities, shape ``(sum(sizes),)``.
    """

    number: FloatArray
    sizes: IntArray
    nodes: FloatArray
    probabilities: FloatArray

    @cached_property
    def starts(self) -> IntArray:
        """Return where each population begins."""
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def tops(self) -> FloatArray:
        """Return the largest node of each population."""
        return np.maximum.reduceat(self.nodes, self.starts)

    @cached_property
    def farthest(self) -> float:
        """Return the t from which on only values tied with the largest have weight: e**-50 for the others."""
        return float(50 * self.number.max() / _TIE)

    @cached_property
    def edge(self) -> float:
        """Return the limit of r at the upper end of the support: every draw gives the largest value."""
        is_largest = self.nodes >= self.of_each(self.tops - _TIE / self.number)
        return float(np.sqrt(-2 * self.number @ np.log(self.means(is_largest.astype(np.float64)))))

    def reflected(self) -> _Populations:
        """Return the same populations with the opposite sign."""
        return _Populations(self.number, self.sizes, -self.nodes, self.probabilities)

    def of_each(self, quantity: FloatArray) -> FloatArray:
        """Return a quantity of each population at each of its nodes."""
        return np.repeat(quantity, self.sizes)

    def means(self, quantity: FloatArray) -> FloatArray:
        """Return the mean over each population of a quantity of the nodes."""
        return np.add.reduceat(self.probabilities * quantity, self.starts)

    def tilted(self, t: float) -> tuple[float, float, float, float]:
        """Return t K' - K, and the first three derivatives of K, at t > 0.

        The first is the divergence of the tilted law from the law itself. As a mean under the tilted law it keeps its
        digits where t K' and K are large and nearly equal.
        """
        # The mean of exp(tv) is 1 + O(1 / number), and log(1 + .) must not see the rounded sum: hence expm1 and
        # log1p, and values counted from the largest one only where the exponential is far from 1.
        origin = np.where(t * self.tops > _LARGEST_EXPONENT, self.tops, 0.0)
        exponent = t * (self.nodes - self.of_each(origin))
        log_tilt = exponent - self.of_each(np.log1p(self.means(np.expm1(exponent))))
        tilt = np.exp(log_tilt)
        first = self.means(tilt * self.nodes)
        deviation = self.nodes - self.of_each(first)
        square = tilt * deviation * deviation
        each = np.array([self.means(tilt * log_tilt), first, self.means(square), self.means(square * deviation)])
        divergence, slope, curvature, third = (each @ self.number).tolist()
        return divergence, slope, curvature, third


def _populations(draws: Sequence[Draws], scale: float) -> _Populations:
    """Return the populations of the draws, centred and divided by `scale`."""
    condensed = [_condensed(_centred(part.values) / scale) for part in draws]
    nodes, probabilities = zip(*condensed, strict=True)
    return _Populations(
        np.array([part.number for part in draws], dtype=np.float64),
        np.array([len(each) for each in nodes]),
        np.concatenate(nodes),
        np.concatenate(probabilities),
    )


def _centred(values: FloatArray) -> FloatArray:
    """Return the values less their mean, shape ``(size,)``: exactly zero where they are all the same."""
    flat = values.reshape(-1)
    return np.zeros(len(flat)) if flat.min() == flat.max() else flat - flat.mean()


def _condensed(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return nodes and probabilities: a large population becomes some thousand nodes of the same mean and variance.

    The values at both ends stay; the others are sorted into blocks, and two nodes at the block's mean plus and minus
    its standard deviation stand for each.
    """
    size = len(values)
    if size <= _LARGEST_POPULATION:
        return values, np.full(size, 1 / size)
    ordered = np.sort(values)
    length = (size - 2 * _TAIL) // _BLOCKS
    stop = _TAIL + length * _BLOCKS
    blocks = ordered[_TAIL:stop].reshape(_BLOCKS, length)
    middle, spread = blocks.mean(axis=1), blocks.std(axis=1)
    nodes = np.concatenate([ordered[:_TAIL], middle - spread, middle + spread, ordered[stop:]])
    shares = np.repeat([1.0, length / 2, 1.0], [_TAIL, 2 * _BLOCKS, size - stop])
    return nodes, shares / size


@dataclass(frozen=True)
class _Branch:
    """The upper half of the curve: r*, x and dx / dr* at increasing t from 0 on."""

    score: FloatArray
    value: FloatArray
    slope: FloatArray

    def with_end(self, score: float, value: float) -> _Branch:
        """Return the branch joined to the end of the support, where t is infinite and the curve flat."""
        return _Branch(np.append(self.score, score), np.append(self.value, value), np.append(self.slope, 0.0))


def _branch(populations: _Populations) -> _Branch:
    """Return the curve for t >= 0, up to `_REACH` or to the end of the support."""
    t, r, x, second, third = np.array(list(_saddlepoints(populations))).reshape(-1, 5).T
    at_mean, growth_at_mean = _limits_at_the_mean(populations)
    correction = np.append(at_mean, np.log(t * np.sqrt(second) / r) / r)
    growth = np.append(growth_at_mean, _score_growth(t, r, second, third))
    r, x, slope = np.append(0.0, r), np.append(0.0, x), np.append(1.0, r / t)
    slow = np.flatnonzero(np.diff(r + correction) < _SMALLEST_SLOPE * np.diff(r))
    if len(slow):
        correction[slow[0] :], growth[slow[0] :] = correction[slow[0]], 1.0
    branch = _Branch(r + correction, x, slope / np.maximum(growth, _SMALLEST_SLOPE))
    if populations.edge > _REACH:
        return branch
    return branch.with_end(populations.edge + correction[-1], float(populations.number @ populations.tops))


def _score_growth(t: FloatArray, r: FloatArray, second: FloatArray, third: FloatArray) -> FloatArray:
    """Return dr* / dr, from dr / dt = t K'' / r and the derivative of log(v / r) / r."""
    rate = t * second / r
    correction = np.log(t * np.sqrt(second) / r) / r
    log_ratio_rate = 1 / t + third / (2 * second) - rate / r
    return 1 + (log_ratio_rate / rate - correction) / r


def _limits_at_the_mean(populations: _Populations) -> tuple[float, float]:
    r"""Return the limits of r* and of dr* / dr as t tends to 0.

    With the standardised cumulants :math:`\kappa_3, \kappa_4` they are :math:`\kappa_3 / 6` and
    :math:`1 + \kappa_4 / 8 - 7 \kappa_3^2 / 36`, where the formula itself is 0 / 0.
    """
    square = populations.nodes**2
    third = float(populations.number @ populations.means(square * populations.nodes))
    excess = populations.means(square**2) - 3 * populations.means(square) ** 2
    return third / 6, 1 + float(populations.number @ excess) / 8 - 7 * third**2 / 36


def _saddlepoints(populations: _Populations) -> Iterator[tuple[float, float, float, float, float]]:
    """Yield t, r and the first three derivatives of K at t > 0, about equally spaced in r."""
    t, r, rate = 0.0, 0.0, 1.0
    while r < min(populations.edge - _EDGE_GAP, _REACH) and t < populations.farthest:
        wanted = min(_SPACING, (populations.edge - r) / 2)
        # At most doubling t bounds the step where r hardly moves, between two clusters of values.
        step = min(wanted / rate, max(t, _SPACING))
        following, derivatives = _signed_root(populations, t + step)
        while following - r > 2 * _SPACING:
            step /= 2
            following, derivatives = _signed_root(populations, t + step)
        t += step
        rate = max(t * derivatives[1] / max(following, _CLOSEST), 1e-300)
        if r + _CLOSEST < following < populations.edge:
            r = following
            yield t, r, *derivatives


def _signed_root(populations: _Populations, t: float) -> tuple[float, tuple[float, float, float]]:
    """Return r and the first three derivatives of K at t > 0."""
    divergence, first, second, third = populations.tilted(t)
    return max(2 * divergence, 0.0) ** 0.5, (first, second, third)
