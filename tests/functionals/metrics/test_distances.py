from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import DataError
from orthoboot.functionals import mae, r2, rmse

Y, NOISE = np.random.default_rng(50).normal(size=(2, 80))
P = 0.7 * Y + 0.4 * NOISE

METRICS = pytest.mark.parametrize("metric", [rmse, mae, r2], ids=lambda f: f.name)


def weighted_reference(name, y, p, weights):
    """scikit-learn's definitions with `sample_weight`."""
    mean_of = lambda values: np.average(values, weights=weights)  # noqa: E731
    return {
        "rmse": np.sqrt(mean_of((y - p) ** 2)),
        "mae": mean_of(np.abs(y - p)),
        "r2": 1 - mean_of((y - p) ** 2) / mean_of((y - mean_of(y)) ** 2),
    }[name]


@METRICS
def test_weights_mean_what_sample_weight_means(metric):
    weights = np.random.default_rng(51).exponential(size=80)
    assert metric(Y, P, weights=weights) == pytest.approx(weighted_reference(metric.name, Y, P, weights), rel=1e-12)


@METRICS
def test_two_columns_and_a_frame_are_the_same_as_two_arrays(metric):
    assert metric(np.column_stack([Y, P])) == metric(Y, P)
    assert metric(pd.DataFrame({"observed": Y, "predicted": P})) == metric(Y, P)
    assert metric.at(read((Y, P), paired=True)).output.names == (metric.name,)


def test_the_influences_are_the_formulas_of_the_docstrings():
    data, squared = read((Y, P), paired=True), (Y - P) ** 2
    phi_rmse, phi_r2 = rmse(Y, P), r2(Y, P)
    np.testing.assert_allclose(rmse.at(data).influence()[0][:, 0], (squared - phi_rmse**2) / (2 * phi_rmse), atol=1e-14)
    np.testing.assert_allclose(mae.at(data).influence()[0][:, 0], np.abs(Y - P) - mae(Y, P), atol=1e-14)
    expected = ((1 - phi_r2) * (Y - Y.mean()) ** 2 - squared) / Y.var()
    np.testing.assert_allclose(r2.at(data).influence()[0][:, 0], expected, atol=1e-13)


def test_perfect_predictions_have_no_error_and_no_influence(iid_covariance):
    data = read((Y, Y), paired=True)
    assert (rmse(Y, Y), mae(Y, Y), r2(Y, Y)) == (0.0, 0.0, 1.0)
    for metric in (rmse, mae, r2):
        np.testing.assert_array_equal(metric.at(data).influence()[0], 0)
        np.testing.assert_array_equal(metric.at(data).second_order_bias(iid_covariance), 0)


def test_predicting_the_mean_explains_nothing():
    assert r2(Y, np.full(80, Y.mean())) == pytest.approx(0, abs=1e-15)


def test_r2_is_not_symmetric():
    assert r2(Y, P) != pytest.approx(r2(P, Y), rel=1e-3)


def test_an_offset_of_a_hundred_million_costs_no_digits():
    y, p = (np.round(z * 2**20) / 2**20 for z in (Y, P))
    for metric in (rmse, mae, r2):
        assert metric(y + 1e8, p + 1e8) == pytest.approx(metric(y, p), rel=1e-12)


def test_a_resample_with_the_same_outcome_everywhere_has_no_r2():
    data = read((Y, P), paired=True)
    values = r2.at(data).values(Resamples((80.0 * np.eye(80)[:3],)))
    assert np.isnan(values).all()


def test_a_resample_of_perfect_rows_has_exactly_no_error():
    p = np.where(np.arange(80) < 40, Y, P)
    perfect = Resamples((np.where(np.arange(80) < 40, 2.0, 0.0)[np.newaxis],))
    data = read((Y, p), paired=True)
    assert rmse.at(data).values(perfect)[0, 0] == mae.at(data).values(perfect)[0, 0] == 0


def test_the_bootstrap_of_a_metric_needs_the_pairs():
    result = ob.bootstrap((Y, P), ob.r2, paired=True, rng=0)
    assert result.confidence_interval.low < result.estimate < result.confidence_interval.high
    with pytest.raises(DataError, match=r"`r2` takes paired samples; pass `paired=True`"):
        ob.bootstrap((Y, P), ob.r2)


def test_a_constant_outcome_has_no_r2():
    with pytest.raises(DataError, match=r"`r2` compares .* the first column, which must not be zero; got 2.0 in every"):
        r2(np.full(5, 2.0), np.arange(5.0))
