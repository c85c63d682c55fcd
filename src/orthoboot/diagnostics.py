"""What to worry about in an answer: pure functions from the evidence to warnings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import special

from orthoboot.errors import (
    ConstantDataWarning,
    FailedReplicatesWarning,
    FewReplicatesWarning,
    InterruptedWarning,
    MissingBiasWarning,
    NonSmoothWarning,
    OrthobootWarning,
    SlopeWarning,
    SmallSampleWarning,
    WeakInfluenceWarning,
)
from orthoboot.estimators import moments, r_squared, slope, slope_t
from orthoboot.intervals import Evidence

FEW_UNITS = 10
FEW_REPLICATES = 5
WEAK_R_SQUARED = 0.5
_SLOPE_DISTANCE = 0.3
_SLOPE_SIGNIFICANCE = 1e-4


def diagnosed(evidence: Evidence) -> tuple[OrthobootWarning, ...]:
    """Return a warning for each thing a careful reader of the answer should know."""
    return (
        *_about_data(evidence),
        *_about_replicates(evidence),
        *(_about_influence(evidence) if evidence.estimator.needs_influence else ()),
    )


def is_constant(evidence: Evidence) -> bool:
    """Return whether no output varies at all, in the linear part or between replicates."""
    sums = moments(evidence.replicates)
    return not (sums.linear_variance.any() or sums.total.any() or sums.shift.any())


def _about_data(evidence: Evidence) -> Iterator[OrthobootWarning]:
    simulation = evidence.simulation
    smallest = min(simulation.plan.schemes, key=lambda scheme: scheme.n_units)
    if smallest.n_units < FEW_UNITS:
        yield SmallSampleWarning(
            f"a sample has only {smallest.n_units} {smallest.unit}; resampling so few says little about the "
            "population, and intervals are too short. Treat the answer as a rough guide, or collect more data."
        )
    if is_constant(evidence):
        yield ConstantDataWarning(
            "the statistic does not vary between resamples: its variance is zero and the interval has width zero. "
            "Check that the data are not constant."
        )
    elif not simulation.functional.smooth and evidence.estimator.needs_influence:
        yield NonSmoothWarning(
            f"`{simulation.functional.name}` is not smooth in the data, so its linear part explains less of it and "
            "more replicates are needed: look at `simulation_error`, or set `tol`."
        )


def _about_replicates(evidence: Evidence) -> Iterator[OrthobootWarning]:
    replicates = evidence.replicates
    if replicates.n_failed:
        yield FailedReplicatesWarning(
            f"{replicates.n_failed} of {replicates.n_drawn} replicates failed and were left out; the first failure "
            f"was: {replicates.first_failure}. The answer describes the resamples on which the statistic exists."
        )
    if replicates.interrupted:
        yield InterruptedWarning(
            f"interrupted after {replicates.n_drawn} replicates; the answer rests on those. `extend` goes on from here."
        )
    if evidence.estimator.minimum == 0 and replicates.second_order_bias is None:
        yield MissingBiasWarning(
            "the second-order bias of this statistic has no closed form and would need two evaluations a row, or "
            'weights that are not whole numbers; it was taken as zero. Use estimator="orthogonal" to simulate it.'
        )


def _about_influence(evidence: Evidence) -> Iterator[OrthobootWarning]:
    n_resamples = len(evidence.replicates)
    if evidence.estimator.minimum == 0 or is_constant(evidence):
        return
    if n_resamples < FEW_REPLICATES:
        yield FewReplicatesWarning(
            f"with {n_resamples} replicates the influence function cannot be judged, and the simulation error is "
            f"hardly known; use n_resamples={FEW_REPLICATES} or more."
        )
        return
    sums = moments(evidence.replicates)
    explained = r_squared(sums)
    if explained.min() < WEAK_R_SQUARED:
        yield WeakInfluenceWarning(
            f"the linear part explains only {explained.min():.0%} of the variance of "
            f"`{evidence.simulation.output.names[int(np.argmin(explained))]}`, so {n_resamples} replicates are worth "
            "little more than as many ordinary ones. Increase `n_resamples`, or set `tol`; check the influence "
            "function if you gave one."
        )
    raw = np.divide(sums.cross, sums.linear, out=np.zeros_like(sums.cross), where=sums.linear > 0)
    significance = 2 * special.stdtr(n_resamples - 2, -np.abs(slope_t(sums)))
    far = (np.abs(raw) > _SLOPE_DISTANCE) & (significance < _SLOPE_SIGNIFICANCE)
    if far.any():
        worst = int(np.argmax(np.abs(raw) * far))
        yield SlopeWarning(
            f"the replicates of `{evidence.simulation.output.names[worst]}` move {1 + raw[worst]:.2f} times as far as "
            f"its influence function says. The answer allows for it with a slope of {slope(sums)[worst]:.2f}, at the "
            "price of a larger simulation error. If you gave the influence function, check its scale: it is n times "
            "the derivative with respect to each row's share of the weight."
        )
