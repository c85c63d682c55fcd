"""The replacement of ``scipy.stats.bootstrap``: the same call, the same result, the same errors."""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats
from scipy.stats import pearsonr
from tests.conftest import REPOSITORY

import orthoboot as ob
from orthoboot.scipy_compat import bootstrap, request

RNG = np.random.default_rng(11)
X = RNG.exponential(size=120)
Y = X + RNG.normal(size=120)
Z = RNG.normal(2.0, 1.0, size=90)
TABLE = RNG.exponential(size=(3, 40, 2))


def difference(x, y, axis=-1):
    return np.mean(x, axis=axis) - np.std(y, axis=axis)


def association(x, y, axis=-1):
    return pearsonr(x, y, axis=axis)[0]


KNOWN = {
    "mean": ((X,), np.mean, {}),
    "std": ((X,), np.std, {"vectorized": False}),
    "median": ((X,), np.median, {}),
    "skew": ((X,), stats.skew, {}),
    "table": ((TABLE,), np.var, {"axis": 1}),
    "medians": ((TABLE,), np.median, {"axis": -2}),
    "difference": ((X, Z), difference, {}),
    "tables": ((TABLE, TABLE[:1, :30]), difference, {"axis": 1}),
    "correlation": ((X, Y), association, {"paired": True}),
    "correlations": ((TABLE, np.sqrt(TABLE) + TABLE[::-1]), association, {"paired": True, "axis": 1}),
    "plain": ((X, Y), lambda x, y: np.corrcoef(x, y)[0, 1], {"paired": True}),
    "whole numbers": ((np.arange(30),), np.mean, {}),
    "single precision": ((X.astype(np.float32),), np.mean, {}),
}


@pytest.fixture(autouse=True)
def _nothing_is_too_small(monkeypatch):
    monkeypatch.setattr(request, "_FEWEST_NUMBERS", 0)


def numbers(result):
    return [*result.confidence_interval, result.standard_error]


def test_the_signature_is_scipys():
    ours, theirs = (inspect.signature(function).parameters for function in (bootstrap, stats.bootstrap))
    if "rng" not in theirs:
        pytest.skip("before scipy 1.15 there was no `rng`")
    assert [(p.name, p.kind, p.default) for p in ours.values()] == [
        (p.name, p.kind, p.default) for p in theirs.values()
    ]


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("method", ["percentile", "basic", "BCa"])
@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_scipy_makes_the_same_interval_of_the_same_replicates(name, method, alternative):
    data, statistic, options = KNOWN[name]
    options = {**options, "method": method, "alternative": alternative, "confidence_level": 0.9}
    ours = bootstrap(data, statistic, n_resamples=200, rng=1, **options)
    theirs = stats.bootstrap(data, statistic, n_resamples=0, bootstrap_result=ours, **options)
    assert type(ours) is type(theirs)
    rtol = 1e-9 if ours.bootstrap_distribution.dtype == np.float64 else 1e-5
    for one, other in zip(numbers(ours), numbers(theirs), strict=True):
        assert type(one) is type(other)
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_allclose(one, other, rtol=rtol)


@pytest.mark.parametrize("name", KNOWN)
def test_the_replicates_have_the_law_of_scipys(name):
    data, statistic, options = KNOWN[name]
    ours, theirs = (
        call(data, statistic, n_resamples=4000, method="percentile", rng=3, **options).bootstrap_distribution
        for call in (bootstrap, stats.bootstrap)
    )
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    assert not np.array_equal(ours, theirs)
    one, other = (part.reshape(-1, 4000) for part in (ours, theirs))
    # Kolmogorov and Smirnov's distance of two samples of 4000: beyond 0.06 with odds of one in a million.
    for column, expected in zip(one, other, strict=True):
        assert stats.ks_2samp(column, expected).statistic < 0.06


@pytest.mark.parametrize(
    ("data", "statistic", "options"),
    [
        ((X,), np.max, {"method": "percentile"}),
        ((X,), lambda x: np.sort(x)[3], {}),
        ((X, Z), lambda x, y, axis: np.max(x, axis=axis) - np.mean(y, axis=axis), {}),
        ((X, Y), lambda x, y: np.sum(x * y), {"paired": True}),
        ((TABLE,), lambda x, axis: np.mean(np.log(x), axis=axis), {"axis": 1}),
    ],
)
def test_other_functions_have_scipys_numbers(data, statistic, options):
    for seed in ({"rng": 4}, {"random_state": 4}):
        ours, theirs = (
            call(data, statistic, n_resamples=99, **seed, **options) for call in (bootstrap, stats.bootstrap)
        )
        np.testing.assert_array_equal(ours.bootstrap_distribution, theirs.bootstrap_distribution)
        np.testing.assert_allclose(numbers(ours), numbers(theirs), rtol=1e-14)


def test_memory_does_not_hold_all_resamples_of_an_unknown_function():
    sizes = []

    def largest(x, axis):
        sizes.append(x.size)
        return np.max(x, axis=axis)

    x = np.random.default_rng(0).normal(size=50_000)
    bootstrap((x,), largest, n_resamples=300, method="percentile", rng=0)
    assert max(sizes) <= 1 << 22


def test_few_numbers_are_left_to_scipy(monkeypatch):
    monkeypatch.undo()
    ours, theirs = (call((X,), np.mean, n_resamples=99, rng=4) for call in (bootstrap, stats.bootstrap))
    np.testing.assert_array_equal(ours.bootstrap_distribution, theirs.bootstrap_distribution)


def random_function(x):
    return x.mean() + np.random.default_rng().normal()


def test_a_function_that_is_random_is_called():
    calls = []

    def counted(x):
        calls.append(x)
        return random_function(x)

    bootstrap((X,), counted, n_resamples=50, method="percentile", rng=0)
    assert len(calls) > 50


def test_seeds():
    def drawn(**seed):
        return bootstrap((X,), np.mean, n_resamples=20, method="basic", **seed).bootstrap_distribution

    generator, legacy = np.random.default_rng(0), np.random.RandomState(0)
    for seed in ({"rng": 1}, {"random_state": 1}):
        np.testing.assert_array_equal(drawn(**seed), drawn(**seed))
    for seed in ({"rng": generator}, {"random_state": generator}, {"random_state": legacy}, {}):
        assert not np.array_equal(drawn(**seed), drawn(**seed))
    np.random.seed(3)  # noqa: NPY002 - whoever seeds the global generator expects the same numbers again
    first = drawn()
    np.random.seed(3)  # noqa: NPY002
    np.testing.assert_array_equal(first, drawn())


def test_the_batch_does_not_matter():
    one, other = (bootstrap((X,), np.mean, n_resamples=50, batch=batch, rng=1) for batch in (None, 7))
    np.testing.assert_array_equal(one.bootstrap_distribution, other.bootstrap_distribution)


def test_a_result_is_continued():
    first = bootstrap((X, Z), difference, n_resamples=50, rng=1)
    more = bootstrap((X, Z), difference, n_resamples=30, rng=2, bootstrap_result=first)
    assert more.bootstrap_distribution.shape == (80,)
    np.testing.assert_array_equal(more.bootstrap_distribution[:50], first.bootstrap_distribution)
    again = bootstrap((X, Z), difference, n_resamples=0, bootstrap_result=more, method="percentile")
    assert again.standard_error == more.standard_error


def test_statistics_of_the_catalogue():
    ours = bootstrap((X, Y), ob.spearman, paired=True, n_resamples=500, method="percentile", rng=1)
    theirs = stats.bootstrap(
        (X, Y), lambda x, y: stats.spearmanr(x, y).statistic, paired=True, n_resamples=500, method="percentile", rng=1
    )
    # The relative error of a standard error of 500 replicates is about 3%: five of the difference.
    assert ours.standard_error == pytest.approx(theirs.standard_error, rel=0.23)
    levels = bootstrap((TABLE,), ob.quantile([0.2, 0.8]), axis=1, n_resamples=60, rng=1)
    assert levels.bootstrap_distribution.shape == (2, 3, 2, 60)
    compared = bootstrap((X, Z), ob.difference(ob.mean), n_resamples=60, rng=1)
    assert compared.confidence_interval.low < X.mean() - Z.mean() < compared.confidence_interval.high


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_data_that_scipy_takes_and_we_do_not():
    for data in (np.append(X, np.nan), np.ones(20)):
        with pytest.warns(stats.DegenerateDataWarning):
            result = bootstrap((data,), np.mean, n_resamples=20, rng=0)
        assert np.isnan(result.confidence_interval.low)


def test_a_catalogue_entry_has_its_own_words_for_such_data():
    with pytest.raises(ob.errors.DataError, match="NaN|missing|finite"):
        bootstrap((np.append(X, np.nan),), ob.mean, n_resamples=20)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data": ()}, "at least one sample"),
        ({"data": ([1.0],)}, "two or more"),
        ({"data": (X, Z), "paired": True}, "same length"),
        ({"axis": 1.5}, "must be an integer"),
        ({"n_resamples": -1}, "non-negative"),
        ({"n_resamples": 0}, "must be positive"),
        ({"batch": 0}, "positive integer"),
        ({"method": "ekki"}, "must be in"),
        ({"alternative": "ekki"}, "must be one of"),
        ({"confidence_level": "ni"}, "could not convert"),
        ({"vectorized": "ni"}, "must be `True`"),
        ({"bootstrap_result": 10}, "must have attribute"),
    ],
)
@pytest.mark.parametrize("statistic", [np.mean, ob.mean])
def test_errors_are_scipys(options, message, statistic):
    with pytest.raises(ValueError, match=message):
        bootstrap(**{"data": (X,), "statistic": statistic, **options})


def test_two_seeds_are_one_too_many():
    with pytest.raises(TypeError):
        bootstrap((X,), np.mean, rng=1, random_state=1)


@pytest.mark.parametrize("seed", ["ni", 1.5, [1, 2]])
def test_a_seed_that_is_none_has_scipys_words(seed):
    with pytest.raises(ValueError, match="cannot be used to seed"):
        bootstrap((X,), np.mean, random_state=seed)


@pytest.mark.parametrize(
    ("data", "statistic"),
    [
        ((X.astype(np.float32), Y.astype(np.float32)), lambda x, y: np.corrcoef(x, y)[0, 1]),
        (
            (X.astype(np.float32), np.arange(120, dtype=np.int16)),
            lambda x, y, axis: np.mean(x, axis) - np.mean(y, axis),
        ),
        ((X.astype(np.float32), X.astype(np.float32)), lambda x, y, axis: np.float64(2) * np.mean(x, axis)),
    ],
)
def test_the_precision_is_that_of_the_functions_value(data, statistic):
    ours, theirs = (
        call(data, statistic, paired=True, n_resamples=50, method="basic", rng=0)
        for call in (bootstrap, stats.bootstrap)
    )
    assert not np.array_equal(ours.bootstrap_distribution, theirs.bootstrap_distribution)
    assert ours.bootstrap_distribution.dtype == theirs.bootstrap_distribution.dtype


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("method", ["percentile", "basic"])
def test_infinite_replicates_have_infinite_quantiles(method):
    def ratio(x, y, axis):
        return np.mean(x, axis=axis) / np.median(y, axis=axis)

    y = np.repeat([0.0, 1.0], [12, 20])
    ours, theirs = (
        call((X, y), ratio, n_resamples=3000, method=method, confidence_level=0.9, rng=1)
        for call in (bootstrap, stats.bootstrap)
    )
    np.testing.assert_array_equal(np.isinf(numbers(ours)), np.isinf(numbers(theirs)))
    assert np.isinf(numbers(ours)).any()


@pytest.mark.slow
def test_scipys_own_tests_pass_but_for_those_that_are_listed():
    pytest.importorskip("scipy.stats.tests.test_resampling")
    done = subprocess.run([sys.executable, "-m", "tools.scipy_tests"], cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
