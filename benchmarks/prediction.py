"""Print coverage and width of prediction intervals of several kinds of models.

python -m benchmarks.prediction [friedman diabetes few_rows rough]

The paper's own table is made by ``orthoboot reproduce prediction``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1
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

NOISES = ("out-of-bag", "corrected")
"""The paper's, and ours."""


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


DATA = {"friedman": friedman, "diabetes": diabetes, "few_rows": few_rows, "rough": rough}


def coverages(name: str) -> dict[tuple[str, str], tuple[float, float, float, float]]:
    """Return for each model and noise the coverage, its Monte Carlo error, the width and the variance reduction."""
    found: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for seed, (case, (X, y, X_test, y_test)) in enumerate(DATA[name]()):
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


def _coverage(ends: FloatArray, y: FloatArray) -> float:
    return float(np.mean((ends[:, 0] <= y) & (y <= ends[:, 1])))


def print_coverages(name: str) -> None:
    print(
        f"\n{name}\n\n| model | noise | coverage of 95% | width | variance reduction |\n| --- | --- | --- | --- | --- |"
    )
    for (kind, noise), (coverage, error, width, reduction) in coverages(name).items():
        print(f"| {kind} | {noise} | {coverage:.3f} ± {error:.3f} | {width:.3g} | {reduction:.1f} |")


def main() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ob.errors.OrthobootWarning)
        for name in sys.argv[1:] or DATA:
            print_coverages(name)


if __name__ == "__main__":
    main()
