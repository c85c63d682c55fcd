"""Diagnostics of a result, as warnings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import special

from orthoboot.errors import (
    ConstantDataWarning,
    DigitsWarning,
    DominantRowWarning,
    EqualReplicatesWarning,
    FailedReplicatesWarning,
    FewReplicatesWarning,
    InfluenceMismatchWarning,
    InterruptedWarning,
    LargeBiasWarning,
    MissingBiasWarning,
    NonSmoothWarning,
    OrthobootWarning,
    SlopeWarning,
    SmallSampleWarning,
    WeakInfluenceWarning,
)
from orthoboot.estimators import r_squared, raw_slope, slope, slope_t
from orthoboot.estimators.estimation import Estimation
from orthoboot.influence import GIVEN
from orthoboot.plans import Stratified

FEW_UNITS = 10
FEW_IN_STRATUM = 5
FEW_REPLICATES = 5
DOMINANT_SHARE = 0.9
WEAK_R_SQUARED = 0.5
LARGE_BIAS = 3.0
_SLOPE_DISTANCE = 0.3
_UNRELATED = 0.05
_SLOPE_SIGNIFICANCE = 1e-4


def diagnosed(estimation: Estimation) -> tuple[OrthobootWarning, ...]:
    """Return the warnings about a result."""
    return (
        *_about_data(estimation),
        *_about_size(estimation),
        *_about_replicates(estimation),
        *_about_bias(estimation),
        *_about_row_shares(estimation),
        *(_about_influence(estimation) if estimation.estimator.needs_influence else ()),
    )


def is_constant(estimation: Estimation) -> bool:
    """Return whether no output varies at all, in the linear part or between replicates."""
    sums = estimation.moments
    return not (sums.linear_variance.any() or sums.total.any() or sums.shift.any())


def _about_data(estimation: Estimation) -> Iterator[OrthobootWarning]:
    run = estimation.run
    smallest = min(run.plan.schemes, key=lambda scheme: scheme.n_units)
    if smallest.n_units < FEW_UNITS:
        yield SmallSampleWarning(
            f"a sample has only {smallest.n_units} {smallest.unit}; so few say little about the population, and "
            "intervals are too short. Treat the answer as a rough guide, or collect more data."
        )
    yield from _about_strata(estimation)
    if is_constant(estimation):
        seen = "between resamples" if len(estimation.replicates) else "with the weights, to first order"
        yield ConstantDataWarning(
            f"the statistic does not vary {seen}: its variance is zero and the interval has width zero. Check that the "
            "data are not constant, and that a statistic with a `weights` parameter uses it."
        )
    elif not run.functional.smooth and estimation.estimator.needs_influence:
        yield NonSmoothWarning(
            f"`{run.functional.name}` is not smooth in the data, so its linear part explains less of it and "
            "more replicates are needed: look at `simulation_error`, or set `tol`."
        )


def _about_size(estimation: Estimation) -> Iterator[OrthobootWarning]:
    """Yield a warning if the variance of an output is no floating-point number, although its standard error is one."""
    error, variance = estimation.standard_error, estimation.variance
    outside = (error > 0) & ((variance < np.finfo(np.float64).tiny) | np.isinf(variance))
    if outside.any():
        first = int(np.argmax(outside))
        yield DigitsWarning(
            f"the variance of `{estimation.run.output.names[first]}` is out of the range of floating-point numbers and "
            f"counts as {variance[first]:.3g}, in covariances too; its standard error, {error[first]:.3g}, and its "
            "interval are right. Rescale the data to have all of them."
        )


def _about_strata(estimation: Estimation) -> Iterator[OrthobootWarning]:
    sizes = [scheme.smallest_stratum for scheme in estimation.run.plan.schemes if isinstance(scheme, Stratified)]
    smallest = min(sizes, default=FEW_IN_STRATUM)
    if smallest < FEW_IN_STRATUM:
        shown = f"only {smallest - 1}/{smallest} of their variance" if smallest > 1 else "nothing of its variance"
        yield SmallSampleWarning(
            f"a stratum has only {smallest} row(s), and drawing within it shows {shown}; where the statistic rests on "
            "such rows the interval is too short. Merge small strata, or collect more rows of them."
        )


def _about_row_shares(estimation: Estimation) -> Iterator[OrthobootWarning]:
    """Yield a warning if the variance of an output comes from one row."""
    influence, names = estimation.in_units.run.influence, estimation.run.output.names
    if influence is None:
        return
    squares = [np.square(part / len(part)) for part in influence]
    total = np.sum([part.sum(axis=0) for part in squares], axis=0)
    largest = np.max([part.max(axis=0) for part in squares], axis=0)
    share = np.divide(largest, total, out=np.zeros_like(total), where=total > 0)
    worst = int(np.argmax(share))
    if share[worst] > DOMINANT_SHARE:
        yield DominantRowWarning(
            f"one row carries {share[worst]:.0%} of the variance of `{names[worst]}`: the statistic picks a row, as a "
            "maximum does, or the row is an outlier. No bootstrap is reliable then, especially with few replicates: "
            'check that row, and compare with estimator="standard".'
        )


def _about_replicates(estimation: Estimation) -> Iterator[OrthobootWarning]:
    replicates = estimation.replicates
    if replicates.n_failed:
        yield FailedReplicatesWarning(
            f"{replicates.n_failed} of {replicates.n_drawn} replicates failed and were left out; the first failure "
            f"was: {replicates.first_failure}. The result is conditional on the resamples where the statistic is "
            "defined."
        )
    if replicates.interrupted:
        yield InterruptedWarning(
            f"interrupted after {replicates.n_drawn} replicates; the result uses only those. Continue with `extend`."
        )
    if not estimation.estimator.simulates and replicates.second_order_bias is None:
        yield MissingBiasWarning(
            "the second-order bias of this statistic has no closed form and would need two evaluations per row, or "
            'fractional weights; it was set to zero. Use estimator="orthogonal" to simulate it.'
        )


def _about_bias(estimation: Estimation) -> Iterator[OrthobootWarning]:
    size = np.abs(estimation.bias) - LARGE_BIAS * estimation.standard_error
    worst = int(np.argmax(size))
    if size[worst] > 0 and estimation.standard_error[worst] > 0:
        yield LargeBiasWarning(
            f"the bias of `{estimation.run.output.names[worst]}` is "
            f"{abs(estimation.bias[worst]) / estimation.standard_error[worst]:.1f} standard errors: the bootstrap is "
            "unreliable for this statistic, since resamples differ systematically from the data, and the interval "
            f"misses the debiased value.{estimation.run.data.samples_hint}"
        )


def _about_influence(estimation: Estimation) -> Iterator[OrthobootWarning]:
    n_resamples = len(estimation.replicates)
    if not estimation.estimator.simulates or is_constant(estimation):
        return
    if n_resamples < FEW_REPLICATES:
        yield FewReplicatesWarning(
            f"with {n_resamples} replicates the influence function cannot be checked, and the simulation error is "
            f"only a rough estimate; use n_resamples={FEW_REPLICATES} or more."
        )
        return
    equal = (estimation.moments.total == 0) & (estimation.moments.linear_variance > 0)
    if equal.any():
        yield _equal(estimation, int(np.argmax(equal)))
        return
    yield from _about_fit(estimation)


def _equal(estimation: Estimation, output: int) -> OrthobootWarning:
    return EqualReplicatesWarning(
        f"all {len(estimation.replicates)} replicates of `{estimation.run.output.names[output]}` are equal, although "
        "its influence function says that it varies: the data have ties, and so few resamples do not show its "
        "variation. Use several hundred replicates."
    )


def _flat(estimation: Estimation, output: int) -> OrthobootWarning:
    if _is_given(estimation):
        return InfluenceMismatchWarning(
            f"the influence values that you gave for `{estimation.run.output.names[output]}` are all equal, so they "
            "do not explain its replicates, which vary. The replicates are worth no more than as many ordinary ones."
        )
    by_rows = "jackknife" in estimation.run.influence_source
    longer_steps = "" if by_rows else ', or influence="jackknife", which moves by whole rows'
    return NonSmoothWarning(
        f"the influence values of `{estimation.run.output.names[output]}` are all zero, although its replicates vary: "
        "it is a step function of the weights, as when it rounds, counts or picks rows, or flat at these data. The "
        f"{len(estimation.replicates)} replicates are worth no more than as many ordinary ones. Use "
        f'estimator="standard"{longer_steps}.'
    )


def _steps(raw: float) -> str:
    """Return a likely cause if the replicates do not follow the influence function at all."""
    if abs(raw) > _UNRELATED:
        return ""
    return (
        " They do not follow it at all: a statistic that rounds, counts or picks rows is a step function of the "
        'weights and has none. Return floats that move with the weights, or use estimator="standard".'
    )


def _is_given(estimation: Estimation) -> bool:
    return estimation.run.influence_source == GIVEN


def _about_fit(estimation: Estimation) -> Iterator[OrthobootWarning]:
    """Yield warnings where the replicates contradict the influence function."""
    sums, names = estimation.moments, estimation.run.output.names
    flat = (sums.linear_variance == 0) & (sums.total > 0)
    if flat.any():
        yield _flat(estimation, int(np.argmax(flat)))
    explained = np.where(flat, 1.0, r_squared(sums))
    checked = "; check your influence function with `ob.check_influence`" if _is_given(estimation) else ""
    if explained.min() < WEAK_R_SQUARED:
        yield WeakInfluenceWarning(
            f"the linear part explains only {explained.min():.0%} of the variance of "
            f"`{names[int(np.argmin(explained))]}`, so {sums.size} replicates are worth little more than as many "
            f"ordinary ones. Increase `n_resamples`, or set `tol`{checked}."
        )
    excess = raw_slope(sums) - 1
    t = slope_t(sums.size, sums.residual, sums.cross, sums.linear)
    significance = 2 * special.stdtr(sums.size - 2, -np.abs(t))
    far = (np.abs(excess) > _SLOPE_DISTANCE) & (significance < _SLOPE_SIGNIFICANCE)
    if far.any():
        worst = int(np.argmax(np.abs(excess) * far))
        yield SlopeWarning(
            f"the replicates of `{names[worst]}` move {1 + excess[worst]:.2f} times as far as its influence function "
            f"says. The result corrects for this with a slope of {slope(sums)[worst]:.2f}, at the price of a larger "
            f"simulation error{checked}.{_steps(raw_slope(sums)[worst])}"
        )
