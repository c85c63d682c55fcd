from __future__ import annotations

import math

import numpy as np
import pytest
from tests.registry import FUNCTIONALS, N_ROWS

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import DataError, StatisticError
from orthoboot.functionals import function_of_means, mean, variance
from orthoboot.functionals.differences import curvature_by_differences, jacobian_by_differences, principal_directions
from orthoboot.functionals.feature_means import FunctionOfMeans, centred_rows

X = np.random.default_rng(20).exponential(size=40)


def plug_in_variance(m):
    return m[1] - m[0] ** 2


def test_the_numeric_gradient_gives_the_influence_of_the_closed_form():
    functional = function_of_means(lambda x: [x, x**2], plug_in_variance)
    data = read(X)
    (numeric,), (closed,) = functional.at(data).influence(), variance.at(data).influence()
    np.testing.assert_allclose(numeric, closed, atol=1e-11 * np.abs(closed).max())


def test_the_bias_of_the_variance_is_minus_itself_over_n(iid_covariance):
    functional = function_of_means(lambda x: [x, x**2], plug_in_variance)
    for f in (functional, variance):
        np.testing.assert_allclose(f.at(read(X)).second_order_bias(iid_covariance), -np.var(X) / len(X), rtol=1e-8)


def test_steps_stay_within_the_domain_of_a_rare_event(iid_covariance):
    # Ten events among a hundred thousand rows: two steps of 5e-3 row deviations would make the probability negative.
    events = np.zeros(100_000)
    events[:10] = 1
    odds = function_of_means(lambda x: x, lambda m: np.log(m[0] / (1 - m[0])), name="log odds")
    (influence,) = odds.at(read(events)).influence()
    p = 1e-4
    np.testing.assert_allclose(influence[:, 0], (events - p) / (p * (1 - p)), rtol=1e-5)
    expected = 0.5 * (1 / (1 - p) ** 2 - 1 / p**2) * p * (1 - p) / len(events)
    np.testing.assert_allclose(odds.at(read(events)).second_order_bias(iid_covariance), expected, rtol=1e-4)


def test_large_means_do_not_spoil_the_steps():
    x = 1e8 + X
    functional = function_of_means(lambda x: x, lambda m: m[0] - 1e8)
    np.testing.assert_allclose(functional.at(read(x)).influence()[0], mean.at(read(x)).influence()[0], rtol=1e-9)


@pytest.mark.parametrize(
    "row", [row for row in FUNCTIONALS if isinstance(row.functional, FunctionOfMeans)], ids=lambda row: row.id
)
def test_closed_derivatives_agree_with_differences_away_from_the_data_too(row):
    means = row.functional.at(row.data()).derived
    point = means.centre + 0.1 * means.scale
    jacobian = row.functional.jacobian(point)
    if jacobian is not None:
        expected = jacobian_by_differences(row.functional.value, point, means.scale, N_ROWS)
        np.testing.assert_allclose(jacobian, expected, atol=1e-8 * np.abs(expected).max())
    directions = np.diag(means.scale)
    curvature = row.functional.curvature(point, directions)
    if curvature is not None:
        expected = curvature_by_differences(row.functional.value, point, directions / 10, N_ROWS) * 100
        np.testing.assert_allclose(curvature, expected, rtol=1e-6, atol=1e-6)


def test_a_feature_that_does_not_vary_is_left_alone(iid_covariance):
    functional = function_of_means(lambda x: [x, np.zeros_like(x)], lambda m: m[0] + np.sqrt(m[1]))
    np.testing.assert_allclose(
        functional.at(read(X)).influence()[0], mean.at(read(X)).influence()[0], rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(functional.at(read(X)).second_order_bias(iid_covariance), 0, atol=1e-8)


def test_constant_data_have_zero_influence_and_zero_bias(iid_covariance):
    functional = function_of_means(lambda x: [x, x**2], lambda m: [m[0] * m[1], m[1]])
    data = read(np.full(5, 2.0))
    np.testing.assert_array_equal(functional.at(data).influence()[0], np.zeros((5, 2)))
    np.testing.assert_array_equal(functional.at(data).second_order_bias(iid_covariance), np.zeros(2))


@pytest.mark.parametrize(
    "features", [lambda x: x, lambda x: x[:, np.newaxis], lambda x: [x], lambda x: (x.astype(np.float32),)]
)
def test_features_may_be_a_column_a_table_or_a_list(features):
    functional = function_of_means(features, lambda m: m[0], gradient=lambda m: [1.0])
    assert functional(X.round(2)) == pytest.approx(X.round(2).mean(), rel=1e-6)


def test_vector_outputs_are_named_after_the_statistic():
    functional = function_of_means(lambda x: [x, x**2], lambda m: m, name="powers")
    assert functional.at(read(X)).output.names == ("powers[0]", "powers[1]")
    np.testing.assert_allclose(functional(X), [X.mean(), np.mean(X**2)])


def test_features_are_computed_once_and_kept_with_the_prepared_statistic():
    calls = []

    def features(x):
        calls.append(len(x))
        return x

    functional = function_of_means(features, lambda m: m[0])
    prepared = functional.prepared(read(X))
    resamples = Resamples((np.ones((2, len(X))),))
    for _ in range(3):
        prepared.values(resamples)
    prepared.influence()
    assert calls == [len(X)]
    functional.prepared(read(X))
    assert calls == [len(X)] * 2


def test_functionals_do_not_share_what_they_keep():
    data = read(X)
    first, second = (function_of_means(lambda x, p=p: x**p, lambda m: m[0]) for p in (1, 2))
    assert first.at(data).estimate != second.at(data).estimate
    assert second.at(data).estimate == pytest.approx(np.mean(X**2))


def test_centring_leaves_exact_zeros_for_a_constant_column_and_no_mean_elsewhere():
    # Thirteen times 0.1 is a column whose mean is not 0.1 after rounding.
    rows = np.column_stack([np.full(13, 0.1), 1e8 + np.arange(13.0), np.linspace(0, 1, 13)])
    assert rows[:, 0].copy().mean() != 0.1
    means, deviations = centred_rows(rows)
    np.testing.assert_array_equal(deviations[:, 0], 0)
    assert means[0] == 0.1
    assert np.all(np.abs(deviations.mean(axis=0)) < 1e-16)


def test_principal_directions_restore_the_covariance_of_features_of_very_different_size():
    root = np.random.default_rng(21).normal(size=(3, 3)) * np.array([[1e-9], [1.0], [1e6]])
    covariance = root @ root.T
    directions = principal_directions(covariance)
    np.testing.assert_allclose(directions @ directions.T, covariance, rtol=1e-9)


def test_principal_directions_leave_out_what_does_not_vary():
    assert principal_directions(np.zeros((2, 2))).shape == (2, 0)
    assert principal_directions(np.ones((2, 2))).shape == (2, 1)


def test_independent_samples_are_refused_with_the_way_out():
    functional = function_of_means(lambda x: x, lambda m: m[0], name="mine")
    message = r"`mine` takes one sample; got 2 independent samples\. .*`difference\(mine\)`.*`compose`.*`paired=True`"
    with pytest.raises(DataError, match=message):
        functional(X, X)


@pytest.mark.parametrize(
    ("functional", "message"),
    [
        (
            function_of_means(lambda x: np.stack([x, x]), lambda m: m[0]),
            r"`features` must return shape \(40, p\).*got \(2, 40\).*return a list of arrays",
        ),
        (function_of_means(lambda x: x.astype(str), lambda m: m[0]), r"must return real numbers; got ndarray"),
        (
            function_of_means(lambda x: np.where(x > x.mean(), np.nan, x), lambda m: m[0]),
            r"`features` must be finite; got NaN or infinity in \d+ row\(s\), the first in row \d+",
        ),
        (
            function_of_means(lambda x: [x, x], lambda m: m.sum()),
            r"`g` must keep the resamples on the last axis, \(1,\); got shape \(\)\. .*`m.sum\(axis=0\)`",
        ),
        (
            function_of_means(lambda x, y: x, lambda m: m[0]),
            r"`features` raised TypeError: .*'y'\. It was called with an array of shape \(40,\)\.$",
        ),
        (
            function_of_means(lambda x: x, lambda m: 1 / 0),
            r"`g` raised ZeroDivisionError: .* called with an array of shape \(1,\)\.$",
        ),
        (
            function_of_means(lambda x: [x, x**2], lambda m: math.log(m[1])),
            r"`g` raised TypeError: .*array of shape \(2, 2\), for 2 resamples at once",
        ),
    ],
    ids=["transposed", "text", "nan", "batch lost", "arity", "g raises", "math"],
)
def test_what_a_user_callable_returns_is_checked(functional, message):
    with pytest.raises(StatisticError, match=message):
        functional(X)


def test_a_gradient_of_the_wrong_shape_is_refused():
    functional = function_of_means(lambda x: [x, x], lambda m: m[0], gradient=lambda m: [1.0])
    with pytest.raises(StatisticError, match=r"`gradient` must return shape \(1, 2\).*got \(1, 1\)"):
        functional.at(read(X)).influence()


def test_what_a_gradient_raises_is_told():
    functional = function_of_means(lambda x: x, lambda m: m[0], gradient=lambda m: 1 / 0)
    with pytest.raises(StatisticError, match=r"`gradient` raised ZeroDivisionError: .*array of shape \(1,\)"):
        functional.at(read(X)).influence()


def test_it_prints_its_arguments_by_their_names():
    assert repr(function_of_means(np.log, lambda m: m)) == "CustomFunctionOfMeans(features=log, g=<lambda>)"


# Derivatives that the user gives are tried


def wrong_gradient(statistic):
    with pytest.warns(ob.errors.InfluenceMismatchWarning, match="the `gradient` that you gave disagrees with `g`"):
        result = ob.bootstrap(GAMMA, statistic, estimator="jackknife", rng=0)
    assert result.influence_source.endswith("with the `gradient` that was given")
    [again] = [w for w in result.with_estimator("jackknife").warnings if "disagrees" in str(w)]
    assert "differences of `g` give" in str(again)


GAMMA = np.random.default_rng(1).gamma(2, size=200)


def test_a_wrong_gradient_of_means_is_told():
    def dispersion(gradient):
        return ob.function_of_means(lambda x: [x, x**2], lambda m: m[1] - m[0] ** 2, gradient=gradient)

    wrong_gradient(dispersion(lambda m: 2 * np.array([-2 * m[0], 1.0])))
    right = ob.bootstrap(GAMMA, dispersion(lambda m: np.array([-2 * m[0], 1.0])), estimator="jackknife", rng=0)
    assert right.warnings == ()
    assert right.standard_error == pytest.approx(ob.bootstrap(GAMMA, ob.variance, estimator="jackknife").standard_error)


def test_a_wrong_gradient_of_a_composition_is_told_wherever_it_is():
    def logarithm(gradient):
        return ob.compose(np.log, ob.variance, gradient=gradient)

    wrong_gradient(logarithm(lambda v: 2 / v))
    assert ob.bootstrap(GAMMA, logarithm(lambda v: 1 / v), estimator="jackknife", rng=0).warnings == ()
    with pytest.warns(ob.errors.InfluenceMismatchWarning, match="disagrees with `g`"):
        ob.bootstrap((GAMMA, GAMMA + 1), ob.difference(logarithm(lambda v: 2 / v)), estimator="jackknife", rng=0)


def test_what_a_derivative_in_jax_misses_is_told():
    jax = pytest.importorskip("jax")
    hidden = ob.compose(lambda v: v * jax.lax.stop_gradient(v), ob.variance, gradient="jax")
    with pytest.warns(ob.errors.InfluenceMismatchWarning, match="the automatic derivative of `g` disagrees"):
        ob.bootstrap(GAMMA, hidden, estimator="jackknife", rng=0)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.LargeBiasWarning")
@pytest.mark.parametrize("distance", [5e-3, 1e-5])
def test_differences_next_to_a_pole_are_shortened(distance):
    """The second mean is so far from zero, in standard deviations, and a quotient bends within a step."""
    x = np.random.default_rng(0).normal(size=(400, 2))
    x[:, 1] += distance - x[:, 1].mean()
    quotient = ob.function_of_means(lambda x: x, lambda m: m[0] / m[1])
    by_differences, exact = (
        ob.bootstrap(x, statistic, estimator="jackknife", rng=0).influence for statistic in (quotient, ob.ratio)
    )
    np.testing.assert_allclose(by_differences, exact, rtol=1e-6, atol=1e-6 * np.abs(exact).max())


@pytest.mark.parametrize(
    ("function", "slope", "evaluations"),
    [(np.exp, 1.0, range(4, 5)), (lambda x: 1 / (x - 1e-3), -1e6, range(8, 29))],
)
def test_shorter_steps_are_taken_next_to_a_pole_alone(function, slope, evaluations):
    points = []

    def value(columns):
        points.extend(columns.T)
        return function(columns)

    found = jacobian_by_differences(value, np.zeros(1), np.ones(1), n_rows=1)
    assert found[0, 0] == pytest.approx(slope, rel=1e-6)
    assert len(points) in evaluations
