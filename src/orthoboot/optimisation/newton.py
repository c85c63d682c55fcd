"""Minima of smooth functions by damped Newton steps, to the precision that rounding allows."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

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
NEARLY_ROUNDING = 1e-24
"""With a tolerance of zero, a decrement below this share of the value ends the search after one more step.

That squares it, to far below what rounding allows.
"""
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


class Evaluated(Protocol):
    """A function at a point."""

    @property
    def value(self) -> float:
        """Return the function; infinite or NaN where it is not defined."""

    @property
    def gradient(self) -> FloatArray:
        """Return its gradient, shape ``(p,)``."""

    def step(self) -> FloatArray:
        """Return the step to try, as in `Step`."""


Search = Generator[FloatArray, Evaluated, Minimum]
"""Yields the points at which it needs the function, and returns where it ended."""


@dataclass(frozen=True)
class _Lazy:
    """A function at a point, of which nothing is computed that is not asked for."""

    functions: tuple[Value, Gradient, Step]
    point: FloatArray

    @cached_property
    def value(self) -> float:
        return float(self.functions[0](self.point))

    @cached_property
    def gradient(self) -> FloatArray:
        return self.functions[1](self.point)

    def step(self) -> FloatArray:
        return self.functions[2](self.point, self.gradient)


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
    functions = value, gradient, step
    return newton_minimum_of(
        lambda point: _Lazy(functions, point), start, tolerance=tolerance, max_iterations=max_iterations
    )


def newton_minimum_of(
    evaluated: Callable[[FloatArray], Evaluated], start: FloatArray, *, tolerance: float, max_iterations: int = 100
) -> Minimum:
    """Return the minimum as `newton_minimum` does, of a function whose value and derivatives share work.

    Parameters
    ----------
    evaluated
        Returns the function at a point.
    start, tolerance, max_iterations
        As in `newton_minimum`.
    """
    search = newton_search(start, tolerance=tolerance, max_iterations=max_iterations)
    point = next(search)
    while True:
        try:
            point = search.send(evaluated(point))
        except StopIteration as ended:
            minimum: Minimum = ended.value
            return minimum


def newton_minima(
    starts: Sequence[FloatArray],
    evaluated: Callable[[list[int], list[FloatArray]], Sequence[Evaluated]],
    *,
    tolerance: Callable[[Any], float],
    max_iterations: int = 100,
) -> list[Minimum | FitError]:
    """Return the minima of several functions, or why there are none, as `newton_minimum` finds them one by one.

    For functions that are cheaper to evaluate together, such as sums over the rows of a file. The end of the last step
    is taken without looking at the function there.

    Parameters
    ----------
    starts
        Where each search begins.
    evaluated
        Returns some of the functions, given their places, each at a point of its own.
    tolerance
        As in `newton_minimum`, of each function, given what is known of it at its start.
    max_iterations
        The most steps.
    """
    searches = [
        newton_search(start, tolerance=tolerance, max_iterations=max_iterations, looks_at_the_end=False)
        for start in starts
    ]
    found: dict[int, Minimum | FitError] = {}
    waiting = {place: next(search) for place, search in enumerate(searches)}
    while waiting:
        places, points = list(waiting), list(waiting.values())
        for place, here in zip(places, evaluated(places, points), strict=True):
            try:
                waiting[place] = searches[place].send(here)
            except (StopIteration, FitError) as ended:
                found[place] = ended if isinstance(ended, FitError) else ended.value
                del waiting[place]
    return [found[place] for place in range(len(searches))]


def newton_search(
    start: FloatArray,
    *,
    tolerance: float | Callable[[Any], float],
    max_iterations: int = 100,
    looks_at_the_end: bool = True,
) -> Search:
    """Return the search of `newton_minimum` as a dialogue: it yields a point and is sent the function there.

    Parameters
    ----------
    start, max_iterations
        As in `newton_minimum`.
    tolerance
        As there, or a function of what is known at the start.
    looks_at_the_end
        Whether the last step is taken back where the function is higher at its end. From a point within the tolerance
        it is so short that this asks for one more evaluation to learn nothing, but where the function may be undefined.
    """
    point, here = start, (yield start)
    if not np.isfinite(here.value):
        raise FitError(f"the function must be finite at the start of the search; it is {here.value}.")
    decrement, least = np.inf, tolerance(here) if callable(tolerance) else tolerance
    for iteration in range(1, max_iterations + 1):
        direction = here.step()
        previous, decrement = decrement, -float(here.gradient @ direction)
        if not decrement >= 0:
            return Minimum(point, decrement, iteration, converged=False)
        if decrement <= (least or NEARLY_ROUNDING * abs(here.value)):
            end = point + direction
            # Unless the function is higher there by more than rounding.
            lower = not looks_at_the_end or (yield end).value <= _at_most(here.value)
            return Minimum(end if lower else point, decrement, iteration, converged=True)
        # A fit without residuals has no value to compare with; there the point itself has no digits left to move.
        still = bool(np.all(np.abs(direction) <= STILL * np.abs(point)))
        hidden = still or decrement <= ROUNDING * abs(here.value)
        if hidden and decrement > FALLING * previous:
            return Minimum(point, decrement, iteration, converged=True)
        further = yield from _further(point, here, direction, decrement)
        if further is None:
            return Minimum(point, decrement, iteration, converged=hidden)
        point, here = further
    return Minimum(point, decrement, max_iterations, converged=False)


def _further(
    start: FloatArray, here: Evaluated, direction: FloatArray, decrement: float
) -> Generator[FloatArray, Evaluated, tuple[FloatArray, Evaluated] | None]:
    """Return the first acceptable step of a backtracking line search, or None."""
    length = 1.0
    for _ in range(HALVINGS):
        point = start + length * direction
        there = yield point
        if there.value <= here.value - SUFFICIENT * length * decrement:
            return point, there
        if there.value <= _at_most(here.value) and abs(float(there.gradient @ direction)) <= FLATTENED * decrement:
            return point, there
        length /= 2
    return None


def _at_most(height: float) -> float:
    return height + NOISE * abs(height)
