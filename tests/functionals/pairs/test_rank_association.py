from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import DataError
from orthoboot.functionals import kendall, spearman

both = pytest.mark.parametrize("functional", [spearman, kendall], ids=lambda functional: functional.name)
SCIPY = {"spearman": stats.spearmanr, "kendall": stats.kendalltau}
FEW_VALUES = arrays(np.float64, 9, elements=st.integers(0, 4).map(float)).filter(lambda x: np.ptp(x) > 0)


@both
@given(x=FEW_VALUES, y=FEW_VALUES)
def test_it_is_scipys_however_many_rows_are_tied(functional, x, y):
    assert functional(x, y) == pytest.approx(SCIPY[functional.name](x, y).statistic, abs=1e-12)


@both
@pytest.mark.parametrize("n", [2, 3, 4, 5, 31, 32, 33, 200])
def test_resamples_are_scipys_on_the_repeated_rows_whatever_the_number_of_rows(functional, n):
    rng = np.random.default_rng(n)
    x = np.r_[0.0, 1.0, rng.normal(size=n - 2)]
    y = np.r_[1.0, 0.0, rng.normal(size=n - 2).round(1)]
    counts = 1 + rng.multinomial(n, np.full(n, 1 / n), size=5)  # every row, so that no column becomes constant
    phi_b = functional.at(read((x, y), paired=True)).values(Resamples((counts.astype(float),)))
    expected = [SCIPY[functional.name](np.repeat(x, row), np.repeat(y, row)).statistic for row in counts]
    np.testing.assert_allclose(phi_b[:, 0], expected, atol=1e-12)


def test_kendall_counts_pairs_by_any_weights():
    rng = np.random.default_rng(95)
    x, y = rng.integers(0, 6, size=(2, 50)).astype(float)
    weights = rng.exponential(size=50)
    sign_x, sign_y = (np.sign(column[:, np.newaxis] - column) for column in (x, y))
    numerator = weights @ (sign_x * sign_y) @ weights
    expected = numerator / np.sqrt((weights @ sign_x**2 @ weights) * (weights @ sign_y**2 @ weights))
    assert kendall(x, y, weights=weights) == pytest.approx(expected, rel=1e-12)


@both
@given(x=FEW_VALUES, y=FEW_VALUES)
def test_only_the_order_counts_and_the_sign_turns_with_it(functional, x, y):
    value = functional(x, y)
    assert functional(np.exp(x), y**3) == value
    assert functional(y, x) == pytest.approx(value, abs=1e-12)
    assert functional(-x, y) == pytest.approx(-value, abs=1e-12)
    assert functional(x, x) == pytest.approx(1)


@both
def test_the_influence_with_ties_is_the_derivative_towards_each_row(functional):
    x, noise = np.random.default_rng(96).poisson(2.0, size=(2, 45)).astype(float)
    data, distance = read((x, x + noise), paired=True), 1e-5
    towards = distance * (45 * np.eye(45) - 1)
    ahead, behind = (functional.at(data).values(Resamples((1 + sign * towards,))) for sign in (1, -1))
    np.testing.assert_allclose(functional.at(data).influence()[0], (ahead - behind) / (2 * distance), atol=1e-7)


@both
def test_independent_columns_have_the_known_variance(functional):
    # n Var is 1 for Spearman and 4/9 for Kendall. With 5000 rows the mean of the squared influence is known to about
    # 2%; 12% is more than five of those, odds of failure below 1e-6.
    x, y = np.random.default_rng(97).normal(size=(2, 5000))
    (influence,) = functional.at(read((x, y), paired=True)).influence()
    assert np.mean(influence**2) == pytest.approx({"spearman": 1.0, "kendall": 4 / 9}[functional.name], rel=0.12)


@both
def test_a_resample_with_one_value_in_a_column_has_no_correlation(functional):
    weights = np.array([[0.1, 0.2, 0.3, 0.0], [1.0, 1.0, 1.0, 1.0]])
    data = read(([5.0, 5.0, 5.0, 6.0], [1.0, 2.0, 3.0, 4.0]), paired=True)
    phi_b = functional.at(data).values(Resamples((weights,)))
    assert np.isnan(phi_b[0, 0])
    assert np.isfinite(phi_b[1, 0])


@both
def test_its_cost_grows_with_the_rows_and_not_with_the_pairs(functional):
    x, y = np.random.default_rng(98).normal(size=(2, 100_000))
    data = read((x, y), paired=True)
    start = time.perf_counter()
    functional.prepared(data).influence()
    # The 1e10 pairs would take minutes.
    assert time.perf_counter() - start < 10


@both
def test_the_bootstrap_needs_few_replicates_for_it(functional):
    x, noise = np.random.default_rng(99).normal(size=(2, 400))
    result = ob.bootstrap((x, x + noise), functional, paired=True, rng=0)
    assert result.r_squared > 0.95


@both
def test_a_constant_column_is_refused_by_name(functional):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [7.0, 7.0, 7.0]})
    with pytest.raises(DataError, match=f"`{functional.name}` is not defined for a constant column; got column 'b'"):
        functional(frame)


@both
def test_rows_that_are_no_pairs_are_refused(functional):
    with pytest.raises(DataError, match=f"`{functional.name}` takes one array with two columns"):
        functional(np.ones((4, 3)))
    with pytest.raises(DataError, match=f"`{functional.name}` takes paired samples; pass `paired=True`"):
        ob.bootstrap(([1.0, 2.0, 4.0], [3.0, 4.0, 1.0]), functional)
