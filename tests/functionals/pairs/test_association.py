from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ConstantDataWarning, DataError, DominantRowWarning
from orthoboot.functionals import correlation, covariance, ratio
from orthoboot.functionals.differences import curvature_by_differences

X, NOISE = np.random.default_rng(40).exponential(size=(2, 60))
Y = X + NOISE

columns = arrays(np.float64, 10, elements=st.integers(-100, 100).map(float)).filter(lambda x: np.ptp(x) > 0)


def test_two_columns_a_frame_and_two_paired_arrays_are_the_same():
    expected = correlation(X, Y)
    assert correlation(np.column_stack([X, Y])) == expected
    assert correlation(pd.DataFrame({"x": X, "y": Y})) == expected
    assert correlation.at(read((X, Y), paired=True)).output.names == ("correlation",)


def test_the_influence_of_the_correlation_is_the_textbook_formula():
    u, v = ((z - z.mean()) / z.std() for z in (X, Y))
    expected = u * v - correlation(X, Y) / 2 * (u**2 + v**2)
    (influence,) = correlation.at(read((X, Y), paired=True)).influence()
    np.testing.assert_allclose(influence[:, 0], expected, atol=1e-13)


def test_the_bias_of_the_covariance_is_minus_itself_over_n(iid_covariance):
    data = read((X, Y), paired=True)
    expected = -covariance(X, Y) / len(X)
    np.testing.assert_allclose(covariance.at(data).second_order_bias(iid_covariance), expected, rtol=1e-7)


def test_an_offset_of_a_hundred_million_costs_no_digits():
    x, y = (np.round(z * 2**20) / 2**20 for z in (X, Y))
    for functional in (correlation, covariance):
        assert functional(x + 1e8, y - 1e8) == pytest.approx(functional(x, y), rel=1e-13)


def test_the_bias_of_a_ratio_survives_large_means(iid_covariance):
    x, y = X + 1e6, Y + 1e6
    cov = np.cov(x, y, ddof=0) / len(x)
    expected = (ratio(x, y) * cov[1, 1] - cov[0, 1]) / y.mean() ** 2
    np.testing.assert_allclose(
        ratio.at(read((x, y), paired=True)).second_order_bias(iid_covariance), expected, rtol=1e-9
    )


def test_perfect_correlation_is_one_and_has_no_influence():
    data = read((X, 3 * X + 1), paired=True)
    assert correlation.at(data).estimate[0] == pytest.approx(1, abs=1e-15)
    np.testing.assert_allclose(correlation.at(data).influence()[0], 0, atol=1e-13)


def test_a_resample_without_spread_has_no_correlation():
    data = read((X, Y), paired=True)
    assert np.isnan(correlation.at(data).values(Resamples((60.0 * np.eye(60)[:3],)))).all()


@given(columns, columns, st.sampled_from([-2.0, 0.1, 30.0]), st.integers(-50, 50))
def test_the_correlation_does_not_feel_shifts_and_scales(x, y, scale, shift):
    moved = scale * x + shift
    assert correlation(moved, y) == pytest.approx(np.sign(scale) * correlation(x, y), abs=1e-9)
    assert covariance(moved, y) == pytest.approx(scale * covariance(x, y), rel=1e-9, abs=1e-7)
    assert correlation(y, x) == pytest.approx(correlation(x, y), abs=1e-12)


@given(columns, st.integers(1, 50))
def test_the_ratio_is_homogeneous(x, scale):
    y = np.abs(x) + 1
    assert ratio(scale * x, y) == pytest.approx(scale * ratio(x, y), rel=1e-9, abs=1e-9)
    assert ratio(x, scale * y) == pytest.approx(ratio(x, y) / scale, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("functional", [correlation, covariance, ratio], ids=lambda f: f.name)
def test_independent_samples_are_refused_with_the_way_out(functional):
    message = rf"`{functional.name}` takes paired samples; pass `paired=True` .* Got 2 independent samples of 60 and 60"
    with pytest.raises(DataError, match=message):
        functional.prepared(read((X, Y)))


@pytest.mark.parametrize(
    ("data", "shape"),
    [
        (read(np.ones((4, 3))), r"\(3,\)"),
        (read(X), r"\(\)"),
        (read((X, Y, X), paired=True), r"\(\) and \(\) and \(\)"),
        (read((np.column_stack([X, X]), Y), paired=True), r"\(2,\) and \(\)"),
    ],
    ids=["three columns", "one column", "three arrays", "a table and a column"],
)
def test_the_wrong_number_of_columns_is_refused_with_the_way_out(data, shape):
    message = rf"`ratio` takes one array with two columns or two paired arrays.*got rows of shape {shape}\. Select two"
    with pytest.raises(DataError, match=message):
        ratio.prepared(data)


def test_a_constant_column_has_no_correlation():
    message = "`correlation` is not defined for a constant column; got column {} with every value 2.0"
    with pytest.raises(DataError, match=message.format("'b'")):
        correlation(pd.DataFrame({"a": X[:5], "b": np.full(5, 2.0)}))
    with pytest.raises(DataError, match=message.format("'b'")):
        correlation(pd.Series(X[:5], name="a"), pd.Series(np.full(5, 2.0), name="b"))
    with pytest.raises(DataError, match=message.format("0")):
        correlation(np.full(5, 2.0), X[:5])


def test_the_covariance_with_a_constant_is_zero():
    data = read((np.full(60, 0.1), Y), paired=True)
    assert covariance.at(data).estimate[0] == 0
    np.testing.assert_array_equal(covariance.at(data).influence()[0], 0)


def test_a_zero_denominator_is_refused():
    with pytest.raises(DataError, match=r"`ratio` divides by the mean of the second column, which must not be zero"):
        ratio([1.0, 2.0], [-1.0, 1.0])


@pytest.mark.parametrize("statistic", [ob.correlation, ob.spearman, ob.kendall], ids=lambda statistic: statistic.name)
@pytest.mark.parametrize(("slope", "sign"), [(2.0, 1), (-1.0, -1), (0.1, 1), (-1e-9, -1)])
def test_a_perfect_correlation_is_said_to_be_one(statistic, slope, sign):
    x = np.random.default_rng(1).gamma(2, size=200)
    with pytest.warns(ConstantDataWarning, match=f"correlation is exactly {sign} in the data") as caught:
        result = ob.bootstrap((x, slope * x + 1), statistic, paired=True, rng=0)
    assert len(caught) == 1
    assert (result.estimate, result.standard_error) == (sign, 0.0)


def test_a_nearly_perfect_correlation_still_varies():
    x, noise = np.random.default_rng(1).normal(size=(2, 200))
    result = ob.bootstrap((x, x + 1e-5 * noise), ob.correlation, paired=True, rng=0)
    assert 0 < result.standard_error < 1e-10


@pytest.mark.parametrize("scale", [1.0, 2.0**-800, 2.0**800])
def test_a_ratio_by_a_mean_that_is_zero_but_for_rounding_is_refused(scale):
    y = np.array([0.1, 0.2, -0.3]) * scale
    assert y.mean() != 0
    with pytest.raises(DataError, match=r"`ratio` divides by .* must not be zero; got .*, zero but for rounding"):
        ratio([1.0, 2.0, 4.0], y)
    assert np.isfinite(ratio([1.0, 2.0, 4.0], y + 1e-12 * scale))


@pytest.mark.filterwarnings("ignore::orthoboot.errors.ConstantDataWarning")
def test_a_perfect_correlation_has_no_bias_under_any_plan():
    x = np.random.default_rng(0).lognormal(size=19)
    for plan in ({}, {"groups": np.arange(19)}):
        assert ob.bootstrap((x, 0.3 - 0.7 * x), ob.correlation, paired=True, estimator="jackknife", **plan).bias == 0


def _with_a_far_row() -> tuple[np.ndarray, np.ndarray]:
    """Return two columns whose correlation is 1 to rounding, and another number on every resample without one row."""
    x, noise = np.random.default_rng(2).normal(size=(2, 14))
    y = x + noise
    x[12] = y[12] = -6e7
    return x + 4e9, y + 4e9


@pytest.mark.filterwarnings("ignore::orthoboot.errors.FailedReplicatesWarning")
def test_one_far_row_makes_no_perfect_correlation():
    with pytest.warns(DominantRowWarning, match="is 1 to all digits, but the rows are not on a line: row 12 "):
        result = ob.bootstrap(
            _with_a_far_row(), ob.correlation, paired=True, estimator="standard", n_resamples=1000, rng=0
        )
    assert result.standard_error > 0.1
    assert not any(isinstance(warning, ConstantDataWarning) for warning in result.warnings)


def test_a_jackknife_of_rounding_alone_is_zero_and_told():
    with pytest.warns(DominantRowWarning, match="not seen to first order.*so is the jackknife's variance") as caught:
        result = ob.bootstrap(_with_a_far_row(), ob.correlation, paired=True, estimator="jackknife")
    assert len(caught) == 1
    assert (result.standard_error, result.bias) == (0, 0)


def test_the_curvature_of_a_correlation_is_that_of_differences():
    rng = np.random.default_rng(5)
    means = np.array([0.3, -0.2, 1.7, 2.1, 0.4])
    directions = 0.01 * rng.normal(size=(5, 4))
    expected = curvature_by_differences(correlation.value, means, directions, 100)
    np.testing.assert_allclose(correlation.curvature(means, directions), expected, rtol=1e-6)


def test_the_bias_of_a_correlation_near_one_is_not_rounding():
    """It is of the order of one minus the correlation, as for normal rows, where it is ``-r (1 - r**2) / (2 n)``."""
    x, noise = np.random.default_rng(1).normal(size=(2, 2000))
    result = ob.bootstrap((x, x + 1e-6 * noise), ob.correlation, paired=True, estimator="jackknife")
    rest = 1 - result.estimate**2
    assert result.bias == pytest.approx(-rest / 4000, rel=0.3)
