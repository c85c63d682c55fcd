"""The distribution of the linear part, by its saddlepoint approximation: no replicates at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from orthoboot.errors import ArgumentError
from orthoboot.intervals.laws.outputs import by_output
from orthoboot.plans.base import Draws
from orthoboot.typing import BoolArray, FloatArray, IntArray

_REACH = 7.0
"""The curve is computed for |r| up to here, a probability of 1e-12; beyond it continues as a straight line."""

_SPACING = 0.25
"""Distance in r between the nodes of the curve: the cubic between them errs by about spacing**4 / 384."""

_CLOSEST = 1e-9
"""Nodes nearer than this in r are one."""

_EDGE_GAP = 1e-4
"""The curve is joined to the edge of the support once r is this close to its limit there."""

_AT_EDGE = 1e-9
"""Distance, in standard deviations, within which a value is at the edge of the support."""

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

_IN_CACHE = 2**14
"""How many numbers an array may have that is read again at once."""

_NO_WIDTH = 1e-200
"""Stand-in standard deviation of a constant output."""

GRID = np.concatenate([np.arange(-10, -4, 1 / 4), np.arange(-4, 4, 1 / 8), np.arange(4, 10.25, 1 / 4)])
"""Normal scores between which any law is nearly straight: 1/8 between two costs 2e-3 of its curvature."""

_BISECTIONS = 45
"""Halvings of a cell of the curve until it is narrower than rounding."""


@dataclass(frozen=True, eq=False)
class LinearDistribution:
    r"""The distribution of a sum of independent draws from finite populations, for every output.

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
        The parts of the sum; each has `values` of shape ``(size, k)``, or ``(size,)`` for one output.

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
        shapes = [part.values.shape for part in self.draws]
        if any(len(shape) not in (1, 2) or 0 in shape or shape[1:] != shapes[0][1:] for shape in shapes):
            got = ", ".join(map(str, shapes))
            raise ArgumentError(f"`draws` must have values of shape (size, k) or (size,) with the same k; got {got}.")

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the outputs: ``(k,)``, or ``()`` for one."""
        return self.draws[0].values.shape[1:]

    @cached_property
    def mean(self) -> FloatArray:
        """Return the exact mean of each output."""
        return np.asarray(sum(part.number * part.values.mean(axis=0) for part in self.draws))

    @cached_property
    def variance(self) -> FloatArray:
        """Return the exact variance of each output (lemma ``lem: influence var``)."""
        return self._cumulant(2)

    @cached_property
    def third_cumulant(self) -> FloatArray:
        """Return the exact third cumulant of each output, the third central moment."""
        return self._cumulant(3)

    @cached_property
    def support(self) -> tuple[FloatArray, FloatArray]:
        """Return the smallest and the largest possible value of each output."""
        low = sum(part.number * part.values.min(axis=0) for part in self.draws)
        high = sum(part.number * part.values.max(axis=0) for part in self.draws)
        return np.asarray(low), np.asarray(high)

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Return the probability of a value of at most `x`; 0 below the support and 1 from its upper end on.

        Parameters
        ----------
        x
            Any shape that can be broadcast with that of the outputs.
        """
        x = np.asarray(x, dtype=np.float64)
        low, high = self.support
        score = by_output(self._curves.score, (x - self.mean) / self.scale, self.shape)
        inside = np.where(self.variance == 0, x >= self.mean, scipy.special.ndtr(score))
        return np.asarray(np.where(x < low, 0.0, np.where(x >= high, 1.0, inside)))

    def quantile(self, p: ArrayLike) -> FloatArray:
        """Return the values below which the sum falls with probability `p`.

        Parameters
        ----------
        p
            Probabilities in [0, 1], of any shape that can be broadcast with that of the outputs; 0 and 1 give the ends
            of the support.
        """
        p = np.asarray(p, dtype=np.float64)
        if not np.all((p >= 0) & (p <= 1)):
            raise ArgumentError(f"`p` must lie in [0, 1]; got {p}.")
        low, high = self.support
        standardised = by_output(self.standardised, scipy.special.ndtri(np.clip(p, 1e-300, 1 - 2**-53)), self.shape)
        value = np.clip(self.mean + self.scale * standardised, low, high)
        inside = np.where(p == 0, low, np.where(p == 1, high, value))
        return np.asarray(np.where(self.variance == 0, self.mean, inside))

    def is_edge(self, p: ArrayLike) -> BoolArray:
        """Return whether the value at probability `p` is an end of the support: no sum of draws lies beyond it."""
        value, slack = self.quantile(p), _AT_EDGE * self.scale
        low, high = self.support
        return np.asarray(((value <= low + slack) | (value >= high - slack)) & (self.variance > 0))

    @cached_property
    def scale(self) -> FloatArray:
        """Return the standard deviation of each output; one where it is constant."""
        return np.where(self.variance > 0, np.sqrt(self.variance), 1.0)

    def standardised(self, scores: FloatArray) -> FloatArray:
        """Return the values, less the mean and divided by `scale`, at normal scores of shape ``(k, m)``.

        They never fall and stay in the support. A constant output is given a width too small to be seen, so that
        its curve has an inverse too.
        """
        low, high = ((end - self.mean).reshape(-1, 1) / self.scale.reshape(-1, 1) for end in self.support)
        constant = self.variance.reshape(-1, 1) == 0
        return np.where(constant, _NO_WIDTH * scores, np.clip(self._curves.value(scores), low, high))

    @cached_property
    def on_grid(self) -> FloatArray:
        """Return the standardised values at `GRID`, shape ``(k, nodes)``."""
        return self.standardised(np.broadcast_to(GRID, (self.variance.size, len(GRID))))

    def _cumulant(self, order: int) -> FloatArray:
        """Return the exact cumulant of order 2 or 3, for which it is the central moment."""
        parts = (part.number * np.mean(_centred(_rows(part)) ** order, axis=1) for part in self.draws)
        return np.asarray(sum(parts)).reshape(self.shape)

    @cached_property
    def _curves(self) -> _Curves:
        populations = _populations(self.draws, self.scale.reshape(-1))
        branches = _branches(populations.with_reflection())
        upper, lower = (_Branches(*half) for half in zip(*(np.split(each, 2) for each in branches), strict=True))
        return _Curves(
            np.concatenate([-lower.score[:, :0:-1], upper.score], axis=1),
            np.concatenate([-lower.value[:, :0:-1], upper.value], axis=1),
            np.concatenate([lower.slope[:, :0:-1], upper.slope], axis=1),
        )


class _Curves:
    """Monotone curves from normal scores r* to standardised values x, straight beyond their ends, one to an output.

    Parameters
    ----------
    score, value, slope
        The nodes r*, x and the derivatives dx / dr*, each of shape ``(k, nodes)``. A curve with fewer nodes than others
        repeats those at its ends.
    """

    def __init__(self, score: FloatArray, value: FloatArray, slope: FloatArray) -> None:
        # Slopes of at most three times the neighbouring secants keep a cubic monotone (Fritsch and Carlson 1980).
        width = np.diff(score)
        secant = np.where(width > 0, np.diff(value) / np.where(width > 0, width, 1.0), np.inf)
        beyond = np.full((len(score), 1), np.inf)
        steepest = 3 * np.minimum(np.append(secant, beyond, axis=1), np.append(beyond, secant, axis=1))
        self._score, self._value, self._slope = score, value, np.minimum(slope, steepest)

    def value(self, score: FloatArray) -> FloatArray:
        """Return the values at normal scores of shape ``(k, m)``."""
        inside = np.clip(score, self._score[:, :1], self._score[:, -1:])
        beyond = score - inside
        cubic = _Cubic(self._score, self._value, self._slope, _cells(self._score, inside))
        return cubic.value((inside - cubic.start) / cubic.width) + self._end_slopes(beyond) * beyond

    def score(self, value: FloatArray) -> FloatArray:
        """Return the normal scores at values of shape ``(k, m)``, the inverse of `value`."""
        inside = np.clip(value, self._value[:, :1], self._value[:, -1:])
        cubic = _Cubic(self._score, self._value, self._slope, _cells(self._value, inside))
        low, high = np.zeros_like(inside), np.ones_like(inside)
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            above = cubic.value(middle) > inside
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        beyond = value - inside
        # A flat end is an end of the support: nothing lies beyond it, and `cdf` overrides what is said here.
        return cubic.start + low * cubic.width + beyond / np.maximum(self._end_slopes(beyond), 1e-3)

    def _end_slopes(self, beyond: FloatArray) -> FloatArray:
        return np.asarray(np.where(beyond < 0, self._slope[:, :1], self._slope[:, -1:]))


class _Cubic:
    """The cubics of Hermite in some cells of curves, as functions of the share of the cell that is passed."""

    def __init__(self, score: FloatArray, value: FloatArray, slope: FloatArray, cell: IntArray) -> None:
        def at(nodes: FloatArray, which: IntArray) -> FloatArray:
            return np.take_along_axis(nodes, which, axis=1)

        self.start = at(score, cell)
        # Where nodes are repeated the cell has no width, and any will do.
        width = at(score, cell + 1) - self.start
        self.width = np.where(width > 0, width, 1.0)
        self._constant = at(value, cell)
        rise = at(value, cell + 1) - self._constant
        self._linear = at(slope, cell) * self.width
        last = at(slope, cell + 1) * self.width
        self._square, self._cube = 3 * rise - 2 * self._linear - last, self._linear + last - 2 * rise

    def value(self, share: FloatArray) -> FloatArray:
        """Return the values after shares in [0, 1] of the cells."""
        return self._constant + share * (self._linear + share * (self._square + share * self._cube))


def _cells(nodes: FloatArray, x: FloatArray) -> IntArray:
    """Return in which cell between `nodes`, shape ``(k, nodes)``, each `x` lies, shape ``(k, m)``."""
    following = np.array([np.searchsorted(row, each, side="right") for row, each in zip(nodes, x, strict=True)])
    return np.asarray(np.clip(following - 1, 0, nodes.shape[1] - 2))


@dataclass(frozen=True)
class _Populations:
    """All populations in one array, so that many small strata cost no more than one large sample.

    Attributes
    ----------
    number
        Draws from each population, shape ``(m,)``.
    sizes
        Nodes of each population, shape ``(m,)``.
    nodes
        The values of each output, of mean zero in each population, shape ``(k, sum(sizes))``.
    probabilities
        Their probabilities, the same for all outputs, shape ``(sum(sizes),)``.
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
        """Return the largest node of each population, shape ``(k, m)``."""
        return np.maximum.reduceat(self.nodes, self.starts, axis=1)

    @cached_property
    def farthest(self) -> float:
        """Return the t from which on only values tied with the largest have weight: e**-50 for the others."""
        return float(50 * self.number.max() / _TIE)

    @cached_property
    def edge(self) -> FloatArray:
        """Return the limit of r at the upper end of the support, shape ``(k,)``: every draw gives the largest value."""
        is_largest = self.nodes >= self.of_each(self.tops - _TIE / self.number)
        log_share = np.log(self.means(is_largest.astype(np.float64))) @ self.number
        return np.asarray(np.sqrt(np.maximum(-2 * log_share, 0.0)))

    def with_reflection(self) -> _Populations:
        """Return the populations of every output, and after them the same with the opposite sign."""
        return replace(self, nodes=np.concatenate([self.nodes, -self.nodes]))

    def of(self, outputs: IntArray) -> _Populations:
        """Return the populations of some outputs, with what is known of them."""
        part = replace(self, nodes=self.nodes[outputs])
        vars(part).update(starts=self.starts, tops=self.tops[outputs])
        return part

    def of_each(self, quantity: FloatArray) -> FloatArray:
        """Return a quantity of each population at each of its nodes; one alone is broadcast."""
        return quantity if len(self.sizes) == 1 else np.repeat(quantity, self.sizes, axis=1)

    def means(self, quantity: FloatArray) -> FloatArray:
        """Return the mean over each population of a quantity of the nodes, shape ``(k, m)``."""
        return self.sums(self.probabilities * quantity)

    def sums(self, quantity: FloatArray) -> FloatArray:
        """Return the sum over each population of a quantity of the nodes, shape ``(k, m)``."""
        return np.add.reduceat(quantity, self.starts, axis=1)

    def tilted(self, t: FloatArray) -> FloatArray:
        """Return t K' - K, and the first three derivatives of K, at t > 0 of shape ``(k,)``: shape ``(4, k)``.

        The first is the divergence of the tilted law from the law itself. As a mean under the tilted law it keeps its
        digits where t K' and K are large and nearly equal.
        """
        t = t[:, np.newaxis]
        # The mean of exp(tv) is 1 + O(1 / number), and log(1 + .) must not see the rounded sum: hence expm1 and
        # log1p, and values counted from the largest one only where the exponential is far from 1.
        origin = np.where(t * self.tops > _LARGEST_EXPONENT, self.tops, 0.0)
        exponent = t * (self.nodes - self.of_each(origin))
        tilt = np.expm1(exponent)
        mean = self.means(tilt)
        # Most of the time goes here, and half of that would be for memory if each product had its own.
        log_tilt = np.subtract(exponent, self.of_each(np.log1p(mean)), out=exponent)
        tilt += 1
        tilt *= self.probabilities
        tilt *= self.of_each(1 / (1 + mean))
        divergence = self.sums(np.multiply(log_tilt, tilt, out=log_tilt))
        first = self.sums(tilt * self.nodes)
        deviation = np.subtract(self.nodes, self.of_each(first), out=exponent)
        tilt *= deviation
        tilt *= deviation
        second = self.sums(tilt)
        tilt *= deviation
        return np.stack([divergence, first, second, self.sums(tilt)]) @ self.number


def _populations(draws: Sequence[Draws], scale: FloatArray) -> _Populations:
    """Return the populations of the draws, centred and divided by the `scale` of each output."""
    condensed = [_condensed(_centred(_rows(part)) / scale[:, np.newaxis]) for part in draws]
    nodes, probabilities = zip(*condensed, strict=True)
    return _Populations(
        np.array([part.number for part in draws], dtype=np.float64),
        np.array([len(each) for each in probabilities]),
        np.concatenate(nodes, axis=1),
        np.concatenate(probabilities),
    )


def _rows(part: Draws) -> FloatArray:
    """Return the values with one row to an output, shape ``(k, size)``."""
    return np.ascontiguousarray(part.values.reshape(len(part.values), -1).T)


def _centred(values: FloatArray) -> FloatArray:
    """Return the rows less their mean, shape ``(k, size)``: exactly zero where the values of one are all the same."""
    varies = values.min(axis=1) != values.max(axis=1)
    return np.asarray(varies[:, np.newaxis] * (values - values.mean(axis=1, keepdims=True)))


def _condensed(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return nodes and probabilities: a large population becomes some thousand nodes of the same mean and variance.

    The values at both ends stay; the others are sorted into blocks, and two nodes at the block's mean plus and minus
    its standard deviation stand for each.
    """
    k, size = values.shape
    if size <= _LARGEST_POPULATION:
        return values, np.full(size, 1 / size)
    ordered = np.sort(values, axis=1)
    length = (size - 2 * _TAIL) // _BLOCKS
    stop = _TAIL + length * _BLOCKS
    blocks = ordered[:, _TAIL:stop].reshape(k, _BLOCKS, length)
    middle, spread = blocks.mean(axis=2), blocks.std(axis=2)
    nodes = np.concatenate([ordered[:, :_TAIL], middle - spread, middle + spread, ordered[:, stop:]], axis=1)
    shares = np.repeat([1.0, length / 2, 1.0], [_TAIL, 2 * _BLOCKS, size - stop])
    return nodes, shares / size


class _Branches(NamedTuple):
    """The upper halves of the curves, shape ``(k, nodes)``: r*, x and dx / dr* at increasing t from 0 on."""

    score: FloatArray
    value: FloatArray
    slope: FloatArray


def _branches(populations: _Populations) -> _Branches:
    """Return the curves for t >= 0, up to `_REACH` or to the end of the support, where t is infinite and they are flat.

    A curve with fewer nodes than others repeats its last one.
    """
    output, (t, r, x, second, third) = _saddlepoints(populations)
    at_mean, growth_at_mean = _limits_at_the_mean(populations)
    zero = np.zeros_like(at_mean)

    def nodes(first: FloatArray, others: FloatArray) -> FloatArray:
        return _by_row(np.append(np.arange(len(first)), output), np.append(first, others))

    correction = nodes(at_mean, np.log(t * np.sqrt(second) / r) / r)
    growth = nodes(growth_at_mean, _score_growth(t, r, second, third))
    r, x, slope = nodes(zero, r), nodes(zero, x), nodes(zero + 1, r / t)
    correction, growth = _frozen(r, correction, growth)
    score, slope = r + correction, slope / np.maximum(growth, _SMALLEST_SLOPE)
    ends = populations.edge <= _REACH
    return _Branches(
        _with_last(score, np.where(ends, populations.edge + correction[:, -1], score[:, -1])),
        _with_last(x, np.where(ends, populations.tops @ populations.number, x[:, -1])),
        _with_last(slope, np.where(ends, 0.0, slope[:, -1])),
    )


def _by_row(row: IntArray, values: FloatArray) -> FloatArray:
    """Return the values of each row in their order, shape ``(rows, most of one)``; short rows repeat their last one."""
    counts = np.bincount(row)
    order = np.argsort(row, kind="stable")
    starts = np.cumsum(counts) - counts
    place = np.minimum(np.arange(counts.max()), counts[:, np.newaxis] - 1)
    return np.asarray(values[order[starts[:, np.newaxis] + place]])


def _with_last(values: FloatArray, last: FloatArray) -> FloatArray:
    return np.append(values, last[:, np.newaxis], axis=1)


def _frozen(r: FloatArray, correction: FloatArray, growth: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the correction of r and dr* / dr, held constant from where r* would hardly grow or turn back."""
    slow = np.zeros(r.shape, dtype=bool)
    slow[:, :-1] = np.diff(r + correction) < _SMALLEST_SLOPE * np.diff(r)
    beyond = np.logical_or.accumulate(slow, axis=1)
    held = np.take_along_axis(correction, slow.argmax(axis=1)[:, np.newaxis], axis=1)
    return np.where(beyond, held, correction), np.where(beyond, 1.0, growth)


def _score_growth(t: FloatArray, r: FloatArray, second: FloatArray, third: FloatArray) -> FloatArray:
    """Return dr* / dr, from dr / dt = t K'' / r and the derivative of log(v / r) / r."""
    rate = t * second / r
    correction = np.log(t * np.sqrt(second) / r) / r
    log_ratio_rate = 1 / t + third / (2 * second) - rate / r
    return 1 + (log_ratio_rate / rate - correction) / r


def _limits_at_the_mean(populations: _Populations) -> tuple[FloatArray, FloatArray]:
    r"""Return the limits of r* and of dr* / dr as t tends to 0, each of shape ``(k,)``.

    With the standardised cumulants :math:`\kappa_3, \kappa_4` they are :math:`\kappa_3 / 6` and
    :math:`1 + \kappa_4 / 8 - 7 \kappa_3^2 / 36`, where the formula itself is 0 / 0.
    """
    square = populations.nodes**2
    third = populations.means(square * populations.nodes) @ populations.number
    excess = populations.means(square**2) - 3 * populations.means(square) ** 2
    return third / 6, 1 + excess @ populations.number / 8 - 7 * third**2 / 36


def _saddlepoints(populations: _Populations) -> tuple[IntArray, FloatArray]:
    """Return outputs, shape ``(m,)``, and t, r and the first three derivatives of K at t > 0, shape ``(5, m)``.

    All outputs march along t together, each with its own steps, about equally spaced in r. Those of one output are in
    increasing order.
    """
    edge = populations.edge
    march = _March(edge, np.minimum(edge - _EDGE_GAP, _REACH), populations.farthest)
    outputs, numbers = [march.going[:0]], [np.empty((5, 0))]
    while len(march.going):
        going, t = march.going, march.next
        divergence, first, second, third = _tilted(populations, going, t)
        r = np.sqrt(np.maximum(2 * divergence, 0.0))
        new = march.arrived(r, second)
        outputs.append(going[new])
        numbers.append(np.stack([t, r, first, second, third])[:, new])
    return np.concatenate(outputs), np.concatenate(numbers, axis=1)


def _tilted(populations: _Populations, outputs: IntArray, t: FloatArray) -> FloatArray:
    """Return what `tilted` returns for some outputs, by a few at a time so that what is between stays in the cache."""
    few = max(1, _IN_CACHE // populations.nodes.shape[1])
    pieces = [slice(start, start + few) for start in range(0, len(outputs), few)]
    return np.concatenate([populations.of(outputs[piece]).tilted(t[piece]) for piece in pieces], axis=1)


def _spacing(r: FloatArray) -> FloatArray:
    """Return the distance to the next node: `_SPACING` where quantiles are usually asked for, and more beyond."""
    return np.asarray(_SPACING * np.maximum(1.0, r / 3) ** 2)


class _March:
    """Where on the way along t every output is.

    Parameters
    ----------
    edge
        The limit of r, shape ``(k,)``.
    stop
        The r at which it ends, shape ``(k,)``.
    farthest
        The t at which it ends.
    """

    def __init__(self, edge: FloatArray, stop: FloatArray, farthest: float) -> None:
        self.edge, self.stop, self.farthest = edge, stop, farthest
        self.t, self.r = np.zeros_like(edge), np.zeros_like(edge)
        self.step = self._wanted(np.ones_like(edge), slice(None))
        self.going = np.flatnonzero(stop > 0)

    @property
    def next(self) -> FloatArray:
        """Return the t to try next, for those that are still going."""
        return np.asarray(self.t[self.going] + self.step[self.going])

    def arrived(self, r: FloatArray, second: FloatArray) -> BoolArray:
        """Take the r and K'' that were found at `next`, and return which are nodes: neither too far on nor too near."""
        going, t = self.going, self.next
        far = r - self.r[going] > 2 * _spacing(self.r[going])
        new = ~far & (self.r[going] + _CLOSEST < r) & (r < self.edge[going])
        self.t[going[~far]] = t[~far]
        self.r[going[new]] = r[new]
        rate = np.maximum(t * second / np.maximum(r, _CLOSEST), 1e-300)
        self.step[going] = np.where(far, self.step[going] / 2, self._wanted(rate, going))
        self.going = going[(self.r[going] < self.stop[going]) & (self.t[going] < self.farthest)]
        return new

    def _wanted(self, rate: FloatArray, outputs: IntArray | slice) -> FloatArray:
        """Return the steps in t that a growth dr / dt of `rate` asks for."""
        wanted = np.minimum(_spacing(self.r[outputs]), (self.edge[outputs] - self.r[outputs]) / 2)
        # At most doubling t bounds the step where r hardly moves, between two clusters of values.
        return np.asarray(np.minimum(wanted / rate, np.maximum(self.t[outputs], _SPACING)))
