"""cvxpy problems with frozen constraints: which are the solutions themselves, and what guards the others."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ArgumentError
from orthoboot.warning_scopes import silenced

cp = pytest.importorskip("cvxpy")
pytest.importorskip("diffcp")

from orthoboot.models.cvxpy import cone_program  # noqa: E402

RNG = np.random.default_rng(14)
ROWS = RNG.normal([1.0, 0.6, 0.3], 0.5, size=(60, 3))


def least_variance(n_assets: int = 3, target: Any = None) -> Any:
    """The portfolio of least variance without short sales, and its variance."""
    factor, x = cp.Parameter((n_assets, n_assets)), cp.Variable(n_assets)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(factor @ x)), [cp.sum(x) == 1, x >= 0])
    targets = {"solution": x, "value": "value"} if target is None else target(x, factor)
    return ob.from_cvxpy(problem, {factor: ob.covariance_factor}, targets)


def linear_program() -> Any:
    x, price, stock = cp.Variable(2, nonneg=True), cp.Parameter(2), cp.Parameter()
    problem = cp.Problem(cp.Maximize(price @ x + 2 * stock), [x[0] + 2 * x[1] <= stock, 3 * x[0] + x[1] <= 4])
    return ob.from_cvxpy(problem, {price: lambda rows: rows[:, :2], stock: lambda rows: 2 + rows[:, 2]}, _both(x))


def of_absolute_values() -> Any:
    x, centre = cp.Variable(3), cp.Parameter(3)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - centre) + cp.norm1(x) / 2 + cp.max(x)), [x <= 3, x[0] <= 9])
    return ob.from_cvxpy(problem, {centre: ob.mean}, _both(x))


def of_symmetric_matrices() -> Any:
    x, sigma = cp.Variable((3, 3), symmetric=True), cp.Parameter((3, 3), PSD=True)
    cost = cp.sum_squares(x) + cp.sum(cp.multiply(sigma, x)) / 3
    return ob.from_cvxpy(
        cp.Problem(cp.Minimize(cost), [cp.trace(x) == 1, x >= -0.02]),
        {sigma: ob.covariance_matrix},
        {"trace": cp.sum(x) - x[0, 0] + 1, "matrix": x},
    )


def with_a_constraint_that_follows_from_others() -> Any:
    x, mean = cp.Variable(3), cp.Parameter(3)
    constraints = [cp.sum(x) == 1, 2 * cp.sum(x) == 2, x >= 0]
    return ob.from_cvxpy(cp.Problem(cp.Maximize(mean @ x - cp.sum_squares(x)), constraints), {mean: ob.mean}, _both(x))


def _both(x: Any) -> dict[str, Any]:
    return {"solution": x, "value": "value"}


def drawn(n: int, number: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=number).astype(float)


EXACT = [
    least_variance,
    linear_program,
    of_absolute_values,
    of_symmetric_matrices,
    with_a_constraint_that_follows_from_others,
]


@pytest.mark.parametrize("builder", EXACT)
def test_linear_and_quadratic_programs_are_solved_but_for_the_solver_s_tolerance(builder: Any) -> None:
    prepared, resamples = builder().prepared(read(ROWS)), Resamples((drawn(60, 25),))
    values, surrogate = prepared.values(resamples), prepared.surrogate.values(resamples)
    # A constraint comes or goes on some resamples.
    same = np.median(np.abs(surrogate - values), axis=0)
    np.testing.assert_allclose(same, 0, atol=1e-7 * np.abs(values).max())
    assert (np.abs(surrogate - values).max(axis=1) < 1e-7 * np.abs(values).max()).mean() > 0.6


def test_what_a_bound_holds_stays_there() -> None:
    rows = ROWS * [1.0, 1.0, 10.0] + ROWS[:, :1] * [0.0, 0.0, 10.0]
    prepared = least_variance(target=lambda x, factor: x).prepared(read(rows))
    assert prepared.estimate[2] == 0
    assert (prepared.surrogate.values(Resamples((drawn(60, 50),)))[:, 2] == 0).all()


def with_second_order_cone() -> Any:
    x, centre = cp.Variable(3), cp.Parameter(3)
    return ob.from_cvxpy(cp.Problem(cp.Minimize(cp.norm(x - centre)), [cp.sum(x) == 0]), {centre: ob.mean}, x)


def with_exponential_cone() -> Any:
    x, weights = cp.Variable(3), cp.Parameter(3, nonneg=True)
    return ob.from_cvxpy(cp.Problem(cp.Maximize(weights @ cp.log(x)), [cp.sum(x) <= 2]), {weights: ob.mean}, x)


def that_is_not_dpp() -> Any:
    x, sigma = cp.Variable(3), cp.Parameter((3, 3), PSD=True)
    return ob.from_cvxpy(
        cp.Problem(cp.Minimize(cp.quad_form(x, sigma)), [cp.sum(x) == 1]), {sigma: ob.covariance_matrix}, x
    )


def of_a_user_s_function() -> Any:
    x, centre = cp.Variable(3), cp.Parameter(3)
    estimate = ob.m_estimator(lambda theta, rows: ((rows - theta) ** 2).sum(axis=1), 3, library="jax")
    return ob.from_cvxpy(cp.Problem(cp.Minimize(cp.sum_squares(x - centre)), [x >= 0]), {centre: estimate}, x)


def of_an_expression_with_parameters() -> Any:
    return least_variance(target=lambda x, factor: cp.norm(factor @ x))


def in_a_corner() -> Any:
    x, price = cp.Variable(3), cp.Parameter(3)
    return ob.from_cvxpy(cp.Problem(cp.Maximize(price @ x), [cp.sum(x) == 1, x >= 0]), {price: ob.mean}, x)


OTHERS = [
    with_second_order_cone,
    with_exponential_cone,
    that_is_not_dpp,
    of_an_expression_with_parameters,
    of_a_user_s_function,
    in_a_corner,
]


@pytest.mark.parametrize("builder", OTHERS)
def test_others_have_none(builder: Any) -> None:
    if builder is of_a_user_s_function:
        pytest.importorskip("jax")
    with silenced():
        assert builder().prepared(read(ROWS)).surrogate is None
        with pytest.raises(ArgumentError, match="has no surrogate"):
            ob.bootstrap(ROWS, builder(), n_resamples=5, rng=0, control="surrogate")


def test_where_cvxpy_compiles_to_something_else_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(data: Any) -> Any:
        raise KeyError("dims")

    monkeypatch.setattr(cone_program, "_program", unknown)
    assert least_variance().prepared(read(ROWS)).surrogate is None


@pytest.mark.parametrize("n", [200, 600], ids=["with its rows", "alone"])
def test_large_programs_are_given_up_before_much_is_made_of_them(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """cvxpy adds as many variables and equalities for the squares."""
    made = []
    monkeypatch.setattr(cone_program, "_recovery", lambda *arguments: made.append(arguments))
    x, centre = cp.Variable(n), cp.Parameter()
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - centre * np.linspace(1, 2, n))), [cp.sum(x) == 1])
    prepared = ob.from_cvxpy(problem, {centre: ob.mean}, x[0]).prepared(read(ROWS[:, 0]))
    assert prepared.surrogate is None
    assert not made


def test_many_parameters_are_left_to_the_linear_part() -> None:
    """Each of them is one more compilation, and ten solves are fewer."""
    rows = RNG.standard_normal((60, 12))
    with silenced():
        result = ob.bootstrap(rows, least_variance(12), n_resamples=5, rng=0)
    assert result.control == "linear"
    assert 300 * result.run.prepared.surrogate.work > 10 * result.run.prepared.surrogate.replaced_work


# As a control


def result_of(rows: Any, n_resamples: int = 10, **options: Any) -> Any:
    with silenced():
        return ob.bootstrap(rows, least_variance(2, lambda x, factor: x[0]), n_resamples=n_resamples, rng=3, **options)


def with_control(result: Any) -> Any:
    """The same replicates with the surrogate."""
    return replace(result, run=replace(result.run, control_request="surrogate", control_is_found=False).with_control())


def share_of_the_first(rows: Any, weights: Any) -> Any:
    """The portfolio of two in closed form."""
    weights = weights / weights.sum(axis=1, keepdims=True)
    (a, b), p = (weights @ rows).T, weights @ (rows[:, 0] * rows[:, 1])
    first, second, both = weights @ rows[:, 0] ** 2 - a**2, weights @ rows[:, 1] ** 2 - b**2, p - a * b
    return np.clip((second - both) / (first + second - 2 * both), 0, 1)


def error_of(result: Any, truth: float) -> float:
    """The relative RMSE of the variance over the runs of ten that the replicates make."""
    with silenced():
        starts = range(0, len(result.replicates), 10)
        runs = [result.with_estimator("orthogonal", slice(start, start + 10)) for start in starts]
    return float(np.sqrt(np.mean([(float(one.variance) / truth - 1) ** 2 for one in runs])))


def test_ten_solutions_are_worth_many() -> None:
    rows = np.random.default_rng(15).gamma(2.0, size=(40, 2))
    truth = share_of_the_first(rows, drawn(40, 20_000, seed=9)).var(ddof=1)
    linear = result_of(rows, 200, control="linear")
    control = with_control(linear)
    assert result_of(rows).control == control.control == "surrogate"
    # 2000 draws know the variance, of which the linear part explains most, to .03 or better.
    assert error_of(control, truth) < min(0.5 * error_of(linear, truth), 0.06)


def test_a_constraint_that_binds_in_some_resamples_is_guarded() -> None:
    by_linear, by_control = [], []
    for seed in (20, 21, 22):
        rows = np.random.default_rng(seed).standard_normal((40, 2)) @ [[1.0, 0.85], [0.0, 0.7]]
        found = share_of_the_first(rows, drawn(40, 20_000, seed=9))
        assert 0.03 < np.mean((found == 0) | (found == 1)) < 0.5
        linear = result_of(rows, 100, control="linear")
        by_linear.append(error_of(linear, found.var(ddof=1)))
        by_control.append(error_of(with_control(linear), found.var(ddof=1)))
    assert np.linalg.norm(by_control) < 1.1 * np.linalg.norm(by_linear)


def test_it_survives_pickle_and_goes_on() -> None:
    result, longer = result_of(ROWS[:, :2]), result_of(ROWS[:, :2], 12)
    for one in (result, pickle.loads(pickle.dumps(result))):
        np.testing.assert_allclose(one.extend(2).variance, longer.variance, rtol=1e-7)


@pytest.mark.slow
def test_jobs_change_nothing() -> None:
    alone, shared = (result_of(ROWS[:, :2], n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_allclose(shared.variance, alone.variance, rtol=1e-7)
