"""The KKT conditions of a constrained optimum: solved by Newton's method, verified, and differentiated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy

from orthoboot.errors import FitError
from orthoboot.optimisation.kkt_factor import kkt_factor, variable_units
from orthoboot.optimisation.lagrangian import Lagrangian, described
from orthoboot.solvers import FactoredMatrix
from orthoboot.typing import BoolArray, FloatArray, IntArray

_EPSILON = float(np.finfo(np.float64).eps)
_CONVERGED = 1e-11
"""Residuals so small beside their terms are near rounding: one more step with the matrix at hand ends there."""
_STALLED = 1e-7
"""Residuals that no longer fall are rounding in the user's functions if they are below this."""
_NEWTON_STEPS = 30
_VIOLATED = 1e-9
"""How far, beside its terms, a constraint or the sign of a multiplier may be off before it counts."""
_REPAIRS = 25
INDEPENDENT = 1e-9
"""The sine of the angle to the others below which a gradient counts as dependent on them."""


@dataclass(frozen=True)
class Problem:
    """A constrained problem for any value of its parameter: its Lagrangian, and which constraints are equalities."""

    lagrangian: Lagrangian
    n_equalities: int
    n_inequalities: int

    @property
    def n_constraints(self) -> int:
        """Return m, the number of equalities and inequalities together."""
        return self.n_equalities + self.n_inequalities

    def title(self, constraint: int) -> str:
        """Return what messages call a constraint."""
        if constraint < self.n_equalities:
            return f"equality[{constraint}]"
        return f"inequality[{constraint - self.n_equalities}]"

    def violations(self, constraints: FloatArray) -> FloatArray:
        """Return by how much each constraint is violated; zero where it holds."""
        violations = np.maximum(constraints, 0.0)
        violations[: self.n_equalities] = np.abs(constraints[: self.n_equalities])
        return violations


@dataclass(frozen=True)
class System:
    """The derivative of the KKT conditions with the constraints `working` as equalities and no others.

    Attributes
    ----------
    problem
        The problem.
    matrix
        The second derivative of the Lagrangian by x and all multipliers, shape ``(p + m, p + m)``.
    working
        The positions of the constraints that are held, in order.
    constant
        Whether the matrix is known to be the same everywhere, so that it need not be evaluated again.
    """

    problem: Problem
    matrix: FloatArray
    working: IntArray
    constant: bool = False

    @property
    def hessian(self) -> FloatArray:
        """Return the second derivative of the Lagrangian by x, shape ``(p, p)``."""
        p = self.problem.lagrangian.n_variables
        return self.matrix[:p, :p]

    @property
    def jacobian(self) -> FloatArray:
        """Return the derivative of all constraints by x, shape ``(m, p)``."""
        p = self.problem.lagrangian.n_variables
        return self.matrix[p:, :p]

    @cached_property
    def unknowns(self) -> IntArray:
        """Return the positions of x and of the working multipliers among the rows of the matrix."""
        p = self.problem.lagrangian.n_variables
        return np.concatenate([np.arange(p), p + self.working])

    @cached_property
    def factor(self) -> FactoredMatrix:
        """Return the factored KKT matrix; raise a `FitError` that names the direction if it is singular."""
        names = (
            *(f"x[{i}]" for i in range(self.problem.lagrangian.n_variables)),
            *(f"the multiplier of {self.problem.title(i)}" for i in self.working),
        )
        return kkt_factor(self.matrix[np.ix_(self.unknowns, self.unknowns)], names, len(self.working))

    @cached_property
    def least_curvature(self) -> float:
        """Return the least curvature along directions that the working constraints leave free.

        In units in which the largest entry is one. It is positive at a strict minimum: the second-order sufficient
        condition. Infinite where no direction is free, as at a vertex.
        """
        n_working = len(self.working)
        if n_working == self.problem.lagrangian.n_variables:
            return np.inf
        free = scipy.linalg.qr((self.jacobian[self.working] * self.units).T)[0][:, n_working:]
        return float(scipy.linalg.eigvalsh(free.T @ (self.hessian * np.outer(self.units, self.units)) @ free)[0])

    @cached_property
    def units(self) -> FloatArray:
        """Return units of the variables that scale the Hessian to entries of at most one, shape ``(p,)``."""
        return variable_units(self.hessian)

    @property
    def lengths(self) -> FloatArray:
        """Return the length of each constraint's gradient in these units, shape ``(m,)``."""
        lengths: FloatArray = np.linalg.norm(self.jacobian * self.units, axis=1)
        return lengths

    @property
    def is_minimum(self) -> bool:
        """Return whether the second-order sufficient condition holds."""
        return self.least_curvature > self.problem.lagrangian.n_variables * _EPSILON

    def check_minimum(self) -> None:
        """Raise unless the second-order sufficient condition holds."""
        if self.is_minimum:
            return
        raise FitError(
            "the KKT conditions hold, but the point is not a strict minimum: along a direction that the binding "
            f"constraints leave free the curvature of the Lagrangian is {self.least_curvature:.2g} of its largest "
            "entry. Where it is negative the point is a saddle or a maximum: start from another `init`. Where it is "
            "zero the solution is not unique: add a small quadratic term to the objective."
        )

    def relative_slope(self, x: FloatArray, multipliers: FloatArray, slope: FloatArray) -> float:
        """Return `slope`, the derivative of the Lagrangian by x, relative to the size of its terms."""
        return float(quotients(np.abs(self.units * slope).max(), self.gradient_scale(x, multipliers, slope)))

    def gradient_scale(self, x: FloatArray, multipliers: FloatArray, slope: FloatArray) -> float:
        """Return the size of the terms in `slope`, the derivative of the Lagrangian by x."""
        of_objective = slope - multipliers @ self.jacobian
        terms = (of_objective, np.abs(multipliers) @ np.abs(self.jacobian), np.abs(self.hessian) @ np.abs(x))
        return float(sum(np.abs(self.units * term).max() for term in terms))


def system_at(problem: Problem, xi: FloatArray, x: FloatArray, multipliers: FloatArray, working: IntArray) -> System:
    """Return the derivative of the KKT conditions at a point; raise a `FitError` if it is not finite."""
    matrix = problem.lagrangian.matrix(x, multipliers, xi)
    if not np.isfinite(matrix).all():
        raise FitError(f"the functions have no finite second derivatives at x = {described(x)}.")
    return System(problem, matrix, working)


@dataclass(frozen=True)
class Optimum:
    """A point at which the KKT conditions hold.

    Attributes
    ----------
    x, multipliers
        Shapes ``(p,)`` and ``(m,)``; constraints that are not held have multiplier zero.
    constraints
        The values of the constraints, shape ``(m,)``.
    slope
        What is left of the derivative of the Lagrangian by x, shape ``(p,)``: rounding.
    system
        The derivative of the conditions.
    """

    x: FloatArray
    multipliers: FloatArray
    constraints: FloatArray
    slope: FloatArray
    system: System

    @property
    def forces(self) -> FloatArray:
        """Return the size of each constraint's term in the stationarity condition, relative to the others."""
        scale = self.system.gradient_scale(self.x, self.multipliers, self.slope)
        return quotients(self.multipliers * self.system.lengths, scale)

    @property
    def relative_violations(self) -> FloatArray:
        """Return the violations, relative to the terms of each constraint."""
        scales = constraint_scales(self.x, self.constraints, self.system.jacobian)
        return quotients(self.system.problem.violations(self.constraints), scales)

    def binding(self, closeness: float) -> BoolArray:
        """Return which constraints hold with equality, up to `closeness` relative to their terms."""
        scales = constraint_scales(self.x, self.constraints, self.system.jacobian)
        binding = self.constraints >= -closeness * scales
        binding[self.system.working] = True
        binding[: self.system.problem.n_equalities] = True
        return binding


def constraint_scales(x: FloatArray, constraints: FloatArray, jacobian: FloatArray) -> FloatArray:
    """Return the size of the terms in each constraint near `x`, shape ``(m,)``."""
    scales: FloatArray = np.abs(constraints - jacobian @ x) + np.linalg.norm(jacobian, axis=1) * np.linalg.norm(x)
    return scales


def quotients(numbers: FloatArray, scales: FloatArray | float) -> FloatArray:
    """Return ``numbers / scales``, with the numbers themselves where a scale is zero."""
    return numbers / np.where(np.asarray(scales) > 0, scales, 1.0)


def independent(rows: FloatArray, order: IntArray) -> IntArray:
    """Return the entries of `order` whose row is not a combination of the rows before it.

    Examples
    --------
    >>> independent(np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 1.0]]), np.array([1, 0, 2]))
    array([1, 2])
    """
    basis, taken = np.empty((0, rows.shape[1])), []
    for i in order:
        length = np.linalg.norm(rows[i])
        if length == 0 or len(basis) == rows.shape[1]:
            continue
        rest = rows[i] / length
        # Twice: once leaves what rounding adds along the rows taken before.
        for _ in range(2):
            rest = rest - basis.T @ (basis @ rest)
        if np.linalg.norm(rest) > INDEPENDENT:
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
            taken.append(i)
    return np.array(taken, dtype=np.int64)


def stationary(
    problem: Problem,
    xi: FloatArray,
    x: FloatArray,
    multipliers: FloatArray,
    working: IntArray,
    *,
    known: System | None = None,
    max_steps: int = _NEWTON_STEPS,
) -> Optimum:
    """Return the solution of the KKT conditions with the `working` constraints as equalities, by Newton's method.

    Parameters
    ----------
    problem, xi, x, multipliers, working
        The problem and its parameter, the start, and the constraints to hold.
    known
        A system met before: where the matrix is the same to the last bit, as for a quadratic objective under linear
        constraints, its factors are used again.
    max_steps
        After so many a `FitError` is raised.
    """
    p = len(x)
    point = np.concatenate([x, np.zeros(problem.n_constraints)])
    point[p + working] = multipliers[working]
    residual = _residual(problem, xi, point)
    previous = np.inf
    system = known if known is not None and np.array_equal(known.working, working) else None
    for _ in range(max_steps):
        system = _system(problem, xi, point, working, system)
        point[system.unknowns] -= system.factor.solve(residual[system.unknowns])
        residual = _residual(problem, xi, point)
        error = _relative_residual(system, point, residual)
        if error <= _CONVERGED or previous / 2 < error <= _STALLED:
            point[system.unknowns] -= system.factor.solve(residual[system.unknowns])
            residual = _residual(problem, xi, point)
            return Optimum(point[:p], point[p:], residual[p:], residual[:p], system)
        previous = error
    raise FitError(
        f"Newton's method on the KKT conditions did not converge in {max_steps} steps; the conditions are still off by "
        f"{error:.2g} of their terms."
    )


def _residual(problem: Problem, xi: FloatArray, point: FloatArray) -> FloatArray:
    p = problem.lagrangian.n_variables
    residual = problem.lagrangian.gradient(point[:p], point[p:], xi)[: len(point)]
    if not np.isfinite(residual).all():
        raise FitError("Newton's method on the KKT conditions left the region where the functions are finite.")
    return residual


def _system(problem: Problem, xi: FloatArray, point: FloatArray, working: IntArray, known: System | None) -> System:
    if known is not None and known.constant:
        return known
    p = problem.lagrangian.n_variables
    system = system_at(problem, xi, point[:p], point[p:], working)
    return known if known is not None and np.array_equal(known.matrix, system.matrix) else system


def _relative_residual(system: System, point: FloatArray, residual: FloatArray) -> float:
    """Return the largest residual, relative to the size of its terms."""
    p = system.problem.lagrangian.n_variables
    x, multipliers, slope, constraints = point[:p], point[p:], residual[:p], residual[p:]
    stationarity = system.relative_slope(x, multipliers, slope)
    held = quotients(np.abs(constraints), constraint_scales(x, constraints, system.jacobian))[system.working]
    return float(max(stationarity, held.max(initial=0.0)))


def with_constancy(optimum: Optimum, xi: FloatArray) -> Optimum:
    """Return the optimum, its system marked as constant if the KKT matrix is bit for bit the same far away.

    So it is for a quadratic objective under linear constraints, whose parameter stands in linear terms only.
    """
    # Moved together, x and xi leave a function of their difference as it is.
    if not (is_linear_in_unknowns(optimum, xi) and _has_same_matrix(optimum, xi, with_parameter=True)):
        return optimum
    return replace(optimum, system=replace(optimum.system, constant=True))


def is_linear_in_unknowns(optimum: Optimum, xi: FloatArray) -> bool:
    """Return whether the KKT matrix is bit for bit the same for other x and multipliers at the same parameter.

    So it is for any quadratic objective under linear constraints: one Newton step is exact.
    """
    return _has_same_matrix(optimum, xi, with_parameter=False)


def _has_same_matrix(optimum: Optimum, xi: FloatArray, *, with_parameter: bool) -> bool:
    """Return whether the KKT matrix is the same far away, on both sides."""
    system, lagrangian = optimum.system, optimum.system.problem.lagrangian
    for side in (-1.0, 1.0):
        x, multipliers, other = (value + side * (1 + np.abs(value)) for value in (optimum.x, optimum.multipliers, xi))
        try:
            matrix = lagrangian.matrix(x, multipliers, other if with_parameter else xi)
        except Exception:  # functions of the user's that do not exist so far away prove nothing
            return False
        if not np.array_equal(matrix, system.matrix):
            return False
    return True


def settled(
    problem: Problem,
    xi: FloatArray,
    x: FloatArray,
    multipliers: FloatArray,
    working: IntArray,
    *,
    known: System | None = None,
) -> Optimum:
    """Return a local minimum near a guess, verified: feasible, multipliers not negative, and strict.

    Where the guess of the binding constraints is wrong, the constraint with the most negative multiplier is let go, or
    the one that is most violated is taken in, and Newton's method goes on. Raises a `FitError` where that fails.
    """
    met: set[tuple[int, ...]] = set()
    while len(met) < _REPAIRS and tuple(working) not in met:
        met.add(tuple(working))
        optimum = stationary(problem, xi, x, multipliers, working, known=known)
        repaired = _repaired(optimum)
        if repaired is None:
            optimum.system.check_minimum()
            return optimum
        x, multipliers, working = optimum.x, optimum.multipliers, repaired
    raise FitError(f"the set of binding constraints did not settle after {len(met)} changes.")


def _repaired(optimum: Optimum) -> IntArray | None:
    """Return better working constraints, or None if they are right."""
    working = optimum.system.working
    forces = optimum.forces
    forces[: optimum.system.problem.n_equalities] = 0.0
    if forces.min(initial=0.0) < -_VIOLATED:
        return np.setdiff1d(working, [np.argmin(forces)])
    violations = optimum.relative_violations
    violations[working] = 0.0
    if violations.max(initial=0.0) > _VIOLATED:
        return np.sort(np.append(working, np.argmax(violations)))
    return None
