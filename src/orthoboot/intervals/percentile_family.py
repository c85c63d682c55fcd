"""Percentile, basic and BCa intervals, from many replicates or from few and the exact law of the linear part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from orthoboot.errors import ArgumentError, FewReplicatesWarning, IntervalWarning, OrthobootWarning
from orthoboot.estimators import Estimator, jackknife_spread, student_factor
from orthoboot.estimators.estimation import Estimation
from orthoboot.functionals import Functional
from orthoboot.intervals.base import Ends, Exclusion, Interval, Probabilities
from orthoboot.intervals.inversion import EndFunction, excluding_tail
from orthoboot.intervals.laws.control import LEAST_REPLICATES, ControlDistribution
from orthoboot.intervals.laws.replicated import (
    Distribution,
    EmpiricalDistribution,
    bca_levels,
    bca_score_noise,
    rank_errors,
    same_levels,
    share_noise,
)
from orthoboot.intervals.laws.saddlepoint import GRID
from orthoboot.intervals.laws.views import View, linear_draws, views_of
from orthoboot.intervals.scale import NaturalScale, natural_scale
from orthoboot.plans import Draws, Plan
from orthoboot.replicates import Replicates
from orthoboot.typing import BoolArray, FloatArray, IntArray

LEAST_STANDARD = 200
"""Fewer ordinary replicates leave the tails to chance."""

_GROUPS = 20
"""Groups of replicates that are left out in turn to learn the simulation error of an end."""

_SMALLEST_TAIL = 1e-15
"""Tails below this are lost to rounding in 1 - p."""

_AT_ONCE = 2**18
"""The largest array, in numbers: many outputs and groups are taken in pieces of this size."""


class _Piece(NamedTuple):
    """The ends of some outputs, and how far their distributions reach.

    Attributes
    ----------
    levels, ends, errors
        Each of shape ``(2, k)``.
    is_edge
        Whether the linear part has no value beyond the one at a level, shape ``(2, k)``.
    follows_linear
        Whether the tails are those of the linear part, and not of so many replicates, shape ``(k,)``.
    """

    levels: FloatArray
    ends: FloatArray
    errors: FloatArray
    is_edge: BoolArray
    follows_linear: BoolArray


class PercentileFamily(Interval):
    """An interval from the quantiles of phi over resamples.

    Without an influence function in the estimator they are the quantiles of the replicates; with one they are control
    quantiles, as in R's ``boot::control``: those of the linear part by its saddlepoint approximation, carried to phi
    through the residuals of the replicates. From a thousand replicates on, those of a statistic with a kink, those that
    their control does not explain, and those that contradict the law by it have their own quantiles.
    """

    needs_linear_law = True
    respects_range = True
    """Whether an interval on another scale, brought back, is the interval."""

    def least_resamples(self, estimator: Estimator) -> int:
        """Return how many replicates the tails need: many ordinary ones, or a few with an influence function."""
        return LEAST_REPLICATES if estimator.needs_influence else LEAST_STANDARD

    def check(self, functional: Functional, plan: Plan, estimator: Estimator) -> None:
        """Raise if there is nothing to take quantiles of."""
        if not estimator.simulates:
            raise ArgumentError(
                f"method={self.name!r} needs replicates, and estimator={estimator.name!r} simulates none. Use "
                'method="abc", or estimator="orthogonal".'
            )
        if estimator.needs_influence and not plan.has_draws:
            raise ArgumentError(
                f"method={self.name!r} under estimator={estimator.name!r} needs the exact law of the linear part, "
                'which stationary blocks do not have. Use block_kind="circular", or estimator="standard".'
            )

    def levels(
        self, distribution: Distribution, estimate: FloatArray, skewness: FloatArray, probabilities: ArrayLike
    ) -> FloatArray:
        """Return the levels of the quantiles that the ends are made of, shape ``(2, *shape)`` for two."""
        return same_levels(distribution, probabilities)

    def from_quantiles(self, quantiles: FloatArray, estimate: FloatArray) -> FloatArray:
        """Return the ends, of the same shape as the quantiles at `levels`."""
        return quantiles

    def skewness(self, estimation: Estimation) -> FloatArray:
        """Return what the method needs of the linear part's skewness, shape ``(k,)``."""
        return np.zeros_like(estimation.estimate)

    def ends(self, estimation: Estimation, probabilities: Probabilities) -> Ends:
        """Return the ends of every output.

        Their errors come from the ranks of the replicates' own quantiles; from leaving out groups of replicates in turn
        where a control has a part in them.
        """
        size, least = len(estimation.replicates), LEAST_REPLICATES if estimation.estimator.needs_influence else 2
        if size < least:
            unknown = np.full_like(estimation.estimate, np.nan)
            return Ends(unknown, unknown, unknown, unknown, (too_few(self.name, size),))
        # Of quantiles of the replicates alone it is known from their ranks, however few they are.
        known = not estimation.estimator.needs_influence or size - -(-size // _n_groups(size)) >= least
        draws, skewness = linear_draws(estimation), self.skewness(estimation)
        pieces = [
            self._of_some(estimation, outputs, draws, skewness, probabilities, with_errors=known)
            for outputs in _few_outputs(estimation)
        ]
        ends = np.concatenate([piece.ends for piece in pieces], axis=1)
        errors = np.concatenate([piece.errors for piece in pieces], axis=1)
        still = (estimation.replicates.values == estimation.estimate).all(axis=0) & (estimation.standard_error == 0)
        ends, errors = np.where(still, estimation.estimate, ends), np.where(still, 0.0, errors)
        if probabilities[0] <= probabilities[1]:
            ends = _in_order(ends)
        without_error = [] if known else [_unknown_error(size, least)]
        (low, high), (low_error, high_error) = ends, errors
        return Ends(low, high, low_error, high_error, (*_told(self.name, estimation, pieces), *without_error))

    def exclusion(self, estimation: Estimation, null: FloatArray, above: BoolArray) -> Exclusion:
        """Return the smallest tail with which an end excludes `null`, of those that the distribution reaches."""
        return excluding_tail(self._end_function(estimation), estimation, null, above)

    def _end_function(self, estimation: Estimation) -> EndFunction:
        """Return the ends of all outputs as a function of their probabilities, without simulation errors."""
        least = LEAST_REPLICATES if estimation.estimator.needs_influence else 2
        if len(estimation.replicates) < least:
            return lambda probabilities: np.full_like(probabilities, np.nan)
        draws, skewness = linear_draws(estimation), self.skewness(estimation)
        pieces = [
            (outputs, self._end_of_some(estimation, outputs, draws, skewness[outputs]))
            for outputs in _few_outputs(estimation)
        ]
        return lambda probabilities: np.concatenate([end(probabilities[outputs]) for outputs, end in pieces])

    def _end_of_some(
        self, estimation: Estimation, outputs: slice, draws: Sequence[Draws] | None, skewness: FloatArray
    ) -> EndFunction:
        views, which = views_of(estimation, outputs, draws)
        ends = [self._end_of_view(estimation, outputs, view, skewness) for view in views]
        return lambda probabilities: np.choose(which, [end(probabilities) for end in ends])

    def _end_of_view(
        self, estimation: Estimation, outputs: slice, view: View | None, skewness: FloatArray
    ) -> EndFunction:
        """Return the ends from the law of one control, or from the replicates alone; NaN beyond what it reaches."""
        replicates, estimate = estimation.replicates, estimation.replicates.estimate[outputs]
        distribution = _distribution(replicates, outputs, view)
        in_sight = _Reach(len(replicates), view, distribution)

        def end(probabilities: FloatArray) -> FloatArray:
            levels = self.levels(distribution, estimate, skewness, probabilities[np.newaxis, np.newaxis])
            ends = self.from_quantiles(distribution.quantile(levels), estimate)[0, 0]
            return np.where(in_sight.holds(levels[0, 0]), ends, np.nan)

        return end

    def _of_some(
        self,
        estimation: Estimation,
        outputs: slice,
        draws: Sequence[Draws] | None,
        skewness: FloatArray,
        probabilities: Probabilities,
        *,
        with_errors: bool,
    ) -> _Piece:
        """Return the ends of some outputs; their errors are NaN unless asked for."""
        views, which = views_of(estimation, outputs, draws)
        pieces = [self._within(estimation, outputs, view, skewness, probabilities, with_errors) for view in views]
        return pieces[0] if len(pieces) == 1 else _by_output(pieces, which)

    def _within(
        self,
        estimation: Estimation,
        outputs: slice,
        view: View | None,
        skewness: FloatArray,
        probabilities: Probabilities,
        with_errors: bool,
    ) -> _Piece:
        """Return the ends of some outputs; those that leave the range of the statistic on its natural scale.

        Few replicates and the law of their control know nothing of limits. The plain scale comes first, since the
        tails of a variance, say, are known better on it.
        """
        scale = natural_scale(estimation).some(outputs)
        arguments = (estimation, outputs, view, skewness[outputs], probabilities, with_errors)
        plain = self._of_view(*arguments, None)
        outside = scale.is_curved & ((plain.ends < scale.low) | (plain.ends > scale.high))
        if view is None or not self.respects_range or not outside.any():
            return plain
        natural = self._of_view(*arguments, scale)
        ends, errors = np.where(outside, natural.ends, plain.ends), np.where(outside, natural.errors, plain.errors)
        return plain._replace(ends=ends, errors=errors)

    def _of_view(
        self,
        estimation: Estimation,
        outputs: slice,
        view: View | None,
        skewness: FloatArray,
        probabilities: Probabilities,
        with_errors: bool,
        scale: NaturalScale | None,
    ) -> _Piece:
        """Return the ends of some outputs from the law of one control, or from the replicates alone."""
        estimate = estimation.replicates.estimate[outputs]

        def of(distribution: Distribution) -> tuple[FloatArray, FloatArray]:
            """Return levels and ends, each of shape ``(2, sets, k)``."""
            levels = self.levels(distribution, estimate, skewness, probabilities)
            quantiles = distribution.quantile(levels)
            return levels, self.from_quantiles(quantiles if scale is None else scale.back(quantiles), estimate)

        def spread(others: Iterable[Distribution]) -> FloatArray:
            left = np.concatenate([of(other)[1] for other in others], axis=1).swapaxes(0, 1)
            return student_factor(len(left)) * jackknife_spread(left)

        replicates = estimation.replicates if scale is None else _rescaled(estimation.replicates, outputs, scale)
        whole = _distribution(replicates, outputs, view)
        levels, ends = (each[:, 0] for each in of(whole))
        errors = np.full_like(ends, np.nan)
        if view is None or not isinstance(whole, ControlDistribution):
            if with_errors:
                errors = self._rank_errors(whole, levels, estimate, skewness, len(replicates))
            return _Piece(levels, ends, errors, np.zeros_like(levels, dtype=bool), np.zeros_like(estimate, dtype=bool))
        if with_errors:
            errors = spread(_of_sets(replicates, outputs, view, some) for some in _without_groups(len(replicates)))
        if with_errors and view.without_draws:
            others = (_of_replicates(replicates, outputs, other) for other in view.without_draws)
            errors = np.hypot(errors, spread(others))
        return _Piece(levels, ends, errors, view.law.is_edge(levels), whole.follows_linear[0])

    def _rank_errors(
        self, distribution: Distribution, levels: FloatArray, estimate: FloatArray, skewness: FloatArray, size: int
    ) -> FloatArray:
        """Return the errors of ends that are made of sample quantiles at `levels`, ``(2, k)``."""
        return rank_errors(
            lambda moved: self.from_quantiles(distribution.quantile(moved[..., np.newaxis, :]), estimate)[..., 0, :],
            levels,
            self.score_noise(distribution, estimate, skewness, levels, size),
            size,
        )

    def score_noise(
        self, distribution: Distribution, estimate: FloatArray, skewness: FloatArray, levels: FloatArray, size: int
    ) -> FloatArray:
        """Return the standard deviation of the normal scores of sample quantiles at `levels`, ``(2, k)``."""
        return share_noise(levels, size)


@dataclass(frozen=True, eq=False)
class _Reach:
    """Which levels a distribution reaches: those that `_told` does not warn of."""

    n_replicates: int
    view: View | None
    distribution: Distribution

    def holds(self, levels: FloatArray) -> BoolArray:
        """Return whether there are values beyond those at the levels, shape ``(k,)``."""
        tails = np.minimum(levels, 1 - levels)
        by_replicates = np.asarray(tails * (self.n_replicates + 1) >= 1)
        if self.view is None or not isinstance(self.distribution, ControlDistribution):
            return by_replicates
        by_law = (tails >= _SMALLEST_TAIL) & ~self.view.law.is_edge(levels)
        return np.where(self.distribution.follows_linear[0], by_law, by_replicates)


def _rescaled(replicates: Replicates, outputs: slice, scale: NaturalScale) -> Replicates:
    """Return the replicates with the values of some outputs on their natural scale."""
    values = replicates.values.copy()
    values[:, outputs] = scale.forward(values[:, outputs])
    return replace(replicates, values=values)


def _by_output(pieces: Sequence[_Piece], which: IntArray) -> _Piece:
    """Return for each output what one of the pieces says."""
    return _Piece(*(np.choose(which, each) for each in zip(*pieces, strict=True)))


def _of_replicates(replicates: Replicates, outputs: slice, view: View) -> ControlDistribution:
    """Return the distribution that all replicates give, shape ``(1, k)``."""
    return _of_sets(replicates, outputs, view, np.arange(len(replicates))[np.newaxis])


def _of_sets(replicates: Replicates, outputs: slice, view: View, numbers: IntArray) -> ControlDistribution:
    """Return the distributions for sets of replicates with `numbers` ``(sets, B)``, shape ``(sets, k)``."""
    estimate, values = replicates.estimate[outputs], replicates.values[numbers.T, outputs]
    return ControlDistribution(estimate, values, view.values[numbers.T], view.law, view.reach, view.prior)


def _distribution(replicates: Replicates, outputs: slice, view: View | None) -> Distribution:
    """Return the distribution of some outputs by a control, or of the replicates alone, shape ``(1, k)``."""
    if view is None:
        return EmpiricalDistribution(replicates.values[:, np.newaxis, outputs])
    return _of_replicates(replicates, outputs, view)


class Percentile(PercentileFamily):
    """The quantiles of phi over resamples."""

    name = "percentile"


class Basic(PercentileFamily):
    """The quantiles reflected at the estimate, ``2 phi_hat - quantile(1 - alphas)``: reverse percentiles."""

    name = "basic"
    respects_range = False

    def levels(
        self, distribution: Distribution, estimate: FloatArray, skewness: FloatArray, probabilities: ArrayLike
    ) -> FloatArray:
        """Return the probabilities of the other side."""
        return 1 - same_levels(distribution, probabilities)

    def from_quantiles(self, quantiles: FloatArray, estimate: FloatArray) -> FloatArray:
        """Return twice the estimate less the quantiles of the other side."""
        return np.asarray(2 * estimate - quantiles)


class Bca(PercentileFamily):
    """The quantiles at levels corrected for bias and skewness (Efron 1987)."""

    name = "bca"
    needs_influence = True

    def check(self, functional: Functional, plan: Plan, estimator: Estimator) -> None:
        """Raise unless the rows, strata or groups are drawn independently: the acceleration is theirs."""
        if not plan.has_tilt:
            raise ArgumentError('method="bca" is not valid for blocks of dependent rows. Use method="percentile".')
        super().check(functional, plan, estimator)

    def skewness(self, estimation: Estimation) -> FloatArray:
        """Return the acceleration."""
        return estimation.run.acceleration

    def levels(
        self, distribution: Distribution, estimate: FloatArray, skewness: FloatArray, probabilities: ArrayLike
    ) -> FloatArray:
        """Return the corrected levels."""
        return bca_levels(distribution, estimate, skewness, probabilities)

    def score_noise(
        self, distribution: Distribution, estimate: FloatArray, skewness: FloatArray, levels: FloatArray, size: int
    ) -> FloatArray:
        """Return the standard deviation of the normal scores, of which z_0 has a part, ``(2, k)``."""
        return bca_score_noise(distribution, estimate, skewness, levels, size)


def _n_groups(size: int) -> int:
    """Return how many groups so many replicates make."""
    return min(size, _GROUPS)


def _few_outputs(estimation: Estimation) -> list[slice]:
    """Return slices of the outputs, each so small that its arrays over groups and replicates stay within the limit."""
    few = max(1, _AT_ONCE // (_GROUPS * max(len(estimation.replicates), len(GRID))))
    return [slice(start, start + few) for start in range(0, len(estimation.estimate), few)]


def _without_groups(size: int) -> list[IntArray]:
    """Return the numbers of the replicates without each of about twenty groups in turn.

    Those that leave as many come together, shape ``(groups, B)``, unless they are so many that memory would suffer.
    """
    number = _n_groups(size)
    group = np.arange(size) % number
    longer = size % number
    few = max(1, _AT_ONCE // size)
    starts = [*range(0, longer, few), *range(longer, number, few), number]
    return [
        np.array([np.flatnonzero(group != each) for each in range(start, stop)]) for start, stop in pairwise(starts)
    ]


def _in_order(ends: FloatArray) -> FloatArray:
    """Return the ends, shape ``(2, k)``, in order: where both are the same step of a law, rounding exchanges them."""
    return np.where(ends[0] > ends[1], ends[::-1], ends)


def too_few(method: str, n_resamples: int) -> OrthobootWarning:
    """Return the warning that there is no interval from so few replicates."""
    return IntervalWarning(
        f'method="{method}" has no interval from the {n_resamples} replicates that are left. `extend` the result, or '
        'use method="normal".'
    )


def _unknown_error(n_resamples: int, least: int) -> OrthobootWarning:
    """Return the warning that without a group there would be fewer than the least number of replicates."""
    return FewReplicatesWarning(
        f"the simulation error of the ends is not known with {n_resamples} replicates; use {least + 1} or more."
    )


def _told(method: str, estimation: Estimation, pieces: Sequence[_Piece]) -> list[OrthobootWarning]:
    """Return a warning where an end lies farther out than the distribution reaches."""
    size, names = len(estimation.replicates), estimation.run.output.names
    levels = np.concatenate([piece.levels for piece in pieces], axis=1)
    is_edge = np.concatenate([piece.is_edge for piece in pieces], axis=1)
    follows = np.concatenate([piece.follows_linear for piece in pieces])
    tails = np.minimum(levels, 1 - levels).min(axis=0)
    extremes = ~follows & (tails * (size + 1) < 1) & (estimation.standard_error > 0)
    if extremes.any():
        worst = int(np.argmin(np.where(extremes, tails, np.inf)))
        return [_extremes(method, names[worst], float(tails[worst]), estimation)]
    beyond = follows & (tails < _SMALLEST_TAIL)
    if beyond.any():
        worst = int(np.argmin(np.where(beyond, tails, np.inf)))
        return [_beyond_numbers(method, names[worst], float(tails[worst]))]
    at_edge = is_edge.any(axis=0) & follows
    if at_edge.any():
        return [_edge(method, names[int(np.argmax(at_edge))], estimation)]
    return []


def _edge(method: str, name: str, estimation: Estimation) -> OrthobootWarning:
    smallest = min(estimation.run.plan.schemes, key=lambda scheme: scheme.n_units)
    return IntervalWarning(
        f'method="{method}" asks for an end of `{name}` beyond all resamples of {smallest.n_units} {smallest.unit}, so '
        'the end is the most extreme of these. Use a lower confidence_level, or method="normal".'
    )


def _beyond_numbers(method: str, name: str, tail: float) -> OrthobootWarning:
    return IntervalWarning(
        f'method="{method}" needs a tail probability of {tail:.1g} for `{name}`, less than floating-point numbers '
        'resolve, so its interval is shorter than asked for. Use a lower confidence_level, or method="normal".'
    )


def _extremes(method: str, name: str, tail: float, estimation: Estimation) -> OrthobootWarning:
    needed = replicates_for(tail)
    advice = (
        f'which do not follow the law of their linear part. Use estimator="standard" with {needed}'
        if estimation.estimator.needs_influence
        else f'so the end is the most extreme one. Use {needed}, estimator="orthogonal"'
    )
    return too_small_a_tail(method, name, tail, len(estimation.replicates), advice)


def replicates_for(tail: float) -> str:
    """Return in words how many ordinary replicates show a tail."""
    return f"about {round(1 / tail):,} replicates" if tail > _SMALLEST_TAIL else "more replicates"


def too_small_a_tail(method: str, name: str, tail: float, size: int, advice: str) -> OrthobootWarning:
    """Return the warning that an end lies farther out than `size` replicates show."""
    return IntervalWarning(
        f'method="{method}" needs a tail probability of {tail:.2g} for `{name}`, too small for {size:,} replicates, '
        f'{advice}, or method="normal".'
    )
