"""What the user bound stays bound, and the estimate is the value of the plain call."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from scipy import stats

import orthoboot as ob
from orthoboot import errors

X = np.random.default_rng(1).gamma(2, size=200)
WEIGHTS = np.where(X > 2, 10.0, 1.0)


def weighted_mean(x, weights=WEIGHTS):
    return np.average(x, weights=weights)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize(
    "statistic",
    [
        partial(np.average, weights=WEIGHTS),
        partial(stats.gmean, weights=WEIGHTS),
        weighted_mean,
        lambda x, weights=WEIGHTS: float(weights @ x / weights.sum()),
        partial(np.max, axis=None),
        partial(np.mean, axis=0),
        partial(np.percentile, q=90),
        partial(np.quantile, q=0.9, method="hazen"),
        partial(stats.trim_mean, proportiontocut=0.1),
        partial(stats.gmean, axis=None),
        stats.iqr,
        stats.hmean,
        np.ptp,
    ],
    ids=lambda statistic: str(getattr(statistic, "keywords", getattr(statistic, "__name__", "")))[:30],
)
def test_the_estimate_is_the_plain_call(statistic):
    result = ob.bootstrap(X, statistic, n_resamples=20, estimator="standard", rng=0)
    assert result.estimate == pytest.approx(statistic(X), rel=1e-12)
    assert result.n_failed == 0


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize("function", [np.max, np.mean, np.var])
def test_an_axis_that_is_bound_stays_bound_on_a_table(function):
    table, statistic = X.reshape(50, 4), partial(function, axis=None)
    result = ob.bootstrap(table, statistic, n_resamples=20, estimator="standard", rng=0)
    assert result.estimate == pytest.approx(statistic(table), rel=1e-12)
    drawn = [result.run.resamples([number]).indices(0)[0] for number in range(20)]
    np.testing.assert_allclose(result.bootstrap_distribution, [statistic(table[rows]) for rows in drawn], rtol=1e-12)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.LargeBiasWarning")
def test_bound_values_of_the_rows_are_told():
    with pytest.warns(errors.RowOrderWarning, match="`weights`, which it reads, has one value per row.*paired=True"):
        ob.bootstrap(X, weighted_mean, n_resamples=20, estimator="standard", rng=0)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize("extra", [[[1], [2, 3]], object(), "text", None])
def test_whatever_is_bound_is_looked_at_without_harm(extra):
    def mean(x, *, extra):
        return x.mean()

    assert ob.bootstrap(X, partial(mean, extra=extra), estimator="standard", n_resamples=5, rng=0).n_resamples == 5


def test_values_of_the_rows_that_a_function_closes_over_are_told():
    noise = np.random.default_rng(0).normal(1, 0.01, size=200)
    with pytest.warns(errors.RowOrderWarning, match="`noise`, which it reads, has one value per row"):
        ob.bootstrap(X, lambda x: float((x * noise[: len(x)]).mean()), estimator="standard", n_resamples=20, rng=0)


def test_the_advice_for_bound_values_works():
    result = ob.bootstrap((X, WEIGHTS), lambda x, w: np.average(x, weights=w), paired=True, rng=0)
    assert result.estimate == pytest.approx(weighted_mean(X))
    assert result.warnings == ()


def test_weights_that_change_the_value_on_the_data_are_refused():
    def spread(x, weights=None):
        if weights is None:
            return x.std(ddof=1)
        return np.sqrt(np.cov(x, aweights=weights, ddof=0))

    message = r"must have the same value with `weights` of one as without; got 1\.\d+ and 1\.\d+\. Count each row"
    with pytest.raises(errors.StatisticError, match=message):
        ob.bootstrap(X, spread, rng=0)


def test_a_random_function_is_not_refused_for_being_random():
    generator = np.random.default_rng(0)

    def noisy(x, weights=None):
        return np.average(x, weights=weights) + generator.normal()

    assert ob.bootstrap(X, noisy, estimator="standard", n_resamples=10, rng=0).n_resamples == 10


def test_an_axis_that_is_not_used_is_refused_only_if_asked_for():
    def middle(x, axis=-1):
        return float(np.median(x))

    result = ob.bootstrap(X, middle, estimator="standard", n_resamples=50, rng=0)
    assert result.n_failed == 0
    assert result.standard_error > 0
    with pytest.raises(errors.StatisticError, match="Pass `vectorized=False`"):
        ob.bootstrap(X, middle, vectorized=True, rng=0)


def test_an_axis_without_default_that_takes_one_sample():
    def total(x, axis):
        return sum(float(value) for value in x) / x.shape[axis]

    result = ob.bootstrap(X, total, estimator="standard", n_resamples=50, rng=0)
    assert result.estimate == pytest.approx(X.mean())
    with pytest.raises(errors.StatisticError, match="with two it raised TypeError"):
        ob.bootstrap(X, total, vectorized=True, rng=0)


def test_a_batch_that_is_mixed_up_is_not_vectorised():
    def mixed(x, axis=-1):
        return x.mean(axis=axis) * (1.0 if x.ndim == 1 else x.shape[0] / 2 + np.arange(x.shape[0]))

    result = ob.bootstrap(X, mixed, estimator="standard", n_resamples=50, rng=0)
    assert result.standard_error == pytest.approx(X.std() / np.sqrt(200), rel=0.4)
    with pytest.raises(errors.StatisticError, match="alone and .* beside another"):
        ob.bootstrap(X, mixed, vectorized=True, rng=0)


def test_optional_weights_that_raise_leave_a_function_of_rows():
    def whole(x, weights=None):
        if weights is not None:
            raise NotImplementedError
        return x.mean()

    result = ob.bootstrap(X, whole, rng=0)
    assert result.influence_source.startswith("jackknife")


def test_a_jax_function_with_optional_weights():
    jnp = pytest.importorskip("jax.numpy")

    def wrong(x, weights=None):
        return jnp.mean(x) if weights is None else 2 * jnp.sum(weights * x) / jnp.sum(weights)

    with pytest.raises(errors.StatisticError, match="must have the same value with `weights` of one as without"):
        ob.bootstrap(X, wrong, rng=0)


@pytest.mark.parametrize(
    "statistic",
    [
        lambda x, axis=-1: (((x - x.mean(axis=axis, keepdims=True)) / x.std()) ** 3).mean(axis=axis),
        lambda x, axis=-1: x.std(axis=axis) / x.mean(),
        lambda x, axis=-1: (x > np.median(x)).mean(axis=axis) + x.mean(axis=axis),
    ],
    ids=["skewness", "variation", "share"],
)
def test_a_batch_is_not_mixed_where_a_reduction_forgets_its_axis(statistic):
    """The same sample twice has the same mean as once: only different resamples show it."""
    options = {"estimator": "standard", "n_resamples": 100, "rng": 0}
    left, one_by_one = (ob.bootstrap(X, statistic, vectorized=v, **options) for v in (None, False))
    np.testing.assert_array_equal(left.bootstrap_distribution, one_by_one.bootstrap_distribution)
    with pytest.raises(errors.StatisticError, match="alone and .* beside another. Use `axis` in every reduction"):
        ob.bootstrap(X, statistic, vectorized=True, **options)


def test_a_batch_of_weights_is_not_mixed():
    def mixed(x, weights):
        return (weights * x).sum(axis=-1) / weights.sum()

    with pytest.raises(errors.StatisticError, match="beside another"):
        ob.bootstrap(X, mixed, vectorized=True, rng=0)


def test_a_value_that_is_zero_but_for_rounding_is_the_same_with_and_without_weights():
    """Judged by its own size it would be another one: 1e-17 is not 2e-17."""
    rows = np.column_stack([np.ones(200), X - X.mean(), np.sin(X) - np.sin(X).mean()])

    def coefficients(rows, weights=None):
        design, response = rows[:, :2], rows[:, 2]
        if weights is None:
            return np.linalg.lstsq(design, response)[0]
        return np.linalg.solve(design.T @ (weights[:, None] * design), design.T @ (weights * response))

    options = {"estimator": "paper", "rng": 0}
    result = ob.bootstrap(rows, coefficients, **options)
    assert abs(result.estimate[0]) < 1e-15
    reference = ob.bootstrap((rows[:, :2], rows[:, 2]), ob.linear_regression, paired=True, **options)
    np.testing.assert_allclose(result.standard_error, reference.standard_error, rtol=1e-4)


def test_a_batch_of_values_that_are_zero_but_for_rounding_is_a_batch():
    centred = X - X.mean()

    def mean(x, axis=-1):  # summed in one order for one sample, in another for several
        return (
            x.sum(axis=axis) / x.shape[axis] if x.ndim == 1 else x[..., ::-1].cumsum(axis=axis)[..., -1] / x.shape[-1]
        )

    with warnings.catch_warnings():
        warnings.simplefilter("error", errors.RowOrderWarning)
        result = ob.bootstrap(centred, mean, vectorized=True, estimator="standard", n_resamples=200, rng=0)
    assert result.standard_error == pytest.approx(X.std() / np.sqrt(200), rel=0.2)


def test_a_mistake_in_the_weighted_branch_is_no_refusal():
    def misspelt(x, weights=None):
        return x.mean() if weights is None else np.averge(x, weights=weights)

    with pytest.raises(errors.StatisticError, match="AttributeError: module 'numpy' has no attribute 'averge'"):
        ob.bootstrap(X, misspelt, rng=0)


def test_the_source_says_why_weights_are_not_used():
    result = ob.bootstrap(X, partial(np.percentile, q=90), n_resamples=10, rng=0)
    assert "since its `weights` do not work: Only method 'inverted_cdf' supports weights" in result.influence_source


def test_rounding_of_data_far_from_zero_is_no_other_value():
    def variance(x, weights=None):
        if weights is None:
            return x.var()
        return np.average((x - np.average(x, weights=weights)) ** 2, weights=weights)

    far = X[:26] + 3e13  # the plain call and that with weights differ by 3e-5
    result = ob.bootstrap(far, variance, estimator="standard", n_resamples=100, rng=0)
    assert result.estimate == pytest.approx(X[:26].var(), rel=0.05)
