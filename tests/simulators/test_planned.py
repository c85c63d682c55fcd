"""Inputs with a resampling plan of their own: exact variances of sums, and resamples that follow the plan."""

from __future__ import annotations

import numpy as np
import pytest
from tests.simulators.queues import mean_wait

import orthoboot as ob
from orthoboot import errors
from orthoboot.simulators.planned import _scaled

RNG = np.random.default_rng(3)
LABELS = np.repeat(np.arange(15), RNG.integers(2, 9, 15))
X = RNG.gamma(2.0, size=15)[LABELS] + RNG.exponential(size=len(LABELS))
N = len(X)

PLANS = {
    "strata": {"strata": np.median(X) < X},
    "groups": {"groups": LABELS},
    "circular": {"block_length": 5},
    "moving": {"block_length": 5, "block_kind": "moving"},
}


def _total(x):
    return x.sum(axis=1)


def _result(given, run=_total, **options):
    return ob.input_uncertainty(run, {"x": given}, **{"horizon": 3, "n_runs": 1000, "rng": 0, **options})


@pytest.mark.parametrize("name", PLANS)
def test_a_sum_of_draws_has_the_variance_of_the_plan(name):
    result = _result(ob.input(X, **PLANS[name]))
    scheme = ob.plans.plan_for([N], **PLANS[name]).schemes[0]
    expected = 3 * np.sqrt(scheme.variance((X - X.mean())[:, np.newaxis])[0])
    assert result.estimate == pytest.approx(3 * X.mean())
    assert result.input_error == pytest.approx(expected, rel=1e-6)
    assert result.input_error != pytest.approx(_result(X).input_error, rel=0.02)
    assert _result(ob.input(X, scheme)).input_error == result.input_error


def test_rows_without_a_plan_are_those_of_plain_data():
    plain, planned = _result(X), _result(ob.input(X))
    assert planned.input_error == pytest.approx(plain.input_error)
    np.testing.assert_allclose(planned.influence["x"], plain.influence["x"], rtol=1e-6, atol=1e-9)


def test_groups_of_other_sizes_have_the_bias_of_a_ratio():
    # The mean of a resample of groups is a ratio of sums, sum(count total) / sum(count size).
    result = _result(ob.input(X, groups=LABELS))
    sizes = np.bincount(LABELS)
    totals = np.bincount(LABELS, X - X.mean())
    expected = -3 * np.mean((totals - totals.mean()) * (sizes - sizes.mean())) * len(sizes) / N**2
    assert result.bias == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", PLANS)
def test_long_runs_are_resampled_by_the_plan(name):
    inputs = {"arrival": np.random.default_rng(1).exponential(3.5, 150), "service": ob.input(X, **PLANS[name])}
    result = ob.input_uncertainty(lambda x: x.mean(axis=1), {"x": inputs["service"]}, horizon=400, n_runs=600, rng=0)
    assert result.regime == "two-layer"
    scheme = ob.plans.plan_for([N], **PLANS[name]).schemes[0]
    expected = np.sqrt(scheme.variance((X - X.mean())[:, np.newaxis])[0])
    # The linear part has an exact variance, and the mean is nearly linear.
    assert result.input_error == pytest.approx(expected, rel=0.06)
    wait = ob.input_uncertainty(mean_wait, inputs, horizon=10, n_runs=1000, rng=0)
    assert set(wait.contributions) == {"arrival", "service", "arrival x service"}


def test_ranks_among_rows_of_another_number_are_uniform():
    ranks = np.random.default_rng(0).integers(0, 50, 200_000)
    counts = np.bincount(_scaled(ranks, 50, 37), minlength=37)
    # Of 37 counts of 5,405 each, with errors of 73, one is off by 4.5 errors with odds of one in four thousand.
    assert len(counts) == 37
    assert np.abs(counts - 200_000 / 37).max() < 4.5 * np.sqrt(200_000 / 37)


def test_a_checkpoint_knows_the_plan(tmp_path):
    options = {"checkpoint": tmp_path / "runs"}
    first = _result(ob.input(X, groups=LABELS), **options)
    assert _result(ob.input(X, groups=LABELS), **options).input_error == first.input_error
    with pytest.raises(errors.CheckpointError, match="inputs"):
        _result(ob.input(X, strata=LABELS), **options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ob.input(X, ob.plans.Cluster(LABELS), groups=LABELS), "got both"),
        (lambda: ob.input(X, "groups"), "must be a scheme of `ob.plans`"),
        (lambda: _result(ob.input(X, ob.plans.Cluster(LABELS[:-1]))), "the plan must be for its"),
        (lambda: _result(ob.input(X, groups=LABELS[:-1])), "one label per row"),
        (lambda: _result(ob.input(X, strata=LABELS, groups=LABELS)), "At most one of"),
    ],
)
def test_plans_that_cannot_be_used(make, message):
    with pytest.raises(errors.ArgumentError, match=message):
        make()
