"""Confidence intervals from a few replicates: ``table: ci``, and what the paper does not have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

import orthoboot as ob
from orthoboot.paper.experiment import Arrays, Case, Experiment, Found, Report, Settings
from orthoboot.paper.published import Row
from orthoboot.paper.reports import confidence_intervals as reports
from orthoboot.typing import FloatArray

SIZES = (2, 5, 10)
"""Numbers of resamples B."""
_LEVEL = 0.95
_QUANTILE = float(special.ndtri((1 + _LEVEL) / 2))
_METHODS = ("standard, B", "standard", "cheap", "paper", "orthogonal", "abc")

ROWS: tuple[Row, ...] = (*((method, B) for B in SIZES for method in _METHODS), ("jackknife", None))
"""The rows of each table, in order."""


@dataclass(frozen=True)
class Problem:
    """A statistic of simulated data, of which the true value is known.

    Attributes
    ----------
    title
        As in the paper's table.
    generate
        Draws the data.
    statistic, paired
        As `bootstrap` takes them.
    truth
        The true value.
    """

    title: str
    generate: Callable[[np.random.Generator], Any]
    statistic: Any
    truth: float
    paired: bool = False


def _folded_normal(rng: np.random.Generator) -> FloatArray:
    return np.abs(rng.standard_normal(1000))


def _double_exponential(rng: np.random.Generator) -> FloatArray:
    return rng.laplace(size=1000)


def _bivariate_lognormal(rng: np.random.Generator) -> FloatArray:
    return np.exp(rng.multivariate_normal([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]], size=1000))


def _regression(rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    X = np.exp(rng.standard_normal((5000, 50)))
    return X, X.sum(axis=1) + 10 * rng.standard_normal(len(X))


_first_coefficient = ob.compose(
    lambda coefficients: coefficients[0],
    ob.linear_regression,
    gradient=lambda coefficients: np.eye(len(coefficients))[0],
    name="first coefficient",
)

PROBLEMS = {
    "folded-normal": Problem("Variance of folded normal", _folded_normal, ob.variance, 1 - 2 / np.pi),
    "double-exponential": Problem("Variance of double exponential", _double_exponential, ob.variance, 2.0),
    "lognormal": Problem(
        "Correlation of bivariate lognormal",
        _bivariate_lognormal,
        ob.correlation,
        (np.exp(1.5) - np.e) / (np.e**2 - np.e),
    ),
    "regression": Problem("Linear regression", _regression, _first_coefficient, 1.0, paired=True),
}
"""The columns of ``table: ci``, in order."""


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

    def report(self, found: Found, settings: Settings) -> Report:
        """Return one table for each problem."""
        return reports.report(found, {name: problem.title for name, problem in PROBLEMS.items()}, ROWS)


def _ends(data: Any, problem: Problem, seed: np.random.SeedSequence) -> FloatArray:
    """Return the two ends of every interval, in the order of `ROWS`, shape ``(rows, 2)``."""
    result = ob.bootstrap(data, problem.statistic, n_resamples=max(SIZES), paired=problem.paired, rng=seed)
    exact = _QUANTILE * np.sqrt(result.jackknife_variance)
    simulated = [ends for B in SIZES for ends in _simulated_ends(result, B)]
    return np.array([*simulated, (result.estimate - exact, result.estimate + exact)])


def _simulated_ends(result: ob.Result, B: int) -> list[ob.ConfidenceInterval]:
    """Return the ends of the intervals from the first B replicates, in the order of `_METHODS`."""
    of = {name: result.with_estimator(name, slice(B)) for name in ("standard", "cheap", "paper", "orthogonal")}
    ends = {name: one.confidence_interval for name, one in of.items()}
    ends["abc"] = of["orthogonal"].interval(method="abc")
    half = _QUANTILE * of["standard"].standard_error * np.sqrt((B - 1) / B)
    ends["standard, B"] = ob.ConfidenceInterval(result.estimate - half, result.estimate + half)
    return [ends[method] for method in _METHODS]
