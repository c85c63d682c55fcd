"""Percentile, basic and BCa intervals, from many replicates or from few and the exact law of the linear part."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from orthoboot.errors import ArgumentError, IntervalWarning, OrthobootWarning
from orthoboot.estimators import Estimator, jackknife_spread
from orthoboot.estimators.estimation import Estimation
from orthoboot.functionals import Functional
from orthoboot.intervals.base import Ends, Interval, Probabilities
from orthoboot.intervals.control import LEAST_REPLICATES, ControlDistribution
from orthoboot.intervals.linear import acceleration
from orthoboot.intervals.percentile import (
    Distribution,
    EmpiricalDistribution,
    basic_ends,
    bca_ends,
    percentile_ends,
)
from orthoboot.intervals.saddlepoint import LinearDistribution
from orthoboot.plans import Draws, Plan
from orthoboot.replicates import Replicates
from orthoboot.typing import FloatArray

LEAST_STANDARD = 200
"""Fewer ordinary replicates leave the tails to chance."""

_GROUPS = 20
"""Groups of replicates that are left out in turn to learn the simulation error of an end."""


class PercentileFamily(Interval):
    """An interval from the quantiles of phi over resamples.

    Without an influence function in the estimator they are the quantiles of the replicates; with one they are control
    quantiles, as in R's ``boot::control``: those of the linear part by its saddlepoint approximation, carried to phi
    through the residuals of the replicates.
    """

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

    @abstractmethod
    def output_ends(
        self, distribution: Distribution, estimate: float, skewness: float, probabilities: Probabilities
    ) -> FloatArray:
        """Return the two ends for one output, shape ``(2,)``."""

    def skewness(self, estimation: Estimation) -> FloatArray:
        """Return what the method needs of the linear part's skewness, shape ``(k,)``."""
        return np.zeros_like(estimation.estimate)

    def ends(self, estimation: Estimation, probabilities: Probabilities) -> Ends:
        """Return the ends of every output; their errors by leaving out groups of replicates in turn."""
        laws, skewness = _linear_laws(estimation), self.skewness(estimation)

        def of(replicates: Replicates) -> FloatArray:
            """Return both ends of every output, shape ``(2, k)``."""
            outputs = range(len(estimation.estimate))
            distributions = [_law(replicates, laws, j) for j in outputs]
            estimates = replicates.estimate.tolist()
            ends = [self.output_ends(distributions[j], estimates[j], skewness[j], probabilities) for j in outputs]
            return np.stack(ends, axis=1)

        least = 2 if laws is None else LEAST_REPLICATES
        unknown = np.full_like(estimation.estimate, np.nan)
        if len(estimation.replicates) < least:
            return Ends(unknown, unknown, unknown, unknown, (_too_few(self.name, len(estimation.replicates)),))
        low, high = of(estimation.replicates)
        groups = _without_groups(estimation.replicates)
        if min(len(group) for group in groups) < least:
            return Ends(low, high, unknown, unknown)
        low_error, high_error = jackknife_spread(np.array([of(group) for group in groups]))
        return Ends(low, high, low_error, high_error)


class Percentile(PercentileFamily):
    """The quantiles of phi over resamples."""

    name = "percentile"

    def output_ends(
        self, distribution: Distribution, estimate: float, skewness: float, probabilities: Probabilities
    ) -> FloatArray:
        """Return the quantiles at `probabilities`."""
        return percentile_ends(distribution, probabilities)


class Basic(PercentileFamily):
    """The quantiles reflected at the estimate."""

    name = "basic"

    def output_ends(
        self, distribution: Distribution, estimate: float, skewness: float, probabilities: Probabilities
    ) -> FloatArray:
        """Return twice the estimate less the quantiles of the other side."""
        return basic_ends(distribution, estimate, probabilities)


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

    def output_ends(
        self, distribution: Distribution, estimate: float, skewness: float, probabilities: Probabilities
    ) -> FloatArray:
        """Return the quantiles at corrected levels."""
        return bca_ends(distribution, estimate, skewness, probabilities)


def _linear_laws(estimation: Estimation) -> list[LinearDistribution] | None:
    """Return the exact law of the linear part of each output, or None to use the replicates alone."""
    run = estimation.run
    if not estimation.estimator.needs_influence or run.influence is None:
        return None
    draws = run.plan.draws(run.influence)
    assert draws is not None
    return [
        LinearDistribution([Draws(part.number, part.values[:, j]) for part in draws])
        for j in range(len(estimation.estimate))
    ]


def _without_groups(replicates: Replicates) -> list[Replicates]:
    """Return the replicates without each of about twenty groups in turn."""
    n_groups = min(len(replicates), _GROUPS)
    return [replicates.without_group(group, n_groups) for group in range(n_groups)]


def _too_few(method: str, n_resamples: int) -> OrthobootWarning:
    return IntervalWarning(
        f'method="{method}" has no interval from the {n_resamples} replicates that are left. `extend` the result, or '
        'use method="normal".'
    )


def _law(replicates: Replicates, laws: Sequence[LinearDistribution] | None, j: int) -> Distribution:
    if laws is None or replicates.linear is None:
        return EmpiricalDistribution(replicates.values[:, j])
    return ControlDistribution(float(replicates.estimate[j]), replicates.values[:, j], replicates.linear[:, j], laws[j])
