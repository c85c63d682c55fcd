"""Masked values have no value: they are never what lies below the mask."""

from __future__ import annotations

import numpy as np
import pytest

import orthoboot as ob
from orthoboot import errors

X = np.random.default_rng(1).gamma(2, size=200)
FLOOR = 1.85


@pytest.mark.filterwarnings("ignore::orthoboot.errors.FailedReplicatesWarning")
@pytest.mark.parametrize(
    "statistic",
    [
        lambda x: x.mean() if x.mean() > FLOOR else np.ma.masked,
        lambda x: np.ma.masked_less(x.mean(), FLOOR),
        lambda x: np.ma.array([x.mean(), x.std()], mask=[False, x.mean() <= FLOOR]),
        lambda x: [x.std(), x.mean() if x.mean() > FLOOR else np.ma.masked],
        lambda x: {"mean": x.mean() if x.mean() > FLOOR else np.ma.masked},
    ],
    ids=["masked", "number", "array", "list", "dict"],
)
def test_a_masked_value_is_a_failed_replicate(statistic):
    means = ob.bootstrap(X, lambda x: x.mean(), estimator="standard", n_resamples=200, rng=0).bootstrap_distribution
    result = ob.bootstrap(X, statistic, estimator="standard", n_resamples=200, rng=0)
    assert result.n_failed == (means <= FLOOR).sum() > 50


def test_a_masked_value_of_a_vectorised_function():
    def masked(x, axis=-1):
        return np.ma.masked_less(x.mean(axis=axis), FLOOR)

    with pytest.warns(errors.FailedReplicatesWarning):
        result = ob.bootstrap(X, masked, estimator="standard", n_resamples=200, rng=0)
    assert result.n_failed > 50


@pytest.mark.parametrize("argument", ["strata", "groups"])
def test_masked_labels_are_missing(argument):
    labels = np.ma.array(np.repeat(np.arange(20), 10), mask=np.arange(200) % 50 == 7)
    with pytest.raises(errors.ArgumentError, match=f"`{argument}` must have a label for every row; got 4 missing"):
        ob.bootstrap(X, ob.mean, rng=0, **{argument: labels})


def test_masked_influence_values_are_refused():
    influence = np.ma.array(X - X.mean(), mask=np.arange(200) < 3)
    with pytest.raises(errors.InfluenceError, match="must have no masked values; got 3"):
        ob.bootstrap(X, ob.mean, influence=influence, rng=0)


def test_masked_features_are_refused():
    statistic = ob.function_of_means(lambda x: np.ma.masked_greater(x, 3), lambda m: m[0])
    with pytest.raises(errors.StatisticError, match="`features` must be finite"):
        ob.bootstrap(X, statistic, rng=0)


def test_a_mask_without_masked_values_changes_nothing():
    labels = np.ma.array(np.repeat(np.arange(20), 10), mask=False)
    masked, plain = (ob.bootstrap(X, ob.mean, groups=one, rng=0) for one in (labels, labels.data))
    assert masked.standard_error == plain.standard_error


def test_masked_rows_of_prediction_intervals_are_refused():
    linear_model = pytest.importorskip("sklearn.linear_model")
    rows = np.random.default_rng(0).normal(size=(200, 2))
    masked = np.ma.array(rows, mask=rows > 2)
    model = ob.PredictionIntervalRegressor(linear_model.LinearRegression())
    with pytest.raises(errors.DataError, match="`X` must have no masked values"):
        model.fit(masked, X)
    with pytest.raises(errors.DataError, match="`y` must have no masked values"):
        model.fit(rows, np.ma.array(X, mask=X > 3))
    with pytest.raises(errors.DataError, match="`X` must have no masked values"):
        model.fit(rows, X).predict(masked)
