"""Functions as users write them: of rows, of batches, of weights; numbers, arrays and dicts of one or more samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from tools.cases.base import COLUMN, PAIRED, PAIRS, TABLE, TWO_SAMPLES, answer, paired_answer

LONG = np.random.default_rng(11).exponential(size=2001)
VERY_LONG = np.random.default_rng(12).exponential(size=10_001)


def variation(x: Any) -> Any:
    """Return the coefficient of variation of resampled rows."""
    return np.std(x) / np.mean(x)


def variation_of_batches(x: Any, axis: int = -1) -> Any:
    """Return it for a batch, rows on `axis`."""
    return np.std(x, axis=axis) / np.mean(x, axis=axis)


def variation_of_weights(x: Any, weights: Any) -> Any:
    """Return it with counts as weights."""
    mean = np.average(x, weights=weights)
    return np.sqrt(np.average((x - mean) ** 2, weights=weights)) / mean


def ratio_of_means(x: Any, y: Any) -> Any:
    """Return a function of two samples."""
    return np.mean(x) / np.mean(y)


def ratio_of_batches(x: Any, y: Any, axis: int = -1) -> Any:
    """Return it for batches of both."""
    return np.mean(x, axis=axis) / np.mean(y, axis=axis)


def ratio_of_independent_weights(x: Any, y: Any, weights: Any) -> Any:
    """Return it with a tuple of counts."""
    return np.average(x, weights=weights[0]) / np.average(y, weights=weights[1])


def ratio_of_paired_weights(x: Any, y: Any, weights: Any) -> Any:
    """Return it with the counts that both samples share."""
    return np.average(x, weights=weights) / np.average(y, weights=weights)


def summary_of(x: Any) -> Any:
    """Return a dict of a number and an array."""
    return {"mean": np.mean(x), "quartiles": np.quantile(x, [0.25, 0.75])}


def moments_of_weights(x: Any, weights: Any) -> Any:
    """Return a dict with counts as weights."""
    return {"mean": np.average(x, weights=weights), "powers": [np.average(x**p, weights=weights) for p in (2, 3)]}


CASES = {
    "plain": lambda: answer(COLUMN, variation),
    "plain, lambda": lambda: answer(COLUMN, lambda x: np.log(x.mean())),
    "plain, columns": lambda: answer(TABLE, lambda x: x.mean(axis=0) ** 2),
    "plain, matrix": lambda: answer(TABLE, lambda x: np.cov(x, rowvar=False)),
    "plain, dict": lambda: answer(COLUMN, summary_of),
    "plain, two samples": lambda: answer(TWO_SAMPLES, ratio_of_means),
    "plain, paired": lambda: paired_answer(PAIRED, ratio_of_means),
    "plain, standard": lambda: answer(COLUMN, variation, estimator="standard", n_resamples=200),
    "plain, cheap": lambda: answer(COLUMN, variation, estimator="cheap"),
    "plain, jackknife": lambda: answer(COLUMN, variation, estimator="jackknife", n_resamples=0),
    "plain, bca": lambda: answer(COLUMN, variation, method="bca", n_resamples=25),
    "plain, abc": lambda: answer(COLUMN, variation, method="abc"),
    "plain, not smooth": lambda: answer(COLUMN, lambda x: np.quantile(x, 0.9)),
    "plain, list as data": lambda: answer(COLUMN.tolist(), variation),
    "plain, whole numbers": lambda: answer(np.arange(30) % 7, lambda x: (x > 3).mean()),
    "plain, too many rows": lambda: answer(LONG, variation, n_resamples=20),
    "axis": lambda: answer(COLUMN, variation_of_batches),
    "axis, vectorized=True": lambda: answer(COLUMN, variation_of_batches, vectorized=True),
    "axis, vectorized=False": lambda: answer(COLUMN, variation_of_batches, vectorized=False),
    "axis, batches of three": lambda: answer(COLUMN, variation_of_batches, batch=3),
    "axis, two samples": lambda: answer(TWO_SAMPLES, ratio_of_batches),
    "axis, paired": lambda: paired_answer(PAIRED, ratio_of_batches),
    "axis, standard": lambda: answer(COLUMN, variation_of_batches, estimator="standard", n_resamples=200),
    "axis, columns": lambda: answer(TABLE, lambda x, axis: np.mean(x, axis=axis)),
    "vectorized without an axis, refused": lambda: answer(COLUMN, variation, vectorized=True),
    "weights": lambda: answer(COLUMN, variation_of_weights),
    "weights, columns": lambda: answer(TABLE, lambda x, weights: np.average(x, weights=weights, axis=0)),
    "weights, dict": lambda: answer(COLUMN, moments_of_weights),
    "weights, two samples": lambda: answer(TWO_SAMPLES, ratio_of_independent_weights),
    "weights, paired": lambda: paired_answer(PAIRED, ratio_of_paired_weights),
    "weights, jackknife": lambda: answer(COLUMN, variation_of_weights, estimator="jackknife", n_resamples=0),
    "weights, abc": lambda: answer(COLUMN, variation_of_weights, method="abc"),
    "weights, standard": lambda: answer(COLUMN, variation_of_weights, estimator="standard", n_resamples=50),
    "weights, batches of three": lambda: answer(COLUMN, variation_of_weights, batch=3),
    "weights, too many rows": lambda: answer(VERY_LONG, variation_of_weights, n_resamples=20),
    "weights that are ignored": lambda: answer(COLUMN, lambda x, weights: np.mean(x)),
    "weights that are not rescaled": lambda: answer(COLUMN, lambda x, weights: weights @ x),
    "np.mean": lambda: answer(TABLE, np.mean),
    "np.var": lambda: answer(COLUMN, np.var),
    "np.std": lambda: answer(COLUMN, np.std),
    "np.median": lambda: answer(COLUMN, np.median),
    "no number": lambda: answer(COLUMN, lambda x: "word"),
    "no finite number": lambda: answer(COLUMN, lambda x: np.nan),
    "raises": lambda: answer(COLUMN, lambda x: 1 / 0),
    "pairs as rows": lambda: answer(PAIRS, lambda x: np.corrcoef(x.T)[0, 1]),
}
