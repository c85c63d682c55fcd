"""How many replicates a run has where the user does not say."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import orthoboot as ob

RNG = np.random.default_rng(0)
X = RNG.exponential(size=500)
TABLE = RNG.standard_normal((500, 4))
LABELS = (TABLE[:, 0] + RNG.logistic(size=500) > 0).astype(float)


def count(data, statistic, **options):
    return ob.bootstrap(data, statistic, rng=0, **options).n_resamples


@pytest.mark.parametrize("n_rows", [500, 3000, 50_000, 500_000])
def test_sums_take_four_million_rows_at_least_ten_times_and_at_most_two_thousand(n_rows):
    x = np.random.default_rng(1).exponential(size=n_rows)
    assert count(x, ob.std) == min(max(4_000_000 // n_rows, 10), 2000)


def test_the_rows_of_all_samples_count():
    x = np.random.default_rng(1).exponential(size=(2, 2000))
    assert count(tuple(x), ob.relative_difference(ob.mean)) == 1000


@pytest.mark.parametrize(
    "statistic",
    [
        ob.median,
        ob.trimmed_mean(0.1),
        ob.gini,
        ob.compose(lambda s: s**2, ob.std),
        ob.function_of_means(lambda x: np.stack([x, x**2], axis=-1), lambda m: m[1] / m[0]),
    ],
    ids=lambda one: one.name,
)
def test_whatever_is_computed_together_is_free(statistic):
    assert count(X, statistic) == 2000


def test_outputs_and_columns_count():
    wide = np.random.default_rng(1).exponential(size=(4000, 64))
    assert count(wide, ob.std) == 500
    many = np.random.default_rng(1).standard_normal((2000, 32))
    assert count((many, many[:, 0] + many[:, 1] ** 3), ob.linear_regression, paired=True) == 500


def test_regressions_are_free_and_a_search_counts_three_times():
    assert count((TABLE, X), ob.linear_regression, paired=True) == 2000
    wide = np.random.default_rng(2).standard_normal((2000, 3))
    labels = (wide[:, 0] + np.random.default_rng(3).logistic(size=2000) > 0).astype(float)
    assert count((wide, labels), ob.logistic_regression, paired=True) == 666


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_refits_and_functions_with_an_influence_function_stay_at_ten():
    assert count((TABLE, LABELS), ob.from_sklearn(LogisticRegression()), paired=True) == 10
    assert count(X, variation, influence=X - X.mean()) == 10
    assert count(X, variation, influence="jackknife", estimator="paper") == 10


def variation(x):
    return x.std() / x.mean()


def moment(x, weights):
    return np.average(x**2, weights=weights)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize("n_rows", [5, 30, 120, 500])
def test_what_an_engine_evaluates_has_as_many_replicates_up_to_200(n_rows):
    """The jackknife takes an evaluation for each row, differences two; more than 200 replicates gain little."""
    some = X[:n_rows]
    assert count(some, variation) == min(max(n_rows, 10), 200)
    assert count(some, lambda x, axis: x.std(axis=axis)) == min(max(n_rows, 10), 200)
    assert count(some, moment) == min(2 * n_rows, 200)
    assert count(some, moment, influence="jackknife") == min(max(n_rows, 10), 200)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_a_tolerance_of_a_users_function_starts_from_as_many_within_its_limit():
    assert count(X[:120], variation, tol=0.9) == 120
    assert count(X[:120], variation, tol=0.9, max_resamples=50) == 50
    assert count(X[:120], variation, tol=0.9, n_resamples=10) == 10


def test_a_statistic_that_is_its_linear_part_needs_no_more_than_ten():
    assert count(X, ob.mean) == 10
    assert count((X, X[:200]), ob.difference(ob.mean)) == 10
    assert count(X + 1e4, ob.function_of_means(lambda x: x, lambda m: 2 * m + 1)) == 10
    # With groups of unequal sizes the mean is a ratio.
    assert count(X, ob.mean, groups=np.arange(500) // 3) == 2000


@pytest.mark.parametrize("estimator", ["paper", "cheap"])
def test_only_the_default_estimator_takes_them(estimator):
    assert count(X, ob.std, estimator=estimator) == 10


def test_who_says_a_number_gets_it():
    assert count(X, ob.std, n_resamples=12) == 12
    assert count(X, ob.std, n_resamples=12, tol=0.5) == 12


def test_a_tolerance_starts_from_the_free_ones_within_its_limit():
    assert count(X, ob.std, tol=0.9) == 1000
    assert count(X, ob.std, tol=0.9, max_resamples=50) == 50


def test_they_are_the_first_ones_and_more():
    free, ten = ob.bootstrap(X, ob.std, rng=0), ob.bootstrap(X, ob.std, n_resamples=10, rng=0)
    np.testing.assert_array_equal(free.bootstrap_distribution[:10], ten.bootstrap_distribution)
    same = ob.bootstrap(X, ob.std, n_resamples=2000, rng=0)
    assert free.to_dict() == same.to_dict()
