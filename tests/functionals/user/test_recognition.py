from __future__ import annotations

import sys
from functools import partial

import numpy as np
import pytest
from scipy import stats

from orthoboot.functionals import kurtosis, mean, median, quantile, recognized, skewness, std, variance


@pytest.mark.parametrize(
    ("statistic", "functional"),
    [
        (np.mean, mean),
        (np.var, variance),
        (np.std, std),
        (np.median, median),
        (stats.skew, skewness),
        (stats.kurtosis, kurtosis),
        (partial(np.mean), mean),
        (partial(np.var, ddof=1), variance.replace(ddof=1)),
        (partial(np.std, ddof=2), std.replace(ddof=2)),
        (partial(np.quantile, q=0.9), quantile(0.9)),
        (partial(np.quantile, q=np.array([0.1, 0.9])), quantile([0.1, 0.9])),
        (median, median),
    ],
)
def test_a_known_callable_has_an_entry_with_the_same_value(statistic, functional):
    assert recognized(statistic) == functional
    x = np.random.default_rng(70).exponential(size=31)
    np.testing.assert_allclose(functional(x), statistic(x), rtol=1e-13)


@pytest.mark.parametrize(
    "statistic",
    [
        len,
        np.max,
        lambda x: np.mean(x),
        partial(np.var, correction=1),
        partial(np.mean, axis=0),
        partial(np.mean, np.ones(3)),
        partial(np.var, ddof=1, axis=0),
        partial(np.var, ddof=None),
        partial(np.quantile, q=1.0),
        partial(np.quantile, q=0.5, method="lower"),
        partial(stats.skew, bias=False),
        np.quantile,
        "mean",
        None,
    ],
)
def test_what_the_catalogue_does_not_compute_is_not_recognized(statistic):
    assert recognized(statistic) is None


def test_looking_does_not_import_scipy_stats(monkeypatch):
    monkeypatch.delitem(sys.modules, "scipy.stats")
    assert recognized(np.mean) is mean
    assert "scipy.stats" not in sys.modules
