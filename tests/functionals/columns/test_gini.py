from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import DataError
from orthoboot.functionals import gini

NON_NEGATIVE = arrays(np.float64, 8, elements=st.floats(0, 100)).filter(lambda x: x.sum() > 1e-3)


def double_sum(x, weights):
    differences = np.abs(x[:, np.newaxis] - x)
    return weights @ differences @ weights / (2 * weights.sum() * (weights @ x))


@given(NON_NEGATIVE, arrays(np.float64, 8, elements=st.floats(0.1, 5)))
def test_it_is_the_weighted_mean_difference_over_twice_the_mean(x, weights):
    assert gini(x, weights=weights) == pytest.approx(double_sum(x, weights), rel=1e-10, abs=1e-12)


@given(NON_NEGATIVE, st.floats(0.01, 100))
def test_it_lies_between_zero_and_one_and_does_not_change_with_the_unit(x, unit):
    assert -1e-12 <= gini(x) <= 1 - 1 / 8 + 1e-12
    assert gini(unit * x) == pytest.approx(gini(x), abs=1e-12)


def test_equal_rows_give_zero_and_one_owner_of_all_gives_one_less_one_nth():
    assert gini(np.full(7, 3.0)) == 0
    assert gini([0.0, 0.0, 0.0, 5.0]) == pytest.approx(0.75)


def test_exponential_and_uniform_rows_have_the_known_coefficients():
    # With 200,000 rows the standard error is below 0.001; 0.005 is five of those, odds of failure below 1e-6.
    rng = np.random.default_rng(80)
    assert gini(rng.exponential(size=200_000)) == pytest.approx(1 / 2, abs=0.005)
    assert gini(rng.random(200_000)) == pytest.approx(1 / 3, abs=0.005)


def test_the_influence_with_ties_is_the_derivative_of_the_double_sum():
    x = np.random.default_rng(81).poisson(2.0, size=30).astype(float)
    distance = 1e-5
    slopes = [
        (double_sum(x, 1 + distance * (30 * row - 1)) - double_sum(x, 1 - distance * (30 * row - 1))) / (2 * distance)
        for row in np.eye(30)
    ]
    np.testing.assert_allclose(gini.at(read(x)).influence()[0][:, 0], slopes, atol=1e-8)


def test_a_resample_of_zeros_only_has_no_coefficient():
    weights = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    phi_b = gini.at(read([0.0, 0.0, 4.0])).values(Resamples((weights,)))
    assert np.isnan(phi_b[0, 0])
    assert phi_b[1, 0] == pytest.approx(2 / 3)


def test_its_cost_grows_with_the_rows_and_not_with_the_pairs():
    x = np.random.default_rng(82).exponential(size=200_000)
    start = time.perf_counter()
    gini(x)
    gini.at(read(x)).influence()
    # The 4e10 pairs would take minutes, a sort hundredths of a second.
    assert time.perf_counter() - start < 5


def test_the_jackknife_finds_the_bias_of_the_bootstrap():
    x = np.random.default_rng(83).exponential(size=200)
    result = ob.bootstrap(x, gini, estimator="jackknife", n_resamples=0)
    standard = ob.bootstrap(x, gini, estimator="standard", n_resamples=20_000, rng=1)
    # Five simulation errors of the standard bootstrap, odds below 1e-6, and the terms of order 1/n**2.
    allowed = 5 * standard.standard_error / np.sqrt(20_000) + 1e-4
    assert result.bias == pytest.approx(standard.bias, abs=allowed)
    assert result.bias < 0


def test_names_follow_the_columns():
    frame = pd.DataFrame({"income": [1.0, 2.0], "wealth": [0.0, 9.0]})
    assert gini.at(read(frame)).output.names == ("income", "wealth")
    assert gini.at(read([1.0, 2.0])).output.names == ("gini",)


def test_negative_numbers_are_refused():
    with pytest.raises(DataError, match=r"`gini` takes numbers that are not negative; got -1\.0"):
        gini([1.0, -1.0])


@pytest.mark.parametrize(
    ("table", "label"), [([[1.0, 0.0], [2.0, 0.0]], "1"), (pd.DataFrame({"a": [0.0, 0.0]}), "'a'")]
)
def test_a_column_of_zeros_is_refused_by_name(table, label):
    with pytest.raises(DataError, match=f"`gini` divides by the mean.*got column {label} with zeros only"):
        gini(table)


def test_several_samples_are_refused_with_the_way_out():
    with pytest.raises(DataError, match=r"`gini` takes one sample; got 2 .*`difference\(gini\)`"):
        gini([1.0, 2.0], [3.0, 4.0])
