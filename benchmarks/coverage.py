"""Print how often 95% intervals hold the truth: the default beside BCa of 2000 ordinary replicates.

    python -m benchmarks.coverage [--data-sets 1000] [--first-seed 0] [--folder FOLDER] [--jobs 2] [--cases NAME ...]

Every data set gets both intervals, so that their coverages are compared in pairs. Finished parts are kept in the
folder, if one is given, and not computed again.
"""

from __future__ import annotations

import argparse
import pathlib
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import joblib
import numpy as np
import scipy.special
from benchmarks.kept import PART, part

import orthoboot as ob

LEVEL = 0.95
METHODS = ("default", "bca-2000", "normal")


@dataclass(frozen=True)
class Case:
    """A data generator, a statistic and its true value; the first output counts."""

    name: str
    generate: Callable[[np.random.Generator], Any]
    statistic: Any
    truth: float
    options: dict[str, Any]

    def data(self, rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
        """Return a data set, and the options that go with it."""
        data = self.generate(rng)
        return (data[0], {**self.options, **data[1]}) if isinstance(data[-1], dict) else (data, self.options)


def _case(name: str, generate: Any, statistic: Any, truth: float, **options: Any) -> Case:
    return Case(name, generate, statistic, float(truth), options)


def _scores(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    labels = np.repeat([1.0, 0.0], [10, 50])
    return labels, rng.standard_normal(60) + np.sqrt(2) * scipy.special.ndtri(0.94) * labels


def _clusters(rng: np.random.Generator) -> tuple[np.ndarray, dict[str, Any]]:
    groups = np.repeat(np.arange(12), 10)
    return rng.standard_normal(12)[groups] + rng.standard_normal(120), {"groups": groups}


def _lognormal_pair(rng: np.random.Generator) -> np.ndarray:
    return np.exp(rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], size=50))


def _heteroscedastic(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.exponential(size=25)
    return np.column_stack([x, np.ones(25)]), x + x * rng.standard_normal(25)


def _contaminated(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal(40) * np.where(rng.random(40) < 0.1, 10.0, 1.0)


def _two_samples(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.exponential(size=n), 2 * rng.exponential(size=n)


def _logistic(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.standard_normal(80)
    return np.column_stack([x, np.ones(80)]), (rng.random(80) < scipy.special.expit(x)).astype(float)


def _normal_pair(rng: np.random.Generator) -> np.ndarray:
    return rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], size=30)


def _hits(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    labels = (rng.random(50) < 0.5).astype(float)
    return labels, np.where(rng.random(50) < 0.9, labels, 1 - labels)


CASES = (
    _case("AUC .94, 10 positives of 60", _scores, ob.roc_auc, 0.94, paired=True),
    _case("variance, exponential n=30", lambda rng: rng.exponential(size=30), ob.variance, 1.0),
    _case("skewness, exponential n=100", lambda rng: rng.exponential(size=100), ob.skewness, 2.0),
    _case("variance, 12 clusters of 10", _clusters, ob.variance, 2.0),
    _case("Gini, lognormal n=100", lambda rng: rng.lognormal(size=100), ob.gini, 2 * scipy.special.ndtr(0.5**0.5) - 1),
    _case("correlation, lognormal n=50", _lognormal_pair, ob.correlation, (np.exp(0.5) - 1) / (np.e - 1)),
    _case("OLS heteroscedastic, n=25", _heteroscedastic, ob.linear_regression, 1.0, paired=True),
    _case("difference of medians, n=30", partial(_two_samples, n=30), ob.difference(ob.median), -np.log(2)),
    _case("0.95 quantile, exponential n=100", lambda rng: rng.exponential(size=100), ob.quantile(0.95), np.log(20)),
    _case("trimmed mean, outliers n=40", _contaminated, ob.trimmed_mean(0.25), 0.0),
    _case("mean, exponential n=20", lambda rng: rng.exponential(size=20), ob.mean, 1.0),
    _case("ratio of exponentials, n=20", lambda rng: rng.exponential(size=(20, 2)), ob.ratio, 1.0),
    _case("relative difference of means, n=30", partial(_two_samples, n=30), ob.relative_difference(ob.mean), -0.5),
    _case("logistic regression, n=80", _logistic, ob.logistic_regression, 1.0, paired=True),
    _case("Spearman, normal n=30", _normal_pair, ob.spearman, 6 / np.pi * np.arcsin(0.25)),
    _case("accuracy .9, n=50", _hits, ob.accuracy, 0.9, paired=True),
)


def ends(case: Case, seed: int) -> np.ndarray:
    """Return both ends of each of `METHODS` for the data set of a seed, shape ``(methods, 2)``, and their seconds."""
    data, options = case.data(np.random.default_rng([seed, 15]))
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        default = ob.bootstrap(data, case.statistic, rng=seed, **options)
        found.append([*default.confidence_interval, time.perf_counter() - start])
        start = time.perf_counter()
        plain = ob.bootstrap(
            data, case.statistic, rng=10**6 + seed, estimator="standard", n_resamples=2000, method="bca", **options
        )
        found.append([*plain.confidence_interval, time.perf_counter() - start])
        found.append([*default.interval(method="normal"), 0.0])
    return np.array([[float(np.ravel(number)[0]) for number in row] for row in found])


def row(case: Case, found: np.ndarray) -> str:
    """Return a line of the table: coverages, the difference with its error, widths, and the time of both."""
    holds = (found[:, :, 0] <= case.truth) & (case.truth <= found[:, :, 1])
    coverage = holds.mean(axis=0)
    difference = holds[:, 0].astype(float) - holds[:, 1]
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    widths = np.nanmean(found[:, :, 1] - found[:, :, 0], axis=0)
    seconds = np.median(found[:, 1, 2]) / np.median(found[:, 0, 2])
    return (
        f"| {case.name} | {coverage[1]:.3f} | {coverage[0]:.3f} | {difference.mean():+.3f} ± {error:.3f} "
        f"| {coverage[2]:.3f} | {widths[0] / widths[1]:.2f} | {seconds:.1f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-sets", type=int, default=1000)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cases", nargs="*", default=[""])
    options = parser.parse_args()
    if options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
    print("| case | BCa, 2000 | default | difference | normal | width over BCa's | times faster |")
    print("| --- " * 7 + "|")
    starts = range(options.first_seed, options.first_seed + options.data_sets, PART)
    with joblib.Parallel(n_jobs=options.jobs) as parallel:
        for case in CASES:
            if any(each in case.name for each in options.cases):
                parts = parallel(joblib.delayed(_part_of)(case.name, start, options.folder) for start in starts)
                print(row(case, np.concatenate(parts)), flush=True)


def _part_of(name: str, first: int, folder: pathlib.Path | None) -> np.ndarray:
    """Return `part` of the case of a name: cases hold functions that other processes cannot read."""
    case = next(case for case in CASES if case.name == name)
    return part(name, folder, first, partial(ends, case))


if __name__ == "__main__":
    main()
