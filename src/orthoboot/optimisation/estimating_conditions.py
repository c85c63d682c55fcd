"""The conditions that an M-estimate solves, at any weights, with their derivatives and Newton steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from orthoboot.autodiff import Autodiff, PackageFunction
from orthoboot.errors import FitError
from orthoboot.optimisation.first_steps import Steps
from orthoboot.solvers import LU, Cholesky, DenseOperator, FactoredMatrix, Operator, ProductOperator
from orthoboot.solvers.conjugate_gradients import search
from orthoboot.solvers.side_by_side import positive_solutions, solutions
from orthoboot.typing import FloatArray

STEP_RESIDUAL = 1e-4
"""Of a step by conjugate gradients: the error of the parameters falls by as much from step to step."""
_LEAST_CURVATURE = 1e-8
"""Of the largest, for steps from where the Hessian is not positive definite."""
_EQUAL = 1e-10
"""Of the largest loss: losses that differ by less differ by rounding."""
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

    @abstractmethod
    def steps(self, parameters: FloatArray, weights: FloatArray) -> Steps:
        """Return the Newton steps from many parameters ``(B, p)`` with weights ``(B, n)``, all at once."""

    @property
    @abstractmethod
    def is_traced(self) -> bool:
        """Return whether the user's function is a program, which takes many parameters at once without a trial."""


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
        self.gradients_and_hessians = library.gradients_and_hessians(objective)
        self.is_traced = all(library.is_traced(part) for part in (loss, penalty) if part is not None)


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

    def steps(self, parameters: FloatArray, weights: FloatArray) -> Steps:
        """Return ``-H^-1 gradient`` for each; none where H is not positive definite."""
        found = self.programs.gradients_and_hessians(parameters, weights, *self.arrays)
        gradient, hessian = found[:, 0], found[:, 1:]
        step = -positive_solutions(hessian, gradient)
        return Steps(step, -np.einsum("bp,bp->b", step, gradient))

    @property
    def is_traced(self) -> bool:
        """Return whether the loss is a program."""
        return self.programs.is_traced


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
        self.values_and_jacobians = library.values_and_jacobians(mean)
        self.penalty_derivatives = None
        if penalty is not None:
            self.penalty_derivatives = library.gradients_and_hessians(lambda parameters, weights: penalty(parameters))
        self.is_traced = all(library.is_traced(part) for part in (psi, penalty) if part is not None)


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

    def steps(self, parameters: FloatArray, weights: FloatArray) -> Steps:
        """Return Newton's steps towards the roots; none where the derivative is singular."""
        found = self.programs.values_and_jacobians(parameters, weights, *self.arrays)
        if self.programs.penalty_derivatives is not None:
            found = found + self.programs.penalty_derivatives(parameters, weights)
        residual, jacobian = found[:, 0], found[:, 1:].transpose(0, 2, 1)
        units = self._unit
        step = -solutions(jacobian / units[:, np.newaxis], residual / units)
        return Steps(step, np.square(residual / units).sum(axis=1))

    @property
    def is_traced(self) -> bool:
        """Return whether the equations are a program."""
        return self.programs.is_traced

    def _jacobian(self, parameters: FloatArray, weights: Any) -> FloatArray:
        jacobian = self.programs.jacobian(parameters, weights, *self.arrays)
        hessian = self.programs.penalty_hessian
        return jacobian if hessian is None else jacobian + hessian(parameters)


def _truncated_step(operator: Operator, gradient: FloatArray) -> FloatArray:
    """Return the step of conjugate gradients, truncated at a direction of negative curvature."""
    found = search(operator.product, -gradient, tolerance=STEP_RESIDUAL, max_iterations=10 * operator.size)
    return found.solution if found.iterations else -gradient


def _bounded_step(hessian: FloatArray, gradient: FloatArray) -> FloatArray:
    """Return the step by absolute curvatures, bounded below: a descent direction even at saddles."""
    diagonal = np.abs(np.diagonal(hessian))
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, diagonal.max() or 1.0))
    values, directions = scipy.linalg.eigh(hessian * scale * scale[:, np.newaxis])
    curvatures = np.maximum(np.abs(values), _LEAST_CURVATURE * (np.abs(values).max() or 1.0))
    step: FloatArray = -scale * (directions @ (directions.T @ (scale * gradient) / curvatures))
    return step
