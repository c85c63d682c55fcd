"""P-values are the inverse of intervals."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from scipy import stats
from tests.registry import INTERVALS

import orthoboot as ob
from orthoboot import errors

RNG = np.random.default_rng(0)
X = RNG.gamma(2.0, size=60)
TABLE = np.column_stack([X, RNG.gamma(3.0, size=60), 2 * X + RNG.normal(size=60)])
SHIFTS = np.array([0.8, 1.3, 1.1])
"""Hypotheses as multiples of the estimates: within reach of every method."""

every_interval = pytest.mark.parametrize("row", INTERVALS, ids=lambda row: row.id)
every_side = pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])


def result_of(row, **options):
    n_resamples = row.n_resamples or None
    return ob.bootstrap(
        TABLE, ob.variance, method=row.method, estimator=row.estimator, n_resamples=n_resamples, rng=0, **options
    )


def quietly(call, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.OrthobootWarning)
        return call(*args, **options)


def holds(result, level, alternative, null, output):
    low, high = quietly(result.interval, level, alternative=alternative)
    return low[output] <= null[output] <= high[output]


@every_interval
@every_side
def test_the_interval_excludes_the_value_from_its_p_value_on(row, alternative):
    result = result_of(row)
    null = SHIFTS * result.estimate
    p = result.pvalue(null, alternative)
    assert p.shape == (3,)
    for output in range(3):
        # Beyond one half the ends of ABC cross, and there is no interval to compare with.
        if "abc" in (row.method, result.interval_method) and alternative != "two-sided" and p[output] > 0.5:
            continue
        assert not holds(result, 1 - min(1.001 * p[output], 1 - 1e-6), alternative, null, output)
        assert holds(result, 1 - 0.999 * p[output], alternative, null, output)


@every_interval
def test_two_sided_is_twice_the_smaller_side(row):
    result = result_of(row)
    null = SHIFTS * result.estimate
    sides = np.stack([result.pvalue(null, alternative) for alternative in ("less", "greater")])
    np.testing.assert_allclose(result.pvalue(null), 2 * sides.min(axis=0), rtol=1e-4)
    np.testing.assert_allclose(sides.sum(axis=0), 1.0, atol=0.02)


def test_the_p_value_at_the_estimate_of_a_symmetric_interval_is_one():
    result = ob.bootstrap(X, ob.mean, method="normal", rng=0)
    assert result.pvalue(result.estimate) == 1.0


def test_normal_p_values_are_those_of_the_normal_distribution():
    result = ob.bootstrap(X, ob.mean, method="normal", rng=0)
    score = (result.estimate - 1.7) / result.standard_error
    assert result.pvalue(1.7) == pytest.approx(2 * stats.norm.sf(abs(score)))
    assert result.pvalue(1.7, "less") == pytest.approx(stats.norm.cdf(score))
    assert result.pvalue(1.7, "greater") == pytest.approx(stats.norm.sf(score))
    far = 2 * stats.norm.sf(result.estimate / result.standard_error)
    assert 0 < far < 1e-30
    assert result.pvalue() == pytest.approx(far, rel=1e-9)


def test_t_p_values_have_the_degrees_of_freedom_of_the_interval():
    result = ob.bootstrap(X, ob.mean, estimator="cheap", n_resamples=7, rng=0)
    score = (result.estimate - 1.7) / result.standard_error
    assert result.pvalue(1.7) == pytest.approx(2 * stats.t.sf(abs(score), 7))


@every_side
def test_the_sides_are_those_of_scipy(alternative):
    # The mean's standard error is the t test's but for the divisor, so p-values differ by far less than the sides do.
    scipy_p = stats.ttest_1samp(X, 1.7, alternative=alternative).pvalue
    assert ob.bootstrap(X, ob.mean, method="normal", rng=0).pvalue(1.7, alternative) == pytest.approx(scipy_p, abs=0.02)


@every_side
def test_without_a_side_it_is_that_of_the_result(alternative):
    result = ob.bootstrap(X, ob.mean, alternative=alternative, rng=0)
    assert result.pvalue(1.7) == result.pvalue(1.7, alternative)


def test_what_auto_chooses_is_inverted():
    for statistic, n_resamples in ((ob.variance, 1000), (ob.variance, 10), (ob.median, 1000)):
        result = ob.bootstrap(X, statistic, n_resamples=n_resamples, rng=0)
        p = result.pvalue(1.2 * result.estimate)
        assert 0.0 < p < 1.0
        assert result.interval(1 - p).high == pytest.approx(1.2 * result.estimate, rel=1e-3)


def test_a_normal_interval_on_another_scale_is_inverted_there():
    result = ob.bootstrap(X, ob.mean, method="normal", transform="log", rng=0)
    score = np.log(2.0 / result.estimate) * result.estimate / result.standard_error
    assert result.pvalue(2.0) == pytest.approx(2 * stats.norm.sf(abs(score)))
    assert result.pvalue(-1.0) == 0.0


def test_studentized_intervals_are_inverted():
    result = ob.bootstrap(X, ob.mean, method="studentized", n_resamples=2000, rng=0)
    p = result.pvalue(1.1 * result.estimate)
    assert result.interval(1 - p).high == pytest.approx(1.1 * result.estimate, rel=1e-3)


def test_another_method_is_inverted_where_it_is_asked_for():
    result = ob.bootstrap(X, ob.variance, n_resamples=30, rng=0)
    direct = ob.bootstrap(X, ob.variance, n_resamples=30, method="bca", rng=0)
    assert result.pvalue(1.5, method="bca") == direct.pvalue(1.5)
    assert result.pvalue(1.5, method="bca") != result.pvalue(1.5)


def test_the_unit_does_not_matter():
    p = [ob.bootstrap(unit * X, ob.std, method="bca", n_resamples=30, rng=0).pvalue(unit) for unit in (1.0, 1e-100)]
    assert p[0] == pytest.approx(p[1], rel=1e-5)


def test_p_values_have_the_shape_of_the_statistic():
    def means(x, weights):
        average = np.average(x, axis=0, weights=weights)
        return {"first": average[0], "rest": average[1:]}

    result = ob.bootstrap(TABLE, means, method="normal", rng=0)
    p = result.pvalue({"first": 2.0, "rest": [3.0, 4.0]})
    assert isinstance(p["first"], float)
    assert p["rest"].shape == (2,)
    assert p["rest"][1] == result.pvalue(4.0)["rest"][1]


# Limits


@pytest.mark.parametrize("method", ["percentile", "basic"])
def test_replicates_show_no_smaller_p_value_than_one_of_them(method):
    result = ob.bootstrap(X, ob.mean, method=method, estimator="standard", n_resamples=400, rng=0)
    for alternative, least in [("two-sided", 2 / 401), ("greater", 1 / 401)]:
        with pytest.warns(errors.IntervalWarning, match="the smallest that these can show") as caught:
            p = result.pvalue(-50.0, alternative)
        assert p == pytest.approx(least, rel=1e-5)
        assert "400 replicates" in str(caught[0].message)


def test_a_law_that_ends_shows_no_smaller_p_value():
    result = quietly(ob.bootstrap, X[:5], ob.mean, method="percentile", n_resamples=30, rng=0)
    with pytest.warns(errors.IntervalWarning, match="the smallest that these can show"):
        p = result.pvalue(X[:5].min() - 1.0)
    # All five draws are the smallest row with a probability of 5**-5; the saddlepoint has it to a factor.
    assert 0.05 * 5.0**-5 < p < 20 * 5.0**-5


def test_what_does_not_vary_is_its_value_or_not():
    table = np.column_stack([X, np.full(60, 2.0)])
    for method in ("normal", "percentile"):
        result = quietly(ob.bootstrap, table, ob.mean, method=method, n_resamples=30, rng=0)
        assert result.pvalue(2.0)[1] == 1.0
        assert result.pvalue(1.0)[1] == 0.0
        assert result.pvalue(1.0, "less")[1] == 1.0
        assert result.pvalue(1.0, "greater")[1] == 0.0


def test_without_an_interval_there_is_no_p_value():
    def statistic(x, weights):
        return np.average(x, weights=weights)

    no_direction = quietly(ob.bootstrap, X, statistic, influence=np.zeros(60), n_resamples=20, rng=0)
    with pytest.warns(errors.IntervalWarning, match="no interval for `statistic` at any level, and so no p-value"):
        assert np.isnan(no_direction.pvalue(0.0, method="abc"))


@pytest.mark.parametrize("null", [np.nan, "zero", [1.0, 2.0], None, True])
def test_a_hypothesis_that_is_no_value_is_refused(null):
    message = "`null` must be a finite number, or finite numbers in the shape of `estimate`"
    with pytest.raises(errors.ArgumentError, match=re.escape(message)):
        ob.bootstrap(TABLE, ob.variance, rng=0).pvalue(null)


def test_a_side_that_is_none_is_refused():
    with pytest.raises(errors.ArgumentError, match="`alternative` must be one of"):
        ob.bootstrap(X, ob.variance, rng=0).pvalue(0.0, "upper")


# Of many outputs


@pytest.mark.parametrize("method", ["normal", "bca"])
@every_side
def test_simultaneous_intervals_have_adjusted_p_values(method, alternative):
    options = {"simultaneous": True, "alternative": alternative, "n_resamples": 30, "rng": 0}
    result = ob.bootstrap(TABLE, ob.variance, method=method, **options)
    alone = ob.bootstrap(TABLE, ob.variance, method=method, **(options | {"simultaneous": False}))
    null = np.array([0.7, 1.4, 0.6]) * result.estimate
    adjusted, marginal = result.pvalue(null), alone.pvalue(null)
    assert (adjusted >= marginal).all()
    assert (adjusted <= 3 * marginal + 1e-12).all()
    for output in np.flatnonzero(adjusted < 0.5):
        # The probability of the maximum comes from eight thousand draws, to about 1%.
        assert not holds(result, 1 - 1.06 * adjusted[output], alternative, null, output)
        assert holds(result, 1 - 0.94 * adjusted[output], alternative, null, output)


@pytest.mark.slow
def test_p_values_of_a_true_hypothesis_are_uniform():
    rng = np.random.default_rng(3)
    p = [ob.bootstrap(rng.normal(size=150), ob.mean, method="percentile", rng=i).pvalue(0.0) for i in range(300)]
    # The Kolmogorov distance of 300 uniform numbers exceeds 0.094 with probability 0.01; the bootstrap's standard error
    # has the divisor n in place of n - 1, which moves a p-value by less than 0.002.
    assert stats.kstest(p, "uniform").statistic < 0.094 + 0.002
