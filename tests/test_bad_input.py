"""Whatever is wrong is said by its name, before any replicate where that is possible."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import orthoboot as ob
from orthoboot import errors

X = np.random.default_rng(0).gamma(2.0, size=40)


class Counting:
    """A statistic that counts its calls."""

    def __init__(self, function=np.mean):
        self.function, self.calls = function, 0

    def __call__(self, x):
        self.calls += 1
        return float(self.function(x))


def refused(kind, message, *args, **options):
    with pytest.raises(kind, match=re.escape(message)):
        ob.bootstrap(*args, **options)


# Arguments


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence_level": 95}, "`confidence_level` must lie in (0, 1); got 95. For 95% use 0.95."),
        ({"confidence_level": 0}, "`confidence_level` must lie in (0, 1); got 0."),
        ({"confidence_level": 1.0}, "`confidence_level` must lie in (0, 1); got 1.0."),
        ({"confidence_level": True}, "`confidence_level` must lie in (0, 1); got True."),
        ({"confidence_level": "high"}, "`confidence_level` must lie in (0, 1); got 'high'."),
        ({"confidence_level": float("nan")}, "`confidence_level` must lie in (0, 1); got nan."),
        ({"n_resamples": 0}, "`n_resamples` must be a whole number of at least 2 for estimator='orthogonal'; got 0."),
        ({"n_resamples": 1}, "`n_resamples` must be a whole number of at least 2 for estimator='orthogonal'; got 1."),
        ({"n_resamples": -3}, "`n_resamples` must be a whole number of at least 2 for estimator='orthogonal'; got -3."),
        (
            {"n_resamples": 10.0},
            "`n_resamples` must be a whole number of at least 2 for estimator='orthogonal'; got 10.0.",
        ),
        (
            {"n_resamples": True},
            "`n_resamples` must be a whole number of at least 2 for estimator='orthogonal'; got True.",
        ),
        (
            {"n_resamples": 0, "estimator": "cheap"},
            "`n_resamples` must be a whole number of at least 1 for estimator='cheap'; got 0.",
        ),
        ({"n_resamples": 1, "estimator": "standard"}, "at least 2 for estimator='standard'; got 1."),
        (
            {"method": "BCA"},
            "`method` must be one of 'auto', 'normal', 't', 'abc', 'percentile', 'basic', 'bca', 'studentized'; got "
            "'BCA'. Did you mean 'bca'?",
        ),
        ({"method": "exact"}, "`method` must be one of"),
        ({"estimator": "ortogonal"}, "got 'ortogonal'. Did you mean 'orthogonal'?"),
        ({"alternative": "lower"}, "`alternative` must be one of 'two-sided', 'less', 'greater'; got 'lower'."),
        ({"tol": 0}, "`tol` must lie in (0, 1)"),
        ({"tol": 5}, "For one percent use 0.01."),
        (
            {"tol": 0.01, "estimator": "jackknife"},
            "`tol` has no meaning for estimator='jackknife', which simulates nothing; got 0.01.",
        ),
        (
            {"tol": 0.01, "n_resamples": 50, "max_resamples": 20},
            "`max_resamples` must be at least `n_resamples`; got 20 and 50.",
        ),
        (
            {"tol": 0.1, "max_resamples": 1},
            "needs at least 2 replicates with estimator='orthogonal'; got max_resamples=1.",
        ),
        ({"block_kind": "moving"}, "`block_kind` needs `block_length`"),
        ({"progress": np.array([1, 2])}, "`progress` must be True, False or None"),
        ({"max_resamples": 0}, "`max_resamples` must be a whole number of at least 1; got 0."),
        ({"batch": 0}, "`batch` must be a whole number of at least 1; got 0."),
        ({"n_jobs": 0}, "`n_jobs` must be a whole number other than 0, -1 for one job per core, or None; got 0."),
        ({"progress": "yes"}, "`progress` must be True, False or None; got 'yes'."),
        ({"rng": -1}, "`rng` must be None, a whole number from 0"),
        ({"rng": "seed"}, "`rng` must be None, a whole number from 0"),
        ({"strata": [1] * 39}, "`strata` must have one label per row; got 39 labels for 40 rows."),
        ({"groups": [1] * 41}, "`groups` must have one label per row; got 41 labels for 40 rows."),
        ({"groups": [1] * 40}, "`groups` must"),
        ({"strata": list(range(40))}, "`strata` must"),
        ({"block_length": 250}, "`block_length` must be a whole number from 1 to n - 1 = 39; got 250."),
        ({"block_length": 5, "block_kind": "round"}, "`block_kind` must be one of"),
        ({"block_length": 5, "block_kind": ["moving"]}, "must be one of 'moving', 'circular', 'stationary'; got ["),
        ({"vectorized": np.ones(2)}, "`vectorized` must be True, False or None; got array([1., 1.])."),
        (
            {"strata": [1] * 40, "groups": [1] * 40},
            "At most one of `strata`, `groups` and `block_length` can be given; got `strata` and `groups`.",
        ),
        ({"influence": "magic"}, "`influence` must be one of 'auto', "),
        ({"influence": None}, "`influence` must not be None"),
    ],
)
def test_an_argument_that_breaks_its_rule(options, message):
    statistic = Counting()
    refused(errors.ArgumentError, message, X, statistic, **options)
    assert statistic.calls <= 1, "something was simulated before the argument was checked"


@pytest.mark.parametrize("statistic", [None, 3, "mean", [np.mean]])
def test_a_statistic_that_is_no_function(statistic):
    refused(
        errors.ArgumentError, "`statistic` must be a function of the samples or an entry of the catalogue", X, statistic
    )


# Data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            np.array([1.0, np.nan, 3.0, np.nan]),
            "`data` must be finite; got 2 NaN value(s), the first in row 1 (counted from 0).",
        ),
        (np.array([1.0, 2.0, np.inf]), "got 1 infinite value(s), the first in row 2 (counted from 0)."),
        (([1.0, 2.0], [3.0, np.nan]), "`data[1]` must be finite; got 1 NaN value(s), the first in row 1"),
        ([], "`data` must"),
        (np.empty((0, 3)), "`data` must have at least two rows, since fewer cannot vary under resampling; got 0."),
        ([1.0], "`data` must have at least two rows, since fewer cannot vary under resampling; got 1."),
        (np.array(["a", "b", "c"]), "`data` must hold real numbers; got dtype"),
        (np.array([1, "b", None], dtype=object), "`data` must hold real numbers; got dtype object."),
        (([[1, 2], [3]],), "`data` must be rectangular; got rows of different lengths."),
        (5.0, "a series or a data frame; got float. One sample needs at least two rows."),
        ({"a": [1, 2]}, "got dict. For named columns pass a data frame; for several samples a tuple of arrays."),
        ("text", "got str"),
        (None, "`data` must"),
    ],
)
def test_data_that_cannot_be_used(data, message):
    refused(errors.DataError, message, data, ob.mean)


def test_paired_samples_of_unequal_length():
    message = (
        "`data` must have the same number of rows in every sample when `paired=True`; got 40 and 39. For independent "
        "samples leave `paired=False`."
    )
    refused(errors.DataError, message, (X, X[1:]), ob.correlation, paired=True)


def test_a_correlation_of_independent_samples_says_how_to_pair_them():
    refused(errors.DataError, "pass `paired=True`", (X, X), ob.correlation)


def test_forgotten_pairing_is_guessed_from_what_goes_wrong():
    y = X + np.random.default_rng(3).standard_normal(40)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ob.bootstrap((X, y), lambda a, b: np.corrcoef(a, b)[0, 1], n_resamples=200, rng=0)
    told = {w.category: str(w.message) for w in caught}
    assert "pass `paired=True`" in told[errors.FallbackWarning]
    assert (
        "standard errors: the bootstrap is unreliable for this statistic, since resamples differ systematically"
        in told[errors.LargeBiasWarning]
    )
    assert "pass `paired=True`" in told[errors.LargeBiasWarning]


def test_a_list_of_rows_is_a_sequence_of_samples():
    rows = np.random.default_rng(0).gamma(2.0, size=(12, 3)).tolist()
    refused(errors.DataError, "If each is a row of one table pass `np.array(data)`.", rows, ob.mean)
    refused(errors.StatisticError, "If each is a row of one table pass `np.array(data)`.", rows, lambda d: d.mean())


def test_replicates_that_the_jackknife_does_not_use_are_kept():
    result = ob.bootstrap(X, ob.variance, estimator="jackknife", n_resamples=10, rng=0)
    assert result.variance == result.jackknife_variance
    assert result.with_estimator("orthogonal").n_resamples == 10


def test_forgotten_pairing_with_weights():
    message = "If the rows of the samples belong together pass `paired=True`."
    refused(errors.StatisticError, message, (X, X), lambda a, b, weights: float(weights @ (a * b)))


def test_a_correlation_with_a_constant_column():
    refused(errors.DataError, "constant", np.column_stack([X, np.ones(40)]), ob.correlation)


@pytest.mark.parametrize("statistic", [ob.mean, ob.variance, ob.std, ob.median, Counting(np.ptp), Counting(np.std)])
@pytest.mark.parametrize("estimator", ["orthogonal", "paper", "standard", "cheap", "jackknife"])
def test_constant_data_have_an_interval_of_width_zero(statistic, estimator):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = ob.bootstrap(np.full(20, 3.0), statistic, estimator=estimator, rng=0)
    assert errors.ConstantDataWarning in {warning.category for warning in caught}
    assert result.standard_error == 0
    assert result.confidence_interval == (result.estimate, result.estimate)
    assert "does not vary" in str(result)


def test_a_function_that_is_flat_at_the_data_is_told_from_constant_data():
    with pytest.warns(errors.ConstantDataWarning, match="only flat here, .* may vary on resamples that are rarer"):
        result = ob.bootstrap(X, lambda x: max(x.mean() - X.max(), 0.0), rng=0)
    assert result.standard_error == 0


@pytest.mark.parametrize("method", ["t", "abc", "percentile", "basic", "bca", "studentized"])
def test_constant_data_with_every_method(method):
    with pytest.warns(errors.ConstantDataWarning):
        result = ob.bootstrap(np.full(20, 3.0), ob.mean, method=method, rng=0)
    assert result.confidence_interval == (3.0, 3.0)


def test_few_rows_are_told():
    with pytest.warns(errors.SmallSampleWarning, match="a sample has only 7 rows"):
        ob.bootstrap(X[:7], ob.mean, rng=0)


def test_few_groups_and_blocks_are_told():
    with pytest.warns(errors.SmallSampleWarning, match="a sample has only 4 groups"):
        ob.bootstrap(X, ob.mean, groups=np.arange(40) % 4, rng=0)
    with pytest.warns(errors.SmallSampleWarning, match="a sample has only 6 blocks"):
        ob.bootstrap(X, ob.mean, block_length=7, rng=0)


# Statistics


def test_a_statistic_that_always_raises_is_found_on_the_data():
    def broken(x):
        raise ZeroDivisionError("no such thing")

    message = "`statistic` must return a value on the data; it raised ZeroDivisionError: no such thing."
    refused(errors.StatisticError, message, X, broken)


def test_a_statistic_that_raises_on_every_resample():
    def unique_only(x):
        if len(np.unique(x)) < len(x):
            raise ValueError("ties")
        return x.mean()

    statistic = Counting(unique_only)
    message = "more than half of the replicates failed"
    with pytest.raises(errors.ReplicationError, match=message) as caught:
        ob.bootstrap(X, statistic, estimator="standard", n_resamples=100, rng=0)
    assert "The first failure was: ValueError: ties" in str(caught.value)
    assert statistic.calls < 60, "it went on after more than half had failed"


@pytest.mark.parametrize("outcome", ["raises", "nan", "infinity"])
def test_a_statistic_that_fails_on_some_resamples(outcome):
    def needs_the_first_row(x):
        if X[0] in x:
            return x.mean()
        if outcome == "raises":
            raise ValueError("where is it?")
        return np.nan if outcome == "nan" else np.inf

    with pytest.warns(errors.FailedReplicatesWarning, match="of 200 replicates failed and were left out") as caught:
        result = ob.bootstrap(X, needs_the_first_row, estimator="standard", n_resamples=200, rng=0)
    assert "where is it?" in str(caught[0].message) if outcome == "raises" else "not finite" in str(caught[0].message)
    # A row is missing from a resample with probability (1 - 1/40)^40 = 0.36: sd 6.8 of 72.
    assert 45 < result.n_failed < 100
    assert result.n_resamples == 200 - result.n_failed
    assert result.bootstrap_distribution.shape == (result.n_resamples,)
    assert len([w for w in caught if w.category is errors.FailedReplicatesWarning]) == 1


def test_a_vectorised_batch_with_one_failure_loses_only_that_one():
    def fragile(x, axis):
        if (x.max(axis=axis) < X.max()).any():
            raise ValueError("the largest row is missing")
        return x.mean(axis=axis)

    with pytest.warns(errors.FailedReplicatesWarning, match="the largest row is missing"):
        result = ob.bootstrap(X, fragile, estimator="standard", n_resamples=100, batch=50, rng=0)
    assert 15 < result.n_failed < 60


def test_a_statistic_that_is_not_finite_on_the_data():
    refused(errors.StatisticError, "`statistic` must be finite on the data; got ", X, lambda x: np.nan)


def test_a_statistic_that_changes_its_shape():
    message = "`statistic` must return the same shape on every resample; got shape"
    refused(errors.StatisticError, message, X, lambda x: np.unique(x), estimator="standard", n_resamples=10)


@pytest.mark.parametrize("value", ["text", None, object(), 1 + 2j, []])
def test_a_statistic_that_returns_no_number(value):
    refused(errors.StatisticError, "`statistic` must return a real number", X, lambda x: value)


# Influence


def test_influence_of_the_wrong_length():
    message = (
        "`influence` must have shape (40,): one value per row of the sample and output of the statistic; got (39,)."
    )
    refused(errors.InfluenceError, message, X, ob.mean, influence=X[1:])


def test_influence_that_is_not_finite():
    refused(
        errors.InfluenceError, "`influence` must be finite; got 1 NaN", X, ob.mean, influence=np.append(X[1:], np.nan)
    )


def test_influence_for_the_wrong_number_of_samples():
    message = "`influence` must be a tuple with one array per sample; got 1 for 2 samples."
    refused(errors.InfluenceError, message, (X, X), ob.difference(ob.mean), influence=X)


def test_influence_that_raises():
    def broken(x):
        raise KeyError("oh")

    refused(errors.InfluenceError, "`influence` raised KeyError on the samples: 'oh'", X, ob.mean, influence=broken)


def test_influence_that_is_not_centred_is_centred_with_a_warning():
    message = r"`influence` must have mean zero over the rows; got mean .* It was centred\."
    with pytest.warns(errors.InfluenceMismatchWarning, match=message):
        result = ob.bootstrap(X, ob.mean, influence=X, rng=0)
    assert result.influence.mean() == pytest.approx(0, abs=1e-14)
    assert result.variance == pytest.approx(X.var() / 40, rel=1e-12)


@pytest.mark.parametrize("statistic", [ob.variance, lambda x: x.var()], ids=["weights", "rows"])
@pytest.mark.parametrize("scale", [3.0, 0.2, -1.0])
def test_influence_of_the_wrong_size_is_found_by_the_probe(statistic, scale):
    wrong = scale * ((X - X.mean()) ** 2 - X.var())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ob.bootstrap(X, statistic, influence=wrong, rng=0)
    assert any(
        w.category is errors.InfluenceMismatchWarning and "disagrees with the statistic" in str(w.message)
        for w in caught
    )


@pytest.mark.parametrize("statistic", [ob.variance, lambda x: x.var()], ids=["weights", "rows"])
def test_a_right_influence_raises_no_warning(statistic):
    ob.bootstrap(X, statistic, influence=lambda x: (x - x.mean()) ** 2 - x.var(), rng=0)


def test_finite_differences_need_weights():
    message = 'influence="finite-difference" needs a statistic with a `weights` parameter'
    refused(errors.InfluenceError, message, X, Counting(), influence="finite-difference")


def test_a_plain_function_of_many_rows_falls_back_to_the_standard_bootstrap():
    x = np.random.default_rng(0).standard_normal(1001)
    message = "jackknife would take 1,001 evaluations, more than the 1,000 replicates it replaces"
    with pytest.warns(errors.FallbackWarning, match=message):
        result = ob.bootstrap(x, lambda x: x.mean(), n_resamples=20, rng=0)
    assert result.estimator == "standard"
    assert np.isnan(result.r_squared)
    assert "1,001 rows" in result.influence_source


def test_the_jackknife_estimator_cannot_fall_back():
    x = np.random.default_rng(0).standard_normal(2001)
    message = (
        "estimator='jackknife' needs an influence function, and there is none (a plain function of 2,001 rows, and "
        "jackknife is automatic only up to 2,000)."
    )
    refused(errors.InfluenceError, message, x, lambda x: x.mean(), estimator="jackknife")


def test_an_engine_that_is_asked_for_and_fails_says_why():
    def whole(x):
        if len(x) < 40:
            raise ZeroDivisionError("short")
        return x.mean()

    message = 'influence="jackknife" failed, since the statistic raised ZeroDivisionError: short'
    refused(errors.InfluenceError, message, X, whole, influence="jackknife")


def test_a_closed_form_that_is_not_finite_is_no_reason_to_refuse_the_standard_bootstrap():
    broken = ob.function_of_means(lambda x: x, lambda m: m[0], gradient=lambda m: [np.inf])
    assert ob.bootstrap(X, broken, estimator="standard", n_resamples=50, rng=0).influence is None
    with pytest.warns(errors.FallbackWarning, match="the closed form of `function_of_means` is not finite"):
        assert ob.bootstrap(X, broken, n_resamples=50, rng=0).estimator == "standard"


def test_three_samples_off_centre_are_one_warning():
    samples = (X, X + 1, X + 2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ob.bootstrap(samples, lambda a, b, c: a.mean() + b.mean() + c.mean(), influence=samples, rng=0)
    assert [w.category for w in caught] == [errors.InfluenceMismatchWarning]


# Intervals


@pytest.mark.parametrize("method", ["percentile", "basic", "bca"])
def test_the_percentile_family_refuses_few_standard_replicates(method):
    statistic = Counting()
    message = f"method='{method}' needs at least 200 replicates with estimator='standard'; got n_resamples=199."
    refused(
        errors.ArgumentError,
        message,
        X,
        statistic,
        method=method,
        estimator="standard",
        n_resamples=199,
        influence=X - X.mean(),
    )
    assert statistic.calls <= 3, "it simulated before it refused"


def test_the_percentile_family_refuses_fewer_than_five_replicates():
    message = "method='percentile' needs at least 5 replicates with estimator='orthogonal'; got n_resamples=4."
    refused(errors.ArgumentError, message, X, ob.mean, method="percentile", n_resamples=4)


def test_abc_needs_fractional_weights():
    refused(errors.ArgumentError, "Give it a `weights` parameter", X, Counting(), method="abc")


@pytest.mark.parametrize("method", ["abc", "bca", "studentized"])
def test_second_order_methods_are_refused_for_blocks(method):
    refused(
        errors.ArgumentError, "is not valid for blocks of dependent rows", X, ob.mean, method=method, block_length=4
    )


def test_control_quantiles_are_refused_for_stationary_blocks():
    message = 'Use block_kind="circular", or estimator="standard".'
    refused(errors.ArgumentError, message, X, ob.mean, method="percentile", block_length=4, block_kind="stationary")


def test_checks_that_need_no_influence_come_before_an_expensive_engine():
    for options in (
        {"method": "abc"},
        {"method": "percentile", "n_resamples": 3},
        {"method": "bca", "estimator": "standard", "n_resamples": 50},
        {"method": "bca", "block_length": 4},
        {"method": "percentile", "block_length": 4, "block_kind": "stationary"},
    ):
        statistic = Counting()
        with pytest.raises(errors.ArgumentError):
            ob.bootstrap(X, statistic, **options)
        assert statistic.calls == 1


def test_failures_leave_an_interval_from_what_succeeded():
    calls = []

    def fails_once(x):
        calls.append(1)
        if len(calls) == 7:
            raise ValueError("once")
        return x.mean()

    with pytest.warns(errors.FailedReplicatesWarning):
        result = ob.bootstrap(X, fails_once, estimator="standard", method="percentile", n_resamples=200, rng=0)
    assert result.n_resamples == 199
    assert np.isfinite(result.confidence_interval).all()
    assert "percentile" in str(result)


def test_too_few_left_for_the_interval_is_told_and_not_fatal():
    calls = []

    def fails_twice(x):
        calls.append(1)
        if len(calls) in (5, 6):  # one evaluation on the data and two for the probe come before the replicates
            raise ValueError("twice")
        return x.mean()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = ob.bootstrap(X, fails_twice, method="percentile", n_resamples=5, influence=X - X.mean(), rng=0)
    assert result.n_resamples == 3
    assert [w.category for w in caught if w.category is errors.IntervalWarning]
    assert np.isnan(result.confidence_interval.low)
    assert np.isfinite(result.standard_error)
    assert "has no interval from the 3 replicates that are left" in str(result)


def test_abc_without_an_answer_says_so():
    """One outlier far from 29 others: the tilted weights are negative and the ends cross or are not numbers."""
    x = np.append(np.random.default_rng(0).standard_normal(29), 30.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = ob.bootstrap(x, ob.skewness, method="abc", rng=2)
    messages = [str(w.message) for w in caught if w.category is errors.IntervalWarning]
    assert len(messages) == 1
    assert messages[0].startswith('method="abc" has no interval for `skewness`')
    assert np.isnan(result.confidence_interval).all()


def test_abc_of_a_statistic_that_refuses_negative_weights():
    def careful(x, weights):
        if (weights < 0).any():
            raise ValueError("a weight is negative")
        return float(weights @ x**3 / weights.sum())

    x = np.append(np.random.default_rng(0).standard_normal(19), 9.0)
    outlier = pytest.warns(errors.DominantRowWarning, match="one row carries 95% of the variance of `careful`")
    with outlier, pytest.warns(errors.IntervalWarning, match="ValueError: a weight is negative"):
        result = ob.bootstrap(x, careful, method="abc", rng=2)
    assert np.isfinite(result.standard_error)


@pytest.mark.parametrize(("estimator", "n_resamples"), [("orthogonal", 2), ("paper", 1), ("paper", 2)])
def test_t_intervals_exist_from_the_first_replicates(estimator, n_resamples):
    with pytest.warns(errors.FewReplicatesWarning):
        result = ob.bootstrap(X, ob.variance, estimator=estimator, n_resamples=n_resamples, method="t", rng=0)
    assert np.isfinite(result.confidence_interval).all()


# Warnings about the answer


def test_a_statistic_that_picks_a_row_is_told_as_one():
    told = pytest.warns(errors.DominantRowWarning, match="one row carries 9.% of the variance of `max`: the statistic")
    with told, pytest.warns(errors.SlopeWarning):
        ob.bootstrap(np.random.default_rng(0).exponential(size=100), np.max, n_resamples=500, rng=0)


def test_a_count_that_is_cut_to_whole_numbers_is_told_as_a_step_function():
    x = np.random.default_rng(0).exponential(size=200)
    with pytest.warns(errors.SlopeWarning, match="0.00 times.*a statistic that rounds, counts or picks rows"):
        ob.bootstrap(x, lambda x, weights: int((weights * (x > 1)).sum()), rng=0)


@pytest.mark.parametrize(("size", "shown"), [(1, "nothing of its variance"), (3, "only 2/3 of their variance")])
def test_a_stratum_of_few_rows_is_told(size, shown):
    with pytest.warns(errors.SmallSampleWarning, match=f"a stratum has only {size} row.*shows {shown}"):
        ob.bootstrap(X, ob.variance, strata=np.arange(len(X)) < size, rng=0)


def test_influence_values_that_are_all_equal_are_the_users_to_mend():
    with pytest.warns(errors.OrthobootWarning) as caught:
        ob.bootstrap(X, ob.variance, influence=np.ones(len(X)), rng=0)
    assert any("the influence values that you gave for `variance` are all equal" in str(w.message) for w in caught)
    assert not any(isinstance(w.message, errors.NonSmoothWarning) for w in caught)


@pytest.mark.parametrize("n_resamples", [2, 3, 4])
def test_fewer_than_five_replicates_are_told(n_resamples):
    with pytest.warns(
        errors.FewReplicatesWarning, match=f"with {n_resamples} replicates the influence function cannot be"
    ):
        ob.bootstrap(X, ob.variance, n_resamples=n_resamples, rng=0)


def test_a_useless_influence_is_told():
    noise = np.random.default_rng(1).standard_normal(40)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = ob.bootstrap(X, ob.mean, influence=noise - noise.mean(), n_resamples=50, rng=0)
    assert errors.WeakInfluenceWarning in {w.category for w in caught}
    assert result.r_squared < 0.5
    # It falls back by itself: within a factor of the standard bootstrap's own error (10% at B = 50), three of them.
    assert result.standard_error == pytest.approx(X.std() / np.sqrt(40), rel=0.35)


def test_a_mis_scaled_influence_is_told_with_its_scale():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ob.bootstrap(X, ob.variance, influence=lambda x: 3 * ((x - x.mean()) ** 2 - x.var()), n_resamples=20, rng=0)
    text = [str(w.message) for w in caught if w.category is errors.SlopeWarning]
    assert len(text) == 1
    assert re.match(r"the replicates of `variance` move 0\.\d\d times as far as its influence function says", text[0])


def test_a_statistic_that_is_not_smooth_is_told():
    with pytest.warns(errors.NonSmoothWarning, match="`median` is not smooth in the data"):
        ob.bootstrap(X, ob.median, n_resamples=20, rng=0)


def test_every_warning_can_be_silenced_by_one_class():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.OrthobootWarning)
        ob.bootstrap(X[:5], ob.median, n_resamples=3, rng=0)


def test_warnings_point_to_the_line_of_the_user():
    with pytest.warns(errors.SmallSampleWarning) as caught:
        ob.bootstrap(X[:7], ob.mean, rng=0)
    assert caught[0].filename == __file__


def test_errors_are_value_errors_or_runtime_errors():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    for kind in kinds:
        assert issubclass(kind, (ValueError, RuntimeError, UserWarning)), kind


def test_equal_replicates_of_tied_data_are_no_certainty():
    ties = np.repeat([0.0, 1.0, 2.0], [12, 5, 3])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = next(
            result
            for result in (ob.bootstrap(ties, ob.median, rng=seed, n_resamples=6) for seed in range(50))
            if np.ptp(result.bootstrap_distribution) == 0
        )
    assert errors.EqualReplicatesWarning in {w.category for w in caught}
    assert np.isnan(result.simulation_error.standard_error)
    assert "worth" not in str(result)


@pytest.mark.parametrize("value", [0.1, 3.7, 1e12, -1e-9])
def test_a_constant_seen_through_weights_is_constant_whatever_rounding_does(value):
    def weighted_mean(x, weights):
        return float(weights @ x / weights.sum())

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = ob.bootstrap(np.full(37, value), weighted_mean, rng=0)
    assert {w.category for w in caught} == {errors.ConstantDataWarning}
    assert result.standard_error == 0


def test_a_constant_column_does_not_keep_the_others_from_their_tolerance():
    table = np.column_stack([np.random.default_rng(0).standard_normal(50), np.full(50, 0.1)])
    with pytest.warns(errors.ConstantDataWarning, match=r"`statistic\[1\]` does not vary"):
        result = ob.bootstrap(table, lambda d, weights: weights @ d / weights.sum(), n_resamples=10, tol=0.01, rng=0)
    assert result.n_resamples == 10
    assert result.standard_error[1] == 0


def test_a_large_offset_does_not_drown_finite_differences():
    x = np.random.default_rng(0).standard_normal(50)
    plain, moved = (
        ob.bootstrap(values, lambda x, weights: float(weights @ x / weights.sum()), rng=0) for values in (x, x + 1e9)
    )
    assert moved.standard_error == pytest.approx(plain.standard_error, rel=1e-3)
