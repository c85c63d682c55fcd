"""Diagnostics of a result, as warnings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy

from orthoboot.arrays.passes import ranges, sums_of_squares
from orthoboot.controls.base import FAR_DRAWS, HEAVY_TAIL, tail_shares
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
from orthoboot.estimators import ESTIMATORS, r_squared, raw_slope, slope, slope_t
from orthoboot.estimators.estimation import Estimation
from orthoboot.influence import GIVEN
from orthoboot.typing import BoolArray

FEW_UNITS = 10
FEW_IN_STRATUM = 5
FEW_REPLICATES = 5
FEW_ROWS = 100
"""Rows whose remainder is skewed."""
_FEW_REMAINDERS, _MANY_REMAINDERS = 50, 1000
"""Replicates that are too few for a remainder that matters, and too few only for a large one of few rows."""
_BENDS, _BENDS_AT_ALL, _BENDS_MUCH = 0.003, 0.05, 0.1
"""What a statistic has beyond its linear part, as a share of that: of few rows, of any number, and a large one."""
_ENOUGH = ESTIMATORS["standard"].default_resamples
DOMINANT_SHARE = 0.9
WEAK_R_SQUARED = 0.5
LARGE_BIAS = 3.0

_SLOPE_DISTANCE = 0.3
_UNRELATED = 0.05
_SLOPE_SIGNIFICANCE = 1e-4
_UNEQUAL_SIZES = 0.35
"""A coefficient of variation of the number of rows in a resample: beyond it the jackknife is a tenth too small."""


def diagnosed(estimation: Estimation) -> tuple[OrthobootWarning, ...]:
    """Return the warnings about a result."""
    return (
        *_about_data(estimation),
        *_about_size(estimation),
        *_about_replicates(estimation),
        *_about_no_variation(estimation),
        *_about_errors(estimation),
        *_about_bias(estimation),
        *(tuple(_about_unit_sizes(estimation)) or _about_unit_shares(estimation)),
        *(_about_influence(estimation) if estimation.estimator.needs_influence else ()),
        *_about_tails(estimation),
    )


def is_constant(estimation: Estimation) -> bool:
    """Return whether no output varies at all, in the linear part or between the replicates that are used."""
    sums = estimation.moments
    between = estimation.estimator.simulates and (sums.total.any() or sums.shift.any())
    return not (sums.control_variance.any() or between)


def _about_data(estimation: Estimation) -> Iterator[OrthobootWarning]:
    run = estimation.run
    smallest = min(run.plan.schemes, key=lambda scheme: scheme.n_units)
    if smallest.n_units < FEW_UNITS:
        yield SmallSampleWarning(
            f"a sample has only {smallest.n_units} {smallest.unit}; so few say little about the population, and "
            "intervals are too short. Treat the answer as a rough guide, or collect more data."
        )
    yield from _about_strata(estimation)
    if is_constant(estimation) and not _is_explained(estimation):
        simulated = estimation.estimator.simulates and len(estimation.replicates)
        seen = "between resamples" if simulated else "with the weights, to first order"
        takes_weights = run.functional.by_user and run.functional.fractional
        weights = " Check that the statistic uses its `weights`." if takes_weights else ""
        yield ConstantDataWarning(
            f"the statistic does not vary {seen}: its variance is zero and the interval has width zero. That is right "
            "for constant data, an exact fit or predictions without an error; a function that is only flat here, such "
            f"as `max(mean - c, 0)` with a large c, may vary on resamples that are rarer than these.{weights}"
        )
    elif not (run.functional.smooth or is_constant(estimation) or _are_enough(estimation)):
        yield NonSmoothWarning(
            f"`{run.functional.name}` is not smooth in the data, so its linear part explains less of it and "
            "more replicates are needed: look at `simulation_error`, or set `tol`."
        )


def _about_size(estimation: Estimation) -> Iterator[OrthobootWarning]:
    """Yield a warning if floating-point numbers are too coarse for an output, or do not reach to its variance."""
    error, variance = estimation.standard_error, estimation.variance
    coarse = (error > 0) & (error < np.spacing(np.abs(estimation.estimate)))
    if coarse.any():
        first = int(np.argmax(coarse))
        yield DigitsWarning(
            f"the standard error of `{estimation.run.output.names[first]}`, {error[first]:.3g}, is lost in rounding: "
            f"floating-point numbers near {estimation.estimate[first]:.6g} are "
            f"{np.spacing(abs(estimation.estimate[first])):.3g} apart. Subtract a constant from the data first."
        )
    outside = (error > 0) & ((variance < np.finfo(np.float64).tiny) | np.isinf(variance))
    if outside.any():
        first = int(np.argmax(outside))
        yield DigitsWarning(
            f"the variance of `{estimation.run.output.names[first]}` is outside the range of floating-point numbers "
            f"and reported as {variance[first]:.3g}, in covariances too. Its standard error, {error[first]:.3g}, and "
            "its interval are not affected. Rescale the data to have all of them."
        )


def _is_explained(estimation: Estimation) -> bool:
    """Return whether the statistic itself says why it does not vary, as a correlation of 1 does."""
    findings = estimation.run.findings(estimation.replicates.convergence)
    return any(isinstance(finding, ConstantDataWarning | DominantRowWarning) for finding in findings)


def _about_strata(estimation: Estimation) -> Iterator[OrthobootWarning]:
    sizes = (scheme.smallest_stratum for scheme in estimation.run.plan.schemes)
    smallest = min((size for size in sizes if size is not None), default=FEW_IN_STRATUM)
    if smallest < FEW_IN_STRATUM:
        shown = f"only {smallest - 1}/{smallest} of their variance" if smallest > 1 else "nothing of its variance"
        yield SmallSampleWarning(
            f"a stratum has only {smallest} row(s), and drawing within it shows {shown}; where the statistic rests on "
            "such rows the interval is too short. Merge small strata, or collect more rows of them."
        )


def _about_unit_shares(estimation: Estimation) -> Iterator[OrthobootWarning]:
    """Yield a warning if the variance of an output comes from one row, or from one group where groups are drawn."""
    run = estimation.in_units.run
    if run.influence is None:
        return
    parts = [(scheme, scheme.unit_totals(part), part) for scheme, part in run.plan.parts(run.influence)]
    total = sum(sums_of_squares(totals) / scheme.n**2 for scheme, totals, _ in parts)
    of_rows = run.influence_function.largest_by_sample
    sizes = [of_rows[i] if totals is part else ranges(totals).largest for i, (_, totals, part) in enumerate(parts)]
    largest = np.array([np.square(size / scheme.n) for size, (scheme, _, _) in zip(sizes, parts, strict=True)])
    share = np.divide(largest, total, out=np.zeros_like(largest), where=total > 0)
    sample, worst = np.unravel_index(int(np.argmax(share)), share.shape)
    if share[sample, worst] <= DOMINANT_SHARE:
        return
    unit = run.plan.schemes[sample].drawn_unit
    compare = ', and compare with estimator="standard"' if estimation.estimator.needs_influence else ""
    yield DominantRowWarning(
        f"one {unit} carries {share[sample, worst]:.0%} of the variance of `{run.output.names[worst]}`: the statistic "
        f"picks a row, as a maximum does, or the {unit} is an outlier. No bootstrap is reliable then, especially with "
        f"few replicates: check that {unit}{compare}."
    )


def _about_unit_sizes(estimation: Estimation) -> Iterator[OrthobootWarning]:
    """Yield a warning if one group has so many of the rows that resamples differ widely in their size.

    A mean is then a quotient of two sums that vary, which its linear part does not describe.
    """
    for scheme in estimation.run.plan.schemes:
        sizes = scheme.unit_sizes
        if sizes is None:
            continue
        shares = sizes / sizes.sum()
        spread = np.sqrt(max(float(np.square(shares).sum()) - 1 / len(shares), 0.0))
        if spread > _UNEQUAL_SIZES:
            yield DominantRowWarning(
                f"the largest of {len(shares)} groups has {shares.max():.0%} of the rows, so that resamples differ in "
                f"their number of rows by {spread:.0%}. The linear part and the jackknife are poor guides then: use "
                'estimator="standard", and doubt any interval from groups so unequal.'
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
            "the second-order bias of this statistic has no closed form and was set to zero: differences would need "
            "fractional weights, more than a thousand evaluations, or a statistic without a kink at the data. Use "
            'estimator="orthogonal" to simulate it.'
        )


def _about_no_variation(estimation: Estimation) -> Iterator[OrthobootWarning]:
    """Yield a warning if some outputs have a standard error of zero, and others have not or should not."""
    fixed = estimation.run.prepared.fixed
    still = (estimation.standard_error == 0) & (True if fixed is None else ~fixed)
    if not still.any() or is_constant(estimation):
        return
    sums, first = estimation.moments, int(np.argmax(still))
    # A step function may not vary to first order, and on a few resamples neither.
    smooth = estimation.run.influence is not None and estimation.run.functional.smooth
    is_known = smooth and sums.control_variance[first] == 0 and sums.shift[first] == 0
    if estimation.estimator.simulates and not is_known:
        yield _equal(estimation, first)
        return
    yield ConstantDataWarning(
        f"`{estimation.run.output.names[first]}` does not vary, to first order"
        + (f" and on {len(estimation.replicates)} resamples" if estimation.estimator.simulates else "")
        + ": its variance is zero and its interval has width zero, as for a constant column, a coefficient that a "
        "penalty keeps at zero, or a statistic at its largest value."
    )


def _about_errors(estimation: Estimation) -> Iterator[OrthobootWarning]:
    """Yield a warning if the simulation error of a standard error is not known."""
    unknown = np.isnan(estimation.error.log_variance) & (estimation.standard_error > 0)
    told = estimation.estimator.needs_influence and len(estimation.replicates) < FEW_REPLICATES
    if not unknown.any() or told:
        return
    name, n_resamples = estimation.run.output.names[int(np.argmax(unknown))], len(estimation.replicates)
    yield FewReplicatesWarning(
        f"cannot estimate the simulation error of the standard error of `{name}` from {n_resamples} replicate(s): they "
        "are too few, or one of them carries all the variation. Use more."
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
    equal = (estimation.moments.total == 0) & (estimation.moments.control_variance > 0)
    if equal.any():
        if (equal & (estimation.standard_error > 0)).any():
            yield _equal(estimation, int(np.argmax(equal)))
        return
    yield from _about_remainder(estimation)
    yield from _about_fit(estimation)


def _about_remainder(estimation: Estimation) -> Iterator[OrthobootWarning]:
    """Yield a warning if few replicates may not show what an output has beyond its linear part.

    Up to a quarter of such runs are off by more than three reported errors (``benchmarks/honesty.py``).
    """
    smallest = min(estimation.run.plan.schemes, key=lambda scheme: scheme.n_units)
    sums, n_units, unit = estimation.moments, smallest.n_units, smallest.unit
    if not sums.is_expansion:
        return
    bends = np.where(_is_exact(estimation), 0.0, sums.curvature)
    worst = int(np.argmax(bends))
    # All of few resamples may be on one side of a kink, and exactly their linear part.
    may_miss_a_kink = estimation.run.functional.kinked and sums.size < _FEW_REMAINDERS
    if may_miss_a_kink or bends[worst] > _tolerated_bend(sums.size, n_units):
        enough = _MANY_REMAINDERS if bends[worst] > _BENDS_MUCH and n_units < FEW_ROWS else 4 * _FEW_REMAINDERS
        yield FewReplicatesWarning(
            f"{sums.size} replicates may miss part of the variance of `{estimation.run.output.names[worst]}`: with "
            f"{n_units} {unit}, a few rare resamples carry much of what its linear part leaves. The simulation errors "
            f"may be too small; use n_resamples={enough} or more."
        )


def _tolerated_bend(n_replicates: int, n_units: int) -> float:
    """Return the variance beyond the linear part, over that of the linear part, that so many replicates may show."""
    if n_replicates < _FEW_REMAINDERS:
        return _BENDS if n_units < FEW_ROWS else _BENDS_AT_ALL
    return _BENDS_MUCH if n_replicates < _MANY_REMAINDERS and n_units < FEW_ROWS else np.inf


def _is_exact(estimation: Estimation) -> BoolArray:
    """Return for which outputs the control is the statistic but for rounding, as of a variance, shape ``(k,)``.

    Replicates of an optimum may all follow its control until a constraint ceases to bind, on resamples that few have.
    """
    follows: BoolArray = estimation.moments.residual == 0
    return follows & estimation.run.trusts_influence


def _equal(estimation: Estimation, output: int) -> OrthobootWarning:
    sums, name = estimation.moments, estimation.run.output.names[output]
    varies = sums.control_variance[output] > 0
    why = ", although its influence function says that it varies" if varies else ""
    other = " and differ from its value on the data" if sums.shift[output] != 0 else ""
    constant = "" if varies or other else "the statistic is constant, or "
    return EqualReplicatesWarning(
        f"all {len(estimation.replicates)} replicates of `{name}` are equal{other}{why}: {constant}so few resamples do "
        "not show its variation, as where the data have ties and it moves in steps"
        + (", or the influence function is not its own" if varies else "")
        + ". Use several hundred replicates."
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


def _about_tails(estimation: Estimation) -> Iterator[OrthobootWarning]:
    """Yield a warning if a few draws of a surrogate carry the variance of an output, so that nothing settles it."""
    control = estimation.control_values
    if control is None or control.law is None:
        return
    tails = np.where(estimation.moments.control_is_nearer, tail_shares(control.law.control), 0.0)
    worst = int(np.argmax(tails))
    if tails[worst] > HEAVY_TAIL:
        yield WeakInfluenceWarning(
            f"the farthest of {len(control.law.control):,} draws, one in {FAR_DRAWS}, carry {tails[worst]:.0%} of the "
            f"variance of `{estimation.run.output.names[worst]}`: on some resamples it is far out, as where these "
            "nearly separate the classes. More replicates do not settle its standard error, whose simulation error may "
            'be too small. Use method="percentile", or a penalty.'
        )


def _explaining(estimation: Estimation, output: int) -> str:
    """Return what comes nearest to an output, in words."""
    control = estimation.run.control
    is_linear = control is None or not estimation.moments.control_is_nearer[output]
    return "the linear part" if control is None or is_linear else f"the {control.name} control"


def _are_enough(estimation: Estimation) -> bool:
    """Return whether the estimator can do without an influence function, or has replicates that could."""
    return not estimation.estimator.needs_influence or len(estimation.replicates) >= _ENOUGH


def _is_given(estimation: Estimation) -> bool:
    return estimation.run.influence_source == GIVEN


def _about_fit(estimation: Estimation) -> Iterator[OrthobootWarning]:
    """Yield warnings where the replicates contradict the influence function."""
    sums, names = estimation.moments, estimation.run.output.names
    flat = (sums.control_variance == 0) & (sums.total > 0)
    if flat.any():
        yield _flat(estimation, int(np.argmax(flat)))
    if _are_enough(estimation) and not _is_given(estimation):
        return
    explained = np.where(flat, 1.0, r_squared(sums))
    checked = "; check your influence function with `ob.check_influence`" if _is_given(estimation) else ""
    worst = int(np.argmin(explained))
    if explained[worst] < WEAK_R_SQUARED:
        yield WeakInfluenceWarning(
            f"{_explaining(estimation, worst)} explains only {explained[worst]:.0%} of the variance of "
            f"`{names[worst]}`, so {sums.size} replicates are worth little more than as many "
            f"ordinary ones. Increase `n_resamples`, or set `tol`{checked}."
        )
    excess = raw_slope(sums) - 1
    # Where a control comes nearer, the influence function need not explain the statistic alone.
    far = (np.abs(excess) > _SLOPE_DISTANCE) & ~sums.control_is_nearer
    sums = sums if sums.by_linear is None else sums.by_linear
    if far.any():
        t = slope_t(sums.size, sums.residual, sums.cross, sums.control)
        far &= 2 * scipy.special.stdtr(sums.size - 2, -np.abs(t)) < _SLOPE_SIGNIFICANCE
    if far.any():
        worst = int(np.argmax(np.abs(excess) * far))
        yield SlopeWarning(
            f"the replicates of `{names[worst]}` move {1 + excess[worst]:.2f} times as far as its influence function "
            f"says. The result corrects for this with a slope of {slope(sums)[worst]:.2f}, at the price of a larger "
            f"simulation error{checked}.{_steps(raw_slope(sums)[worst])}"
        )
