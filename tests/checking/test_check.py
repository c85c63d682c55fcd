"""`check_influence`: every slip has its verdict, and what is right passes."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest
from tests.registry import FUNCTIONALS

import orthoboot as ob
from orthoboot import errors
from orthoboot.data import read
from orthoboot.execution.execution import Execution
from orthoboot.influence import probed

X = np.random.default_rng(0).exponential(size=200)


def right(x):
    return (x - x.mean()) ** 2 - x.var()


def weighted(x, weights):
    mean = np.average(x, weights=weights)
    return np.average((x - mean) ** 2, weights=weights)


def plain(x):
    return x.var()


every_kind = pytest.mark.parametrize("statistic", [ob.variance, weighted, plain], ids=["catalogue", "weights", "rows"])


def seems(check):
    (finding,) = check.findings
    return finding


# Verdicts


@every_kind
@pytest.mark.parametrize("influence", ["auto", None, "jackknife", right, right(X)])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_what_is_right_agrees(statistic, influence, scale):
    if isinstance(influence, np.ndarray):
        influence = scale**2 * influence
    check = ob.check_influence(statistic, scale * X, influence)
    assert check.passed
    assert seems(check) == "agrees"
    assert check.disagreement[0] < 0.05
    assert check.r_squared[0] > 0.9
    assert check.verdict == "Verdict: agrees: the statistic changes as the influence function says."


@every_kind
@pytest.mark.parametrize("factor", [2.0, 5.0, 0.2, 0.01])
def test_a_wrong_scale_is_told_with_its_factor(statistic, factor):
    check = ob.check_influence(statistic, X, lambda x: right(x) / factor)
    assert not check.passed
    assert seems(check) == "wrong scale"
    found = re.search(r"changes ([\d.]+) times as much as the influence function says\. Multiply", check.verdict)
    # Whole rows are no infinitesimal step, so the factor is not exact there.
    assert float(found[1]) == pytest.approx(factor, rel=0.05)


@pytest.mark.parametrize(
    ("factor", "slip"), [(200, "about n: a factor n seems to be missing"), (1 / 200, "about 1/n: there seems to be")]
)
def test_a_forgotten_n_is_guessed(factor, slip):
    assert slip in ob.check_influence(ob.variance, X, right(X) / factor).verdict


@every_kind
def test_a_wrong_sign_is_told(statistic):
    check = ob.check_influence(statistic, X, lambda x: -right(x))
    assert seems(check) == "wrong sign"
    assert "changes in the other direction. Multiply the influence values by -1." in check.verdict
    check = ob.check_influence(statistic, X, lambda x: -right(x) / 2)
    assert "changes in the other direction, 2 times as much" in check.verdict


@every_kind
def test_a_mean_that_is_not_zero_is_told(statistic):
    check = ob.check_influence(statistic, X, lambda x: right(x) + 0.5 * right(x).std())
    assert seems(check) == "off centre"
    assert check.mean[0] == pytest.approx(0.5)
    assert "is 0.5 of their standard deviations away from zero" in check.verdict


@every_kind
@pytest.mark.parametrize("seed", range(5))
def test_values_in_another_order_are_unrelated(statistic, seed):
    shuffled = np.random.default_rng(100 + seed).permutation(right(X))
    check = ob.check_influence(statistic, X, shuffled, n_resamples=50, rng=seed)
    assert seems(check) == "unrelated"
    assert "in the order of the rows" in check.verdict


@pytest.mark.parametrize("constant", [0.0, 0.1])
def test_equal_values_are_told(constant):
    check = ob.check_influence(ob.variance, X, np.full(200, constant))
    assert seems(check) == "all equal"
    assert "order of the rows" not in check.verdict
    assert "inf sd" not in str(check)


def test_values_that_cancel_predict_no_change():
    check = ob.check_influence(np.max, X)
    assert "e-" not in str(check)


def test_a_missing_term_disagrees():
    pairs = np.random.default_rng(3).gamma(3.0, size=(100, 2))
    without_denominator = pairs[:, 0] / pairs[:, 1].mean()
    check = ob.check_influence(
        ob.ratio, pairs, 0.9 * (without_denominator - without_denominator.mean()), n_resamples=50
    )
    assert not check.passed
    assert seems(check) in {"disagrees", "unrelated"}


@every_kind
def test_a_statistic_that_does_not_vary_agrees_with_zeros(statistic):
    check = ob.check_influence(statistic, np.full(20, 3.0))
    assert check.passed
    assert not check.directions.found.any()


def test_ignored_weights_are_told():
    check = ob.check_influence(lambda x, weights: x.std(), X)
    assert not check.passed
    assert seems(check) == "ignores its weights"
    assert check.verdict.startswith("Verdict: the statistic ignores its weights")


def test_a_largest_value_that_ignores_its_weights_is_told():
    """Two of three resamples have the largest row and do not show it; ten of ten have it in one case of a hundred."""
    check = ob.check_influence(lambda x, weights: np.array([weighted(x, weights), x.max()]), X)
    assert check.findings == ("agrees", "ignores its weights")


def test_a_part_that_is_hidden_from_differentiation_is_no_step(jax):
    def third_moment(x, weights):
        mean = jax.lax.stop_gradient((weights * x).sum() / weights.sum())
        return (weights * (x - mean) ** 3).sum() / weights.sum()

    check = ob.check_influence(third_moment, X)
    assert seems(check) == "disagrees"
    assert "`stop_gradient` hide" in check.verdict


@pytest.mark.parametrize("influence", ["auto", right])
@pytest.mark.parametrize(
    "statistic",
    [lambda x, weights: round(weighted(x, weights), 1), lambda x, weights: int(10 * weighted(x, weights))],
    ids=["rounded", "whole"],
)
def test_steps_are_told(statistic, influence):
    check = ob.check_influence(statistic, X, influence)
    assert seems(check) == "not differentiable"
    assert 'Use estimator="standard", or influence="jackknife"' in check.verdict


def test_a_flat_point_is_no_step():
    """Of two values in equal numbers the variance is greatest: its derivative is zero, but it is smooth."""
    check = ob.check_influence(ob.variance, np.tile([-1.0, 1.0], 20))
    assert check.passed
    assert "explains only 0% of the variance of 10 replicates" in check.verdict


def test_a_statistic_without_value_beside_the_data_is_not_checked():
    def whole(x, weights):
        if (weights != np.round(weights)).any():
            raise ValueError("whole counts only")
        return float(weights @ x / weights.sum())

    check = ob.check_influence(whole, X, X - X.mean())
    assert not check.passed
    assert seems(check) == "not checked"
    assert check.directions.found.shape == (0, 1)
    assert np.isnan(check.disagreement).all()
    assert "not checked" in str(check)


@pytest.mark.parametrize("influence", ["regression", ob.regression_on(np.column_stack([X, X**2]))])
def test_a_fit_is_checked_on_replicates_that_it_has_not_seen(influence):
    check = ob.check_influence(ob.variance, X, influence)
    assert check.passed
    assert check.source.startswith("regression on")
    assert check.r_squared[0] < 1


@pytest.mark.parametrize("row", FUNCTIONALS, ids=lambda row: row.id)
@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_the_catalogue_passes(row):
    data = row.data()
    paired = len(data.tables) > len(data.sizes)
    samples = data.containers if len(data.tables) > 1 else data.containers[0]
    check = ob.check_influence(row.functional, samples, paired=paired)
    assert check.passed or not row.smooth, str(check)


# The report


def both(d, weights):
    return weights @ d / weights.sum()


def test_each_output_has_its_verdict():
    pairs = pd.DataFrame({"a": X, "b": X**2, "c": X**3})
    values = (pairs - pairs.mean()).to_numpy()
    check = ob.check_influence(lambda d, weights: both(d.to_numpy(), weights), pairs, values * [1, 0.5, -1])
    assert check.findings == ("agrees", "wrong scale", "wrong sign")
    assert "`statistic[1]`: wrong scale: the statistic changes 2 times as much" in check.verdict
    assert "`statistic[2]`: wrong sign" in check.verdict
    assert check.directions.predicted.shape == check.directions.found.shape == (5, 3)


def test_many_outputs_are_summed_up():
    wide = np.random.default_rng(0).normal(size=(50, 40))
    check = ob.check_influence(both, wide, 2 * (wide - wide.mean(axis=0)))
    assert "`both[0]`, `both[1]`, `both[2]` and 37 more: wrong scale" in check.verdict
    assert "10 more outputs are not shown" in str(check)


def test_the_report_is_a_table_that_ends_in_the_verdict():
    check = ob.check_influence(ob.variance, X, lambda x: right(x) / 2)
    lines = str(check).splitlines()
    assert lines[0] == "Influence function of variance: given by the user"
    assert lines[2].split() == ["mean", "predicted", "found", "disagreement", "r_squared"]
    name, mean, unit, predicted, found, *_ = lines[3].split()
    assert (name, mean, unit) == ("variance", "0", "sd")
    assert float(found) == pytest.approx(2 * float(predicted), rel=1e-3)
    assert lines[3].endswith("wrong scale")
    assert " ".join(lines[5:]) == check.verdict
    assert repr(check) == str(check)
    assert max(map(len, lines)) <= 110


def test_the_check_is_frozen_and_the_same_every_time():
    first, second = (ob.check_influence(plain, X, right, rng=3) for _ in range(2))
    np.testing.assert_array_equal(first.directions.found, second.directions.found)
    assert str(first) == str(second)
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.passed = False


def test_it_costs_two_evaluations_a_direction_and_one_a_replicate():
    calls = []

    def counted(x, weights):
        calls.append(1)
        return weighted(x, weights)

    ob.check_influence(counted, X, right, n_resamples=7, n_directions=3)
    assert len(calls) == 1 + 7 + 2 * 3


# Directions


def test_directions_differ_and_half_of_them_do_not_look_at_the_influence():
    """A mean of half the rows: what leans with an influence of these alone cannot show that the others matter."""
    half = np.where(np.arange(200) < 100, X, 0.0)
    probe = probed(((half - half.mean())[:, None],), ob.mean.prepared(read(X)), Execution(), n_directions=6)
    assert len(np.unique(np.round(probe.found, 12))) == 6
    assert not probe.agrees[0]


def test_several_samples_are_moved_together():
    samples = (X[:60], X[60:])
    check = ob.check_influence(ob.difference(ob.mean), samples, (X[60:][:60] * 0, X[60:] - X[60:].mean()))
    assert not check.passed
    right_ones = tuple(sign * (s - s.mean()) for sign, s in zip((1, -1), samples, strict=True))
    assert ob.check_influence(ob.difference(ob.mean), samples, right_ones).passed


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_few_rows_are_enough(n):
    assert ob.check_influence(weighted, X[:n]).passed


# Bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_resamples": 1}, "`n_resamples` must be a whole number of at least 2; got 1"),
        ({"n_directions": 0}, "`n_directions` must be a whole number of at least 1; got 0"),
        ({"influence": "magic"}, "`influence` must be one of 'auto'"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(errors.ArgumentError, match=re.escape(message)):
        ob.check_influence(ob.variance, X, **options)


def test_the_order_of_the_arguments():
    with pytest.raises(errors.ArgumentError, match="takes the statistic first, then the data"):
        ob.check_influence(X, plain)


def test_nothing_to_check():
    with pytest.raises(errors.InfluenceError, match="there is no influence function to check: none"):
        ob.check_influence(plain, np.arange(2001.0))


def test_values_of_the_wrong_shape():
    with pytest.raises(errors.InfluenceError, match=re.escape("`influence` must have shape (200,)")):
        ob.check_influence(ob.variance, X, X[1:])
