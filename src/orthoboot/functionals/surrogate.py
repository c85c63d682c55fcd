"""Surrogates: cheap twins of a statistic, whose values on thousands of resamples cost less than a few of its own."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from orthoboot.draws.resamples import Resamples
from orthoboot.typing import FloatArray

WEIGHTS_AT_ONCE = 1 << 21
"""Numbers of weights that are held at once, sixteen megabytes, however many resamples are asked for."""

Outputs = Callable[[FloatArray, FloatArray], FloatArray]
"""Takes parameters ``(B, p)``, NaN where there are none, and the weights ``(B, n)`` of their resamples, and returns the
outputs of the statistic, ``(B, k)``."""


@runtime_checkable
class KnowsChange(Protocol):
    """Outputs that may be linear in the parameters, whatever the weights."""

    def change(self, direction: FloatArray) -> FloatArray | None:
        """Return how they change with the parameters, ``(p,)``, shape ``(k,)``; None where they are not linear."""


@dataclass(frozen=True, eq=False)
class LinearOutputs:
    """Outputs that are linear in the parameters: ``theta @ matrix.T + offset``.

    Attributes
    ----------
    matrix, offset
        Shapes ``(k, p)`` and ``(k,)``.
    """

    matrix: FloatArray
    offset: FloatArray

    def __call__(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the outputs of parameters ``(B, p)``, shape ``(B, k)``."""
        outputs: FloatArray = theta @ self.matrix.T + self.offset
        return outputs

    def change(self, direction: FloatArray) -> FloatArray:
        """Return how the outputs change with the parameters, ``(p,)``, shape ``(k,)``."""
        change: FloatArray = self.matrix @ direction
        return change


def change_of(outputs: object, direction: FloatArray) -> FloatArray | None:
    """Return how outputs change with the parameters, ``(p,)``, shape ``(k,)``; None where they are not linear."""
    return outputs.change(direction) if isinstance(outputs, KnowsChange) else None


class Surrogate(ABC):
    """A cheap and close twin of a statistic at its data, for many resamples at once; it can be pickled.

    Where a refit is a search, its surrogate may be the first few steps of it. What it says of a resample is never
    taken for the statistic: a few values of the statistic itself correct it.
    """

    weights_at_once: int = WEIGHTS_AT_ONCE

    def values(self, resamples: Resamples) -> FloatArray:
        """Return its values, shape ``(B, k)``: the outputs of the statistic, in its units and order.

        NaN for a resample on which there is none. It never raises for such a resample, and a value depends on the other
        resamples by rounding alone.
        """
        n_rows = max(sum(weights.shape[1] for weights in resamples.some(range(1)).weights), 1)
        at_once = max(self.weights_at_once // n_rows, 1)
        starts = range(0, max(len(resamples), 1), at_once)
        parts = (resamples.some(range(start, min(start + at_once, len(resamples)))) for start in starts)
        return np.concatenate([self.values_at(part.weights) for part in parts])

    @abstractmethod
    def values_at(self, weights: tuple[FloatArray, ...]) -> FloatArray:
        """Return its values at weights of the rows, for each sample an array ``(B, n_i)``, all at once."""

    @property
    @abstractmethod
    def work(self) -> float:
        """Return how many floating-point operations one resample takes: counted, not measured."""

    @property
    def replaced_work(self) -> float:
        """Return how many operations one replicate takes; infinite where that is not known, and surely many."""
        return math.inf
