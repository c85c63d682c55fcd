"""How many runs are spent on what: a pilot, the choice of the regime, and rounds until a tolerance is met."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from orthoboot.simulators.design import design_of
from orthoboot.simulators.estimation import LARGE_SHARE, Estimation, Records, Regime
from orthoboot.simulators.runs import Block, Experiment

_PILOT = 0.2
"""Share of the runs that shows whether any expansion about the data is of use."""
_BASE_SHARE = 1 / 3
"""Share that shows how much of the variance is of second order."""
_LEAST_PILOT = 100
_EXACT = 1e-4
"""Relative error of the variance that needs no resamples."""
_FEWEST_EVENTS = 10
"""Fewer runs in which an event happens, or does not, say little about what it depends on."""

_PENDING = Regime("base runs", "not decided yet")


@dataclass(frozen=True)
class Outcome:
    """The estimation after a round, and whether Ctrl-C ended it."""

    estimation: Estimation
    interrupted: bool


def simulated(experiment: Experiment, n_runs: int) -> Outcome:
    """Return the estimation from about `n_runs` runs.

    A fifth of them at the data shows whether the noise of a run is below the input variance, or the second order most
    of it: then the rest are two-layer, runs under resamples. Else a third of them at the data show how large the noise
    is and what orders are left out: the others are at the data too, or under resamples, whichever leaves less.
    """
    outcome = _at_data(experiment, min(max(int(_PILOT * n_runs), _LEAST_PILOT), n_runs), None)
    may_resample = n_runs >= 2 * _LEAST_PILOT
    reason = _two_layer_reason(outcome.estimation)
    if reason and may_resample and not outcome.interrupted:
        return _under_resamples(outcome, n_runs, Regime("two-layer", reason))
    if not outcome.interrupted:
        outcome = _at_data(experiment, max(int(_BASE_SHARE * n_runs), len(outcome.estimation.records.runs)), outcome)
    if may_resample and not outcome.interrupted:
        if reason := _limit_reason(outcome.estimation):
            return _under_resamples(outcome, n_runs, Regime("two-layer", reason))
        if reason := _resample_reason(outcome.estimation, n_runs):
            return _under_resamples(outcome, n_runs, Regime("resamples", reason))
    if not outcome.interrupted:
        outcome = _at_data(experiment, n_runs, outcome)
    return _of_base(outcome)


def extended(outcome: Outcome, n_runs: int) -> Outcome:
    """Return the estimation after about `n_runs` runs in all; the regime is chosen anew, from all runs at the data."""
    estimation = outcome.estimation
    if reason := _two_layer_reason(estimation):
        return _under_resamples(outcome, n_runs, Regime("two-layer", reason))
    if reason := _resample_reason(estimation, n_runs):
        return _under_resamples(outcome, n_runs, Regime("resamples", reason))
    if estimation.records.reruns is not None:
        return _under_resamples(outcome, n_runs, estimation.regime)
    return _of_base(_at_data(estimation.records.experiment, n_runs, outcome))


def _at_data(experiment: Experiment, n_runs: int, before: Outcome | None) -> Outcome:
    """Return the estimation with so many runs at the data."""
    known = None if before is None else before.estimation.records
    runs, interrupted = experiment.base_runs(experiment.run_count(n_runs), None if known is None else known.runs)
    if len(runs) < 2:
        raise KeyboardInterrupt
    design = design_of(experiment, runs, None if known is None else known.design)
    records = Records(experiment, runs, design) if known is None else replace(known, runs=runs, design=design)
    return Outcome(Estimation(records, _PENDING if before is None else before.estimation.regime), interrupted)


def _of_base(outcome: Outcome) -> Outcome:
    estimation = outcome.estimation
    share = estimation.second_share
    worst = int(np.argmax(share))
    of, found = estimation.of_output(worst), share[worst]
    reason = (
        f"the second order is {found:.1%} of the variance{of}" if found > 0 else "no second order is above its noise"
    )
    if estimation.exceeds_noise[worst]:
        reason += ", and runs under resamples would be too noisy to measure the orders beyond the third"
    return replace(outcome, estimation=replace(estimation, regime=Regime("base runs", reason)))


def _under_resamples(outcome: Outcome, n_runs: int, regime: Regime) -> Outcome:
    """Return the estimation with about `n_runs` runs in all; new ones are in the regime's proportion.

    Base runs that have not been repeated yet, and new ones, are repeated in sweeps: every part of the error falls.
    """
    records = outcome.estimation.records
    experiment = records.experiment
    share = _PILOT if regime.name == "two-layer" else _BASE_SHARE
    covered = 0 if records.reruns is None else records.reruns.covered
    waiting, new = len(records.runs) - covered, max(n_runs - records.n_runs, 1)
    at_data = len(records.runs) + max(int(share * (new + waiting)), 2) - waiting
    if at_data > len(records.runs):
        outcome = _at_data(experiment, at_data, outcome)
        records = outcome.estimation.records
    if outcome.interrupted:
        return _of_base(outcome) if records.reruns is None else replace(outcome, estimation=Estimation(records, regime))
    left = max(n_runs - records.n_runs, 2)
    waiting = len(records.runs) - covered
    sweeps = int(np.clip(round(left / waiting), 1, max(waiting // 2, 1)))
    size = experiment.run_count(max(min(waiting, left // sweeps), 2))
    first = 0 if records.reruns is None else records.reruns.next_resample
    block = Block(covered, covered + min(size, waiting) // 2 * 2, first)
    reruns, interrupted = experiment.reruns(block, sweeps)
    joined = reruns if records.reruns is None else records.reruns.joined(reruns)
    made = Estimation(replace(records, reruns=joined), regime)
    # Ctrl-C may leave too few resamples for a variance.
    return Outcome(made, interrupted) if made.resampled is not None else _of_base(Outcome(made, interrupted))


def _resample_reason(estimation: Estimation, n_runs: int) -> str:
    """Return why runs under resamples are wanted, or nothing: where they would leave a larger error than others."""
    runs = len(estimation.records.runs)
    if reason := _rare_event_reason(estimation):
        return reason
    if max(runs, _BASE_SHARE * n_runs) < estimation.least_runs:
        return ""
    variance = np.where(estimation.formula_variance > 0, estimation.formula_variance, np.inf)
    missing, noise = estimation.missing_orders / variance, estimation.formula_error / variance
    alone = noise**2 * runs / n_runs + missing**2
    formula = noise**2 * min(runs / (_BASE_SHARE * n_runs), 1.0) + missing**2
    # Two errors make one of ``1 / (1/formula + 1/resampled)``; resamples that tell nothing have an infinite one.
    told = 1 / np.maximum(estimation.resample_error(max((n_runs - runs) // 2, 1)) ** 2, np.finfo(float).tiny)
    matters = alone > _EXACT**2
    gain = np.where(matters, formula / (np.where(matters, alone, 1.0) * (1 + formula * told)), np.inf)
    best = int(np.argmin(gain))
    if gain[best] >= 1:
        return ""
    of = estimation.of_output(best)
    if missing[best] ** 2 > noise[best] ** 2 * runs / n_runs:
        share = float(estimation.second_share[best])
        return f"the second order is {share:.0%} of the variance{of}, so orders beyond the third may matter"
    return f"runs under resamples estimate the variance{of} more precisely than as many at the data"


def _rare_event_reason(estimation: Estimation) -> str:
    """Return why the runs at the data say little about an event that happens in nearly all or hardly any of them."""
    outputs = estimation.records.outputs
    events = np.where(((outputs == 0) | (outputs == 1)).all(axis=0), (outputs == 1).sum(axis=0), np.inf)
    rarer = np.minimum(events, len(outputs) - events)
    place = int(np.argmin(np.where(np.isfinite(events), rarer, np.inf)))
    if not np.isfinite(events[place]) or rarer[place] >= _FEWEST_EVENTS:
        return ""
    of, often = estimation.of_output(place), f"{int(events[place]):,} of {len(outputs):,} runs"
    return f"the event{of} happened in {often}, which say little about what it depends on"


def _two_layer_reason(estimation: Estimation) -> str:
    """Return why an expansion about the data is of no use, or nothing."""
    noise, share = estimation.noise_share, estimation.second_share
    quietest, most = int(np.argmin(noise)), int(np.argmax(share))
    if noise[quietest] < 1:
        times, of = f"{float(noise[quietest]):.2g}", estimation.of_output(quietest)
        return f"the variance of a run's output is only {times} times the input variance{of}"
    if share[most] > LARGE_SHARE:
        return f"the second order is {float(share[most]):.0%} of the variance{estimation.of_output(most)}"
    return _limit_reason(estimation)


def _limit_reason(estimation: Estimation) -> str:
    """Return why an expansion of a probability near 0 or 1 is of no use, or nothing."""
    reaches = estimation.reaches_limit
    if not reaches.any():
        return ""
    of = estimation.of_output(int(np.argmax(reaches)))
    return f"the input error reaches as far as a limit of the output{of}, where no expansion holds"
