"""The rates of the theorems: simulation variance against rows and resamples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import orthoboot as ob
from orthoboot.paper.experiment import Arrays, Case, Experiment, Outcomes, Settings
from orthoboot.paper.rates.examples import (
    ESTIMATORS,
    EXAMPLES,
    FEW_RESAMPLES,
    FIXED_ROWS,
    QUANTITIES,
    RESAMPLES,
    ROWS,
    Example,
)
from orthoboot.paper.rates.report import report
from orthoboot.presentation.report import Report


@dataclass(frozen=True)
class Setting:
    """The settings shared by the repetitions of one case."""

    example: Example
    n_rows: int
    group_sizes: tuple[int, ...]


SETTINGS = {
    **{f"{name}, n={n}": Setting(one, n, (FEW_RESAMPLES,)) for name, one in EXAMPLES.items() for n in ROWS},
    **{f"{name}, B": Setting(one, FIXED_ROWS, RESAMPLES) for name, one in EXAMPLES.items()},
}
"""The cases by their names. Each number of rows has data sets of its own; all numbers of resamples share theirs."""


class Rates(Experiment):
    """Simulation variance against n and B, with fitted slopes."""

    name = "rates"

    def cases(self, settings: Settings) -> Sequence[Case]:
        """Return one case for every example and number of rows, and one for all numbers of resamples."""
        over_rows, over_resamples = (8, 4) if settings.quick else (32, 12)
        return [
            Case(name, over_rows, together=8)
            if len(setting.group_sizes) == 1
            else Case(name, over_resamples, together=2)
            for name, setting in SETTINGS.items()
        ]

    def repetition(self, case: str, seed: np.random.SeedSequence, settings: Settings) -> Arrays:
        """Return the simulation variances for one data set, by quantity, each ``(group sizes, estimators)``.

        All groups are slices of one run. Those of different sizes begin with the same replicates, so that what is
        special about these replicates cancels in the slope.
        """
        setting = SETTINGS[case]
        of_data, of_resamples = seed.spawn(2)
        longest = max(setting.group_sizes)
        n_resamples = setting.example.groups * longest
        result = ob.bootstrap(
            setting.example.draw(np.random.default_rng(of_data), setting.n_rows),
            setting.example.statistic,
            influence=setting.example.influence,
            control=setting.example.control,
            method="normal",
            n_resamples=n_resamples,
            progress=False,
            rng=of_resamples,
        )
        starts = range(0, n_resamples, longest)
        found = np.array(
            [
                [
                    simulation_variances(result, estimator, [slice(start, start + size) for start in starts])
                    for estimator in ESTIMATORS
                ]
                for size in setting.group_sizes
            ]
        )
        return {quantity: found[..., number] for number, quantity in enumerate(QUANTITIES)}

    def report(self, found: Outcomes, settings: Settings) -> Report:
        """Return the slopes and the pictures that they are fitted in."""
        return report(found)


def simulation_variances(result: ob.Result, estimator: str, groups: Sequence[slice]) -> list[float]:
    """Return the variance of each of `QUANTITIES` over groups of the replicates of a result."""
    answers = [result.with_estimator(estimator, group) for group in groups]
    return [float(np.var([getattr(answer, quantity) for answer in answers], ddof=1)) for quantity in QUANTITIES]
