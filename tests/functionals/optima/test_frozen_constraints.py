"""Optima with frozen constraints: when they are the optima themselves, and what guards them when they are not."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from tests.written_functions import beyond_the_ball, squared_distance

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ArgumentError, FitError
from orthoboot.optimisation.kkt import is_linear_in_unknowns
from orthoboot.warning_scopes import silenced

pytestmark = pytest.mark.usefixtures("jax")

N_ASSETS = 4
RNG = np.random.default_rng(14)
RETURNS = RNG.normal(0.0, np.linspace(0.16, 0.24, N_ASSETS), size=(60, N_ASSETS)) + RNG.normal(0.0, 0.05, size=(60, 1))


def moments(rows):
    return np.hstack([rows, (rows[:, :, np.newaxis] * rows[:, np.newaxis]).reshape(len(rows), -1)])


def risk(x, xi):
    mean, second = xi[:N_ASSETS], xi[N_ASSETS:].reshape(N_ASSETS, N_ASSETS)
    return x @ second @ x - (mean @ x) ** 2


def budget(x, xi):
    return x.sum() - 1


def short_sales(x, xi):
    return -x


def portfolio(**options):
    """The portfolio of least variance, fully invested."""
    start = np.full(N_ASSETS, 1 / N_ASSETS)
    return ob.minimize(risk, start, equality=budget, parameters=moments, **{"library": "jax", **options})


def best_shares(weights, rows):
    """The same in closed form for many resamples: ``C^-1 1 / (1' C^-1 1)``."""
    means = weights @ moments(rows) / weights.sum(axis=1, keepdims=True)
    first, p = means[:, : rows.shape[1]], rows.shape[1]
    covariances = means[:, p:].reshape(-1, p, p) - first[:, :, np.newaxis] * first[:, np.newaxis]
    solved = np.linalg.solve(covariances, np.ones((len(weights), rows.shape[1], 1)))[..., 0]
    return solved / solved.sum(axis=1, keepdims=True)


def drawn(n, number, seed=0):
    return np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=number).astype(float)


def parts_of(functional, rows, weights):
    """Changes of the statistic, of its surrogate and of its linear part."""
    prepared, resamples = functional.prepared(read(rows)), Resamples((weights,))
    linear = weights @ prepared.influence()[0] / len(rows)
    return (
        prepared.values(resamples) - prepared.estimate,
        prepared.surrogate.values(resamples) - prepared.estimate,
        linear,
    )


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_under_equalities_it_is_the_quadratic_programme_itself(library, request):
    request.getfixturevalue(library)
    functional = portfolio(output="both", library=library)
    assert functional.prepared(read(RETURNS)).surrogate.frozen.n_steps == 1
    values, surrogate, linear = parts_of(functional, RETURNS, drawn(60, 20))
    np.testing.assert_allclose(surrogate, values, rtol=0, atol=1e-12)
    assert np.abs(linear - values).max() > 1e-3


def test_a_constant_matrix_is_factored_once():
    functional = ob.minimize(
        lambda x, xi: ((x - xi**2) ** 2).sum(), 3, equality=budget, inequality=lambda x, xi: x[:1] - 0.2, library="jax"
    )
    rows = RNG.normal([1.0, 0.5, 0.2], 0.1, size=(30, 3))
    surrogate = functional.prepared(read(rows)).surrogate
    assert surrogate.frozen.constant is not None
    values, changes, _ = parts_of(functional, rows, drawn(30, 20))
    np.testing.assert_allclose(changes, values, rtol=0, atol=1e-12)


def exponential_cost(x, xi):
    return (x - xi[:2] * x).sum() + ((x - xi[:2]) ** 4).sum() + (x[0] * x[1]) ** 2 + (x**2).sum() * xi[2]


@pytest.mark.parametrize(
    "functional",
    [
        ob.minimize(exponential_cost, 2, output="both", library="jax"),
        ob.minimize(squared_distance, 3, inequality=beyond_the_ball, output="both", library="jax"),
    ],
    ids=["smooth and nonlinear", "an inequality that stays active"],
)
def test_close_to_smooth_problems(functional):
    rows = RNG.normal([2.0, 1.5, 1.0], 1.0, size=(40, 3))
    assert functional.prepared(read(rows)).surrogate.frozen.n_steps == 3
    values, surrogate, linear = parts_of(functional, rows, drawn(40, 50))
    assert np.abs(surrogate - values).max() < 1e-3 * np.abs(linear - values).max()


def test_what_a_bound_holds_stays_there_to_the_last_bit():
    cheap = RETURNS + np.array([0.0, 0.0, 0.0, 1.0]) * 2 * RNG.standard_normal((60, 1))
    prepared = portfolio(inequality=short_sales).prepared(read(cheap))
    held = prepared.estimate == 0
    assert held.any()
    assert (prepared.surrogate.values(Resamples((drawn(60, 50),)))[:, held] == 0).all()


def test_a_corner_of_a_linear_programme_is_followed():
    functional = ob.minimize(
        lambda x, xi: -(x @ xi[:2]),
        np.zeros(2),
        inequality=lambda x, xi: [x[0] + 2 * x[1] - xi[2], 3 * x[0] + x[1] - 4.0],
        library="jax",
    )
    rows = RNG.normal([2.0, 1.5, 3.0], 0.1, size=(40, 3))
    values, surrogate, _ = parts_of(functional, rows, drawn(40, 20))
    np.testing.assert_allclose(surrogate, values, rtol=0, atol=1e-12)


def test_a_corner_that_stays_where_it_is_needs_none():
    """Replicates jump from corner to corner: frozen constraints know nothing of that."""
    prices = ob.minimize(
        lambda x, xi: -(x @ xi), np.full(2, 0.5), equality=budget, inequality=short_sales, library="jax"
    )
    rows = RNG.normal([1.0, 0.8], 1.0, size=(40, 2))
    assert prices.prepared(read(rows)).surrogate is None
    assert result_of(prices, rows).control == "linear"


def test_there_is_no_value_without_a_minimum():
    functional = ob.minimize(lambda x, xi: xi[1] * (x**2).sum() / 2 - xi[0] * x.sum(), 1, library="jax")
    surrogate = functional.prepared(read(np.array([[1.0, 2.0], [3.0, 2.0]]))).surrogate
    found = surrogate.outputs(np.array([[1.0, 2.0], [1.0, 0.0], [1.0, -2.0], [np.nan, 2.0], [1.0, 4.0]]))
    np.testing.assert_allclose(found[:, 0], [0.5, np.nan, np.nan, np.nan, 0.25], rtol=1e-14)


def test_steps_that_do_not_shrink_have_no_value():
    """The minimum of ``log cosh(x - xi)`` is at xi, and Newton's method leaves it from farther than one."""
    numpy = pytest.importorskip("jax.numpy")
    functional = ob.minimize(lambda x, xi: numpy.log(numpy.cosh(x - xi)).sum(), 1, library="jax")
    surrogate = functional.prepared(read(np.array([-1.0, 1.0]))).surrogate
    assert surrogate.frozen.constant is None  # although the curvature is the same for another x and xi
    found = surrogate.outputs(np.array([[0.1], [0.5], [3.0]]))
    np.testing.assert_allclose(found[:, 0], [0.1, 0.5, np.nan], rtol=1e-6)


def test_values_depend_on_each_other_by_rounding_alone():
    prepared = portfolio().prepared(read(RETURNS))
    weights = drawn(60, 300)
    together = prepared.surrogate.values(Resamples((weights,)))
    alone = prepared.surrogate.values(Resamples((weights[270:273],)))
    np.testing.assert_allclose(alone, together[270:273], rtol=1e-9)


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_functions_that_branch_on_the_numbers_have_none(library, request):
    request.getfixturevalue(library)

    def loss(x, xi):
        return squared_distance(x, xi) if xi.sum() < 9 else x.sum()

    rows = RNG.standard_normal((20, 3))
    functional = ob.minimize(loss, 3, library=library)
    assert functional.prepared(read(rows)).surrogate is None
    with pytest.raises(ArgumentError, match="has no surrogate"):
        ob.bootstrap(rows, functional, control="surrogate", rng=0)


def test_conditions_are_linear_for_quadratic_objectives_under_linear_constraints():
    for functional, linear in ((portfolio(), True), (portfolio(inequality=beyond_the_ball), False)):
        solved = functional.prepared(read(RETURNS)).solved
        assert is_linear_in_unknowns(solved.optimum, solved.means.centre) is linear


# As a control


def result_of(functional, rows, n_resamples=10, **options):
    with silenced():
        return ob.bootstrap(rows, functional, n_resamples=n_resamples, rng=3, **options)


def with_control(result, control):
    """The same replicates with another control."""
    run = replace(result.run, control_request=control, control_is_found=False).with_control()
    return replace(result, run=run)


def error_of(result, truth):
    """The relative RMSE of the variance over the runs of ten that the replicates make."""
    with silenced():
        starts = range(0, len(result.replicates), 10)
        runs = [result.with_estimator("orthogonal", slice(start, start + 10)) for start in starts]
    return np.sqrt(np.mean([(np.ravel(one.variance) / truth - 1) ** 2 for one in runs]))


def test_ten_solutions_of_a_portfolio_are_worth_many():
    rows = np.random.default_rng(15).normal(0.0, [0.8, 1.0, 1.2, 1.0], size=(100, N_ASSETS))
    shares = best_shares(drawn(100, 20_000, seed=9), rows)
    assert (shares > 0).mean() > 0.9999  # so that the closed form is the solution without short sales, too
    truth = shares.var(axis=0, ddof=1)
    linear = result_of(portfolio(inequality=short_sales), rows, 100, control="linear")
    control = with_control(linear, "auto")
    assert (control.control, control.run.control.probes.contradicted.any()) == ("surrogate", False)
    # 2000 draws know the variance, of which the linear part explains most, to .03 or better.
    assert error_of(control, truth) < min(0.5 * error_of(linear, truth), 0.06)


def ratio_or_zero(rows, weights):
    means = weights @ rows / weights.sum(axis=1, keepdims=True)
    return np.maximum(means[:, 0] / means[:, 1], 0)


def test_a_constraint_that_binds_in_some_resamples_is_guarded():
    """The solution is ``max(xi_0 / xi_1, 0)``, and zero in every ninth resample or so: the surrogate goes on below.

    Over nine data sets of other seeds the error was 0.99 times that by the linear part, and probes spoke against the
    surrogate in eight.
    """
    functional = ob.minimize(
        lambda x, xi: xi[1] * (x**2).sum() / 2 - xi[0] * x.sum(), 1, inequality=lambda x, xi: -x, library="jax"
    )
    by_linear, by_control, contradicted = [], [], []
    for seed in (20, 21, 22):
        rows = np.random.default_rng(seed).normal([0.0, 1.0], [1.0, 0.5], size=(30, 2))
        rows[:, 0] += 0.2 - rows[:, 0].mean()
        found = ratio_or_zero(rows, drawn(30, 50_000, seed=9))
        assert 0.03 < (found == 0).mean() < 0.3
        linear = result_of(functional, rows, 100, control="linear")
        control = with_control(linear, "surrogate")
        # By a probe at a draw where the surrogate is far below zero; the farthest draws of the first set are elsewhere.
        contradicted.append(bool(control.run.control.probes.contradicted.any()))
        by_linear.append(error_of(linear, found.var(ddof=1)))
        by_control.append(error_of(control, found.var(ddof=1)))
    assert contradicted[1:] == [True, True]
    assert np.linalg.norm(by_control) < 1.1 * np.linalg.norm(by_linear)


def test_it_survives_pickle_and_goes_on():
    result = result_of(portfolio(), RETURNS)
    longer = result_of(portfolio(), RETURNS, 12)
    for one in (result, pickle.loads(pickle.dumps(result))):
        np.testing.assert_allclose(one.extend(2).variance, longer.variance, rtol=1e-9)


@pytest.mark.slow
def test_jobs_change_nothing():
    alone, shared = (result_of(portfolio(), RETURNS, n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_allclose(shared.variance, alone.variance, rtol=1e-9)


def test_it_is_taken_only_where_draws_cost_no_more_than_ten_searches():
    p = 60
    functional = ob.minimize(
        lambda x, xi: (x**2).sum() * xi[1] + (x @ x[::-1]) * xi[0] / 3 - x[0],
        np.ones(p),
        equality=budget,
        library="jax",
    )
    rows = RNG.normal([0.3, 2.0], 0.1, size=(30, 2))
    surrogate = functional.prepared(read(rows)).surrogate
    assert 300 * surrogate.work > 10 * surrogate.replaced_work
    assert result_of(functional, rows).control == "linear"
    small = portfolio().prepared(read(RETURNS)).surrogate
    assert 2000 * small.work < 10 * small.replaced_work * 1.1


def test_the_value_alone_keeps_its_quadratic_part():
    assert result_of(portfolio(output="value"), RETURNS).control == "quadratic"
    assert result_of(portfolio(output="both"), RETURNS).control == "surrogate"


GROUPS = np.repeat(np.arange(20), np.tile([1, 2, 3, 4, 5], 4))


@pytest.mark.parametrize("options", [{}, {"groups": GROUPS}], ids=["rows", "groups"])
def test_the_third_order_of_a_value_is_that_of_its_closed_form(options):
    """``min exp(x) - xi x`` is ``xi - xi log xi``; the total of groups of unequal size varies too."""
    rows = np.random.default_rng(2).gamma(2.0, size=(60, 1))
    value = ob.minimize(lambda x, xi: np.e ** x[0] - xi[0] * x[0], np.zeros(1), output="value", library="jax")
    closed = ob.function_of_means(lambda x: x, lambda m: m[0] - m[0] * np.log(m[0]))
    ours, theirs = (result_of(each, rows, control="quadratic", **options).run.control for each in (value, closed))
    assert np.abs(theirs.third) > 0.001
    np.testing.assert_allclose(ours.third, theirs.third, rtol=1e-3)
    np.testing.assert_allclose(ours.covariance(), theirs.covariance(), rtol=1e-6)


def test_the_third_order_of_a_value_holds_the_constraints_that_bind():
    """With no share below zero the last asset is left out, and the value is that of the others alone."""
    rows = RETURNS + np.array([0.0, 0.0, 0.0, 3.0]) * (RETURNS[:, :1] + RETURNS[:, 1:2])
    held = portfolio(output="value", inequality=short_sales)
    assert held.replace(output="solution")(rows)[-1] == 0
    free = held.replace(inequality=lambda x, xi: -x[:1], equality=lambda x, xi: [x.sum() - 1, x[-1]])
    ours, theirs = (result_of(each, rows, control="quadratic").run.control for each in (held, free))
    assert np.abs(theirs.third) > 1e-5
    np.testing.assert_allclose(ours.third, theirs.third, rtol=1e-6)


def test_without_a_solution_beside_the_data_the_third_order_is_not_known(monkeypatch):
    """Then the doubt about the slope is that of a control which knows none."""

    def fails(*arguments, **options):
        raise FitError("no solution")

    monkeypatch.setattr("orthoboot.functionals.optima.minimize.stationary", fails)
    control = result_of(portfolio(output="value"), RETURNS).run.control
    assert np.isnan(control.third).all()
    assert np.isinf(control._slope_doubt).all()
