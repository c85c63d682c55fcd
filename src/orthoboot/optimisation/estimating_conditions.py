"""The conditions that an M-estimate solves, at any weights, and Newton's method on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy

from orthoboot.autodiff import Autodiff, PackageFunction
from orthoboot.errors import FitError
from orthoboot.optimisation.newton import Minimum, newton_minimum
from orthoboot.solvers import (
    LU,
    Cholesky,
    ConjugateGradients,
    DenseOperator,
    FactoredMatrix,
    Operator,
    ProductOperator,
    Solver,
)
from orthoboot.solvers.conjugate_gradients import search
from orthoboot.typing import FloatArray

_DENSE_PARAMETERS = 500
"""Up to so many parameters Newton's steps use the whole Hessian, beyond them products with it."""
_PRECISION = 1e-16
"""Of the decrement, in units of the spread of the losses: an error of 1e-8, which the last step squares."""
_ROUNDING = 1e-6 * _PRECISION
"""A decrement that may be rounding alone."""
_SHRINKING = 0.05
"""The decrement falls faster than this from step to step near a minimum; on the way to infinity it does not."""
_NEARBY = 1e-6
"""Of the spread of the losses: a decrement from which on it falls like that."""
_SLOW_STEPS = 2
"""So many that fall more slowly are no accident of rounding."""
_STEP_RESIDUAL = 1e-4
"""Of a step by conjugate gradients: the error of the parameters falls by as much from step to step."""
_LEAST_CURVATURE = 1e-8
"""Of the largest, for steps from where the Hessian is not positive definite."""
_EQUAL = 1e-10
"""Of the largest loss: losses that differ by less differ by rounding."""
_NEWTON_STEPS = 100
_FIRST_STEPS = 200


class Conditions(ABC):
    """The conditions that make parameters the estimate, for one data set and any weights that sum to one.

    Newton's method sees them as the minimum of a function, the influence function as equations with a derivative.

    Parameters
    ----------
    library
        Differentiates what the user wrote.
    arrays
        The data, as arrays of the library.
    names
        What messages call the parameters.
    """

    def __init__(self, library: Autodiff, arrays: tuple[Any, ...], names: tuple[str, ...]) -> None:
        self.library = library
        self.arrays = arrays
        self.names = names

    @cached_property
    def equal_weights(self) -> Any:
        """Return equal weights, as an array of the package."""
        n = len(self.arrays[0])
        return self.library.array(np.full(n, 1 / n))

    @abstractmethod
    def value(self, parameters: FloatArray, weights: Any) -> float:
        """Return the function to minimise."""

    @abstractmethod
    def gradient(self, parameters: FloatArray, weights: Any) -> FloatArray:
        """Return its gradient, shape ``(p,)``."""

    @abstractmethod
    def residual(self, parameters: FloatArray, weights: Any) -> FloatArray:
        """Return the conditions, shape ``(p,)``, which are zero at the solution."""

    @abstractmethod
    def operator(self, parameters: FloatArray, weights: Any, *, by_products: bool) -> Operator:
        """Return the derivative of the conditions."""

    @abstractmethod
    def step(self, factor: FactoredMatrix, parameters: FloatArray, gradient: FloatArray, weights: Any) -> FloatArray:
        """Return the Newton step with a factored derivative, at this point or a nearby one."""

    @abstractmethod
    def direction(self, operator: Operator, parameters: FloatArray, gradient: FloatArray, weights: Any) -> FloatArray:
        """Return the Newton step, or another descent step if it does not exist."""

    @abstractmethod
    def approached(self, parameters: FloatArray, weights: Any) -> FloatArray:
        """Return parameters near the solution, from a distant start."""

    @abstractmethod
    def spread(self, parameters: FloatArray) -> float:
        """Return the spread over the rows of the function to minimise, the unit of its precision."""

    @abstractmethod
    def along(self, adjoint: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return the condition of each row in the direction `adjoint`, shape ``(n,)``."""


class LossPrograms:
    """A loss and a penalty with their derivatives, compiled once for all data of one shape."""

    def __init__(self, library: Autodiff, loss: PackageFunction, penalty: PackageFunction | None) -> None:
        def objective(parameters: Any, weights: Any, *arrays: Any) -> Any:
            risk = (weights * loss(parameters, *arrays)).sum()
            return risk if penalty is None else risk + penalty(parameters)

        self.rows = library.function(loss)
        self.rows_along = library.along(loss)
        self.value = library.function(objective)
        self.gradient = library.gradient(objective)
        self.hessian = library.hessian(objective)
        self.hessian_product = library.hessian_product(objective)


class LossConditions(Conditions):
    """The conditions that the gradient of the penalised weighted mean loss is zero, at a minimum."""

    def __init__(
        self, programs: LossPrograms, library: Autodiff, arrays: tuple[Any, ...], names: tuple[str, ...]
    ) -> None:
        super().__init__(library, arrays, names)
        self.programs = programs

    def value(self, parameters: FloatArray, weights: Any) -> float:
        """Return the weighted mean loss with the penalty."""
        return float(self.programs.value(parameters, weights, *self.arrays))

    def gradient(self, parameters: FloatArray, weights: Any) -> FloatArray:
        """Return its gradient."""
        return self.programs.gradient(parameters, weights, *self.arrays)

    def residual(self, parameters: FloatArray, weights: Any) -> FloatArray:
        """Return the gradient."""
        return self.gradient(parameters, weights)

    def operator(self, parameters: FloatArray, weights: Any, *, by_products: bool) -> Operator:
        """Return its Hessian."""
        if not by_products:
            return DenseOperator(self.programs.hessian(parameters, weights, *self.arrays), names=self.names)

        def product(vector: FloatArray) -> FloatArray:
            return self.programs.hessian_product(vector, parameters, weights, *self.arrays)

        return ProductOperator(product, len(parameters), names=self.names)

    def step(self, factor: FactoredMatrix, parameters: FloatArray, gradient: FloatArray, weights: Any) -> FloatArray:
        """Return ``-H^-1 gradient``."""
        return -factor.solve(gradient)

    def direction(self, operator: Operator, parameters: FloatArray, gradient: FloatArray, weights: Any) -> FloatArray:
        """Return ``-H^-1 gradient`` if H is positive definite, else a step by bounded curvatures."""
        if isinstance(operator, ProductOperator):
            return _truncated_step(operator, gradient)
        try:
            return self.step(Cholesky().factor(operator), parameters, gradient, weights)
        except FitError:
            if not np.isfinite(operator.matrix()).all():
                raise
            return _bounded_step(operator.matrix(), gradient)

    def approached(self, parameters: FloatArray, weights: Any) -> FloatArray:
        """Return the end of L-BFGS, which needs no Hessian and is robust."""
        unit = self.spread(parameters)

        def value_and_gradient(at: FloatArray) -> tuple[float, FloatArray]:
            return self.value(at, weights) / unit, self.gradient(at, weights) / unit

        found, _, _ = scipy.optimize.fmin_l_bfgs_b(value_and_gradient, parameters, pgtol=0.0, maxiter=_FIRST_STEPS)
        # A loss without a lower bound ends at minus infinity; Newton's method says more about it.
        is_lower = -np.inf < self.value(found, weights) <= self.value(parameters, weights)
        return found if is_lower else parameters

    def spread(self, parameters: FloatArray) -> float:
        """Return the standard deviation of the losses, or less where a few rows alone make it large."""
        losses = self.programs.rows(parameters, *self.arrays)
        largest = float(np.abs(losses).max())
        with np.errstate(over="ignore", invalid="ignore"):
            spreads = [float(np.median(np.abs(losses - np.median(losses)))), float(losses.std())]
        spreads = [spread for spread in spreads if spread > _EQUAL * largest]
        return min(spreads, default=largest or 1.0)

    def along(self, adjoint: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return the derivative of the losses in one forward pass: no gradients of single rows are held."""
        return self.programs.rows_along(adjoint, parameters, *self.arrays)


class EquationPrograms:
    """Estimating equations and a penalty with their derivatives, compiled once for all data of one shape."""

    def __init__(self, library: Autodiff, psi: PackageFunction, penalty: PackageFunction | None) -> None:
        def mean(parameters: Any, weights: Any, *arrays: Any) -> Any:
            return weights @ psi(parameters, *arrays)

        self.rows = library.function(psi)
        self.mean = library.function(mean)
        self.jacobian = library.jacobian(mean)
        self.penalty_gradient = None if penalty is None else library.gradient(penalty)
        self.penalty_hessian = None if penalty is None else library.hessian(penalty)


class EquationConditions(Conditions):
    """The weighted mean of the estimating equations, with the gradient of the penalty, is zero.

    For Newton's method that is the minimum of half the sum of the squared equations, each in units of its spread over
    the rows.
    """

    def __init__(
        self,
        programs: EquationPrograms,
        library: Autodiff,
        arrays: tuple[Any, ...],
        names: tuple[str, ...],
        start: FloatArray,
    ) -> None:
        super().__init__(library, arrays, names)
        self.programs = programs
        self._start = start

    @cached_property
    def _unit(self) -> FloatArray:
        """Return the size of each equation at the start, shape ``(p,)``."""
        largest = np.abs(self.programs.rows(self._start, *self.arrays)).max(axis=0)
        return np.where(largest > 0, largest, 1.0)

    def value(self, parameters: FloatArray, weights: Any) -> float:
        """Return half the sum of the squared equations."""
        return float(np.sum(np.square(self.residual(parameters, weights) / self._unit))) / 2

    def gradient(self, parameters: FloatArray, weights: Any) -> FloatArray:
        """Return its gradient."""
        equations = self.residual(parameters, weights) / self._unit**2
        gradient: FloatArray = equations @ self._jacobian(parameters, weights)
        return gradient

    def residual(self, parameters: FloatArray, weights: Any) -> FloatArray:
        """Return the weighted mean of the equations, with the gradient of the penalty."""
        mean = self.programs.mean(parameters, weights, *self.arrays)
        gradient = self.programs.penalty_gradient
        return mean if gradient is None else mean + gradient(parameters)

    def operator(self, parameters: FloatArray, weights: Any, *, by_products: bool) -> Operator:
        """Return the derivative of the equations, which need not be symmetric."""
        jacobian = self._jacobian(parameters, weights)
        return DenseOperator(jacobian, title="the derivative of `psi`", names=self.names)

    def step(self, factor: FactoredMatrix, parameters: FloatArray, gradient: FloatArray, weights: Any) -> FloatArray:
        """Return Newton's step towards the root."""
        return -factor.solve(self.residual(parameters, weights))

    def direction(self, operator: Operator, parameters: FloatArray, gradient: FloatArray, weights: Any) -> FloatArray:
        """Return the Newton step; raise if the derivative is singular."""
        return self.step(LU().factor(operator), parameters, gradient, weights)

    def approached(self, parameters: FloatArray, weights: Any) -> FloatArray:
        """Return the end of Powell's hybrid method."""

        def equations(at: FloatArray) -> FloatArray:
            return self.residual(at, weights) / self._unit

        def jacobian(at: FloatArray) -> FloatArray:
            return self._jacobian(at, weights) / self._unit[:, np.newaxis]

        found: FloatArray = scipy.optimize.root(equations, parameters, jac=jacobian).x
        return found if self.value(found, weights) <= self.value(parameters, weights) else parameters

    def spread(self, parameters: FloatArray) -> float:
        """Return one: the equations are in units of their spread already."""
        return 1.0

    def along(self, adjoint: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return the equations of each row along `adjoint`."""
        along: FloatArray = self.programs.rows(parameters, *self.arrays) @ adjoint
        return along

    def _jacobian(self, parameters: FloatArray, weights: Any) -> FloatArray:
        jacobian = self.programs.jacobian(parameters, weights, *self.arrays)
        hessian = self.programs.penalty_hessian
        return jacobian if hessian is None else jacobian + hessian(parameters)


def by_products_alone(solver: Solver, n_parameters: int) -> bool:
    """Return whether steps use products with the derivative, and never hold it."""
    return solver.by_products or n_parameters > _DENSE_PARAMETERS


def _truncated_step(operator: Operator, gradient: FloatArray) -> FloatArray:
    """Return the step of conjugate gradients, truncated at a direction of negative curvature."""
    found = search(operator.product, -gradient, tolerance=_STEP_RESIDUAL, max_iterations=10 * operator.size)
    return found.solution if found.iterations else -gradient


def _bounded_step(hessian: FloatArray, gradient: FloatArray) -> FloatArray:
    """Return the step by absolute curvatures, bounded below: a descent direction even at saddles."""
    diagonal = np.abs(np.diagonal(hessian))
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, diagonal.max() or 1.0))
    values, directions = scipy.linalg.eigh(hessian * scale * scale[:, np.newaxis])
    curvatures = np.maximum(np.abs(values), _LEAST_CURVATURE * (np.abs(values).max() or 1.0))
    step: FloatArray = -scale * (directions @ (directions.T @ (scale * gradient) / curvatures))
    return step


class NewtonFit:
    """Newton's method at one set of weights, with the checks of its solution.

    Parameters
    ----------
    conditions
        What is to be solved.
    solver
        Judges the derivative at the end.
    weights
        Shape ``(n,)``; they need not sum to one.
    known
        A derivative near the start that is factored already: good enough for the first step, which saves one of four.
    """

    def __init__(
        self, conditions: Conditions, solver: Solver, weights: FloatArray, known: FactoredMatrix | None = None
    ) -> None:
        self._conditions = conditions
        self._solver = solver
        self._weights = conditions.library.array(weights / weights.sum())
        self._known = known
        self._operator: Operator | None = None
        self._decrements: list[float] = []

    def from_nearby(self, start: FloatArray, spread: float) -> FloatArray:
        """Return the solution by Newton steps from a nearby `start`; `spread` is the unit of the precision."""
        self._decrements = []
        found = newton_minimum(
            lambda at: self._conditions.value(at, self._weights),
            lambda at: self._conditions.gradient(at, self._weights),
            self._step,
            start,
            tolerance=_PRECISION * spread,
            max_iterations=_NEWTON_STEPS,
        )
        self._check(found, spread)
        return found.point

    def from_afar(self, start: FloatArray) -> FloatArray:
        """Return the solution from a distant `start`: by L-BFGS or Powell's method, then by Newton steps."""
        near = self._conditions.approached(start, self._weights)
        self._known = None
        return self.from_nearby(near, self._conditions.spread(near))

    def _step(self, parameters: FloatArray, gradient: FloatArray) -> FloatArray:
        direction = self._direction(parameters, gradient)
        self._decrements.append(-float(gradient @ direction))
        return direction

    def _direction(self, parameters: FloatArray, gradient: FloatArray) -> FloatArray:
        if self._known is not None and not self._decrements:
            return self._conditions.step(self._known, parameters, gradient, self._weights)
        by_products = by_products_alone(self._solver, len(parameters))
        self._operator = self._conditions.operator(parameters, self._weights, by_products=by_products)
        return self._conditions.direction(self._operator, parameters, gradient, self._weights)

    def _check(self, found: Minimum, spread: float) -> None:
        """Raise unless this is a solution, and the only one nearby."""
        if found.converged and self._runs_away(spread):
            raise FitError(_runaway(found, self._conditions.names))
        if isinstance(self._operator, ProductOperator):
            ConjugateGradients(self._solver.damping, _STEP_RESIDUAL).factor(self._operator).solve(_probe(found.point))
        elif self._operator is not None:
            self._solver.factor(self._operator)
        if not found.converged:
            raise FitError(_unconverged(found, self._conditions.names))

    def _runs_away(self, spread: float) -> bool:
        """Return whether the fit diverges: steps do not shrink although their gain does, as for separable classes."""
        # All of them count: far out the gradient rounds to zero, so that the last ones may fall like near a minimum.
        visible = [decrement for decrement in self._decrements if _ROUNDING < decrement / spread < _NEARBY]
        slow = [after > _SHRINKING * before for before, after in pairwise(visible)]
        return sum(slow) >= _SLOW_STEPS


def _probe(parameters: FloatArray) -> FloatArray:
    """Return a random right-hand side, so that a solve meets every direction without curvature."""
    return np.random.default_rng(0).standard_normal(len(parameters))


def _unconverged(found: Minimum, names: tuple[str, ...]) -> str:
    return (
        f"the fit did not converge: after {_steps(found)}, at {_largest(found, names)}, one more would still gain "
        f"{found.decrement / 2:.2g}. The loss may have kinks (absolute values, maxima), no lower bound, its minimum at "
        "infinity, as for classes that a column separates, or a part that `float()`, `int()` or `.item()` hide from "
        "its derivative: smooth it, add a `penalty`, rescale the columns, or start from a better `init`."
    )


def _runaway(found: Minimum, names: tuple[str, ...]) -> str:
    return (
        f"there is no fit: after {_steps(found)}, at {_largest(found, names)}, the steps do not shrink "
        "although nothing is gained any more. The minimum is at infinity, as for classes that a column separates, or "
        "the loss is flat there: add a `penalty`, or drop the parameter."
    )


def _steps(found: Minimum) -> str:
    return f"{found.iterations} Newton step{'s' * (found.iterations != 1)}"


def _largest(found: Minimum, names: tuple[str, ...]) -> str:
    largest = int(np.argmax(np.abs(found.point)))
    return f"{names[largest]} = {found.point[largest]:.3g}"
