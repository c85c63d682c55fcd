"""Independent draws of whole groups of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from orthoboot.draws.random_counts import checked_rows, multinomial_counts, multinomial_sums
from orthoboot.errors import ArgumentError
from orthoboot.plans.base import Draws, Scheme, repeated_rows
from orthoboot.plans.categories import cluster_variances
from orthoboot.plans.labels import label_codes
from orthoboot.typing import FloatArray, IntArray, Key


@dataclass(frozen=True, eq=False)
class Cluster(Scheme):
    """G draws from the G groups, each with all its rows.

    A row's count is its group's, so the number of rows varies from resample to resample. The linear part is
    ``(1/n) sum_g count_g total_g`` with ``total_g`` the sum of the group's influence values.

    Parameters
    ----------
    labels
        The group of each row, shape ``(n,)``.

    Examples
    --------
    >>> counts = Cluster(["a", "a", "b", "c"]).counts((1, 2), stream=0, replicates=range(3))
    >>> counts[:, 0] == counts[:, 1]
    array([ True,  True,  True])
    """

    unit: ClassVar[str] = "groups"
    labels: Any = field(repr=False)
    n: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", checked_rows(self._codes.size))
        if self.n_units < 2:
            raise ArgumentError(
                f"`groups` must hold at least two groups; got one label for all {self.n} rows. Groups are drawn "
                "whole, so every resample would equal the data."
            )

    @cached_property
    def _codes(self) -> IntArray:
        return label_codes(self.labels, "groups")

    @cached_property
    def n_units(self) -> int:
        """Return G, the number of groups."""
        return int(self._codes.max()) + 1

    @property
    def description(self) -> str:
        """Return a description of what is resampled."""
        return f"{self.n:,} rows in {self.n_units:,} groups"

    def indices(self, key: Key, stream: int, replicate: int) -> IntArray:
        """Return the rows of one resample, in the order of the data."""
        return repeated_rows(self.counts(key, stream, [replicate])[0])

    def counts(self, key: Key, stream: int, replicates: Sequence[int]) -> FloatArray:
        """Return the count of each row's group, shape ``(B, n)``."""
        return multinomial_counts(key, stream, replicates, self.n_units)[:, self._codes]

    def sums(self, key: Key, stream: int, replicates: Sequence[int], values: FloatArray) -> FloatArray:
        """Return ``counts @ values``, shape ``(B, p)``, as sums over the groups of count times the group's total."""
        return multinomial_sums(key, stream, replicates, self.unit_totals(values))

    def totals(self, key: Key, stream: int, replicates: Sequence[int]) -> FloatArray:
        """Return the number of rows of some resamples, shape ``(B,)``."""
        sizes = self.unit_sizes.astype(np.float64)
        return multinomial_sums(key, stream, replicates, sizes[:, np.newaxis])[:, 0]

    def of_rows(self, rows: IntArray) -> Cluster:
        """Return the draws of the groups of a resample: one that is drawn twice is two groups."""
        copies = np.arange(rows.size) - np.searchsorted(rows, rows)
        return Cluster(copies * self.n_units + self._codes[rows])

    def draws(self, influence: FloatArray) -> tuple[Draws, ...]:
        """Return G draws from the groups' totals over n."""
        return (Draws(self.n_units, self.unit_totals(influence) / self.n),)

    def reordered(self, generator: np.random.Generator) -> IntArray:
        """Return the rows group by group, the groups in another order and each group's rows in theirs."""
        return np.argsort(generator.permutation(self.n_units)[self._codes], kind="stable")

    def category_variances(self, codes: IntArray) -> FloatArray:
        """Return the exact variances of the categories' shares, shape ``(d,)``."""
        return cluster_variances(codes, self._codes)

    def tilt(self, influence: FloatArray) -> FloatArray:
        """Return the centred total of each row's group over n, shape ``(n, k)``."""
        totals = self.unit_totals(influence)
        direction: FloatArray = (totals - totals.mean(axis=0))[self._codes] / self.n
        return direction

    @property
    def group_codes(self) -> IntArray:
        """Return the group of each row, numbered from 0."""
        return self._codes

    @cached_property
    def unit_sizes(self) -> IntArray:
        """Return the rows of each group."""
        return np.bincount(self._codes)

    def unit_totals(self, influence: FloatArray) -> FloatArray:
        """Return the sum of the influence values of each group, shape ``(G, k)``."""
        columns = [np.bincount(self._codes, column, minlength=self.n_units) for column in influence.T]
        return np.stack(columns, axis=1)
