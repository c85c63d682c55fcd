"""`bootstrap`: validate, choose the influence function, simulate, estimate."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from orthoboot.arguments import (
    checked_alternative,
    checked_confidence_level,
    checked_count,
    checked_flag,
    checked_jobs,
    checked_name,
    checked_transform,
    too_few_replicates,
)
from orthoboot.autodiff import package_asked
from orthoboot.controls.selection import CONTROLS
from orthoboot.data import Data
from orthoboot.draws.random_counts import is_whole_number
from orthoboot.errors import (
    ArgumentError,
    FallbackWarning,
    InfluenceError,
    InterruptedWarning,
    OrthobootWarning,
    StatisticError,
    ToleranceWarning,
    emit,
)
from orthoboot.estimators import ESTIMATORS, Estimator
from orthoboot.estimators.budget import FIRST_ROUND, Budget
from orthoboot.estimators.diagnostics import FEW_ROWS
from orthoboot.estimators.estimation import Estimation
from orthoboot.execution.execution import Execution
from orthoboot.execution.identity import checkpoint_for, checkpoint_key
from orthoboot.functionals.base import Functional, Prepared
from orthoboot.functionals.samples import Labels, read_samples
from orthoboot.functionals.user.callables import as_functional
from orthoboot.influence import (
    InfluenceFunction,
    check_of_resamples,
    closed_form,
    design_for,
    ignored_weights,
    requested_regression,
)
from orthoboot.intervals import INTERVALS, Interval
from orthoboot.plans import plan_for
from orthoboot.replicates import Replicates, extended, no_replicates, regressed
from orthoboot.result import Result, progress_note, reported
from orthoboot.run import Run
from orthoboot.trials import (
    group_values_finding,
    merged_groups_finding,
    repeated_labels_finding,
    row_order_finding,
    unweighted_parts_finding,
)
from orthoboot.typing import FloatArray

_REMAINDER = 1e-9
"""A remainder of replicates beyond their linear part that is not rounding, in the largest of the linear parts."""

_CAUTION = 3.0
"""An error from B replicates is known to some 1/sqrt(B) of itself: so many of these more must be below a tolerance.

Else runs stop where luck has made the reported error small, and the true error is above the tolerance on average.
"""

_MARGIN = 1.15
"""What that leaves of the luck, however many replicates there are: each round is another chance to stop too early."""

_CONFIRMING = 20
"""Replicates of few rows that may meet a tolerance: ten follow the linear part by luck now and then."""

_TRIAL_RESAMPLES = 10
"""On how many resamples a statistic that never moves is tried; a few might happen to leave it as it is."""


def bootstrap(
    data: Any,
    statistic: Any,
    *,
    n_resamples: int | None = None,
    tol: float | None = None,
    max_resamples: int = 1000,
    confidence_level: float = 0.95,
    method: str = "auto",
    alternative: str = "two-sided",
    transform: Any = None,
    simultaneous: bool = False,
    estimator: str = "orthogonal",
    influence: Any = "auto",
    control: str = "auto",
    paired: bool = False,
    strata: Any = None,
    groups: Any = None,
    block_length: Any = None,
    block_kind: str = "circular",
    vectorized: bool | None = None,
    batch: int | None = None,
    n_jobs: int | None = None,
    checkpoint: Any = None,
    progress: bool | None = None,
    rng: Any = None,
) -> Result:
    """Return the bias, standard error and confidence interval of a statistic, and how far to trust them.

    A resample's statistic splits into a part that is linear in the resample, known in closed form through the influence
    function, and a small remainder; only the remainder is simulated (``alg:cap``, ``alg:varestimateob``,
    ``alg:ciconstructionob``)::

        phi_b ~= phi_hat + linear_b,   linear_b = sum_i (1/n_i) weights_i . influence_i

    Parameters
    ----------
    data
        One sample: an array with rows first, a list of numbers, a series or a frame (pandas, polars, pyarrow). Or a
        sequence of samples: independent, of any sizes, unless `paired`. Rows that do not lie in memory are read part by
        part where the statistic can do with sums: a memory-mapped array, a dask array or frame, a polars scan, a
        pyarrow dataset, a DuckDB relation.
    statistic
        An entry of the catalogue (``ob.variance``, ``ob.quantile(0.9)``, ...), or a function. ``statistic(*samples)``
        gets resampled rows, a frame where you passed one; with an `axis` parameter it gets a batch of them as arrays,
        rows on the last axis, as in scipy; with a `weights` parameter it gets the data once, read-only, and the count
        of each row (a tuple of counts for several samples). It returns a number, an array, or a dict of these.
        ``np.mean``, ``np.var``, ``np.std`` and ``np.median`` are taken as their catalogue entries, which work on each
        column.
    n_resamples
        How many replicates; by default 10 for "orthogonal", "paper" and "cheap", and 1000 for "standard" and where
        there is no influence function. "orthogonal" takes as many as cost next to nothing where replicates are computed
        together, as for sums, ranks and regressions of the catalogue: 4,000,000 over the number of rows, at most 2000.
        "jackknife" uses none; those that are asked for are kept for `with_estimator`.
    tol
        Add replicates until the relative simulation error of the standard error is below it, with some certainty: an
        error from few replicates is itself rough. They start from `n_resamples`.
    max_resamples
        The most that `tol` may use.
    confidence_level
        In (0, 1).
    method
        "normal", "t", "abc", "percentile", "basic", "bca" or "studentized". "percentile", "basic" and "bca" need 5
        replicates with an influence function in the estimator and 200 without. "studentized" (bootstrap-t) needs 200
        with any, takes 1000 by default, and computes the influence function of every resample: of the catalogue, of
        functions in jax or torch, or by `influence=` a function of the samples. "auto" takes the best that the run
        supports, which the result names: BCa where many replicates or a surrogate show the tails, percentiles for
        dependent rows, ABC for a smooth statistic that follows its linear part, and else the normal interval, within
        the range of the statistic.
    alternative
        "two-sided"; "less" for an upper bound, "greater" for a lower bound, as in scipy.
    transform
        The scale of the interval, where the range of the statistic has limits: "log" for positive values, "logit" for
        shares, "fisher" for correlations, or the limits ``(low, high)`` themselves. Normal and t intervals are made on
        that scale, and others stay within the limits. Statistics of the catalogue know their range; "auto" uses it.
    simultaneous
        Whether the intervals of all outputs hold together with `confidence_level`: each has the higher level at which
        the largest of all standardised outputs, normal with their correlations, stays inside. Needs the covariance
        matrix.
    estimator
        "orthogonal", "paper", "standard", "cheap" or "jackknife".
    influence
        "auto"; "jax" or "torch" for a function with `weights` written in that library, which differentiates it; an
        engine, "finite-difference" or "jackknife"; values, ``(n,)`` or ``(n, k)``, a tuple of these for several
        samples; or a function of the samples that returns values. "regression" fits a value for every row to the
        replicates, 1000 by default and at least half as many again as the rows; `regression_on` fits a few features of
        the rows instead, from a few more replicates than features. "auto" takes the statistic's own; for a function
        with `weights` its derivative where it is written in jax or torch, else finite differences, two evaluations a
        row, or the jackknife, one a row; for a plain function the jackknife; none, and the standard bootstrap, where
        these would take more evaluations than its 1000 replicates (or `n_resamples`, if that is more). With `groups`
        both take whole groups in place of rows.
    control
        What is known of a replicate without evaluating it, for estimator="orthogonal". "linear": the linear part.
        "quadratic": the quadratic part as well, for smooth functions of means. "surrogate": a few Newton steps, for
        fitted models and constrained optima, drawn 2000 times and corrected by the replicates. "auto": one of these
        where it costs little, for large models with fewer draws. It counts by how near it is to the replicates.
    paired
        Whether the rows of several samples belong together and are drawn together.
    strata
        Labels of the rows, or the name of a column with them; each stratum is resampled within itself. For several
        samples a tuple.
    groups
        Labels of the rows; whole groups are drawn. For several samples a tuple. The name of a column of the data frame
        instead says that this column holds nothing but labels: in the rows that your function gets, a group that is
        drawn twice is two groups, with labels of their own. A statsmodels fit with clustered standard errors
        brings its own where none of the three is given.
    block_length
        Length of the blocks of a time series that are drawn whole. For several samples a tuple. "auto" finds it from
        the autocorrelations of the data, sample by sample, by the rule of Politis and White (2004), corrected by
        Patton, Politis and White (2009): the largest over the columns, in whole rows. `Result.block_length` names it.
    block_kind
        "circular", "moving", or "stationary" with `block_length` the mean of random lengths.
    vectorized
        Whether `statistic` takes batches; None looks for an `axis` parameter.
    batch
        How many resamples are held at once; the answer does not depend on it.
    n_jobs
        How many jobs share the replicates, and the evaluations that an engine makes; -1 for one per core. Statistics in
        compiled code run in threads, Python functions and models in processes; `joblib.parallel_config` chooses another
        backend, such as Dask's. No number depends on it. None: one, or what `joblib.parallel_config` says.
    checkpoint
        A file that stores every finished replicate, for runs of hours: the same call resumes a run that was killed, and
        ends with the same numbers. A file of other data, another statistic, plan or seed is refused; with ``rng=None``
        the seed of the file is taken.
    progress
        Whether to show a progress bar; None shows it on a terminal when the work takes long and tqdm is installed.
    rng
        None, a whole number, a SeedSequence or a Generator. Replicate b depends on the seed and b alone.

    Returns
    -------
    Result

    Examples
    --------
    >>> import numpy as np
    >>> import orthoboot as ob
    >>> x = np.random.default_rng(0).exponential(size=1000)
    >>> result = ob.bootstrap(x, ob.variance, n_resamples=10, rng=0)
    >>> bool(result.equivalent_resamples > 100)
    True
    >>> ob.bootstrap(x, ob.median, rng=0).n_resamples  # computed together, in a few hundredths of a second
    2000
    """
    confidence_level = checked_confidence_level(confidence_level)
    interval = INTERVALS[checked_name("method", method, INTERVALS)]
    alternative = checked_alternative(alternative)
    limits = checked_transform(transform)
    simultaneous = checked_flag("simultaneous", simultaneous)
    chosen = ESTIMATORS[checked_name("estimator", estimator, ESTIMATORS)]
    budget = Budget.checked(n_resamples, tol, max_resamples, chosen)
    batch = None if batch is None else checked_count("batch", batch, least=1)
    control = checked_name("control", control, CONTROLS)
    _check_execution(n_jobs, progress)
    key = checkpoint_key(checkpoint, rng)

    needing = {"block_length": block_length, "checkpoint": checkpoint}
    needs_rows = _needing_rows(interval, chosen, needing, influence, grouped=groups is not None)
    given = Labels(groups, strata)
    samples, labels = read_samples(data, statistic, paired=paired, labels=given, needs_rows=needs_rows)
    drawn = {**labels._asdict(), "block_length": block_length}
    options = _plan_options(statistic, samples, drawn)
    plan = plan_for(samples.sizes, block_kind=block_kind, data=samples, **options)
    functional = as_functional(statistic, samples, vectorized=vectorized, library=package_asked(influence))
    prepared = functional.prepared(samples)
    interval.check(functional, plan, chosen)
    budget.check_for(interval, chosen)
    _check_finite(prepared)
    checkpointed = checkpoint_for(checkpoint, prepared, plan, key)
    run = Run(
        prepared,
        plan,
        key,
        InfluenceFunction(None, "not needed by this estimator"),
        batch,
        # Rows that are read part by part are read by all processors, or workers, at once.
        Execution(1 if samples.is_in_pieces else n_jobs, progress, checkpointed),
        control_request=control,
        given_limits=None if limits is None else _limits_of(prepared, *limits),
        seed=int(rng) if is_whole_number(rng) else None,
    )
    with checkpointed.opened():
        first = _first_round(run, influence, chosen, interval, budget)
        _check_control(control, first)
        if first.estimator.uses_control:
            first = first._replace(run=first.run.with_control())
        # Warn before the simulation, so that the user can interrupt it.
        for warning in first.warnings:
            emit(warning)
        replicates, unmet = _simulated(first, budget)
    _check_weights_matter(first.run, replicates)
    name, standing = first.estimator.name, first.warnings
    reading = (name, method, confidence_level, alternative)
    result = Result(first.run, replicates, *reading, (), standing, simultaneous=simultaneous)
    trial_warnings = _trials(first, replicates, labels.groups)
    # Mostly there are none, and the run keeps what it has found out about the linear part.
    if trial_warnings:
        result = replace(result, run=replace(first.run, trial_warnings=trial_warnings))
    return reported(result, unmet, shown=standing)


def _needing_rows(
    interval: Interval, estimator: Estimator, options: dict[str, Any], influence: Any, *, grouped: bool
) -> dict[str, Any]:
    """Return the options of the call for which all rows must be at hand; of groups their totals are."""
    needing = {name: value for name, value in options.items() if value is not None}
    if not (isinstance(influence, str) and influence == "auto"):
        needing["influence"] = influence
    if interval.needs_influence_of_resamples:
        needing["method"] = interval.name
    if estimator.needs_influence and interval.needs_linear_law and not grouped:
        needing["method"] = interval.name
    return needing


def _limits_of(prepared: Prepared[Any], low: float, high: float) -> tuple[FloatArray, FloatArray]:
    """Return the limits of each output; raise if the statistic does not lie between them on the data."""
    outside = ~((prepared.estimate > low) & (prepared.estimate < high))
    if outside.any():
        worst = int(np.argmax(outside))
        raise ArgumentError(
            f"`transform` is for values between {low:g} and {high:g}, and `{prepared.output.names[worst]}` is "
            f"{prepared.estimate[worst]:.6g} on the data. Use other limits, or no transform."
        )
    return np.full(len(prepared.estimate), low), np.full(len(prepared.estimate), high)


def _check_execution(n_jobs: Any, progress: Any) -> None:
    checked_jobs(n_jobs)
    if progress is not None and not isinstance(progress, bool):
        raise ArgumentError(f"`progress` must be True, False or None; got {progress!r}.")


def _check_control(control: str, first: _FirstRound) -> None:
    """Raise if a control is asked for that the estimator does not use."""
    if control in ("auto", "linear") or first.estimator.uses_control:
        return
    found = first.run.influence_function
    why = f"; influence function: {found.source}" if found.values is None else ""
    raise ArgumentError(
        f'control="{control}" is for estimator="orthogonal", and this run uses {first.estimator.name!r}{why}. Use '
        'control="auto".'
    )


def _plan_options(statistic: Any, samples: Data, given: dict[str, Any]) -> dict[str, Any]:
    """Return how the rows are drawn: as the user says, else as the statistic does, which may know of groups."""
    is_given = any(option is not None for option in given.values())
    return given if is_given or not isinstance(statistic, Functional) else statistic.plan_options(samples)


def _check_finite(prepared: Prepared[Any]) -> None:
    if not np.isfinite(prepared.estimate).all():
        raise StatisticError(f"`statistic` must be finite on the data; got {prepared.estimate.tolist()}.")


class _FirstRound(NamedTuple):
    """The state of a run before the first check of the simulation error."""

    run: Run
    estimator: Estimator
    replicates: Replicates
    more: int
    """How many replicates are to be drawn before that."""
    free: int = 0
    """How many cost next to nothing, and are worth it where those leave a remainder."""
    warnings: tuple[OrthobootWarning, ...] = ()


def _first_round(run: Run, influence: Any, chosen: Estimator, interval: Interval, budget: Budget) -> _FirstRound:
    """Return the run with its influence function, and the estimator that this allows."""
    regression = requested_regression(influence)
    if interval.needs_influence_of_resamples:
        check_of_resamples(f"method={interval.name!r}", influence, run.prepared)
    if regression is not None:
        design = design_for(regression, run.data, run.plan)
        fitted, replicates = regressed(run, design, budget.fitting_round(interval, chosen, design))
        return _FirstRound(fitted, chosen, replicates, more=0)
    found = _found(run, influence, chosen, interval, budget)
    run = run.with_influence(found)
    usable = _usable(chosen, interval, found)
    if usable is not chosen:
        interval.check(run.functional, run.plan, usable)
        budget.check_for(interval, usable)
    more = budget.first_round(interval, usable)
    fallback = () if usable is chosen else (_fallback(chosen, found, budget, more),)
    free = budget.free_resamples(usable, run.prepared.work)
    return _FirstRound(run, usable, no_replicates(run), more, free, (*found.warnings, *fallback))


def _found(run: Run, influence: Any, estimator: Estimator, interval: Interval, budget: Budget) -> InfluenceFunction:
    """Return the influence function; compute it by extra evaluations only if the estimator needs it.

    Where the standard bootstrap could do without, none is found that costs more than its replicates.
    """
    automatic = isinstance(influence, str) and influence == "auto"
    if automatic and not (estimator.needs_influence or interval.needs_influence):
        own = closed_form(run.prepared, run.execution)
        return run.influence_function if own is None else own
    required = interval.needs_influence or not estimator.simulates
    found = run.find_influence(influence, None if required else budget.ordinary_replicates)
    return found if interval.needs_influence_of_resamples else found.to_keep()


def _usable(estimator: Estimator, interval: Interval, found: InfluenceFunction) -> Estimator:
    """Return the estimator that the influence function allows: the standard one where there is none."""
    if found.values is not None:
        return estimator
    if interval.needs_influence or not estimator.simulates:
        asker = f"method={interval.name!r}" if interval.needs_influence else f"estimator={estimator.name!r}"
        raise InfluenceError(f"{asker} needs an influence function, and there is {found.source}.")
    return ESTIMATORS["standard"] if estimator.needs_influence else estimator


def _fallback(estimator: Estimator, found: InfluenceFunction, budget: Budget, n_resamples: int) -> OrthobootWarning:
    # Who has asked for a number knows it, and may ask for more later.
    cost = f", with {n_resamples:,} evaluations of the statistic" if budget.n_resamples is None else ""
    return FallbackWarning(
        f"the standard bootstrap is used instead of estimator={estimator.name!r}{cost}; influence function: "
        f"{found.source}." + (f" {found.advice}" if found.advice else "")
    )


def _simulated(first: _FirstRound, budget: Budget) -> tuple[Replicates, tuple[OrthobootWarning, ...]]:
    """Return the replicates, and a warning if they do not reach the tolerance."""
    replicates = _drawn(first, first.replicates, first.more)
    if _has_remainder(replicates):
        replicates = _drawn(first, replicates, first.free - replicates.n_drawn)
    while budget.tol is not None and not replicates.interrupted:
        error, by_draws = _relative_errors(first, replicates)
        likely = error * (_MARGIN + _CAUTION / math.sqrt(len(replicates)))
        more = min(_further_round(replicates.n_drawn, likely / budget.tol), budget.max_resamples - replicates.n_drawn)
        if likely <= budget.tol and (more <= 0 or _is_confirmed(first.run, replicates, error)):
            break
        if by_draws > budget.tol:
            return replicates, (_limited_by_draws(by_draws, replicates, budget),)
        if more <= 0:
            return replicates, (_unmet(error, replicates, budget),)
        replicates = _drawn(first, replicates, more)
    return replicates, ()


def _is_confirmed(run: Run, replicates: Replicates, error: float) -> bool:
    """Return whether a small error is no luck: replicates or rows are enough, or nothing beyond rounding is left."""
    n_units = min(scheme.n_units for scheme in run.plan.schemes)
    return len(replicates) >= _CONFIRMING or n_units >= FEW_ROWS or error < _REMAINDER


def _drawn(first: _FirstRound, replicates: Replicates, more: int) -> Replicates:
    """Return the replicates with so many more; raise if they are too few for any answer."""
    if more > 0 and not replicates.interrupted:
        replicates = extended(first.run, replicates, more, partial(progress_note, first.run, first.estimator))
    _check_enough(first.estimator, replicates)
    return replicates


def _has_remainder(replicates: Replicates) -> bool:
    """Return whether the replicates are more than their linear parts: those of a mean are not."""
    if replicates.linear is None:
        return True
    remainder = np.abs(replicates.values - replicates.estimate - replicates.linear).max(axis=0, initial=0.0)
    return bool((remainder > _REMAINDER * np.abs(replicates.linear).max(axis=0, initial=0.0)).any())


def _trials(first: _FirstRound, replicates: Replicates, groups: Any) -> tuple[OrthobootWarning, ...]:
    """Return warnings from a few more evaluations; Ctrl-C there, or before, keeps the replicates."""
    run, found = first.run, list[OrthobootWarning]()
    if replicates.interrupted or not run.functional.by_user or run.data.is_in_pieces:
        return ()
    standard_error = Estimation(run, replicates, first.estimator).standard_error
    try:
        found += row_order_finding(run.prepared, run.plan, standard_error)
        # A function of the order of rows is another on the rows of a resample for that alone.
        if not found:
            found += unweighted_parts_finding(run.prepared, standard_error)
        found += merged_groups_finding(run.prepared, run.plan, run.key, groups, standard_error)
        found += group_values_finding(run.prepared, standard_error)
        found += repeated_labels_finding(run.prepared, run.plan, run.key)
    except KeyboardInterrupt:
        found.append(
            InterruptedWarning(
                "interrupted after the last replicate, while the statistic was tried on other rows: the result is "
                "complete, but some of its checks were not made."
            )
        )
    return tuple(found)


def _relative_errors(first: _FirstRound, replicates: Replicates) -> tuple[float, float]:
    """Return the largest relative simulation error of a standard error, and the part that the draws of a control have.

    Infinite where it is not known: replicates that are all equal although the output varies know nothing of it.
    """
    estimation = Estimation(first.run, replicates, first.estimator)
    sums = estimation.moments
    if ((sums.total == 0) & ((sums.control_variance > 0) | (sums.shift != 0))).any():
        return math.inf, 0.0
    error = float(np.max(estimation.error.relative_standard_error))
    by_draws = float(np.max(estimation.error.log_variance_by_draws)) / 2
    return (math.inf, 0.0) if math.isnan(error) else (error, by_draws)


def _further_round(n_resamples: int, excess: float) -> int:
    """Return how many more replicates to draw, by the error's 1/sqrt(B) decay: at least ten, at most as many again."""
    wanted = n_resamples * (min(excess, 2.0) ** 2 - 1)
    return max(min(math.ceil(wanted), n_resamples), FIRST_ROUND)


def _limited_by_draws(by_draws: float, replicates: Replicates, budget: Budget) -> OrthobootWarning:
    return ToleranceWarning(
        f"after {replicates.n_drawn} replicates the relative simulation error of the standard error is {by_draws:.2g} "
        f"by the draws of the surrogate alone, above tol = {budget.tol:g}, and more replicates do not change that. "
        'Raise `tol`, or use control="linear".'
    )


def _unmet(error: float, replicates: Replicates, budget: Budget) -> OrthobootWarning:
    assert budget.tol is not None
    how = "above" if error > budget.tol else "too near to"
    return ToleranceWarning(
        f"after {replicates.n_drawn} replicates the relative simulation error of the standard error is still "
        f"{error:.2g}, {how} tol = {budget.tol:g}; max_resamples = {budget.max_resamples}. Raise one of the two."
    )


def _check_enough(estimator: Estimator, replicates: Replicates) -> None:
    """Raise if an interrupted or failing run has too few replicates for any answer."""
    if len(replicates) < estimator.minimum:
        if replicates.interrupted:
            raise KeyboardInterrupt
        cause = f"The first failure was: {replicates.first_failure}."
        got = f"only {len(replicates)} of {replicates.n_drawn} succeeded"
        raise StatisticError(too_few_replicates(f"estimator={estimator.name!r}", estimator.minimum, got, cause))


def _check_weights_matter(run: Run, replicates: Replicates) -> None:
    """Raise if an output never changes because the statistic ignores its weights."""
    if len(replicates):
        still = (replicates.values == replicates.estimate).all(axis=0)
    else:
        still = np.asarray(run.in_units.linear_variance == 0)
    if not still.any():
        return
    resamples = run.plan.resamples(run.key, range(_TRIAL_RESAMPLES))
    found = ignored_weights(run.prepared, resamples)
    if found is None:
        return
    first = int(np.argmax(found.ignored))
    whose = "" if run.output.is_scalar else f" for `{run.output.names[first]}`"
    raise StatisticError(
        f"`statistic` ignores its `weights`{whose}: with the counts of a resample as weights it stays at "
        f"{replicates.estimate[first]:.6g}, but on the rows of that resample it is {found.taken[first]:.6g}. Count "
        "each row with its weight, as `np.average(x, weights=weights)` does, or leave out the `weights` parameter: "
        "the statistic then gets resampled rows."
    )
