"""Independent draws within strata whose sizes are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from orthoboot.draws.random_counts import checked_rows
from orthoboot.errors import ArgumentError
from orthoboot.plans.base import Draws, Scheme
from orthoboot.plans.categories import stratified_variances
from orthoboot.plans.labels import label_codes
from orthoboot.plans.strata.streams import StrataStreams
from orthoboot.typing import FloatArray, IntArray, Key


@dataclass(frozen=True, eq=False)
class Stratified(Scheme):
    """Each row is replaced by a uniform draw from its own stratum.

    The counts are multinomial within each stratum, so the linear part has the variance
    ``(1/n^2) sum_h sum_{j in h} (influence_j - mean_h)^2``.

    Parameters
    ----------
    labels
        The stratum of each row, shape ``(n,)``. A stratum of one row is always drawn whole.

    Examples
    --------
    >>> Stratified(["a", "b", "b", "b"]).counts((1, 2), stream=0, replicates=range(3))[:, 0]
    array([1., 1., 1.])
    """

    labels: Any = field(repr=False)
    n: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", checked_rows(self._codes.size))
        check_sizes(self._sizes)

    @cached_property
    def _codes(self) -> IntArray:
        return label_codes(self.labels, "strata")

    @cached_property
    def _sizes(self) -> IntArray:
        return np.bincount(self._codes)

    @cached_property
    def _sorted_rows(self) -> IntArray:
        """The rows stratum by stratum."""
        return np.argsort(self._codes, kind="stable")

    @cached_property
    def _starts(self) -> IntArray:
        """Where each stratum begins among the sorted rows."""
        return np.cumsum(self._sizes) - self._sizes

    @property
    def stratum_codes(self) -> IntArray:
        """Return the stratum of each row, numbered from 0."""
        return self._codes

    @property
    def smallest_stratum(self) -> int:
        """Return the number of rows in the smallest stratum."""
        return int(self._sizes.min())

    @property
    def description(self) -> str:
        """Return a description of what is resampled."""
        return f"{self.n:,} rows in {self._sizes.size:,} strata"

    def indices(self, key: Key, stream: int, replicate: int) -> IntArray:
        """Return the rows of one resample: the one in place j is of row j's stratum."""
        counts = self.counts(key, stream, [replicate])[0, self._sorted_rows].astype(np.int64)
        rows = np.empty(self.n, dtype=np.int64)
        rows[self._sorted_rows] = np.repeat(self._sorted_rows, counts)
        return rows

    def counts(self, key: Key, stream: int, replicates: Sequence[int]) -> FloatArray:
        """Return how often each row is in some resamples, shape ``(B, n)``."""
        streams, drawn = self._streams, np.empty((len(replicates), self.n))
        for number, stop in enumerate(np.cumsum(streams.rows).tolist()):
            drawn[:, stop - streams.rows[number] : stop] = streams.counts(key, stream, replicates, number)
        return np.take(drawn, self._places, axis=1)

    @cached_property
    def _streams(self) -> StrataStreams:
        return StrataStreams(self._sizes)

    @cached_property
    def _places(self) -> IntArray:
        """The place of each row where the rows of one stream follow those of another."""
        streams = self._streams
        before = (np.cumsum(streams.rows) - streams.rows)[streams.numbers] + streams.starts
        places = np.empty(self.n, dtype=np.int64)
        places[self._sorted_rows] = np.arange(self.n) + np.repeat(before - self._starts, self._sizes)
        return places

    def of_rows(self, rows: IntArray) -> Stratified:
        """Return the draws within the strata of a resample, which have the sizes of those of the data."""
        return Stratified(self._codes[rows])

    def draws(self, influence: FloatArray) -> tuple[Draws, ...]:
        """Return for each stratum as many draws from its ``influence / n`` as it has rows."""
        strata = np.split(influence[self._sorted_rows] / self.n, self._starts[1:])
        return tuple(Draws(len(values), values) for values in strata)

    def moments(self, influence: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the exact mean ``(k,)`` and covariance ``(k, k)`` of the linear part."""
        centred = self._centred(influence)
        return influence.mean(axis=0), centred.T @ centred / self.n**2

    def reordered(self, generator: np.random.Generator) -> IntArray:
        """Return rows in another order within each stratum: in place j is a row of row j's stratum."""
        rows = np.empty(self.n, dtype=np.int64)
        for stratum in np.split(self._sorted_rows, self._starts[1:]):
            rows[stratum] = generator.permutation(stratum)
        return rows

    def category_variances(self, codes: IntArray) -> FloatArray:
        """Return the exact variances of the categories' shares, shape ``(d,)``."""
        return stratified_variances(codes, self._codes)

    def tilt(self, influence: FloatArray) -> FloatArray:
        """Return ``(influence - mean of its stratum) / n``, shape ``(n, k)``."""
        return self._centred(influence) / self.n

    def _centred(self, influence: FloatArray) -> FloatArray:
        sums = np.add.reduceat(influence[self._sorted_rows], self._starts, axis=0)
        return influence - (sums / self._sizes[:, np.newaxis])[self._codes]


def check_sizes(sizes: IntArray) -> None:
    """Raise unless a stratum has two rows or more; shape ``(S,)``."""
    if sizes.max() == 1:
        raise ArgumentError(
            f"`strata` must have at least one stratum of two or more rows; got {sizes.size} strata for {sizes.size} "
            "rows, so that every resample would equal the data. Use coarser strata."
        )
