"""Print how far the bias of a user's function from ten replicates is off, with and without what its engine says of it.

    python -m benchmarks.engine_bias [--data-sets 3] [--seeds 30] [--first-seed 300]

The functions are plain, so that rows are left out one by one to find their influence. Errors are root mean squares over
data sets and seeds, in standard errors, against 200,000 ordinary replicates; "beyond three" is the share of runs that
are off by more than three reported errors, to which that of the truth is added.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

import orthoboot as ob

SIZES = (20, 60, 150, 400)
REPLICATES = 10
TRUTH, AT_ONCE = 200_000, 2_000

Function = Callable[[np.ndarray], np.ndarray]


class Case(NamedTuple):
    """A name, a function of rows on the last axis but one, and rows for it."""

    name: str
    function: Function
    rows: Callable[[np.random.Generator, int], np.ndarray]


def correlation(rows: np.ndarray) -> np.ndarray:
    deviations = rows - rows.mean(axis=-2, keepdims=True)
    x, y = deviations[..., 0], deviations[..., 1]
    return (x * y).mean(axis=-1) / np.sqrt((x**2).mean(axis=-1) * (y**2).mean(axis=-1))


def skewness(rows: np.ndarray) -> np.ndarray:
    x = rows[..., 0] - rows[..., 0].mean(axis=-1, keepdims=True)
    return (x**3).mean(axis=-1) / (x**2).mean(axis=-1) ** 1.5


def absolute_deviation(rows: np.ndarray) -> np.ndarray:
    x = rows[..., 0]
    return np.median(np.abs(x - np.median(x, axis=-1, keepdims=True)), axis=-1)


def _normal_pairs(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], size=n)


CASES = (
    Case(
        "coefficient of variation",
        lambda x: x[..., 0].std(-1) / x[..., 0].mean(-1),
        lambda r, n: r.exponential(size=(n, 1)),
    ),
    Case("std, ddof=1", lambda x: x[..., 0].std(-1, ddof=1), lambda r, n: r.exponential(size=(n, 1))),
    Case("correlation", correlation, _normal_pairs),
    Case("ratio of means", lambda x: x[..., 0].mean(-1) / x[..., 1].mean(-1), lambda r, n: r.exponential(size=(n, 2))),
    Case("geometric mean", lambda x: np.exp(np.log(x[..., 0]).mean(-1)), lambda r, n: 0.1 + r.exponential(size=(n, 1))),
    Case("skewness", skewness, lambda r, n: r.exponential(size=(n, 1))),
    Case("0.9 quantile", lambda x: np.quantile(x[..., 0], 0.9, axis=-1), lambda r, n: r.exponential(size=(n, 1))),
    Case("median absolute deviation", absolute_deviation, lambda r, n: r.normal(size=(n, 1))),
)


class Truth(NamedTuple):
    """Bias and standard error of very many replicates."""

    bias: float
    standard_error: float


class Errors(NamedTuple):
    """Errors of runs in standard errors, and whether they are beyond three reported ones."""

    true: np.ndarray
    beyond: np.ndarray


def truth(case: Case, rows: np.ndarray) -> Truth:
    rng, n = np.random.default_rng(5), len(rows)
    resamples = (rows[rng.integers(0, n, (AT_ONCE, n))] for _ in range(TRUTH // AT_ONCE))
    replicates = np.concatenate([case.function(some) for some in resamples])
    return Truth(float(replicates.mean() - case.function(rows)), float(replicates.std()))


def errors(case: Case, rows: np.ndarray, exact: Truth, n_seeds: int, control: str) -> Errors:
    """Return the errors of the bias on one data set over seeds."""
    function = partial(_number, case.function)
    options = {"n_resamples": REPLICATES, "method": "normal", "control": control}
    runs = [ob.bootstrap(rows, function, rng=seed, **options) for seed in range(n_seeds)]
    true = np.array([run.bias - exact.bias for run in runs]) / exact.standard_error
    reported = np.array([run.simulation_error.bias for run in runs]) / exact.standard_error
    return Errors(true, np.abs(true) > 3 * np.hypot(reported, TRUTH**-0.5))


def _number(function: Function, rows: np.ndarray) -> float:
    return float(function(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-sets", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--first-seed", type=int, default=300)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| function | n | replicates alone | with the engine's | beyond three, alone | with the engine's |")
    print("| --- | --- | --- | --- | --- | --- |")
    for case in CASES:
        for n in SIZES:
            seeds = range(options.first_seed, options.first_seed + options.data_sets)
            data = [case.rows(np.random.default_rng([seed, n]), n) for seed in seeds]
            exact = [truth(case, rows) for rows in data]
            cells = {}
            for control in ("linear", "auto"):
                sets = zip(data, exact, strict=True)
                found = [errors(case, rows, true, options.seeds, control) for rows, true in sets]
                rms = np.sqrt(np.mean(np.concatenate([one.true for one in found]) ** 2))
                cells[control] = f"{rms:.3f}", f"{np.mean(np.concatenate([one.beyond for one in found])):.1%}"
            alone, both = cells["linear"], cells["auto"]
            print(f"| {case.name} | {n} | {alone[0]} | {both[0]} | {alone[1]} | {both[1]} |", flush=True)


if __name__ == "__main__":
    main()
