"""Permutation tests: those of scipy, exactly where all permutations are taken."""

from __future__ import annotations

import dataclasses
import itertools
import re

import numpy as np
import pytest
from scipy import stats

import orthoboot as ob
from orthoboot import errors

RNG = np.random.default_rng(0)
FIRST, SECOND = RNG.normal(0.5, size=5), RNG.normal(size=6)
TIED = RNG.integers(0, 4, size=5).astype(float), RNG.integers(1, 5, size=6).astype(float)
LONG = RNG.normal(0.4, size=40), RNG.normal(size=30)
PAIRS = RNG.normal(0.4, size=8), RNG.normal(size=8)
LONG_PAIRS = RNG.normal(0.3, size=25), RNG.normal(size=25)

every_side = pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
every_statistic = pytest.mark.parametrize(
    ("ours", "plain"),
    [
        (ob.difference(ob.mean), lambda x, y: np.mean(x) - np.mean(y)),
        (ob.difference(ob.median), lambda x, y: np.median(x) - np.median(y)),
        (ob.difference(ob.variance.replace(ddof=1)), lambda x, y: np.var(x, ddof=1) - np.var(y, ddof=1)),
        (ob.relative_difference(ob.std), lambda x, y: np.std(x) / np.std(y) - 1),
    ],
    ids=["mean", "median", "variance", "relative std"],
)


def of_scipy(data, statistic, alternative="two-sided", kind="independent", n_resamples=9999):
    options = {"permutation_type": kind, "alternative": alternative, "n_resamples": n_resamples}
    return stats.permutation_test(data, statistic, vectorized=False, random_state=1, **options)


def mean_difference(x, y):
    return np.mean(x) - np.mean(y)


@every_side
@every_statistic
def test_all_permutations_of_independent_samples_give_scipys_p_value(ours, plain, alternative):
    found = ob.permutation_test((FIRST, SECOND), ours, alternative=alternative)
    theirs = of_scipy((FIRST, SECOND), plain, alternative)
    assert found.exact
    assert found.n_resamples == 462
    assert found.pvalue == pytest.approx(theirs.pvalue, abs=1e-12)
    assert found.statistic == pytest.approx(theirs.statistic)
    assert found.simulation_error == 0.0
    np.testing.assert_allclose(np.sort(found.null_distribution), np.sort(theirs.null_distribution), atol=1e-12)


@every_side
def test_ties_count_as_scipy_counts_them(alternative):
    found = ob.permutation_test(TIED, ob.difference(ob.mean), alternative=alternative)
    assert found.pvalue == pytest.approx(of_scipy(TIED, mean_difference, alternative).pvalue, abs=1e-12)


@every_side
@every_statistic
def test_all_swaps_of_paired_samples_give_scipys_p_value(ours, plain, alternative):
    found = ob.permutation_test(PAIRS, ours, alternative=alternative, paired=True)
    assert found.exact
    assert found.n_resamples == 2**8
    assert found.pvalue == pytest.approx(of_scipy(PAIRS, plain, alternative, "samples").pvalue, abs=1e-12)


@every_side
def test_a_function_of_pairs_keeps_them_together(alternative):
    # Unlike a difference of means it knows which rows belong together.
    def median_difference(x, y):
        return np.median(x - y)

    found = ob.permutation_test(PAIRS, median_difference, alternative=alternative, paired=True)
    theirs = of_scipy(PAIRS, median_difference, alternative, "samples")
    assert found.pvalue == pytest.approx(theirs.pvalue, abs=1e-12)


@pytest.mark.parametrize(
    "alternative", ["two-sided", *(pytest.param(side, marks=pytest.mark.slow) for side in ("less", "greater"))]
)
@pytest.mark.parametrize(("data", "paired"), [(LONG, False), (LONG_PAIRS, True)], ids=["independent", "paired"])
def test_random_permutations_agree_with_scipys_within_their_errors(data, paired, alternative):
    found = ob.permutation_test(data, ob.difference(ob.mean), alternative=alternative, paired=paired, rng=0)
    theirs = of_scipy(data, mean_difference, alternative, "samples" if paired else "independent")
    assert not found.exact
    assert found.n_resamples == 9999
    assert 0 < found.simulation_error < 0.011
    # Two independent runs: four standard deviations of their difference, a chance of 6e-5.
    assert abs(found.pvalue - theirs.pvalue) < 4 * np.sqrt(2) * found.simulation_error


def test_the_simulation_error_is_the_spread_over_seeds():
    # Near a p-value of 0.2: at its ends the error is that of the nearest values that so few permutations can show.
    closer = LONG[0] - LONG[0].mean() + LONG[1].mean() + 0.3, LONG[1]
    runs = [ob.permutation_test(closer, mean_difference, n_resamples=199, rng=seed) for seed in range(100)]
    spread = np.std([run.pvalue for run in runs])
    assert 0.1 < np.mean([run.pvalue for run in runs]) < 0.5
    # A standard deviation from 100 runs is known to 7%: three of these.
    assert spread == pytest.approx(np.mean([run.simulation_error for run in runs]), rel=0.21)


def test_no_random_p_value_is_zero():
    found = ob.permutation_test((LONG[0] + 50, LONG[1]), mean_difference, n_resamples=99, rng=0)
    assert found.pvalue == 2 / 100
    assert ob.permutation_test((LONG[0] + 50, LONG[1]), mean_difference, n_resamples=99, alternative="less").pvalue == 1


@pytest.mark.parametrize(("data", "paired"), [(LONG, False), (LONG_PAIRS, True)], ids=["independent", "paired"])
def test_a_permutation_depends_on_the_seed_and_its_number_alone(data, paired):
    few, many = (
        ob.permutation_test(data, mean_difference, n_resamples=n, paired=paired, rng=7).null_distribution
        for n in (50, 200)
    )
    np.testing.assert_array_equal(few, many[:50])
    other = ob.permutation_test(data, mean_difference, n_resamples=50, paired=paired, rng=8).null_distribution
    assert (other != few).any()


@pytest.mark.parametrize("paired", [False, True])
def test_all_ways_to_write_a_function_are_the_same(paired):
    def by_axis(x, y, axis):
        return np.mean(x, axis=axis) - np.mean(y, axis=axis)

    def by_weights(x, y, weights):
        first, second = (weights, weights) if paired else weights
        return np.average(x, weights=first) - np.average(y, weights=second)

    plain = ob.permutation_test(LONG_PAIRS, mean_difference, n_resamples=99, paired=paired, rng=0)
    for other in (by_axis, by_weights, ob.difference(ob.mean)):
        found = ob.permutation_test(LONG_PAIRS, other, n_resamples=99, paired=paired, rng=0)
        np.testing.assert_allclose(found.null_distribution, plain.null_distribution, atol=1e-12)
        assert found.pvalue == plain.pvalue


def test_every_output_has_its_p_value():
    first, second = RNG.normal(size=(20, 2)), RNG.normal([0.0, 3.0], size=(15, 2))
    found = ob.permutation_test((first, second), ob.difference(ob.mean), n_resamples=199, rng=0)
    assert found.pvalue.shape == found.simulation_error.shape == (2,)
    assert found.null_distribution.shape == (2, 199)
    assert found.pvalue[1] == pytest.approx(2 / 200)

    def as_dict(x, y):
        return {"mean": np.mean(x) - np.mean(y), "spread": np.std(x) - np.std(y)}

    named = ob.permutation_test(LONG, as_dict, n_resamples=50, rng=0)
    assert list(named.pvalue) == ["mean", "spread"]
    assert named.null_distribution["spread"].shape == (50,)


def test_predictions_are_exchanged_row_by_row():
    y = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0])
    better, worse = y + 0.3 * RNG.normal(size=7), RNG.normal(size=7)
    found = ob.permutation_test((y, better, worse), ob.paired_difference(ob.rmse), paired=True)
    every = []
    for swaps in itertools.product([False, True], repeat=7):
        first, second = np.where(swaps, worse, better), np.where(swaps, better, worse)
        every.append(np.sqrt(np.mean((y - first) ** 2)) - np.sqrt(np.mean((y - second) ** 2)))
    assert found.n_resamples == 128
    np.testing.assert_allclose(np.sort(found.null_distribution), np.sort(every), atol=1e-12)
    less = np.mean(np.array(every) <= found.statistic + 1e-12)
    assert found.pvalue == pytest.approx(min(1.0, 2 * less))


def test_frames_and_lists_are_taken():
    import pandas as pd

    frames = [pd.Series(sample, name="x") for sample in (FIRST, SECOND)]
    lists = [sample.tolist() for sample in (FIRST, SECOND)]
    p = [ob.permutation_test(data, ob.difference(ob.mean)).pvalue for data in ((FIRST, SECOND), frames, lists)]
    assert p[0] == p[1] == p[2]


def test_a_result_is_frozen():
    found = ob.permutation_test((FIRST, SECOND), mean_difference)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.pvalue = 0.0
    assert "null_distribution" not in repr(found)


@pytest.mark.parametrize(
    ("kind", "message", "data", "statistic", "options"),
    [
        (errors.DataError, "must be two samples, `(first, second)`", FIRST, mean_difference, {}),
        (errors.DataError, "must be two samples, `(first, second)`", (FIRST,) * 3, mean_difference, {}),
        (errors.DataError, "takes y and two predictions", PAIRS, ob.paired_difference(ob.rmse), {"paired": True}),
        (errors.DataError, "the same number of rows", (FIRST, SECOND), mean_difference, {"paired": True}),
        (
            errors.DataError,
            "whose rows can be exchanged; got rows of shape (2,) and ()",
            (np.ones((4, 2)), SECOND),
            mean_difference,
            {},
        ),
        (errors.ArgumentError, "`n_resamples` must be a whole number", PAIRS, mean_difference, {"n_resamples": 0}),
        (errors.ArgumentError, "`alternative` must be one of", PAIRS, mean_difference, {"alternative": "more"}),
        (errors.ArgumentError, "`rng` must be", PAIRS, mean_difference, {"rng": "seed"}),
        (errors.StatisticError, "finite on every permutation", (FIRST, SECOND), lambda x, y: np.log(x.mean()), {}),
        (errors.StatisticError, "on one it raised KeyError", (FIRST, SECOND), lambda x, y: {FIRST[0]: 1.0}[x[0]], {}),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value encountered in log:RuntimeWarning")
def test_what_is_wrong_is_said(kind, message, data, statistic, options):
    with pytest.raises(kind, match=re.escape(message)):
        ob.permutation_test(data, statistic, **options)
