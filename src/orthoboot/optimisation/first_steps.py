"""The first Newton steps of many searches at once, from one point that is near the ends of all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from orthoboot.typing import BoolArray, FloatArray, IntArray

STEPS, MOST_STEPS = 3, 20
"""Each squares the error: from the fit of all rows the third ends far below the noise of a resample. The few resamples
for which it does not, such as those that nearly separate the classes, take some more."""
SHRINKING = 0.05
"""Near a minimum the decrement falls faster than this from step to step; on the way to infinity it does not."""
NEGLIGIBLE = 1e-10
"""Of the first decrement: one that is so small is rounding, be it larger than the one before."""


class Steps(NamedTuple):
    """Newton steps of some searches, each from a point of its own.

    Attributes
    ----------
    step
        Shape ``(B, p)``; NaN where there is none.
    decrement
        How far the points are from their ends, squared, as the squares of the equations or ``g' H^-1 g`` of a gradient
        and a Hessian; shape ``(B,)``.
    """

    step: FloatArray
    decrement: FloatArray


StepsFrom = Callable[[FloatArray, IntArray], Steps]
"""Takes the points ``(B, p)`` of some searches and the numbers ``(B,)`` of these."""


def ends_of_first_steps(
    steps_from: StepsFrom,
    start: FloatArray,
    number: int,
    *,
    n_steps: int = STEPS,
    most: int = MOST_STEPS,
    negligible: float = NEGLIGIBLE,
) -> FloatArray:
    """Return where the first Newton steps of many searches end, shape ``(B, p)``.

    A search whose last step is not much shorter than the one before goes on, up to `most` steps; NaN where these do not
    shrink either. From a point without a step it goes half way back to where the last one began.

    Parameters
    ----------
    steps_from
        The steps from where the searches are.
    start
        Where all of them begin, shape ``(p,)``.
    number
        How many searches.
    n_steps, most
        How many steps each takes, and at most. Where both are one, as for linear equations, every step is taken.
    negligible
        Share of its first decrement from which on a search has settled however its steps shrink.

    Examples
    --------
    >>> targets = np.array([[2.0], [3.0]])
    >>> def steps_from(points, numbers):
    ...     step = (targets[numbers] / points - points) / 2
    ...     return Steps(step, step[:, 0] ** 2)
    >>> (ends_of_first_steps(steps_from, np.array([1.5]), 2) ** 2).round(6)
    array([[2.],
           [3.]])
    """
    found = np.full((number, len(start)), np.nan)
    walks = _started(start, number)
    for taken in range(1, most + 1):
        if not walks.numbers.size:
            break
        walks = walks.moved(steps_from(walks.point, walks.numbers))
        if taken >= n_steps:
            settled = np.isfinite(walks.decrement) if most == 1 else walks.has_settled(negligible)
            found[walks.numbers[settled]] = walks.point[settled]
            walks = walks.some(~settled)
    return found


class _Walks(NamedTuple):
    """Searches on their way, every array with one entry for each of them.

    Attributes
    ----------
    numbers
        Which of the searches.
    point, origin
        Where they are, and where the last Newton step began.
    decrement, previous, first
        That of this step, the one before and the first one; NaN where there was none.
    """

    numbers: IntArray
    point: FloatArray
    origin: FloatArray
    decrement: FloatArray
    previous: FloatArray
    first: FloatArray

    def has_settled(self, negligible: float) -> BoolArray:
        """Return which of them are at their end but for an error that does not matter."""
        settled: BoolArray = self.decrement <= np.maximum(SHRINKING * self.previous, negligible * self.first)
        return settled

    def moved(self, steps: Steps) -> _Walks:
        """Return the searches one step further; half way back where there is none."""
        exists = np.asarray(np.isfinite(steps.step).all(axis=1))
        moves = exists[:, np.newaxis]
        decrement = np.where(exists, steps.decrement, np.nan)
        return self._replace(
            point=np.where(moves, self.point + steps.step, (self.point + self.origin) / 2),
            origin=np.where(moves, self.point, self.origin),
            decrement=decrement,
            previous=self.decrement,
            first=np.where(np.isnan(self.first), decrement, self.first),
        )

    def some(self, chosen: BoolArray) -> _Walks:
        """Return some of them."""
        return _Walks._make(part[chosen] for part in self)


def _started(start: FloatArray, number: int) -> _Walks:
    points, unknown = np.tile(start, (number, 1)), np.full(number, np.nan)
    return _Walks(np.arange(number), points, points, unknown, unknown, unknown)
