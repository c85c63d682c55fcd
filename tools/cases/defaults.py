"""Calls that leave everything to the library but the seed: these move where a default is changed on purpose."""

from __future__ import annotations

import numpy as np

import orthoboot as ob
from tools.cases.base import COLUMN, PAIRED, PAIRS, TABLE, TWO_SAMPLES
from tools.cases.functions import variation, variation_of_batches, variation_of_weights

CASES = {
    "variance": lambda: ob.bootstrap(COLUMN, ob.variance, rng=0),
    "mean of columns": lambda: ob.bootstrap(TABLE, ob.mean, rng=0),
    "correlation": lambda: ob.bootstrap(PAIRS, ob.correlation, rng=0),
    "correlation of pairs": lambda: ob.bootstrap(PAIRED, ob.correlation, paired=True, rng=0),
    "median": lambda: ob.bootstrap(COLUMN, ob.median, rng=0),
    "difference": lambda: ob.bootstrap(TWO_SAMPLES, ob.difference(ob.mean), rng=0),
    "linear_regression": lambda: ob.bootstrap((TABLE, COLUMN), ob.linear_regression, paired=True, rng=0),
    "plain function": lambda: ob.bootstrap(COLUMN, variation, rng=0),
    "function of batches": lambda: ob.bootstrap(COLUMN, variation_of_batches, rng=0),
    "function of weights": lambda: ob.bootstrap(COLUMN, variation_of_weights, rng=0),
    "np.var": lambda: ob.bootstrap(COLUMN, np.var, rng=0),
    "standard": lambda: ob.bootstrap(COLUMN, ob.variance, estimator="standard", rng=0),
    "paper": lambda: ob.bootstrap(COLUMN, ob.variance, estimator="paper", rng=0),
    "cheap": lambda: ob.bootstrap(COLUMN, ob.variance, estimator="cheap", rng=0),
    "jackknife": lambda: ob.bootstrap(COLUMN, ob.variance, estimator="jackknife", rng=0),
    "jackknife of a plain function": lambda: ob.bootstrap(COLUMN, variation, estimator="jackknife", rng=0),
    "bca": lambda: ob.bootstrap(COLUMN, ob.variance, method="bca", rng=0),
    "percentile, standard": lambda: ob.bootstrap(COLUMN, ob.variance, method="percentile", estimator="standard", rng=0),
    "blocks": lambda: ob.bootstrap(COLUMN, ob.mean, block_length=4, rng=0),
    "regression": lambda: ob.bootstrap(COLUMN[:30], variation, influence="regression", rng=0),
}
