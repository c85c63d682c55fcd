"""What a run does besides: failures, tolerances, more replicates, other estimators, seeds, batches, refusals."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import orthoboot as ob
from tools.cases.base import COLUMN, LABELS, PAIRS, TABLE, TWO_SAMPLES, answer, paired_answer
from tools.cases.functions import variation
from tools.cases.intervals import ESTIMATORS, METHODS

LARGE = np.exp(np.random.default_rng(14).multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], size=200))


def raises_without_the_largest(x: Any) -> Any:
    """Return the mean, and fail on resamples that lack one row: on a third of them."""
    if x.max() < COLUMN.max():
        raise ArithmeticError("the largest is missing")
    return x.mean()


def nan_without_the_largest(x: Any) -> Any:
    """Return the same, not a number where it fails."""
    return x.mean() if x.max() == COLUMN.max() else np.nan


def fails_on_resamples(x: Any) -> Any:
    """Return a number for the data alone."""
    if len(np.unique(x)) < len(x):
        raise ArithmeticError("rows repeat")
    return x.mean()


def _interval(result: ob.Result, **options: Any) -> dict[str, Any]:
    low, high = result.interval(**options)
    return {"estimate": result.estimate, "standard_error": result.standard_error, "low": low, "high": high}


def _distributions(result: ob.Result) -> dict[str, Any]:
    """Return what the other cases leave out, the replicates one by one among it."""
    return {
        "estimate": result.estimate,
        "debiased": result.debiased,
        "variance": result.variance,
        "covariance": result.covariance,
        "jackknife_variance": result.jackknife_variance,
        "bootstrap_distribution": result.bootstrap_distribution,
        "linear_distribution": result.linear_distribution,
        "influence": result.influence if isinstance(result.influence, np.ndarray) else np.hstack(result.influence),
        "summary": result.summary(),
    }


REFUSED: dict[str, dict[str, Any]] = {
    "confidence_level": {"confidence_level": 95},
    "method": {"method": "normall"},
    "estimator": {"estimator": "orthogonall"},
    "alternative": {"alternative": "both"},
    "n_resamples": {"n_resamples": 1},
    "n_resamples, half": {"n_resamples": 2.5},
    "tol": {"tol": -1},
    "tol of the jackknife": {"tol": 0.1, "estimator": "jackknife", "n_resamples": None},
    "max_resamples": {"tol": 0.1, "max_resamples": 5},
    "batch": {"batch": 0},
    "rng": {"rng": "seed"},
    "block_kind": {"block_length": 3, "block_kind": "square"},
    "paired": {"paired": "yes"},
    "strata and groups": {"strata": LABELS, "groups": LABELS},
    "strata": {"strata": LABELS[:-1]},
    "block_length": {"block_length": 61},
}

SEEDS: dict[str, Any] = {
    "a large number": 2**70 + 3,
    "a sequence": np.random.SeedSequence(5),
    "a generator": np.random.default_rng(5),
}

CASES = (
    {
        "failures": lambda: answer(COLUMN, raises_without_the_largest, estimator="standard", n_resamples=30),
        "failures, cheap": lambda: answer(COLUMN, raises_without_the_largest, estimator="cheap", n_resamples=20),
        "failures, orthogonal": lambda: answer(
            COLUMN, raises_without_the_largest, influence=COLUMN - COLUMN.mean(), n_resamples=30
        ),
        "failures, in the jackknife": lambda: answer(COLUMN, raises_without_the_largest, n_resamples=30),
        "failures, extended": lambda: answer(
            COLUMN, nan_without_the_largest, influence=COLUMN - COLUMN.mean(), n_resamples=15
        ).extend(15),
        "not a number": lambda: answer(COLUMN, nan_without_the_largest, estimator="standard", n_resamples=30),
        "most fail": lambda: answer(COLUMN, fails_on_resamples, estimator="standard", n_resamples=30),
        "regression without a fit": lambda: paired_answer(
            (TABLE[:5], TABLE[:5, 0] + np.arange(5)), ob.linear_regression, n_resamples=20
        ),
        "tol": lambda: answer(LARGE, ob.correlation, n_resamples=None, tol=0.1),
        "tol, from twenty": lambda: answer(LARGE, ob.correlation, n_resamples=20, tol=0.05),
        "tol, not met": lambda: answer(LARGE, ob.correlation, n_resamples=None, tol=0.001, max_resamples=100),
        "tol, standard": lambda: answer(COLUMN, ob.mean, n_resamples=None, tol=0.1, estimator="standard"),
        "tol, columns": lambda: answer(TABLE, ob.variance, n_resamples=None, tol=0.05),
        "tol, percentile": lambda: answer(
            COLUMN, ob.mean, n_resamples=None, tol=0.2, estimator="standard", method="percentile"
        ),
        "extend": lambda: answer(COLUMN, ob.variance).extend(10),
        "extend, twice": lambda: answer(COLUMN, ob.variance).extend(3).extend(7),
        "extend, plain function": lambda: answer(COLUMN, variation).extend(10),
        "extend, regression": lambda: answer(COLUMN[:30], variation, influence="regression", n_resamples=60).extend(10),
        "extend, fallback": lambda: answer(np.tile(COLUMN, 34), variation, n_resamples=10).extend(5),
        "extend by nothing": lambda: answer(COLUMN, ob.variance).extend(0),
        "first five": lambda: answer(COLUMN, ob.variance).with_estimator("orthogonal", slice(5)),
        "first three": lambda: answer(COLUMN, ob.variance).with_estimator("paper", slice(3)),
        "too few are left": lambda: answer(COLUMN, ob.variance).with_estimator("standard", slice(1)),
        "influence found later": lambda: answer(COLUMN, variation, estimator="standard").with_estimator("orthogonal"),
        "abc found later": lambda: _interval(answer(COLUMN, variation, estimator="standard"), method="abc"),
        "batches of one": lambda: answer(COLUMN, ob.variance, batch=1),
        "batches of seven": lambda: answer(TABLE, ob.gini, batch=7, n_resamples=20),
        "replicates of a column": lambda: _distributions(answer(COLUMN, ob.variance)),
        "replicates of columns": lambda: _distributions(answer(TABLE, ob.skewness)),
        "replicates of two samples": lambda: _distributions(answer(TWO_SAMPLES, ob.difference(ob.mean))),
        "replicates of blocks": lambda: _distributions(answer(COLUMN, ob.variance, block_length=5)),
        "replicates of a plain function": lambda: _distributions(answer(COLUMN, variation)),
        "constant data": lambda: answer(np.full(30, 0.1), ob.variance),
        "constant data, plain function": lambda: answer(np.full(30, 0.1), variation),
        "a constant column": lambda: answer(np.column_stack([COLUMN, np.ones(60)]), ob.mean),
        "few rows": lambda: answer(COLUMN[:6], ob.variance),
        "two rows": lambda: answer(COLUMN[:2], ob.mean),
        "few replicates": lambda: answer(COLUMN, ob.variance, n_resamples=3),
        "one replicate": lambda: answer(COLUMN, ob.variance, n_resamples=1, estimator="cheap"),
        "a dominant row": lambda: answer(np.append(COLUMN, 1e4), ob.variance),
        "weak influence": lambda: answer(LARGE[:50], ob.kurtosis, n_resamples=30),
        "large numbers": lambda: answer(1e8 * COLUMN, ob.variance),
        "small numbers": lambda: answer(1e-8 * COLUMN, ob.variance),
        "far from zero": lambda: answer(1e6 + COLUMN, ob.variance),
        "NaN, refused": lambda: answer(np.append(COLUMN, np.nan), ob.variance),
        "words, refused": lambda: answer(np.array(["a", "b", "c"]), ob.variance),
        "one row, refused": lambda: answer(COLUMN[:1], ob.variance),
        "three columns for two, refused": lambda: answer(TABLE, ob.correlation),
        "unequal pairs, refused": lambda: paired_answer(TWO_SAMPLES, ob.correlation),
    }
    | {
        f"with_estimator, {name}": lambda name=name: answer(COLUMN, ob.variance, n_resamples=25).with_estimator(name)
        for name in ESTIMATORS
    }
    | {
        f"with_estimator of a plain function, {name}": lambda name=name: answer(
            COLUMN, variation, n_resamples=25
        ).with_estimator(name)
        for name in ESTIMATORS
    }
    | {
        f"interval, {method}": lambda method=method: _interval(
            answer(PAIRS, ob.correlation, n_resamples=25), method=method, confidence_level=0.9, alternative="less"
        )
        for method in METHODS
    }
    | {f"seed, {name}": partial(answer, COLUMN, ob.variance, rng=seed) for name, seed in SEEDS.items()}
    | {f"refused, {name}": partial(answer, COLUMN, ob.variance, **options) for name, options in REFUSED.items()}
)
