"""Verdicts on influence functions: right ones, wrong ones, and those that cannot be checked."""

from __future__ import annotations

import numpy as np

import orthoboot as ob
from tools.cases.base import COLUMN, PAIRED, TABLE, TWO_SAMPLES
from tools.cases.engines import NOISE, OF_DIFFERENCE, of_variance, powers
from tools.cases.functions import variation, variation_of_weights

CASES = {
    "an entry": lambda: ob.check_influence(ob.variance, COLUMN),
    "columns": lambda: ob.check_influence(ob.skewness, TABLE),
    "two samples": lambda: ob.check_influence(ob.difference(ob.mean), TWO_SAMPLES),
    "paired": lambda: ob.check_influence(ob.correlation, PAIRED, paired=True),
    "not smooth": lambda: ob.check_influence(ob.median, COLUMN),
    "plain function": lambda: ob.check_influence(variation, COLUMN),
    "function of weights": lambda: ob.check_influence(variation_of_weights, COLUMN),
    "jackknife": lambda: ob.check_influence(ob.variance, COLUMN, "jackknife"),
    "finite-difference": lambda: ob.check_influence(ob.gini, COLUMN, "finite-difference"),
    "regression": lambda: ob.check_influence(variation, COLUMN[:20], "regression"),
    "regression_on": lambda: ob.check_influence(variation, COLUMN, ob.regression_on(powers)),
    "right values": lambda: ob.check_influence(ob.variance, COLUMN, of_variance(COLUMN)),
    "right function": lambda: ob.check_influence(ob.variance, COLUMN, of_variance),
    "values for two samples": lambda: ob.check_influence(ob.difference(ob.mean), TWO_SAMPLES, OF_DIFFERENCE),
    "wrong scale": lambda: ob.check_influence(ob.variance, COLUMN, 2 * of_variance(COLUMN)),
    "wrong sign": lambda: ob.check_influence(ob.variance, COLUMN, -of_variance(COLUMN)),
    "not centred": lambda: ob.check_influence(ob.variance, COLUMN, of_variance(COLUMN) + 1),
    "noise": lambda: ob.check_influence(ob.variance, COLUMN, NOISE),
    "zero": lambda: ob.check_influence(ob.variance, COLUMN, np.zeros(60)),
    "seed": lambda: ob.check_influence(ob.variance, COLUMN, n_resamples=20, n_directions=3, rng=7),
    "the other way round, refused": lambda: ob.check_influence(COLUMN, ob.variance),
}
