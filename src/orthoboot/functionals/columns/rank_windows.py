"""All rows of a column whose ranks lie near a given one, found in a few passes over rows that are read part by part.

A pass over a bracket of values counts the rows below it and inside, and keeps a random sample of those inside. The
sample says between which values the wanted ranks lie, up to its own error, which the counts of the next pass check.
Once a bracket holds few rows all of them are kept. Values that very many rows share are counted, and their rows never
kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from orthoboot.data import Data
from orthoboot.data.pieces import SampleInPieces
from orthoboot.functionals.columns.moments import columns_of
from orthoboot.functionals.columns.order_statistics import positions_of
from orthoboot.typing import BoolArray, FloatArray, IntArray

_ROWS_KEPT = 1 << 22
"""Rows that all brackets keep together, 64 MB, where the windows leave that choice."""

_FEWEST_KEPT = 1 << 14
"""Rows that a bracket may keep, however many brackets there are."""

_LARGEST_SAMPLE = 1 << 18
"""Rows of a sample: the ranks of a column are then known to a few in a thousand of its rows."""

_ROOM = 4
"""A bracket may keep so many times the rows of its window, or a sample could not tell them apart."""

_SHARE_OF_AN_ATOM = 8
"""A value is counted, and its rows not kept, from one in so many of the rows that a bracket may keep."""

_DEVIATIONS = 6.0
"""How many standard deviations of a sample's ranks are left on either side; twice as many where that was too few."""


@dataclass(frozen=True)
class Ranks:
    """Consecutive ranks of a column, counted from zero, the last one included."""

    column: int
    first: int
    last: int


@dataclass(frozen=True, eq=False)
class Window:
    """All rows of a column between two values.

    Attributes
    ----------
    column
        Of the table.
    n_below
        How many rows lie below the window.
    values, rows
        The values of the rows inside, in ascending order, and their numbers, shape ``(m,)``.
    atoms, atom_counts
        Values inside that very many rows have, in ascending order, and how many rows, shape ``(a,)``; those rows are
        not listed.
    """

    column: int
    n_below: int
    values: FloatArray
    rows: IntArray
    atoms: FloatArray
    atom_counts: IntArray

    @property
    def size(self) -> int:
        """Return how many rows lie inside."""
        return len(self.rows) + int(self.atom_counts.sum())

    @property
    def low(self) -> float:
        """Return the least value inside."""
        return float(self.ordered_values[0])

    @cached_property
    def _order(self) -> IntArray:
        return np.argsort(np.concatenate([self.values, self.atoms]), kind="stable")

    @cached_property
    def ordered_values(self) -> FloatArray:
        """Return the values of the rows and the atoms, in ascending order, shape ``(m + a,)``."""
        return np.concatenate([self.values, self.atoms])[self._order]

    def ordered(self, of_rows: FloatArray, of_atoms: FloatArray) -> FloatArray:
        """Return what belongs to the rows ``(B, m)`` and to the atoms ``(B, a)`` in the order of their values."""
        return np.take(np.hstack([of_rows, of_atoms]), self._order, axis=1)

    @cached_property
    def _cumulative(self) -> FloatArray:
        counts = self.ordered(np.ones((1, len(self.rows))), self.atom_counts[np.newaxis].astype(np.float64))[0]
        return self.n_below + np.cumsum(counts)

    def at_ranks(self, ranks: FloatArray) -> FloatArray:
        """Return the values at some ranks of the column, all of which lie inside."""
        return self.ordered_values[positions_of(self._cumulative, ranks)]

    def at_most(self, value: float) -> int:
        """Return how many rows of the column are at most a value inside."""
        places = np.searchsorted(self.ordered_values, value, side="right")
        return int(self._cumulative[places - 1]) if places else self.n_below

    def between(self, first: int, last: int) -> Window:
        """Return the rows between the values at two ranks, rows of equal values included."""
        low, high = self.at_ranks(np.array([first, last], dtype=np.float64))
        inside = slice(*_ends(self.values, low, high))
        atoms = slice(*_ends(self.atoms, low, high))
        n_below = self.n_below + inside.start + int(self.atom_counts[: atoms.start].sum())
        # Copies, so that the rows outside are not held any longer.
        values, rows = self.values[inside].copy(), self.rows[inside].copy()
        return Window(self.column, n_below, values, rows, self.atoms[atoms], self.atom_counts[atoms])


def _ends(values: FloatArray, low: float, high: float) -> tuple[int, int]:
    return int(np.searchsorted(values, low)), int(np.searchsorted(values, high, side="right"))


def rank_windows(sample: SampleInPieces, wanted: Sequence[Ranks], n_columns: int) -> list[Window]:
    """Return the windows that hold some ranks of some columns, no wider than the values at these ranks."""
    widest = max(ranks.last - ranks.first + 1 for ranks in wanted)
    most = max(_ROWS_KEPT // len(wanted), _ROOM * widest, _FEWEST_KEPT)
    searches = [_Search(ranks, _Bracket(ranks.column).sampled(sample.n_rows, most)) for ranks in wanted]
    windows: dict[int, Window] = {}
    while len(windows) < len(wanted):
        open_ones = [number for number in range(len(wanted)) if number not in windows]
        found = _found_inside(sample, {searches[number].bracket for number in open_ones}, n_columns)
        for number in open_ones:
            search = searches[number]
            here = found[search.bracket]
            if search.ends_with(here):
                windows[number] = here.window(search.bracket).between(search.ranks.first, search.ranks.last)
            else:
                searches[number] = search.after(here, most)
    return [windows[number] for number in range(len(wanted))]


@dataclass(frozen=True)
class _Bracket:
    """Values from `low` to `high` of a column: which rows with such values a pass keeps."""

    column: int
    low: float = -np.inf
    high: float = np.inf
    atoms: tuple[float, ...] = ()
    share: float = 1.0
    """The share of the rows inside that is kept, atoms aside."""
    number: int = 0
    """Of the pass, so that each takes another sample."""

    def sampled(self, n_rows: float, most: int) -> _Bracket:
        """Return the bracket with all its rows kept where they are about `n_rows`, few enough, else a sample."""
        size = min(most, _LARGEST_SAMPLE)
        return replace(self, share=1.0 if n_rows <= most else size / n_rows, number=self.number + 1)


class _Found(NamedTuple):
    """What a pass finds of a bracket."""

    n_below: int
    n_inside: int
    atom_counts: IntArray
    values: FloatArray
    rows: IntArray

    def window(self, bracket: _Bracket) -> Window:
        """Return the rows inside as far as they were kept."""
        order = np.argsort(self.values, kind="stable")
        atoms = np.array(bracket.atoms, dtype=np.float64)
        return Window(bracket.column, self.n_below, self.values[order], self.rows[order], atoms, self.atom_counts)


@dataclass(frozen=True)
class _Search:
    """How far the search for some ranks has come: the bracket to look into next, and the last one that held them."""

    ranks: Ranks
    bracket: _Bracket
    wider: _Bracket | None = None
    deviations: float = _DEVIATIONS

    def _holds(self, found: _Found) -> bool:
        return found.n_below <= self.ranks.first and self.ranks.last < found.n_below + found.n_inside

    def ends_with(self, found: _Found) -> bool:
        """Return whether the bracket holds the ranks, and all its rows were kept."""
        return self.bracket.share == 1.0 and self._holds(found)

    def after(self, found: _Found, most: int) -> _Search:
        """Return the search after a pass: in a narrower bracket, or in the last one again where that was too narrow."""
        if self._holds(found):
            narrower = _narrower(self.bracket, self.ranks, found, most, self.deviations)
            return replace(self, bracket=narrower, wider=self.bracket)
        assert self.wider is not None  # the first bracket holds everything
        again = replace(self.wider, number=self.bracket.number + 1)
        return replace(self, bracket=again, deviations=2 * self.deviations)


def _narrower(bracket: _Bracket, ranks: Ranks, found: _Found, most: int, deviations: float) -> _Bracket:
    """Return the bracket that a sample shows to hold the ranks, up to so many standard deviations of its error."""
    n_sampled, n_unlisted = len(found.values), found.n_inside - int(found.atom_counts.sum())
    each = n_unlisted / max(n_sampled, 1)
    entries = found.window(bracket)
    drawn = entries.ordered(np.ones((1, n_sampled)), np.zeros((1, len(entries.atoms))))[0]
    exact = entries.ordered(np.zeros((1, n_sampled)), found.atom_counts[np.newaxis].astype(np.float64))[0]
    before = np.cumsum(drawn)
    up_to = found.n_below + each * before + np.cumsum(exact)
    error = deviations * each * (np.sqrt(before * (n_sampled - before) / max(n_sampled, 1)) + 2)
    is_below = up_to - each * drawn - exact + error <= ranks.first
    is_above = up_to - error > ranks.last
    values = entries.ordered_values
    low = float(values[is_below].max(initial=bracket.low))
    high = float(values[is_above].min(initial=bracket.high))
    inside = slice(*_ends(entries.values, low, high))
    distinct, times = np.unique(entries.values[inside], return_counts=True)
    is_atom = (times > 1) & (times * each > most / _SHARE_OF_AN_ATOM)
    known = entries.atoms[slice(*_ends(entries.atoms, low, high))]
    atoms = tuple(np.union1d(known, distinct[is_atom]).tolist())
    rest = each * (int(times[~is_atom].sum()) + 1)
    return replace(bracket, low=low, high=high, atoms=atoms).sampled(rest, most)


def _found_inside(sample: SampleInPieces, brackets: set[_Bracket], n_columns: int) -> dict[_Bracket, _Found]:
    """Return what one pass finds of each bracket."""
    listed = sorted(brackets, key=repr)
    parts = list(zip(*sample.reduced(partial(_found_in_part, listed), n_columns), strict=True))
    return {bracket: _joined(bracket, found) for bracket, found in zip(listed, parts, strict=True)}


def _found_in_part(brackets: Sequence[_Bracket], pieces: Iterator[tuple[int, Data]]) -> list[_Found]:
    found: list[list[_Found]] = [[] for _ in brackets]
    for start, data in pieces:
        columns = columns_of(data)
        for bracket, of_blocks in zip(brackets, found, strict=True):
            of_blocks.append(_found_in_block(bracket, start, columns[:, bracket.column]))
    return [_joined(bracket, of_blocks) for bracket, of_blocks in zip(brackets, found, strict=True)]


def _found_in_block(bracket: _Bracket, start: int, values: FloatArray) -> _Found:
    places = np.flatnonzero((values >= bracket.low) & (values <= bracket.high))
    inside, rows = values[places], start + places
    is_atom, counts = _counted(inside, np.array(bracket.atoms, dtype=np.float64))
    kept = ~is_atom
    if bracket.share < 1:
        kept &= _is_chosen(rows, bracket)
    return _Found(int(np.count_nonzero(values < bracket.low)), len(places), counts, inside[kept], rows[kept])


def _counted(values: FloatArray, atoms: FloatArray) -> tuple[BoolArray, IntArray]:
    """Return which values are atoms, shape as `values`, and how many values are each atom, shape as `atoms`."""
    if not len(atoms):
        return np.zeros(len(values), dtype=bool), np.zeros(0, dtype=np.int64)
    nearest = np.minimum(np.searchsorted(atoms, values), len(atoms) - 1)
    is_atom = atoms[nearest] == values
    return is_atom, np.bincount(nearest[is_atom], minlength=len(atoms))


def _is_chosen(rows: IntArray, bracket: _Bracket) -> BoolArray:
    """Return which rows are in the sample: a function of their numbers alone, however the rows are divided."""
    # The output function of SplitMix64, whose bits are as good as random for consecutive numbers.
    word = (rows.astype(np.uint64) + np.uint64(bracket.number << 32)) * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (word ^ (word >> np.uint64(31))) < np.uint64(int(bracket.share * 2.0**64))


def _joined(bracket: _Bracket, parts: Sequence[_Found]) -> _Found:
    """Return what was found of a bracket in all parts, in their order."""
    none = _Found(0, 0, np.zeros(len(bracket.atoms), dtype=np.int64), np.empty(0), np.empty(0, dtype=np.int64))
    n_below, n_inside, counts, values, rows = zip(none, *parts, strict=True)
    return _Found(sum(n_below), sum(n_inside), np.sum(counts, axis=0), np.concatenate(values), np.concatenate(rows))
