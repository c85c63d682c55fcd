"""`input_uncertainty`: validate, simulate, estimate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from orthoboot.arguments import (
    checked_confidence_level,
    checked_count,
    checked_jobs,
    checked_tolerance,
    checked_transform,
)
from orthoboot.draws.random_counts import is_whole_number
from orthoboot.errors import ArgumentError, OrthobootWarning, ToleranceWarning, emit
from orthoboot.execution.execution import Execution
from orthoboot.execution.identity import checkpoint_key, checkpoint_of
from orthoboot.presentation.simulation_answer import Call
from orthoboot.simulators.diagnostics import input_warnings, with_warnings
from orthoboot.simulators.estimation import Estimation
from orthoboot.simulators.experiment import Outcome, extended, simulated
from orthoboot.simulators.inputs import read_inputs
from orthoboot.simulators.models import ArrayModel, Model, model_for
from orthoboot.simulators.runs import Experiment, check_unchanged, ignored_inputs, trial
from orthoboot.simulators.uncertainty import InputUncertainty, relative_error, within_limits

_DEFAULT_RUNS = 10_000
_DEFAULT_SLOW_RUNS = 2_000
"""Of models that are called once for each run."""
_DEFAULT_LEVEL = 0.95
_FIRST_ROUND = 2_000
_LEAST_RUNS = 50
_ROUNDS_MET = 2
"""Times in turn that a tolerance must be met: an error that is small by luck is not so again. Once for half of it."""
_LEAST_GROWTH = 1.25


def input_uncertainty(
    run: Callable[..., Any],
    inputs: Any,
    *,
    horizon: Any = None,
    n_runs: int | None = None,
    tol: float | None = None,
    max_runs: int = 100_000,
    confidence_level: float = 0.95,
    transform: Any = None,
    vectorized: bool | None = None,
    n_jobs: int | None = None,
    checkpoint: Any = None,
    progress: bool | None = None,
    rng: Any = None,
) -> InputUncertainty:
    r"""Return the uncertainty of a simulation estimate that comes from estimating its inputs from data.

    A simulation estimates :math:`\phi(F_1, \ldots, F_m) = E\,Y`, the mean output of a run whose draws come from the
    distributions F_i. Each F_i is known only from n_i rows of data, so another sample would give another estimate,
    however many runs are made. The influence of row j of input i on the estimate is

    .. math:: I_{ij} = E[Y (n_i N_{ij} - T_i)],

    with N_ij the number of times that a run draws the row, and T_i the number of all its draws of the input. One set of
    runs at the data gives the influence of all rows, and so the input variance :math:`\sum_i \sum_j I_{ij}^2 / n_i^2`.
    Regression on features of the rows removes its noise; products of features give the bias and the second order. Where
    that is not enough, some of the runs are repeated under resamples of the data; `regime` says so.

    Parameters
    ----------
    run
        The model, in one of two forms. ``run(arrival, service)`` has one parameter per input, by name. Each is an array
        of draws ``(R, T)``, R runs of T draws each, and the function returns R outputs: an array ``(R,)`` or
        ``(R, k)``, or a dict of these. It may return a pair ``(outputs, {"service": used})`` with the number of draws
        of an input that each run used, shape ``(R,)``; later draws then have no influence, which reduces the noise.
        ``run(draw)`` is called once per run and takes as many draws as it needs, one by one, as ``draw.service()``; use
        it for models in SimPy. In both forms a parameter `rng` gets a ``numpy.random.Generator`` for further
        randomness. The output must depend only on the draws and `rng`.
    inputs
        A dict of the data of each input by name: numbers, a series, an array, or a frame whose rows are drawn together;
        an array ``(n, d)`` gives draws ``(R, T, d)``, a frame a dict of ``(R, T)`` by column. Or `ob.fitted` for a
        distribution fitted to data, or `ob.input` for rows in strata or groups or for a time series. Otherwise the rows
        of an input are assumed independent, as are the inputs.
    horizon
        The number of draws of each input per run, or a dict by input. ``run(draw)`` does not need it; if it is given,
        drawing more raises an error.
    n_runs
        The total number of runs; by default 10,000, or 2,000 for a model that is called once per run. A model that
        takes arrays and `rng` is simulated in whole batches, so that the number is rounded up to batches of up to 250.
    tol
        The target for the relative simulation error of `input_error`: runs are added until it is reached, up to
        `max_runs`.
    max_runs
        With `tol`, the maximum number of runs.
    confidence_level
        The level of the interval.
    transform
        The scale of the interval, if the estimate has limits: "log" for positive values, "logit" for shares, or the
        limits ``(low, high)`` themselves. By default outputs that are 0 in some runs, 1 in others and never outside are
        treated as shares, so that the interval of a probability stays between 0 and 1.
    vectorized
        False for a ``run(arrival, service)`` that simulates one run and takes arrays ``(T,)``.
    n_jobs
        The number of processes that share the runs; the results do not depend on it.
    checkpoint
        A file for the finished runs, so that an interrupted computation resumes and gives the same results.
    progress
        Whether to show a progress bar; None shows it on a terminal when the work takes long and tqdm is installed.
    rng
        None, a whole number, a SeedSequence or a Generator. Draw t of an input in run r depends only on the seed, the
        input, r and t.

    Returns
    -------
    InputUncertainty

    References
    ----------
    Barton, R. R., Lam, H. and Song, E. (2022). Input uncertainty in stochastic simulation. The Palgrave Handbook of
    Operations Research, 573-620.

    Lam, H. and Qian, H. (2022). Subsampling to enhance efficiency in input uncertainty quantification. Operations
    Research 70, 1891-1913.

    Examples
    --------
    The mean waiting time of the first ten customers of a queue:

    >>> import numpy as np
    >>> import orthoboot as ob
    >>> def mean_wait(arrival, service):
    ...     wait = total = np.zeros(len(arrival))
    ...     for t in range(arrival.shape[1] - 1):
    ...         wait = np.maximum(wait + service[:, t] - arrival[:, t], 0)
    ...         total = total + wait
    ...     return total / arrival.shape[1]
    >>> data = np.random.default_rng(0)
    >>> inputs = {"arrival": data.exponential(1.0, 200), "service": data.exponential(0.8, 200)}
    >>> result = ob.input_uncertainty(mean_wait, inputs, horizon=10, n_runs=2000, rng=0)
    >>> bool(result.input_error > 5 * result.run_error), result.regime
    (True, 'base runs')
    >>> max(result.contributions, key=result.contributions.get)
    'service'
    """
    level = checked_confidence_level(confidence_level)
    wanted = None if tol is None else checked_tolerance(tol)
    most = checked_count("max_runs", max_runs, least=_LEAST_RUNS)
    if n_runs is not None:
        n_runs = checked_count("n_runs", n_runs, least=_LEAST_RUNS)
    limits = checked_transform(transform)
    checked_jobs(n_jobs)
    if progress is not None and not isinstance(progress, bool):
        raise ArgumentError(f"`progress` must be True, False or None; got {progress!r}.")
    key = checkpoint_key(checkpoint, rng)
    read = read_inputs(inputs)
    model = model_for(run, read, horizon, vectorized)
    output, first = trial(model, read, key)
    identity = {"model": model.function, "inputs": read, "horizon": (type(model).__name__, model.horizon)}
    execution = Execution(n_jobs, progress, checkpoint_of(checkpoint, identity, first, key))
    experiment = Experiment(read, model, key, output, execution)
    standing = input_warnings(experiment)
    for warning in standing:
        emit(warning)
    with execution.checkpoint.opened():
        outcome, unmet = _simulated(experiment, _first_runs(model, n_runs, wanted, most), wanted, most)
    ignored = () if outcome.interrupted else _checked_model(experiment, outcome.estimation)
    estimation = within_limits(outcome.estimation, limits)
    asked = {"n_runs": n_runs, "tol": wanted, "max_runs": most if wanted else None, "transform": transform}
    asked |= {"confidence_level": level if level != _DEFAULT_LEVEL else None, "vectorized": vectorized}
    seed = int(rng) if is_whole_number(rng) else None
    call = _call(horizon=_horizon(model), **asked, rng=seed)
    result = InputUncertainty(estimation, level, output, (), outcome.interrupted, call)
    return with_warnings(result, (*ignored, *unmet), shown=standing)


def _checked_model(experiment: Experiment, estimation: Estimation) -> tuple[OrthobootWarning, ...]:
    """Return warnings about inputs without effect; raise if runs depend on one another. Ctrl-C skips both."""
    runs = estimation.records.runs
    try:
        check_unchanged(experiment, runs)
        if len(experiment.inputs) == 1 and not experiment.model.takes_rng and estimation.records.vary:
            return ()
        return ignored_inputs(experiment, runs, estimation.may_have_no_effect)
    except KeyboardInterrupt:
        return ()


def _call(**options: Any) -> Call:
    """Return the call with the options that were given."""
    return Call(tuple((name, value) for name, value in options.items() if value is not None))


def _horizon(model: Model) -> Any:
    """Return the horizon as it is written: one number where all inputs have the same."""
    sizes = dict(zip(model.names, model.horizon, strict=True))
    given = {name: size for name, size in sizes.items() if size is not None}
    same = len(given) == len(sizes) and len(set(given.values())) == 1
    return next(iter(given.values())) if same else given or None


def _first_runs(model: Model, n_runs: int | None, tol: float | None, most: int) -> int:
    """Return how many runs are made before the simulation error is looked at."""
    if n_runs is not None:
        return n_runs
    together = isinstance(model, ArrayModel) and model.vectorized
    number = _DEFAULT_RUNS if together else _DEFAULT_SLOW_RUNS
    return number if tol is None else min(_FIRST_ROUND, most)


def _simulated(
    experiment: Experiment, n_runs: int, tol: float | None, most: int
) -> tuple[Outcome, tuple[OrthobootWarning, ...]]:
    """Return the outcome of the runs, and a warning if they do not reach the tolerance."""
    outcome = simulated(experiment, n_runs)
    rounds_met = 0
    while tol is not None and not outcome.interrupted:
        relative, done = float(np.max(relative_error(outcome.estimation))), outcome.estimation.records.n_runs
        rounds_met = rounds_met + 1 if relative <= tol else 0
        if rounds_met == _ROUNDS_MET or relative <= tol / 2 or (rounds_met and done >= most):
            break
        before = done
        goal = min(int(done * np.clip((relative / tol) ** 2, _LEAST_GROWTH, 2.0)), most)
        if goal > done:
            outcome = extended(outcome, goal)
        if outcome.estimation.records.n_runs <= before:
            return outcome, (
                ToleranceWarning(
                    f"after {done:,} runs the relative simulation error of the input error is still {relative:.2g}, "
                    f"above tol = {tol:g}; max_runs = {most:,}. Raise one of the two."
                ),
            )
    return outcome, ()
