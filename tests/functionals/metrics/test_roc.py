from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ArgumentError, DataError
from orthoboot.functionals import roc_auc, unit_resamples
from orthoboot.functionals.metrics import roc
from orthoboot.plans import Cluster, Iid

RNG = np.random.default_rng(70)
Y = (RNG.random(70) < 0.4).astype(float)
SMOOTH_SCORES = Y + RNG.normal(size=70)
TIED_SCORES = np.round(SMOOTH_SCORES)

SCORES = pytest.mark.parametrize("scores", [SMOOTH_SCORES, TIED_SCORES], ids=["no ties", "ties"])


def wins(y, scores):
    """Whether each positive row is above each negative one, ties one half: the definition, pair by pair."""
    positive, negative = scores[y == 1][:, np.newaxis], scores[y == 0]
    return (positive > negative) + (positive == negative) / 2


def pairwise_area(y, scores, weights):
    masses = np.outer(weights[y == 1], weights[y == 0])
    return np.sum(masses * wins(y, scores)) / np.sum(masses)


@SCORES
def test_weights_count_pairs_of_rows(scores):
    weights = np.random.default_rng(71).exponential(size=70)
    assert roc_auc(Y, scores) == pytest.approx(pairwise_area(Y, scores, np.ones(70)), rel=1e-14)
    assert roc_auc(Y, scores, weights=weights) == pytest.approx(pairwise_area(Y, scores, weights), rel=1e-13)


@given(
    arrays(np.float64, 12, elements=st.integers(-3, 3).map(float)),
    arrays(np.float64, 12, elements=st.integers(0, 3).map(float)),
    arrays(np.float64, 12, elements=st.sampled_from([0.0, 1.0])).filter(lambda y: 0 < y.sum() < 12),
)
def test_any_ties_and_counts_are_those_of_the_definition(scores, weights, y):
    value = roc_auc.at(read((y, scores), paired=True)).values(Resamples((weights[np.newaxis],)))[0, 0]
    if (weights * y).sum() * (weights * (1 - y)).sum() > 0:
        assert value == pytest.approx(pairwise_area(y, scores, weights), rel=1e-13)
    else:
        assert np.isnan(value)


@SCORES
def test_the_influence_is_the_placements_over_the_shares_of_the_classes(scores):
    table = wins(Y, scores)
    expected = np.empty(70)
    expected[Y == 1] = (table.mean(axis=1) - table.mean()) / Y.mean()
    expected[Y == 0] = (table.mean(axis=0) - table.mean()) / (1 - Y.mean())
    np.testing.assert_allclose(roc_auc.at(read((Y, scores), paired=True)).influence()[0][:, 0], expected, atol=1e-13)


@SCORES
def test_the_influence_is_the_derivative_in_the_weight_of_each_row(scores):
    data, step = read((Y, scores), paired=True), 1e-5
    ahead, behind = (roc_auc.at(data).values(Resamples((1 + s * np.eye(70),))) for s in (step, -step))
    influence = roc_auc.at(data).influence()[0]
    slopes = 70 * (ahead - behind) / (2 * step)
    np.testing.assert_allclose(influence, slopes, rtol=0, atol=1e-8 * np.abs(influence).max())


@SCORES
def test_the_variance_is_that_of_delong_but_for_the_divisors(scores):
    table = wins(Y, scores)
    n_positive, n_negative = table.shape
    by_positive, by_negative = table.mean(axis=1).var(ddof=1) / n_positive, table.mean(axis=0).var(ddof=1) / n_negative
    expected = by_positive * (n_positive - 1) / n_positive + by_negative * (n_negative - 1) / n_negative
    result = ob.bootstrap((Y, scores), roc_auc, paired=True, estimator="jackknife", method="normal")
    assert result.standard_error**2 == pytest.approx(expected, rel=1e-12)


def test_orders_of_the_scores_are_all_that_matters():
    expected = roc_auc(Y, SMOOTH_SCORES)
    assert roc_auc(Y, np.exp(SMOOTH_SCORES)) == expected
    assert roc_auc(Y, -SMOOTH_SCORES) == pytest.approx(1 - expected, rel=1e-14)
    assert roc_auc(Y, np.zeros(70)) == 0.5


def test_two_columns_and_a_frame_are_the_same_as_two_arrays():
    expected = roc_auc(Y, TIED_SCORES)
    assert roc_auc(np.column_stack([Y, TIED_SCORES])) == expected
    assert roc_auc(pd.DataFrame({"clicked": Y == 1, "score": TIED_SCORES})) == expected
    assert roc_auc.at(read((Y, TIED_SCORES), paired=True)).output.names == ("roc_auc",)


def test_the_positive_class_is_the_larger_label_unless_another_is_named():
    expected = roc_auc(Y, TIED_SCORES)
    assert roc_auc(Y + 1, TIED_SCORES) == roc_auc(2 * Y - 1, TIED_SCORES) == expected
    assert roc_auc.replace(positive=0)(Y, TIED_SCORES) == pytest.approx(1 - expected, rel=1e-14)


def test_a_resample_that_loses_a_class_has_no_value_and_no_warning():
    data = read((Y, TIED_SCORES), paired=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = roc_auc.at(data).values(Resamples((np.stack([0.1 * Y, 0.1 * (1 - Y), np.ones(70)]),)))
    np.testing.assert_array_equal(np.isnan(values[:, 0]), [True, True, False])


def test_replicates_that_lose_a_class_are_left_out_and_counted():
    y = np.zeros(30)
    y[:2] = 1
    few = pytest.warns(ob.errors.SmallSampleWarning, match="`roc_auc` rests on 2 row.s. that are positive")
    with few, pytest.warns(ob.errors.FailedReplicatesWarning, match="the resample lost a class; more rows of it"):
        result = ob.bootstrap((y, np.sin(np.arange(30))), roc_auc, paired=True, n_resamples=100, rng=0)
    # A resample of 30 rows misses both positive ones with probability (28/30)**30 = 0.13: none of 100 has odds of 1e-6.
    assert 0 < result.replicates.n_failed < 50


# The second-order bias: half the second derivative in the weights, with their covariance under the plan.


def bias_by_differences(data, scheme):
    n, step = data.sizes[0], 1e-3
    eigenvalues, vectors = np.linalg.eigh(n**2 * scheme.covariance(np.eye(n)))
    directions = (vectors * np.sqrt(np.maximum(eigenvalues, 0))).T
    ahead, behind = (roc_auc.at(data).values(Resamples((1 + s * directions,))) for s in (step, -step))
    middle = roc_auc.at(data).values(unit_resamples(data))
    return np.sum(ahead + behind - 2 * middle, axis=0) / (2 * step**2)


@SCORES
def test_rows_drawn_in_groups_give_the_area_a_bias(scores):
    data, scheme = read((Y, scores), paired=True), Cluster(np.arange(70) // 6)
    closed = roc_auc.at(data).second_order_bias(lambda parts: scheme.covariance(parts[0]))
    np.testing.assert_allclose(closed, bias_by_differences(data, scheme), rtol=1e-4)
    assert abs(closed[0]) > 1e-4


def test_rows_drawn_independently_give_the_area_no_bias():
    # Given the numbers of positive and negative rows the two classes are drawn independently of each other.
    data, scheme = read((Y, TIED_SCORES), paired=True), Iid(70)
    closed = roc_auc.at(data).second_order_bias(lambda parts: scheme.covariance(parts[0]))
    np.testing.assert_allclose(closed, 0, atol=1e-15)


def test_a_bias_that_would_cost_too_much_is_not_claimed(monkeypatch, iid_covariance):
    monkeypatch.setattr(roc, "_LARGEST_TRACE", 70 * 69)
    assert roc_auc.at(read((Y, SMOOTH_SCORES), paired=True)).second_order_bias(iid_covariance) is None


@pytest.mark.parametrize("label", [0.0, 1.0, 3.0])
def test_one_class_only_is_refused(label):
    message = rf"`roc_auc` needs both classes; got the label {label:g} in all 5 rows\. The labels come first"
    with pytest.raises(DataError, match=message):
        roc_auc(np.full(5, label), np.arange(5.0))


def test_scores_in_place_of_labels_are_refused():
    with pytest.raises(DataError, match=r"`roc_auc` takes two classes, .*; got 70 different label\(s\)"):
        roc_auc(SMOOTH_SCORES, Y)


def test_independent_samples_are_refused_with_the_way_out():
    with pytest.raises(DataError, match=r"`roc_auc` takes paired samples; pass `paired=True`"):
        ob.bootstrap((Y, TIED_SCORES), roc_auc)


def test_the_positive_class_is_a_label():
    with pytest.raises(DataError, match=r"`roc_auc` has `positive=2`, but the labels are 0 and 1"):
        roc_auc.replace(positive=2)(Y, TIED_SCORES)
    with pytest.raises(ArgumentError, match="`positive` must be the number that labels the positive class; got 'yes'"):
        roc_auc.replace(positive="yes")


def test_the_area_of_independent_rows_has_no_bias():
    """Over all 6**6 resamples that have both classes."""
    y, scores = np.array([0, 0, 0, 1, 1, 1]), np.array([0.1, 0.5, 0.5, 0.4, 0.7, 0.5])
    rows = np.array(list(itertools.product(range(6), repeat=6)))
    counts = (rows[:, :, np.newaxis] == np.arange(6)).sum(axis=1)
    counts = counts[(counts[:, y == 0].any(axis=1)) & (counts[:, y == 1].any(axis=1))]
    negative, positive = counts[:, y == 0], counts[:, y == 1]
    won = np.einsum("bi,ij,bj->b", positive, wins(y, scores), negative)
    areas = won / (positive.sum(axis=1) * negative.sum(axis=1))
    assert areas.mean() == pytest.approx(roc_auc(y, scores), rel=1e-12)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize(("options", "is_exact"), [({}, True), ({"control": "linear"}, False), ({"groups": 2}, False)])
def test_a_run_knows_that_the_area_of_independent_rows_has_no_bias(options, is_exact):
    generator = np.random.default_rng(3)
    labels = np.repeat([0, 1], [40, 20])
    if "groups" in options:
        options = {"groups": generator.permutation(np.arange(60) // options["groups"])}
    data = (labels, labels + generator.standard_normal(60))
    result = ob.bootstrap(data, ob.roc_auc, paired=True, n_resamples=10, rng=0, **options)
    assert (abs(result.bias) < 1e-12) is is_exact
    assert (result.simulation_error.bias < 1e-12) is is_exact
