from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ArgumentError, DataError
from orthoboot.functionals import accuracy, brier, f1, log_loss, precision, recall, roc_auc

RNG = np.random.default_rng(60)
PROBABILITY = RNG.random(90)
Y = (RNG.random(90) < PROBABILITY).astype(float)
P = (PROBABILITY > 0.4).astype(float)
WEIGHTS = RNG.exponential(size=90)

OF_LABELS = [accuracy, precision, recall, f1]
OF_PROBABILITIES = [log_loss, brier]
SHARES = pytest.mark.parametrize("metric", [precision, recall, f1], ids=lambda f: f.name)
EVERY = pytest.mark.parametrize("metric", OF_LABELS + OF_PROBABILITIES, ids=lambda f: f.name)


def arguments(metric):
    return (Y, P) if metric in OF_LABELS else (Y, PROBABILITY)


def weighted_reference(name):
    """scikit-learn's definitions with `sample_weight`."""
    total = lambda rows: np.sum(WEIGHTS * rows)  # noqa: E731
    true, observed, predicted = total(Y * P), total(Y), total(P)
    return {
        "accuracy": total(Y == P) / total(1),
        "precision": true / predicted,
        "recall": true / observed,
        "f1": 2 * true / (observed + predicted),
        "log_loss": -total(Y * np.log(PROBABILITY) + (1 - Y) * np.log(1 - PROBABILITY)) / total(1),
        "brier": total((Y - PROBABILITY) ** 2) / total(1),
    }[name]


@EVERY
def test_weights_mean_what_sample_weight_means(metric):
    assert metric(*arguments(metric), weights=WEIGHTS) == pytest.approx(weighted_reference(metric.name), rel=1e-12)


@EVERY
def test_two_columns_and_a_frame_are_the_same_as_two_arrays(metric):
    y, p = arguments(metric)
    assert metric(np.column_stack([y, p])) == metric(y, p)
    assert metric(pd.DataFrame({"observed": y == 1, "predicted": p})) == metric(y, p)
    assert metric.at(read((y, p), paired=True)).output.names == (metric.name,)


@pytest.mark.parametrize("metric", OF_LABELS, ids=lambda f: f.name)
def test_minus_one_and_one_are_labels_too(metric):
    assert metric(2 * Y - 1, 2 * P - 1) == metric(Y, P)


@pytest.mark.parametrize("metric", OF_PROBABILITIES, ids=lambda f: f.name)
def test_the_probability_is_that_of_the_larger_label_unless_another_is_named(metric):
    assert metric(Y + 1, PROBABILITY) == metric(2 * Y - 1, PROBABILITY) == metric(Y, PROBABILITY)
    assert metric.replace(positive=0)(Y, 1 - PROBABILITY) == pytest.approx(metric(Y, PROBABILITY), rel=1e-13)


@SHARES
def test_the_positive_class_can_be_the_other_one(metric):
    assert metric.replace(positive=0)(Y, P) == metric(1 - Y, 1 - P) != metric(Y, P)
    assert metric.replace(positive=7)(5 + 2 * Y, 5 + 2 * P) == metric(Y, P)


def test_the_influences_are_the_formulas_of_the_docstrings():
    data = read((Y, P), paired=True)
    expected = {
        precision: P / P.mean() * (Y - precision(Y, P)),
        recall: Y / Y.mean() * (P - recall(Y, P)),
        f1: (2 * Y * P - f1(Y, P) * (Y + P)) / (Y.mean() + P.mean()),
    }
    for metric, influence in expected.items():
        np.testing.assert_allclose(metric.at(data).influence()[0][:, 0], influence, atol=1e-13)


@SHARES
def test_a_resample_that_loses_the_class_has_no_value_and_no_warning(metric):
    nothing_positive = np.where((Y == 0) & (P == 0), 0.1, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = metric.at(read((Y, P), paired=True)).values(Resamples((np.stack([nothing_positive, np.ones(90)]),)))
    assert np.isnan(values[0, 0])
    assert values[1, 0] == metric(Y, P)


def test_replicates_without_the_class_are_left_out_and_counted():
    y = np.zeros(30)
    y[:2] = 1
    few = pytest.warns(ob.errors.SmallSampleWarning, match="`recall` rests on 2 row.s. that are positive")
    with few, pytest.warns(ob.errors.FailedReplicatesWarning, match="no rows of the resample are positive"):
        result = ob.bootstrap((y, np.arange(30) % 2), recall, paired=True, n_resamples=100, rng=0)
    # A resample of 30 rows misses both positive ones with probability (28/30)**30 = 0.13: none of 100 has odds of 1e-6.
    assert 0 < result.replicates.n_failed < 50


def test_being_certain_and_wrong_costs_the_logarithm_of_the_spacing_of_floats():
    assert log_loss([0, 1], [1.0, 1.0]) == pytest.approx(-np.log(2.0**-52) / 2, rel=1e-12)
    assert log_loss([0, 1], [0.0, 1.0]) == pytest.approx(2.0**-52, rel=1e-12)


def test_one_class_only_has_an_accuracy_and_a_log_loss():
    assert accuracy([1, 1], [1, 1]) == 1
    assert accuracy([0, 0], [0, 0]) == 1
    assert log_loss([0, 0], [0.5, 0.5]) == pytest.approx(np.log(2))


@EVERY
def test_three_labels_are_refused_with_the_way_out(metric):
    y, p = arguments(metric)
    message = rf"`{metric.name}` takes two classes, .*; got 3 different label\(s\): 0, 1, 2\. .* `labels == 2`"
    with pytest.raises(DataError, match=message):
        metric(np.where(np.arange(90) == 4, 2.0, y), p)


@pytest.mark.parametrize("metric", OF_LABELS, ids=lambda f: f.name)
def test_probabilities_in_place_of_labels_are_refused_with_the_way_out(metric):
    with pytest.raises(DataError, match=r"got 92 different label\(s\): 0, .*, \.\.\.\. .* threshold, .* `p > 0.5`"):
        metric(Y, PROBABILITY)


@pytest.mark.parametrize("metric", OF_PROBABILITIES, ids=lambda f: f.name)
def test_scores_in_place_of_probabilities_are_refused_with_the_way_out(metric):
    message = rf"`{metric.name}` takes probabilities in \[0, 1\] .* 1.5 in row 3 \(counted from 0\)\. .* `model.predict"
    with pytest.raises(DataError, match=message):
        metric(Y, np.where(np.arange(90) == 3, 1.5, PROBABILITY))


def test_one_label_other_than_zero_and_one_is_refused():
    with pytest.raises(DataError, match=r"got 1 different label\(s\): 3\."):
        accuracy([3.0, 3.0], [3.0, 3.0])


@SHARES
def test_a_positive_class_that_is_no_label_is_refused(metric):
    message = (
        rf"`{metric.name}` has `positive=1`, but the labels are 5 and 7\. .* `{metric.name}.replace\(positive=7\)`"
    )
    with pytest.raises(DataError, match=message):
        metric(5 + 2 * Y, 5 + 2 * P)


@pytest.mark.parametrize(
    ("metric", "rows"),
    [(precision, "are predicted positive"), (recall, "are positive"), (f1, "are positive or predicted so")],
    ids=lambda value: getattr(value, "name", None),
)
def test_data_without_the_class_are_refused(metric, rows):
    message = rf"`{metric.name}` divides by the number of rows that {rows}, .* none with the label 1 among 2 rows"
    with pytest.raises(DataError, match=message):
        metric([0, 0], [0, 0])


@pytest.mark.parametrize("positive", ["yes", True, np.nan])
@pytest.mark.parametrize("metric", [precision, log_loss], ids=lambda f: f.name)
def test_the_positive_class_is_a_number(metric, positive):
    with pytest.raises(ArgumentError, match="`positive` must be the number that labels the positive class; got"):
        metric.replace(positive=positive)


@EVERY
def test_independent_samples_are_refused_with_the_way_out(metric):
    with pytest.raises(DataError, match=rf"`{metric.name}` takes paired samples; pass `paired=True`"):
        metric.prepared(read(arguments(metric)))


@pytest.mark.parametrize("metric", [accuracy, f1, log_loss, roc_auc], ids=lambda f: f.name)
def test_scores_in_place_of_labels_are_recognised(metric):
    scores = np.random.default_rng(3).normal(size=30)
    with pytest.raises(DataError, match=r"got \d+ different label.* These look like scores. The labels come first and"):
        metric(scores, (scores > 0).astype(float))


@pytest.mark.parametrize("metric", [brier, roc_auc], ids=lambda f: f.name)
def test_of_two_columns_of_probabilities_one_is_asked_for(metric):
    p = np.linspace(0.1, 0.9, 12)
    with pytest.raises(DataError, match=r"Select one column of the second, .*`model.predict_proba\(X\)\[:, 1\]`"):
        metric((p > 0.5).astype(float), np.column_stack([1 - p, p]))
