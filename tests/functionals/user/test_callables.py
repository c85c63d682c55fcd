from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ArgumentError, DataError, StatisticError
from orthoboot.functionals.base import unit_resamples
from orthoboot.functionals.user import callables
from orthoboot.functionals.user.callables import (
    RowsCallable,
    VectorizedCallable,
    VectorizedWeightedCallable,
    WeightedCallable,
    as_functional,
)

X = np.random.default_rng(1).exponential(size=12)
U = np.random.default_rng(2).exponential(size=12) + 1.0
COUNTS = np.random.default_rng(3).multinomial(12, np.full(12, 1 / 12), size=5).astype(float)


def resampled(array: np.ndarray, b: int) -> np.ndarray:
    return np.repeat(array, COUNTS[b].astype(int), axis=0)


def values(statistic, data, *, counts=(COUNTS,), vectorized=None):
    return as_functional(statistic, data, vectorized=vectorized).at(data).values(Resamples(counts))


class Recorder:
    """A statistic that keeps what it was called with."""

    def __init__(self, function):
        self.function = function
        self.calls = []

    def plain(self, *samples):
        self.calls.append((samples, {}))
        return self.function(*samples)

    def weighted(self, *samples, weights):
        self.calls.append((samples, {"weights": weights}))
        return self.function(*samples, weights=weights)

    def vectorised(self, *samples, axis):
        self.calls.append((samples, {"axis": axis}))
        return self.function(*samples, axis=axis)


# Which kind of function it is


def test_a_catalogue_entry_and_what_it_computes_are_taken_as_the_entry():
    data = read(X)
    assert as_functional(ob.variance, data) is ob.variance
    assert as_functional(np.var, data) == ob.variance
    assert as_functional(partial(np.var, ddof=1), data) == ob.variance.replace(ddof=1)


@pytest.mark.parametrize(
    ("statistic", "kind"),
    [
        (lambda x: x.mean(), RowsCallable),
        (lambda x, axis: x.mean(axis=axis), VectorizedCallable),
        (lambda x, axis=-1: x.mean(axis=axis), VectorizedCallable),
        (lambda *x, axis: x[0].mean(axis=axis), VectorizedCallable),
        (lambda x, weights: np.average(x, weights=weights), WeightedCallable),
        (lambda x, *, weights=None: np.average(x, weights=weights), WeightedCallable),
        (lambda x, axis=None, weights=None: np.average(x, axis, weights), WeightedCallable),
        (lambda weights: weights.mean(), RowsCallable),
        (lambda axis: axis.mean(), RowsCallable),
        (lambda x, **options: x.mean(), RowsCallable),
        (max, RowsCallable),
        (np.max, VectorizedCallable),
        (np.average, WeightedCallable),
        (partial(np.max, initial=0.5), VectorizedCallable),
        (partial(stats.trim_mean, proportiontocut=0.1), VectorizedCallable),
    ],
)
def test_the_parameters_beyond_the_samples_say_how_a_function_is_called(statistic, kind):
    data = read(X)
    functional = as_functional(statistic, data)
    assert type(functional) is kind
    np.testing.assert_array_equal(functional.at(data).values(unit_resamples(data))[0], functional.at(data).estimate)


def test_a_second_sample_may_be_called_weights():
    def mean_index(heights, weights):
        return np.mean(weights / heights**2)

    functional = as_functional(mean_index, read((U, X), paired=True))
    assert type(functional) is RowsCallable
    assert functional.at(read((U, X), paired=True)).estimate == pytest.approx(np.mean(X / U**2))
    assert type(as_functional(lambda x, weights: np.average(x, weights=weights), read(X))) is WeightedCallable


def test_vectorized_overrides_what_the_parameters_say():
    data = read(X)
    assert type(as_functional(lambda x, axis=None: x.mean(), data, vectorized=False)) is RowsCallable
    assert type(as_functional(lambda x, **options: x.mean(**options), data, vectorized=True)) is VectorizedCallable
    batch = as_functional(lambda x, weights: weights @ x / weights.sum(axis=-1), data, vectorized=True)
    assert type(batch) is VectorizedWeightedCallable
    with pytest.raises(ArgumentError, match="`vectorized` must be True, False or None; got 'yes'"):
        as_functional(np.max, data, vectorized="yes")


@pytest.mark.parametrize("statistic", [3.0, "mean", None, [1.0], X])
def test_what_is_no_function_is_refused(statistic):
    with pytest.raises(ArgumentError, match=r"`statistic` must be a function .* such as `ob.variance`; got "):
        as_functional(statistic, read(X))


def gini(x):
    return np.abs(x[:, np.newaxis] - x).mean() / (2 * x.mean())


class Spread:
    def __call__(self, x):
        return x.max() - x.min()


def test_a_function_is_called_by_its_own_name():
    data = read(X)
    assert as_functional(gini, data).name == "gini"
    assert as_functional(lambda x: x.mean(), data).name == "statistic"
    assert as_functional(partial(np.max, initial=0.5), data).name == "max"
    assert as_functional(Spread(), data).name == "Spread"
    assert as_functional(gini, data).at(data).output.names == ("gini",)


# Plain functions


def test_a_plain_function_gets_the_resampled_rows():
    np.testing.assert_array_equal(values(gini, read(X))[:, 0], [gini(resampled(X, b)) for b in range(5)])


def test_a_plain_function_is_evaluated_on_the_data_once():
    recorder = Recorder(gini)
    data = read(X)
    functional = as_functional(recorder.plain, data)
    _ = functional.at(data).estimate, functional.at(data).output
    assert len(recorder.calls) == 1


def test_paired_rows_stay_together_and_independent_samples_do_not():
    def both(x, y):
        return np.mean(x * y)

    paired = values(both, read((X, U), paired=True))[:, 0]
    np.testing.assert_allclose(paired, [np.mean(resampled(X * U, b)) for b in range(5)], rtol=1e-14)
    other = COUNTS[::-1, :10].copy()
    two = values(lambda x, y: x.mean() - y.mean(), read((X, U[:10])), counts=(COUNTS, other))[:, 0]
    expected = [resampled(X, b).mean() - np.repeat(U[:10], other[b].astype(int)).mean() for b in range(5)]
    np.testing.assert_allclose(two, expected, rtol=1e-14)


def test_a_matrix_and_a_vector_can_be_paired():
    Z = np.column_stack([X, U])
    fit = values(lambda Z, y: np.linalg.lstsq(Z, y, rcond=None)[0], read((Z, X * U), paired=True))
    assert fit.shape == (5, 2)
    np.testing.assert_array_equal(fit[3], np.linalg.lstsq(resampled(Z, 3), resampled(X * U, 3), rcond=None)[0])


RATIOS = {
    "pandas": (pd.DataFrame({"x": X, "u": U, "city": list("aabbccddeeff")}, index=[3] * 12), "DataFrame"),
    "polars": (pl.DataFrame({"x": X, "u": U, "city": list("aabbccddeeff")}), "DataFrame"),
}


@pytest.mark.parametrize(("frame", "kind"), RATIOS.values(), ids=RATIOS.keys())
def test_a_frame_arrives_as_a_frame_resampled_by_rows(frame, kind):
    recorder = Recorder(lambda df: df["x"].mean() / df["u"].mean())
    ratios = values(recorder.plain, read(frame))[:, 0]
    expected = [resampled(X, b).mean() / resampled(U, b).mean() for b in range(5)]
    np.testing.assert_allclose(ratios, expected, rtol=1e-13)
    assert all(type(samples[0]) is type(frame) for samples, _ in recorder.calls)


def test_a_pyarrow_table_arrives_as_a_table():
    def ratio(table):
        assert isinstance(table, pa.Table)
        return pc.divide(pc.mean(table["x"]), pc.mean(table["u"]))

    ratios = values(ratio, read(pa.table({"x": X, "u": U})))[:, 0]
    np.testing.assert_allclose(ratios, [resampled(X, b).mean() / resampled(U, b).mean() for b in range(5)], rtol=1e-13)


@pytest.mark.parametrize(
    "column", [pd.Series(X, index=[1] * 12), pl.Series(X), pa.array(X), pa.chunked_array([X[:5], X[5:]])]
)
def test_a_series_arrives_as_a_series(column):
    recorder = Recorder(lambda column: np.asarray(column).mean())
    means = values(recorder.plain, read(column))[:, 0]
    np.testing.assert_allclose(means, [resampled(X, b).mean() for b in range(5)], rtol=1e-13)
    assert all(isinstance(samples[0], type(column)) for samples, _ in recorder.calls)


def test_a_frame_and_an_array_arrive_as_they_are():
    frame = pd.DataFrame({"x": X})
    recorder = Recorder(lambda frame, y: np.mean(frame["x"].to_numpy() * y))
    values(recorder.plain, read((frame, U), paired=True))
    assert all((type(a), type(b)) == (pd.DataFrame, np.ndarray) for (a, b), _ in recorder.calls)


def test_lists_arrive_as_arrays_and_keep_their_kind_of_number():
    recorder = Recorder(np.max)
    values(recorder.plain, read([1, 2, 3] * 4))
    assert all(type(samples[0]) is np.ndarray and samples[0].dtype.kind == "i" for samples, _ in recorder.calls)


def test_a_function_that_works_in_place_leaves_the_data_alone():
    def median_in_place(x):
        x.sort()
        return x[len(x) // 2]

    original = X.copy()
    values(median_in_place, read(X))
    np.testing.assert_array_equal(X, original)


# Functions with weights


def test_a_function_with_weights_gets_the_data_once_and_the_counts():
    recorder = Recorder(lambda x, weights: np.average(x, weights=weights))
    data = read(X)
    means = values(recorder.weighted, data)[:, 0]
    np.testing.assert_allclose(means, [resampled(X, b).mean() for b in range(5)], rtol=1e-13)
    assert all(samples[0] is recorder.calls[0][0][0] for samples, _ in recorder.calls)
    np.testing.assert_array_equal(recorder.calls[0][0][0], X)
    np.testing.assert_array_equal(recorder.calls[0][1]["weights"], np.ones(12))
    np.testing.assert_array_equal([options["weights"] for _, options in recorder.calls[1:]], COUNTS)


def test_a_function_with_weights_gets_a_frame_as_it_is():
    frame = pd.DataFrame({"x": X, "city": list("aabbccddeeff")})
    recorder = Recorder(lambda frame, weights: np.average(frame["x"], weights=weights))
    values(recorder.weighted, read(frame))
    for samples, _ in recorder.calls:
        pd.testing.assert_frame_equal(samples[0], frame)


def test_a_function_with_weights_must_not_change_the_data():
    def greedy(x, weights):
        x -= np.average(x, weights=weights)
        return float((x**2).mean())

    mine = X.copy()
    with pytest.raises(StatisticError, match="It must not change its data in place: copy them first"):
        as_functional(greedy, read(mine))
    np.testing.assert_array_equal(mine, X)


def test_a_function_with_weights_may_add_columns_to_its_own_frame():
    def weighted(frame, weights):
        frame["w"] = weights
        return float((frame["x"] * frame["w"]).sum() / frame["w"].sum())

    frame = pd.DataFrame({"x": X})
    means = values(weighted, read(frame))[:, 0]
    np.testing.assert_allclose(means, [resampled(X, b).mean() for b in range(5)], rtol=1e-13)
    assert list(frame.columns) == ["x"]


@pytest.mark.parametrize(
    "factory", [ob.quantile, ob.trimmed_mean, ob.difference, ob.norm_of_mean, ob.compose, ob.glm, ob.m_estimator]
)
def test_what_makes_a_statistic_is_none(factory):
    with pytest.raises(ArgumentError, match=r"`statistic` must be complete; write `ob\."):
        as_functional(factory, read(X))


def test_a_statistic_by_its_name_in_quotes():
    with pytest.raises(ArgumentError, match="got 'mean'. Write `ob.mean`, without quotes."):
        as_functional("mean", read(X))


def test_options_of_a_catalogue_entry_are_set_beforehand():
    with pytest.raises(ArgumentError, match=r"write `variance.replace\(ddof=1\)`"):
        ob.variance(X, ddof=1)


def test_independent_samples_have_a_tuple_of_weights_and_paired_ones_share_theirs():
    recorder = Recorder(lambda x, y, weights: np.average(x, weights=weights[0]) - np.average(y, weights=weights[1]))
    values(recorder.weighted, read((X, U[:10])), counts=(COUNTS, COUNTS[:, 2:]))
    assert all(tuple(map(np.shape, options["weights"])) == ((12,), (10,)) for _, options in recorder.calls)
    shared = Recorder(lambda x, y, weights: np.average(x * y, weights=weights))
    values(shared.weighted, read((X, U), paired=True))
    assert all(options["weights"].shape == (12,) for _, options in shared.calls)


def test_a_function_that_normalises_the_weights_in_place_does_not_spoil_the_linear_part():
    def in_place(x, weights):
        weights /= weights.sum()
        return weights @ x

    def fresh(x, weights):
        return weights / weights.sum() @ x

    first, second = (ob.bootstrap(X, f, influence=X - X.mean(), rng=0) for f in (in_place, fresh))
    np.testing.assert_array_equal(first.linear_distribution, second.linear_distribution)
    assert first.standard_error == pytest.approx(np.std(X) / np.sqrt(12), rel=1e-9)


def test_a_vectorised_function_with_weights_gets_all_of_them():
    data = read(X)
    recorder = Recorder(
        lambda x, weights: {"mean": weights @ x / weights.sum(axis=-1), "two": np.ones((2, len(weights)))}
    )
    batch = values(recorder.weighted, data, vectorized=True)
    assert batch.shape == (5, 3)
    np.testing.assert_allclose(batch[:, 0], [resampled(X, b).mean() for b in range(5)], rtol=1e-13)
    # Before the batch it is tried on two samples, together and one at a time.
    tried = [(2, 12), (1, 12), (1, 12), (2, 12)]
    assert [options["weights"].shape for _, options in recorder.calls] == [(1, 12), *tried, (5, 12)]
    with pytest.raises(ArgumentError, match=r"B on the last axis; for B = 1 it returned shape \(\)"):
        as_functional(lambda x, weights: np.average(x, weights=weights.ravel()), data, vectorized=True)


# Vectorised functions


def test_a_vectorised_function_is_called_as_scipy_calls_it():
    table = np.column_stack([X, U, X * U])

    def spread(*samples, axis):
        return sum(sample.max(axis=axis) - sample.min(axis=axis) for sample in samples)

    ours, theirs = Recorder(spread), Recorder(spread)
    ob.bootstrap((table, table[:11]), ours.vectorised, n_resamples=6, estimator="standard", rng=0)
    stats.bootstrap((table.T, table.T[:, :11]), theirs.vectorised, n_resamples=6, batch=6, method="percentile", axis=-1)

    def shapes(recorder):
        return {(*(sample.shape for sample in samples), options["axis"]) for samples, options in recorder.calls}

    data_themselves, batch = ((3, 12), (3, 11), -1), ((3, 6, 12), (3, 6, 11), -1)
    # Before the batch it is tried on the data twice, and after it on the rows in another order.
    tried = {((3, size, 12), (3, size, 11), -1) for size in (1, 2)}
    assert shapes(ours) == {data_themselves, batch} | tried
    assert shapes(theirs) == {batch}


@pytest.mark.parametrize("shape", [(12,), (12, 2), (12, 2, 3)])
def test_a_vectorised_function_agrees_with_the_same_function_row_by_row(shape):
    array = np.random.default_rng(4).normal(size=shape)
    data = read(array)
    together = values(lambda x, axis: x.max(axis=axis) - np.median(x, axis=axis), data)
    one_by_one = values(lambda x: x.max(axis=0) - np.median(x, axis=0), data)
    np.testing.assert_array_equal(together, one_by_one)


def test_the_answer_does_not_depend_on_how_many_numbers_are_held_at_once(monkeypatch):
    data = read((np.column_stack([X, U]), X), paired=True)
    recorder = Recorder(lambda z, x, axis: np.max(z, axis=axis) * np.min(x, axis=axis))
    whole = values(recorder.vectorised, data)
    monkeypatch.setattr(callables, "_NUMBERS_AT_ONCE", 2 * 36)
    np.testing.assert_array_equal(values(recorder.vectorised, data), whole)
    assert [samples[1].shape for samples, _ in recorder.calls] == [
        *[(12,), (2, 12), (1, 12), (1, 12), (2, 12), (5, 12)],
        *[(12,), (2, 12), (1, 12), (1, 12), (2, 12), (2, 12), (2, 12), (1, 12)],
    ]


def test_whole_groups_of_unequal_size_reach_a_vectorised_function():
    options = {"groups": [0, 0, *range(1, 11)], "estimator": "standard", "n_resamples": 30, "rng": 0}
    recorder = Recorder(lambda x, axis: np.mean(x**2, axis=axis))
    together = ob.bootstrap(X, recorder.vectorised, **options)
    one_by_one = ob.bootstrap(X, lambda x: np.mean(x**2), **options)
    assert len({samples[0].shape[-1] for samples, _ in recorder.calls}) > 1
    np.testing.assert_array_equal(together.bootstrap_distribution, one_by_one.bootstrap_distribution)


def test_a_vectorised_function_may_return_a_dict():
    data = read(np.column_stack([X, U]))
    batch = values(lambda z, axis: {"top": z.max(axis=axis), "all": z.max(axis=(0, axis))}, data)
    np.testing.assert_array_equal(batch[:, 0], [resampled(X, b).max() for b in range(5)])
    np.testing.assert_array_equal(batch[:, 2], batch[:, :2].max(axis=1))


def test_a_vectorised_function_names_its_values_by_the_columns_it_reduces():
    for frame in (pd.DataFrame({"x": X, "u": U}), pl.DataFrame({"x": X, "u": U}), pa.table({"x": X, "u": U})):
        data = read(frame)
        assert as_functional(np.max, data).at(data).output.names == ("x", "u")


def test_a_vectorised_function_that_ignores_the_axis_is_told_so():
    with pytest.raises(StatisticError, match=r"must return shape \(2,\) for 2 resample.*Pass `vectorized=False`"):
        as_functional(lambda x, axis: x.max(), read(X), vectorized=True)


def test_text_columns_are_named_when_a_vectorised_function_cannot_have_them():
    with pytest.raises(DataError, match="column.*'city'"):
        as_functional(np.max, read(pd.DataFrame({"x": X, "city": list("aabbccddeeff")})))


# What they return


def test_names_come_from_a_series_that_the_function_returns():
    frame = pd.DataFrame({"x": X, "u": U})
    result = ob.bootstrap(frame, lambda df: df.mean() ** 2, rng=0)
    assert result.names == ("x", "u")
    assert result.estimate.shape == (2,)


def test_a_vector_of_as_many_numbers_as_columns_is_not_taken_for_the_columns():
    data = read(pd.DataFrame({"x": X, "u": U}))
    functional = as_functional(lambda df: [df["x"].mean(), df["x"].std()], data)
    assert functional.at(data).output.names == ("statistic[0]", "statistic[1]")


def test_value_counts_are_found_by_their_labels_in_every_resample():
    cities = np.array(list("aaabbbbccccc"))
    frame = pd.DataFrame({"city": cities})
    shares = values(lambda df: df["city"].value_counts(normalize=True), read(frame))
    labels = as_functional(lambda df: df["city"].value_counts(normalize=True), read(frame)).value_output.names
    for b in range(5):
        for j, label in enumerate(labels):
            expected = np.mean(resampled(cities, b) == label)
            assert shares[b, j] == expected or (expected == 0 and np.isnan(shares[b, j]))


def test_a_function_that_raises_on_the_data_is_told_with_its_cause():
    def broken(frame):
        return frame["no such column"].mean()

    frame = pd.DataFrame({"x": X, "u": U})
    message = r"it raised KeyError: 'no such column'. It was called with DataFrame of shape \(12, 2\)"
    with pytest.raises(StatisticError, match=message) as raised:
        as_functional(broken, read(frame))
    assert isinstance(raised.value.__cause__, KeyError)


def test_a_function_of_too_few_samples_says_what_it_was_called_with():
    with pytest.raises(StatisticError, match=r"ndarray of shape \(12,\), ndarray of shape \(10,\)"):
        as_functional(lambda x: x.mean(), read((X, U[:10])))
    with pytest.raises(StatisticError, match=r"ndarray of shape \(12,\), `axis`"):
        as_functional(lambda x: x.mean(), read(X), vectorized=True)


def test_weights_of_another_name_are_told():
    with pytest.raises(StatisticError, match="'w'.* Weights are passed only to a parameter called `weights`"):
        as_functional(lambda x, w: (w * x).sum(), read(X))


def test_the_weights_of_several_samples_are_told_to_be_a_tuple():
    with pytest.raises(StatisticError, match=r"ndarray of shape \(10,\), `weights`, a tuple of 2 arrays\."):
        as_functional(lambda x, u, weights: np.asarray(weights).sum(), read((X, U[:10])))


def test_a_model_is_no_statistic():
    for model in (LinearRegression, LinearRegression()):
        with pytest.raises(ArgumentError, match=r"got LinearRegression, a model. Write `ob.from_sklearn\(LinearReg"):
            as_functional(model, read((X, U), paired=True))


def test_a_function_that_returns_nothing_is_refused():
    with pytest.raises(StatisticError, match="`statistic` must return a real number.*got None: is a `return` missing"):
        as_functional(lambda x: None, read(X))


def test_a_value_that_is_not_finite_on_the_data_is_refused_by_its_name():
    with pytest.raises(StatisticError, match="`statistic` must be finite on the data; got nan. Check"):
        as_functional(lambda x: np.nan, read(X))
    with pytest.raises(StatisticError, match="got inf for `b`"):
        as_functional(lambda x: {"a": 1.0, "b": np.inf}, read(X))


def test_interrupting_the_function_is_not_an_error_of_the_statistic():
    def interrupted(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        as_functional(interrupted, read(X))


class Unwilling:
    """A global that does not let itself be looked at."""

    @property
    def shape(self):
        raise RuntimeError("not now")


UNWILLING = Unwilling()


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_whatever_a_function_reads_may_be_of_any_kind():
    from unittest.mock import Mock

    x = np.random.default_rng(0).gamma(2, size=50)
    for statistic in (lambda x: x.mean() + 0 * (UNWILLING is None), Mock(return_value=1.5)):
        ob.bootstrap(x, statistic, estimator="standard", n_resamples=20, rng=0)


def test_compiled_functions_of_numba_are_functions():
    numba = pytest.importorskip("numba")
    spread = numba.njit(lambda x: x.std())
    x = np.random.default_rng(0).gamma(2, size=50)
    plain = ob.bootstrap(x, lambda x: x.std(), rng=0)
    for statistic in (spread, lambda x: spread(x)):
        assert ob.bootstrap(x, statistic, rng=0).standard_error == pytest.approx(plain.standard_error, rel=1e-9)
