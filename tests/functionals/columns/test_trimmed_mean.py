from __future__ import annotations

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
from orthoboot.errors import ArgumentError, DataError
from orthoboot.functionals import mean, trimmed_mean, unit_resamples
from orthoboot.plans import Cluster

X = np.random.default_rng(70).standard_t(3, size=(40, 2))


@pytest.mark.parametrize("p", [0, 0.025, 0.1, 0.25, 0.45])
def test_it_is_scipys_where_the_cut_is_a_whole_number_of_rows(p):
    np.testing.assert_allclose(trimmed_mean(p)(X), stats.trim_mean(X, p), rtol=1e-12)


@pytest.mark.parametrize("p", [0.1, 0.3])
def test_resamples_are_scipys_on_the_repeated_rows(p):
    counts = np.random.default_rng(71).multinomial(40, np.full(40, 1 / 40), size=8)
    phi_b = trimmed_mean(p).at(read(X)).values(Resamples((counts.astype(float),)))
    expected = [stats.trim_mean(np.repeat(X, row, axis=0), p) for row in counts]
    np.testing.assert_allclose(phi_b, expected, rtol=1e-11)


def test_between_whole_numbers_of_rows_it_is_continuous_where_scipy_jumps():
    x = np.array([0.0, 1.0, 2.0, 3.0, 100.0])
    just_below = np.nextafter(0.2, 0)
    assert trimmed_mean(just_below)(x) == pytest.approx(trimmed_mean(0.2)(x), rel=1e-12)
    assert stats.trim_mean(x, just_below) == pytest.approx(x.mean())
    # Half a row cut at each end leaves 0.5 + 1 + 1 + 1 + 0.5 rows.
    assert trimmed_mean(0.1)(x) == pytest.approx((1 + 2 + 3 + 50) / 4)


@given(
    arrays(np.float64, 7, elements=st.floats(-100, 100)),
    arrays(np.float64, 7, elements=st.floats(0.01, 5)),
    st.floats(0, 0.49),
)
def test_it_is_a_weighted_mean_that_lies_among_the_rows_and_turns_with_the_sign(x, weights, p):
    value = trimmed_mean(p)(x, weights=weights)
    assert x.min() - 1e-9 <= value <= x.max() + 1e-9
    assert trimmed_mean(p)(-x, weights=weights) == pytest.approx(-value, abs=1e-9)


def test_without_a_cut_it_is_the_mean_and_has_its_influence():
    np.testing.assert_allclose(trimmed_mean(0)(X), mean(X), rtol=1e-13)
    np.testing.assert_allclose(trimmed_mean(0).at(read(X)).influence()[0], mean.at(read(X)).influence()[0], atol=1e-13)


def test_far_outliers_move_neither_value_nor_influence():
    x = np.arange(20.0)
    spoilt = np.r_[x[:-1], 1e300]
    assert trimmed_mean(0.1)(spoilt) == trimmed_mean(0.1)(x)
    np.testing.assert_array_equal(
        trimmed_mean(0.1).at(read(spoilt)).influence(), trimmed_mean(0.1).at(read(x)).influence()
    )


def test_at_a_cut_between_rows_the_influence_is_the_mean_of_both_one_sided_derivatives():
    functional, data, distance = trimmed_mean(0.1), read(X), 1e-6
    towards = distance * (40 * np.eye(40) - 1)
    ahead, behind = (functional.at(data).values(Resamples((1 + sign * towards,))) for sign in (1, -1))
    slopes = (ahead - behind) / (2 * distance)
    np.testing.assert_allclose(functional.at(data).influence()[0], slopes, atol=1e-8)
    kinks = ahead + behind - 2 * functional.at(data).values(unit_resamples(data))
    assert np.abs(kinks).max() > 1e-4 * distance


def test_the_variance_of_the_linear_part_is_that_of_the_winsorised_rows():
    # Tukey and McLaughlin (1963): winsorised variance / ((1 - 2 p)^2 n).
    winsorised = np.asarray(stats.mstats.winsorize(X[:39, 0], limits=(4 / 39, 4 / 39)))
    (influence,) = trimmed_mean(4.5 / 39).at(read(X[:39, 0])).influence()
    assert np.mean(influence**2) == pytest.approx(winsorised.var() / (1 - 9 / 39) ** 2, rel=1e-12)


def test_clusters_of_unequal_size_have_the_bias_of_a_quotient():
    groups = np.repeat([0, 1, 2, 3], [2, 5, 12, 21])
    plan = Cluster(groups)
    expected = mean.at(read(X)).second_order_bias(lambda parts: plan.covariance(parts[0]))
    bias = trimmed_mean(0).at(read(X)).second_order_bias(lambda parts: plan.covariance(parts[0]))
    np.testing.assert_allclose(bias, expected, rtol=1e-9)


def test_the_bootstrap_needs_few_replicates_for_it():
    result = ob.bootstrap(np.random.default_rng(72).standard_t(3, size=500), trimmed_mean(0.1), rng=0)
    assert result.r_squared > 0.95


def test_names_tell_the_share_and_the_columns():
    assert trimmed_mean(0.1).at(read(X[:, 0])).output.names == ("trimmed_mean(0.1)",)
    assert trimmed_mean(0.1).at(read(pd.DataFrame(X, columns=["a", "b"]))).output.names == ("a", "b")


@pytest.mark.parametrize("p", [0.5, -0.1, 10, np.nan, "0.1", True, None])
def test_shares_outside_of_the_range_are_refused(p):
    with pytest.raises(ArgumentError, match=r"`p`.* must be at least 0 and below 0\.5; got .*use 0\.1"):
        trimmed_mean(p)


def test_several_samples_are_refused_with_the_way_out():
    with pytest.raises(DataError, match=r"takes one sample; got 2 .*`difference\(trimmed_mean\(0\.1\)\)`"):
        trimmed_mean(0.1)([1.0, 2.0], [3.0, 4.0])


def test_cuts_that_fall_on_one_row_leave_no_influence_of_rounding():
    x = np.random.default_rng(0).normal(565, 1, 37)
    # 0.489 of 37 rows are 18.09: both cuts fall on row 19, to which all rows are moved.
    with pytest.warns(ob.errors.ConstantDataWarning, match="to first order"):
        result = ob.bootstrap(x, ob.trimmed_mean(0.489), estimator="jackknife")
    assert not result.influence.any()
    assert result.standard_error == 0.0
