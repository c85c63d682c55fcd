"""Problems of cvxpy: their solutions, their influence functions, and what is refused."""

from __future__ import annotations

import pathlib
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests import elsewhere

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import (
    ArgumentError,
    DataError,
    FailedReplicatesWarning,
    FitError,
    FitWarning,
    MissingDependencyError,
    StatisticError,
)

cp = pytest.importorskip("cvxpy")
pytest.importorskip("diffcp")

from orthoboot.models.cvxpy import solution  # noqa: E402

N_ROWS = 60
RETURNS = np.random.default_rng(0).normal([0.05, 0.1, 0.15, 0.2], [0.1, 0.2, 0.3, 0.5], size=(250, 4))
ROWS = np.random.default_rng(1).gamma(2.0, size=(N_ROWS, 3))


def portfolio() -> tuple[Any, Any, Any, Any]:
    mean, factor, shares = cp.Parameter(4, name="mean"), cp.Parameter((4, 4), name="factor"), cp.Variable(4, name="x")
    risk = cp.sum_squares(factor @ shares) / 2 - mean @ shares / 5
    return cp.Problem(cp.Minimize(risk), [cp.sum(shares) == 1, shares >= 0]), mean, factor, shares


def portfolio_statistic() -> ob.Functional:
    problem, mean, factor, shares = portfolio()
    estimates = {mean: ob.mean, factor: ob.covariance_factor}
    return ob.from_cvxpy(problem, estimates, {"solution": shares, "value": "value"})


# One builder for each kind of cone, target and parameter; all take rows of three positive columns.


def with_second_order_cone() -> ob.Functional:
    x, centre = cp.Variable(3), cp.Parameter(3)
    problem = cp.Problem(cp.Minimize(cp.norm(x - centre)), [cp.norm(x) <= 1])
    return ob.from_cvxpy(problem, {centre: ob.mean}, {"x": x, "value": "value"})


def with_exponential_cone() -> ob.Functional:
    x, weights = cp.Variable(3), cp.Parameter(3, nonneg=True)
    problem = cp.Problem(cp.Maximize(weights @ cp.log(x)), [cp.sum(x) <= 2])
    return ob.from_cvxpy(problem, {weights: lambda rows: rows}, {"x": x, "value": "value"})


def with_semidefinite_cone() -> ob.Functional:
    x, shifted = cp.Variable((3, 3), PSD=True), cp.Parameter((3, 3), symmetric=True)
    second = ob.function_of_means(_products, lambda means: means.reshape(3, 3, *means.shape[1:]) - 8)
    return ob.from_cvxpy(cp.Problem(cp.Minimize(cp.sum_squares(x - shifted))), {shifted: second}, x)


def linear_program() -> ob.Functional:
    x, price, stock = cp.Variable(2, nonneg=True), cp.Parameter(2), cp.Parameter()
    problem = cp.Problem(cp.Maximize(price @ x), [x[0] + 2 * x[1] <= stock, 3 * x[0] + x[1] <= 4])
    estimates = {price: lambda rows: rows[:, :2], stock: lambda rows: rows[:, 2]}
    return ob.from_cvxpy(problem, estimates, {"x": x, "value": "value"})


def of_an_expression_in_variables_and_parameters() -> ob.Functional:
    x, centre, scale = cp.Variable(3), cp.Parameter(3), cp.Parameter()
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - centre)), [cp.sum(x) == 1])
    estimates = {centre: ob.mean, scale: lambda rows: rows[:, 0]}
    return ob.from_cvxpy(problem, estimates, cp.norm(x - scale) + centre @ x)


def of_a_matrix() -> ob.Functional:
    x, second, first = cp.Variable((3, 2)), cp.Parameter((3, 3), symmetric=True), cp.Parameter((3, 2))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(second @ x - first)), [x[0, 1] == 0.05])
    outer = {second: lambda rows: rows[:, :, None] * rows[:, None, :], first: lambda rows: rows[:, :, None] ** [1, 2]}
    return ob.from_cvxpy(problem, outer, x)


def with_a_kinked_objective() -> ob.Functional:
    x, centre = cp.Variable(3), cp.Parameter(3)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - centre) + 3 * cp.max(x) + cp.norm1(x)))
    return ob.from_cvxpy(problem, {centre: lambda rows: rows - [0, 0, 1.8]}, {"x": x, "value": "value"})


def _products(rows: Any) -> Any:
    return (rows[:, :, None] * rows[:, None, :]).reshape(-1, 9)


BUILDERS = [
    with_second_order_cone,
    with_semidefinite_cone,
    linear_program,
    of_an_expression_in_variables_and_parameters,
    of_a_matrix,
    with_a_kinked_objective,
]


def slopes_towards_rows(statistic: ob.Functional, rows: np.ndarray, numbers: range, distance: float) -> np.ndarray:
    """Return central differences of fourth order towards some rows, shape ``(len(numbers), k)``."""
    n, prepared = len(rows), statistic.prepared(read(rows))
    towards = n * np.eye(n)[list(numbers)] - 1
    ahead_2, ahead, behind, behind_2 = (
        prepared.values(Resamples((1 + multiple * distance * towards,))) for multiple in (2, 1, -1, -2)
    )
    return (8 * (ahead - behind) - (ahead_2 - behind_2)) / (12 * distance)


def counts(n_resamples: int) -> Resamples:
    rng = np.random.default_rng(0)
    return Resamples((rng.multinomial(N_ROWS, np.full(N_ROWS, 1 / N_ROWS), size=n_resamples).astype(float),))


# Influence


@pytest.mark.parametrize("builder", BUILDERS)
def test_the_influence_is_the_derivative_towards_each_row(builder: Callable[[], ob.Functional]) -> None:
    statistic = builder()
    prepared = statistic.prepared(read(ROWS))
    influence = prepared.influence()[0][:5]
    assert "diffcp" in prepared.influence_source
    slopes = slopes_towards_rows(statistic, ROWS, range(5), 3e-3)
    np.testing.assert_allclose(influence, slopes, rtol=0, atol=1e-5 * np.abs(slopes).max())


def test_the_influence_through_an_exponential_cone_is_the_closed_form() -> None:
    # The solution is 2 w / sum(w). Differences would not do: near the edge of the cone solutions end at eight digits.
    (influence,) = with_exponential_cone().prepared(read(ROWS)).influence()
    weights, deviations = ROWS.mean(axis=0), ROWS - ROWS.mean(axis=0)
    total, shares = weights.sum(), weights / weights.sum()
    solution = 2 * (deviations - deviations.sum(axis=1, keepdims=True) * shares) / total
    value = deviations @ np.log(2 * shares)
    expected = np.column_stack([solution, value])
    np.testing.assert_allclose(influence, expected, rtol=0, atol=1e-5 * np.abs(value).max())


@pytest.mark.parametrize("builder", [*BUILDERS, with_exponential_cone])
def test_a_well_posed_problem_leaves_no_doubts(builder: Callable[[], ob.Functional]) -> None:
    assert builder().prepared(read(ROWS)).findings() == ()


@pytest.mark.usefixtures("jax")
def test_a_portfolio_is_that_of_minimize() -> None:
    import jax.numpy as jnp

    def moments(returns: Any) -> Any:
        return np.hstack([returns, (returns[:, :, None] * returns[:, None, :]).reshape(-1, 16)])

    def risk(x: Any, xi: Any) -> Any:
        second = xi[4:].reshape(4, 4) - jnp.outer(xi[:4], xi[:4])
        return x @ second @ x / 2 - xi[:4] @ x / 5

    def budget(x: Any, xi: Any) -> Any:
        return x.sum() - 1

    written = ob.minimize(
        risk, np.full(4, 0.25), equality=budget, inequality=lambda x, xi: -x, parameters=moments, output="both"
    )
    found, other = (statistic.prepared(read(RETURNS)) for statistic in (portfolio_statistic(), written))
    np.testing.assert_allclose(found.estimate, other.estimate, rtol=1e-8)
    (influence,), (expected,) = found.influence(), other.influence()
    np.testing.assert_array_less(np.abs(influence - expected).max(axis=0), 1e-5 * np.abs(expected).max(axis=0))


def test_a_problem_that_is_not_dpp_has_the_same_influence_and_says_so() -> None:
    problem, mean, factor, shares = portfolio()
    sigma = cp.Parameter((4, 4), PSD=True)
    written = cp.Problem(cp.Minimize(cp.quad_form(shares, sigma) / 2 - mean @ shares / 5), problem.constraints)
    data = read(RETURNS)
    found = ob.from_cvxpy(written, {mean: ob.mean, sigma: ob.covariance_matrix}, shares).prepared(data)
    parametrised = ob.from_cvxpy(problem, {mean: ob.mean, factor: ob.covariance_factor}, shares).prepared(data)
    (expected,) = parametrised.influence()
    np.testing.assert_allclose(found.influence()[0], expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    assert "differences" in found.influence_source
    (finding,) = found.findings()
    assert isinstance(finding, FitWarning)
    assert "covariance_factor" in str(finding)


def test_without_diffcp_differences_do(monkeypatch: pytest.MonkeyPatch) -> None:
    data = read(ROWS)
    (expected,) = with_second_order_cone().prepared(data).influence()
    monkeypatch.setattr(solution, "find_spec", lambda name: None)
    prepared = with_second_order_cone().prepared(data)
    assert "differences" in prepared.influence_source
    np.testing.assert_allclose(prepared.influence()[0], expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_what_diffcp_cannot_differentiate_brings_no_influence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solution.SolutionMap, "_solve_cone_program", lambda self: False)
    assert with_second_order_cone().prepared(read(ROWS)).influence() is None


def test_the_second_order_bias_is_that_of_the_mean_curvature() -> None:
    def iid_covariance(parts: Any) -> Any:
        return parts[0].T @ parts[0] / N_ROWS**2

    prepared = with_second_order_cone().prepared(read(ROWS))
    weights = np.ones((N_ROWS, N_ROWS))
    sides = [prepared.values(Resamples((weights + d * (N_ROWS * np.eye(N_ROWS) - 1),))) for d in (1e-2, -1e-2)]
    second = (sides[0] + sides[1] - 2 * prepared.estimate) / 1e-4
    bias = second.sum(axis=0) / (2 * N_ROWS**2)
    np.testing.assert_allclose(prepared.second_order_bias(iid_covariance), bias, rtol=1e-2)


# Replicates


def test_the_users_objects_are_left_as_they_were() -> None:
    problem, mean, factor, shares = portfolio()
    mean.value, factor.value = np.arange(4.0), np.eye(4)
    problem.solve(solver=cp.CLARABEL)
    shares.gradient = np.full(4, 7.0)
    before = (problem.value, problem.status, shares.value.copy(), problem.constraints[0].dual_value)
    statistic = ob.from_cvxpy(problem, {mean: ob.mean, factor: ob.covariance_factor}, shares)
    ob.bootstrap(RETURNS, statistic, rng=0)
    assert (problem.value, problem.status) == before[:2]
    np.testing.assert_array_equal(shares.value, before[2])
    np.testing.assert_array_equal(problem.constraints[0].dual_value, before[3])
    np.testing.assert_array_equal(shares.gradient, np.full(4, 7.0))
    np.testing.assert_array_equal(mean.value, np.arange(4.0))
    np.testing.assert_array_equal(factor.value, np.eye(4))


def test_a_problem_that_fails_leaves_the_users_objects_as_they_were() -> None:
    x, bound = cp.Variable(), cp.Parameter(value=-3.0)
    statistic = ob.from_cvxpy(cp.Problem(cp.Minimize(x), [x >= bound, x <= 0]), {bound: ob.mean}, x)
    with pytest.raises(FitError):
        statistic([1.0, 2.0])
    assert (bound.value, x.value) == (-3.0, None)


def test_a_replicate_does_not_depend_on_those_before_it() -> None:
    prepared = portfolio_statistic().prepared(read(RETURNS))
    weights = np.random.default_rng(3).multinomial(250, np.full(250, 1 / 250), size=4).astype(float)
    together = prepared.values(Resamples((weights,)))
    alone = [prepared.values(Resamples((row[np.newaxis],)))[0] for row in weights[::-1]][::-1]
    np.testing.assert_array_equal(together, alone)


def test_what_a_constraint_holds_does_not_vary() -> None:
    # The second share is so dear, and the third of a price above zero, that both are at their bounds on any resample.
    shares, price = cp.Variable(3, nonneg=True), cp.Parameter(3)
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(shares) + price @ shares), [shares[0] + shares[1] == 1, shares[1] >= 0.7]
    )
    prepared = ob.from_cvxpy(problem, {price: lambda rows: rows - [0.0, -9.0, 0.0]}, shares).prepared(read(ROWS))
    replicates = prepared.values(counts(5))
    np.testing.assert_array_equal(replicates, np.tile(prepared.estimate, (5, 1)))
    np.testing.assert_allclose(replicates[0], [0.3, 0.7, 0.0], atol=1e-9)


def test_a_share_that_a_bound_holds_has_no_influence() -> None:
    x, centre = cp.Variable(3, nonneg=True), cp.Parameter(3)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - centre)))
    statistic = ob.from_cvxpy(problem, {centre: lambda rows: rows - [0.0, 9.0, 0.0]}, x)
    (influence,) = statistic.prepared(read(ROWS)).influence()
    np.testing.assert_array_equal(influence[:, 1], 0)
    np.testing.assert_allclose(influence[:, [0, 2]], (ROWS - ROWS.mean(axis=0))[:, [0, 2]], rtol=1e-4, atol=1e-5)


def test_a_parameter_without_an_estimate_is_held_at_the_value_it_had() -> None:
    x, mean, half = cp.Variable(), cp.Parameter(), cp.Parameter(value=0.5)
    statistic = ob.from_cvxpy(cp.Problem(cp.Minimize((x - half * mean) ** 2)), {mean: ob.mean, half: None}, x)
    half.value = 9.0
    assert statistic([2.0, 4.0]) == pytest.approx(1.5)
    assert half.value == 9.0


def test_a_vector_with_one_number_per_column_is_named_after_them() -> None:
    problem, mean, factor, shares = portfolio()
    statistic = ob.from_cvxpy(problem, {mean: ob.mean, factor: ob.covariance_factor}, shares)
    frame = pd.DataFrame(RETURNS, columns=list("abcd"))
    assert statistic.prepared(read(frame)).output.names == ("a", "b", "c", "d")
    assert statistic.prepared(read(RETURNS)).output.names == ("x[0]", "x[1]", "x[2]", "x[3]")
    assert portfolio_statistic().prepared(read(RETURNS)).output.names[-1] == "value"


def test_a_known_function_of_numpy_is_its_entry_of_the_catalogue() -> None:
    x, mean = cp.Variable(), cp.Parameter()
    statistic = ob.from_cvxpy(cp.Problem(cp.Minimize((x - mean) ** 2)), {mean: np.median}, x)
    assert statistic([1.0, 2.0, 9.0]) == pytest.approx(2.0)
    assert not statistic.smooth


def test_paired_arrays_are_arguments_of_the_function() -> None:
    x, product = cp.Variable(), cp.Parameter()
    statistic = ob.from_cvxpy(cp.Problem(cp.Minimize((x - product) ** 2)), {product: lambda a, b: a * b}, x)
    assert statistic([1.0, 2.0], [3.0, 4.0]) == pytest.approx(5.5)


def test_an_infeasible_resample_is_a_failed_replicate() -> None:
    x, bound = cp.Variable(), cp.Parameter()
    problem = cp.Problem(cp.Minimize(x), [x >= bound, x <= 2.06])
    sample = np.random.default_rng(0).normal(1.8, 1.0, size=50)
    # One resample in six has a mean beyond the bound.
    with pytest.warns(FailedReplicatesWarning, match="infeasible"):
        result = ob.bootstrap(sample, ob.from_cvxpy(problem, {bound: ob.mean}, x), n_resamples=40, rng=0)
    assert 0 < result.n_failed < 20


def test_a_resample_on_which_the_estimate_breaks_an_attribute_is_a_failed_replicate() -> None:
    x, size = cp.Variable(), cp.Parameter(nonneg=True, name="size")
    statistic = ob.from_cvxpy(cp.Problem(cp.Minimize((x - size) ** 2)), {size: ob.mean}, x)
    with pytest.raises(FitError, match="'size' is not allowed: Parameter value must be nonnegative"):
        statistic([-1.0, -2.0])


def test_the_standard_error_of_a_portfolio_is_that_of_the_standard_bootstrap() -> None:
    result = ob.bootstrap(RETURNS, portfolio_statistic(), n_resamples=50, rng=0)
    standard = ob.bootstrap(RETURNS, portfolio_statistic(), estimator="standard", n_resamples=500, rng=1)
    for key in ("solution", "value"):
        assert np.all(result.r_squared[key] > 0.9)
        error = np.hypot(result.simulation_error.standard_error[key], standard.simulation_error.standard_error[key])
        # Three simulation errors for five numbers: fails by chance in one of seventy seeds.
        assert np.all(np.abs(result.standard_error[key] - standard.standard_error[key]) < 3 * error)


def on_a_face() -> ob.Functional:
    x, total = cp.Variable(3, nonneg=True), cp.Parameter()
    problem = cp.Problem(cp.Maximize(cp.sum(x)), [cp.sum(x) <= total])
    return ob.from_cvxpy(problem, {total: lambda rows: rows.sum(axis=1)}, {"x": x, "value": "value"})


def with_a_flat_valley() -> ob.Functional:
    x, total = cp.Variable(2, nonneg=True), cp.Parameter()
    return ob.from_cvxpy(cp.Problem(cp.Minimize(cp.abs(cp.sum(x) - total))), {total: lambda rows: rows[:, 0]}, {"x": x})


def with_an_unused_variable() -> ob.Functional:
    x, centre = cp.Variable(2), cp.Parameter()
    problem = cp.Problem(cp.Minimize(cp.square(x[0] - centre)), [x[1] <= 1])
    return ob.from_cvxpy(problem, {centre: lambda rows: rows[:, 0]}, {"used": x[0], "x": x[1]})


@pytest.mark.parametrize("builder", [on_a_face, with_a_flat_valley, with_an_unused_variable])
def test_a_solution_that_is_not_unique_has_a_warning_of_its_own(builder: Callable[[], ob.Functional]) -> None:
    texts = [str(finding) for finding in builder().prepared(read(ROWS)).findings()]
    (told,) = [text for text in texts if "the solution is not unique, or nearly so, for x" in text]
    assert "value," not in told
    assert "used" not in told


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_no_ties_are_blamed_where_every_solution_costs_the_same() -> None:
    x, price = cp.Variable(3, nonneg=True), cp.Parameter()
    problem = cp.Problem(cp.Minimize(price * cp.sum(x)), [cp.sum(x) == 1])
    result = ob.bootstrap(ROWS, ob.from_cvxpy(problem, {price: lambda rows: rows[:, 0]}, {"x": x}), rng=0)
    texts = [str(warning) for warning in result.warnings]
    assert texts[0].startswith("the solution is not unique, or nearly so, for x[0], x[1], x[2]")
    assert not [text for text in texts if "ties" in text]


@pytest.mark.parametrize("builder", BUILDERS)
def test_a_unique_solution_has_none(builder: Callable[[], ob.Functional]) -> None:
    texts = [str(finding) for finding in builder().prepared(read(ROWS)).findings()]
    assert not [text for text in texts if "the solution is not unique" in text]


# In other processes and threads


def of_the_mean() -> ob.Functional:
    x, centre, half = cp.Variable(3), cp.Parameter(3), cp.Parameter(value=0.5)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - half * centre)), [cp.sum(x) == 1, x >= 0])
    return ob.from_cvxpy(problem, {centre: ob.mean, half: None}, {"x": x, "value": "value"})


def test_a_problem_is_pickled_without_what_is_compiled() -> None:
    prepared = of_the_mean().prepared(read(ROWS))
    prepared.influence()
    kept = vars(pickle.loads(pickle.dumps(prepared)))
    assert {"point", "solution", "estimate", "jacobian"} <= set(kept)
    assert "solutions" not in kept


def test_problems_go_on_in_a_fresh_process_and_functions_without_a_name_go_along(tmp_path: pathlib.Path) -> None:
    with_names = (with_second_order_cone, of_the_mean)
    without = (with_semidefinite_cone, linear_program, of_an_expression_in_variables_and_parameters, of_a_matrix)
    named, unnamed = ([builder().prepared(read(ROWS)) for builder in builders] for builders in (with_names, without))
    elsewhere.check_in_fresh_process(named, counts(2), tmp_path, unnamed=unnamed)


def test_numbers_of_objects_from_another_process_are_not_given_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where cvxpy starts to count anew, as a fresh process does, it would number its own objects as the user's."""
    pickled = pickle.dumps(of_the_mean())
    monkeypatch.setattr(solution.lin_utils, "ID_COUNTER", type(solution.lin_utils.ID_COUNTER)())
    functional = pickle.loads(pickled)
    highest = max(leaf.id for leaf in functional.solution_map.problem.variables())
    assert cp.Variable().id > highest
    np.testing.assert_allclose(functional(ROWS)["x"], of_the_mean()(ROWS)["x"], rtol=1e-9)


@pytest.mark.parametrize("builder", [with_second_order_cone, linear_program, of_a_matrix])
def test_threads_give_what_one_gives(builder: Callable[[], ob.Functional]) -> None:
    statistic = builder()
    elsewhere.check_in_threads(lambda: statistic.prepared(read(ROWS)), counts(2))


def test_threads_give_what_one_gives_where_each_solve_compiles() -> None:
    x, size = cp.Variable(3), cp.Parameter((3, 3), PSD=True)
    statistic = ob.from_cvxpy(
        cp.Problem(cp.Minimize(cp.quad_form(x, size)), [cp.sum(x) == 1]), {size: ob.covariance_matrix}, x
    )
    elsewhere.check_in_threads(lambda: statistic.prepared(read(ROWS)), counts(1))


# Findings


def test_a_constraint_that_binds_by_chance_is_told() -> None:
    x, mean = cp.Variable(name="x"), cp.Parameter()
    statistic = ob.from_cvxpy(cp.Problem(cp.Minimize((x - mean) ** 2), [x >= 3]), {mean: ob.mean}, x)
    (finding,) = statistic.prepared(read(np.array([1.0, 2.0, 3.0, 6.0]))).findings()
    assert "unstable for x:" in str(finding)


def test_a_solution_that_is_not_unique_is_told() -> None:
    x, price = cp.Variable(2, name="x", nonneg=True), cp.Parameter(2)
    statistic = ob.from_cvxpy(cp.Problem(cp.Minimize(price @ x), [cp.sum(x) == 1]), {price: ob.mean}, x)
    rows = np.array([[1.0, 2.0], [2.0, 1.0], [4.0, 3.0], [1.0, 2.0]])
    (finding,) = statistic.prepared(read(rows)).findings()
    assert "x[0], x[1]" in str(finding)


def test_an_inaccurate_solution_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = with_second_order_cone().prepared(read(ROWS))
    status = solution.SolutionMap._status

    def short_of_precise(self: Any, options: dict[str, float]) -> str:
        solved = status(self, options)
        return "solver_error" if options is solution.PRECISE else f"{solved}_inaccurate"

    monkeypatch.setattr(solution.SolutionMap, "_status", short_of_precise)
    (finding,) = prepared.findings()
    assert "optimal_inaccurate" in str(finding)


# Bad input


def simple() -> tuple[Any, Any, Any]:
    x, mean = cp.Variable(3, name="x"), cp.Parameter(3, name="mean")
    return cp.Problem(cp.Minimize(cp.sum_squares(x - mean))), mean, x


def refused(message: str, problem: Any, parameters: Any, target: Any) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)):
        ob.from_cvxpy(problem, parameters, target)


def test_what_is_no_problem_is_refused() -> None:
    problem, mean, x = simple()
    refused("`problem` must be a cvxpy Problem; got Minimize", problem.objective, {mean: ob.mean}, x)


def test_an_infeasible_problem_is_an_error() -> None:
    problem, mean, x = simple()
    problem = cp.Problem(problem.objective, [x >= 1, x <= 0])
    with pytest.raises(FitError, match="infeasible at the estimates of its parameters"):
        ob.bootstrap(ROWS, ob.from_cvxpy(problem, {mean: ob.mean}, x))


def test_an_unbounded_problem_is_an_error() -> None:
    _, mean, x = simple()
    with pytest.raises(FitError, match="unbounded at the estimates of its parameters"):
        ob.bootstrap(ROWS, ob.from_cvxpy(cp.Problem(cp.Minimize(mean @ x)), {mean: ob.mean}, x))


def test_a_solver_that_gives_up_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solution.SolutionMap, "_status", lambda self, options: "user_limit")
    problem, mean, x = simple()
    with pytest.raises(FitError, match="its status is 'user_limit'"):
        ob.from_cvxpy(problem, {mean: ob.mean}, x)(ROWS)


def test_a_parameter_without_an_entry_is_refused() -> None:
    problem, mean, _, shares = portfolio()
    refused("'factor' has none. Give a statistic", problem, {mean: ob.mean}, shares)


def test_a_parameter_of_the_target_needs_an_entry_too() -> None:
    problem, mean, x = simple()
    refused("'scale' has none", problem, {mean: ob.mean}, cp.Parameter(name="scale") * x)


def test_holding_a_parameter_that_has_no_value_is_refused() -> None:
    problem, mean, factor, shares = portfolio()
    refused("holds 'factor' at its current value, but it has none", problem, {mean: ob.mean, factor: None}, shares)


def test_holding_every_parameter_is_refused() -> None:
    problem, mean, x = simple()
    mean.value = np.zeros(3)
    refused("`parameters` must estimate at least one parameter", problem, {mean: None}, x)


def test_an_entry_for_what_is_no_parameter_of_the_problem_is_refused() -> None:
    problem, mean, x = simple()
    refused("which is not one of them", problem, {mean: ob.mean, cp.Parameter(): ob.mean}, x)
    refused("must be a dict", problem, [mean], x)


def test_an_entry_that_is_no_estimate_is_refused() -> None:
    problem, mean, x = simple()
    refused("for 'mean' a statistic, a function of the rows, or None; got ndarray", problem, {mean: np.ones(3)}, x)


def test_an_estimate_of_another_shape_is_refused() -> None:
    problem, mean, x = simple()
    with pytest.raises(DataError, match=r"'mean' must have its shape, \(3,\); got shape \(2,\)"):
        ob.from_cvxpy(problem, {mean: lambda rows: rows[:, :2]}, x)(ROWS)
    with pytest.raises(DataError, match=r"got shape \(3, 3\)"):
        ob.from_cvxpy(problem, {mean: ob.covariance_matrix}, x)(ROWS)


def test_a_function_that_does_not_return_rows_is_refused() -> None:
    problem, mean, x = simple()
    with pytest.raises(StatisticError, match=r"`parameters\[mean\]` must return shape \(60, p\)"):
        ob.from_cvxpy(problem, {mean: lambda rows: rows.mean(axis=0)}, x)(ROWS)


def test_independent_samples_are_refused() -> None:
    problem, mean, x = simple()
    with pytest.raises(DataError, match="takes one sample"):
        ob.bootstrap((ROWS, ROWS), ob.from_cvxpy(problem, {mean: lambda rows: rows}, x))


def test_a_problem_that_is_not_convex_is_refused() -> None:
    _, mean, x = simple()
    bent = cp.Problem(cp.Minimize(cp.sqrt(x[0]) + mean @ x))
    refused("`problem.is_dcp()` is False. The objective is not", bent, {mean: ob.mean}, x)
    hollow = cp.Problem(cp.Minimize(mean @ x), [cp.norm(x) >= 1])
    refused("A constraint is not", hollow, {mean: ob.mean}, x)


def test_integer_variables_are_refused() -> None:
    x, mean = cp.Variable(3, integer=True), cp.Parameter(3)
    refused("no integer or boolean variables", cp.Problem(cp.Minimize(cp.norm(x - mean))), {mean: ob.mean}, x)


def test_complex_variables_are_refused() -> None:
    x, mean = cp.Variable(3, complex=True), cp.Parameter(3)
    refused("must be in real numbers", cp.Problem(cp.Minimize(cp.norm(x - mean))), {mean: ob.mean}, x)


def test_a_target_that_is_not_of_the_problem_is_refused() -> None:
    problem, mean, x = simple()
    refused("'other' is not one of them. It has x", problem, {mean: ob.mean}, x + cp.Variable(3, name="other"))
    refused("`target` must be a variable of the problem", problem, {mean: ob.mean}, "solution")
    refused("`target` must be a variable of the problem", problem, {mean: ob.mean}, {})


def test_without_cvxpy_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, mean, x = simple()
    monkeypatch.setitem(ob.from_cvxpy.__globals__, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=re.escape('pip install "orthoboot[cvxpy]"')):
        ob.from_cvxpy(problem, {mean: ob.mean}, x)


def test_a_unique_solution_of_zero_is_constant_and_not_one_of_several():
    mu, shrunk = cp.Parameter(3), cp.Variable(3, name="s")
    problem = cp.Problem(cp.Minimize(cp.sum_squares(shrunk - mu) / 2 + cp.norm1(shrunk)))
    rows = np.random.default_rng(0).normal(0.1, 0.2, (250, 3))
    with pytest.warns(ob.errors.ConstantDataWarning):
        result = ob.bootstrap(rows, ob.from_cvxpy(problem, {mu: ob.mean}, shrunk), rng=0)
    np.testing.assert_array_equal(result.estimate, 0.0)
    np.testing.assert_array_equal(result.standard_error, 0.0)
    assert [type(warning) for warning in result.warnings] == [ob.errors.ConstantDataWarning]


def test_a_corner_of_a_linear_program_has_no_derivative_to_learn_a_slope_from():
    returns, shares = cp.Parameter(4), cp.Variable(4)
    problem = cp.Problem(cp.Minimize(-returns @ shares), [cp.sum(shares) == 1, shares >= 0, shares <= 0.5])
    rows = np.random.default_rng(0).normal(0.1, 0.2, (250, 4))
    with pytest.warns(
        ob.errors.OrthobootWarning, match="all zero, although its replicates vary: it is a step function"
    ):
        result = ob.bootstrap(rows, ob.from_cvxpy(problem, {returns: ob.mean}, shares), n_resamples=100, rng=0)
    assert not any(isinstance(warning, ob.errors.SlopeWarning) for warning in result.warnings)
    # The two largest means have half each.
    weights = result.run.resamples(range(100)).weights[0]
    largest = np.argsort(-(weights @ rows / 250), axis=1)[:, :2]
    by_hand = np.array([[0.5 * (j in two) for j in range(4)] for two in largest])
    np.testing.assert_allclose(result.replicates.values, by_hand, atol=1e-6)
