from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ArgumentError, DataError
from orthoboot.functionals import median, quantile
from orthoboot.functionals.columns.order_statistics import hall_sheather_bandwidth

LEVELS = [0.01, 0.1, 0.25, 1 / 3, 0.5, 0.9, 0.999]


@pytest.mark.parametrize("n", [2, 3, 10, 57, 400])
def test_quantiles_of_resamples_are_numpys_to_the_last_bit(n):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, 2)).round(1)  # rounded, so that there are ties
    weights = rng.multinomial(n, np.full(n, 1 / n), size=6).astype(float)
    phi_b = quantile(LEVELS).at(read(x)).values(Resamples((weights,)))
    for row, counts in zip(phi_b, weights, strict=True):
        expected = np.quantile(np.repeat(x, counts.astype(int), axis=0), LEVELS, axis=0)
        np.testing.assert_array_equal(row.reshape(expected.shape), expected)


def test_weights_below_zero_have_no_quantile():
    """At the tilted weights of ABC, where which of two equal rows comes first would decide."""
    weights = Resamples((np.array([[1.5, -0.5, 2.0], [1.0, 1.0, 1.0]]),))
    values = quantile([0.2, 0.6]).at(read([0.0, 0.0, 3.0])).values(weights)
    assert np.isnan(values[0]).all()
    assert np.isfinite(values[1]).all()


@given(
    arrays(np.float64, 9, elements=st.floats(-100, 100)),
    st.lists(st.integers(0, 8), min_size=9, max_size=9).map(lambda rows: np.bincount(rows, minlength=9)),
    st.floats(0.01, 0.99),
    st.floats(0.01, 100),
)
def test_any_multiple_of_the_counts_gives_the_quantile_of_the_repeated_rows(x, counts, level, factor):
    expected = np.quantile(np.repeat(x, counts), level)
    assert quantile(level)(x, weights=factor * counts) == expected


@given(arrays(np.float64, 8, elements=st.integers(-100, 100).map(float)), st.sampled_from([0.5, 2.0, 64.0]))
def test_quantiles_follow_shifts_and_scales_and_turn_around_with_the_sign(x, scale):
    assert quantile(0.3)(scale * x + 7) == pytest.approx(scale * quantile(0.3)(x) + 7, abs=1e-9)
    assert quantile(0.3)(-x) == pytest.approx(-quantile(0.7)(x), abs=1e-9)


def test_the_influence_takes_two_values_and_jumps_at_the_quantile():
    x = np.random.default_rng(51).normal(size=101)
    (influence,) = quantile(0.3).at(read(x)).influence()
    below = x <= np.quantile(x, 0.3)
    assert len(np.unique(influence)) == 2
    assert (influence[below] < 0).all()
    assert (influence[~below] > 0).all()


@pytest.mark.parametrize("level", [0.1, 0.5, 0.8])
def test_the_influence_gives_the_asymptotic_variance_of_a_normal_quantile(level):
    # Var = q (1 - q) / f(x_q)^2 / n. The slope over the bandwidth h rests on about 2 n h rows and so has relative
    # error 1 / sqrt(2 n h), at most 0.03 here for the slope and 0.06 for its square; 0.25 is more than four of those.
    n = 20_000
    x = np.random.default_rng(52).normal(size=n)
    (influence,) = quantile(level).at(read(x)).influence()
    density = {0.1: 0.17550, 0.5: 0.39894, 0.8: 0.27996}[level]
    assert np.mean(influence**2) == pytest.approx(level * (1 - level) / density**2, rel=0.25)


def test_ties_that_leave_no_slope_leave_no_influence():
    x = np.array([1.0] * 50 + [2.0] * 3)
    assert median(x) == 1
    np.testing.assert_array_equal(median.at(read(x)).influence()[0], 0)


def test_the_slope_of_evenly_spaced_rows_is_their_range_at_every_level():
    # Their quantile function is a straight line, so clipping the bandwidth must not change its slope.
    for level in (1e-6, 0.01, 0.4, 0.99):
        (influence,) = quantile(level).at(read([0.0, 1.0, 2.0, 3.0])).influence()
        assert np.ptp(influence) == pytest.approx(3.0)


def test_extreme_levels_of_small_samples_have_a_finite_influence():
    for level in (1e-6, 0.01, 0.99):
        (influence,) = quantile(level).at(read([3.0, 1.0, 2.0, 5.0])).influence()
        assert np.isfinite(influence).all()
        assert abs(influence.mean()) < 1e-12


def test_the_bandwidth_is_that_of_quantreg():
    # R: quantreg::bandwidth.rq(c(0.1, 0.5, 0.9), 500), i.e.
    # n^(-1/3) * qnorm(1 - 0.05/2)^(2/3) * ((1.5 * dnorm(qnorm(p))^2) / (2 * qnorm(p)^2 + 1))^(1/3)
    from statistics import NormalDist

    normal = NormalDist()
    for level in (0.1, 0.5, 0.9):
        z = normal.inv_cdf(level)
        best = (1.5 * normal.pdf(z) ** 2 / (2 * z**2 + 1)) ** (1 / 3)
        expected = 500 ** (-1 / 3) * normal.inv_cdf(0.975) ** (2 / 3) * best
        assert hall_sheather_bandwidth(np.array([level]), 500)[0] == pytest.approx(expected, rel=1e-8)


def test_names_tell_levels_and_columns():
    x = np.arange(12.0)
    frame = pd.DataFrame({"a": x, "b": x**2})
    assert median.name == "median"
    assert quantile(0.5) == median
    assert quantile(0.25).at(read(x)).output.names == ("quantile(0.25)",)
    assert quantile([0.25, 0.5]).at(read(x)).output.names == ("quantile(0.25)", "quantile(0.5)")
    assert median.at(read(frame)).output.names == ("a", "b")
    assert quantile([0.25, 0.5]).at(read(frame)).output.names == (
        "quantile(0.25) of a",
        "quantile(0.25) of b",
        "quantile(0.5) of a",
        "quantile(0.5) of b",
    )


def test_the_shape_is_that_of_numpy():
    x = np.random.default_rng(53).normal(size=(20, 3))
    for level in (0.5, [0.5], [0.1, 0.9]):
        np.testing.assert_array_equal(quantile(level)(x), np.quantile(x, level, axis=0))


@pytest.mark.parametrize("level", [0, 1, 25, -0.1, np.nan, "0.5", True, None, [0.5, 1.0]])
def test_levels_outside_of_the_open_unit_interval_are_refused(level):
    message = r"`q` must lie strictly between 0 and 1; got .*\. For the 25% quantile use 0\.25\."
    with pytest.raises(ArgumentError, match=message):
        quantile(level)


def test_no_level_at_all_is_refused():
    with pytest.raises(ArgumentError, match="`q` must hold at least one level; got an empty sequence"):
        quantile([])


def test_several_samples_are_refused_with_the_way_out():
    with pytest.raises(
        DataError, match=r"`median` takes one sample; got 2 independent samples.*`difference\(median\)`"
    ):
        median([1.0, 2.0], [3.0, 4.0])
