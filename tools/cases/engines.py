"""Influence functions that the statistic does not bring: engines by name, regressions, values given by the user."""

from __future__ import annotations

from typing import Any

import numpy as np

import orthoboot as ob
from tools.cases.base import COLUMN, PAIRED, TABLE, TWO_SAMPLES, answer, paired_answer
from tools.cases.functions import ratio_of_means, variation, variation_of_batches, variation_of_weights


def of_variance(x: Any) -> Any:
    """Return the influence values of the variance."""
    return (x - x.mean()) ** 2 - x.var()


def powers(x: Any) -> Any:
    """Return features that the coefficient of variation is a function of."""
    return np.column_stack([x, x**2])


X, Y = TWO_SAMPLES
OF_DIFFERENCE = (X - X.mean(), Y.mean() - Y)
NOISE = 20 * np.random.default_rng(13).standard_normal(60)

CASES = {
    "jackknife of an entry": lambda: answer(COLUMN, ob.variance, influence="jackknife"),
    "jackknife of columns": lambda: answer(TABLE, ob.skewness, influence="jackknife"),
    "jackknife of two samples": lambda: answer(TWO_SAMPLES, ratio_of_means, influence="jackknife"),
    "jackknife of batches": lambda: answer(COLUMN, variation_of_batches, influence="jackknife"),
    "jackknife of weights": lambda: answer(COLUMN, variation_of_weights, influence="jackknife"),
    "jackknife of groups": lambda: answer(COLUMN, variation, influence="jackknife", groups=np.arange(60) // 4),
    "finite-difference of an entry": lambda: answer(COLUMN, ob.variance, influence="finite-difference"),
    "finite-difference of columns": lambda: answer(TABLE, ob.gini, influence="finite-difference"),
    "finite-difference of two samples": lambda: answer(
        TWO_SAMPLES, ob.relative_difference(ob.std), influence="finite-difference"
    ),
    "finite-difference of weights": lambda: answer(COLUMN, variation_of_weights, influence="finite-difference"),
    "finite-difference of a plain function, refused": lambda: answer(COLUMN, variation, influence="finite-difference"),
    "finite-difference of a median": lambda: answer(COLUMN, ob.median, influence="finite-difference"),
    "regression": lambda: answer(COLUMN[:30], variation, influence="regression", n_resamples=100),
    "regression, columns": lambda: answer(TABLE[:20], ob.variance, influence="regression", n_resamples=80),
    "regression, two samples": lambda: answer(TWO_SAMPLES, ratio_of_means, influence="regression", n_resamples=150),
    "regression, groups": lambda: answer(
        COLUMN, variation, influence="regression", n_resamples=60, groups=np.arange(60) // 4
    ),
    "regression, too few": lambda: answer(COLUMN, variation, influence="regression", n_resamples=50),
    "regression, paper": lambda: answer(
        COLUMN[:30], variation, influence="regression", n_resamples=100, estimator="paper"
    ),
    "regression_on": lambda: answer(COLUMN, variation, influence=ob.regression_on(powers), n_resamples=30),
    "regression_on, values": lambda: answer(
        COLUMN, variation, influence=ob.regression_on(powers(COLUMN)), n_resamples=30
    ),
    "regression_on, two samples": lambda: answer(
        TWO_SAMPLES, ratio_of_means, influence=ob.regression_on(TWO_SAMPLES), n_resamples=20
    ),
    "regression_on, percentile": lambda: answer(
        COLUMN, variation, influence=ob.regression_on(powers), n_resamples=30, method="percentile"
    ),
    "given values": lambda: answer(COLUMN, np.var, influence=of_variance(COLUMN)),
    "given values, not centred": lambda: answer(COLUMN, ob.variance, influence=of_variance(COLUMN) + 5),
    "given values, three times too large": lambda: answer(COLUMN, ob.variance, influence=3 * of_variance(COLUMN)),
    "given values, noise": lambda: answer(COLUMN, ob.variance, influence=NOISE, n_resamples=20),
    "given values, columns": lambda: answer(TABLE, ob.mean, influence=TABLE - TABLE.mean(axis=0)),
    "given values, two samples": lambda: answer(TWO_SAMPLES, ob.difference(ob.mean), influence=OF_DIFFERENCE),
    "given values, too short, refused": lambda: answer(COLUMN, ob.variance, influence=NOISE[:-1]),
    "given values, NaN, refused": lambda: answer(COLUMN, ob.variance, influence=np.full(60, np.nan)),
    "given function": lambda: answer(COLUMN, lambda x: x.var(), influence=of_variance),
    "given function, two samples": lambda: answer(
        TWO_SAMPLES, ob.difference(ob.mean), influence=lambda x, y: (x - x.mean(), y.mean() - y)
    ),
    "given function, paired": lambda: paired_answer(
        PAIRED, ob.ratio, influence=lambda x, y: (x - y * x.mean() / y.mean()) / y.mean()
    ),
    "given values, a plain function": lambda: answer(
        COLUMN, lambda x: x.var(), influence=of_variance(COLUMN), method="bca", n_resamples=25
    ),
    "an unknown name, refused": lambda: answer(COLUMN, ob.variance, influence="jacknife"),
    "None, refused": lambda: answer(COLUMN, ob.variance, influence=None),
}
