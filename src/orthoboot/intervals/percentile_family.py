"""Percentile, basic and BCa intervals, from many replicates or from few and the exact law of the linear part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from orthoboot.errors import ArgumentError, FewReplicatesWarning, IntervalWarning, OrthobootWarning
from orthoboot.estimators import Estimator, jackknife_spread
from orthoboot.estimators.estimation import Estimation
from orthoboot.functionals import Functional
from orthoboot.intervals.base import Ends, Interval, Probabilities
from orthoboot.intervals.control import LEAST_REPLICATES, ControlDistribution
from orthoboot.intervals.linear import acceleration
from orthoboot.intervals.percentile import (
    Distribution,
    DistributionsWithoutGroups,
    EmpiricalDistribution,
    bca_levels,
    same_levels,
)
from orthoboot.intervals.saddlepoint import GRID, LinearDistribution
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
    through the residuals of the replicates.
    """

    needs_linear_law = True

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
        self, distribution: Distribution, estimate: FloatArray, skewness: FloatArray, probabilities: Probabilities
    ) -> FloatArray:
        """Return the levels of the quantiles that the two ends are made of, shape ``(2, *shape)``."""
        return same_levels(distribution, probabilities)

    def from_quantiles(self, quantiles: FloatArray, estimate: FloatArray) -> FloatArray:
        """Return the ends, of the same shape as the quantiles at `levels`."""
        return quantiles

    def skewness(self, estimation: Estimation) -> FloatArray:
        """Return what the method needs of the linear part's skewness, shape ``(k,)``."""
        return np.zeros_like(estimation.estimate)

    def ends(self, estimation: Estimation, probabilities: Probabilities) -> Ends:
        """Return the ends of every output; their errors by leaving out groups of replicates in turn."""
        size, least = len(estimation.replicates), LEAST_REPLICATES if estimation.estimator.needs_influence else 2
        if size < least:
            unknown = np.full_like(estimation.estimate, np.nan)
            return Ends(unknown, unknown, unknown, unknown, (_too_few(self.name, size),))
        known = size - -(-size // _n_groups(size)) >= least
        draws, skewness = _draws(estimation), self.skewness(estimation)
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
        unknown_error = [] if known else [_unknown_error(size, least)]
        (low, high), (low_error, high_error) = ends, errors
        return Ends(low, high, low_error, high_error, (*_told(self.name, estimation, pieces), *unknown_error))

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
        law = _linear_law(draws, outputs)
        estimate = estimation.replicates.estimate[outputs]

        def of(distribution: Distribution) -> tuple[FloatArray, FloatArray]:
            """Return levels and ends, each of shape ``(2, sets, k)``."""
            levels = self.levels(distribution, estimate, skewness[outputs], probabilities)
            return levels, self.from_quantiles(distribution.quantile(levels), estimate)

        first, others = _distributions(estimation.replicates, outputs, law)
        levels, ends = (each[:, 0] for each in of(first))
        errors = np.full_like(ends, np.nan)
        if with_errors:
            left = np.concatenate([of(other)[1] for other in others], axis=1)
            errors = jackknife_spread(left.swapaxes(0, 1))
        if law is None or not isinstance(first, ControlDistribution):
            return _Piece(levels, ends, errors, np.zeros_like(levels, dtype=bool), np.zeros_like(estimate, dtype=bool))
        return _Piece(levels, ends, errors, law.is_edge(levels), first.follows_linear[0])


def _distributions(
    replicates: Replicates, outputs: slice, law: LinearDistribution | None
) -> tuple[Distribution, Iterator[Distribution]]:
    """Return the distribution of all replicates, shape ``(1, k)``, and those without each group, ``(groups, k)``."""
    size, linear = len(replicates), replicates.linear
    values = replicates.values[:, outputs]
    if law is None or linear is None:
        without = DistributionsWithoutGroups(values, _n_groups(size))
        return EmpiricalDistribution(values[:, np.newaxis]), iter([without])
    estimate, known = replicates.estimate[outputs], law

    def of(numbers: IntArray) -> ControlDistribution:
        """Return the distributions for sets of replicates with `numbers` ``(sets, B)``."""
        return ControlDistribution(estimate, values[numbers.T], linear[numbers.T, outputs], known)

    return of(np.arange(size)[np.newaxis]), (of(numbers) for numbers in _without_groups(size))


class Percentile(PercentileFamily):
    """The quantiles of phi over resamples."""

    name = "percentile"


class Basic(PercentileFamily):
    """The quantiles reflected at the estimate, ``2 phi_hat - quantile(1 - alphas)``: reverse percentiles."""

    name = "basic"

    def levels(
        self, distribution: Distribution, estimate: FloatArray, skewness: FloatArray, probabilities: Probabilities
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
        assert estimation.run.influence is not None
        return acceleration(estimation.run.plan, estimation.run.influence)

    def levels(
        self, distribution: Distribution, estimate: FloatArray, skewness: FloatArray, probabilities: Probabilities
    ) -> FloatArray:
        """Return the corrected levels."""
        return bca_levels(distribution, estimate, skewness, probabilities)


def _draws(estimation: Estimation) -> Sequence[Draws] | None:
    """Return the draws that the linear part is the sum of, or None to use the replicates alone."""
    run = estimation.run
    if not estimation.estimator.needs_influence or run.influence is None:
        return None
    return run.plan.draws(run.influence)


def _linear_law(draws: Sequence[Draws] | None, outputs: slice) -> LinearDistribution | None:
    """Return the exact law of the linear part of some outputs, if there is one."""
    if draws is None:
        return None
    return LinearDistribution([Draws(part.number, part.values[:, outputs]) for part in draws])


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
    n_groups = _n_groups(size)
    group = np.arange(size) % n_groups
    longer = size % n_groups
    few = max(1, _AT_ONCE // size)
    starts = [*range(0, longer, few), *range(longer, n_groups, few), n_groups]
    return [
        np.array([np.flatnonzero(group != each) for each in range(start, stop)]) for start, stop in pairwise(starts)
    ]


def _in_order(ends: FloatArray) -> FloatArray:
    """Return the ends, shape ``(2, k)``, in order: where both are the same step of a law, rounding exchanges them."""
    return np.where(ends[0] > ends[1], ends[::-1], ends)


def _too_few(method: str, n_resamples: int) -> OrthobootWarning:
    return IntervalWarning(
        f'method="{method}" has no interval from the {n_resamples} replicates that are left. `extend` the result, or '
        'use method="normal".'
    )


def _unknown_error(n_resamples: int, least: int) -> OrthobootWarning:
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
    size, informed = len(estimation.replicates), estimation.estimator.needs_influence
    needed = f"about {round(1 / tail):,}" if tail > _SMALLEST_TAIL else "more"
    advice = (
        f'which do not follow its influence function. Use estimator="standard" with {needed} replicates'
        if informed
        else f'so the end is the most extreme one. Use {needed} replicates, estimator="orthogonal"'
    )
    return IntervalWarning(
        f'method="{method}" needs a tail probability of {tail:.2g} for `{name}`, too small for {size:,} replicates, '
        f'{advice}, or method="normal".'
    )
