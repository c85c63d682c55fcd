"""Independent draws of whole groups of rows that are read part by part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar, NoReturn

import numpy as np

from orthoboot.data import Data
from orthoboot.data.labels_in_pieces import LabelsInPieces
from orthoboot.data.pieces import RowsInPieces, as_array, as_pieces
from orthoboot.draws.random_counts import checked_rows, multinomial_counts, multinomial_sums
from orthoboot.draws.resamples import BlockWeights
from orthoboot.errors import ArgumentError, DataError
from orthoboot.plans.base import Draws, Scheme
from orthoboot.typing import FloatArray, IntArray, Key


@dataclass(frozen=True, eq=False)
class ClusterInPieces(Scheme):
    """G draws from the G groups, as by `Cluster`; a group's rows may lie in several parts.

    Only totals of the groups are held, so that the groups and not the rows must fit in memory.

    Parameters
    ----------
    labels
        The group of each row.
    """

    unit: ClassVar[str] = "groups"
    takes_pieces: ClassVar[bool] = True
    labels: LabelsInPieces = field(repr=False)
    n: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", checked_rows(len(self.labels)))
        if self.n_units < 2:
            raise ArgumentError(
                f"`groups` must hold at least two groups; got one label for all {self.n} rows. Groups are drawn "
                "whole, so every resample would equal the data."
            )

    @cached_property
    def n_units(self) -> int:
        """Return G, the number of groups."""
        return int(self.labels.groups[0].size)

    @property
    def description(self) -> str:
        """Return a description of what is resampled."""
        return f"{self.n:,} rows in {self.n_units:,} groups"

    def indices(self, key: Key, stream: int, replicate: int) -> NoReturn:
        """Raise: the rows are not at hand."""
        raise DataError("the rows of a resample are not available if data are read part by part.")

    def sums(self, key: Key, stream: int, replicates: Sequence[int], values: FloatArray) -> FloatArray:
        """Return the sums over the groups of count times the group's total, shape ``(B, p)``."""
        return multinomial_sums(key, stream, replicates, self.unit_totals(values))

    def counts_at(self, key: Key, stream: int, replicates: Sequence[int], rows: IntArray) -> FloatArray:
        """Return how often some rows are in some resamples, shape ``(B, m)``; one pass tells their groups."""
        return multinomial_counts(key, stream, replicates, self.n_units)[:, self.labels.of_rows(rows)[0]]

    def block_weights(self, key: Key, stream: int, replicates: Sequence[int]) -> BlockWeights:
        """Return how often the rows of a block are in some resamples: as often as their groups."""
        return GroupBlockWeights(multinomial_counts(key, stream, replicates, self.n_units))

    def totals(self, key: Key, stream: int, replicates: Sequence[int]) -> FloatArray:
        """Return the number of rows of some resamples, shape ``(B,)``."""
        sizes = self.unit_sizes.astype(np.float64)
        return multinomial_sums(key, stream, replicates, sizes[:, np.newaxis])[:, 0]

    def draws(self, influence: FloatArray) -> tuple[Draws, ...]:
        """Return G draws from the groups' totals over n."""
        return (Draws(self.n_units, self.unit_totals(influence) / self.n),)

    def tilt(self, influence: FloatArray) -> FloatArray:
        """Return the centred total of each row's group over n, shape ``(n, k)``."""
        totals = self.unit_totals(influence)
        centred, rows = (totals - totals.mean(axis=0)) / self.n, as_pieces(influence)
        if rows is not None and rows.sample.strata is not None:
            # By the groups that a block knows, since a pass that asks for them need not read the labels.
            return as_array(RowsInPieces(rows.sample, partial(_of_groups, centred), rows.width))
        return as_array(self.labels.looked_up(centred))

    @property
    def unit_sizes(self) -> IntArray:
        """Return the rows of each group."""
        return self.labels.sizes

    def unit_totals(self, influence: FloatArray) -> FloatArray:
        """Return the sum of the influence values of each group, shape ``(G, k)``."""
        rows = as_pieces(influence)
        assert rows is not None
        return self.labels.totals(rows)


@dataclass(frozen=True, eq=False)
class GroupBlockWeights:
    """How often the rows of a block are in resamples of whole groups.

    Attributes
    ----------
    counts
        How often each group is drawn, shape ``(B, G)``.
    """

    counts: FloatArray

    def __call__(self, places: Sequence[int], start: int, block: Any) -> FloatArray:
        """Return the counts of the rows of a block, shape ``(len(places), m)``."""
        weights: FloatArray = self.counts[np.asarray(places)[:, np.newaxis], block.strata.of_rows[0]]
        return weights


def _of_groups(table: FloatArray, block: Data) -> FloatArray:
    """Return for each row of a block what a table ``(G, k)`` holds of its group."""
    entries: FloatArray = table[block.strata.of_rows[0]]
    return entries
