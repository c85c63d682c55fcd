from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ArgumentError, DataError, FailedReplicatesWarning, StatisticError
from orthoboot.functionals import (
    compose,
    correlation,
    difference,
    function_of_means,
    mean,
    median,
    paired_difference,
    quantile,
    ratio,
    relative_difference,
    rmse,
    roc_auc,
    std,
    variance,
)

RNG = np.random.default_rng(60)
X, Y = RNG.exponential(2.0, size=30), RNG.gamma(2.0, size=20)


def test_the_difference_has_the_influence_of_its_part_with_opposite_signs():
    first, second = difference(variance).at(read((X, Y))).influence()
    np.testing.assert_array_equal(first, variance.at(read(X)).influence()[0])
    np.testing.assert_array_equal(second, -variance.at(read(Y)).influence()[0])


def test_the_bias_of_a_difference_is_the_difference_of_biases(iid_covariance):
    expected = np.var(Y) / len(Y) - np.var(X) / len(X)
    np.testing.assert_allclose(
        difference(variance).at(read((X, Y))).second_order_bias(iid_covariance), expected, rtol=1e-7
    )


def test_the_bias_within_a_sample_is_asked_of_the_plan_with_zeros_for_the_other():
    asked = []

    def covariance(parts):
        asked.append([(len(part), bool(part.any())) for part in parts])
        return np.zeros((3, 3))

    difference(variance).at(read((X, Y))).second_order_bias(covariance)
    assert asked == [[(30, True), (20, False)], [(30, False), (20, True)]]


def test_the_part_of_a_difference_sorts_each_sample_once_for_all_batches():
    prepared = difference(median).prepared(read((X, Y)))
    assert prepared.samples[0] is prepared.samples[0]
    assert prepared.samples[1].derived is prepared.samples[1].derived


def test_the_relative_difference_is_a_ratio_less_one():
    x, y = X[:20], Y
    phi_hat, expected = relative_difference(mean)(x, y), ratio(x, y) - 1
    assert phi_hat == pytest.approx(expected, rel=1e-13)
    parts = relative_difference(mean).at(read((x, y))).influence()
    together = ratio.at(read((x, y), paired=True)).influence()[0]
    np.testing.assert_allclose(parts[0] + parts[1], together, atol=1e-13)


def test_options_reach_the_compared_statistic():
    functional = difference(variance).replace(ddof=1)
    assert functional(X, Y) == pytest.approx(np.var(X, ddof=1) - np.var(Y, ddof=1), rel=1e-12)
    with pytest.raises(ArgumentError, match="`variance` has no option 'q'"):
        functional.replace(q=0.5)


def test_names_say_what_is_compared_and_columns_keep_theirs():
    frames = tuple(pd.DataFrame({"a": z, "b": z**2}) for z in (X, Y))
    assert difference(mean).name == "difference of mean"
    assert difference(mean).at(read((X, Y))).output.names == ("difference of mean",)
    assert difference(mean).at(read(frames)).output.names == ("a", "b")
    assert relative_difference(quantile([0.1, 0.9])).at(read((X, Y))).output.names == (
        "relative difference of quantile(0.1)",
        "relative difference of quantile(0.9)",
    )
    assert compose(np.log, mean).at(read(frames[0])).output.names == ("a", "b")
    assert compose(np.log, mean, name="log").at(read(frames[0].to_numpy())).output.names == ("log[0]", "log[1]")


def test_a_combination_is_smooth_if_all_its_parts_are():
    assert difference(mean).smooth
    assert not difference(median).smooth
    assert not compose(lambda a, b: a - b, mean, median).smooth
    assert compose(lambda r: r, correlation).paired
    assert compose(lambda m: m, mean).fractional
    assert compose(lambda m: m, mean).batched


def test_a_known_callable_stands_for_its_entry():
    assert difference(np.mean) == difference(mean)
    assert compose(np.log, np.var).functionals == (variance,)


def test_a_composition_agrees_with_the_function_of_means_it_is(iid_covariance):
    data = read(X)
    whole = function_of_means(lambda x: [x, x**2], lambda m: np.sqrt(m[1] - m[0] ** 2) / m[0])
    parts = compose(lambda s, m: s / m, std, mean)
    np.testing.assert_allclose(parts.at(data).influence()[0], whole.at(data).influence()[0], atol=1e-10)
    np.testing.assert_allclose(
        parts.at(data).second_order_bias(iid_covariance), whole.at(data).second_order_bias(iid_covariance), rtol=1e-7
    )


def test_the_gradient_given_replaces_the_differences():
    data = read(X)
    given = compose(lambda s, m: s / m, std, mean, gradient=lambda s, m: [1 / m, -s / m**2])
    differences = compose(lambda s, m: s / m, std, mean)
    np.testing.assert_allclose(given.at(data).influence()[0], differences.at(data).influence()[0], atol=1e-11)


def test_parts_keep_their_own_shape_inside_g():
    x = RNG.normal(size=(12, 3))
    seen = []

    def g(m, v):
        seen.append((np.shape(m), np.shape(v)))
        return m[0] + v

    data = read(x)
    functional = compose(g, mean, function_of_means(lambda x: x[:, 0], lambda m: m[0]))
    _ = functional.at(data).output
    functional.at(data).values(Resamples((np.ones((5, 12)),)))
    assert seen == [((3,), ()), ((3, 5), (5,))]


def test_parts_without_a_closed_form_leave_the_bias_open(iid_covariance):
    data = read(X)
    assert compose(lambda a, b: a - b, mean, median).at(data).second_order_bias(iid_covariance) is None
    assert relative_difference(median).at(read((X, Y))).second_order_bias(iid_covariance) is None


@pytest.mark.parametrize(
    ("data", "got"),
    [
        (read(X), r"1 sample\(s\)"),
        (read((X, X, X)), r"3 sample\(s\)"),
        (read((X, X), paired=True), "paired arrays"),
    ],
    ids=["one", "three", "paired"],
)
def test_a_comparison_takes_two_independent_samples(data, got):
    message = rf"`difference of mean` takes two independent samples, `\(first, second\)`; got {got}\. For paired rows"
    with pytest.raises(DataError, match=message):
        difference(mean).prepared(data)


def test_a_comparison_takes_samples_with_the_same_columns():
    with pytest.raises(DataError, match=r"same columns; got \(\) and \(2,\)\. Select the same columns"):
        difference(mean)(X, np.ones((3, 2)))
    with pytest.raises(DataError, match=r"same columns; got \('a', 'b'\) and \('a', 'c'\)"):
        difference(mean)(pd.DataFrame({"a": X, "b": X}), pd.DataFrame({"a": Y, "c": Y}))


def test_a_comparison_checks_each_sample():
    with pytest.raises(DataError, match="`correlation` is not defined for a constant column; got column 1"):
        difference(correlation)(np.column_stack([X, X**2]), np.column_stack([Y, np.ones_like(Y)]))


def test_a_relative_difference_to_zero_is_refused():
    with pytest.raises(DataError, match="`relative difference of mean` divides by the statistic of the second sample"):
        relative_difference(mean)([1.0, 2.0], [-1.0, 1.0])


def test_what_is_no_statistic_is_refused():
    with pytest.raises(
        ArgumentError, match=r"`f` must be a statistic of the catalogue.*got 'len'.*`function_of_means`"
    ):
        difference(len)
    with pytest.raises(ArgumentError, match="`compose` needs at least one statistic after `g`; got none"):
        compose(np.log)
    with pytest.raises(ArgumentError, match="`g` must be callable, the function of the statistics' values; got float"):
        compose(0.5, mean)


def test_a_composition_that_loses_the_batch_is_refused():
    with pytest.raises(StatisticError, match=r"`g` must keep the resamples on the last axis, \(1,\); got shape \(\)"):
        compose(np.sum, mean)(X)


@pytest.mark.parametrize(
    ("g", "message"),
    [
        (lambda a: 1 / 0, r"`g` raised ZeroDivisionError: division by zero\. It was called with a number\.$"),
        (lambda a, b: a, r"`g` raised TypeError: .*positional argument: 'b'\. It was called with a number\.$"),
        (math.log, r"`g` raised TypeError: .* an array of shape \(2,\), for 2 resamples at once: .*`np.log` and not"),
        (lambda a: a if a > 0 else -a, r"`g` raised ValueError: The truth value .*`np.where` and not `if`"),
        (lambda a: float(np.log(a)), r"`g` raised TypeError: .* leave out `float`"),
    ],
    ids=["raises", "arity", "math", "if", "float"],
)
def test_what_g_raises_is_told_with_what_it_was_called_with(g, message):
    with pytest.raises(StatisticError, match=message):
        ob.bootstrap(X, compose(g, mean))


def test_what_a_gradient_raises_is_told():
    product = compose(lambda r, m: r * m, ratio, mean, gradient=lambda r, m: 1 / 0)
    with pytest.raises(StatisticError, match="`gradient` raised ZeroDivisionError: .* a number, an array of shape"):
        product.at(read(np.column_stack([X, X]))).influence()


def test_a_function_that_raises_on_a_few_resamples_is_a_failed_replicate():
    def root(a):
        if np.any(a > X.mean() + 1.5 * X.std() / np.sqrt(len(X))):
            raise FloatingPointError("too large")
        return np.sqrt(a)

    with pytest.warns(FailedReplicatesWarning, match="too large"):
        result = ob.bootstrap(X, compose(root, mean), n_resamples=100, rng=0)
    assert 1 <= result.n_failed <= 20


# Two predictions for the same rows

LABELS = np.random.default_rng(2).integers(0, 2, size=200)
SCORES = [LABELS + np.random.default_rng(seed).normal(size=200) for seed in (3, 4)]


def test_the_paired_difference_is_that_of_the_two_metrics():
    result = ob.bootstrap((LABELS, *SCORES), paired_difference(roc_auc), paired=True, n_resamples=200, rng=0)
    first, second = (roc_auc.at(read((LABELS, scores), paired=True)) for scores in SCORES)
    assert result.estimate == first.estimate[0] - second.estimate[0]
    np.testing.assert_allclose(result.influence, (first.influence()[0] - second.influence()[0])[:, 0], atol=1e-15)
    # DeLong's variance of the difference, from scratch: covariances of the placements within the classes.
    positive, negative = ([scores[label == LABELS] for scores in SCORES] for label in (1, 0))
    wins = [p[:, np.newaxis] > n for p, n in zip(positive, negative, strict=True)]
    contrast = wins[0].astype(float) - wins[1]
    expected = contrast.mean(axis=1).var() / len(contrast) + contrast.mean(axis=0).var() / contrast.shape[1]
    assert result.jackknife_variance == pytest.approx(expected, rel=1e-10)
    assert result.names == ("paired difference of roc_auc",)


def test_a_prediction_does_not_differ_from_itself():
    assert paired_difference(rmse)(X, X + 1, X + 1) == 0.0


def test_options_reach_the_metric_of_a_paired_difference():
    other = paired_difference(roc_auc).replace(positive=0)
    assert other(LABELS, *SCORES) == pytest.approx(-paired_difference(roc_auc)(LABELS, *SCORES), rel=1e-12)


@pytest.mark.parametrize(
    ("data", "statistic", "options", "message"),
    [
        ((LABELS, *SCORES), difference(roc_auc), {}, r"ob\.paired_difference\(ob\.roc_auc\), paired=True\)"),
        ((LABELS, *SCORES), difference(roc_auc), {"paired": True}, r"use `ob\.bootstrap\(\(y, first, second\)"),
        ((X, X), difference(mean), {"paired": True}, "take the statistic of their differences"),
        ((LABELS, *SCORES), paired_difference(roc_auc), {}, r"with `paired=True`; got 3 array\(s\) in 3 sample\(s\)"),
        ((LABELS, SCORES[0]), paired_difference(roc_auc), {"paired": True}, r"got 2 array\(s\) in 1 sample\(s\)"),
    ],
)
def test_what_is_paired_and_what_is_not_is_told(data, statistic, options, message):
    with pytest.raises(DataError, match=message):
        ob.bootstrap(data, statistic, **options)


def test_a_paired_difference_is_of_a_metric():
    with pytest.raises(ArgumentError, match="`metric` must be a statistic of pairs.*got `mean`, which takes one"):
        paired_difference(mean)


class Demanding(type(mean)):
    """A mean that differs from the defaults in all that a combination must pass on."""

    smooth = fractional = batched = releases_gil = False
    by_user = takes_text = True
    undefined = "a class is lost"

    def plan_options(self, data):
        return {"groups": np.arange(data.sizes[0]) // 2}


PASSED_ON = ("smooth", "fractional", "batched", "releases_gil", "by_user", "takes_text", "undefined")


@pytest.mark.parametrize(
    "whole", [compose(np.log, Demanding(), mean), difference(Demanding())], ids=["compose", "pair"]
)
def test_a_combination_has_the_properties_of_its_parts(whole):
    for name in PASSED_ON:
        assert getattr(whole, name) == getattr(Demanding, name), name


def test_a_composition_draws_the_groups_of_its_parts():
    composed = ob.bootstrap(X, compose(lambda m: 2 * m, Demanding()), estimator="standard", rng=0)
    grouped = ob.bootstrap(X, mean, groups=np.arange(30) // 2, estimator="standard", n_resamples=1000, rng=0)
    assert composed.standard_error == pytest.approx(2 * grouped.standard_error)


def test_parts_that_draw_different_groups_are_refused():
    class Other(Demanding):
        def plan_options(self, data):
            return {"groups": np.arange(data.sizes[0]) // 3}

    with pytest.raises(ArgumentError, match="draw rows by different `groups`; pass `groups=`"):
        ob.bootstrap(X, compose(np.add, Demanding(), Other()))
