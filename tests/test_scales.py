"""Numbers of any size: the same digits in other units, or a word about where that ends."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest

import orthoboot as ob
from orthoboot import errors

X = np.random.default_rng(1).gamma(2, size=200)
STATISTICS = {"mean": (ob.mean, 1), "std": (ob.std, 1), "variance": (ob.variance, 2), "median": (ob.median, 1)}
RUNS = [("orthogonal", "normal"), ("orthogonal", "bca"), ("jackknife", "abc"), ("standard", "percentile")]


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("exponent", [-900, -332, 265, 900])
@pytest.mark.parametrize(("estimator", "method"), RUNS)
@pytest.mark.parametrize("name", STATISTICS)
def test_a_power_of_two_changes_no_digit(name, estimator, method, exponent):
    statistic, degree = STATISTICS[name]
    if abs(degree * exponent) > 1000 or (name == "median" and method == "abc"):
        pytest.skip("no number, or no such interval")
    plain, scaled = (
        ob.bootstrap(x, statistic, estimator=estimator, method=method, n_resamples=200, rng=0)
        for x in (X, np.ldexp(X, exponent))
    )
    for field in ("estimate", "standard_error", "bias"):
        assert getattr(scaled, field) == np.ldexp(getattr(plain, field), degree * exponent), field
    assert scaled.confidence_interval == tuple(np.ldexp(plain.confidence_interval, degree * exponent))
    errors_in_units = np.ldexp(scaled.simulation_error, -degree * exponent)
    np.testing.assert_allclose(errors_in_units, plain.simulation_error, rtol=1e-9, atol=1e-9 * plain.standard_error)
    np.testing.assert_allclose(scaled.r_squared, plain.r_squared, rtol=1e-12)


def test_a_variance_that_is_no_number_is_told():
    with pytest.warns(
        errors.DigitsWarning, match=r"variance of `mean` is outside the range.*interval are not affected"
    ):
        result = ob.bootstrap(X * 1e-200, ob.mean, rng=0)
    assert result.variance == 0
    assert result.standard_error == pytest.approx(1e-200 * X.std() / np.sqrt(200), rel=1e-12)
    with pytest.warns(errors.DigitsWarning, match="reported as inf"):
        large = ob.bootstrap(np.column_stack([X, X * 1e200]), ob.mean, rng=0)
    assert np.isinf(large.covariance).tolist() == [[False, False], [False, True]]


@pytest.mark.parametrize("size", [1e-170, 1e170])
def test_a_statistic_that_is_no_number_is_refused(size):
    with pytest.raises(errors.DataError, match="`variance` of numbers of the size .* is out of the range"):
        ob.bootstrap(X * size, ob.variance, rng=0)


@pytest.mark.parametrize("size", [1e-200, 1e80, 1e160])
def test_a_function_of_the_users_at_any_size(size):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.DigitsWarning)
        result = ob.bootstrap(X * size, lambda x: x.mean(), rng=0)
    assert result.standard_error == pytest.approx(size * X.std() / np.sqrt(200), rel=1e-6)


# The last digits of the data


OFFSET = np.random.default_rng(0).normal(size=400) + 1e14


@pytest.mark.parametrize("statistic", [ob.mean, np.mean, lambda x: x.mean()], ids=["catalogue", "numpy", "plain"])
def test_replicates_that_differ_in_their_last_digits_are_not_rounded_away(statistic):
    result = ob.bootstrap(OFFSET, statistic, estimator="standard", n_resamples=1000, rng=0)
    # Of 1000 replicates the standard error is known to 2.2%; the last digit of 1e14, 1/64, adds half a percent.
    assert result.standard_error == pytest.approx((OFFSET - 1e14).std() / 20, rel=0.08)


def test_timestamps():
    times = 1_700_000_000_000_000_000 + np.random.default_rng(0).normal(0, 40_000, size=1000).astype(np.int64)
    with pytest.warns(errors.DigitsWarning, match="beyond 2\\*\\*53.*rounded to multiples of 256. Subtract a constant"):
        result = ob.bootstrap(times, ob.mean, estimator="standard", n_resamples=1000, rng=0)
    assert result.standard_error == pytest.approx((times - times[0]).std() / np.sqrt(1000), rel=0.08)
    assert [type(w) for w in result.extend(1000).warnings] == [errors.DigitsWarning]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_whole_numbers_of_frames(library):
    package = pytest.importorskip(library)
    frame = package.DataFrame({"id": np.arange(2**53, 2**53 + 40, 2) + 1, "x": np.arange(20.0)})
    with pytest.warns(errors.DigitsWarning, match="beyond 2\\*\\*53"):
        ob.bootstrap(frame, ob.mean, rng=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ob.bootstrap(frame, lambda frame: frame["x"].mean(), rng=0)  # it gets the whole numbers themselves


BEYOND = np.arange(2**53, 2**53 + 80, 2) + 1
PREDICTIONS = np.random.default_rng(1).normal(size=(2, 40))


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize(
    ("data", "statistic"),
    [
        ((BEYOND, BEYOND + 4, BEYOND - 4), ob.paired_difference(ob.mae)),
        ((BEYOND, *PREDICTIONS), ob.paired_difference(ob.correlation)),
        ((BEYOND, PREDICTIONS[0]), ob.correlation),
        ((BEYOND, PREDICTIONS[0]), lambda x, y, axis: (x - y).mean(axis=axis)),
    ],
    ids=["paired difference", "of correlations", "correlation", "vectorized"],
)
def test_whole_numbers_that_become_floats_are_told_for_every_statistic(data, statistic):
    result = ob.bootstrap(data, statistic, paired=True, estimator="standard", n_resamples=20, rng=0)
    assert [w for w in result.warnings if "`data[0]` holds whole numbers beyond 2**53" in str(w)]


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize(
    "statistic",
    [
        lambda x: int((x - x[0]).max()),
        lambda x, axis=None: float((np.asarray(x) - 2**53).mean()),
        lambda x, weights: float(np.average(x - 2**53, weights=weights)),
    ],
    ids=["rows", "batches that do not work", "weights"],
)
def test_functions_that_get_the_whole_numbers_themselves_are_not_told(statistic):
    result = ob.bootstrap(BEYOND, statistic, estimator="standard", n_resamples=20, rng=0)
    assert not [w for w in result.warnings if isinstance(w, errors.DigitsWarning)]


def test_whole_numbers_that_are_kept_are_not_told():
    assert ob.bootstrap(2**60 + 2**20 * np.arange(40), ob.mean, rng=0).warnings == ()


def test_rounding_alone_is_still_no_variation():
    with pytest.warns(errors.ConstantDataWarning):
        assert ob.bootstrap(np.full(50, 0.1), lambda x: x.mean(), rng=0).standard_error == 0


# Every statistic that squares, multiplies or divides


TABLE = np.random.default_rng(0).exponential(size=(30, 2))
SAMPLES = (TABLE[:, 0], TABLE[:, 1])
EVERY = {
    "ratio": (TABLE, ob.ratio, 0, {}),
    "covariance": (TABLE, ob.covariance, 2, {}),
    "covariance_matrix": (TABLE, ob.covariance_matrix, 2, {}),
    "covariance_factor": (TABLE, ob.covariance_factor, 1, {}),
    "correlation": (TABLE, ob.correlation, 0, {}),
    "norm_of_mean": (TABLE, ob.norm_of_mean(1), 1, {}),
    "rmse": (SAMPLES, ob.rmse, 1, {"paired": True}),
    "r2": (SAMPLES, ob.r2, 0, {"paired": True}),
    "linear_regression": ((TABLE[:, :1], TABLE[:, 1]), ob.linear_regression, 0, {"paired": True}),
    "relative_difference": (SAMPLES, ob.relative_difference(ob.mean), 0, {}),
    "compose": (TABLE[:, 0], ob.compose(lambda s, m: s / m, ob.std, ob.mean), 0, {}),
    "function_of_means": (TABLE, ob.function_of_means(lambda x: x, lambda m: m[0] / m[1]), 0, {}),
}


@functools.cache
def unscaled(name, estimator):
    data, statistic, _, options = EVERY[name]
    return ob.bootstrap(data, statistic, estimator=estimator, rng=0, **options)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("exponent", [-830, -332, 332, 830])
@pytest.mark.parametrize("name", EVERY)
def test_no_square_leaves_the_range_of_numbers(name, exponent):
    data, statistic, degree, options = EVERY[name]
    scaled = tuple(np.ldexp(one, exponent) for one in data) if isinstance(data, tuple) else np.ldexp(data, exponent)
    for estimator in ("orthogonal", "jackknife"):
        plain = unscaled(name, estimator)
        if abs(degree * exponent) > 1000:
            with pytest.raises(errors.DataError, match="is out of the range of floating-point numbers"):
                ob.bootstrap(scaled, statistic, estimator=estimator, rng=0, **options)
            continue
        large = ob.bootstrap(scaled, statistic, estimator=estimator, rng=0, **options)
        for field in ("standard_error", "bias"):
            ours, theirs = getattr(large, field), np.ldexp(getattr(plain, field), degree * exponent)
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10 * np.max(np.abs(theirs)))


def test_what_is_zero_by_definition_is_not_told():
    table = np.random.default_rng(1).normal(size=(60, 2))
    assert ob.bootstrap(table, ob.covariance_factor, estimator="jackknife", rng=0).warnings == ()


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_replicates_that_are_large_where_the_estimate_is_zero():
    x = np.r_[np.zeros(11), np.full(5, 1e200), np.full(5, -1e200)]
    with pytest.warns(errors.DigitsWarning):
        result = ob.bootstrap(x, ob.median, estimator="standard", n_resamples=400, rng=0)
    plain = ob.bootstrap(x / 1e200, ob.median, estimator="standard", n_resamples=400, rng=0)
    assert result.standard_error == pytest.approx(1e200 * plain.standard_error, rel=1e-12)


def test_an_estimate_next_to_the_largest_number():
    large = np.random.default_rng(0).integers(-3, 4, 300) * 1.947e153
    with pytest.warns(errors.DigitsWarning):
        result = ob.bootstrap(large, ob.variance, rng=0)
    plain = ob.bootstrap(large / 2.0**500, ob.variance, rng=0)
    assert result.standard_error == plain.standard_error * 2.0**1000


@pytest.mark.parametrize("method", ["percentile", "basic", "bca"])
@pytest.mark.parametrize("exponent", [-600, -75, 75, 600])
def test_quantiles_of_replicates_without_a_linear_part_have_the_unit_of_the_data(method, exponent):
    # By finite differences a quantile does not move with the weights, so that all is left to the replicates.
    x = np.random.default_rng(4).standard_t(2, 12)
    options = {"estimator": "paper", "method": method, "confidence_level": 0.5, "rng": 1}
    options["influence"] = "finite-difference"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = ob.bootstrap(x, ob.quantile(0.753), **options)
        scaled = ob.bootstrap(np.ldexp(x, exponent), ob.quantile(0.753), **options)
    assert not plain.influence.any()
    assert plain.confidence_interval.low < plain.confidence_interval.high
    ends = [np.ldexp(end, -exponent) for end in scaled.confidence_interval]
    np.testing.assert_allclose(ends, plain.confidence_interval, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.EqualReplicatesWarning")
def test_a_standard_error_that_is_lost_in_rounding_is_told():
    far = np.random.default_rng(0).normal(size=300) + 4e15
    with pytest.warns(errors.DigitsWarning, match="is lost in rounding: floating-point numbers near 4e\\+15 are 0.5"):
        ob.bootstrap(far, ob.mean, estimator="jackknife", rng=0)
