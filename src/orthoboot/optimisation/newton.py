"""Minima of smooth functions by damped Newton steps, to the precision that rounding allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from orthoboot.errors import FitError
from orthoboot.typing import FloatArray

Value = Callable[[FloatArray], float]
Gradient = Callable[[FloatArray], FloatArray]
Step = Callable[[FloatArray, FloatArray], FloatArray]
"""Takes a point and the gradient there, and returns the step to try: minus the inverse Hessian times the gradient."""

_EPSILON = float(np.finfo(np.float64).eps)
ROUNDING = 64 * _EPSILON
"""A decrement below this share of the value cannot be seen in the value any more."""
STILL = 4 * _EPSILON
"""A step of this share of the point is rounding."""
NOISE = float(np.sqrt(_EPSILON))
"""How much of the value may be rounding of its terms, where the gradient has to judge a step instead."""
FALLING = 0.9
"""A decrement that rounding hides in the value, and that does not even fall by a tenth, is rounding itself."""
SUFFICIENT = 1e-4
"""The share of the decrease promised by the gradient that a step has to bring (Armijo)."""
FLATTENED = 0.5
"""How far a step has to bring down the slope along itself where the value cannot judge it."""
HALVINGS = 50


@dataclass(frozen=True)
class Minimum:
    """Where the search ended.

    Attributes
    ----------
    point
        Shape ``(p,)``.
    decrement
        Newton's decrement ``g' H^-1 g`` before the last step: twice what a quadratic function would still fall.
    iterations
        How many steps were computed.
    converged
        Whether the decrement fell below the tolerance, or so low that rounding hides it.
    """

    point: FloatArray
    decrement: float
    iterations: int
    converged: bool


@dataclass(frozen=True)
class _Position:
    point: FloatArray
    value: float
    gradient: FloatArray


def newton_minimum(
    value: Value, gradient: Gradient, step: Step, start: FloatArray, *, tolerance: float, max_iterations: int = 100
) -> Minimum:
    r"""Return the minimum that damped Newton steps reach from `start`.

    .. math:: \theta \leftarrow \theta + t\,s, \qquad s = -H^{-1} g, \qquad \lambda^2 = -g's,

    with t halved from 1 until the value falls enough (Armijo), or, where the fall is lost in rounding, until the slope
    along s is halved (the approximate Wolfe condition of Hager and Zhang, 2005, SIAM J. Optim. 16). The last step,
    from a point where :math:`\lambda^2` is below `tolerance`, is taken too: it squares the error and costs nothing.

    Parameters
    ----------
    value
        The function; infinite or NaN where it is not defined, which shortens the step.
    gradient
        Its gradient, shape ``(p,)``.
    step
        The step to try from a point with that gradient. It must go downhill, so where the Hessian is not positive
        definite it is to use another matrix that is.
    start
        Where `value` is finite, shape ``(p,)``.
    tolerance
        Of the decrement, in units of `value`; zero asks for what rounding allows.
    max_iterations
        The most steps.

    Examples
    --------
    >>> found = newton_minimum(
    ...     lambda x: float(np.sum(np.cosh(x - 1))),
    ...     lambda x: np.sinh(x - 1),
    ...     lambda x, gradient: -gradient / np.cosh(x - 1),
    ...     np.array([4.0, -2.0]),
    ...     tolerance=1e-12,
    ... )
    >>> found.point, found.converged
    (array([1., 1.]), True)
    """
    position = _Position(start, float(value(start)), gradient(start))
    if not np.isfinite(position.value):
        raise FitError(f"the function must be finite at the start of the search; it is {position.value}.")
    decrement = np.inf
    for iteration in range(1, max_iterations + 1):
        direction = step(position.point, position.gradient)
        previous, decrement = decrement, -float(position.gradient @ direction)
        if not decrement >= 0:
            return Minimum(position.point, decrement, iteration, converged=False)
        if decrement <= tolerance:
            return Minimum(_last_point(value, position, direction), decrement, iteration, converged=True)
        # A fit without residuals has no value to compare with; there the point itself has no digits left to move.
        still = bool(np.all(np.abs(direction) <= STILL * np.abs(position.point)))
        hidden = still or decrement <= ROUNDING * abs(position.value)
        if hidden and decrement > FALLING * previous:
            return Minimum(position.point, decrement, iteration, converged=True)
        further = _further(value, gradient, position, direction, decrement)
        if further is None:
            return Minimum(position.point, decrement, iteration, converged=hidden)
        position = further
    return Minimum(position.point, decrement, max_iterations, converged=False)


def _last_point(value: Value, position: _Position, direction: FloatArray) -> FloatArray:
    """Return the end of the full step, unless the function is higher there by more than rounding."""
    end: FloatArray = position.point + direction
    return end if value(end) <= _at_most(position.value) else position.point


def _further(
    value: Value, gradient: Gradient, position: _Position, direction: FloatArray, decrement: float
) -> _Position | None:
    """Return the first acceptable step of a backtracking line search, or None."""
    length = 1.0
    for _ in range(HALVINGS):
        point = position.point + length * direction
        height = float(value(point))
        if height <= position.value - SUFFICIENT * length * decrement:
            return _Position(point, height, gradient(point))
        if height <= _at_most(position.value):
            slope = gradient(point)
            if abs(float(slope @ direction)) <= FLATTENED * decrement:
                return _Position(point, height, slope)
        length /= 2
    return None


def _at_most(height: float) -> float:
    return height + NOISE * abs(height)
