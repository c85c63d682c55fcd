"""The replicates are those of the function on resampled rows, and so are the values without each row."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import orthoboot as ob
from orthoboot.drop_in.formula import formula_of
from orthoboot.drop_in.known_statistic import KnownStatistic, is_ordinary, known_statistic

ROWS = frozenset({None, 0, -1})
RNG = np.random.default_rng(5)
X = RNG.exponential(size=31)
Y = X + RNG.normal(size=31)
Z = RNG.normal(3.0, 1.0, size=17)

CASES = {
    "mean": (np.mean, (X,), False),
    "variance": (lambda x: x.var(ddof=1), (X,), False),
    "spread": (lambda x: np.std(x) / x.mean(), (X,), False),
    "skewness": (lambda x: stats.skew(x), (X,), False),
    "quantiles": (lambda x: np.quantile(x, 0.9) - np.median(x), (X,), False),
    "difference": (lambda x, z: x.mean() - np.median(z), (X, Z), False),
    "correlation": (lambda x, y: np.corrcoef(x, y)[0, 1], (X, Y), True),
    "ratio": (lambda x, y: x.mean() / y.mean(), (X, Y), True),
}


def known(name: str) -> KnownStatistic:
    function, samples, paired = CASES[name]
    formula = formula_of(function, len(samples), row_axes=ROWS, options={})
    found = known_statistic(formula, samples, paired=paired)
    assert found is not None
    return found


def value(name: str, rows) -> float:
    function, samples, paired = CASES[name]
    rows = rows * len(samples) if paired else rows
    return function(*(sample[chosen] for sample, chosen in zip(samples, rows, strict=True)))


@pytest.mark.parametrize("name", CASES)
def test_replicates_are_the_values_on_the_rows_that_are_drawn(name):
    statistic = known(name)
    drawn = statistic.plan.resamples((1, 2), range(8))
    expected = [value(name, drawn.indices(b)) for b in range(8)]
    np.testing.assert_allclose(statistic.replicates((1, 2), 8)[:, 0], expected, rtol=1e-10)
    np.testing.assert_allclose(statistic.replicates((1, 2), 8, batch=3)[:, 0], expected, rtol=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_values_without_each_row_are_those_of_the_other_rows(name):
    statistic = known(name)
    for sample, n in enumerate(statistic.sizes):
        for_all = [np.arange(m) for m in statistic.sizes]
        expected = []
        for row in range(n):
            rows = list(for_all)
            rows[sample] = np.delete(rows[sample], row)
            expected.append(value(name, tuple(rows)))
        np.testing.assert_allclose(statistic.without_each_row(sample)[:, 0], expected, rtol=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_a_function_agrees_with_itself_and_with_no_other(name):
    function, *_ = CASES[name]
    statistic = known(name)
    assert statistic.agrees_with(function)
    assert not statistic.agrees_with(lambda *samples: function(*samples) * (1 + 1e-6))
    assert not statistic.agrees_with(lambda *samples: np.ones(2))


def test_many_rows_are_left_out_without_their_weights():
    x = np.random.default_rng(1).exponential(size=200_000)
    statistic = known_statistic(formula_of(np.std, 1, row_axes=ROWS, options={}), (x,), paired=False)
    assert statistic is not None
    values = statistic.without_each_row(0)[:, 0]
    chosen = [0, 70_000, 199_999]
    np.testing.assert_allclose(values[chosen], [np.std(np.delete(x, row)) for row in chosen], rtol=1e-12)


@pytest.mark.parametrize(
    "sample",
    [
        [1.0, 2.0],
        np.ones(5),
        np.array([1.0]),
        np.array(1.0),
        np.array([1.0, np.nan]),
        np.array([1.0, np.inf]),
        np.array([1.0, 2.0], dtype=np.float16),
        np.array([1.0, 2.0j]),
        np.array([True, False]),
        np.ma.masked_array([1.0, 2.0]),
        1.0 + 1e-9 * np.arange(5.0),
        np.column_stack([np.arange(4.0), np.ones(4)]),
    ],
)
def test_data_that_are_not_ordinary(sample):
    assert not is_ordinary(sample)


def test_an_entry_of_the_catalogue_says_why_it_has_no_value():
    formula = formula_of(ob.correlation, 2, row_axes=ROWS, options={})
    with pytest.raises(ob.errors.DataError):
        known_statistic(formula, (X, Z), paired=True)


def found(function, *samples):
    return known_statistic(formula_of(function, len(samples), row_axes=ROWS, options={}), samples, paired=False)


def test_what_is_random_does_not_agree_however_small_it_is():
    generator = np.random.default_rng(0)

    def noisy(x):
        return 1.6e-19 * (x.mean() + generator.normal())

    assert not found(noisy, X).agrees_with(noisy)
    assert found(lambda x: 1.6e-19 * x.mean(), X).agrees_with(lambda x: 1.6e-19 * x.mean())


def test_the_mean_of_zeros_is_zero():
    rare = np.zeros(50)
    rare[3] = 1.7
    with np.errstate(divide="ignore"):
        inverse = found(lambda x: 1 / np.sqrt(x.mean()), rare).replicates((1, 2), 200)
    assert np.isposinf(inverse).any()
    assert not np.isnan(inverse).any()
    assert (found(lambda x: np.sqrt(x.mean()), rare).without_each_row(0)[3] == 0).all()


def test_differences_of_equal_means_are_ties():
    rare = np.full(50, 0.1)
    rare[:3] = 1.7
    statistic = found(lambda x, y: x.mean() - y.mean(), rare, rare[::-1].copy())
    values = statistic.replicates((1, 2), 400)
    is_near = np.abs(values - statistic.estimate) < 1e-9
    assert is_near.any()
    assert (values[is_near] == statistic.estimate).all()


def test_values_without_a_row_that_rounding_tells_apart_are_equal():
    statistic = found(lambda x: x.mean() / np.median(x), np.array([0.1, 0.2, 0.7]))
    assert np.ptp(statistic.without_each_row(0)) == 0


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.frompyfunc(lambda v: v + 1, 1, 1)(x.mean()),
        lambda x: np.greater(x.mean(), 0),
        lambda x: 10**400 * x.std(),
    ],
)
def test_a_formula_that_makes_no_numbers_is_not_known(function):
    assert found(function, X) is None


def test_no_resamples():
    assert known("mean").replicates((1, 2), 0).shape == (0, 1)
