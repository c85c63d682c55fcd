from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ArgumentError, DataError
from orthoboot.functionals import correlation, kurtosis, mean, norm_of_mean, r2, ratio, skewness, std, variance

X = np.random.default_rng(30).exponential(size=50)

columns = arrays(np.float64, 12, elements=st.integers(-1000, 1000).map(float)).filter(lambda x: np.ptp(x) > 0)
shifts = st.integers(-1000, 1000).map(float)
scales = st.sampled_from([-8.0, -1.5, -0.1, 1e-3, 0.3, 2.0, 1e4])


@pytest.mark.parametrize("functional", [variance, std, skewness, kurtosis], ids=lambda f: f.name)
def test_an_offset_of_a_hundred_million_costs_no_digits(functional):
    # Multiples of 2**-20 are exact at 1e8, so both data sets hold the same numbers apart from the offset.
    x = np.round(X * 2**20) / 2**20
    near, far = read(x), read(x + 1e8)
    np.testing.assert_allclose(functional.at(far).estimate, functional.at(near).estimate, rtol=1e-13)
    np.testing.assert_allclose(
        functional.at(far).influence()[0], functional.at(near).influence()[0], rtol=1e-9, atol=1e-12
    )
    weights = Resamples((np.random.default_rng(31).multinomial(50, np.full(50, 0.02), size=4).astype(float),))
    np.testing.assert_allclose(functional.at(far).values(weights), functional.at(near).values(weights), rtol=1e-12)


def test_the_influence_of_the_mean_is_centred_at_any_offset():
    (influence,) = mean.at(read(X + 1e8)).influence()
    assert abs(influence.mean()) < 1e-15
    np.testing.assert_allclose(influence[:, 0], X - X.mean(), atol=2e-8)


def test_the_mean_is_linear(iid_covariance):
    weights = np.random.default_rng(32).multinomial(50, np.full(50, 0.02), size=20).astype(float)
    data = read(X)
    linear_b = weights @ mean.at(data).influence()[0] / 50
    np.testing.assert_allclose(
        mean.at(data).values(Resamples((weights,))), mean.at(data).estimate + linear_b, rtol=1e-14
    )
    np.testing.assert_allclose(mean.at(data).second_order_bias(iid_covariance), [0.0], atol=1e-18)


@pytest.mark.parametrize("functional", [variance, std], ids=lambda f: f.name)
def test_a_constant_column_has_no_spread_and_no_influence(functional, iid_covariance):
    data = read(np.column_stack([np.full(7, 0.1), np.arange(7.0)]))  # the mean of seven 0.1 is not 0.1
    functional.prepared(data)
    assert functional.at(data).estimate[0] == 0
    np.testing.assert_array_equal(functional.at(data).influence()[0][:, 0], 0)
    bias = functional.at(data).second_order_bias(iid_covariance)
    assert bias[0] == 0
    assert bias[1] < 0


@pytest.mark.parametrize("functional", [skewness, kurtosis], ids=lambda f: f.name)
def test_a_constant_column_is_refused_by_name(functional):
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [3.0, 3.0, 3.0]})
    message = rf"`{functional.name}` is not defined for a constant column; got column 'b' with every value 3\.0"
    with pytest.raises(DataError, match=message):
        functional(frame)
    with pytest.raises(DataError, match="got column 1 with"):
        functional(frame.to_numpy())


def test_a_resample_of_one_row_alone_has_no_spread_and_no_shape():
    data = read(X)
    weights = Resamples((50.0 * np.eye(50)[:5],))
    np.testing.assert_array_equal(variance.at(data).values(weights), 0)
    np.testing.assert_array_equal(std.at(data).values(weights), 0)
    assert np.isnan(skewness.at(data).values(weights)).all()
    assert np.isnan(kurtosis.at(data).values(weights)).all()


def test_columns_name_the_numbers():
    frame = pd.DataFrame({"height": [1.0, 2.0, 4.0], "weight": [5.0, 3.0, 3.0]})
    assert mean.at(read(frame)).output.names == ("height", "weight")
    assert mean.at(read(pl.from_pandas(frame))).output.names == ("height", "weight")
    assert mean.at(read(frame.to_numpy())).output.names == ("mean[0]", "mean[1]")
    assert mean.at(read(frame["height"])).output.names == ("mean",)


def test_one_column_of_a_frame_gives_a_vector_of_one():
    assert mean(pd.DataFrame({"a": [1.0, 3.0]})).shape == (1,)
    assert isinstance(mean(pd.Series([1.0, 3.0])), float)


def test_tiny_and_huge_numbers_keep_their_shape():
    for scale in (1e-200, 1e150):
        assert skewness(X * scale) == pytest.approx(skewness(X), rel=1e-12)
        assert kurtosis(X * scale) == pytest.approx(kurtosis(X), rel=1e-12)


@given(columns, shifts, scales)
def test_moments_follow_shifts_and_scales(x, shift, scale):
    moved = shift + scale * x
    size = np.abs(scale) * np.std(x)
    assert mean(moved) == pytest.approx(shift + scale * mean(x), abs=1e-9 * (1 + abs(shift) + size))
    assert variance(moved) == pytest.approx(scale**2 * variance(x), rel=1e-6)
    assert std(moved) == pytest.approx(size, rel=1e-6)
    assert skewness(moved) == pytest.approx(np.sign(scale) * skewness(x), rel=1e-6, abs=1e-6)
    assert kurtosis(moved) == pytest.approx(kurtosis(x), rel=1e-6, abs=1e-6)


@given(columns, shifts, scales)
def test_the_influence_follows_shifts_and_scales(x, shift, scale):
    before, after = read(x), read(shift + scale * x)
    for functional, factor in ((mean, scale), (variance, scale**2), (std, abs(scale)), (skewness, np.sign(scale))):
        (expected,), (influence,) = functional.at(before).influence(), functional.at(after).influence()
        np.testing.assert_allclose(influence, factor * expected, atol=1e-6 * np.abs(factor * expected).max() + 1e-13)


@pytest.mark.parametrize("power", [2, 4])
def test_the_bias_of_the_norm_of_the_mean_is_the_closed_form_of_gaussian_theory(power, iid_covariance):
    x = np.random.default_rng(33).normal(0.2, 1.0, size=(100, 25))
    m, C = x.mean(axis=0), np.cov(x.T, ddof=0) / 100
    expected = {2: np.trace(C), 4: 2 * (m @ m) * np.trace(C) + 4 * m @ C @ m}[power]
    np.testing.assert_allclose(norm_of_mean(power).at(read(x)).second_order_bias(iid_covariance), expected, rtol=1e-12)


def test_the_norm_of_the_mean_has_the_influence_of_the_paper():
    x = np.random.default_rng(34).normal(0.2, 1.0, size=(100, 25))
    m = x.mean(axis=0)
    np.testing.assert_allclose(norm_of_mean(2).at(read(x)).influence()[0][:, 0], 2 * (x @ m - m @ m), atol=1e-13)


def test_the_squared_norm_of_a_zero_mean_has_zero_influence_but_not_zero_bias(iid_covariance):
    data = read(np.array([[1.0, -2.0], [-1.0, 2.0]]))
    np.testing.assert_array_equal(norm_of_mean(2).at(data).influence()[0], 0)
    np.testing.assert_allclose(norm_of_mean(2).at(data).second_order_bias(iid_covariance), [2.5])
    np.testing.assert_array_equal(norm_of_mean(4).at(data).second_order_bias(iid_covariance), [0.0])


def test_a_small_power_of_a_zero_mean_is_refused():
    with pytest.raises(
        DataError, match=r"`norm_of_mean\(1\)` is not smooth where the mean is zero.*power of 2 or more"
    ):
        norm_of_mean(1)([-1.0, 1.0])


def test_a_small_power_of_a_mean_that_weights_keep_from_zero_is_taken():
    assert norm_of_mean(1)([-1.0, 1.0], weights=[1, 3]) == norm_of_mean(1)([-1.0, 1.0, 1.0, 1.0]) == 0.5
    assert ratio([1.0, 2.0], [-1.0, 1.0], weights=[1, 3]) == 3.5


@pytest.mark.parametrize("power", [0, -1, np.inf, np.nan, "2", True])
def test_the_power_must_be_a_positive_number(power):
    with pytest.raises(ArgumentError, match=r"`power` must be a positive number; got .*\. The paper takes 2 and 4\."):
        norm_of_mean(power)


@pytest.mark.parametrize("ddof", [np.nan, "1", None, True])
def test_ddof_must_be_a_number(ddof):
    with pytest.raises(ArgumentError, match=r"`ddof` must be a finite number; got .*use 0 or 1"):
        variance.replace(ddof=ddof)


def test_ddof_needs_more_rows():
    message = r"`variance` with ddof=3 needs more than 3 rows; got 3\. Use `\.replace\(ddof=0\)`"
    with pytest.raises(DataError, match=message):
        variance.replace(ddof=3)([1.0, 2.0, 3.0])


def test_paired_arrays_are_refused_with_the_way_out():
    with pytest.raises(DataError, match=r"`mean` takes one array or frame; got 2 paired ones\. .*`np.column_stack`"):
        mean.prepared(read((X, X), paired=True))


def test_an_unknown_option_is_refused():
    with pytest.raises(ArgumentError, match="`variance` has no option 'bias'; its options are ddof"):
        variance.replace(bias=True)


@pytest.mark.parametrize("statistic", [mean, variance, std.replace(ddof=1), skewness, kurtosis])
def test_a_column_alone_is_that_column_among_all(statistic):
    table, weights = np.random.default_rng(0).gamma(2, size=(50, 7)), np.random.default_rng(1).random((7, 50))
    prepared = statistic.prepared(read(table))
    resamples = Resamples((weights,))
    np.testing.assert_allclose(prepared.own_values(resamples), np.diag(prepared.values(resamples)), rtol=1e-13)


@pytest.mark.parametrize("n", [6, 300, 3000])
def test_a_resample_of_equal_rows_of_sparse_data_has_no_spread(n):
    """About the mean of all rows their mean square is the difference of two larger numbers."""
    x = np.full(n, 0.1)
    x[:3] = [2.1, 2.1, -3.4]
    y = np.random.default_rng(2).normal(size=n)
    equal = np.random.default_rng(1).multinomial(n, np.r_[np.zeros(3), np.full(n - 3, 1 / (n - 3))], size=50)
    weights = Resamples((equal.astype(float),))
    np.testing.assert_array_equal(std.prepared(read(x)).values(weights), 0)
    assert np.isnan(skewness.prepared(read(x)).values(weights)).all()
    for statistic in (correlation, r2):
        assert np.isnan(statistic.prepared(read((x, y), paired=True)).values(weights)).all()


@pytest.mark.parametrize("far", [1e4, 1e6, 1e9])
@pytest.mark.parametrize("statistic", [variance, std, skewness, kurtosis, correlation, r2], ids=lambda one: one.name)
def test_an_outlier_that_is_not_drawn_costs_the_others_few_digits(statistic, far):
    """About the mean of all rows a fourth moment would be rounding alone beyond an outlier of 1e4."""
    x, y = np.random.default_rng(0).normal(size=(2, 20))
    x[0], y[0] = far, 2 * far
    counts = np.r_[0.0, 2.0, np.ones(18)]
    rows = np.repeat(np.arange(20), counts.astype(int))
    samples = (x, y) if statistic.paired else (x,)
    expected = statistic(*(one[rows] for one in samples))
    assert statistic(*samples, weights=counts) == pytest.approx(
        expected, rel=100 * np.finfo(float).eps * far, abs=1e-10
    )


def test_a_norm_of_a_mean_that_is_zero_but_for_rounding_is_not_smooth():
    x = np.array([[0.1, 3.0], [0.2, -1.0], [-0.3, -2.0]])
    assert x.mean(axis=0).any()
    with pytest.raises(DataError, match=r"`norm_of_mean\(1\)` is not smooth where the mean is zero"):
        norm_of_mean(1)(x)
    assert norm_of_mean(2)(x) < 1e-30
    assert norm_of_mean(1)(x + np.array([1e-12, 0.0])) == pytest.approx(1e-12, rel=1e-3)


def test_the_norm_of_a_mean_that_is_zero_but_for_rounding_has_no_influence():
    rows = np.random.default_rng(6).gamma(2, size=(85, 3))
    centred = rows - rows.mean(axis=0)
    np.testing.assert_array_equal(norm_of_mean(2).at(read(centred)).influence()[0], 0)
