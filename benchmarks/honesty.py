"""Print how honest the simulation errors are: how often an answer is off by more than three of them.

    python -m benchmarks.honesty [--seeds 300] [--data-sets 3] [--first-seed 0] [--sizes 10 20 0] [--cases NAME ...]

For bias, standard error and both ends of the default interval, over seeds and data sets: the share of runs that are off
by more than three reported errors, and the mean and the median of the reported error over the root mean square of the
true one; then the share of runs that warn. The truth is the same answer from very many replicates, whose own error
counts with the reported one. The true bias is that of the replicates alone. A true end is that of the method that the
run took. Runs of one data set with different methods are summarised separately, and averaged by their number, since one
method may have exact ends. A size of 0 is the default number of replicates.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any, NamedTuple

import joblib
import numpy as np
from benchmarks.coverage import CASES as OF_COVERAGE
from benchmarks.coverage import Case, _case
from benchmarks.surrogate_cases import logistic

import orthoboot as ob
from orthoboot.estimators import ESTIMATORS
from orthoboot.estimators.estimation import Estimation
from orthoboot.intervals.auto import chosen
from orthoboot.intervals.base import Ends, Interval

TAILS = (0.025, 0.975)
QUANTITIES = ("bias", "standard error", "low", "high")
_ROUNDING = 1e-9
"""Errors below this, in standard errors, are rounding: such an answer is exact."""
N_TRUTH = 500_000
"""Rows times replicates are limited too: a hundred million."""


def _slope(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.standard_normal(20)
    return np.column_stack([x, np.ones(20)]), x + rng.standard_t(4, size=20)


def _variation(x: np.ndarray) -> float:
    return float(np.std(x) / np.mean(x))


CASES = (
    *OF_COVERAGE,
    _case("ratio of exponentials, n=10", lambda rng: rng.exponential(size=(10, 2)), ob.ratio, 1.0),
    _case(
        "correlation, normal n=15",
        lambda rng: rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], size=15),
        ob.correlation,
        0.7,
    ),
    _case("slope, n=20", _slope, ob.linear_regression, 1.0, paired=True),
    _case("logistic regression, n=60, d=3", logistic(60, 3), ob.logistic_regression, 0.577, paired=True),
    _case("std, gamma n=25", lambda rng: rng.gamma(2.0, size=25), ob.std, 2**0.5),
    _case("plain function, n=60", lambda rng: rng.exponential(size=60), _variation, 1.0),
    _case("std, exponential n=200", lambda rng: rng.exponential(size=200), ob.std, 1.0),
    _case("ratio of gammas, n=200", lambda rng: rng.gamma(2.0, size=(200, 2)), ob.ratio, 1.0),
)


class Honesty(NamedTuple):
    """For each of `QUANTITIES`: errors over reported ones and the truth's, ``(runs, 4)``; reported and true errors.

    And for each run whether it warned, and the name of its interval.
    """

    z: np.ndarray
    reported: np.ndarray
    true: np.ndarray
    warned: np.ndarray
    methods: np.ndarray

    def mean_errors(self, number: int) -> np.ndarray:
        """Return the mean and the median of the reported errors of a quantity, and the root mean square of the true."""
        everything = [np.ones(len(self.methods), dtype=bool)]
        by_method = [self.methods == method for method in np.unique(self.methods)]
        total = np.zeros(3)
        for some in by_method if QUANTITIES[number] in ("low", "high") else everything:
            reported, true = self.reported[some, number], self.true[some, number]
            total += some.mean() * np.array([reported.mean(), np.median(reported), np.sqrt(np.mean(true**2))])
        return total


def answers(result: ob.Result) -> np.ndarray:
    """Return the four answers of the first output."""
    return _first(result.bias, result.standard_error, *result.confidence_interval)


def _first(*numbers: Any) -> np.ndarray:
    return np.array([float(np.ravel(number)[0]) for number in numbers])


def honesty(case: Case, data_seed: int, size: int, n_seeds: int) -> Honesty:
    """Return how far the answers of seeds are from the truth, for one data set."""
    data, options = case.data(np.random.default_rng([data_seed, 16]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole, kept = truth(case, data, options), dict[type, Ends]()
        bias, bias_error = simulated_bias(whole)
        found, warned, methods = [], [], []
        for seed in range(n_seeds):
            run = ob.bootstrap(data, case.statistic, n_resamples=size or None, rng=seed, **options)
            interval = chosen(_estimation(run, "orthogonal"), TAILS)[0].interval
            ends = _ends_by(whole, interval, kept)
            true = _first(bias, whole.standard_error, ends.low, ends.high)
            own = _first(bias_error, whole.simulation_error.standard_error, ends.low_error, ends.high_error)
            found.append([answers(run) - true, _first(*run.simulation_error), own])
            warned.append(bool(run.warnings))
            methods.append(interval.name)
    error, reported, own = np.moveaxis(np.array(found), 1, 0) / float(np.ravel(whole.standard_error)[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(np.abs(error) < _ROUNDING, 0.0, np.abs(error) / np.hypot(reported, own))
    return Honesty(z, reported, error, np.array(warned), np.array(methods))


def truth(case: Case, data: Any, options: dict[str, Any]) -> ob.Result:
    """Return the result of very many replicates."""
    probe = ob.bootstrap(data, case.statistic, n_resamples=10, rng=0, **options)
    number = 20_000 if probe.run.prepared.one_by_one else int(min(N_TRUTH, 1e8 / sum(probe.run.data.sizes)))
    return ob.bootstrap(data, case.statistic, n_resamples=number, rng=10**6, method="normal", **options)


def simulated_bias(whole: ob.Result) -> tuple[np.ndarray, np.ndarray]:
    """Return the bias of the replicates alone and its error: of the truth, it must not rest on the second order."""
    estimation = _estimation(whole, "orthogonal")
    sums, unit = estimation.moments, estimation.unit
    if sums.bias_is_exact:
        return whole.bias, np.zeros_like(sums.slope)
    return unit * sums.simulated_bias, unit * np.sqrt(sums.variance_left / sums.size)


def _ends_by(whole: ob.Result, interval: Interval, kept: dict[type, Ends]) -> Ends:
    """Return the interval of very many replicates by the method, and on the scale, that a run took.

    `kept` holds those of this data set that have been made.
    """
    if type(interval) not in kept:
        estimator = "standard" if interval.name in ("percentile", "bca") else "orthogonal"
        kept[type(interval)] = interval.ends(_estimation(whole, estimator), TAILS)
    return kept[type(interval)]


def _estimation(result: ob.Result, estimator: str) -> Estimation:
    return Estimation(result.run, result.replicates, ESTIMATORS[estimator])


def row(case: Case, size: int, sets: list[Honesty]) -> str:
    """Return a line of the table."""
    z = np.concatenate([one.z for one in sets])
    cells = []
    for number in range(len(QUANTITIES)):
        mean, median, true = np.mean([one.mean_errors(number) for one in sets], axis=0)
        if true < _ROUNDING:
            cells.append("exact")
            continue
        beyond = np.mean(z[:, number] > 3)
        cells.append(f"{beyond:.1%}, {mean / true:.2f}, {median / true:.2f} ({true:.4f})")
    cells.append(f"{np.mean([one.warned for one in sets]):.0%}")
    return f"| {case.name} | {size or 'default'} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=300)
    parser.add_argument("--data-sets", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--sizes", type=int, nargs="*", default=[10, 20, 0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cases", nargs="*", default=[""])
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.data_sets)
    each = options.seeds // options.data_sets
    print("Share beyond three errors; reported over true in the mean and in the median; (true, in standard errors)\n")
    print("| case | B | " + " | ".join(QUANTITIES) + " | warns |")
    print("| --- " * (3 + len(QUANTITIES)) + "|")
    with joblib.Parallel(n_jobs=options.jobs) as parallel:
        for case in CASES:
            if any(part in case.name for part in options.cases):
                for size in options.sizes:
                    tasks = (joblib.delayed(_of_name)(case.name, seed, size, each) for seed in seeds)
                    print(row(case, size, parallel(tasks)), flush=True)


def _of_name(name: str, data_seed: int, size: int, n_seeds: int) -> Honesty:
    """Return `honesty` of the case of a name: cases hold functions that other processes cannot read."""
    return honesty(next(case for case in CASES if case.name == name), data_seed, size, n_seeds)


if __name__ == "__main__":
    main()
