"""Resamples whose weights lie on a line through the data, one line for each output of a statistic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from orthoboot.arrays.passes import column_sums
from orthoboot.draws.random_counts import weighted_sums
from orthoboot.draws.resamples import BlockWeights, Resamples, own_products
from orthoboot.typing import FloatArray, Influence, IntArray


class Tilt:
    """The weights ``1 + t direction``, whose sums over the rows are linear in t.

    Parameters
    ----------
    direction
        One ``(n_i, k)`` array per sample.
    """

    def __init__(self, direction: Influence) -> None:
        self.direction = direction
        self._known: list[tuple[tuple[int, bool], FloatArray, tuple[FloatArray, FloatArray]]] = []
        self._known_rows: list[tuple[int, IntArray, FloatArray]] = []

    def to(self, positions: FloatArray) -> TiltedResamples:
        """Return k resamples: the j-th lies at the j-th position, shape ``(k,)``, of the line of output j.

        Of a single line any number of positions can be taken at once.
        """
        return TiltedResamples(self, positions)

    def among(self, places: slice) -> Tilt:
        """Return the lines of some outputs; a single line is that of all positions."""
        if self.direction[0].shape[1] == 1:
            return self
        return Tilt(tuple(_columns(part, places) for part in self.direction))

    def sums(self, sample: int, values: FloatArray, *, own: bool = False) -> tuple[FloatArray, FloatArray]:
        """Return the sums of `values` over the rows, shape ``(p,)``, and over the directions, shape ``(k, p)``.

        They are remembered: a statistic is evaluated at many positions.

        Parameters
        ----------
        own
            Whether each direction is summed with its own columns alone, as by `Resamples.own_sums`.
        """
        for known, array, sums in self._known:
            if known == (sample, own) and array is values:
                return sums
        direction = self.direction[sample]
        along = _own_sums(direction, values) if own else _cross_sums(direction, values)
        found = column_sums(values), along
        self._known.append(((sample, own), values, found))
        return found

    def at(self, sample: int, rows: IntArray) -> FloatArray:
        """Return the direction at some rows, in ascending order, shape ``(m, k)``; remembered as `sums` are."""
        for known, numbers, found in self._known_rows:
            if known == sample and numbers is rows:
                return found
        direction = self.direction[sample]
        found = direction.at(rows) if hasattr(direction, "at") else direction[rows]
        self._known_rows.append((sample, rows, found))
        return found


def _columns(direction: FloatArray, places: slice) -> FloatArray:
    """Return some columns of a direction, of rows that are read part by part too."""
    columns: FloatArray = direction.columns_at(places) if hasattr(direction, "columns_at") else direction[:, places]
    return columns


def _cross_sums(direction: FloatArray, values: FloatArray) -> FloatArray:
    """Return ``direction.T @ values``, shape ``(k, p)``."""
    if hasattr(direction, "cross_sums") and hasattr(values, "cross_sums"):
        crossed: FloatArray = direction.cross_sums(values)
        return crossed
    return weighted_sums(np.asarray(direction).T, np.asarray(values))


def _own_sums(direction: FloatArray, values: FloatArray) -> FloatArray:
    """Return the sums over each direction of its own columns, as by `Resamples.own_sums`."""
    if hasattr(direction, "own_sums") and hasattr(values, "own_sums"):
        found: FloatArray = values.own_sums(direction)
        return found
    return own_products(np.asarray(direction).T, values)


@dataclass(frozen=True, eq=False)
class TiltedBlockWeights:
    """Weights ``1 + t direction`` of rows whose directions are computed where the rows are read.

    Attributes
    ----------
    directions
        Returns those of the rows of a block, shape ``(m, k)``.
    positions
        Shape ``(k,)``; of any length where there is one direction.
    """

    directions: Callable[[Any], FloatArray]
    positions: FloatArray

    def __call__(self, places: Sequence[int], start: int, block: Any) -> FloatArray:
        """Return the weights of the rows of a block, shape ``(len(places), m)``."""
        chosen = list(places)
        directions = self.directions(block)
        own = directions if directions.shape[1] == 1 else directions[:, chosen]
        weights: FloatArray = 1 + (own * self.positions[chosen]).T
        return weights


class TiltedResamples(Resamples):
    """Resamples whose weights are tilted: one along each output's direction, or several along a single one."""

    def __init__(self, tilt: Tilt, positions: FloatArray) -> None:
        self._tilt, self._positions = tilt, positions

    def __len__(self) -> int:
        return len(self._positions)

    @cached_property
    def weights(self) -> Influence:
        """Return the weights of the rows of each sample, one array ``(k, n_i)`` for each."""
        return tuple(1 + (np.asarray(part) * self._positions).T for part in self._tilt.direction)

    def some(self, chosen: range) -> TiltedResamples:
        """Return consecutive resamples of the batch."""
        places = slice(chosen.start, chosen.stop)
        return TiltedResamples(self._tilt.among(places), self._positions[places])

    def totals(self, sample: int) -> FloatArray:
        """Return the sum of the weights of each resample, shape ``(k,)``."""
        direction = self._tilt.direction[sample]
        return len(direction) + self._positions * column_sums(direction)

    def sums(self, sample: int, values: FloatArray) -> FloatArray:
        """Return ``weights @ values``, shape ``(k, p)``."""
        plain, along = self._tilt.sums(sample, values)
        return plain + self._positions[:, np.newaxis] * along

    def counts_at(self, sample: int, rows: IntArray) -> FloatArray:
        """Return the weights of some rows, shape ``(k, m)``."""
        weights: FloatArray = 1 + (self._tilt.at(sample, rows) * self._positions).T
        return weights

    def own_sums(self, sample: int, values: FloatArray) -> FloatArray:
        """Return the sums of block j of the columns over resample j alone, shape ``(p / k, k)``."""
        plain, along = self._tilt.sums(sample, values, own=True)
        return plain.reshape(along.shape) + self._positions * along

    def block_weights(self, sample: int) -> BlockWeights:
        """Return the weights of the rows of a sample as a function of a block of them."""
        direction = self._tilt.direction[sample]
        if hasattr(direction, "compute"):
            return TiltedBlockWeights(direction.compute, self._positions)
        return super().block_weights(sample)
