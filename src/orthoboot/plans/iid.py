"""Independent draws with replacement: the plain bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orthoboot.arrays.passes import column_sums, sums_of_cubes, sums_of_squares
from orthoboot.data.pieces import as_array, as_pieces
from orthoboot.draws.random_counts import checked_rows, multinomial_counts, multinomial_sums
from orthoboot.draws.resamples import BlockWeights
from orthoboot.plans import piecewise_sums
from orthoboot.plans.base import Draws, Scheme, repeated_rows
from orthoboot.plans.categories import category_counts
from orthoboot.plans.counts_of_rows import multinomial_counts_at
from orthoboot.typing import FloatArray, IntArray, Key


@dataclass(frozen=True)
class Iid(Scheme):
    """n rows drawn uniformly with replacement.

    The counts are multinomial, so the linear part has mean zero and the variance ``(1/n^2) sum_j influence_j^2`` of
    lemma ``lem: influence var``.

    Parameters
    ----------
    n
        Rows of the sample.

    Examples
    --------
    >>> Iid(5).counts((1, 2), stream=0, replicates=range(3)).sum(axis=1)
    array([5., 5., 5.])
    """

    n: int
    takes_pieces = True

    def __post_init__(self) -> None:
        checked_rows(self.n)

    def indices(self, key: Key, stream: int, replicate: int) -> IntArray:
        """Return the rows of one resample, in the order of the data."""
        return repeated_rows(self.counts(key, stream, [replicate])[0])

    def counts(self, key: Key, stream: int, replicates: Sequence[int]) -> FloatArray:
        """Return the multinomial counts of some resamples, shape ``(B, n)``."""
        return multinomial_counts(key, stream, replicates, self.n)

    def sums(self, key: Key, stream: int, replicates: Sequence[int], values: FloatArray) -> FloatArray:
        """Return ``counts @ values``, shape ``(B, p)``, without the counts."""
        rows = as_pieces(values)
        if rows is not None:
            return piecewise_sums.multinomial_sums(key, stream, replicates, rows)
        return multinomial_sums(key, stream, replicates, values)

    def counts_at(self, key: Key, stream: int, replicates: Sequence[int], rows: IntArray) -> FloatArray:
        """Return the multinomial counts of some rows, shape ``(B, m)``, without those of all others at once."""
        return multinomial_counts_at(key, stream, replicates, self.n, rows)

    def block_weights(self, key: Key, stream: int, replicates: Sequence[int]) -> BlockWeights:
        """Return how often the rows of a block are in some resamples, drawn where that block is read."""
        return piecewise_sums.multinomial_block_weights(key, stream, replicates, self.n)

    def of_rows(self, rows: IntArray) -> Iid:
        """Return as many draws from the rows of a resample."""
        return Iid(len(rows))

    def draws(self, influence: FloatArray) -> tuple[Draws, ...]:
        """Return n draws from ``influence / n``."""
        return (Draws(self.n, np.asarray(influence) / self.n),)

    def mean(self, influence: FloatArray) -> FloatArray:
        """Return the mean of `influence`, shape ``(k,)``."""
        return column_sums(influence) / self.n

    def variance(self, influence: FloatArray) -> FloatArray:
        """Return ``(1/n^2) sum_j (influence_j - mean)^2``, shape ``(k,)``."""
        return sums_of_squares(influence, self.mean(influence)) / self.n**2

    def covariance(self, influence: FloatArray) -> FloatArray:
        """Return the covariance of `influence` over n, shape ``(k, k)``."""
        rows = as_pieces(influence)
        return super().covariance(influence) if rows is None else rows.covariance() / self.n

    def third_cumulant(self, influence: FloatArray) -> FloatArray:
        """Return ``(1/n^3) sum_j (influence_j - mean)^3``, shape ``(k,)``."""
        mean, rows = self.mean(influence), as_pieces(influence)
        cubes = sums_of_cubes(influence, mean) if rows is None else rows.sums_of_cubes(mean)
        return cubes / self.n**3

    def category_variances(self, codes: IntArray) -> FloatArray:
        """Return ``p (1 - p) / n`` of the categories' shares p, shape ``(d,)``."""
        shares = category_counts(codes) / self.n
        return shares * (1 - shares) / self.n

    def tilt(self, influence: FloatArray) -> FloatArray:
        """Return ``(influence - mean) / n``, shape ``(n, k)``."""
        rows = as_pieces(influence)
        if rows is not None:
            return as_array(rows / self.n)
        direction: FloatArray = (influence - influence.mean(axis=0)) / self.n
        return direction
