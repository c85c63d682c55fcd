"""Resamples of a plan, drawn on demand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from orthoboot.draws.resamples import Resamples, seeds_of
from orthoboot.plans.base import Scheme
from orthoboot.typing import FloatArray, IntArray, Key


class DrawnResamples(Resamples):
    """The resamples of a plan with some numbers; each is a function of the key and its own number alone.

    Nothing is drawn before it is asked for.

    Parameters
    ----------
    schemes
        How the rows of each sample are drawn.
    key
        The seed of the run.
    numbers
        The number of each resample in the run.
    """

    def __init__(self, schemes: tuple[Scheme, ...], key: Key, numbers: Sequence[int]) -> None:
        self.schemes, self.key, self.numbers = schemes, key, numbers
        self._sums: dict[tuple[int, int], tuple[FloatArray, FloatArray]] = {}

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def weights(self) -> tuple[FloatArray, ...]:
        """Return how often each row is drawn, one array ``(B, n_i)`` for each sample."""
        return self._drawn

    @cached_property
    def _drawn(self) -> tuple[FloatArray, ...]:
        weights = tuple(np.empty((len(self), scheme.n)) for scheme in self.schemes)
        for stream, scheme in enumerate(self.schemes):
            for row, number in enumerate(self.numbers):
                scheme.store_counts(self.key, stream, number, weights[stream][row])
        return weights

    def sums(self, sample: int, values: FloatArray) -> FloatArray:
        """Return ``weights @ values``, shape ``(B, p)``; asked for again, they are remembered."""
        place = sample, id(values)
        if place not in self._sums:
            # The values are kept too, so that no other array can have their identity.
            self._sums[place] = values, super().sums(sample, values)
        return self._sums[place][1]

    def indices(self, b: int) -> tuple[IntArray, ...]:
        """Return the rows of resample `b`, in drawing order if the order matters."""
        # Without an order the counts say all, and nothing needs to be drawn a second time.
        if not any(scheme.ordered for scheme in self.schemes):
            return super().indices(b)
        schemes = enumerate(self.schemes)
        return tuple(scheme.indices(self.key, stream, self.numbers[b]) for stream, scheme in schemes)

    def some(self, chosen: range) -> DrawnResamples:
        """Return consecutive resamples of the batch; what is already drawn is reused."""
        part = DrawnResamples(self.schemes, self.key, self.numbers[chosen.start : chosen.stop])
        if "_drawn" in vars(self):
            vars(part)["_drawn"] = tuple(w[chosen.start : chosen.stop] for w in self._drawn)
        return part

    def seeds(self, seed: int) -> list[int]:
        """Return a seed for each resample, a function of `seed`, the key and its number."""
        return seeds_of(self.key, self.numbers, seed)
