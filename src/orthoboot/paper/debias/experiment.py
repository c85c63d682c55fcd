"""Debiasing from a few replicates: ``fig:BIAS``, ``fig:RMSE`` and ``table: debias``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import orthoboot as ob
from orthoboot.paper.debias.problems import METHODS, PROBLEMS, SIZES, TIMES
from orthoboot.paper.debias.report import report
from orthoboot.paper.experiment import Arrays, Case, Experiment, Outcomes, Settings
from orthoboot.presentation.report import Report
from orthoboot.typing import FloatArray


class Debiasing(Experiment):
    """The error that is left after debiasing, over a thousand data sets, as the number of resamples grows."""

    name = "debias"

    def cases(self, settings: Settings) -> Sequence[Case]:
        """Return the four problems, a thousand data sets of each."""
        return [Case(name, 100 if settings.quick else 1000, together=20) for name in PROBLEMS]

    def repetition(self, case: str, seed: np.random.SeedSequence, settings: Settings) -> Arrays:
        """Return the errors for one data set: ``(times, sizes)`` for each method, one number for the naive."""
        problem = PROBLEMS[case]
        of_data, of_resamples = seed.spawn(2)
        data, truth = problem.generate(np.random.default_rng(of_data), settings.seed)
        result = ob.bootstrap(
            data,
            problem.statistic(settings.seed),
            n_resamples=TIMES * max(SIZES),
            method="normal",
            progress=False,
            rng=of_resamples,
        )
        errors = {method: _debiased(result, method) - truth for method in METHODS}
        return {**errors, "naive": np.array(result.estimate - truth)}

    def report(self, found: Outcomes, settings: Settings) -> Report:
        """Return a table for each problem and the two figures with a panel for each."""
        return report(found)


def _debiased(result: ob.Result, method: str) -> FloatArray:
    """Return the debiased values of ten bootstraps for each B, shape ``(times, sizes)``."""
    starts = range(0, TIMES * max(SIZES), max(SIZES))
    return np.array(
        [[result.with_estimator(method, slice(start, start + B)).debiased for B in SIZES] for start in starts]
    )
