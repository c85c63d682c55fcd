from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import re
import sys
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import orthoboot as ob
from orthoboot import errors

RNG = np.random.default_rng(0)
X = RNG.gamma(2.0, size=60)
U = RNG.gamma(3.0, size=60)
TABLE = np.column_stack([X, U, X * U])
ESTIMATORS = ["orthogonal", "paper", "standard", "cheap", "jackknife"]


def named(statistic):
    return getattr(statistic, "__name__", None) or statistic.name


def spread(x):
    return np.mean(x**2) - np.mean(x) ** 2


def as_matrix(x, weights):
    means = np.average(x, axis=0, weights=weights)
    return np.stack([means, means**2])


def as_dict(x, weights):
    means = np.average(x, axis=0, weights=weights)
    return {"first": means[0] ** 2, "rest": means[1:] ** 2}


class Counting:
    """A statistic that counts its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return spread(x)


def quietly(call, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.OrthobootWarning)
        return call(*args, **options)


CASES = {
    "scalar": (X, ob.variance, ()),
    "vector": (TABLE, ob.variance, (3,)),
    "matrix": (TABLE, as_matrix, (2, 3)),
    "vector of one": (X[:, np.newaxis], ob.variance, (1,)),
}
NUMBERS = ["estimate", "bias", "debiased", "standard_error", "variance", "equivalent_resamples", "r_squared", "slope"]


@pytest.mark.parametrize(("data", "statistic", "shape"), CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_number_has_the_shape_of_the_statistic(data, statistic, shape, estimator):
    result = ob.bootstrap(data, statistic, estimator=estimator, rng=0)
    numbers = [getattr(result, name) for name in (*NUMBERS, "jackknife_variance")]
    numbers += [*result.confidence_interval, *result.simulation_error]
    assert all(np.shape(number) == shape for number in numbers)
    assert all(isinstance(number, float if shape == () else np.ndarray) for number in numbers)
    k, n_resamples = int(np.prod(shape)), result.n_resamples
    assert result.bootstrap_distribution.shape == (*shape, n_resamples)
    assert result.covariance.shape == (k, k)
    assert len(result.names) == k
    if estimator not in ("standard", "cheap"):
        assert result.linear_distribution.shape == (*shape, n_resamples)
        assert result.influence.shape == ((60,) if shape == () else (60, k))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_number_of_a_dict_is_a_dict(estimator):
    result = ob.bootstrap(TABLE, as_dict, estimator=estimator, rng=0)
    numbers = [getattr(result, name) for name in (*NUMBERS, "jackknife_variance")]
    for number in (*numbers, *result.confidence_interval, *result.simulation_error):
        assert list(number) == ["first", "rest"]
        assert isinstance(number["first"], float)
        assert number["rest"].shape == (2,)
    assert result.bootstrap_distribution["rest"].shape == (2, result.n_resamples)
    assert result.names == ("first", "rest[0]", "rest[1]")
    assert result.covariance.shape == (3, 3)


def test_several_samples_have_a_tuple_of_influence_values():
    result = ob.bootstrap((X, U[:40]), ob.difference(ob.mean), rng=0)
    assert [values.shape for values in result.influence] == [(60,), (40,)]
    assert ob.bootstrap((X, U), ob.correlation, paired=True, rng=0).influence.shape == (60,)


def test_fields_agree_with_each_other():
    result = ob.bootstrap(TABLE, ob.variance, method="normal", rng=0)
    np.testing.assert_allclose(result.debiased, result.estimate - result.bias)
    np.testing.assert_allclose(result.variance, result.standard_error**2)
    low, high = result.confidence_interval
    np.testing.assert_allclose((low + high) / 2, result.estimate)
    np.testing.assert_allclose(high - low, 2 * 1.959963984540054 * result.standard_error)
    np.testing.assert_allclose(result.simulation_error.low, 1.959963984540054 * result.simulation_error.standard_error)
    np.testing.assert_allclose(result.jackknife_variance, (result.influence**2).sum(axis=0) / 60**2)
    assert result.estimate == pytest.approx(ob.variance(TABLE))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_diagonal_of_the_covariance_is_the_variance(estimator):
    result = ob.bootstrap(TABLE, as_matrix, estimator=estimator, rng=0)
    np.testing.assert_allclose(np.diag(result.covariance), result.variance.ravel(), rtol=1e-9)
    np.testing.assert_array_equal(result.covariance, result.covariance.T)


@pytest.mark.parametrize("estimator", ["orthogonal", "standard", "cheap", "jackknife"])
@pytest.mark.parametrize("seed", range(5))
def test_the_covariance_is_positive_semi_definite(estimator, seed):
    # Six outputs from four replicates, so that the simulated part alone is singular.
    options = {} if estimator == "jackknife" else {"n_resamples": 4}
    result = quietly(ob.bootstrap, TABLE, as_matrix, estimator=estimator, rng=seed, **options)
    eigenvalues = np.linalg.eigvalsh(result.covariance)
    assert eigenvalues.min() >= -1e-12 * eigenvalues.max()


def test_without_an_influence_function_nothing_is_said_about_it():
    result = ob.bootstrap(X, spread, estimator="standard", n_resamples=50, rng=0)
    assert result.influence is None
    assert result.linear_distribution is None
    assert np.isnan([result.r_squared, result.slope, result.jackknife_variance]).all()


# Names


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": X, "u": U}, index=RNG.permutation(60)),
        pl.DataFrame({"x": X, "u": U}),
        pa.table({"x": X, "u": U}),
    ],
    ids=["pandas", "polars", "pyarrow"],
)
def test_column_names_reach_the_result(frame):
    for statistic in (ob.variance, np.mean, lambda x, axis: np.mean(x, axis=axis) ** 2):
        assert ob.bootstrap(frame, statistic, rng=0).names == ("x", "u")


def test_names_of_what_the_function_returns_reach_the_result():
    frame = pd.DataFrame({"x": X, "u": U})
    assert ob.bootstrap(frame, lambda df: df.mean() ** 2, rng=0).names == ("x", "u")
    assert ob.bootstrap(pl.from_pandas(frame), lambda df: df.mean(), rng=0).names == ("x", "u")
    assert ob.bootstrap(frame, lambda df: df.cov(), rng=0).names == ("x, x", "x, u", "u, x", "u, u")
    assert ob.bootstrap(X, spread, rng=0).names == ("spread",)


# Frozen


def test_a_result_is_frozen():
    result = ob.bootstrap(X, ob.variance, rng=0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.method = "t"
    with pytest.raises(AttributeError):
        result.estimate = 0.0


def test_changing_what_a_result_gave_away_does_not_change_it():
    result = ob.bootstrap(TABLE, ob.variance, rng=0)
    before = json.dumps(result.to_dict())
    for name in (*NUMBERS, "covariance", "influence", "bootstrap_distribution", "linear_distribution"):
        getattr(result, name)[...] = np.pi
    for number in (*result.confidence_interval, *result.simulation_error):
        number[...] = np.pi
    assert json.dumps(result.to_dict()) == before
    assert not (result.influence == np.pi).any()


def test_an_infinitesimal_jackknife_gives_its_covariance_away_as_a_copy():
    result = ob.bootstrap(TABLE, ob.variance, estimator="jackknife")
    before = result.covariance
    result.covariance[...] = np.pi
    np.testing.assert_array_equal(result.covariance, before)
    assert not (before == np.pi).any()


@pytest.mark.parametrize("statistic", [ob.variance, ob.quantile(0.3), spread, as_dict, np.max], ids=named)
@pytest.mark.parametrize("again", [copy.deepcopy, copy.copy, lambda r: pickle.loads(pickle.dumps(r))])
def test_a_copied_or_pickled_result_is_the_same_and_goes_on(statistic, again):
    data = TABLE if statistic is as_dict else X
    result = quietly(ob.bootstrap, data, statistic, rng=0, n_resamples=20)
    twin = again(result)
    assert twin.to_dict() == result.to_dict()
    assert twin.summary() == result.summary()
    assert quietly(twin.extend, 3).to_dict() == quietly(result.extend, 3).to_dict()


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_result_of_a_frame_can_be_pickled(library):
    result = ob.bootstrap(library({"x": X, "u": U}), ob.ratio, rng=0)
    assert pickle.loads(pickle.dumps(result)).extend(5).to_dict() == result.extend(5).to_dict()


# Other intervals


def test_what_is_left_out_of_an_interval_stays_as_in_the_run():
    result = ob.bootstrap(X, ob.variance, confidence_level=0.8, alternative="less", rng=0)
    assert result.interval() == result.confidence_interval
    assert (
        result.interval(0.9) == ob.bootstrap(X, ob.variance, confidence_level=0.9, alternative="less", rng=0).interval()
    )
    assert result.interval(method="t").low == -np.inf
    assert np.isfinite(result.interval(alternative="two-sided")).all()
    assert result.interval(alternative="greater").high == np.inf


@pytest.mark.parametrize("method", ["normal", "t", "abc", "percentile", "basic", "bca"])
def test_an_interval_asked_for_later_is_the_one_of_such_a_run(method):
    later = ob.bootstrap(TABLE, ob.variance, rng=0, n_resamples=20).interval(0.9, method)
    at_once = ob.bootstrap(TABLE, ob.variance, rng=0, n_resamples=20, confidence_level=0.9, method=method)
    np.testing.assert_array_equal(later, at_once.confidence_interval)


def test_an_interval_that_needs_influence_values_finds_them():
    run = {"estimator": "standard", "n_resamples": 300, "rng": 0}
    later = ob.bootstrap(X, spread, **run).interval(method="bca")
    assert later == ob.bootstrap(X, spread, method="bca", **run).confidence_interval


def test_an_interval_breaks_no_rule_silently():
    result = ob.bootstrap(X, ob.variance, rng=0)
    with pytest.raises(errors.ArgumentError, match=r"`confidence_level` must lie in \(0, 1\); got 90. For 90% use 0.9"):
        result.interval(90)
    with pytest.raises(errors.ArgumentError, match="`method` must be one of"):
        result.interval(method="best")
    with pytest.raises(errors.ArgumentError, match="`alternative` must be one of"):
        result.interval(alternative="upper")


# Other estimators


@pytest.mark.parametrize("first", ["orthogonal", "paper", "standard", "cheap"])
@pytest.mark.parametrize("second", ESTIMATORS)
def test_another_estimator_reads_the_same_replicates(first, second):
    run = {"n_resamples": 12, "rng": 0}
    switched = ob.bootstrap(X, ob.variance, estimator=first, **run).with_estimator(second)
    expected = ob.bootstrap(X, ob.variance, estimator=second, **(run if second != "jackknife" else {}))
    assert switched.estimator == second
    assert switched.standard_error == pytest.approx(expected.standard_error, rel=1e-12)
    assert switched.bias == pytest.approx(expected.bias, rel=1e-9, abs=1e-14)


def test_the_linear_part_is_found_later_without_evaluating_the_statistic_on_the_resamples_again():
    statistic = Counting()
    standard = ob.bootstrap(X, statistic, estimator="standard", n_resamples=30, rng=0)
    assert statistic.calls == 2 + 30, "on the data, in two orders, and on the resamples"
    switched = standard.with_estimator("orthogonal")
    assert statistic.calls == 2 + 30 + len(X) + 1, "the jackknife leaves out each row, and takes all of them twice"
    direct = ob.bootstrap(X, spread, n_resamples=30, rng=0)
    np.testing.assert_array_equal(switched.linear_distribution, direct.linear_distribution)
    assert switched.standard_error == direct.standard_error
    assert switched.influence_source == direct.influence_source
    assert standard.influence is None


def test_a_catalogue_entry_brings_its_linear_part_without_any_evaluation():
    standard = ob.bootstrap(X, ob.variance, estimator="standard", n_resamples=30, rng=0)
    assert (
        standard.with_estimator("orthogonal").to_dict() == ob.bootstrap(X, ob.variance, n_resamples=30, rng=0).to_dict()
    )


def test_an_estimator_that_cannot_be_had_says_why():
    large = np.random.default_rng(0).normal(size=2500)
    result = ob.bootstrap(large, spread, estimator="standard", n_resamples=5, rng=0)
    message = "estimator='orthogonal' needs an influence function, and there is none .a plain function of 2,500 rows"
    with pytest.raises(errors.InfluenceError, match=message):
        result.with_estimator("orthogonal")
    with pytest.raises(errors.ArgumentError, match=r"`estimator` must be one of .* Did you mean 'standard'"):
        result.with_estimator("standart")
    exact = ob.bootstrap(X, ob.variance, estimator="jackknife")
    with pytest.raises(
        errors.ArgumentError, match="needs at least 2 replicates; there are 0. `extend` the result first"
    ):
        exact.with_estimator("orthogonal")


def test_an_estimator_that_cannot_give_the_interval_of_the_run_is_refused_at_once():
    result = ob.bootstrap(X, ob.variance, method="percentile", n_resamples=20, rng=0)
    with pytest.raises(errors.ArgumentError, match="method='percentile' needs at least 200 replicates"):
        result.with_estimator("standard")


# Some of the replicates


@pytest.mark.parametrize("estimator", ["orthogonal", "paper", "standard", "cheap"])
def test_the_first_of_many_replicates_are_a_run_of_so_many(estimator):
    many = ob.bootstrap(X, ob.variance, n_resamples=40, rng=0)
    some = many.with_estimator(estimator, slice(12))
    assert some.to_dict() == ob.bootstrap(X, ob.variance, estimator=estimator, n_resamples=12, rng=0).to_dict()


def test_replicates_from_the_middle_are_read_and_not_repeated_when_more_are_drawn():
    many = ob.bootstrap(X, ob.variance, n_resamples=40, rng=0)
    middle = many.with_estimator("standard", slice(10, 25))
    values = many.bootstrap_distribution[10:25]
    assert middle.variance == pytest.approx(values.var(ddof=1), rel=1e-12)
    assert middle.n_resamples == 15
    more = middle.extend(10).bootstrap_distribution
    np.testing.assert_array_equal(more, many.bootstrap_distribution[10:35])


SEED_OF_FAILURES = 9
"""Some of the replicates 10 to 34 fail in the two tests below, and none before."""


def test_failures_are_those_of_the_replicates_that_are_looked_at():
    def fails_at_times(x):
        return np.nan if x[0] > np.quantile(X, 0.8) and x[0] != X[0] else x.mean()

    result = quietly(ob.bootstrap, X, fails_at_times, influence=X - X.mean(), n_resamples=40, rng=SEED_OF_FAILURES)
    assert result.n_failed > 0
    assert quietly(result.with_estimator, "standard").n_failed == result.n_failed
    assert quietly(result.with_estimator, "standard", slice(10)).n_failed == 0
    assert quietly(result.with_estimator, "standard", slice(10)).n_resamples == 10


def test_a_run_whose_last_replicate_failed_is_extended_by_new_ones():
    def fails_at_times(x):
        return np.nan if x[0] > np.quantile(X, 0.8) and x[0] != X[0] else x.mean()

    whole = quietly(ob.bootstrap, X, fails_at_times, influence=X - X.mean(), n_resamples=40, rng=SEED_OF_FAILURES)
    last = int(np.setdiff1d(np.arange(5, 35), whole.replicates.numbers)[0])
    begun = quietly(ob.bootstrap, X, fails_at_times, influence=X - X.mean(), n_resamples=last + 1, rng=SEED_OF_FAILURES)
    assert begun.replicates.numbers[-1] < last
    assert quietly(begun.extend, 40 - last - 1).to_dict() == whole.to_dict()


def test_replicates_are_chosen_by_a_slice_that_leaves_enough():
    result = ob.bootstrap(X, ob.variance, n_resamples=10, rng=0)
    with pytest.raises(errors.ArgumentError, match=r"`replicates` must be a slice, such as `slice\(5\)`.* got 5"):
        result.with_estimator("paper", 5)
    for broken in (slice(0.5), slice("a"), slice(0, 5, 0)):
        with pytest.raises(errors.ArgumentError, match="`replicates` must be a slice"):
            result.with_estimator("paper", broken)
    with pytest.raises(errors.ArgumentError, match="needs at least 2 replicates; `replicates` chooses 1 of 10"):
        result.with_estimator("standard", slice(1))


# More replicates


@pytest.mark.parametrize("statistic", [ob.variance, spread, np.ptp, as_matrix], ids=named)
@pytest.mark.parametrize("estimator", ["orthogonal", "paper", "standard", "cheap"])
def test_twice_ten_more_are_twenty_more_bit_for_bit(statistic, estimator):
    data = TABLE if statistic is as_matrix else X
    result = quietly(ob.bootstrap, data, statistic, estimator=estimator, n_resamples=5, rng=0)
    twice, at_once = quietly(quietly(result.extend, 10).extend, 10), quietly(result.extend, 20)
    direct = quietly(ob.bootstrap, data, statistic, estimator=estimator, n_resamples=25, rng=0)
    for other in (at_once, direct):
        np.testing.assert_array_equal(twice.bootstrap_distribution, other.bootstrap_distribution)
        assert twice.to_dict() == other.to_dict()
    assert result.n_resamples == 5


def test_an_infinitesimal_jackknife_can_be_extended_to_a_simulation():
    exact = ob.bootstrap(X, ob.variance, estimator="jackknife", rng=0)
    more = exact.extend(10)
    assert more.standard_error == exact.standard_error
    assert more.with_estimator("orthogonal").to_dict() == ob.bootstrap(X, ob.variance, n_resamples=10, rng=0).to_dict()


@pytest.mark.parametrize("n_resamples", [0, -1, 2.5, True, None])
def test_a_result_is_extended_by_a_whole_number(n_resamples):
    with pytest.raises(errors.ArgumentError, match="`n_resamples` must be a whole number of at least 1"):
        ob.bootstrap(X, ob.variance, rng=0).extend(n_resamples)


# Warnings


def test_what_was_wrong_with_the_influence_function_is_not_forgotten():
    with pytest.warns(errors.InfluenceMismatchWarning):
        result = ob.bootstrap(X, ob.variance, influence=(X - X.mean()) ** 2, rng=0)
    (mismatch,) = result.warnings
    for later in (result.extend(5), result.with_estimator("paper")):
        assert later.warnings == (mismatch,), "it must stay, and it must not be shown a second time"
    assert result.with_estimator("standard").warnings == ()


def test_a_fallback_stays_known_when_the_result_is_extended():
    large = np.random.default_rng(0).normal(size=2500)
    with pytest.warns(errors.FallbackWarning):
        result = ob.bootstrap(large, spread, n_resamples=10, rng=0)
    (fallback,) = result.warnings
    assert result.extend(5).warnings == (fallback,)


def test_a_tolerance_that_was_missed_is_forgotten_with_more_replicates():
    with pytest.warns(errors.ToleranceWarning):
        result = ob.bootstrap(X, ob.std, tol=1e-6, max_resamples=20, rng=0)
    assert not any(isinstance(warning, errors.ToleranceWarning) for warning in result.extend(5).warnings)


def test_warnings_are_those_of_the_estimator_that_reads_the_replicates():
    with pytest.warns(errors.FewReplicatesWarning):
        result = ob.bootstrap(X, ob.variance, n_resamples=3, rng=0)
    assert [type(warning) for warning in result.warnings] == [errors.FewReplicatesWarning]
    assert result.with_estimator("standard").warnings == ()
    with pytest.warns(errors.FewReplicatesWarning):
        result.with_estimator("paper")


def rests_on_three_rows():
    """A regression whose dummy column has three rows, which warns once."""
    rng = np.random.default_rng(3)
    dummy = np.arange(60) < 3
    return np.column_stack([np.ones(60), dummy, rng.standard_normal(60)]), rng.standard_normal(60)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.FailedReplicatesWarning")
def test_what_is_found_in_the_data_stands_and_is_shown_once():
    with pytest.warns(errors.SmallSampleWarning, match="depends on about"):
        result = ob.bootstrap(rests_on_three_rows(), ob.linear_regression, paired=True, rng=0)
    with warnings.catch_warnings():
        for luck in (errors.FailedReplicatesWarning, errors.WeakInfluenceWarning):
            warnings.simplefilter("ignore", luck)
        for later in (result.extend(5), result.with_estimator("standard"), result.with_estimator("paper").extend(5)):
            assert sum(isinstance(warning, errors.SmallSampleWarning) for warning in later.warnings) == 1


def test_a_replicate_that_fails_costs_the_others_nothing():
    calls = []

    def fails_once(x):
        calls.append(1)
        if len(calls) == 50:
            raise ValueError("once")
        return float(x.mean())

    result = quietly(ob.bootstrap, X, fails_once, estimator="standard", n_resamples=200, batch=200, rng=0)
    assert len(calls) == 202
    assert result.replicates.failures == {48: "ValueError: once"}


def test_a_batch_in_which_one_fails_is_halved_and_not_taken_apart():
    calls = []

    def fails_on_batches(x, axis):
        calls.append(1 if x.ndim == 1 else x.shape[0])
        if x.ndim > 1 and (x[:, :3] == X[7]).all(axis=1).any():
            raise ValueError("three times the same row")
        return x.mean(axis=axis)

    quietly(ob.bootstrap, X, fails_on_batches, estimator="standard", n_resamples=256, rng=0)
    assert len(calls) < 40


def test_a_warning_points_at_the_line_of_the_user():
    with pytest.warns(errors.FewReplicatesWarning) as caught:
        ob.bootstrap(X, ob.variance, n_resamples=2, rng=0).extend(1).with_estimator("paper")
    assert [warning.filename for warning in caught] == [__file__] * 3


# Other forms


RESULTS = {
    "scalar": lambda: ob.bootstrap(X, ob.variance, n_resamples=10, rng=0),
    "vector": lambda: ob.bootstrap(pd.DataFrame({"x": X, "u": U}), ob.variance, n_resamples=10, rng=0),
    "matrix": lambda: ob.bootstrap(TABLE, as_matrix, rng=0),
    "dict": lambda: ob.bootstrap(TABLE, as_dict, rng=0),
    "dict with other keys": lambda: ob.bootstrap(X, lambda x: {("a", 1): spread(x), 2: x.mean()}, rng=0),
    "linear": lambda: ob.bootstrap(X, ob.mean, rng=0),
    "one-sided": lambda: ob.bootstrap(X, ob.variance, alternative="less", rng=0),
    "jackknife": lambda: ob.bootstrap(X, ob.variance, estimator="jackknife"),
    "without influence": lambda: ob.bootstrap(X, spread, estimator="standard", n_resamples=20, rng=0),
    "one replicate": lambda: quietly(ob.bootstrap, X, ob.variance, estimator="cheap", n_resamples=1, rng=0),
    "constant": lambda: quietly(ob.bootstrap, np.ones(20), ob.mean, rng=0),
}


def results():
    return pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS.keys())


@results()
def test_a_dict_survives_strict_json(make):
    fields = make().to_dict()
    assert json.loads(json.dumps(fields, allow_nan=False)) == fields


def test_a_dict_has_the_numbers_of_the_result():
    result = ob.bootstrap(TABLE, as_dict, rng=0)
    fields = result.to_dict()
    assert fields["names"] == ["first", "rest[0]", "rest[1]"]
    assert fields["estimate"] == {"first": result.estimate["first"], "rest": result.estimate["rest"].tolist()}
    assert fields["confidence_interval"]["low"]["rest"] == result.confidence_interval.low["rest"].tolist()
    assert fields["simulation_error"]["bias"]["first"] == result.simulation_error.bias["first"]
    assert fields["covariance"] == result.covariance.tolist()
    # As many replicates as finite differences took evaluations, two for each row.
    assert (fields["n_resamples"], fields["n_failed"], fields["estimator"]) == (120, 0, "orthogonal")
    assert fields["warnings"] == []


def test_keys_of_the_same_text_stay_apart_in_a_dict():
    fields = ob.bootstrap(X, lambda x: {1: x.mean(), "1": x.std(), "1 (1)": x.var(), None: -x.mean()}, rng=0).to_dict()
    assert fields["estimate"] == {"1 (2)": X.mean(), "1 (3)": X.std(), "1 (1)": X.var(), "None": -X.mean()}
    assert fields["names"] == list(fields["estimate"]) == list(fields["confidence_interval"]["low"])


def test_a_large_covariance_matrix_is_left_out_of_a_dict_unless_asked_for():
    large = ob.bootstrap(np.random.default_rng(0).normal(size=(12, 501)), ob.mean, rng=0)
    assert large.to_dict()["covariance"] is None
    assert large.to_dict(covariance=True)["covariance"] == large.covariance.tolist()
    small = ob.bootstrap(TABLE, ob.mean, rng=0)
    assert small.to_dict()["covariance"] == small.covariance.tolist()
    assert small.to_dict(covariance=False)["covariance"] is None
    with pytest.raises(ob.errors.ArgumentError, match="`covariance` must be True, False or None; got 'yes'"):
        small.to_dict(covariance="yes")


def test_a_dict_of_very_many_outputs_takes_memory_for_each_and_not_for_their_pairs():
    # The covariance matrix alone would take 800 MB.
    many = ob.bootstrap(np.random.default_rng(0).normal(size=(12, 10_000)), ob.mean, n_resamples=5, rng=0)
    tracemalloc.start()
    many.to_dict()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6


def test_infinity_and_nan_are_none_in_a_dict():
    options = {"estimator": "cheap", "alternative": "less", "n_resamples": 1, "rng": 0}
    fields = quietly(ob.bootstrap, X, ob.variance, **options).to_dict()
    assert fields["confidence_interval"]["low"] is None
    assert isinstance(fields["confidence_interval"]["high"], float)
    assert fields["simulation_error"]["bias"] is None


@results()
def test_a_frame_has_one_row_per_output(make):
    result = make()
    frame = result.to_frame()
    assert tuple(frame.index) == result.names
    flat = result.replicates.estimate
    np.testing.assert_array_equal(frame["estimate"], flat)
    np.testing.assert_allclose(frame["debiased"], frame["estimate"] - frame["bias"])
    assert (frame["low"] <= frame["high"]).all()
    assert frame.dtypes.eq(np.float64).all()


def test_a_frame_has_the_simulation_errors():
    result = ob.bootstrap(pd.DataFrame({"x": X, "u": U}), ob.variance, rng=0)
    frame = result.to_frame()
    for field in ("bias", "standard_error", "low", "high"):
        np.testing.assert_array_equal(frame[f"{field}_simulation_error"], getattr(result.simulation_error, field))


def test_a_frame_without_pandas_says_what_to_install(monkeypatch):
    result = ob.bootstrap(X, ob.variance, rng=0)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        errors.MissingDependencyError, match="`to_frame` needs pandas; install it with `pip install pandas`"
    ):
        result.to_frame()


@results()
def test_a_repr_is_one_short_line(make):
    text = repr(make())
    assert "\n" not in text
    assert len(text) < 150
    assert text.startswith("Result(")
    assert text.endswith(")")


def test_a_repr_has_the_numbers_of_a_scalar_and_the_names_of_many():
    pattern = r"Result\(estimate=[\d.]+, standard_error=[\d.]+, low=[\d.]+, high=[\d.]+, n_resamples=10, estimator='or"
    assert re.match(pattern, repr(RESULTS["scalar"]()))
    assert repr(RESULTS["vector"]()) == "Result(2 outputs: x, u; n_resamples=10, estimator='orthogonal')"
    wide = ob.bootstrap(np.random.default_rng(0).normal(size=(60, 50)), ob.mean, rng=0)
    assert repr(wide).startswith("Result(50 outputs: mean[0], mean[1], ...mean[48], mean[49]; ")


@results()
def test_printing_a_result_prints_its_summary(make):
    result = make()
    assert str(result) == result.summary()
