"""The law of a control that is known from draws, calibrated by the exact law of the linear part."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from orthoboot.intervals.laws.saddlepoint import GRID, LinearDistribution
from orthoboot.typing import BoolArray, FloatArray, IntArray

_STRATA = 50
"""Intervals of the linear part, equally probable under its law, whose draws together get the probability they have."""

_TAIL = 0.02
"""Share of the draws at either end whose slope goes on beyond them."""


class OrderedDraws(NamedTuple):
    """Draws of a control in increasing order, for each output by itself.

    Attributes
    ----------
    control
        The values, shape ``(k, N)``.
    strata
        In which of fifty intervals, equally probable under its law, the linear part of each draw lies, ``(k, N)``.
    numbers
        Which draw it was, shape ``(k, N)``.
    """

    control: FloatArray
    strata: IntArray
    numbers: IntArray

    @staticmethod
    def of(control: FloatArray, linear: FloatArray, law: LinearDistribution) -> OrderedDraws:
        """Return draws of a control and of the linear part, of mean zero and of this law, shape ``(N, k)`` each."""
        share = law.cdf(linear + law.mean).T
        strata = np.minimum((share * _STRATA).astype(np.int64), _STRATA - 1)
        numbers = np.argsort(control.T, axis=1, kind="stable")
        ordered = np.take_along_axis(control.T, numbers, axis=1)
        return OrderedDraws(ordered, np.take_along_axis(strata, numbers, axis=1), numbers)

    def some(self, kept: BoolArray) -> OrderedDraws:
        """Return the draws that are kept, shape ``(N,)``."""
        where, shape = kept[self.numbers], (len(self.numbers), -1)
        return OrderedDraws(
            self.control[where].reshape(shape), self.strata[where].reshape(shape), self.numbers[where].reshape(shape)
        )


@dataclass(frozen=True, eq=False)
class DrawnDistribution:
    """The distribution of draws of a control, each weighted so that their linear parts have their exact law.

    The linear part explains most of the control, and so most of the chance in which draws came is known and removed:
    post-stratification. Between draws the distribution is straight in normal scores, beyond them it goes on as it ends.

    Parameters
    ----------
    draws
        The draws.
    mean, variance
        Of the control, shape ``(k,)`` each.
    """

    draws: OrderedDraws
    mean: FloatArray
    variance: FloatArray

    @cached_property
    def scale(self) -> FloatArray:
        """Return the standard deviation of each output; one where it is constant."""
        return np.where(self.variance > 0, np.sqrt(self.variance), 1.0)

    @cached_property
    def on_grid(self) -> FloatArray:
        """Return the standardised values at `GRID`, shape ``(k, nodes)``."""
        columns = zip(self.draws.control, self.draws.strata, self.mean, self.scale, strict=True)
        return np.array(
            [_at_scores(values - mean, _weights(strata)) / scale for values, strata, mean, scale in columns]
        )

    def standardised(self, scores: FloatArray) -> FloatArray:
        """Return the standardised values at normal scores of shape ``(k, m)``."""
        inside = np.clip(scores, GRID[0], GRID[-1])
        return np.array([np.interp(row, GRID, values) for row, values in zip(inside, self.on_grid, strict=True)])

    def is_edge(self, p: ArrayLike) -> BoolArray:
        """Return False: there is always more beyond."""
        return np.zeros(np.broadcast_shapes(np.shape(p), self.variance.shape), dtype=bool)


def _weights(strata: IntArray) -> FloatArray:
    """Return the probability of each draw, shape ``(N,)``: each stratum that has draws gets the same."""
    counts = np.bincount(strata, minlength=_STRATA)
    weights = (1 / np.maximum(counts, 1))[strata]
    return np.asarray(weights / weights.sum())


def _at_scores(ordered: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the quantiles of increasing values with weights at the scores of `GRID`."""
    scores = scipy.special.ndtri(np.cumsum(weights) - weights / 2)
    inside: FloatArray = np.interp(GRID, scores, ordered)
    few = max(int(_TAIL * len(ordered)), 2)
    below = scores[0] > GRID
    above = scores[-1] < GRID
    inside[below] = ordered[0] + _slope(scores[:few], ordered[:few]) * (GRID[below] - scores[0])
    inside[above] = ordered[-1] + _slope(scores[-few:], ordered[-few:]) * (GRID[above] - scores[-1])
    return inside


def _slope(scores: FloatArray, values: FloatArray) -> float:
    """Return the least-squares slope of increasing values on their scores."""
    centred = scores - scores.mean()
    return float(max(centred @ values / (centred @ centred), 0.0))
