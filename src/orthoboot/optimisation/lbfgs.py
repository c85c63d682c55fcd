"""Minima of many smooth functions at once, by L-BFGS with a known initial inverse Hessian.

The refits of a bootstrap are such: the same loss at other weights, and the factored Hessian of the fit to the data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np

from orthoboot.optimisation.newton import FALLING, FLATTENED, NOISE, ROUNDING, STILL, SUFFICIENT
from orthoboot.typing import BoolArray, FloatArray, IntArray

ValuesAndGradients = Callable[[FloatArray, IntArray], tuple[FloatArray, FloatArray]]
"""Takes points ``(A, p)`` and which of the B functions each belongs to, ``(A,)``, and returns values ``(A,)`` and
gradients ``(A, p)``."""
Precondition = Callable[[FloatArray], FloatArray]
"""Takes a column ``(p, 1)`` and returns the known inverse Hessian times it: `FactoredMatrix.solve`, for example."""

_PATIENCE = 10
"""A decrement that rounding hides in the value, and that has not fallen for so many steps, is rounding itself."""
_SHORTEST, _LONGEST, _TRIALS = 0.1, 0.5, 30
"""The next step to try lies between these shares of one that was too long; and how many are tried."""


@dataclass(frozen=True, eq=False)
class Minima:
    """Where the searches ended, one for each of B functions.

    Attributes
    ----------
    points, values
        Where, shape ``(B, p)``, and the functions there, ``(B,)``.
    decrements
        ``g' H g`` there, H the inverse Hessian as known and learned: about twice what is left to fall, ``(B,)``. NaN
        where the function is not finite or H not positive definite.
    iterations, converged
        After how many steps, and whether the decrement fell below the tolerance or so low that rounding hides it.
    """

    points: FloatArray
    values: FloatArray
    decrements: FloatArray
    iterations: IntArray
    converged: BoolArray


@dataclass(frozen=True, eq=False)
class _Pair:
    """A step of each search, and how the gradient changed along it."""

    steps: FloatArray
    changes: FloatArray
    weights: FloatArray
    """One over ``step . change``, or zero, which leaves the pair out."""


@dataclass(frozen=True, eq=False)
class _Searches:
    """The running searches: their points and their stored pairs."""

    problems: IntArray
    points: FloatArray
    values: FloatArray
    gradients: FloatArray
    scales: FloatArray
    """By which the known inverse Hessian is multiplied."""
    lowest: FloatArray
    idle: IntArray
    """The smallest decrement so far, and how many steps ago that was."""
    pairs: tuple[_Pair, ...] = ()

    def among(self, kept: BoolArray) -> _Searches:
        """Return some of the searches."""
        arrays = {each.name: getattr(self, each.name)[kept] for each in fields(self) if each.name != "pairs"}
        pairs = (_Pair(pair.steps[kept], pair.changes[kept], pair.weights[kept]) for pair in self.pairs)
        return _Searches(**arrays, pairs=tuple(pairs))

    def have_learned(self) -> BoolArray:
        """Return which searches have stored pairs."""
        learned: BoolArray = np.any([0 * self.scales, *(pair.weights for pair in self.pairs)], axis=0)
        return learned


def lbfgs_minima(
    function: ValuesAndGradients,
    start: FloatArray,
    *,
    precondition: Precondition | None = None,
    tolerance: float,
    memory: int = 20,
    max_iterations: int = 1000,
) -> Minima:
    r"""Return the minima that L-BFGS reaches from `start`, of all functions side by side.

    .. math:: \theta \leftarrow \theta - t\,H g, \qquad
        H \leftarrow (I - \rho s y') H (I - \rho y s') + \rho s s', \qquad \rho = 1 / s'y,

    s the last steps and y the changes of the gradient g along them, on top of the known inverse Hessian :math:`H_0`, by
    the two-loop recursion (Nocedal, 1980, Math. Comp. 35; Liu and Nocedal, 1989, Math. Program. 45). The length t goes
    down from 1 by cubic interpolation until the step is good enough in the sense of `newton_minimum`. Pairs without
    safely positive :math:`s'y` are left out, so that H stays positive definite where the function is not convex (the
    cautious update of Li and Fukushima, 2001, SIAM J. Optim. 11). A search that finds no step starts again from
    :math:`H_0`, and ends if it finds none from there.

    The bits of a search do not depend on the others beside it if those of `function` do not: sums run along its own
    numbers, and `precondition` gets one column at a time, since solving for many at once may round otherwise.

    Parameters
    ----------
    function
        Called for the searches under way only; a value that is infinite or NaN shortens the step.
    start
        Where the functions are finite, shape ``(B, p)``. A search from elsewhere stays there and has not converged.
    precondition
        The product of a positive definite :math:`H_0` with a column. Without it :math:`H_0` is :math:`s'y / y'y` of
        the last pair times the identity, and the first step is of length one.
    tolerance
        Of the decrement :math:`g'Hg`, in units of the value; zero asks for what rounding allows.
    memory, max_iterations
        How many pairs are used, one or more, and the most steps.

    Examples
    --------
    >>> centres = np.array([[1.0, 2.0], [3.0, -1.0]])
    >>> def cosh(x, problems):
    ...     return np.cosh(x - centres[problems]).sum(axis=1), np.sinh(x - centres[problems])
    >>> found = lbfgs_minima(cosh, np.zeros((2, 2)), tolerance=1e-16)
    >>> found.points.round(6).tolist(), found.converged.tolist()
    ([[1.0, 2.0], [3.0, -1.0]], [True, True])
    """
    problems = np.arange(len(start))
    # A trial may lie where a function overflows; that its value is not finite tells.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        searches = _searches_from(function, problems, np.array(start, dtype=np.float64), scaled=precondition is None)
        ends = Minima(searches.points.copy(), searches.values.copy(), np.zeros(len(start)), 0 * problems, problems < 0)
        for iteration in range(max_iterations + 1):
            directions = _directions(searches, precondition)
            decrements = _dot(searches.gradients, -directions)
            decrements[~(np.isfinite(searches.values) & (decrements >= 0))] = np.nan  # nothing compares with that
            idle = np.where(decrements <= FALLING * searches.lowest, 0, searches.idle + 1)
            searches = replace(searches, lowest=np.fmin(searches.lowest, decrements), idle=idle)
            hidden = _are_hidden(searches, directions, decrements)
            settled = (decrements <= tolerance) | (hidden & (idle >= _PATIENCE))
            tried = ~settled & (iteration < max_iterations)
            further, found = _further(function, searches, directions, decrements, tried)
            ended = ~found & ~(tried & searches.have_learned())
            _record(ends, searches, ended, iteration, decrements, settled | (tried & hidden))
            if ended.all():
                break
            searches = _taught(searches, further, found, memory, scaled=precondition is None)
            searches = searches.among(~ended) if ended.any() else searches
    return ends


def _searches_from(function: ValuesAndGradients, problems: IntArray, start: FloatArray, *, scaled: bool) -> _Searches:
    values, gradients = function(start, problems)
    lengths = np.sqrt(_dot(gradients, gradients))
    scales = np.where(scaled & (lengths > 0), 1 / lengths, 1.0)
    return _Searches(problems, start, values, gradients, scales, np.full(len(start), np.inf), 0 * problems)


def _directions(searches: _Searches, precondition: Precondition | None) -> FloatArray:
    """Return ``-H g`` for each search, by the two-loop recursion."""
    product, shares = searches.gradients, []
    for pair in reversed(searches.pairs):
        shares.append(pair.weights * _dot(pair.steps, product))
        product = product - shares[-1][:, np.newaxis] * pair.changes
    if precondition is not None:
        columns = (row[:, np.newaxis] for row in product)  # solvers refuse those of a search that starts from nowhere
        product = np.array([precondition(c) if np.isfinite(c).all() else c for c in columns]).reshape(product.shape)
    product = searches.scales[:, np.newaxis] * product
    for pair, share in zip(searches.pairs, reversed(shares), strict=True):
        product = product + (share - pair.weights * _dot(pair.changes, product))[:, np.newaxis] * pair.steps
    return -product


def _are_hidden(searches: _Searches, directions: FloatArray, decrements: FloatArray) -> BoolArray:
    """Return for which searches the rounding of the value or of the point hides the next step."""
    still: BoolArray = np.all(np.abs(directions) <= STILL * np.abs(searches.points), axis=1)
    return (decrements >= 0) & (still | (decrements <= ROUNDING * np.abs(searches.values)))


def _further(
    function: ValuesAndGradients, searches: _Searches, directions: FloatArray, decrements: FloatArray, tried: BoolArray
) -> tuple[_Searches, BoolArray]:
    """Return the searches after a backtracking line search, and which of them found a step."""
    points, values, gradients = searches.points.copy(), searches.values.copy(), searches.gradients.copy()
    lengths, found = np.ones(len(points)), np.zeros(len(points), dtype=np.bool_)
    seeking = np.flatnonzero(tried & (decrements > 0) & (decrements < np.inf))
    for _ in range(_TRIALS):
        if not len(seeking):
            break
        at = searches.points[seeking] + lengths[seeking, np.newaxis] * directions[seeking]
        heights, uphill = function(at, searches.problems[seeking])
        good, lengths[seeking] = _judged(
            lengths[seeking], searches.values[seeking], decrements[seeking], heights, _dot(uphill, directions[seeking])
        )
        done = seeking[good]
        points[done], values[done], gradients[done], found[done] = at[good], heights[good], uphill[good], True
        seeking = seeking[~good]
    return replace(searches, points=points, values=values, gradients=gradients), found


def _judged(
    lengths: FloatArray, values: FloatArray, decrements: FloatArray, heights: FloatArray, slopes: FloatArray
) -> tuple[BoolArray, FloatArray]:
    """Return which steps from `values` to `heights` are accepted, and the lengths to try for the others.

    Good is a fall, or half the slope where rounding hides the fall; the next length is that at which the cubic through
    both ends is lowest, within bounds. Where the values at both ends differ by rounding alone the slopes are all that
    is known, and the length is that at which the line through them is zero.
    """
    falls = heights <= values - SUFFICIENT * lengths * decrements
    falls &= (heights < values) | (lengths == 1)  # a shortened step that leaves the value as it is leads nowhere
    level = heights <= values + NOISE * np.abs(values)
    flattened = np.abs(slopes) <= FLATTENED * decrements
    good = np.isfinite(heights) & np.isfinite(slopes) & (falls | (level & flattened))
    rises = (heights - values) / lengths
    rises = np.where(np.abs(heights - values) <= ROUNDING * np.abs(values), (slopes - decrements) / 2, rises)
    bend = slopes - decrements - 3 * rises
    root = np.sqrt(bend**2 + decrements * slopes)
    share = 1 - (slopes + root - bend) / (slopes + decrements + 2 * root)
    return good, lengths * np.where(np.isfinite(share), np.clip(share, _SHORTEST, _LONGEST), _LONGEST)


def _taught(searches: _Searches, further: _Searches, found: BoolArray, memory: int, *, scaled: bool) -> _Searches:
    """Return the searches updated with their last step; those that found none drop their stored pairs."""
    steps, changes = further.points - searches.points, further.gradients - searches.gradients
    curvatures = _dot(steps, changes)
    # A slope that hardly rises along the step says nothing about the curvature.
    curved = curvatures > -NOISE * _dot(steps, searches.gradients)
    last = _Pair(steps, changes, np.where(curved, 1 / curvatures, 0.0))
    earlier = [replace(pair, weights=np.where(found, pair.weights, 0.0)) for pair in searches.pairs]
    scales = np.where(scaled & curved, curvatures / _dot(changes, changes), searches.scales)
    return replace(further, scales=scales, pairs=tuple([*earlier, last][-memory:]))


def _record(
    ends: Minima, searches: _Searches, ended: BoolArray, iteration: int, decrements: FloatArray, converged: BoolArray
) -> None:
    at = searches.problems[ended]
    ends.points[at], ends.values[at] = searches.points[ended], searches.values[ended]
    ends.decrements[at], ends.iterations[at], ends.converged[at] = decrements[ended], iteration, converged[ended]


def _dot(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the inner products of the rows, summed one by one: `einsum` splits long rows by memory alignment."""
    products: FloatArray = np.multiply(left, right, order="C").sum(axis=1)
    return products
