"""Print coverage and width of prediction intervals: the paper's table, and three kinds of models on other data.

python -m benchmarks.prediction [yacht energy kin8nm friedman diabetes few_rows rough]

The three data sets of the paper are read from the folder in ORTHOBOOT_DATA, or fetched from OpenML.
"""

from __future__ import annotations

import itertools
import os
import pathlib
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import fetch_openml, load_diabetes, make_friedman1
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import orthoboot as ob
from orthoboot.typing import FloatArray

Split = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""X and y in training, X and y in the test."""

ESTIMATORS = ("standard", "cheap", "paper", "orthogonal")
"""The first three with the paper's noise, ours with the corrected one."""
NOISES = ("out-of-bag", "corrected")
SIZES = (2, 5)
SEEDS = range(3)
N_REFITS = 40
"""Of each network: twenty groups of two and eight of five, over which the widths vary."""


@dataclass(frozen=True)
class DataSet:
    """One of the paper's data sets, with its settings and its results."""

    name: str
    openml: str
    target: str
    dropped: tuple[str, ...]
    batch_size: int
    epochs: int
    training_share: float
    printed: dict[tuple[str, int], tuple[float, float]]

    def load(self) -> tuple[FloatArray, FloatArray]:
        """Return X and y."""
        folder = os.environ.get("ORTHOBOOT_DATA")
        file = pathlib.Path(folder or "") / f"{self.name}.csv"
        if folder and file.exists():
            table = np.genfromtxt(file, delimiter=",", names=True)
            columns = [name for name in table.dtype.names if name not in (self.target, *self.dropped)]
            return np.column_stack([table[name] for name in columns]), table[self.target]
        frame = fetch_openml(self.openml, version=1, as_frame=True, parser="auto").frame.astype(float)
        return frame.iloc[:, : -1 - len(self.dropped)].to_numpy(), frame.iloc[:, -1 - len(self.dropped)].to_numpy()


def _printed(standard: tuple[float, ...], cheap: tuple[float, ...], paper: tuple[float, ...]) -> dict[Any, Any]:
    rows = {"standard": standard, "cheap": cheap, "paper": paper}
    return {
        (name, size): figures
        for name, row in rows.items()
        for size, figures in zip(SIZES, (row[:2], row[2:]), strict=True)
    }


PAPER = {
    one.name: one
    for one in (
        DataSet(
            "yacht", "yacht_hydrodynamics", "residuary_resistance", (), 64, 500, 0.8,
            _printed((0.86, 37.02, 0.86, 35.21), (1.00, 82.26, 0.86, 46.42), (0.99, 45.88, 0.97, 42.08)),
        ),
        DataSet(
            "energy", "energy-efficiency", "heating_load", ("cooling_load",), 128, 250, 0.7,
            _printed((0.932, 16.29, 0.962, 17.27), (1.00, 36.03, 0.993, 22.77), (0.951, 15.54, 0.962, 17.40)),
        ),
        DataSet(
            "kin8nm", "kin8nm", "y", (), 256, 150, 0.95,
            _printed((0.9455, 0.6216, 0.9455, 0.6154), (1, 1.3746, 0.9772, 0.8110), (0.9463, 0.6224, 0.9455, 0.6158)),
        ),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Protocol:
    """How networks are trained."""

    title: str
    protocol: str
    standardize: bool


PROTOCOLS = (
    Protocol("paper, data as they are", "paper", standardize=False),
    Protocol("paper, standardised", "paper", standardize=True),
    Protocol("polished, standardised", "polished", standardize=True),
)


@dataclass(frozen=True)
class Run:
    """The figures of one split.

    Attributes
    ----------
    figures
        Coverage and mean width on the test rows, from the first refits.
    spreads
        The standard deviation of the mean width over groups of refits, as a share of the mean.
    variance_reduction
        The median over the test rows.
    """

    figures: dict[tuple[str, int], tuple[float, float]]
    spreads: dict[tuple[str, int], float]
    variance_reduction: float


def split(data: DataSet, seed: int) -> Split:
    """Return X and y in training, X and y in the test."""
    X, y = data.load()
    order = np.random.default_rng(seed).permutation(len(X))
    n_training = round(data.training_share * len(X))
    training, test = order[:n_training], order[n_training:]
    return X[training], y[training], X[test], y[test]


def run(data: DataSet, protocol: Protocol, seed: int, n_refits: int = N_REFITS) -> Run:
    """Return the figures of one split, from one fit."""
    X, y, X_test, y_test = split(data, seed)
    network = ob.NeuralRegressor(
        protocol=protocol.protocol,
        standardize=protocol.standardize,
        epochs=data.epochs,
        batch_size=data.batch_size,
        random_state=seed,
    )
    model = ob.PredictionIntervalRegressor(network, n_resamples=n_refits, rng=seed).fit(X, y)
    figures, spreads = {}, {}
    for name, size in itertools.product(ESTIMATORS, SIZES):
        groups = [slice(start, start + size) for start in range(0, n_refits - size + 1, size)]
        noise = "corrected" if name == "orthogonal" else "out-of-bag"
        regressors = [model.with_variance_estimator(name, group, noise=noise) for group in groups]
        ends = [regressor.predict_interval(X_test)[1] for regressor in regressors]
        widths = np.array([np.mean(each[:, 1] - each[:, 0]) for each in ends])
        figures[name, size] = (_coverage(ends[0], y_test), float(widths[0]))
        spreads[name, size] = float(widths.std(ddof=1) / widths.mean())
    return Run(figures, spreads, float(np.median(model.variance_reduction(X_test))))


def _coverage(ends: FloatArray, y: FloatArray) -> float:
    return float(np.mean((ends[:, 0] <= y) & (y <= ends[:, 1])))


def print_paper_table(data: DataSet) -> None:
    n_test = len(split(data, 0)[3])
    # Of the mean over three splits, whose test rows overlap little.
    error = np.sqrt(0.95 * 0.05 / (n_test * len(SEEDS)))
    for protocol in PROTOCOLS:
        start = time.perf_counter()
        runs = [run(data, protocol, seed) for seed in SEEDS]
        reduction = np.mean([one.variance_reduction for one in runs])
        print(f"\n{data.name}, {protocol.title}: variance reduction {reduction:.1f}; ", end="")
        print(f"coverage ± {error:.3f}; {time.perf_counter() - start:.0f} s\n")
        print("| B | estimator | coverage | width | its spread over resamples | paper's coverage | paper's width |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        for size, name in itertools.product(SIZES, ESTIMATORS):
            coverage, width = np.mean([one.figures[name, size] for one in runs], axis=0)
            spread = np.sqrt(np.mean([one.spreads[name, size] ** 2 for one in runs]))
            theirs = data.printed.get((name, size))
            printed = "| |" if theirs is None else f"{theirs[0]:g} | {theirs[1]:g} |"
            print(f"| {size} | {name} | {coverage:.3f} | {width:.4g} | {spread:.1%} | {printed}")


# Other data, three kinds of models


def models(name: str, seed: int) -> dict[str, tuple[Any, str, int]]:
    """Return a linear model, a gradient boosting and a network, with what makes their intervals."""
    if name == "few_rows":
        return {"least squares": (LinearRegression(), "orthogonal", 5)}
    if name == "rough":
        rough = {
            "forest": RandomForestRegressor(50, random_state=seed),
            "five neighbours": KNeighborsRegressor(5),
            "one neighbour": KNeighborsRegressor(1),
            "tree": DecisionTreeRegressor(random_state=seed),
            "tree, leaves of five": DecisionTreeRegressor(min_samples_leaf=5, random_state=seed),
        }
        return {f"{kind}, B = {B}": (model, "standard", B) for kind, model in rough.items() for B in (2, 10)}
    return {
        "ridge": (make_pipeline(StandardScaler(), Ridge()), "orthogonal", 5),
        "boosting": (GradientBoostingRegressor(n_estimators=200, max_depth=3, random_state=seed), "standard", 10),
        "network": (ob.NeuralRegressor(20, random_state=seed, weight_decay=0.02), "orthogonal", 5),
    }


def few_rows(n_data_sets: int = 200) -> Iterator[tuple[str, Split]]:
    """Return small data sets of a linear model."""
    for n_rows, n_columns in ((100, 4), (30, 5), (60, 20)):
        for seed in range(n_data_sets):
            rng = np.random.default_rng(seed)
            X = rng.standard_normal((n_rows + 500, n_columns))
            y = X.sum(axis=1) + rng.standard_normal(len(X))
            yield f"{n_rows} rows, {n_columns} columns", (X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:])


def friedman(n_data_sets: int = 10) -> Iterator[tuple[str, Split]]:
    """Return training and test rows of data sets with noise of one size."""
    for seed in range(n_data_sets):
        X, y = make_friedman1(3000, noise=1.0, random_state=seed)
        yield "", (X[:1000], y[:1000], X[1000:], y[1000:])


def rough() -> Iterator[tuple[str, Split]]:
    """Return the same with fewer rows, for models that vary much."""
    return ((case, (X[:300], y[:300], X_test, y_test)) for case, (X, y, X_test, y_test) in friedman(20))


def diabetes() -> Iterator[tuple[str, Split]]:
    """Return the folds of two cross-validations of real data."""
    X, y = load_diabetes(return_X_y=True)
    for seed in range(2):
        for training, test in KFold(5, shuffle=True, random_state=seed).split(X):
            yield "", (X[training], y[training], X[test], y[test])


OTHERS = {"friedman": friedman, "diabetes": diabetes, "few_rows": few_rows, "rough": rough}


def coverages(name: str) -> dict[tuple[str, str], tuple[float, float, float, float]]:
    """Return for each model and noise the coverage, its Monte Carlo error, the width and the variance reduction."""
    found: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for seed, (case, (X, y, X_test, y_test)) in enumerate(OTHERS[name]()):
        for kind, (estimator, variance_estimator, n_resamples) in models(name, seed).items():
            model = ob.PredictionIntervalRegressor(
                estimator, variance_estimator=variance_estimator, n_resamples=n_resamples, rng=seed
            ).fit(X, y)
            reduction = float(np.median(model.variance_reduction(X_test)))
            for noise in NOISES:
                _, ends = model.with_variance_estimator(variance_estimator, noise=noise).predict_interval(X_test)
                figures = (_coverage(ends, y_test), float(np.mean(ends[:, 1] - ends[:, 0])), reduction)
                found.setdefault((f"{kind} {case}".strip(), noise), []).append(figures)
    summary = {}
    for key, rows in found.items():
        coverage, width, reduction = np.mean(rows, axis=0)
        error = float(np.std([row[0] for row in rows], ddof=1) / np.sqrt(len(rows)))
        summary[key] = (float(coverage), error, float(width), float(reduction))
    return summary


def print_coverages(name: str) -> None:
    print(
        f"\n{name}\n\n| model | noise | coverage of 95% | width | variance reduction |\n| --- | --- | --- | --- | --- |"
    )
    for (kind, noise), (coverage, error, width, reduction) in coverages(name).items():
        print(f"| {kind} | {noise} | {coverage:.3f} ± {error:.3f} | {width:.3g} | {reduction:.1f} |")


def main() -> None:
    names = sys.argv[1:] or [*PAPER, *OTHERS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ob.errors.OrthobootWarning)
        for name in names:
            print_paper_table(PAPER[name]) if name in PAPER else print_coverages(name)


if __name__ == "__main__":
    main()
