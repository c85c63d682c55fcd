"""What a function computes is found by calling it with symbols, and nothing is taken for known that is not."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import scipy.stats
from scipy import stats
from scipy.stats import pearsonr

import orthoboot as ob
from orthoboot.drop_in.formula import formula_of

ROWS = frozenset({None, 0, -1})
LAST = frozenset({-1})


def difference(x, y, axis=-1):
    return np.mean(x, axis=axis) - np.mean(y, axis)


def association(x, y):
    return pearsonr(x, y)[0]


KNOWN = {
    "np.mean": (np.mean, 1),
    "partial": (partial(np.var, ddof=1), 1),
    "method": (lambda x: x.mean(), 1),
    "ratio": (lambda x: x.std(ddof=1) / x.mean(), 1),
    "logarithm": (lambda x: np.log(np.var(x)) + 1, 1),
    "power": (lambda x: 2 ** -np.median(x), 1),
    "percentile": (lambda x: np.percentile(x, 90) - np.quantile(x, 0.1), 1),
    "skewness": (lambda x: scipy.stats.skew(x), 1),
    "kurtosis": (lambda x: stats.kurtosis(x), 1),
    "difference": (difference, 2),
    "sum": (lambda *samples: sum(sample.mean() for sample in samples), 3),
    "pearsonr": (association, 2),
    "statistic of pearsonr": (lambda x, y: stats.pearsonr(x, y).statistic, 2),
    "corrcoef": (lambda x, y: np.corrcoef(x, y)[0, 1], 2),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_functions_are_recognised(name):
    function, n_samples = KNOWN[name]
    assert formula_of(function, n_samples, row_axes=ROWS, options={}) is not None


def catches(x):
    try:
        return np.sort(x)[0]
    except TypeError:
        return x.mean()


def catches_options(x):
    try:
        return x.mean(keepdims=True)[0] ** 2
    except TypeError:
        return x.mean()


def catches_absolute(x):
    try:
        return abs(x.mean())
    except TypeError:
        return x.mean()


def catches_samples(x):
    try:
        return np.mean(x + 1)
    except TypeError:
        return x.mean()


def branches(x):
    return x.mean() if x.mean() > 0 else x.std()


UNKNOWN = {
    "a row": (lambda x: x[0], 1),
    "all rows": (lambda x: sum(x), 1),
    "its size": (lambda x: x.mean() * len(x), 1),
    "its shape": (lambda x: x.mean() * x.shape[0], 1),
    "a maximum": (np.max, 1),
    "arithmetic of samples": (lambda x, y: np.mean(x * y), 2),
    "ufunc of a sample": (lambda x: np.mean(np.log(x)), 1),
    "what it catches": (catches, 1),
    "an option that it catches": (catches_options, 1),
    "an absolute value that it catches": (catches_absolute, 1),
    "arithmetic that it catches": (catches_samples, 1),
    "a comparison": (branches, 1),
    "a fraction": (lambda x: Fraction(1, 2) * x.mean(), 1),
    "an option": (lambda x: np.mean(x, where=[True]), 1),
    "weights": (lambda x: np.quantile(x, 0.5, method="lower"), 1),
    "levels": (lambda x: np.quantile(x, [0.1, 0.9]), 1),
    "a p-value": (lambda x, y: pearsonr(x, y)[1], 2),
    "a matrix": (lambda x, y: np.corrcoef(x, y), 2),
    "a diagonal": (lambda x, y: np.corrcoef(x, y)[0, 0], 2),
    "a constant": (lambda x: 1.0, 1),
    "an array": (lambda x: x.mean() * np.ones(2), 1),
    "several values": (lambda x: (x.mean(), x.std()), 1),
    "two samples for one": (np.mean, 2),
    "no function": ("mean", 1),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_cannot_be_followed_is_not_known(name):
    function, n_samples = UNKNOWN[name]
    assert formula_of(function, n_samples, row_axes=ROWS, options={}) is None


def test_an_axis_other_than_that_of_the_rows_is_not_known():
    assert formula_of(difference, 2, row_axes=LAST, options={"axis": -1}) is not None
    assert formula_of(difference, 2, row_axes=LAST, options={"axis": 0}) is None
    assert formula_of(lambda x, axis: np.mean(x), 1, row_axes=LAST, options={"axis": -1}) is None
    assert formula_of(lambda x: x.ndim * x.mean(-1), 1, row_axes=LAST, options={}) is None


def test_an_entry_of_the_catalogue_is_a_formula_of_all_samples():
    (term,) = formula_of(ob.correlation, 2, row_axes=ROWS, options={}).terms
    assert term.samples == (0, 1)


def test_a_function_keeps_its_modules_and_closure():
    inside = stats

    def of_closure(x, y, *, scale=2.0):
        return scale * inside.pearsonr(x, y).correlation

    assert formula_of(of_closure, 2, row_axes=ROWS, options={}) is not None
    x, y = np.random.default_rng(0).normal(size=(2, 20))
    assert of_closure(x, y) == 2 * stats.pearsonr(x, y).statistic
