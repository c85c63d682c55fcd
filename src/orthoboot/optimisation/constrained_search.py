"""Constrained optima from a distant start: by scipy, then by Newton's method on the KKT conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from orthoboot.errors import FitError
from orthoboot.optimisation.kkt import (
    INDEPENDENT,
    Optimum,
    Problem,
    constraint_scales,
    independent,
    quotients,
    settled,
    stationary,
    system_at,
)
from orthoboot.optimisation.lagrangian import described
from orthoboot.typing import FloatArray, IntArray
from orthoboot.warning_scopes import silenced

_ATTEMPTS = 3
"""Searches, each from where the last one ended and in units of what it found."""
_CLOSENESS = (1e-6, 1e-3, 1e-9)
"""How near a constraint must be to bind, beside its terms; in the order in which they are tried."""
_FEASIBLE = 1e-7
"""The largest violation, beside the terms of a constraint, that settling can be trusted to remove."""
_FALLEN = 1e15
"""An objective that fell by so many times its own size has no lower bound."""
_STATIONARY = 1e-4
"""A slope so small beside its terms is zero but for the tolerance of the search."""
_ITERATIONS = 500

# Its stubs know no functions that take arrays of any shape.
_scipy: Any = scipy
"""Loads `scipy.optimize` when it is first used: importing it takes as long as all of this library."""


# Newton's method may run away, and overflow there; the residuals tell.
_unworried = np.errstate(over="ignore", invalid="ignore", divide="ignore")


@_unworried
def optimum_from(problem: Problem, xi: FloatArray, start: FloatArray, method: str) -> Optimum:
    """Return the optimum reached from `start`; raise a `FitError` if there is none.

    A quadratic objective under linear equalities is solved by one step of Newton's method, from anywhere. Everything
    else goes through scipy, which is told exact derivatives but stops at a loose tolerance; its answer tells which
    constraints bind.
    """
    if not problem.n_inequalities:
        try:
            return _by_one_step(problem, xi, start)
        except FitError:
            pass
    return _searched(problem, xi, start, method)


@_unworried
def optimum_near(problem: Problem, xi: FloatArray, known: Optimum, method: str) -> Optimum:
    """Return the optimum for a parameter near that of a known optimum, starting from its binding constraints."""
    try:
        return settled(problem, xi, known.x, known.multipliers, known.system.working, known=known.system)
    except FitError:
        return _searched(problem, xi, known.x, method)


def _by_one_step(problem: Problem, xi: FloatArray, start: FloatArray) -> Optimum:
    multipliers = np.zeros(problem.n_constraints)
    jacobian = problem.lagrangian.matrix(start, multipliers, xi)[len(start) :, : len(start)]
    working = independent(jacobian, np.arange(problem.n_equalities))
    optimum = stationary(problem, xi, start, multipliers, working, max_steps=1)
    if (optimum.relative_violations > _FEASIBLE).any():
        raise FitError("the equality constraints contradict each other.")
    optimum.system.check_minimum()
    return optimum


def _searched(problem: Problem, xi: FloatArray, start: FloatArray, method: str) -> Optimum:
    failure, report = None, ""
    _check_defined(problem, xi, start)
    x = start
    for _ in range(_ATTEMPTS):
        x, report = _near_optimum(problem, xi, x, method)
        _check_bounded(problem, xi, start, x)
        _check_defined(problem, xi, x)
        x = _feasible(problem, xi, x)
        for closeness in _CLOSENESS:
            try:
                return settled(problem, xi, x, *_guessed(problem, xi, x, closeness))
            except RuntimeError as error:  # a FitError, or scipy's least squares out of iterations
                failure = error
    if isinstance(failure, FitError) and _is_not_unique(problem, xi, x):
        raise FitError(f"no optimum was found: {failure}")
    raise FitError(
        f"no optimum was found: {str(failure).rstrip('.')}. {method} ended at x = {described(x)} with the message "
        f"{report!r}. Likely causes: an objective that is unbounded or has its minimum at infinity, functions that "
        "are not smooth, or a start too far away. Give a better `init`, add constraints that keep x bounded, or try "
        "another `method`."
    )


# The search


@dataclass(frozen=True)
class _Scaled:
    """The problem scaled at its start: variables, objective and constraints of about unit size."""

    problem: Problem
    xi: FloatArray
    unit: float
    objective_unit: float
    constraint_units: FloatArray

    @staticmethod
    def at(problem: Problem, xi: FloatArray, x: FloatArray) -> _Scaled:
        """Return the units that make the slopes at `x` one."""
        unit = _or_one(np.abs(x).max())
        multipliers = np.zeros(problem.n_constraints)
        slope = problem.lagrangian.gradient(x, multipliers, xi)[: len(x)] * unit
        rows = np.abs(problem.lagrangian.jacobian(x, xi)).max(axis=1) * unit
        return _Scaled(problem, xi, unit, _or_one(np.abs(slope).max()), np.where(rows > 0, rows, 1.0))

    def value(self, y: FloatArray) -> float:
        return self.problem.lagrangian.objective(y * self.unit, self.xi) / self.objective_unit

    def slope(self, y: FloatArray) -> FloatArray:
        multipliers = np.zeros(self.problem.n_constraints)
        slope = self.problem.lagrangian.gradient(y * self.unit, multipliers, self.xi)[: len(y)]
        return slope * (self.unit / self.objective_unit)

    def constraints(self, y: FloatArray) -> FloatArray:
        return self.problem.lagrangian.constraints(y * self.unit, self.xi) / self.constraint_units

    def jacobian(self, y: FloatArray) -> FloatArray:
        jacobian = self.problem.lagrangian.jacobian(y * self.unit, self.xi)
        return jacobian * (self.unit / self.constraint_units)[:, np.newaxis]

    def hessian(self, y: FloatArray, multipliers: FloatArray) -> FloatArray:
        """Return the second derivative of the objective and of the constraints times `multipliers`."""
        theirs = multipliers * self.objective_unit / self.constraint_units
        matrix = self.problem.lagrangian.matrix(y * self.unit, theirs, self.xi)
        return matrix[: len(y), : len(y)] * (self.unit**2 / self.objective_unit)


def _or_one(size: float) -> float:
    return float(size) if size > 0 else 1.0


def _near_optimum(problem: Problem, xi: FloatArray, start: FloatArray, method: str) -> tuple[FloatArray, str]:
    """Return the point where scipy's method ends, and its message."""
    scaled = _Scaled.at(problem, xi, start)
    with silenced():  # what scipy warns of on its way is of no interest: where it ends is verified
        result = METHODS[method](scaled, start / scaled.unit)
    x = np.asarray(result.x) * scaled.unit
    return x, str(result.message)


def _slsqp(scaled: _Scaled, start: FloatArray) -> Any:
    n_equalities = scaled.problem.n_equalities
    # It gives up at equalities that follow from others, such as the last balance of a transport problem.
    held = independent(scaled.jacobian(start), np.arange(n_equalities))
    equality = {
        "type": "eq",
        "fun": lambda y: scaled.constraints(y)[held],
        "jac": lambda y: scaled.jacobian(y)[held],
    }
    # scipy's inequalities are of the other sign.
    inequality = {
        "type": "ineq",
        "fun": lambda y: -scaled.constraints(y)[n_equalities:],
        "jac": lambda y: -scaled.jacobian(y)[n_equalities:],
    }
    constraints = [equality] * bool(len(held)) + [inequality] * bool(scaled.problem.n_inequalities)
    options = {"ftol": 1e-12, "maxiter": _ITERATIONS}
    return _scipy.optimize.minimize(
        scaled.value, start, jac=scaled.slope, constraints=constraints, method="SLSQP", options=options
    )


def _trust_constr(scaled: _Scaled, start: FloatArray) -> Any:
    n_constraints = scaled.problem.n_constraints
    none = np.zeros(n_constraints)
    low = np.where(np.arange(n_constraints) < scaled.problem.n_equalities, 0.0, -np.inf)

    def of_constraints(y: FloatArray, multipliers: FloatArray) -> FloatArray:
        return scaled.hessian(y, np.asarray(multipliers)) - scaled.hessian(y, none)

    constraint = _scipy.optimize.NonlinearConstraint(
        scaled.constraints, low, none, jac=scaled.jacobian, hess=of_constraints
    )
    return _scipy.optimize.minimize(
        scaled.value,
        start,
        jac=scaled.slope,
        hess=lambda y: scaled.hessian(y, none),
        constraints=[constraint] * bool(n_constraints),
        method="trust-constr",
        options={"gtol": 1e-10, "xtol": 1e-12, "maxiter": 2 * _ITERATIONS},
    )


METHODS: dict[str, Callable[[_Scaled, FloatArray], Any]] = {"SLSQP": _slsqp, "trust-constr": _trust_constr}


# Judging where it ended


def _check_defined(problem: Problem, xi: FloatArray, x: FloatArray) -> None:
    """Raise if the functions or their slopes are not finite at `x`."""
    lagrangian = problem.lagrangian
    slopes = lagrangian.gradient(x, np.zeros(problem.n_constraints), xi)
    parts = (lagrangian.objective(x, xi), slopes, lagrangian.jacobian(x, xi))
    if not all(np.isfinite(part).all() for part in parts):
        raise FitError(
            f"the functions or their slopes are not finite at x = {described(x)}, where the search started or ended. "
            "Add constraints that keep x where they are, or start nearer to the solution."
        )


def _check_bounded(problem: Problem, xi: FloatArray, start: FloatArray, x: FloatArray) -> None:
    """Raise if the objective appears unbounded below."""
    first = problem.lagrangian.objective(start, xi)
    last = problem.lagrangian.objective(x, xi) if np.isfinite(x).all() else -np.inf
    if last < -_FALLEN * max(abs(first), 1.0):
        raise FitError(
            f"the objective is unbounded below under the constraints, as far as the search went: from {first:.4g} at "
            f"the start it fell to {last:.4g}. Add constraints that keep x bounded and where the functions are "
            "defined, or check the sign of the objective."
        )


def _is_not_unique(problem: Problem, xi: FloatArray, x: FloatArray) -> bool:
    """Return whether the KKT conditions hold at `x`, with a direction of zero curvature."""
    multipliers, working = _guessed(problem, xi, x, _CLOSENESS[-1])
    system = system_at(problem, xi, x, multipliers, working)
    slope = problem.lagrangian.gradient(x, multipliers, xi)[: len(x)]
    return not system.is_minimum and system.relative_slope(x, multipliers, slope) <= _STATIONARY


def _feasible(problem: Problem, xi: FloatArray, x: FloatArray) -> FloatArray:
    """Return `x`, or a feasible point near it; raise if there is none."""
    if _worst(problem, xi, x)[1] <= _FEASIBLE:
        return x
    scaled = _Scaled.at(problem, xi, x)
    found = _scipy.optimize.least_squares(
        lambda y: _broken(scaled, y) * scaled.constraints(y),
        x / scaled.unit,
        jac=lambda y: _broken(scaled, y)[:, np.newaxis] * scaled.jacobian(y),
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
    )
    kept: FloatArray = found.x * scaled.unit
    worst, size = _worst(problem, xi, kept)
    if size <= _FEASIBLE:
        return kept
    violations = problem.violations(problem.lagrangian.constraints(kept, xi))
    n_violated = int((violations > _FEASIBLE * violations[worst]).sum())
    violated = "1 constraint is violated," if n_violated == 1 else f"{n_violated} constraints are violated, most of all"
    signs = "Inequalities are kept where they are not above zero: check their signs. " if problem.n_inequalities else ""
    raise FitError(
        f"the constraints cannot all be satisfied: at the best point found, x = {described(kept)}, {violated} "
        f"{problem.title(worst)}, by {violations[worst]:.4g}. {signs}Relax or drop some of them; if they can be "
        "satisfied, start from another `init`."
    )


def _broken(scaled: _Scaled, y: FloatArray) -> FloatArray:
    """Return one for every equality and for inequalities that are violated, else zero."""
    broken = scaled.constraints(y) > 0
    broken[: scaled.problem.n_equalities] = True
    return broken.astype(np.float64)


def _worst(problem: Problem, xi: FloatArray, x: FloatArray) -> tuple[int, float]:
    """Return the most violated constraint, and its violation relative to its terms."""
    if not problem.n_constraints:
        return 0, 0.0
    constraints, jacobian = problem.lagrangian.constraints(x, xi), problem.lagrangian.jacobian(x, xi)
    relative = quotients(problem.violations(constraints), constraint_scales(x, constraints, jacobian))
    worst = int(np.argmax(relative))
    return worst, float(relative[worst])


# Which constraints bind


def _guessed(problem: Problem, xi: FloatArray, x: FloatArray, closeness: float) -> tuple[FloatArray, IntArray]:
    """Return estimates of the multipliers and the active constraints at a point near the optimum.

    The multipliers solve ``grad f + A' multipliers = 0`` by least squares, those of the inequalities not negative; an
    inequality that gets zero is not held, unless x would be free to move along a direction of no curvature.
    """
    multipliers = np.zeros(problem.n_constraints)
    slope = problem.lagrangian.gradient(x, multipliers, xi)[: len(x)]
    constraints, jacobian = problem.lagrangian.constraints(x, xi), problem.lagrangian.jacobian(x, xi)
    near = constraints >= -closeness * constraint_scales(x, constraints, jacobian)
    near[: problem.n_equalities] = True
    multipliers[near] = _signed_multipliers(slope, jacobian[near], problem.n_equalities)
    held = multipliers > 0
    held[: problem.n_equalities] = True
    working = np.sort(independent(jacobian, np.flatnonzero(held)))
    if not system_at(problem, xi, x, multipliers, working).is_minimum:
        working = np.sort(independent(jacobian, np.concatenate([working, np.flatnonzero(near & ~held)])))
    return multipliers, working


def _signed_multipliers(slope: FloatArray, rows: FloatArray, n_equalities: int) -> FloatArray:
    """Return least-squares multipliers of `rows`, not negative but for the first `n_equalities`."""
    lengths = np.linalg.norm(rows, axis=1)
    rows = rows / np.where(lengths > 0, lengths, 1.0)[:, np.newaxis]
    equalities = rows[independent(rows, np.arange(n_equalities))]
    basis = scipy.linalg.qr(equalities.T, mode="economic")[0]
    free = rows[n_equalities:] - (rows[n_equalities:] @ basis) @ basis.T
    free[np.linalg.norm(free, axis=1) < INDEPENDENT] = 0.0
    of_inequalities = scipy.optimize.nnls(free.T, -(slope - basis @ (basis.T @ slope)))[0] if len(free) else np.empty(0)
    rest = slope + of_inequalities @ rows[n_equalities:]
    of_equalities = np.linalg.lstsq(rows[:n_equalities].T, -rest, rcond=None)[0] if n_equalities else np.empty(0)
    return np.concatenate([of_equalities, of_inequalities]) / np.where(lengths > 0, lengths, 1.0)
