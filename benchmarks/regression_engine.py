"""Print how good the influence values are that are fitted to the replicates, and how honest the answer is.

python -m benchmarks.regression_engine [--seeds 200]
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.cases import Case, exponential_pair, lognormal_pair

import orthoboot as ob

N_ROWS = 50
TRUTH_RESAMPLES = 100_000


def _squares(x: np.ndarray) -> np.ndarray:
    return np.column_stack([x, x**2])


def _moments_of_two(pairs: np.ndarray) -> np.ndarray:
    return np.column_stack([pairs, pairs**2, pairs[:, 0] * pairs[:, 1]])


CASES = [
    (Case("variance of exponential", lambda rng: rng.exponential(size=N_ROWS), ob.variance), _squares),
    (Case("ratio of exponentials", exponential_pair(N_ROWS), ob.ratio), lambda pairs: pairs),
    (Case("correlation of lognormal", lognormal_pair(N_ROWS), ob.correlation), _moments_of_two),
]
COUNTS_SIZES = (80, 150, 500)


@dataclass(frozen=True)
class Honesty:
    """How a run with fitted influence values does over seeds; all but `size` are ratios.

    Attributes
    ----------
    size
        Replicates of a run.
    variance
        The mean estimated variance to the bootstrap's own.
    spread
        The standard deviation of the standard error over seeds to the standard error, and the same of the standard
        bootstrap on the same replicates.
    reported
        The mean reported simulation error of the standard error to that standard deviation.
    """

    size: int
    variance: float
    spread: float
    standard_spread: float
    reported: float


def truth(case: Case, n_resamples: int = TRUTH_RESAMPLES) -> float:
    """Return the bootstrap's own variance."""
    data = case.generate(np.random.default_rng(0))
    return ob.bootstrap(data, case.statistic, estimator="standard", n_resamples=n_resamples, rng=999).variance


def honesty(case: Case, influence: Any, size: int | None, n_seeds: int, variance: float) -> Honesty:
    """Return the ratios over `n_seeds` runs on one data set."""
    data = case.generate(np.random.default_rng(0))
    runs = [ob.bootstrap(data, case.statistic, influence=influence, n_resamples=size, rng=s) for s in range(n_seeds)]
    errors = np.array([run.standard_error for run in runs])
    standard = np.array([run.with_estimator("standard").standard_error for run in runs])
    reported = np.array([run.simulation_error.standard_error for run in runs])
    return Honesty(
        size=runs[0].n_resamples,
        variance=float(np.mean(errors**2) / variance),
        spread=float(errors.std(ddof=1) / np.sqrt(variance)),
        standard_spread=float(standard.std(ddof=1) / np.sqrt(variance)),
        reported=float(reported.mean() / errors.std(ddof=1)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200)
    n_seeds = parser.parse_args().seeds
    warnings.simplefilter("ignore", ob.errors.OrthobootWarning)
    print("| case | regression on | B | variance | error of the s.e. | of the standard bootstrap's | reported |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for case, features in CASES:
        variance = truth(case)
        runs = [("counts", "regression", size) for size in COUNTS_SIZES]
        runs += [("features", ob.regression_on(features), size) for size in (None, 100)]
        for label, influence, size in runs:
            found = honesty(case, influence, size, n_seeds, variance)
            print(
                f"| {case.name} | {label} | {found.size} | {found.variance:.2f} | {found.spread:.3f} | "
                f"{found.standard_spread:.3f} | {found.reported:.2f} |"
            )


if __name__ == "__main__":
    main()
