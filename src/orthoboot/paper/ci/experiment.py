"""Confidence intervals from a few replicates: ``table: ci``, with further methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special

import orthoboot as ob
from orthoboot.paper.ci.problems import METHODS, PROBLEMS, SIZES, Problem
from orthoboot.paper.ci.report import report
from orthoboot.paper.experiment import Arrays, Case, Experiment, Outcomes, Settings
from orthoboot.presentation.report import Report
from orthoboot.typing import FloatArray

_LEVEL = 0.95
_QUANTILE = float(special.ndtri((1 + _LEVEL) / 2))


class ConfidenceIntervals(Experiment):
    """Coverage and width of 95% intervals, for every method on the same data and the same resamples."""

    name = "ci"

    def cases(self, settings: Settings) -> Sequence[Case]:
        """Return the four problems, a thousand data sets of each."""
        return [Case(name, 100 if settings.quick else 1000, together=50) for name in PROBLEMS]

    def repetition(self, case: str, seed: np.random.SeedSequence, settings: Settings) -> Arrays:
        """Return whether each interval of one data set holds the truth, and how wide it is."""
        problem = PROBLEMS[case]
        of_data, of_resamples = seed.spawn(2)
        data = problem.generate(np.random.default_rng(of_data))
        ends = _ends(data, problem, of_resamples)
        # An interval without an answer has ends of NaN, and holds nothing.
        covered = (ends[:, 0] <= problem.truth) & (problem.truth <= ends[:, 1])
        return {"covered": covered.astype(float), "width": ends[:, 1] - ends[:, 0]}

    def report(self, found: Outcomes, settings: Settings) -> Report:
        """Return one table for each problem."""
        return report(found)


def _ends(data: Any, problem: Problem, seed: np.random.SeedSequence) -> FloatArray:
    """Return the two ends of every interval, in the order of `ROWS`, shape ``(rows, 2)``."""
    result = ob.bootstrap(
        data,
        problem.statistic,
        n_resamples=max(SIZES),
        method="normal",  # the paper's
        paired=problem.paired,
        progress=False,
        rng=seed,
    )
    exact = _QUANTILE * np.sqrt(result.jackknife_variance)
    simulated = [ends for B in SIZES for ends in _simulated_ends(result, B)]
    return np.array([*simulated, (result.estimate - exact, result.estimate + exact)])


def _simulated_ends(result: ob.Result, B: int) -> list[ob.ConfidenceInterval]:
    """Return the ends of the intervals from the first B replicates, in the order of `METHODS`."""
    of = {name: result.with_estimator(name, slice(B)) for name in ("standard", "cheap", "paper", "orthogonal")}
    ends = {name: one.confidence_interval for name, one in of.items()}
    ends["abc"] = of["orthogonal"].interval(method="abc")
    half = _QUANTILE * of["standard"].standard_error * np.sqrt((B - 1) / B)
    ends["standard, B"] = ob.ConfidenceInterval(result.estimate - half, result.estimate + half)
    return [ends[method] for method in METHODS]
