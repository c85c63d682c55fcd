"""Percentile, basic and BCa intervals, from many replicates or from few and the exact law of the linear part."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from orthoboot.errors import ArgumentError
from orthoboot.estimators import Estimator, jackknife_spread
from orthoboot.intervals.base import Evidence, Interval
from orthoboot.intervals.control import ControlDistribution
from orthoboot.intervals.linear import acceleration
from orthoboot.intervals.percentile import (
    Distribution,
    EmpiricalDistribution,
    basic_ends,
    bca_ends,
    percentile_ends,
)
from orthoboot.intervals.saddlepoint import LinearDistribution
from orthoboot.plans import Draws
from orthoboot.replicates import Replicates
from orthoboot.simulation import Simulation
from orthoboot.typing import FloatArray

LEAST_STANDARD = 200
LEAST_CONTROL = 5
_GROUPS = 20
"""Groups of replicates that are left out in turn to learn the simulation error of an end."""


class PercentileFamily(Interval):
    """An interval from the quantiles of phi over resamples.

    Without an influence function in the estimator they are the quantiles of the replicates; with one they are control
    quantiles, as in R's ``boot::control``: those of the linear part by its saddlepoint approximation, carried to phi
    through the residuals of the replicates.
    """

    def check(self, simulation: Simulation, estimator: Estimator, n_resamples: int) -> None:
        """Raise if there are too few replicates, or no exact law of the linear part."""
        if not estimator.needs_influence:
            self._check_enough(
                estimator, n_resamples, LEAST_STANDARD, 'Use estimator="orthogonal", or more replicates.'
            )
            return
        self._check_enough(estimator, n_resamples, LEAST_CONTROL, 'Use more replicates, or method="normal".')
        if simulation.influence is None or simulation.plan.draws(simulation.influence) is None:
            raise ArgumentError(
                f"method={self.name!r} under estimator={estimator.name!r} needs the exact law of the linear part, "
                'which stationary blocks do not have. Use block_kind="circular", or estimator="standard".'
            )

    def _check_enough(self, estimator: Estimator, n_resamples: int, least: int, advice: str) -> None:
        if n_resamples < least:
            raise ArgumentError(
                f"method={self.name!r} needs at least {least} replicates with estimator={estimator.name!r}; got "
                f"{n_resamples}. {advice}"
            )

    @abstractmethod
    def output_ends(
        self, distribution: Distribution, estimate: float, skewness: float, probabilities: tuple[float, float]
    ) -> FloatArray:
        """Return the two ends for one output, shape ``(2,)``."""

    def skewness(self, evidence: Evidence) -> FloatArray:
        """Return what the method needs of the linear part's skewness, shape ``(k,)``."""
        return np.zeros_like(evidence.estimate)

    def quantiles(self, evidence: Evidence, probabilities: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
        """Return the ends of every output."""
        ends = self._ends(evidence, _linear_laws(evidence), evidence.replicates, probabilities)
        return ends[0], ends[1]

    def errors(self, evidence: Evidence, probabilities: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
        """Return the simulation error of each end, by leaving out groups of replicates in turn."""
        laws = _linear_laws(evidence)
        n_groups = min(len(evidence.replicates), _GROUPS)
        least = LEAST_CONTROL if laws is not None else 2
        if len(evidence.replicates) - -(-len(evidence.replicates) // n_groups) < least:
            unknown = np.full_like(evidence.estimate, np.nan)
            return unknown, unknown
        kept = [evidence.replicates.without_group(group, n_groups) for group in range(n_groups)]
        ends = np.array([self._ends(evidence, laws, replicates, probabilities) for replicates in kept])
        return jackknife_spread(ends[:, 0]), jackknife_spread(ends[:, 1])

    def _ends(
        self,
        evidence: Evidence,
        laws: Sequence[LinearDistribution] | None,
        replicates: Replicates,
        probabilities: tuple[float, float],
    ) -> FloatArray:
        """Return both ends of every output, shape ``(2, k)``."""
        skewness = self.skewness(evidence)
        ends = [
            self.output_ends(_law(replicates, laws, j), float(estimate), float(skewness[j]), probabilities)
            for j, estimate in enumerate(evidence.estimate)
        ]
        return np.stack(ends, axis=1)


class Percentile(PercentileFamily):
    """The quantiles of phi over resamples."""

    name = "percentile"

    def output_ends(
        self, distribution: Distribution, estimate: float, skewness: float, probabilities: tuple[float, float]
    ) -> FloatArray:
        """Return the quantiles at `probabilities`."""
        return percentile_ends(distribution, probabilities)


class Basic(PercentileFamily):
    """The quantiles reflected at the estimate."""

    name = "basic"

    def output_ends(
        self, distribution: Distribution, estimate: float, skewness: float, probabilities: tuple[float, float]
    ) -> FloatArray:
        """Return twice the estimate less the quantiles of the other side."""
        return basic_ends(distribution, estimate, probabilities)


class Bca(PercentileFamily):
    """The quantiles at levels corrected for bias and skewness (Efron 1987)."""

    name = "bca"
    needs_influence = True

    def check(self, simulation: Simulation, estimator: Estimator, n_resamples: int) -> None:
        """Raise unless the rows, strata or groups are drawn independently: the acceleration is theirs."""
        super().check(simulation, estimator, n_resamples)
        if simulation.influence is None:
            raise ArgumentError(
                'method="bca" needs influence values for the acceleration; none were found. Use method="percentile".'
            )
        if simulation.plan.tilt(simulation.influence) is None:
            raise ArgumentError('method="bca" is not valid for blocks of dependent rows. Use method="percentile".')

    def skewness(self, evidence: Evidence) -> FloatArray:
        """Return the acceleration."""
        assert evidence.simulation.influence is not None
        return acceleration(evidence.simulation.plan, evidence.simulation.influence)

    def output_ends(
        self, distribution: Distribution, estimate: float, skewness: float, probabilities: tuple[float, float]
    ) -> FloatArray:
        """Return the quantiles at corrected levels."""
        return bca_ends(distribution, estimate, skewness, probabilities)


def _linear_laws(evidence: Evidence) -> list[LinearDistribution] | None:
    """Return the exact law of the linear part of each output, or None where the replicates speak for themselves."""
    simulation = evidence.simulation
    if not evidence.estimator.needs_influence or simulation.influence is None:
        return None
    draws = simulation.plan.draws(simulation.influence)
    assert draws is not None
    return [
        LinearDistribution([Draws(part.number, part.values[:, j]) for part in draws])
        for j in range(len(evidence.estimate))
    ]


def _law(replicates: Replicates, laws: Sequence[LinearDistribution] | None, j: int) -> Distribution:
    if laws is None or replicates.linear is None:
        return EmpiricalDistribution(replicates.values[:, j])
    return ControlDistribution(float(replicates.estimate[j]), replicates.values[:, j], replicates.linear[:, j], laws[j])


percentile = Percentile()
basic = Basic()
bca = Bca()
