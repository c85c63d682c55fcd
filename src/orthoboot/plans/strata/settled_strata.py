"""Counts of rows that are drawn within strata and read part by part, found where a block of them is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from orthoboot.arrays.products import product_in_one_thread
from orthoboot.data import Data
from orthoboot.data.pieces import RowsInPieces
from orthoboot.data.strata_in_pieces import BlockStrata, consecutive, joined_strata
from orthoboot.plans.counts_of_rows import multinomial_counts_at
from orthoboot.plans.piecewise_sums import PoissonDraws, SettledDraws, settled
from orthoboot.plans.strata.streams import StrataStreams
from orthoboot.typing import FloatArray, IntArray, Key

_COUNTS_AT_ONCE = 1 << 18
"""Counts of a stream that small strata share which are drawn at once: 2 MB."""

_NUMBERS_AT_ONCE = 1 << 22
"""Numbers computed of the rows that are put in the order of their strata at once: 32 MB."""


class _StreamRows(NamedTuple):
    """The rows of a block that one stream draws."""

    number: int
    rows: IntArray
    """Their places in the block."""
    places: IntArray
    """Their places in the stream."""


@dataclass(frozen=True, eq=False)
class SettledStrata:
    """Some resamples of a stratified sample, of which all is known but the rows.

    Attributes
    ----------
    streams
        Which random numbers draw each stratum.
    key, stream, replicates
        The seed, the stream of the sample and the numbers of the resamples.
    large
        The draws of those strata that have a stream of their own, by the number of that stream.
    """

    streams: StrataStreams
    key: Key
    stream: int
    replicates: tuple[int, ...]
    large: dict[int, SettledDraws]

    def counts(self, places: Sequence[int], strata: BlockStrata) -> FloatArray:
        """Return how often the rows of a block are in some of the resamples, shape ``(len(places), m)``."""
        counts = np.empty((len(places), strata.order.size))
        for of_stream in self._of_block(strata):
            for some, drawn in self._drawn(places, of_stream):
                counts[some, of_stream.rows] = drawn
        return counts

    def counts_at(self, strata: IntArray, numbers: IntArray) -> FloatArray:
        """Return how often some rows are in the resamples, by their strata and their numbers there, ascending in each.

        Of shape ``(B, m)``.
        """
        counts, lengths = np.empty((len(self.replicates), strata.size)), np.ones_like(strata)
        for number, rows, places in self._by_stream(strata, np.arange(strata.size), numbers, lengths):
            if number in self.large:
                own, size = self.streams.stream(self.stream, number), int(self.streams.rows[number])
                counts[:, rows] = multinomial_counts_at(self.key, own, self.replicates, size, places)
            else:
                for some, drawn in self._thrown(range(len(counts)), number, places):
                    counts[some, rows] = drawn
        return counts

    def sums(self, pieces: Iterator[tuple[int, Data]], compute: Callable[[Data], FloatArray], width: int) -> FloatArray:
        """Return the sums of what is computed of the blocks of a part, shape ``(B, p)``."""
        sums = np.zeros((len(self.replicates), width))
        for values, strata in _gathered(pieces, compute, width):
            for of_stream in self._of_block(strata):
                sums += self._sums(of_stream, values[of_stream.rows])
        return sums

    def _sums(self, of_stream: _StreamRows, values: FloatArray) -> FloatArray:
        width = values.shape[1]
        if of_stream.number in self.large:
            return self.large[of_stream.number].sums_of_values(iter([(int(of_stream.places[0]), values)]), width)
        sums = np.empty((len(self.replicates), width))
        for some, drawn in self._drawn(range(len(sums)), of_stream):
            sums[some] = product_in_one_thread(drawn, values)
        return sums

    def _drawn(self, places: Sequence[int], of_stream: _StreamRows) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the counts of a stream's rows for a few of the resamples at a time, and which of `places` these are."""
        number, _, wanted = of_stream
        if number in self.large:
            yield slice(None), self.large[number].counts(places, int(wanted[0]), wanted.size)
            return
        yield from self._thrown(places, number, wanted)

    def _thrown(self, places: Sequence[int], number: int, wanted: IntArray) -> Iterator[tuple[slice, FloatArray]]:
        """Yield counts of a stream that small strata share, in the same way."""
        at_once = max(_COUNTS_AT_ONCE // int(self.streams.rows[number]), 1)
        for start in range(0, len(places), at_once):
            some = slice(start, start + at_once)
            replicates = [self.replicates[place] for place in places[some]]
            yield some, self.streams.counts(self.key, self.stream, replicates, number)[:, wanted]

    def _of_block(self, strata: BlockStrata) -> Iterator[_StreamRows]:
        for number, places, wanted in self._by_stream(strata.strata, strata.ends, strata.firsts, np.diff(strata.ends)):
            yield _StreamRows(number, strata.order[places], wanted)

    def _by_stream(
        self, strata: IntArray, begins: IntArray, firsts: IntArray, lengths: IntArray
    ) -> Iterator[_StreamRows]:
        """Yield the rows of each stream, given where the rows of each stratum begin, the first number and how many."""
        numbers, places = self.streams.numbers[strata], self.streams.starts[strata] + firsts
        order = np.argsort(numbers, kind="stable")
        for runs in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1):
            if runs.size:
                rows, own = (consecutive(first[runs], lengths[runs]) for first in (begins, places))
                yield _StreamRows(int(numbers[runs[0]]), rows, own)


def _gathered(
    pieces: Iterator[tuple[int, Data]], compute: Callable[[Data], FloatArray], width: int
) -> Iterator[tuple[FloatArray, BlockStrata]]:
    """Yield what is computed of several blocks at once, with their strata.

    Of many strata a block has few rows each, and to draw these costs as much as to draw thousands.
    """
    for some in _batches(pieces, _NUMBERS_AT_ONCE // max(width, 1)):
        yield np.concatenate([compute(data) for data in some]), joined_strata([data.strata for data in some])


def _batches(pieces: Iterator[tuple[int, Data]], rows: int) -> Iterator[list[Data]]:
    """Yield consecutive blocks until they have so many rows together."""
    some: list[Data] = []
    for _, data in pieces:
        some.append(data)
        if sum(block.sizes[0] for block in some) >= rows:
            yield some
            some = []
    if some:
        yield some


@lru_cache(maxsize=2)
def settled_strata(streams: StrataStreams, key: Key, stream: int, replicates: tuple[int, ...]) -> SettledStrata:
    """Return resamples of a stratified sample; the last ones are kept, since refits ask for them in every pass."""
    numbers = streams.numbers[streams.is_large].tolist()
    large = {
        number: settled(PoissonDraws(key, streams.stream(stream, number), replicates, int(streams.rows[number])))
        for number in numbers
    }
    return SettledStrata(streams, key, stream, replicates, large)


@dataclass(frozen=True, eq=False)
class StratifiedBlockWeights:
    """How often the rows of a block are in resamples, drawn where that block is read."""

    draws: SettledStrata

    def __call__(self, places: Sequence[int], start: int, block: Any) -> FloatArray:
        """Return the counts of the rows of a block, shape ``(len(places), m)``."""
        return self.draws.counts(places, block.strata)


def stratified_sums(draws: SettledStrata, rows: RowsInPieces) -> FloatArray:
    """Return the sums of columns over the rows of resamples, shape ``(B, p)``."""
    total = np.zeros((len(draws.replicates), rows.width))
    for part in rows.sample.reduced(partial(_part_sums, draws, rows.compute, rows.width), rows.width):
        total += part
    return total


def _part_sums(
    draws: SettledStrata, compute: Callable[[Data], FloatArray], width: int, pieces: Iterator[tuple[int, Data]]
) -> FloatArray:
    return draws.sums(pieces, compute, width)
