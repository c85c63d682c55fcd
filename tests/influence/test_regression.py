"""Influence values fitted to the replicates: R's numbers, exact cases, honesty, and what is refused."""

from __future__ import annotations

import json
import pathlib
import subprocess
from dataclasses import dataclass

import numpy as np
import pytest
from benchmarks import regression_engine

import orthoboot as ob
from orthoboot import errors
from orthoboot.influence import Design, regression_fit
from orthoboot.plans import Iid, Plan, Scheme, Stratified
from orthoboot.plans.base import repeated_rows

RNG = np.random.default_rng(5)
X = RNG.exponential(size=20)
PAIRS = RNG.gamma(3.0, size=(30, 2))
SQUARES = ob.regression_on(lambda x: np.column_stack([x, x**2]))

# R's boot::empinf

STORED = pathlib.Path(__file__).parents[1] / "r" / "empinf.json"
SCRIPT = STORED.with_name("empinf.R")


@dataclass(frozen=True)
class StoredResamples(Scheme):
    """Resamples that somebody else has drawn, by a scheme whose exact mean is known."""

    n: int
    scheme: Scheme
    stored: np.ndarray

    def indices(self, key, stream, replicate):
        return repeated_rows(self.stored[replicate])

    def draws(self, influence):
        return self.scheme.draws(influence)

    def tilt(self, influence):
        return self.scheme.tilt(influence)


def check_against_empinf(answer):
    """R gives the influence of a row within its stratum; ours is of a row within the sample."""
    strata = np.repeat([0, 1], [4, 6])
    for name, scheme, scale in (
        ("rows", Iid(10), np.ones(10)),
        ("strata", Stratified(strata), 10 / np.array([4, 6])[strata]),
    ):
        values = np.array(answer[f"{name}_values"])[:, None]
        counts = np.array(answer[f"{name}_counts"], dtype=float).reshape(len(values), 10)
        design = Design(Plan((StoredResamples(10, scheme, counts),)), None)
        (influence,) = regression_fit(design, (0, 0), np.arange(len(values)), values).influence
        expected = np.array(answer[f"{name}_influence"]) * scale
        np.testing.assert_allclose(influence[:, 0], expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())


def test_the_fit_is_empinf_on_stored_resamples():
    check_against_empinf(json.loads(STORED.read_text()))


def test_the_fit_is_empinf_live(rscript, data_folder):
    printed = subprocess.run(
        [rscript, str(SCRIPT), str(data_folder / "city.csv")], capture_output=True, text=True, check=True
    ).stdout
    check_against_empinf(json.loads(printed))


# Where the answer is known


PLANS = {
    "rows": {},
    "strata": {"strata": np.repeat([0, 1, 2], [5, 6, 9])},
    "groups": {"groups": np.repeat(np.arange(10), 2)},
    "circular": {"block_length": 2},
    "moving": {"block_length": 2, "block_kind": "moving"},
    "stationary": {"block_length": 2, "block_kind": "stationary"},
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("influence", ["regression", ob.regression_on(X)], ids=["counts", "features"])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_the_linear_part_of_a_mean_is_the_mean_under_every_plan(plan, influence, scale):
    """The residual is constant: zero, or for moving blocks the mean of the linear part that is left out of it."""
    result = ob.bootstrap(scale * X, ob.mean, influence=influence, n_resamples=60, rng=1, **plan)
    residuals = result.bootstrap_distribution - result.estimate - result.linear_distribution
    assert np.ptp(residuals) < 1e-10 * result.standard_error
    assert abs(result.influence.mean()) < 1e-13 * np.abs(result.influence).max()
    exact = ob.bootstrap(scale * X, ob.mean, rng=1, **plan)
    assert result.standard_error == pytest.approx(exact.standard_error, rel=1e-10)


def test_a_mean_gives_each_row_its_own_influence():
    result = ob.bootstrap(X, ob.mean, influence="regression", n_resamples=60, rng=1)
    np.testing.assert_allclose(result.influence, X - X.mean(), rtol=1e-10, atol=1e-12)


def test_samples_have_coefficients_of_their_own():
    samples = (X, 3 + X[:15] ** 2)
    result = ob.bootstrap(samples, ob.difference(ob.mean), influence=ob.regression_on(samples), rng=0)
    exact = ob.bootstrap(samples, ob.difference(ob.mean), rng=0)
    for fitted, closed in zip(result.influence, exact.influence, strict=True):
        np.testing.assert_allclose(fitted, closed, rtol=1e-10, atol=1e-12)
    assert result.influence_source == "regression on 2 features, from 30 replicates (as asked)"


def test_many_replicates_lead_to_the_closed_form():
    """The noise of a fitted value is about sigma n / sqrt(B), sigma the residual of a replicate; 20 values within 6.

    The best linear fit over resamples is not the derivative: they differ by order 1/n.
    """
    result = ob.bootstrap(X, ob.variance, influence="regression", n_resamples=4000, rng=0)
    exact = ob.bootstrap(X, ob.variance, rng=0).influence
    noise = np.sqrt((1 - result.r_squared) * result.variance) * len(X) / np.sqrt(4000)
    assert 6 * noise < 0.1 * np.abs(exact).max()
    assert np.abs(result.influence - exact).max() < 6 * noise + np.abs(exact).max() / len(X)


def test_each_linear_part_is_from_the_fit_to_the_other_replicates():
    """By brute force: the regression repeated without the replicate."""
    result = ob.bootstrap(X, ob.variance, influence="regression", n_resamples=45, rng=3)
    simulation, values = result.run, result.bootstrap_distribution
    counts = simulation.plan.resamples(simulation.key, range(45)).weights[0]
    for b in (0, 7, 44):
        others = np.arange(45) != b
        design = np.column_stack([np.ones(44), counts[others] - 1])
        coefficients = np.linalg.lstsq(design, values[others], rcond=None)[0][1:]
        assert result.linear_distribution[b] == pytest.approx((counts[b] - 1) @ coefficients, rel=1e-9)


def test_the_vector_of_outputs_is_fitted_output_by_output():
    def both(d, weights):
        x, y = weights @ d / weights.sum()
        return {"ratio": x / y, "product": x * y}

    result = ob.bootstrap(PAIRS, both, influence=ob.regression_on(PAIRS), n_resamples=50, rng=0)
    alone = ob.bootstrap(PAIRS, ob.ratio, influence=ob.regression_on(PAIRS), n_resamples=50, rng=0)
    np.testing.assert_allclose(result.influence[:, 0], alone.influence, rtol=1e-9, atol=1e-12)


def test_features_may_have_any_scale_and_repeat_each_other():
    plain = ob.bootstrap(X, ob.variance, influence=SQUARES, rng=0)
    wild = ob.regression_on(np.column_stack([1e8 * X + 1e8, 1e-8 * X**2, X + X**2, np.ones(20)]))
    moved = ob.bootstrap(X, ob.variance, influence=wild, n_resamples=plain.n_resamples, rng=0)
    # The offset of 1e8 costs eight of the sixteen digits.
    np.testing.assert_allclose(moved.influence, plain.influence, rtol=1e-6, atol=1e-7)
    assert "regression on 2 features" in moved.influence_source


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_two_rows_and_constant_data():
    pair = ob.bootstrap([1.0, 2.0], ob.mean, influence="regression", n_resamples=20, rng=0)
    np.testing.assert_allclose(pair.influence, [-0.5, 0.5])
    constant = ob.bootstrap(np.ones(5), ob.mean, influence="regression", n_resamples=30, rng=0)
    assert constant.standard_error == 0
    assert not constant.influence.any()


# How a run goes


def test_defaults():
    assert ob.bootstrap(X, ob.variance, influence="regression", rng=0).n_resamples == 1000
    assert ob.bootstrap(X, ob.variance, influence=SQUARES, rng=0).n_resamples == 30


def test_the_batch_does_not_matter():
    one, many = (
        ob.bootstrap(X, ob.variance, influence="regression", n_resamples=60, batch=batch, rng=0) for batch in (1, 50)
    )
    np.testing.assert_array_equal(one.influence, many.influence)
    np.testing.assert_array_equal(one.linear_distribution, many.linear_distribution)


def test_extending_keeps_the_fit():
    first = ob.bootstrap(X, ob.variance, influence=SQUARES, rng=0)
    longer = first.extend(20)
    assert longer.n_resamples == 50
    np.testing.assert_array_equal(longer.influence, first.influence)
    np.testing.assert_array_equal(longer.linear_distribution[:30], first.linear_distribution)
    counts = longer.run.plan.resamples(longer.run.key, range(30, 50)).weights[0]
    np.testing.assert_allclose(longer.linear_distribution[30:], counts @ first.influence / 20, atol=1e-13)
    plain = ob.bootstrap(X, ob.variance, n_resamples=50, rng=0)
    np.testing.assert_array_equal(longer.bootstrap_distribution, plain.bootstrap_distribution)


def test_a_tolerance_goes_on_from_the_fit():
    result = ob.bootstrap(X, ob.variance, influence=SQUARES, tol=0.03, rng=0)
    assert 30 < result.n_resamples < 1000
    assert result.simulation_error.standard_error / result.standard_error <= 0.03
    assert "from 30 replicates" in result.influence_source


def test_the_statistic_is_evaluated_once_a_replicate():
    calls = []

    def statistic(x):
        calls.append(1)
        return x.var()

    ob.bootstrap(X, statistic, influence=SQUARES, n_resamples=40, rng=0)
    assert len(calls) == 42  # besides on the data, and on the rows in another order


@pytest.mark.parametrize("estimator", ["orthogonal", "paper", "standard", "jackknife"])
def test_every_estimator_takes_the_fit(estimator):
    if estimator == "jackknife":
        with pytest.warns(errors.MissingBiasWarning):
            result = ob.bootstrap(X, lambda x: x.var(), influence=SQUARES, estimator=estimator, rng=0)
    else:
        result = ob.bootstrap(X, lambda x: x.var(), influence=SQUARES, estimator=estimator, rng=0)
    assert result.n_resamples == 30
    assert result.standard_error == pytest.approx(ob.bootstrap(X, ob.variance, rng=0).standard_error, rel=0.4)


def test_an_interruption_with_enough_replicates_gives_a_result(interrupting):
    with pytest.warns(errors.InterruptedWarning):
        result = ob.bootstrap(X, interrupting(after=40), influence=SQUARES, n_resamples=60, rng=0)
    assert result.n_resamples == 39
    assert result.influence is not None


def test_an_interruption_with_too_few_replicates_is_one(interrupting):
    with pytest.raises(KeyboardInterrupt):
        ob.bootstrap(X, interrupting(after=5), influence=SQUARES, n_resamples=60, rng=0)


@pytest.fixture
def interrupting():
    def make(after):
        calls = []

        def statistic(x):
            calls.append(1)
            if len(calls) > after:
                raise KeyboardInterrupt
            return x.var()

        return statistic

    return make


# Honesty


@pytest.mark.parametrize(("case", "features"), regression_engine.CASES, ids=lambda value: getattr(value, "name", ""))
@pytest.mark.parametrize("kind", ["counts", "features"])
@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_the_fit_does_not_make_the_answer_look_better_than_it_is(case, features, kind):
    """On the fewest replicates, 200 seeds: a fit that knew its own replicates reported 0.35 of the true spread.

    The ratio of a mean report to a standard deviation over 200 seeds is known to 5%, so that 0.3 leaves the reports
    room for the roughness that they have with a known influence function too. The mean variance is known to about
    2 * spread / sqrt(200) = 1% here; 5% is five of these, and the truth is known to 0.5%.
    """
    influence, size = ("regression", 80) if kind == "counts" else (ob.regression_on(features), None)
    found = regression_engine.honesty(case, influence, size, 200, regression_engine.truth(case, 100_000))
    assert abs(found.variance - 1) < 0.05
    assert abs(found.reported - 1) < 0.3
    assert found.spread < 1.15 * found.standard_spread


# What is refused


def refused(message, data, statistic=ob.variance, **options):
    with pytest.raises(errors.InfluenceError) as caught:
        ob.bootstrap(data, statistic, rng=0, **options)
    assert message in str(caught.value)


def test_too_few_replicates_for_the_rows_are_refused_before_the_first():
    calls = []

    def statistic(x):
        calls.append(1)
        return x.var()

    message = (
        "a regression on the counts fits 19 numbers, one for each row or group but one, so it needs at least 34 "
        "replicates; got n_resamples=33. Draw more, or regress on a few features of the rows instead, "
        '`influence=ob.regression_on(features)`, or use influence="jackknife", which costs one evaluation per row.'
    )
    refused(message, X, statistic, influence="regression", n_resamples=33)
    assert len(calls) == 1
    assert ob.bootstrap(X, statistic, influence="regression", n_resamples=34, rng=0).n_resamples == 34


def test_the_default_may_be_too_few():
    refused("got 1,000, the default", np.arange(800.0), influence="regression")
    message = "got max_resamples=20"
    refused(message, X, influence="regression", tol=0.1, max_resamples=20)


def test_groups_count_as_one():
    groups = np.repeat(np.arange(10), 40)
    data = np.random.default_rng(0).exponential(size=400)
    assert ob.bootstrap(data, ob.mean, groups=groups, influence="regression", n_resamples=50, rng=0).n_resamples == 50


def test_too_many_rows_are_refused():
    refused("for at most 2,000 rows; got 2,001", np.arange(2001.0), influence="regression", n_resamples=5000)


def test_too_few_replicates_for_the_features():
    message = "a regression on 2 features fits 2 numbers, so it needs at least 7 replicates; got n_resamples=6."
    refused(message, X, influence=SQUARES, n_resamples=6)


def test_too_many_failures():
    def fails(x):
        if len(np.unique(x)) < 13:
            raise ValueError("too few")
        return x.var()

    refused("that did not fail, of 40", X, fails, influence="regression", n_resamples=40)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (X[1:], "`features` must have shape (20,) or (20, q): one row per row of the sample; got (19,)"),
        (np.zeros((20, 2, 2)), "got (20, 2, 2)"),
        (np.append(X[1:], np.nan), "`features` must be finite; got 1 NaN"),
        (np.ones(20), "`features` must vary between the rows; got constant columns only."),
        (np.full(20, 0.1), "`features` must vary between the rows"),
        (np.empty((20, 0)), "`features` must vary between the rows"),
        (["a"] * 20, "`features` must hold numbers; got list"),
        (lambda x: 1 / 0, "`features` raised ZeroDivisionError on the samples"),
    ],
)
def test_features_that_cannot_be_used(features, message):
    refused(message, X, influence=ob.regression_on(features))


def test_features_for_the_wrong_number_of_samples():
    message = "`features` must be a tuple with one array per sample; got 1 for 2 samples."
    refused(message, (X, X), ob.difference(ob.mean), influence=ob.regression_on(X))


def test_no_features_at_all():
    with pytest.raises(errors.InfluenceError, match='use influence="regression"'):
        ob.regression_on(None)


def test_a_request_without_its_features():
    with pytest.raises(errors.InfluenceError, match="`regression_on` must be given the features"):
        ob.bootstrap(X, np.mean, influence=ob.regression_on)
