"""How many runs are spent on what: a pilot, the choice of the regime, and rounds until a tolerance is met."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from orthoboot.simulators.design import design_of
from orthoboot.simulators.estimation import LARGE_SHARE, SMALL_SHARE, Estimation, Records, Regime
from orthoboot.simulators.runs import Experiment

_PILOT = 0.2
"""Share of the runs that shows whether any expansion about the data is of use."""
_THIRD = 1 / 3
"""Share that shows how much of the variance is of second order."""
_LEAST_PILOT = 100

WORTH = 3.0
"""Resamples are worth their runs where their error is below so many times the share of the second order."""

_PENDING = Regime("base runs", "not decided yet")


@dataclass(frozen=True)
class Outcome:
    """The estimation after a round, and whether Ctrl-C ended it."""

    estimation: Estimation
    interrupted: bool


def simulated(experiment: Experiment, n_runs: int) -> Outcome:
    """Return the estimation from about `n_runs` runs.

    A fifth of them at the data shows whether the noise of a run is below the input variance, or the second order most
    of it: then the rest are two-layer, runs under resamples. Else a third of them at the data show the share of the
    second order: below three percent the others are at the data too, otherwise under resamples.
    """
    outcome = _at_data(experiment, min(max(int(_PILOT * n_runs), _LEAST_PILOT), n_runs), None)
    layered = _two_layer_reason(outcome.estimation)
    if layered and not outcome.interrupted and n_runs >= 2 * _LEAST_PILOT:
        return _under_resamples(outcome, n_runs, Regime("two-layer", layered))
    if not outcome.interrupted:
        outcome = _at_data(experiment, max(int(_THIRD * n_runs), len(outcome.estimation.records.runs)), outcome)
    reason = _resample_reason(outcome.estimation, n_runs)
    if reason and not outcome.interrupted and n_runs >= 2 * _LEAST_PILOT:
        return _under_resamples(outcome, n_runs, Regime("resamples", reason))
    if not outcome.interrupted:
        outcome = _at_data(experiment, n_runs, outcome)
    return _of_base(outcome)


def extended(outcome: Outcome, n_runs: int) -> Outcome:
    """Return the estimation after about `n_runs` runs in all, in the same regime."""
    regime = outcome.estimation.regime
    if regime.name == "base runs":
        experiment = outcome.estimation.records.experiment
        return _of_base(_at_data(experiment, n_runs, outcome))
    return _under_resamples(outcome, n_runs, regime)


def _at_data(experiment: Experiment, n_runs: int, before: Outcome | None) -> Outcome:
    """Return the estimation with so many runs at the data."""
    known = None if before is None else before.estimation.records
    runs, interrupted = experiment.base_runs(experiment.run_count(n_runs), None if known is None else known.runs)
    if len(runs) < 2:
        raise KeyboardInterrupt
    design = design_of(experiment, runs, None if known is None else known.design)
    return Outcome(Estimation(Records(experiment, runs, design), _PENDING), interrupted)


def _of_base(outcome: Outcome) -> Outcome:
    share = float(outcome.estimation.second_share.max())
    reason = f"the second order is {share:.1%} of the variance"
    if share >= SMALL_SHARE:
        reason += ", and runs under resamples would be too noisy to tell what is beyond"
    return replace(outcome, estimation=replace(outcome.estimation, regime=Regime("base runs", reason)))


def _under_resamples(outcome: Outcome, n_runs: int, regime: Regime) -> Outcome:
    """Return the estimation with the rest of the runs under resamples, in whole sweeps over the base runs."""
    records = outcome.estimation.records
    n_base = len(records.runs) // 2 * 2
    done = 0 if records.reruns is None else 2 * len(records.reruns) // n_base
    sweeps = max(round((n_runs - len(records.runs)) / n_base), done, 1)
    reruns, interrupted = records.experiment.reruns(n_base, sweeps, records.reruns)
    return Outcome(Estimation(replace(records, reruns=reruns), regime), interrupted)


def _resample_reason(estimation: Estimation, n_runs: int) -> str:
    """Return why runs under resamples are wanted, or nothing: also where they would tell less than they cost."""
    share = estimation.second_share
    error = estimation.resample_error(max((n_runs - len(estimation.records.runs)) // 2, 1))
    useful = (share >= SMALL_SHARE) & (error < WORTH * share)
    if useful.any():
        return f"the second order is {float(share.max()):.0%} of the variance, so that the third may count"
    variance = estimation.formula_variance
    relative = estimation.formula_error / np.where(variance > 0, variance, np.inf)
    at_end = relative * np.sqrt(len(estimation.records.runs) / n_runs)
    if (error < at_end).any():
        return "runs under resamples tell the variance more exactly than as many at the data"
    return ""


def _two_layer_reason(estimation: Estimation) -> str:
    """Return why an expansion about the data is of no use, or nothing."""
    noise, share = float(np.min(estimation.noise_share)), float(estimation.second_share.max())
    if noise < 1:
        return f"the noise of a run has {noise:.2g} times the input variance: runs are long for so few rows"
    if share > LARGE_SHARE:
        return f"the second order is {share:.0%} of the variance"
    return ""
