"""Print how good ten replicates and the default number are for plain functions, with kinks and without, of real data.

    python -m benchmarks.plain_functions FOLDER [--seeds 200] [--first-seed 0] [--truth 20000]

FOLDER has R's lynx, city, nuclear, mammals and frets, and the yacht hydrodynamics, each as a file of comma-separated
values with a line of names. For each function: the number of replicates, the root mean square of the relative error of
the standard error, and the share of runs that are off by more than three reported errors. The truth is that of ordinary
replicates, whose own error counts with the reported one.
"""

from __future__ import annotations

import argparse
import pathlib
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import orthoboot as ob


class Example(NamedTuple):
    """A function of the rows of some columns of a data set."""

    name: str
    data_set: str
    columns: tuple[str, ...]
    function: Callable[[np.ndarray], float]


def _above(limit: float) -> Callable[[np.ndarray], float]:
    return lambda rows: max(float(rows.mean()) - limit, 0.0)


def _interquartile_range(rows: np.ndarray) -> float:
    low, high = np.quantile(rows, [0.25, 0.75])
    return float(high - low)


def _median_deviation(rows: np.ndarray) -> float:
    return float(np.median(np.abs(rows - np.median(rows))))


def _winsorized_mean(rows: np.ndarray) -> float:
    return float(np.clip(rows, *np.quantile(rows, [0.1, 0.9])).mean())


def _larger_mean(rows: np.ndarray) -> float:
    return float(rows.mean(axis=0).max())


def _variation(rows: np.ndarray) -> float:
    return float(rows.std() / rows.mean())


def _ratio(rows: np.ndarray) -> float:
    return float(rows[:, 1].mean() / rows[:, 0].mean())


def _positive_slope(rows: np.ndarray) -> float:
    x, y = rows.T
    return max(float(np.cov(x, y)[0, 1] / x.var(ddof=1)), 0.0)


def _log_slope(rows: np.ndarray) -> float:
    x, y = np.log(rows.T)
    return float(np.cov(x, y)[0, 1] / x.var(ddof=1))


def _correlation(rows: np.ndarray) -> float:
    return float(np.corrcoef(rows.T)[0, 1])


def _geometric_mean(rows: np.ndarray) -> float:
    return float(np.exp(np.log(rows).mean()))


EXAMPLES = (
    Example("max(mean - 1500, 0)", "lynx", ("trapped",), _above(1500.0)),
    Example("max(mean - 1300, 0)", "lynx", ("trapped",), _above(1300.0)),
    Example("interquartile range", "yacht", ("residuary_resistance",), _interquartile_range),
    Example("median absolute deviation", "nuclear", ("cost",), _median_deviation),
    Example("winsorised mean", "lynx", ("trapped",), _winsorized_mean),
    Example("larger of two means", "frets", ("l1", "l2"), _larger_mean),
    Example("slope, or 0 where it is below", "nuclear", ("date", "cost"), _positive_slope),
    Example("coefficient of variation", "lynx", ("trapped",), _variation),
    Example("ratio of means", "city", ("u", "x"), _ratio),
    Example("slope of logarithms", "mammals", ("body", "brain"), _log_slope),
    Example("correlation", "frets", ("l1", "l2"), _correlation),
    Example("geometric mean", "yacht", ("residuary_resistance",), _geometric_mean),
)


def rows_of(example: Example, folder: pathlib.Path) -> np.ndarray:
    """Return the rows that the function takes: one column as numbers, several as a table."""
    table = np.genfromtxt(folder / f"{example.data_set}.csv", delimiter=",", names=True)
    rows = np.column_stack([table[name] for name in example.columns])
    return rows[:, 0] if len(example.columns) == 1 else rows


def cell(example: Example, rows: np.ndarray, size: int | None, seeds: range, truth: ob.Result) -> str:
    """Return the number of replicates, the root mean square error, and the share beyond three reported errors."""
    true, own = float(truth.standard_error), float(truth.simulation_error.standard_error)
    runs = [ob.bootstrap(rows, example.function, n_resamples=size, rng=seed) for seed in seeds]
    error = np.array([float(run.standard_error) for run in runs]) - true
    reported = np.array([float(run.simulation_error.standard_error) for run in runs])
    beyond = np.mean(np.abs(error) > 3 * np.hypot(reported, own))
    return f"{runs[0].n_resamples}: {np.sqrt(np.mean(error**2)) / true:.3f}, {beyond:.1%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--truth", type=int, default=20_000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    print("Replicates: relative error of the standard error, share beyond three reported errors\n")
    print("| function | data | ten | default |\n| --- | --- | --- | --- |")
    for example in EXAMPLES:
        rows = rows_of(example, options.folder)
        many = {"n_resamples": options.truth, "estimator": "standard", "method": "normal", "rng": 10**6}
        truth = ob.bootstrap(rows, example.function, **many)
        cells = (cell(example, rows, size, seeds, truth) for size in (10, None))
        print(f"| {example.name} | {example.data_set}, {len(rows)} rows |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
