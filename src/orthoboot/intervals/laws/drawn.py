"""The law of a control that is known from draws, calibrated by the exact law of the linear part."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import ArrayLike

from orthoboot.intervals.laws.saddlepoint import GRID, LinearDistribution
from orthoboot.typing import BoolArray, FloatArray

_BINS = 50
"""Intervals of the linear part, equally probable under its law, whose draws together get the probability they have."""

_TAIL = 0.02
"""Share of the draws at either end whose slope goes on beyond them."""


@dataclass(frozen=True, eq=False)
class DrawnDistribution:
    """The distribution of draws of a control, each weighted so that their linear parts have their exact law.

    The linear part explains most of the control, and so most of the chance in which draws came is known and removed:
    post-stratification. Between draws the distribution is straight in normal scores, beyond them it goes on as it ends.

    Parameters
    ----------
    control
        Less its mean, shape ``(N, k)``.
    linear
        The linear parts of the same draws, shape ``(N, k)``.
    variance
        Of the control, shape ``(k,)``.
    law
        The exact law of the linear part.
    """

    control: FloatArray
    linear: FloatArray
    variance: FloatArray
    law: LinearDistribution

    @cached_property
    def scale(self) -> FloatArray:
        """Return the standard deviation of each output; one where it is constant."""
        return np.where(self.variance > 0, np.sqrt(self.variance), 1.0)

    @cached_property
    def on_grid(self) -> FloatArray:
        """Return the standardised values at `GRID`, shape ``(k, nodes)``."""
        columns = zip(self.control.T, self._weights.T, self.scale, strict=True)
        return np.array([_at_scores(values, weights) / scale for values, weights, scale in columns])

    def standardised(self, scores: FloatArray) -> FloatArray:
        """Return the standardised values at normal scores of shape ``(k, m)``."""
        inside = np.clip(scores, GRID[0], GRID[-1])
        return np.array([np.interp(row, GRID, values) for row, values in zip(inside, self.on_grid, strict=True)])

    def is_edge(self, p: ArrayLike) -> BoolArray:
        """Return False: there is always more beyond."""
        return np.zeros(np.broadcast_shapes(np.shape(p), self.variance.shape), dtype=bool)

    @cached_property
    def _weights(self) -> FloatArray:
        """Return the probability of each draw, shape ``(N, k)``."""
        share = self.law.cdf(self.linear + self.law.mean)
        bins = np.minimum((share * _BINS).astype(np.int64), _BINS - 1)
        weights = np.empty_like(self.control)
        for output, mine in enumerate(bins.T):
            counts = np.bincount(mine, minlength=_BINS)
            weights[:, output] = 1 / np.maximum(counts, 1)[mine]
        total: FloatArray = weights.sum(axis=0)
        return weights / total


def _at_scores(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the quantiles of weighted values at the scores of `GRID`."""
    order = np.argsort(values, kind="stable")
    ordered, mass = values[order], weights[order]
    scores = scipy.special.ndtri(np.cumsum(mass) - mass / 2)
    inside: FloatArray = np.interp(GRID, scores, ordered)
    few = max(int(_TAIL * len(values)), 2)
    below = scores[0] > GRID
    above = scores[-1] < GRID
    inside[below] = ordered[0] + _slope(scores[:few], ordered[:few]) * (GRID[below] - scores[0])
    inside[above] = ordered[-1] + _slope(scores[-few:], ordered[-few:]) * (GRID[above] - scores[-1])
    return inside


def _slope(scores: FloatArray, values: FloatArray) -> float:
    """Return the least-squares slope of increasing values on their scores."""
    centred = scores - scores.mean()
    return float(max(centred @ values / (centred @ centred), 0.0))
