"""Problems of cvxpy: one for each kind of cone, target and parameter, and what has no solution.

Everything has a name: cvxpy numbers what has none, and the numbers depend on what was made before.
"""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import diffcp  # noqa: F401 - without it the derivatives are differences
import numpy as np

import orthoboot as ob
from tools.cases.base import answer

RETURNS = np.random.default_rng(0).normal([0.05, 0.1, 0.15, 0.2], [0.1, 0.2, 0.3, 0.5], size=(120, 4))
ROWS = np.random.default_rng(1).gamma(2.0, size=(60, 3))
LEVELS = np.random.default_rng(0).normal(1.8, 1.0, size=50)


def portfolio() -> ob.Functional:
    """Return the shares of least risk."""
    mean, factor, shares = cp.Parameter(4, name="mean"), cp.Parameter((4, 4), name="factor"), cp.Variable(4, name="x")
    risk = cp.sum_squares(factor @ shares) / 2 - mean @ shares / 5
    problem = cp.Problem(cp.Minimize(risk), [cp.sum(shares) == 1, shares >= 0])
    estimates = {mean: ob.mean, factor: ob.covariance_factor}
    return ob.from_cvxpy(problem, estimates, {"solution": shares, "value": "value"})


def portfolio_of_a_form() -> ob.Functional:
    """Return the same by a quadratic form, which has no derivative through diffcp."""
    mean, sigma = cp.Parameter(4, name="mean"), cp.Parameter((4, 4), PSD=True, name="sigma")
    shares = cp.Variable(4, name="x")
    risk = cp.quad_form(shares, sigma) / 2 - mean @ shares / 5
    problem = cp.Problem(cp.Minimize(risk), [cp.sum(shares) == 1, shares >= 0])
    return ob.from_cvxpy(problem, {mean: ob.mean, sigma: ob.covariance_matrix}, shares)


def second_order_cone() -> ob.Functional:
    """Return a projection on a ball."""
    x, centre = cp.Variable(3, name="x"), cp.Parameter(3, name="centre")
    problem = cp.Problem(cp.Minimize(cp.norm(x - centre)), [cp.norm(x) <= 1])
    return ob.from_cvxpy(problem, {centre: ob.mean}, {"x": x, "value": "value"})


def exponential_cone() -> ob.Functional:
    """Return shares by logarithms."""
    x, weights = cp.Variable(3, name="x"), cp.Parameter(3, nonneg=True, name="weights")
    problem = cp.Problem(cp.Maximize(weights @ cp.log(x)), [cp.sum(x) <= 2])
    return ob.from_cvxpy(problem, {weights: lambda rows: rows}, {"x": x, "value": "value"})


def semidefinite_cone() -> ob.Functional:
    """Return the nearest matrix without negative eigenvalues."""
    x, shifted = cp.Variable((3, 3), PSD=True, name="x"), cp.Parameter((3, 3), symmetric=True, name="shifted")
    second = ob.function_of_means(
        lambda rows: (rows[:, :, None] * rows[:, None, :]).reshape(-1, 9),
        lambda means: means.reshape(3, 3, *means.shape[1:]) - 8,
    )
    return ob.from_cvxpy(cp.Problem(cp.Minimize(cp.sum_squares(x - shifted))), {shifted: second}, x)


def linear_program() -> ob.Functional:
    """Return a vertex."""
    x, price, stock = cp.Variable(2, nonneg=True, name="x"), cp.Parameter(2, name="price"), cp.Parameter(name="stock")
    problem = cp.Problem(cp.Maximize(price @ x), [x[0] + 2 * x[1] <= stock, 3 * x[0] + x[1] <= 4])
    estimates = {price: lambda rows: rows[:, :2], stock: lambda rows: rows[:, 2]}
    return ob.from_cvxpy(problem, estimates, {"x": x, "value": "value"})


def expression() -> ob.Functional:
    """Return a function of variables and parameters."""
    x, centre, scale = cp.Variable(3, name="x"), cp.Parameter(3, name="centre"), cp.Parameter(name="scale")
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - centre)), [cp.sum(x) == 1])
    estimates = {centre: ob.mean, scale: lambda rows: rows[:, 0]}
    return ob.from_cvxpy(problem, estimates, cp.norm(x - scale) + centre @ x)


def matrix() -> ob.Functional:
    """Return a matrix."""
    x, first = cp.Variable((3, 2), name="x"), cp.Parameter((3, 2), name="first")
    second = cp.Parameter((3, 3), symmetric=True, name="second")
    problem = cp.Problem(cp.Minimize(cp.sum_squares(second @ x - first)), [cp.sum(x) == 0.5])
    outer = {second: lambda rows: rows[:, :, None] * rows[:, None, :], first: lambda rows: rows[:, :, None] ** [1, 2]}
    return ob.from_cvxpy(problem, outer, x)


def kinks() -> ob.Functional:
    """Return the solution of an objective that is not smooth."""
    x, centre = cp.Variable(3, name="x"), cp.Parameter(3, name="centre")
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - centre) + 3 * cp.max(x) + cp.norm1(x)))
    return ob.from_cvxpy(problem, {centre: lambda rows: rows - [0, 0, 1.8]}, {"x": x, "value": "value"})


def bounded(least: Any = None, most: Any = None, parameter: Any = ob.mean) -> ob.Functional:
    """Return a number that is near its estimate, between bounds."""
    x, centre = cp.Variable(name="x"), cp.Parameter(name="centre")
    bounds = [x >= least] * (least is not None) + [x <= most] * (most is not None)
    return ob.from_cvxpy(cp.Problem(cp.Minimize((x - centre) ** 2), bounds), {centre: parameter}, x)


def squeezed(most: float) -> ob.Functional:
    """Return the smallest number above the mean; there is none where the mean is above `most`."""
    x, bound = cp.Variable(name="x"), cp.Parameter(name="bound")
    return ob.from_cvxpy(cp.Problem(cp.Minimize(x), [x >= bound, x <= most]), {bound: ob.mean}, x)


def not_convex() -> ob.Functional:
    """Return what is refused."""
    x, mean = cp.Variable(3, name="x"), cp.Parameter(3, name="mean")
    return ob.from_cvxpy(cp.Problem(cp.Minimize(cp.sqrt(x[0]) + mean @ x)), {mean: ob.mean}, x)


def _frame() -> ob.Result:
    import pandas as pd

    return answer(pd.DataFrame(RETURNS, columns=list("abcd")), portfolio())


CASES = {
    "portfolio": lambda: answer(RETURNS, portfolio()),
    "portfolio, jackknife": lambda: answer(RETURNS, portfolio(), estimator="jackknife", n_resamples=0),
    "portfolio, standard": lambda: answer(RETURNS, portfolio(), estimator="standard"),
    "portfolio, abc": lambda: answer(RETURNS, portfolio(), method="abc"),
    "portfolio of a form": lambda: answer(RETURNS, portfolio_of_a_form()),
    "portfolio of a frame": _frame,
    "second-order cone": lambda: answer(ROWS, second_order_cone()),
    "second-order cone, jackknife": lambda: answer(ROWS, second_order_cone(), estimator="jackknife", n_resamples=0),
    "exponential cone": lambda: answer(ROWS, exponential_cone()),
    "semidefinite cone": lambda: answer(ROWS, semidefinite_cone()),
    "linear program": lambda: answer(ROWS, linear_program()),
    "expression": lambda: answer(ROWS, expression()),
    "matrix": lambda: answer(ROWS, matrix()),
    "kinks": lambda: answer(ROWS, kinks()),
    "median": lambda: answer(ROWS[:, 0], bounded(parameter=np.median)),
    "held by a bound": lambda: answer(ROWS[:, 0], bounded(least=9)),
    "bound by chance": lambda: answer(np.array([1.0, 2.0, 3.0, 6.0] * 5), bounded(least=3)),
    "infeasible resamples": lambda: answer(LEVELS, squeezed(2.0), n_resamples=40),
    "infeasible": lambda: answer(LEVELS, squeezed(0.0)),
    "not convex": lambda: answer(ROWS, not_convex()),
    "two samples": lambda: answer((ROWS, ROWS), second_order_cone()),
}
