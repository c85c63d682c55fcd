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
"""A remainder beyond the linear part that is larger than rounding, relative to the largest linear part."""

_CAUTION = 3.0
"""An error from B replicates has a relative error of about 1/sqrt(B); this many of these are added as a margin.

Otherwise runs stop where the reported error is small by luck, and the true error is above `tol` on average.
"""

_MARGIN = 1.15
"""A further margin for any number of replicates: each round is another chance to stop too early."""

_CONFIRMING = 20
"""Least replicates of few rows to meet a tolerance: ten sometimes follow the linear part by luck."""

_TRIAL_RESAMPLES = 10
"""Number of resamples on which a constant statistic is tried; a few might leave it unchanged by chance."""


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
    """Return the bias, standard error and confidence interval of a statistic, with their simulation errors.

    A replicate is the sum of a part that is linear in the resample, known in closed form from the influence function,
    and a small remainder; only the remainder is simulated (``alg:cap``, ``alg:varestimateob``,
    ``alg:ciconstructionob``)::

        phi_b ~= phi_hat + linear_b,   linear_b = sum_i (1/n_i) weights_i . influence_i

    Parameters
    ----------
    data
        One sample: an array with rows first, a list of numbers, a series or a frame (pandas, polars, pyarrow). Or a
        sequence of samples, independent and of any sizes unless `paired`. Data that do not fit in memory are read part
        by part if the statistic can be computed from sums: a memory-mapped array, a dask array or frame, a polars scan,
        a pyarrow dataset, a DuckDB relation.
    statistic
        An entry of the catalogue (``ob.variance``, ``ob.quantile(0.9)``, ...), or a function. ``statistic(*samples)``
        gets resampled rows, as a frame if you passed one. With an `axis` parameter it gets a batch of resamples as
        arrays, rows on the last axis, as in scipy. With a `weights` parameter it gets the data once, read-only, and the
        count of each row (a tuple of counts for several samples). It returns a number, an array, or a dict of these.
        ``np.mean``, ``np.var``, ``np.std`` and ``np.median`` are replaced by their catalogue entries, which work on
        each column.
    n_resamples
        Number of replicates. The default is 10 for "orthogonal", "paper" and "cheap", and 1000 for "standard" and
        without an influence function. "orthogonal" uses more where replicates are computed together, as for sums, ranks
        and regressions of the catalogue: 4,000,000 divided by the number of rows, at most 2000. It also uses more for a
        function whose influence function is found by finite differences or the jackknife: as many as these take
        evaluations, at least 10 and at most 200. "jackknife" uses none; replicates requested with it are kept for
        `with_estimator`.
    tol
        Add replicates, starting from `n_resamples`, until the relative simulation error of the standard error is below
        `tol`, with a safety margin, since an error from few replicates is itself rough.
    max_resamples
        The largest number of replicates with `tol`.
    confidence_level
        In (0, 1).
    method
        "auto", "normal", "t", "abc", "percentile", "basic", "bca" or "studentized". "percentile", "basic" and "bca"
        need 5 replicates if the estimator uses an influence function, and 200 otherwise. "studentized" (bootstrap-t)
        needs 200, uses 1000 by default, and computes the influence function of every resample: from the catalogue, from
        functions in jax or torch, or from a function passed as `influence`. "auto" chooses the best that the run
        supports, which the result names: BCa where many replicates or a surrogate show the tails, percentiles for
        dependent rows, ABC for a smooth statistic that follows its linear part, and otherwise the normal interval,
        within the range of the statistic.
    alternative
        "two-sided"; "less" for an upper bound, "greater" for a lower bound, as in scipy.
    transform
        The scale of the interval, for a statistic with a limited range: "log" for positive values, "logit" for
        proportions, "fisher" for correlations, or the limits ``(low, high)``. Normal and t intervals are computed on
        that scale, and the others stay within the limits. Statistics of the catalogue know their range; "auto" uses it.
    simultaneous
        Whether the intervals of all outputs hold jointly with `confidence_level`: each has the higher level at which
        the largest of all standardised outputs, normal with their correlations, stays inside. Needs the covariance
        matrix.
    estimator
        "orthogonal", "paper", "standard", "cheap" or "jackknife".
    influence
        How the influence function is found:

        - "auto": the statistic's own. Otherwise, for a function with `weights`, its derivative if it is written in jax
          or torch, or else finite differences (two evaluations per row) or the jackknife (one per row); for a plain
          function, the jackknife. If these would take more evaluations than the 1000 replicates of the standard
          bootstrap (or `n_resamples`, if that is more), the standard bootstrap is used. With `groups`, groups take the
          place of rows.
        - "jax" or "torch": automatic differentiation of a function with `weights` written in that library.
        - "finite-difference" or "jackknife": this engine.
        - "regression": one value per row, fitted to the replicates, 1000 by default and at least 1.5 times the number
          of rows. `regression_on` fits a few features of the rows instead, with a few more replicates than features.
        - Values ``(n,)`` or ``(n, k)``, a tuple of these for several samples, or a function of the samples that returns
          them.
    control
        The approximation of a replicate that is computed instead of simulated, for estimator="orthogonal". "linear":
        the linear part. "quadratic": the quadratic part as well, for smooth functions of means. "surrogate": a few
        Newton steps, for fitted models and constrained optima, drawn 2000 times and corrected by the replicates.
        "auto": one of these where it costs little, with fewer draws for large models. A control is weighted by how
        close it is to the replicates.
    paired
        Whether the rows of several samples belong together and are drawn together.
    strata
        Labels of the rows, or the name of a column with them; each stratum is resampled within itself. For several
        samples a tuple.
    groups
        Labels of the rows; whole groups are drawn. For several samples a tuple. The name of a column of the data frame
        means that this column holds only labels: in the rows that your function gets, a group that is drawn twice is
        two groups with different labels. A statsmodels fit with clustered standard errors uses its own groups if
        `strata`, `groups` and `block_length` are all None.
    block_length
        Length of the blocks of a time series, which are drawn whole. For several samples a tuple. "auto" finds it from
        the autocorrelations of the data, sample by sample, by the rule of Politis and White (2004), corrected by
        Patton, Politis and White (2009): the largest over the columns, in whole rows. `Result.block_length` reports it.
    block_kind
        "circular", "moving", or "stationary", for which `block_length` is the mean of random lengths.
    vectorized
        Whether `statistic` takes batches; None looks for an `axis` parameter.
    batch
        Number of resamples in memory at once; the result does not depend on it.
    n_jobs
        Number of jobs for the replicates and for the evaluations of an engine; -1 for one per core. Statistics in
        compiled code run in threads, Python functions and models in processes; `joblib.parallel_config` selects another
        backend, such as Dask's. The result does not depend on it. None: one, or the setting of
        `joblib.parallel_config`.
    checkpoint
        A file that stores every finished replicate, for runs of hours: the same call resumes a run that was killed, and
        ends with the same numbers. A file from other data, another statistic, plan or seed raises an error; with
        ``rng=None`` the seed of the file is used.
    progress
        Whether to show a progress bar; None shows it on a terminal if the work takes long and tqdm is installed.
    rng
        None, a whole number, a SeedSequence or a Generator. Replicate b depends only on the seed and b.

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
    # Without warnings, keep the run with its cached results on the linear part.
    if trial_warnings:
        result = replace(result, run=replace(first.run, trial_warnings=trial_warnings))
    return reported(result, unmet, shown=standing)


def _needing_rows(
    interval: Interval, estimator: Estimator, options: dict[str, Any], influence: Any, *, grouped: bool
) -> dict[str, Any]:
    """Return the options that need all rows in memory; for groups their totals are enough."""
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
    """Return how the rows are drawn: as the user says, or as the statistic does, which may have its own groups."""
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
    """Number of replicates to draw before it."""
    free: int = 0
    """Number of replicates that cost next to nothing, drawn if the first ones have a remainder."""
    warnings: tuple[OrthobootWarning, ...] = ()


def _first_round(run: Run, influence: Any, chosen: Estimator, interval: Interval, budget: Budget) -> _FirstRound:
    """Return the run with its influence function, and the estimator that can be used."""
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
    more = budget.first_round(interval, usable, found.evaluations)
    fallback = () if usable is chosen else (_fallback(chosen, found, budget, more),)
    free = budget.free_resamples(usable, run.prepared.work)
    return _FirstRound(run, usable, no_replicates(run), more, free, (*found.warnings, *fallback))


def _found(run: Run, influence: Any, estimator: Estimator, interval: Interval, budget: Budget) -> InfluenceFunction:
    """Return the influence function; compute it by extra evaluations only if the estimator needs it.

    If the standard bootstrap can be used instead, it may cost no more evaluations than its replicates.
    """
    automatic = isinstance(influence, str) and influence == "auto"
    if automatic and not (estimator.needs_influence or interval.needs_influence):
        own = closed_form(run.prepared, run.execution)
        return run.influence_function if own is None else own
    required = interval.needs_influence or not estimator.simulates
    found = run.find_influence(influence, None if required else budget.ordinary_replicates)
    return found if interval.needs_influence_of_resamples else found.to_keep()


def _usable(estimator: Estimator, interval: Interval, found: InfluenceFunction) -> Estimator:
    """Return the estimator that can be used: the standard one if there is no influence function."""
    if found.values is not None:
        return estimator
    if interval.needs_influence or not estimator.simulates:
        asker = f"method={interval.name!r}" if interval.needs_influence else f"estimator={estimator.name!r}"
        raise InfluenceError(f"{asker} needs an influence function, and there is {found.source}.")
    return ESTIMATORS["standard"] if estimator.needs_influence else estimator


def _fallback(estimator: Estimator, found: InfluenceFunction, budget: Budget, n_resamples: int) -> OrthobootWarning:
    # A number that the user asked for need not be repeated.
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
    """Return whether a small error can be trusted: enough replicates or rows, or only rounding is left."""
    n_units = min(scheme.n_units for scheme in run.plan.schemes)
    return len(replicates) >= _CONFIRMING or n_units >= FEW_ROWS or error < _REMAINDER


def _drawn(first: _FirstRound, replicates: Replicates, more: int) -> Replicates:
    """Return the replicates with `more` added; raise if they are too few for any answer."""
    if more > 0 and not replicates.interrupted:
        replicates = extended(first.run, replicates, more, partial(progress_note, first.run, first.estimator))
    _check_enough(first.estimator, replicates)
    return replicates


def _has_remainder(replicates: Replicates) -> bool:
    """Return whether the replicates differ from their linear parts: those of a mean do not."""
    if replicates.linear is None:
        return True
    remainder = np.abs(replicates.values - replicates.estimate - replicates.linear).max(axis=0, initial=0.0)
    return bool((remainder > _REMAINDER * np.abs(replicates.linear).max(axis=0, initial=0.0)).any())


def _trials(first: _FirstRound, replicates: Replicates, groups: Any) -> tuple[OrthobootWarning, ...]:
    """Return warnings from a few more evaluations; Ctrl-C during or before them keeps the replicates."""
    run, found = first.run, list[OrthobootWarning]()
    if replicates.interrupted or not run.functional.by_user or run.data.is_in_pieces:
        return ()
    standard_error = Estimation(run, replicates, first.estimator).standard_error
    try:
        found += row_order_finding(run.prepared, run.plan, standard_error)
        # A function that depends on the order of rows changes on the rows of a resample for that reason alone.
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
    """Return the largest relative simulation error of a standard error, and the part due to the draws of a control.

    Infinite if unknown: all replicates are equal although the output varies.
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
    how = "above" if error > budget.tol else "within the safety margin of"
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
