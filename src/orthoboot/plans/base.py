"""The interface of resampling schemes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import numpy as np

from orthoboot.arrays.passes import column_sums, sums_of_cubes, sums_of_squares
from orthoboot.data.pieces import as_pieces
from orthoboot.draws.random_counts import weighted_sums
from orthoboot.draws.resamples import BlockWeights, HeldBlockWeights
from orthoboot.typing import FloatArray, IntArray, Key

_COUNTS_AT_ONCE = 1 << 18
"""Counts that are drawn at once to be added: 2 MB, or those of one resample where it has more rows."""


@dataclass(frozen=True, eq=False)
class Draws:
    """`number` independent draws, uniform on the rows of `values`; their sum is (a part of) the linear part.

    Attributes
    ----------
    number
        The number of independent draws.
    values
        The population, shape ``(size, k)``.
    """

    number: int
    values: FloatArray


class Scheme(ABC):
    """How one sample of `n` rows is resampled."""

    n: int
    unit: ClassVar[str] = "rows"
    """What is drawn independently, in words."""
    has_draws: ClassVar[bool] = True
    """Whether `draws` gives independent draws."""
    has_tilt: ClassVar[bool] = True
    """Whether `tilt` gives a direction."""
    ordered: ClassVar[bool] = False
    """Whether the order of the rows in a resample means something, as in a time series."""

    automatic: bool = False
    """Whether the length of its blocks was found from the data."""

    takes_pieces: ClassVar[bool] = False
    """Whether it takes values that are computed in pieces."""

    def usable(self, values: FloatArray) -> FloatArray:
        """Return values of the rows as this scheme takes them."""
        rows = as_pieces(values)
        return values if rows is None or self.takes_pieces else rows.held

    @property
    def n_units(self) -> int:
        """Return how many independent draws make a resample: rows, groups or blocks."""
        return self.n

    @property
    def drawn_unit(self) -> str:
        """Return what is drawn independently, in the singular."""
        return self.unit.removesuffix("s")

    @property
    def smallest_stratum(self) -> int | None:
        """Return the number of rows in the smallest stratum where rows are drawn within strata, else None."""
        return None

    @property
    def block_length(self) -> int | None:
        """Return the rows of a block where blocks of rows in time order are drawn, else None."""
        return None

    @property
    def group_codes(self) -> IntArray | None:
        """Return the group of each row where whole groups are drawn, else None."""
        return None

    @property
    def stratum_codes(self) -> IntArray | None:
        """Return the stratum of each row where rows are drawn within strata, else None."""
        return None

    @property
    def unit_sizes(self) -> IntArray | None:
        """Return the rows of each unit where whole groups of any size are drawn, else None."""
        return None

    def unit_totals(self, influence: FloatArray) -> FloatArray:
        """Return the influence of each unit that is drawn, shape ``(n_units, k)``; for blocks that of the rows."""
        return influence

    @property
    def description(self) -> str:
        """Return a description of what is resampled, for example "600 rows in 30 groups"."""
        return f"{self.n:,} rows"

    @abstractmethod
    def indices(self, key: Key, stream: int, replicate: int) -> IntArray:
        """Return the rows of one resample, in drawing order if the order matters."""

    def counts(self, key: Key, stream: int, replicates: Sequence[int]) -> FloatArray:
        """Return how often each row is in some resamples, shape ``(B, n)``: the same draws as `indices`."""
        counts = np.empty((len(replicates), self.n))
        for place, replicate in enumerate(replicates):
            counts[place] = np.bincount(self.indices(key, stream, replicate), minlength=self.n)
        return counts

    def sums(self, key: Key, stream: int, replicates: Sequence[int], values: FloatArray) -> FloatArray:
        """Return ``counts @ values``, shape ``(B, p)``, each row computed alike whatever the batch."""
        sums = np.empty((len(replicates), values.shape[1]))
        at_once = max(_COUNTS_AT_ONCE // self.n, 1)
        for start in range(0, len(replicates), at_once):
            some = slice(start, start + at_once)
            sums[some] = weighted_sums(self.counts(key, stream, replicates[some]), values)
        return sums

    def counts_at(self, key: Key, stream: int, replicates: Sequence[int], rows: IntArray) -> FloatArray:
        """Return how often some rows, in ascending order and each once, are in some resamples, shape ``(B, m)``."""
        counts = np.empty((len(replicates), len(rows)))
        for place, replicate in enumerate(replicates):
            counts[place] = self.counts(key, stream, [replicate])[0, rows]
        return counts

    def block_weights(self, key: Key, stream: int, replicates: Sequence[int]) -> BlockWeights:
        """Return how often the rows of a block are in some resamples, as a function of that block."""
        return HeldBlockWeights(self.counts(key, stream, replicates))

    def totals(self, key: Key, stream: int, replicates: Sequence[int]) -> FloatArray:
        """Return the number of rows of some resamples, shape ``(B,)``: n, unless units of other sizes are drawn."""
        return np.full(len(replicates), float(self.n))

    @abstractmethod
    def draws(self, influence: FloatArray) -> tuple[Draws, ...] | None:
        """Return ``(1/n) sum_j counts_j influence_j`` as a sum of independent draws, or None if it is not one."""

    def mean(self, influence: FloatArray) -> FloatArray:
        """Return the exact mean of ``(1/n) sum_j counts_j influence_j``, shape ``(k,)``."""
        return total(part.number / len(part.values) * column_sums(part.values) for part in self._draws(influence))

    def variance(self, influence: FloatArray) -> FloatArray:
        """Return its exact variance, shape ``(k,)``: the diagonal of `covariance`, without the rest of it."""
        return total(part.number * _variance(part.values) for part in self._draws(influence))

    def third_cumulant(self, influence: FloatArray) -> FloatArray:
        """Return its exact third cumulant, shape ``(k,)``."""
        return total(part.number * _third_moment(part.values) for part in self._draws(influence))

    def covariance(self, influence: FloatArray) -> FloatArray:
        """Return its exact covariance, shape ``(k, k)``."""
        covariance = np.zeros((influence.shape[1], influence.shape[1]))
        for part in self._draws(influence):
            centred = part.values - part.values.mean(axis=0)
            covariance += part.number * (centred.T @ centred) / len(centred)
        return covariance

    def category_variances(self, codes: IntArray) -> FloatArray | None:
        """Return the exact variance of ``(1/n) sum_j counts_j (1[code_j = c] - share_c)`` for each c, shape ``(d,)``.

        The time does not grow with the number of categories. None if it is not known; `variance` of the indicators then
        gives the same.

        Parameters
        ----------
        codes
            The category of each row, numbered 0, 1, ... without gaps, shape ``(n,)``.
        """
        return None

    def of_rows(self, rows: IntArray) -> Scheme:
        """Return the scheme that draws from a resample as this one draws from the data.

        Parameters
        ----------
        rows
            The rows of the resample in increasing order, each as often as it is drawn, shape ``(N,)``.
        """
        raise NotImplementedError(f"{type(self).__name__} does not draw its units independently")

    def _draws(self, influence: FloatArray) -> tuple[Draws, ...]:
        parts = self.draws(influence)
        if parts is None:
            raise NotImplementedError(f"{type(self).__name__} must give mean, variance and covariance itself")
        return parts

    def reordered(self, generator: np.random.Generator) -> IntArray | None:
        """Return the rows in another order that means the same under this scheme, or None where the order matters."""
        return generator.permutation(self.n)

    @abstractmethod
    def tilt(self, influence: FloatArray) -> FloatArray | None:
        """Return ``Cov(counts) @ influence / n``, the direction in which ABC tilts the weights, or None for blocks."""


def _variance(values: FloatArray) -> FloatArray:
    """Return the variance of each column, shape ``(k,)``."""
    return sums_of_squares(values, column_sums(values) / len(values)) / len(values)


def _third_moment(values: FloatArray) -> FloatArray:
    """Return the third central moment of each column, shape ``(k,)``."""
    return sums_of_cubes(values, column_sums(values) / len(values)) / len(values)


def total(parts: Iterable[FloatArray]) -> FloatArray:
    """Return the sum of arrays of one shape."""
    return reduce(np.add, parts)


def repeated_rows(counts: FloatArray) -> IntArray:
    """Return each row repeated by its count, in the order of the data.

    Examples
    --------
    >>> repeated_rows(np.array([2.0, 0.0, 1.0]))
    array([0, 0, 2])
    """
    return np.repeat(np.arange(counts.size), counts.astype(np.int64))
