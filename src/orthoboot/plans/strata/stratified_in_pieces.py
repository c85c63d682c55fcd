"""Independent draws within strata, of rows that are read part by part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import ClassVar, NoReturn

import numpy as np

from orthoboot.arrays.passes import sums_of_squares
from orthoboot.data import Data
from orthoboot.data.labels_in_pieces import LabelsInPieces
from orthoboot.data.pieces import RowsInPieces, as_array, as_pieces, held
from orthoboot.draws.random_counts import checked_rows
from orthoboot.draws.resamples import BlockWeights
from orthoboot.errors import DataError
from orthoboot.plans.base import Draws, Scheme
from orthoboot.plans.strata.settled_strata import (
    SettledStrata,
    StratifiedBlockWeights,
    settled_strata,
    stratified_sums,
)
from orthoboot.plans.strata.stratified import check_sizes
from orthoboot.plans.strata.streams import StrataStreams
from orthoboot.typing import FloatArray, IntArray, Key


@dataclass(frozen=True, eq=False)
class StratifiedInPieces(Scheme):
    """Each row is replaced by a uniform draw from its own stratum, as by `Stratified`.

    The rows of a stratum may lie in several parts; only the number of them before each part is held.

    Parameters
    ----------
    labels
        The stratum of each row.
    """

    takes_pieces: ClassVar[bool] = True
    labels: LabelsInPieces = field(repr=False)
    n: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", checked_rows(len(self.labels)))
        check_sizes(self.labels.sizes)

    @cached_property
    def _streams(self) -> StrataStreams:
        return StrataStreams(self.labels.sizes)

    @property
    def smallest_stratum(self) -> int:
        """Return the number of rows in the smallest stratum."""
        return int(self.labels.sizes.min())

    @property
    def description(self) -> str:
        """Return a description of what is resampled."""
        return f"{self.n:,} rows in {self.labels.sizes.size:,} strata"

    def indices(self, key: Key, stream: int, replicate: int) -> NoReturn:
        """Raise: the rows are not at hand."""
        raise _not_at_hand("the rows of a resample are")

    def sums(self, key: Key, stream: int, replicates: Sequence[int], values: FloatArray) -> FloatArray:
        """Return ``counts @ values``, shape ``(B, p)``, without the counts."""
        return stratified_sums(self._settled(key, stream, replicates), _rows(values))

    def counts_at(self, key: Key, stream: int, replicates: Sequence[int], rows: IntArray) -> FloatArray:
        """Return how often some rows are in some resamples, shape ``(B, m)``; one pass tells their strata."""
        return self._settled(key, stream, replicates).counts_at(*self.labels.of_rows(rows))

    def block_weights(self, key: Key, stream: int, replicates: Sequence[int]) -> BlockWeights:
        """Return how often the rows of a block are in some resamples, drawn where that block is read."""
        return StratifiedBlockWeights(self._settled(key, stream, replicates))

    def _settled(self, key: Key, stream: int, replicates: Sequence[int]) -> SettledStrata:
        return settled_strata(self._streams, key, stream, tuple(replicates))

    def draws(self, influence: FloatArray) -> tuple[Draws, ...]:
        """Return for each stratum as many draws from its ``influence / n`` as it has rows; holds that of every row."""
        strata, _ = self.labels.of_rows(np.arange(self.n))
        sizes = self.labels.sizes
        sorted_values = held(influence)[np.argsort(strata, kind="stable")] / self.n
        return tuple(Draws(len(values), values) for values in np.split(sorted_values, np.cumsum(sizes)[:-1]))

    def mean(self, influence: FloatArray) -> FloatArray:
        """Return the mean of `influence`, shape ``(k,)``."""
        return _rows(influence).means

    def variance(self, influence: FloatArray) -> FloatArray:
        """Return ``(1/n^2) sum_j (influence_j - mean of its stratum)^2``, shape ``(k,)``."""
        return sums_of_squares(as_array(self._centred(influence)), np.zeros(influence.shape[1])) / self.n**2

    def covariance(self, influence: FloatArray) -> FloatArray:
        """Return the covariance within the strata over n, shape ``(k, k)``."""
        centred = self._centred(influence)
        return centred.cross_sums(centred) / self.n**2

    def third_cumulant(self, influence: FloatArray) -> FloatArray:
        """Return ``(1/n^3) sum_j (influence_j - mean of its stratum)^3``, shape ``(k,)``."""
        return self._centred(influence).sums_of_cubes(np.zeros(influence.shape[1])) / self.n**3

    def tilt(self, influence: FloatArray) -> FloatArray:
        """Return ``(influence - mean of its stratum) / n``, shape ``(n, k)``."""
        return as_array(self._centred(influence) / self.n)

    def _centred(self, influence: FloatArray) -> RowsInPieces:
        rows = _rows(influence)
        means = self.labels.totals(rows) / self.labels.sizes[:, np.newaxis]
        # By the strata that a block knows, not by the column of the labels, which not every pass reads.
        return RowsInPieces(rows.sample, partial(_about_means, rows.compute, means), rows.width)


def _about_means(compute: Callable[[Data], FloatArray], means: FloatArray, block: Data) -> FloatArray:
    """Return the columns of a block less the means of the strata of its rows, shape ``(m, p)``."""
    centred: FloatArray = compute(block) - means[block.strata.of_rows[0]]
    return centred


def _rows(values: FloatArray) -> RowsInPieces:
    rows = as_pieces(values)
    assert rows is not None
    return rows


def _not_at_hand(what: str) -> DataError:
    return DataError(f"{what} not available if data are read part by part.")
