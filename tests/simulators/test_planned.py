"""Inputs with a resampling plan of their own: exact variances of sums, and resamples that follow the plan."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.simulators import closed_forms as exact
from tests.simulators.queues import mean_wait

import orthoboot as ob
from orthoboot import errors
from orthoboot.simulators.planned import PlannedInput

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


@pytest.mark.parametrize("given", [ob.input(X), ob.input(X, ob.plans.Iid(N))], ids=["no plan", "independent rows"])
@pytest.mark.parametrize("run", [_total, exact.rough_sum, exact.product])
def test_rows_without_a_plan_are_those_of_plain_data(given, run):
    plain, planned = _result(X, run), _result(given, run)
    assert planned.input_error == plain.input_error
    np.testing.assert_array_equal(planned.influence["x"], plain.influence["x"])


@pytest.mark.parametrize("name", PLANS)
def test_influence_that_no_feature_describes_counts_under_the_plan(name):
    result = _result(ob.input(X, **PLANS[name]), exact.rough_sum, n_runs=5000)
    scheme = ob.plans.plan_for([N], **PLANS[name]).schemes[0]
    influence = exact.influence_of_sum(exact.rough_sum, X, 3)
    expected = np.sqrt(scheme.variance(influence[:, np.newaxis])[0])
    assert np.abs(result.input_error - expected) < 4 * result.simulation_error.input_error < 0.3 * expected
    assert np.corrcoef(result.influence["x"], influence)[0, 1] ** 2 > 0.95


@pytest.mark.parametrize("name", PLANS)
def test_the_raw_form_is_the_mean_over_pairs_of_runs_under_the_plan(name):
    estimation = _result(ob.input(X, **PLANS[name]), exact.rough_sum, n_runs=300).estimation
    residuals, distances = exact.residuals_and_distances(estimation)
    entry = estimation.records.experiment.inputs[0]
    covariance = entry.scheme.covariance(entry.in_data_order(np.eye(N)))
    products = (distances @ covariance @ distances.T) * residuals * residuals[:, np.newaxis]
    runs = len(residuals)
    literal = (products.sum() - np.trace(products)) / (runs * (runs - 1))
    assert estimation.first.residual[0, 0] == pytest.approx(literal, rel=1e-9)
    of_noise = 2 * (products**2).sum() - 2 * (np.diag(products) ** 2).sum()
    # The literal noise is over all pairs of runs, the estimate over neighbours.
    assert estimation.first.raw.noise[0, 0] == pytest.approx(of_noise / (runs * (runs - 1)) ** 2, rel=0.5)


def _ratios(given, run, seeds=30, **options):
    """Reported errors over true ones, of the estimate and of the bias."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FewRunsWarning)
        results = [_result(given, run, rng=seed, **options) for seed in range(seeds)]
    found = np.array([(one.estimate, one.bias) for one in results])
    reported = np.mean([(one.simulation_error.estimate, one.simulation_error.bias) for one in results], axis=0)
    return reported / found.std(axis=0, ddof=1)


def test_errors_under_a_plan_are_honest():
    # Groups that are alike, so that the bias is ten times that of independent rows. The standard deviation over 30
    # seeds has a relative error of 13%, and more where tails are long.
    days = np.repeat(np.arange(20), 10)
    x = np.random.default_rng(1).gamma(2.0, size=20)[days] + np.random.default_rng(2).exponential(size=200)
    ratios = _ratios(ob.input(x, groups=days), exact.product)
    assert (ratios > 0.6).all()
    assert (ratios < 1.6).all()


def test_a_far_row_that_is_drawn_twice_does_not_lead_under_a_plan():
    # Each row a group of its own: the plan is that of plain data, and so are the estimates but for their draws.
    x = np.random.default_rng(4).lognormal(size=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FewRunsWarning)
        spreads = [
            np.std([_result(given, exact.product, rng=seed).estimate for seed in range(20)])
            for given in (x, ob.input(x, groups=np.arange(100)))
        ]
    # Twenty seeds each: the ratio of their standard deviations is known to a fifth, with long tails to a half.
    assert spreads[1] < 2 * spreads[0]


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
    assert 0.2 < wait.contributions["service"] < 0.99


def test_the_first_draw_of_a_resample_of_another_size_is_uniform():
    entry = ob.input(np.arange(N, dtype=float), groups=LABELS).named("x")
    assert isinstance(entry, PlannedInput)
    levels = entry.positions((1, 2), 0, range(20_000), 1, 1)
    drawn = entry.resampled_values((1, 2), 5, [7] * 20_000, levels)[:, 0].astype(int)
    counts = entry.scheme.counts((1, 2), 5, [7])[0]
    assert counts.sum() != N
    expected = 20_000 * counts / counts.sum()
    # The odds that any of some 70 counts is off by 4.5 of its errors are below one in a thousand.
    assert (np.abs(np.bincount(drawn, minlength=N) - expected) <= 4.5 * np.sqrt(expected)).all()


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


def _value_of_row(values):
    """A model whose draws count by a value of their row, which no function of the row itself tells."""
    order, ordered = np.argsort(X), np.sort(X)
    return lambda x: values[order[np.searchsorted(ordered, x)]].sum(axis=1)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.FewRunsWarning")
@pytest.mark.parametrize("kind", ["mean of the group", "deviation from it"])
def test_features_and_influence_beyond_them_are_correlated_under_a_plan(kind):
    means = (np.bincount(LABELS, X) / np.bincount(LABELS))[LABELS]
    values = means if kind == "mean of the group" else X - means
    result = _result(ob.input(X, groups=LABELS), _value_of_row(values), n_runs=5000)
    scheme = ob.plans.Cluster(LABELS)
    expected = 3 * np.sqrt(scheme.variance((values - values.mean())[:, np.newaxis])[0])
    # Without the covariance the first was a quarter too small, and the second two thirds of a standard error of rows.
    assert np.abs(result.input_error - expected) < 4 * result.simulation_error.input_error
    assert np.abs(result.input_error - expected) < 0.05 * 3 * X.std() / np.sqrt(len(np.unique(LABELS)))


def _mean_maximum(rows, draws=3):
    levels = np.arange(len(rows) + 1) / len(rows)
    return np.sort(rows) @ np.diff(levels**draws)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.FewRunsWarning")
def test_groups_have_their_own_third_moments():
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(20), 5)
    x = rng.gamma(2.0, size=20)[groups] + 0.3 * rng.gamma(2.0, size=100)
    drawn = rng.integers(0, 20, (10_000, 20))
    expected = np.std([_mean_maximum(x.reshape(20, 5)[rows].ravel()) for rows in drawn])
    found = np.mean(
        [_result(ob.input(x, groups=groups), exact.maximum, n_runs=2000, rng=seed).input_error for seed in range(6)]
    )
    # The reference is known to .7%; with the third moments of no one it was 3.3% too large.
    assert found == pytest.approx(expected, rel=0.022)


@pytest.mark.parametrize("name", PLANS)
def test_rows_that_are_all_equal_have_no_uncertainty_under_a_plan(name):
    options = {key: value for key, value in PLANS[name].items() if key != "strata"} or {"strata": LABELS}
    with pytest.warns(errors.ConstantDataWarning):
        assert _result(ob.input(np.ones(N), **options)).input_error == 0
