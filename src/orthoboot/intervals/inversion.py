"""The tail probability with which an end excludes a value, by bisection."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy

from orthoboot.estimators.estimation import Estimation
from orthoboot.intervals.base import Exclusion
from orthoboot.typing import BoolArray, FloatArray

EndFunction = Callable[[FloatArray], FloatArray]
"""The ends that leave given probabilities below them, one for each output; NaN where there is none."""

_FARTHEST = 8.0
"""Normal scores between which tails are searched: beyond, probabilities are lost to rounding in 1 - p."""

_TURNS = 26
"""Halvings of the scores, to 2.4e-7: a tail is then known to two parts in a million."""


def excluding_tail(end: EndFunction, estimation: Estimation, null: FloatArray, above: BoolArray) -> Exclusion:
    """Return the smallest tail with which an end lies beyond `null`, by halving its normal score.

    Ends that do not exist count as those at infinity do: too far out to exclude anything. Beyond one half they count as
    excluding it, since ends there only come nearer.

    Parameters
    ----------
    end
        The ends of the method.
    estimation
        Says on which side a value lies where the middle of the distribution does not, and what does not vary.
    null
        A value for each output, shape ``(k,)``.
    above
        Whether the lower end is to lie above the value, else the upper end below it.
    """
    sign = np.where(above, 1.0, -1.0)

    def distance(scores: FloatArray) -> FloatArray:
        """Return how far ends with these scores in their tails lie beyond the value; NaN without an end."""
        return sign * (end(scipy.special.ndtr(sign * scores)) - null)

    middle = distance(np.zeros_like(null))
    middle = np.where(np.isnan(middle), sign * (estimation.estimate - null), middle)
    low = np.where(middle > 0, -_FARTHEST, 0.0)
    high = np.where(middle > 0, 0.0, _FARTHEST)
    found, missing = np.zeros(null.shape, dtype=bool), np.isnan(distance(low))
    for _ in range(_TURNS):
        scores = (low + high) / 2
        beyond = distance(scores)
        is_missing = np.isnan(beyond)
        excluded = np.where(is_missing, scores > 0, beyond > 0)
        low, high = np.where(excluded, low, scores), np.where(excluded, scores, high)
        missing = np.where(excluded, missing, is_missing)
        found |= ~is_missing
    tail = np.where(found, scipy.special.ndtr(high), np.nan)
    is_limit = found & ((low == -_FARTHEST) | (missing & (high < 0)))
    # Where nothing varies the interval is the estimate, and excludes all values but this one.
    varies = estimation.standard_error > 0
    still = np.where(sign * (estimation.estimate - null) > 0, 0.0, 1.0)
    return Exclusion(np.where(varies, tail, still), is_limit & varies)
