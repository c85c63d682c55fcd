"""What an engine changes in turn: the rows of a sample, or its groups where whole groups are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from orthoboot.draws.resamples import Resamples
from orthoboot.plans import Plan
from orthoboot.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Units:
    """The units of one sample.

    Attributes
    ----------
    sizes
        Rows of each sample.
    sample
        Which sample.
    groups
        The group of each of its rows, numbered from 0, shape ``(n,)``; None where rows are drawn.
    """

    sizes: tuple[int, ...]
    sample: int
    groups: IntArray | None = None

    @cached_property
    def number(self) -> int:
        """Return how many units there are: rows, or groups."""
        return self.sizes[self.sample] if self.groups is None else int(self.groups.max()) + 1

    @property
    def name(self) -> str:
        """Return what the checkpoint adds to the name of an engine that changes groups."""
        return "" if self.groups is None else " of groups"

    def ones(self, n_resamples: int) -> tuple[FloatArray, ...]:
        """Return the weights of the data for each sample, shape ``(n_resamples, n_i)``."""
        return tuple(np.ones((n_resamples, n)) for n in self.sizes)

    def rows(self, unit: int) -> IntArray:
        """Return the rows of a unit."""
        return np.array([unit]) if self.groups is None else np.flatnonzero(self.groups == unit)

    def shared(self, values: FloatArray) -> FloatArray:
        """Return values of the units ``(G, k)`` as values of their rows ``(n, k)``.

        The rows of a group share its value, ``n / (G n_g)`` times it each, so that the linear part of the groups'
        counts, ``(1/G) sum_g count_g value_g``, is that of their rows.
        """
        if self.groups is None:
            return values
        sizes = np.bincount(self.groups)
        return (values * (len(self.groups) / len(values) / sizes)[:, np.newaxis])[self.groups]


def units_of(sizes: Sequence[int], plan: Plan | None) -> tuple[Units, ...]:
    """Return the units of each sample: what the plan draws, rows where there is no plan."""
    schemes = [None] * len(sizes) if plan is None else plan.schemes
    groups = [None if scheme is None else scheme.group_codes for scheme in schemes]
    return tuple(Units(tuple(sizes), sample, codes) for sample, codes in enumerate(groups))


@dataclass(frozen=True, eq=False)
class UnitsLeftOut:
    """Weights that leave out one unit, numbered by unit."""

    units: Units

    def resamples(self, numbers: Sequence[int]) -> Resamples:
        """Return the data without each of these units in turn."""
        weights = self.units.ones(len(numbers))
        for place, unit in enumerate(numbers):
            weights[self.units.sample][place, self.units.rows(unit)] = 0.0
        return Resamples(weights)


@dataclass(frozen=True, eq=False)
class UnitsTwice:
    """Weights of two for all units of one sample, and of one for the other samples."""

    units: Units

    def resamples(self, numbers: Sequence[int]) -> Resamples:
        """Return the data with every row of the sample twice, once for each number."""
        weights = self.units.ones(len(numbers))
        weights[self.units.sample][:] = 2.0
        return Resamples(weights)


@dataclass(frozen=True, eq=False)
class UnitsMoved:
    """Weights with one unit moved up or down, numbered by the place of the unit in `movable`.

    Unit j of G has ``(1 - step) + step G`` and the others of its sample ``1 - step``; numbers from the length of
    `movable` on are the same units with the opposite step. Within strata the same ``step G`` is taken from the rows of
    the stratum alone, all by the same amount.

    Attributes
    ----------
    units
        The units of the sample.
    step
        How far towards a unit.
    strata
        The stratum of each row, numbered from 0, shape ``(n,)``; None without strata.
    """

    units: Units
    step: float
    strata: IntArray | None = None

    @cached_property
    def movable(self) -> IntArray:
        """Return the units that others can make room for: in a stratum of one row there are none."""
        everything = np.arange(self.units.number)
        return everything if self.strata is None else everything[self._stratum_sizes[self.strata] > 1]

    @cached_property
    def _stratum_sizes(self) -> IntArray:
        assert self.strata is not None
        return np.bincount(self.strata)

    def resamples(self, numbers: Sequence[int]) -> Resamples:
        """Return the weights moved towards or away from each of these units in turn."""
        weights = self.units.ones(len(numbers))
        moved, n_movable = weights[self.units.sample], len(self.movable)
        for place, number in enumerate(numbers):
            unit = int(self.movable[number % n_movable])
            step = self.step if number < n_movable else -self.step
            moved[place] -= step * self._cost(unit)
            moved[place, self.units.rows(unit)] += step * self.units.number
        return Resamples(weights)

    def _cost(self, unit: int) -> FloatArray | float:
        """Return how much every row gives for one step towards a unit."""
        if self.strata is None:
            return 1.0
        stratum = self.strata[unit]
        return np.where(self.strata == stratum, self.units.number / self._stratum_sizes[stratum], 0.0)
