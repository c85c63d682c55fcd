"""Print whether `tol` means what it says: the relative error of the standard error over seeds.

    python -m benchmarks.tolerance [--seeds 200] [--data-seed 0] [--tolerances 0.05 0.02 0.01] [--jobs 2] [--cases ...]

Statistics are plain functions, as users write them: they have ten replicates to begin with, and no closed form of
anything. Each seed is a run with that tolerance; the truth is the standard error of 400,000 ordinary replicates.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import joblib
import numpy as np
import scipy.stats
from benchmarks.coverage import _contaminated, _heteroscedastic

import orthoboot as ob

N_TRUTH = 400_000
MOST = 100_000
"""Replicates at which a run gives up."""


class Case(NamedTuple):
    """A data generator and a plain function of samples and an axis."""

    generate: Callable[[np.random.Generator], Any]
    statistic: Callable[..., Any]
    paired: bool = False


def _slope(x: Any, y: Any, axis: int) -> Any:
    x = x - x.mean(axis=axis, keepdims=True)
    return (x * y).sum(axis=axis) / (x * x).sum(axis=axis)


def _correlation(x: Any, y: Any, axis: int) -> Any:
    x, y = (each - each.mean(axis=axis, keepdims=True) for each in (x, y))
    return (x * y).sum(axis=axis) / np.sqrt((x * x).sum(axis=axis) * (y * y).sum(axis=axis))


def _gini(x: Any, axis: int) -> Any:
    x = np.sort(x, axis=axis)
    n = x.shape[axis]
    return (x * (2 * np.arange(1, n + 1) - n - 1)).sum(axis=axis) / (n * x.sum(axis=axis))


def _heteroscedastic_pair(rng: np.random.Generator) -> Any:
    X, y = _heteroscedastic(rng)
    return X[:, 0], y


def _exponential(n: int) -> Callable[[np.random.Generator], Any]:
    return lambda rng: rng.exponential(size=n)


def _exponential_pair(rng: np.random.Generator) -> Any:
    return tuple(rng.exponential(size=(2, 20)))


def _normal_pair(rng: np.random.Generator) -> Any:
    return tuple(rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], size=30).T)


CASES = {
    "variation, n=60": Case(_exponential(60), lambda x, axis: x.std(axis=axis) / x.mean(axis=axis)),
    "ratio, n=20": Case(_exponential_pair, lambda x, y, axis: x.mean(axis=axis) / y.mean(axis=axis), True),
    "correlation, n=30": Case(_normal_pair, _correlation, True),
    "skewness, n=60": Case(_exponential(60), lambda x, axis: scipy.stats.skew(x, axis=axis)),
    "trimmed mean, n=40": Case(_contaminated, lambda x, axis: scipy.stats.trim_mean(x, 0.25, axis=axis)),
    "median, n=51": Case(_exponential(51), lambda x, axis: np.partition(x, 25, axis=axis).take(25, axis=axis)),
    "std, n=25": Case(lambda rng: rng.gamma(2.0, size=25), lambda x, axis: x.std(axis=axis)),
    "log of a mean, n=30": Case(_exponential(30), lambda x, axis: np.log(x.mean(axis=axis))),
    "slope, n=25": Case(_heteroscedastic_pair, _slope, True),
    "Gini, n=40": Case(lambda rng: rng.lognormal(size=40), _gini),
}


def errors(name: str, data_seed: int, tol: float, seeds: range) -> np.ndarray:
    """Return the relative errors of the standard error over seeds and the replicates used, shape ``(seeds, 2)``."""
    case = CASES[name]
    data = case.generate(np.random.default_rng([data_seed, 18]))
    options: dict[str, Any] = {"vectorized": True, "paired": case.paired, "method": "normal"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = ob.bootstrap(
            data, case.statistic, estimator="standard", n_resamples=N_TRUTH, rng=10**6, batch=2000, **options
        )
        runs = (ob.bootstrap(data, case.statistic, tol=tol, max_resamples=MOST, rng=s, **options) for s in seeds)
        return np.array([[run.standard_error / whole.standard_error - 1, run.n_resamples] for run in runs])


def row(name: str, tol: float, found: np.ndarray) -> str:
    """Return a line of the table."""
    error, used = np.abs(found[:, 0]), found[:, 1]
    return (
        f"| {name} | {tol:g} | {np.sqrt(np.mean(error**2)):.4f} | {np.mean(error > 2 * tol):.1%} "
        f"| {np.median(used):.0f} | {used.max():.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--data-seed", type=int, default=0)
    parser.add_argument("--tolerances", type=float, nargs="*", default=[0.05, 0.02, 0.01])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cases", nargs="*", default=[""])
    options = parser.parse_args()
    print("| case | tol | rms error | beyond twice tol | replicates, median | most |")
    print("| --- " * 6 + "|")
    parts = [range(first, min(first + 100, options.seeds)) for first in range(0, options.seeds, 100)]
    with joblib.Parallel(n_jobs=options.jobs) as parallel:
        for name in CASES:
            if any(part in name for part in options.cases):
                for tol in options.tolerances:
                    tasks = (joblib.delayed(errors)(name, options.data_seed, tol, part) for part in parts)
                    print(row(name, tol, np.concatenate(parallel(tasks))), flush=True)


if __name__ == "__main__":
    main()
