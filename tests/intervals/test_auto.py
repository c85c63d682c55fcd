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


def test_a_correlation_of_many_rows_has_its_interval_on_fishers_z():
    pairs = np.random.default_rng(1).multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], size=300)
    result = ob.bootstrap(pairs, ob.correlation, rng=0)
    assert result.interval_method == "normal"
    assert "on Fisher's z" in str(result)
    asked = ob.bootstrap(pairs, ob.correlation, method="normal", transform="fisher", rng=0)
    np.testing.assert_allclose(result.confidence_interval, asked.confidence_interval, rtol=1e-12)
    slope = 1 - result.estimate**2
    expected = np.tanh(np.arctanh(result.estimate) + 1.959964 * np.array([-1, 1]) * result.standard_error / slope)
    np.testing.assert_allclose(result.confidence_interval, expected, rtol=1e-6)
    assert chosen(pairs[:299], ob.correlation) == "bca"
    assert chosen(pairs, ob.correlation, estimator="standard") == "bca"
    assert chosen(pairs, ob.correlation, groups=np.arange(300) // 2) == "bca"
    assert chosen(pairs, ob.correlation, block_length=5) == "percentile"


@pytest.mark.parametrize("outlier", [30.0, 100.0, 1e6])
@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_a_correlation_with_an_outlier_keeps_bca(outlier):
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    pairs = np.column_stack([x, 0.5 * x + rng.normal(size=300)])
    pairs[-1] += outlier
    result = ob.bootstrap(pairs, ob.correlation, rng=0)
    assert result.interval_method == "bca"
    assert result.pvalue(0.0) < 0.05
    assert result.confidence_interval.low > 0


def test_a_method_that_is_asked_for_has_no_reason():
    result = ob.bootstrap(X, ob.variance, method="normal", rng=0)
    assert (result.interval_method, result.interval_reason) == ("normal", "")
    assert "since" not in str(result)


@pytest.mark.parametrize("statistic", [ob.median, ob.quantile(0.9)])
def test_kinks_have_bca_of_their_replicates_alone(statistic):
    result = ob.bootstrap(X, statistic, rng=0)
    assert result.interval_method == "bca"
    plain = result.with_estimator("standard").interval(method="bca")
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


def test_several_outputs_have_abc_where_their_evaluations_cost_next_to_nothing():
    """Three coefficients take 24, more than the replicates: of 150 rows they are nothing, of 20,000 they are not."""
    few = ob.bootstrap((TABLE, LABELS), ob.logistic_regression, paired=True, n_resamples=10, rng=0)
    assert few.interval_method == "abc"
    rng = np.random.default_rng(0)
    table = rng.standard_normal((20_000, 3))
    labels = (table[:, 0] + rng.logistic(size=20_000) > 2.5).astype(float)
    many = ob.bootstrap((table, labels), ob.logistic_regression, paired=True, n_resamples=10, rng=0)
    assert many.interval_method in ("bca", "normal")


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


def test_large_data_keep_the_law_of_their_linear_part():
    """Features of many rows are not held, but ten replicates have no tails of their own."""
    x = np.random.default_rng(5).exponential(size=200_000)
    result = ob.bootstrap(x, ob.mean, rng=0)
    for method in ("percentile", "bca"):
        low, high = result.interval(method=method)
        assert (high - low) / result.standard_error == pytest.approx(3.92, abs=0.02)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_the_order_of_the_outputs_does_not_matter():
    table = np.random.default_rng(3).normal(size=(40, 12))
    table[:, :2] = np.exp(1.5 * table[:, :2])
    order = [2, 3, 4, 5, 6, 7, 8, 0, 1, 9, 10, 11]
    one, other = (ob.bootstrap(data, ob.kurtosis, rng=0) for data in (table, table[:, order]))
    assert one.interval_method == other.interval_method
    np.testing.assert_allclose(
        np.array(one.confidence_interval)[:, order], np.array(other.confidence_interval), rtol=1e-9
    )
    alone = ob.bootstrap(table[:, 5], ob.kurtosis, rng=0).interval(method=one.interval_method)
    np.testing.assert_allclose(np.array(one.confidence_interval)[:, 5], alone, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_a_limit_that_is_very_near_sends_no_end_to_infinity():
    rng = np.random.default_rng(5)
    truth, found = np.append(rng.normal(size=25), 1e3), np.append(rng.normal(size=25), 1e3)
    for seed in range(5):
        result = ob.bootstrap((truth, found), ob.r2, paired=True, n_resamples=10, rng=seed)
        assert np.isfinite(result.confidence_interval).all()
        assert result.confidence_interval.high <= 1
        assert np.isfinite(result.simulation_error).all()


@pytest.mark.filterwarnings("ignore::orthoboot.errors.DominantRowWarning")
def test_a_reason_says_what_was_not_to_be_trusted():
    pairs = np.zeros((40, 2))
    pairs[0] = [1.0, 0.0]
    result = ob.bootstrap(pairs, ob.accuracy, rng=0)
    assert result.interval_reason == '"abc", the first choice, has no end here that can be trusted'


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_where_nothing_varies_that_is_the_reason():
    assert ob.bootstrap(np.ones(20), ob.mean, rng=0).interval_reason == "nothing varies"


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_the_error_of_an_end_at_equal_replicates_is_that_of_its_rank():
    """Seeds give one of a few values, and leaving out groups of replicates mostly moves none."""
    x = np.random.default_rng(2).exponential(size=30)
    results = [ob.bootstrap(x, ob.median, rng=seed) for seed in range(30)]
    lows = [result.confidence_interval.low for result in results]
    assert len(set(lows)) > 1
    reported = np.mean([result.simulation_error.low for result in results])
    assert 0.5 * np.std(lows) < reported < 0.2 * results[0].standard_error


@pytest.mark.filterwarnings("ignore::orthoboot.errors.DominantRowWarning")
def test_a_row_that_carries_the_variance_leaves_percentiles():
    """BCa would ask for a tail that two thousand replicates do not show."""
    x = np.append(np.random.default_rng(0).exponential(size=29), 15.0)
    result = ob.bootstrap(x, ob.variance, rng=0)
    assert result.interval_method == "percentile"
    assert result.interval_reason == '"bca", the first choice, has no end here that can be trusted'


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_a_row_of_the_smaller_sample_may_carry_the_variance():
    rng = np.random.default_rng(0)
    samples = np.append(rng.exponential(size=19), 40.0), rng.exponential(size=1500)
    result = ob.bootstrap(samples, ob.difference(ob.variance), rng=0)
    assert result.interval(method="percentile") == result.with_estimator("standard").interval(method="percentile")


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize("far", [[29.0, 30.0], [30.0]])
def test_rows_that_carry_the_variance_leave_the_replicates_their_own_quantiles(far):
    """The smooth law of the linear part has no steps, and missed the upper end by up to five reported errors."""
    x = np.append(np.random.default_rng(0).gamma(4.0, size=200), far)
    result = ob.bootstrap(x, ob.std, rng=0)
    for method in ("percentile", "bca"):
        assert result.interval(method=method) == result.with_estimator("standard").interval(method=method)
    few = ob.bootstrap(x[:200], ob.std, rng=0)
    assert few.interval(method="percentile") != few.with_estimator("standard").interval(method="percentile")


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize("statistic", [ob.std, ob.variance, ob.entropy], ids=lambda each: each.name)
def test_ends_of_zeros_and_ones_are_possible_values(statistic):
    """The smooth law of a linear part that moves in steps goes beyond the last of them."""
    x = np.repeat([0.0, 1.0], [19, 13])
    result = ob.bootstrap(x, statistic, rng=0)
    values = result.replicates.values
    for end in result.confidence_interval:
        assert np.abs(values - end).min() < 1e-12


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_a_linear_part_of_two_clusters_leaves_the_replicates_their_quantiles():
    """The intercept of a logistic regression has nearly one influence for the zeros and one for the ones.

    With the quantiles of the smooth law the lower end went away from that of the replicates as these became more: here
    it was -1.44 in place of -1.29.
    """
    rows = np.arange(32)
    x, y = np.where(rows % 2, 1.0, -1.0) * (1 + rows / 64), np.where(rows < 19, 0.0, 1.0)
    statistic = ob.logistic_regression.replace(intercept=True)
    run = ob.bootstrap(((x - x.mean())[:, np.newaxis], y), statistic, paired=True, n_resamples=5000, rng=0)
    low, plain = (each.interval(method="percentile").low[0] for each in (run, run.with_estimator("standard")))
    assert low == plain
