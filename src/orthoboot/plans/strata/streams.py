"""Which random numbers draw the rows of each stratum: a stream of its own, or one that it shares with a few others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from orthoboot.draws.random_counts import multinomial_counts, uniform_integers
from orthoboot.typing import BoolArray, FloatArray, IntArray, Key

_LARGE = 1 << 12
"""Rows from which a stratum is drawn as a sample of its own; the draws of fewer are thrown one by one."""

_SHARED_ROWS = 1 << 13
"""Rows of small strata after which the next one begins another stream: a call for each costs more than its draws."""

_MOST_SAMPLES = 1 << 20
"""The streams of the strata of one sample are so far apart that those of other samples lie between them."""


@dataclass(frozen=True, eq=False)
class StrataStreams:
    """The streams of the strata of a sample, numbered from 0: first those that small strata share, then the others.

    A count is a function of the number that its row has within its stratum, so that it does not matter where the row
    lies and what was read before.

    Parameters
    ----------
    sizes
        The rows of each stratum, shape ``(S,)``.
    """

    sizes: IntArray

    def __getstate__(self) -> dict[str, IntArray]:
        """Leave out what follows from the sizes: it is sent with every task."""
        return {"sizes": self.sizes}

    @cached_property
    def is_large(self) -> BoolArray:
        """Return which strata have a stream of their own, shape ``(S,)``."""
        return self.sizes >= _LARGE

    @cached_property
    def _rows_before(self) -> IntArray:
        """Return the rows of all small strata before each stratum."""
        small = np.where(self.is_large, 0, self.sizes)
        return np.cumsum(small) - small

    @cached_property
    def numbers(self) -> IntArray:
        """Return the stream of each stratum, shape ``(S,)``."""
        # A small stratum has fewer rows than a shared stream, so that none of these is passed over.
        numbers = self._rows_before // _SHARED_ROWS
        first = int(numbers[~self.is_large].max(initial=-1)) + 1
        numbers[self.is_large] = first + np.arange(np.count_nonzero(self.is_large))
        return numbers

    @cached_property
    def by_stream(self) -> tuple[IntArray, ...]:
        """Return the strata of each stream."""
        order = np.argsort(self.numbers, kind="stable")
        return tuple(np.split(order, np.flatnonzero(np.diff(self.numbers[order])) + 1))

    @cached_property
    def starts(self) -> IntArray:
        """Return how many rows of its stream come before those of each stratum, shape ``(S,)``."""
        first = np.array([strata[0] for strata in self.by_stream])
        starts: IntArray = self._rows_before - self._rows_before[first[self.numbers]]
        return starts

    @cached_property
    def rows(self) -> IntArray:
        """Return the rows of each stream."""
        return np.array([self.sizes[strata].sum() for strata in self.by_stream])

    def stream(self, stream: int, number: int) -> int:
        """Return the stream with this number of the sample whose own stream is `stream`."""
        return stream + _MOST_SAMPLES * number

    def counts(self, key: Key, stream: int, replicates: Sequence[int], number: int) -> FloatArray:
        """Return the counts of the rows of one stream, stratum by stratum, shape ``(B, rows[number])``."""
        strata, own = self.by_stream[number], self.stream(stream, number)
        if self.is_large[strata[0]]:
            return multinomial_counts(key, own, replicates, int(self.rows[number]))
        sizes = self.sizes[strata]
        places = uniform_integers(key, own, replicates, np.repeat(sizes, sizes))
        places += np.repeat(self.starts[strata], sizes)
        places += np.arange(0, places.size, places.shape[1])[:, np.newaxis]
        return np.bincount(places.ravel(), minlength=places.size).reshape(places.shape).astype(np.float64)
