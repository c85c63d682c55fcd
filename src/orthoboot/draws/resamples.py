"""Resamples as weights on the rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from orthoboot.typing import FloatArray, IntArray

_NUMBERS_IN_CACHE = 1 << 15
"""Rows of a product are taken in pieces of about so many numbers, which stay in the processor's cache."""


class Resamples:
    """A batch of B resamples: for each sample a ``(B, n_i)`` array of weights.

    Parameters
    ----------
    weights
        Counts of each row, or any non-negative weights when an engine probes the statistic.
    indices
        Gives the rows of resample b in drawing order, for plans in which the order matters; without it rows come in
        the order of the data, each as often as its weight says.
    """

    def __init__(
        self, weights: tuple[FloatArray, ...], indices: Callable[[int], tuple[IntArray, ...]] | None = None
    ) -> None:
        self.weights = weights
        self._indices = indices

    def __len__(self) -> int:
        return len(self.weights[0])

    def indices(self, b: int) -> tuple[IntArray, ...]:
        """Return the rows of resample `b`, one array per sample."""
        if self._indices is not None:
            return self._indices(b)
        return tuple(np.repeat(np.arange(w.shape[1]), w[b].astype(np.int64)) for w in self.weights)

    def one(self, b: int) -> Resamples:
        """Return resample `b` alone."""
        indices = self._indices
        return Resamples(tuple(w[b : b + 1] for w in self.weights), None if indices is None else lambda _: indices(b))

    def sample(self, number: int) -> Resamples:
        """Return the weights of sample `number` alone."""
        indices = self._indices
        return Resamples((self.weights[number],), None if indices is None else lambda b: (indices(b)[number],))

    def totals(self, sample: int) -> FloatArray:
        """Return the sum of the weights of each resample, shape ``(B,)``."""
        totals: FloatArray = self.weights[sample].sum(axis=1)
        return totals

    def sums(self, sample: int, values: FloatArray) -> FloatArray:
        """Return ``weights @ values``, shape ``(B, p)``, each row computed alike whatever the batch.

        A general matrix product rounds a row differently when the batch has another size or the machine more threads;
        a replicate must not depend on either to the last bit. So every row is a sum of its own, in one thread, taken
        piece by piece so that `values` stay in the cache.
        """
        weights = self.weights[sample]
        n, p = values.shape
        columns = np.ascontiguousarray(values.T)
        result = np.zeros((len(weights), p))
        rows = max(_NUMBERS_IN_CACHE // p, 512)
        for start in range(0, n, rows):
            piece = columns[:, start : start + rows]
            for b, row in enumerate(weights):
                result[b] += np.einsum("pj,j->p", piece, row[start : start + rows])
        return result
