"""Newton's method on the conditions that an M-estimate solves, with the checks of its solution."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from orthoboot.errors import FitError
from orthoboot.optimisation.estimating_conditions import STEP_RESIDUAL, Conditions
from orthoboot.optimisation.newton import Minimum, newton_minimum
from orthoboot.solvers import ConjugateGradients, FactoredMatrix, Operator, ProductOperator, Solver
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
_NEWTON_STEPS = 100


def by_products_alone(solver: Solver, n_parameters: int) -> bool:
    """Return whether steps use products with the derivative, and never hold it."""
    return solver.by_products or n_parameters > _DENSE_PARAMETERS


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
            ConjugateGradients(self._solver.damping, STEP_RESIDUAL).factor(self._operator).solve(_probe(found.point))
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
