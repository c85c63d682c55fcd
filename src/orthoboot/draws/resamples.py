"""Resamples as weights on the rows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np

from orthoboot.arrays.passes import column_sums
from orthoboot.draws.random_counts import weighted_sums
from orthoboot.typing import FloatArray, IntArray

Found = TypeVar("Found")


class BlockWeights(Protocol):
    """The weights that resamples give to a few consecutive rows, found where these rows are read; can be pickled."""

    def __call__(self, places: Sequence[int], start: int, block: Any) -> FloatArray:
        """Return the weights of the rows of a block on some of the resamples, shape ``(len(places), m)``.

        Parameters
        ----------
        places
            Which of the resamples.
        start
            The number of the first row among all rows.
        block
            The rows, an `orthoboot.data.Data` with one sample.
        """


@dataclass(frozen=True, eq=False)
class HeldBlockWeights:
    """Those of weights that somebody holds, shape ``(B, n)``."""

    weights: FloatArray

    def __call__(self, places: Sequence[int], start: int, block: Any) -> FloatArray:
        """Return the weights of the rows of a block, shape ``(len(places), m)``."""
        return self.weights[list(places), start : start + block.sizes[0]]


class UnitBlockWeights:
    """Those of the data themselves: ones."""

    def __call__(self, places: Sequence[int], start: int, block: Any) -> FloatArray:
        """Return ones, shape ``(len(places), m)``."""
        return np.ones((len(places), block.sizes[0]))


class Resamples:
    """A batch of B resamples: for each sample a ``(B, n_i)`` array of weights.

    This class holds weights that somebody chose, as an engine does that probes the statistic; `DrawnResamples` of
    `orthoboot.plans` knows how its weights are drawn, and draws them when they are asked for. Whoever can give sums
    over the rows without weights overrides `sums` and `totals`, and `counts_at` for the weights of a few rows.

    Parameters
    ----------
    weights
        Counts of each row, or any non-negative weights.
    """

    def __init__(self, weights: tuple[FloatArray, ...]) -> None:
        self._weights = weights

    @property
    def weights(self) -> tuple[FloatArray, ...]:
        """Return the weights of the rows of each sample, one array ``(B, n_i)`` for each."""
        return self._weights

    def __len__(self) -> int:
        return len(self._weights[0])

    def indices(self, b: int) -> tuple[IntArray, ...]:
        """Return the rows of resample `b`, one array per sample, each row repeated by its weight."""
        return tuple(np.repeat(np.arange(w.shape[1]), w[b].astype(np.int64)) for w in self.weights)

    def some(self, chosen: range) -> Resamples:
        """Return consecutive resamples of the batch."""
        return Resamples(tuple(w[chosen.start : chosen.stop] for w in self.weights))

    def one(self, b: int) -> Resamples:
        """Return resample `b` alone."""
        return self if len(self) == 1 else self.some(range(b, b + 1))

    def sample(self, number: int) -> Resamples:
        """Return the resamples of sample `number` alone."""
        return SampleResamples(self, number)

    def seeds(self, seed: int) -> list[int]:
        """Return a seed for each resample, for statistics that are random themselves.

        Each is a function of `seed` and its own resample: of its weights, since that is all that is known of it.
        """
        return [_digest(seed, *(w[b].tobytes() for w in self.weights)) for b in range(len(self))]

    def totals(self, sample: int) -> FloatArray:
        """Return the sum of the weights of each resample, shape ``(B,)``."""
        totals: FloatArray = self.weights[sample].sum(axis=1)
        return totals

    def sums(self, sample: int, values: FloatArray) -> FloatArray:
        """Return ``weights @ values``, shape ``(B, p)``, each row computed alike whatever the batch."""
        rows: Any = values
        if not getattr(rows, "at_hand", True):
            sums: FloatArray = rows.weighted_sums(self.block_weights(sample), len(self))
            return sums
        return weighted_sums(self.weights[sample], values)

    def remembered(self, find: Callable[[Resamples], Found]) -> Found:
        """Return ``find(self)``; drawn resamples remember it, since a statistic and its linear part may both need it.

        Parameters
        ----------
        find
            Equal to itself whenever it is asked for, as the method of an object is.
        """
        return find(self)

    def counts_at(self, sample: int, rows: IntArray) -> FloatArray:
        """Return the weights of some rows, shape ``(B, m)``.

        Parameters
        ----------
        rows
            Their numbers, in ascending order and each once, shape ``(m,)``.
        """
        return np.take(self.weights[sample], rows, axis=1)

    def own_sums(self, sample: int, values: FloatArray) -> FloatArray:
        """Return the sums of block b of the columns over resample b alone, shape ``(p / B, B)``.

        Parameters
        ----------
        values
            Shape ``(n, p)``: B columns, as many as resamples, then B further ones, and so on.
        """
        return own_products(self.weights[sample], values)

    def block_weights(self, sample: int) -> BlockWeights:
        """Return the weights of the rows of a sample as a function of a block of them."""
        return HeldBlockWeights(self.weights[sample])


def own_products(weights: FloatArray, values: FloatArray) -> FloatArray:
    """Return ``sum_j weights[b, j] values[j, i B + b]``, shape ``(p / B, B)``, for weights ``(B, n)``."""
    columns = np.asarray(values).T.reshape(-1, *weights.shape)
    products: FloatArray = np.einsum("bn,pbn->pb", weights, columns)
    return products


class UnitResamples(Resamples):
    """The data themselves: one resample, in which every row has weight one."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self._sizes = sizes

    @cached_property
    def weights(self) -> tuple[FloatArray, ...]:
        """Return ones, one array ``(1, n_i)`` for each sample."""
        return tuple(np.ones((1, n)) for n in self._sizes)

    def __len__(self) -> int:
        return 1

    def totals(self, sample: int) -> FloatArray:
        """Return the number of rows, shape ``(1,)``."""
        return np.array([float(self._sizes[sample])])

    def sums(self, sample: int, values: FloatArray) -> FloatArray:
        """Return the sums of the columns of `values`, shape ``(1, p)``."""
        return column_sums(values)[np.newaxis]

    def counts_at(self, sample: int, rows: IntArray) -> FloatArray:
        """Return ones, shape ``(1, m)``."""
        return np.ones((1, len(rows)))

    def block_weights(self, sample: int) -> BlockWeights:
        """Return ones for the rows of any block."""
        return UnitBlockWeights()


class SampleResamples(Resamples):
    """The resamples of one of several independent samples."""

    def __init__(self, whole: Resamples, number: int) -> None:
        self._whole, self._number = whole, number

    @property
    def weights(self) -> tuple[FloatArray, ...]:
        """Return the weights of the rows of the sample, ``(B, n)``."""
        return (self._whole.weights[self._number],)

    def __len__(self) -> int:
        return len(self._whole)

    def indices(self, b: int) -> tuple[IntArray, ...]:
        """Return the rows of resample `b`."""
        return (self._whole.indices(b)[self._number],)

    def some(self, chosen: range) -> Resamples:
        """Return consecutive resamples of the batch."""
        return SampleResamples(self._whole.some(chosen), self._number)

    def totals(self, sample: int) -> FloatArray:
        """Return the sum of the weights of each resample, shape ``(B,)``."""
        return self._whole.totals(self._number)

    def sums(self, sample: int, values: FloatArray) -> FloatArray:
        """Return ``weights @ values``, shape ``(B, p)``."""
        return self._whole.sums(self._number, values)

    def counts_at(self, sample: int, rows: IntArray) -> FloatArray:
        """Return the weights of some rows, shape ``(B, m)``."""
        return self._whole.counts_at(self._number, rows)

    def block_weights(self, sample: int) -> BlockWeights:
        """Return the weights of the rows of the sample as a function of a block of them."""
        return self._whole.block_weights(self._number)


def _digest(seed: int, *parts: bytes) -> int:
    """Return a 56-bit digest of `seed` and `parts`, small enough to seed any generator."""
    digest = hashlib.blake2b(str(seed).encode(), digest_size=7)
    for part in parts:
        digest.update(part)
    return int.from_bytes(digest.digest(), "little")


def seeds_of(key: Sequence[int], numbers: Sequence[int], seed: int) -> list[int]:
    """Return a seed for each replicate of a run: a function of the key, its own number and `seed` alone."""
    return [_digest(seed, repr((*key, number)).encode()) for number in numbers]
