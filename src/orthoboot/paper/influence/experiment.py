"""The implicit influence function, from the KKT conditions, beside the explicit one: ``fig:vs``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import orthoboot as ob
from orthoboot.paper.debias.problems import SIZES, right_sides
from orthoboot.paper.debias.quadratic_program import quadratic_program
from orthoboot.paper.experiment import Arrays, Case, Experiment, Outcomes, Settings
from orthoboot.paper.influence.report import TITLES, report
from orthoboot.paper.influence.simplex_projection import explicit_influence, simplex_functional, simplex_rows
from orthoboot.presentation.report import Report
from orthoboot.typing import FloatArray


class InfluenceFunctions(Experiment):
    """Two methods for the influence function of an optimisation problem, on the same data and resamples."""

    name = "influence"

    def cases(self, settings: Settings) -> Sequence[Case]:
        """Return the paper's problem, and one with inequalities."""
        sizes = {"quadratic": (100, 1000), "simplex": (20, 200)}
        return [Case(name, sizes[name][0 if settings.quick else 1], together=20) for name in TITLES]

    def repetition(self, case: str, seed: np.random.SeedSequence, settings: Settings) -> Arrays:
        """Return the difference of the two methods, and for the paper's problem their errors."""
        of_data, of_resamples = seed.spawn(2)
        rng = np.random.default_rng(of_data)
        if case == "simplex":
            return _simplex(rng)
        return _quadratic(rng, of_resamples, settings.seed)

    def report(self, found: Outcomes, settings: Settings) -> Report:
        """Return the table of differences and the figure."""
        return report(found)


def _quadratic(rng: np.random.Generator, resamples: np.random.SeedSequence, seed: int) -> Arrays:
    program = quadratic_program(seed)
    rows, truth = right_sides(rng, seed)
    implicit = _bootstrap(rows, program.functional(), resamples)
    explicit = _bootstrap(rows, program.explicit_value, resamples, program.explicit_influence)
    return {
        "difference": _difference(implicit.influence, explicit.influence),
        "implicit": _errors(implicit, truth),
        "explicit": _errors(explicit, truth),
    }


def _bootstrap(
    rows: FloatArray, statistic: Any, resamples: np.random.SeedSequence, influence: Any = "auto"
) -> ob.Result:
    return ob.bootstrap(
        rows, statistic, influence=influence, estimator="paper", n_resamples=max(SIZES), progress=False, rng=resamples
    )


def _simplex(rng: np.random.Generator) -> Arrays:
    rows = simplex_rows(rng)
    # The influence function alone is looked at; two resamples are the fewest.
    result = ob.bootstrap(rows, simplex_functional(), n_resamples=2, method="normal", rng=0)
    return {"difference": _difference(result.influence, explicit_influence(rows))}


def _difference(implicit: FloatArray, explicit: FloatArray) -> FloatArray:
    """Return the largest difference, relative to the largest value."""
    return np.asarray(np.abs(implicit - explicit).max() / np.abs(explicit).max())


def _errors(result: ob.Result, truth: float) -> FloatArray:
    """Return the error of the debiased value for each B, shape ``(sizes,)``."""
    return np.array([result.with_estimator("paper", slice(B)).debiased - truth for B in SIZES])
