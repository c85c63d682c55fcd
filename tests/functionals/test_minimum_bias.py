"""The bias of second order of fits in closed form, against second differences, other closed forms and simulation."""

from __future__ import annotations

import numpy as np
import pytest

import orthoboot as ob
from orthoboot.influence import finite_difference_bias
from orthoboot.plans import PlanCovariance

pytestmark = pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")

RNG = np.random.default_rng(23)
N = 120
X = RNG.normal(size=(N, 2))
ETA = X @ [0.6, -0.4]
P = 1 / (1 + np.exp(-ETA))
TRIALS = RNG.integers(1, 6, size=N)
BINARY = (RNG.uniform(size=N) < P).astype(float)
COUNTS = RNG.poisson(np.exp(ETA)).astype(float)
POSITIVE = RNG.gamma(3.0, np.exp(ETA) / 3)

GROUPS = np.repeat(np.arange(45), RNG.permutation(np.repeat([1, 2, 5], 15)))[:N]
PLANS = {"rows": {}, "strata": {"strata": np.arange(N) % 3}, "groups": {"groups": GROUPS}}

MODELS = {
    "logistic": (ob.logistic_regression, (X, BINARY)),
    "proportions": (ob.logistic_regression, (X, RNG.binomial(TRIALS, P) / TRIALS, TRIALS.astype(float))),
    "probit": (ob.glm("binomial", "probit"), (X, BINARY)),
    "cloglog": (ob.glm("binomial", "cloglog"), (X, BINARY)),
    "poisson": (ob.glm("poisson"), (X, COUNTS)),
    # Rates with exposures as case weights.
    "exposures": (ob.glm("poisson"), (X, COUNTS / TRIALS, TRIALS.astype(float))),
    "gamma": (ob.glm("gamma", "log"), (X, POSITIVE)),
    "inverse_gaussian": (ob.glm("inverse_gaussian", "log"), (X, POSITIVE)),
    "gaussian": (ob.glm("gaussian", "log"), (X, POSITIVE)),
}


def run_of(model, data, **options):
    return ob.bootstrap(data, model, n_resamples=5, rng=0, paired=True, **options).run


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", MODELS)
def test_it_is_that_of_second_differences(name, plan):
    model, data = MODELS[name]
    run = run_of(model.replace(intercept=True), data, **PLANS[plan])
    found = run.prepared.second_order_bias(PlanCovariance(run.plan))
    expected = finite_difference_bias(run.prepared, run.execution, plan=run.plan)
    # Second differences leave the square of their step times the fourth derivative, large where few rows have a say.
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=3e-5 * np.sqrt(run.linear_variance).max())
    assert np.abs(found / np.sqrt(run.linear_variance)).max() > 0.02


@pytest.mark.parametrize("plan", PLANS)
def test_products_with_counts_of_rows_give_that_of_covariances_of_columns(plan):
    model, data = MODELS["exposures"]
    run = run_of(model, data, **PLANS[plan])
    found = run.prepared.second_order_bias(PlanCovariance(run.plan))
    np.testing.assert_allclose(found, run.prepared.second_order_bias(run.plan.covariance), rtol=1e-10)


@pytest.mark.parametrize("plan", [*PLANS, "blocks"])
def test_squares_have_that_of_least_squares(plan):
    options = {**PLANS, "blocks": {"block_length": 6}}[plan]
    of_glm, of_squares = (
        run_of(model, (X, COUNTS, TRIALS.astype(float)), **options)
        for model in (ob.glm("gaussian"), ob.linear_regression)
    )
    np.testing.assert_allclose(of_glm.second_order_bias, of_squares.second_order_bias, rtol=1e-9)


def test_an_exact_fit_has_none():
    run = run_of(ob.glm("poisson", intercept=True), (X, np.full(N, 3.0)))
    assert (run.prepared.second_order_bias(PlanCovariance(run.plan)) == 0).all()


@pytest.mark.parametrize("plan", ["rows", "groups", "blocks"])
def test_it_is_what_simulation_finds(plan):
    options = {**PLANS, "blocks": {"block_length": 6}}[plan]
    size = 1000 if plan == "blocks" else 4000  # blocks are drawn one resample at a time
    result = ob.bootstrap((X, BINARY), ob.logistic_regression, n_resamples=size, rng=3, paired=True, **options)
    beyond = result.replicates.values - result.estimate - result.replicates.linear
    noise = beyond.std(axis=0) / np.sqrt(len(beyond))
    known = result.run.second_order_bias
    # Four simulation errors, odds of one in ten thousand, and a tenth of the bias for the next order, 1/n of it.
    assert (np.abs(beyond.mean(axis=0) - known) < 4 * noise + 0.1 * np.abs(known)).all()
    assert np.abs(known[0]) > 4 * noise[0]


def test_it_adds_up_over_two_samples():
    half = N // 2
    samples = [(X[:half], BINARY[:half]), (X[half:], BINARY[half:])]
    strata = np.repeat([0, 1], half)
    # A model with coefficients of their own for the two samples is that of both.
    own = np.hstack([X * (strata == 0)[:, np.newaxis], X * (strata == 1)[:, np.newaxis]])
    together = run_of(ob.logistic_regression, (own, BINARY), strata=strata).second_order_bias
    apart = [run_of(ob.logistic_regression, sample).second_order_bias for sample in samples]
    np.testing.assert_allclose(together, np.concatenate(apart), rtol=1e-8)


def test_replicates_of_refits_are_told_of_it():
    wide = RNG.normal(size=(400, 15))
    response = (RNG.uniform(size=400) < 0.5).astype(float)
    run = run_of(ob.logistic_regression, (wide, response))
    assert run.known_bias is not None
    assert run_of(ob.logistic_regression, (wide, response), control="linear").known_bias is None


def test_the_reported_error_knows_a_curvature_that_few_replicates_do_not_show():
    options = {"n_resamples": 10, "paired": True}
    model, data = ob.logistic_regression, (X[:60], BINARY[:60])
    for seed in range(5):
        known = ob.bootstrap(data, model, rng=seed, **options)
        blind = ob.bootstrap(data, model, rng=seed, control="linear", **options)
        assert (known.simulation_error.standard_error >= blind.simulation_error.standard_error).all()
        np.testing.assert_allclose(known.standard_error, blind.standard_error, rtol=1e-12)
