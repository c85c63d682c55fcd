"""Independent draws of whole groups of rows that are read part by part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NoReturn

import numpy as np

from orthoboot.data.labels_in_pieces import LabelsInPieces
from orthoboot.data.pieces import as_array, as_pieces
from orthoboot.draws.random_counts import checked_rows, multinomial_sums
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
        raise DataError("the rows of a resample are not at hand where data are read part by part.")

    def sums(self, key: Key, stream: int, replicates: Sequence[int], values: FloatArray) -> FloatArray:
        """Return the sums over the groups of count times the group's total, shape ``(B, p)``."""
        return multinomial_sums(key, stream, replicates, self.unit_totals(values))

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
        return as_array(self.labels.looked_up((totals - totals.mean(axis=0)) / self.n))

    @property
    def unit_sizes(self) -> IntArray:
        """Return the rows of each group."""
        return self.labels.sizes

    def unit_totals(self, influence: FloatArray) -> FloatArray:
        """Return the sum of the influence values of each group, shape ``(G, k)``."""
        rows = as_pieces(influence)
        assert rows is not None
        return self.labels.totals(rows)
