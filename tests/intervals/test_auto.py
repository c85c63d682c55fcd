"""The interval that a run supports best."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import orthoboot as ob

RNG = np.random.default_rng(0)
X = RNG.exponential(size=80)
TABLE = RNG.standard_normal((150, 3))
LABELS = (TABLE[:, 0] + RNG.logistic(size=150) > 0).astype(float)


def variation(x, weights):
    mean = np.average(x, weights=weights)
    return np.sqrt(np.average((x - mean) ** 2, weights=weights)) / mean


def chosen(data, statistic, **options):
    return ob.bootstrap(data, statistic, rng=0, **options).interval_method


def test_many_replicates_of_a_smooth_statistic_have_bca():
    result = ob.bootstrap(X, ob.variance, rng=0)
    assert (result.method, result.interval_method) == ("auto", "bca")
    assert result.interval_reason == "2,000 replicates show the tails"
    assert result.confidence_interval == result.interval(method="bca")
    assert 'Interval: "bca", since 2,000 replicates show the tails.' in str(result)
    assert "95% interval (bca)" in str(result)
    assert result.to_dict()["method"] == "bca"


def test_a_method_that_is_asked_for_has_no_reason():
    result = ob.bootstrap(X, ob.variance, method="normal", rng=0)
    assert (result.interval_method, result.interval_reason) == ("normal", "")
    assert "since" not in str(result)


@pytest.mark.parametrize("statistic", [ob.median, ob.quantile(0.9)])
def test_kinks_have_the_percentiles_of_their_replicates(statistic):
    result = ob.bootstrap(X, statistic, rng=0)
    assert result.interval_method == "percentile"
    plain = result.with_estimator("standard").interval(method="percentile")
    assert result.confidence_interval == plain


def test_dependent_rows_have_percentiles():
    assert chosen(X, ob.variance, block_length=5) == "percentile"


def test_a_surrogate_has_the_tails():
    result = ob.bootstrap((TABLE, LABELS), ob.from_sklearn(LogisticRegression(), "coef_"), paired=True, rng=0)
    assert result.n_resamples == 10
    assert result.control == "surrogate"
    assert result.interval_method == "bca"


def test_a_smooth_statistic_that_follows_its_linear_part_has_abc():
    x = np.random.default_rng(1).gamma(4.0, size=20_000)
    assert chosen(x, ob.skewness) == "abc"


def test_a_function_of_the_user_has_the_tails_of_its_linear_part_and_no_more_evaluations():
    x = np.random.default_rng(1).gamma(4.0, size=400)
    assert chosen(x, lambda x: x.std() / x.mean()) == "bca"
    calls = []

    def counted(x, weights):
        calls.append(1)
        return variation(x, weights)

    assert chosen(x, counted) == "bca"
    n_calls = len(calls)
    chosen(x, counted, method="normal")
    assert len(calls) == 2 * n_calls


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_few_replicates_far_from_the_linear_part_have_the_normal_interval_within_the_range():
    pairs = np.exp(1.5 * np.random.default_rng(3).standard_normal((25, 2)))
    result = ob.bootstrap(pairs, ob.correlation, n_resamples=10, rng=1)
    assert result.r_squared < 0.9
    assert result.interval_method == "normal"
    low, high = result.confidence_interval
    assert -1 < low < high < 1


def test_where_corrections_do_not_show_the_normal_interval_is_enough():
    x = np.random.default_rng(1).standard_normal(500_000)
    result = ob.bootstrap(x, ob.mean, rng=0)
    assert result.interval_method == "normal"
    assert result.interval_reason == "corrections for bias and skewness would not show"
    assert result.interval(method="abc").low == pytest.approx(
        result.confidence_interval.low, abs=0.02 * result.standard_error
    )


@pytest.mark.parametrize(
    ("estimator", "options", "method"),
    [
        ("paper", {}, "normal"),
        ("cheap", {}, "normal"),
        ("jackknife", {}, "abc"),
        ("standard", {}, "bca"),
        ("standard", {"n_resamples": 50}, "normal"),
        ("standard", {"n_resamples": 300}, "percentile"),
    ],
)
def test_other_estimators_have_their_own(estimator, options, method):
    assert chosen(X, ob.variance, estimator=estimator, **options) == method


def test_without_influence_values_the_standard_bootstrap_has_percentiles():
    assert chosen(X, lambda x: x.std() / x.mean(), estimator="standard") == "percentile"


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_where_abc_has_no_answer_the_next_one_is_taken():
    """A skewness with one outlier turns back on the way to its end."""
    x = np.append(np.random.default_rng(0).standard_normal(40), 30.0)
    assert np.isnan(ob.bootstrap(x, ob.skewness, estimator="jackknife", method="abc").confidence_interval).any()
    result = ob.bootstrap(x, ob.skewness, estimator="jackknife")
    assert result.interval_method == "normal"
    assert np.isfinite(result.confidence_interval).all()


def test_the_paper_keeps_its_numbers():
    """With its own interval, and with the normal one of the default estimator."""
    result = ob.bootstrap(X, ob.variance, estimator="paper", rng=0)
    half = 1.959963984540054 * result.standard_error
    assert result.confidence_interval == pytest.approx((result.estimate - half, result.estimate + half), rel=1e-12)


def test_another_estimator_chooses_anew():
    result = ob.bootstrap(X, ob.variance, rng=0)
    assert result.with_estimator("paper").interval_method == "normal"
    assert result.with_estimator("orthogonal", slice(10)).interval_method in ("abc", "bca", "normal")
    assert ob.bootstrap(X, ob.variance, n_resamples=10, rng=0).extend(1990).interval_method == "bca"


@pytest.mark.parametrize("n_resamples", [1000, 20_000])
@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_percentiles_of_kinks_are_those_of_the_replicates_however_many(n_resamples):
    samples = np.random.default_rng(0).exponential(size=(2, 40))
    result = ob.bootstrap(tuple(samples), ob.difference(ob.median), n_resamples=n_resamples, rng=0)
    for method in ("percentile", "bca"):
        assert result.interval(method=method) == result.with_estimator("standard").interval(method=method)
