"""Debiasing from a few replicates: ``fig:BIAS``, ``fig:RMSE`` and ``table: debias``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import orthoboot as ob
from orthoboot.paper.experiment import Arrays, Case, Experiment, Found, Report, Settings
from orthoboot.paper.quadratic_program import quadratic_program
from orthoboot.paper.reports import debiasing as reports
from orthoboot.typing import FloatArray

SIZES = tuple(range(2, 11))
"""Numbers of resamples B."""
TIMES = 10
"""How often the bootstrap of one data set is repeated."""
METHODS = ("standard", "paper", "orthogonal")


@dataclass(frozen=True)
class Problem:
    """A statistic of simulated data, and the value it estimates with a bias.

    Attributes
    ----------
    title
        As in the paper's table.
    statistic
        From the seed of the run.
    generate
        Returns data and the true value.
    """

    title: str
    statistic: Callable[[int], Any]
    generate: Callable[[np.random.Generator, int], tuple[FloatArray, float]]


def _vectors(rng: np.random.Generator, seed: int) -> tuple[FloatArray, float]:
    """Return 100 rows of N(0.2, I) in 25 dimensions; the squared length of the mean is one, and so is its square."""
    return 0.2 + rng.standard_normal((100, 25)), 1.0


def _categories(rng: np.random.Generator, seed: int) -> tuple[FloatArray, float]:
    """Return 1000 draws from 100 categories, whose shares are drawn from the uniform Dirichlet distribution."""
    shares = rng.dirichlet(np.ones(100))
    # A share that is drawn as exactly zero adds nothing.
    truth = -float(np.sum(shares * np.log(np.where(shares > 0, shares, 1.0))))
    return rng.choice(100, size=1000, p=shares).astype(np.float64), truth


def right_sides(rng: np.random.Generator, seed: int) -> tuple[FloatArray, float]:
    """Return ten noisy right-hand sides, and the minimal value at their mean, which lies on the unit sphere."""
    program = quadratic_program(seed)
    centre = rng.standard_normal(program.n_constraints)
    centre /= np.linalg.norm(centre)
    return centre + rng.standard_normal((10, len(centre))), program.minimal_value(centre)


PROBLEMS = {
    "ellipsoidal": Problem("Ellipsoidal", lambda seed: ob.norm_of_mean(2), _vectors),
    "polynomial": Problem("Polynomial", lambda seed: ob.norm_of_mean(4), _vectors),
    "entropy": Problem("Entropy", lambda seed: ob.entropy, _categories),
    "optimisation": Problem("Optimization", lambda seed: quadratic_program(seed).functional(), right_sides),
}
"""The columns of ``table: debias``, in order."""


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
            data, problem.statistic(settings.seed), n_resamples=TIMES * max(SIZES), progress=False, rng=of_resamples
        )
        errors = {method: _debiased(result, method) - truth for method in METHODS}
        return {**errors, "naive": np.array(result.estimate - truth)}

    def report(self, found: Found, settings: Settings) -> Report:
        """Return a table for each problem and the two figures with a panel for each."""
        return reports.report(found, {name: problem.title for name, problem in PROBLEMS.items()}, METHODS, SIZES)


def _debiased(result: ob.Result, method: str) -> FloatArray:
    """Return the debiased values of ten bootstraps for each B, shape ``(times, sizes)``."""
    starts = range(0, TIMES * max(SIZES), max(SIZES))
    return np.array(
        [[result.with_estimator(method, slice(start, start + B)).debiased for B in SIZES] for start in starts]
    )
