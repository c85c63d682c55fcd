"""The counter-based generator in plain numpy: the definition that the compiled kernels repeat bit for bit.

The generator is numpy's own Philox4x64-10 (Salmon and others 2011). It maps a key of two 64-bit words and a counter of
four to a block of four random words, so any word can be had without those before it. Numpy adds one to the counter
before it makes a block; so does this layout, once and for all:

====  ================================  ===============================================================================
word  holds                             meaning
====  ================================  ===============================================================================
c0    1 + replicate * blocks + block    the resample, and the block within its part of the chunk
c1    chunk                             rows 8192 c to 8192 c + 8191, or a chunk of thrown integers
c2    8 * stream + purpose              the sample or stratum, and what the bits are for: `POISSON`, `EXTEND`, ...
c3    attempt                           counts how often this draw was rejected before
====  ================================  ===============================================================================

A block holds the lanes of 32 rows, 16 extensions of lanes, 4 refinements, or 8 integers, and `blocks` is how many of
them a resample has in the chunk: one chunk of consecutive resamples is one stretch of the counter. The last chunk of
rows is as short as the rows that are left. Integers have a capacity, the most that a resample is expected to need:
their first chunk holds that many, 8192 at most, and every further chunk 8192.

Within a block the lower bits come first: row 32 i + 8 w + l of a chunk has bits 8 l to 8 l + 7 of word w of block i,
integer 8 i + 2 w + l has bits 32 l to 32 l + 31. Rows with an open lane (`orthoboot.draws.poisson.Inversion`) are
extended one after the other: the one after 16 i + 4 w + l others in the chunk with bits 16 l to 16 l + 15 of word w of
block i. Those that are open still, and those for which no block is left, are refined: row 4 i + w with the whole of
word w. `orthoboot.draws.poisson.open_capacity` is how many rows there are blocks for.
The numbers of resamples stay below 2^53, so that no counter runs over.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orthoboot.draws.poisson import LANES, LONG_LANES, OPEN, Inversion, open_capacity, throw_capacity
from orthoboot.draws.summation import CHUNK, ChunkSums, cache_sized, chunk_sums, weighted_sums
from orthoboot.typing import BoolArray, FloatArray, IntArray

__all__ = [
    "multinomial_counts",
    "multinomial_sums",
    "philox_words",
    "poisson_counts",
    "poisson_sums",
    "uniform_integers",
    "weighted_sums",
]

POISSON, EXTEND, REFINE, THROW, RESTART = range(5)
PURPOSES = 8

ROWS_PER_BLOCK = 32
EXTENSIONS_PER_BLOCK = 16
REFINEMENTS_PER_BLOCK = 4
INTEGERS_PER_BLOCK = 8

_LANES_AT_ONCE = 1 << 17
"""Lanes are drawn in pieces of about so many, an array that the allocator does not fetch from the system every time."""

_HALF = 1 << 32

UInt8Array = NDArray[np.uint8]
UInt64Array = NDArray[np.uint64]


class _Source(threading.local):
    """One Philox generator per thread: setting its counter is eight times as fast as making a new one."""

    def __init__(self) -> None:
        self._philox = np.random.Philox(key=0)

    def words(self, key: tuple[int, int], counter: tuple[int, int, int, int], size: int) -> UInt64Array:
        state: Any = {
            "bit_generator": "Philox",
            "state": {"counter": counter, "key": key},
            "buffer": (0, 0, 0, 0),
            "buffer_pos": 4,
            "has_uint32": 0,
            "uinteger": 0,
        }
        self._philox.state = state
        return self._philox.random_raw(size)


_source = _Source()


def philox_words(key: tuple[int, int], counter: tuple[int, int, int, int], size: int) -> UInt64Array:
    """Return `size` words of Philox4x64-10, beginning with the block after `counter`."""
    return _source.words(key, counter, size)


class _Bits(NamedTuple):
    """The random bits of one sample."""

    k0: int
    k1: int
    stream: int

    def pieces(
        self, purpose: int, attempt: int, chunk: int, blocks: int, first: int, number: int, dtype: str
    ) -> NDArray[Any]:
        """Return the bits of a chunk for `number` resamples from `first`, cut into pieces, shape ``(number, size)``."""
        counter = (first * blocks, chunk, PURPOSES * self.stream + purpose, attempt)
        words = philox_words((self.k0, self.k1), counter, 4 * blocks * number)
        return _pieces(words, dtype).reshape(number, -1)

    def block(self, purpose: int, attempt: int, chunk: int, block: int, dtype: str) -> NDArray[Any]:
        """Return the pieces of a single block, counted from that of resample 0."""
        counter = (block, chunk, PURPOSES * self.stream + purpose, attempt)
        return _pieces(philox_words((self.k0, self.k1), counter, 4), dtype)


def _pieces(words: UInt64Array, dtype: str) -> NDArray[Any]:
    """Return the words cut into pieces, lower bits first on every machine."""
    return words.astype("<u8", copy=False).view(dtype)


def _blocks(size: int, per_block: int) -> int:
    return -(-size // per_block)


def poisson_counts(
    k0: int, k1: int, stream: int, replicate: int, attempt: int, law: Inversion, n: int, start: int, out: FloatArray
) -> None:
    """Write the Poisson counts of the rows from `start` of `n` into `out`."""
    bits, stop = _Bits(k0, k1, stream), start + out.size
    for begin in range(start - start % CHUNK, stop, CHUNK):
        counts = np.empty((1, min(n - begin, CHUNK)), dtype=np.uint8)
        _store_poisson_chunk(bits, attempt, law, begin, replicate, counts)
        first, last = max(start, begin), min(stop, begin + CHUNK)
        out[first - start : last - start] = counts[0, first - begin : last - begin]


def poisson_sums(
    k0: int,
    k1: int,
    stream: int,
    first: int,
    attempt: int,
    law: Inversion,
    n: int,
    start: int,
    columns: FloatArray,
    totals: IntArray,
    out: FloatArray,
) -> None:
    """Add the Poisson counts of the rows from `start` of `n` to `totals`, and the sums of count times value to `out`.

    Parameters
    ----------
    columns
        The values of these rows, shape ``(p, rows)``; p may be zero.
    totals, out
        Of resamples from `first`, shapes ``(B,)`` and ``(B, p)``.
    """
    bits, add_chunk_sums, stop = _Bits(k0, k1, stream), ChunkSums(), start + columns.shape[1]
    for some in cache_sized(len(out), CHUNK):
        for begin in range(start - start % CHUNK, stop, CHUNK):
            counts = np.empty((some.stop - some.start, min(n - begin, CHUNK)), dtype=np.uint8)
            drawn = _store_poisson_chunk(bits, attempt, law, begin, first + some.start, counts)
            lower, upper = max(start - begin, 0), min(stop - begin, CHUNK)
            inside = counts[:, lower:upper]
            whole = upper - lower == counts.shape[1]
            totals[some] += drawn if whole else inside.sum(axis=1, dtype=np.uint32).astype(np.int64)
            if len(columns):
                add_chunk_sums(inside, columns[:, begin + lower - start : begin + upper - start], out[some])


def _store_poisson_chunk(
    bits: _Bits, attempt: int, law: Inversion, begin: int, first: int, out: UInt8Array
) -> IntArray:
    """Write the Poisson counts of a chunk of rows into `out`, shape ``(B, rows)``; return the sums, shape ``(B,)``."""
    if law.is_zero:
        out[:] = 0
    else:
        at_once = max(_LANES_AT_ONCE // out.shape[1], 1)
        for place in range(0, len(out), at_once):
            _store_counts_of_lanes(bits, attempt, law, begin // CHUNK, first + place, out[place : place + at_once])
    totals: IntArray = out.sum(axis=1, dtype=np.uint32).astype(np.int64)
    return totals


def _store_counts_of_lanes(bits: _Bits, attempt: int, law: Inversion, chunk: int, first: int, out: UInt8Array) -> None:
    number, rows = out.shape
    lanes = bits.pieces(POISSON, attempt, chunk, _blocks(rows, ROWS_PER_BLOCK), first, number, "u1")[:, :rows]
    out[:] = law.table.take(lanes)
    places, positions = np.divmod(np.flatnonzero(out == OPEN), rows)
    if places.size:
        _settle(bits, attempt, law, chunk, first, lanes, places, positions, out)


def _settle(
    bits: _Bits,
    attempt: int,
    law: Inversion,
    chunk: int,
    first: int,
    lanes: UInt8Array,
    places: IntArray,
    positions: IntArray,
    out: UInt8Array,
) -> None:
    """Write the counts of open rows, given by the places of their resamples and their positions in the chunk."""
    number, rows = out.shape
    capacity = open_capacity(rows, law.n_open, law.deviations)
    extensions = bits.pieces(EXTEND, attempt, chunk, _blocks(capacity, EXTENSIONS_PER_BLOCK), first, number, "<u2")
    ranks, room = np.arange(places.size) - np.searchsorted(places, places), extensions.shape[1]
    open_lanes = lanes[places, positions].astype(np.uint32) - np.uint32(LANES - law.n_open)
    long_lanes = open_lanes * np.uint32(LONG_LANES) + extensions[places, np.minimum(ranks, room - 1)]
    reached = np.searchsorted(law.long_cuts[::-1], long_lanes, side="right")
    out[places, positions] = law.long_cuts.size - reached
    still_open = (law.long_cuts[law.long_cuts.size - reached] == long_lanes) | (ranks >= room)
    for i in np.flatnonzero(still_open).tolist():
        place, row = places[i], int(positions[i])
        lane, parts = (long_lanes[i], LONG_LANES) if ranks[i] < room else (open_lanes[i], 1)
        block = (first + int(place)) * _blocks(rows, REFINEMENTS_PER_BLOCK) + row // REFINEMENTS_PER_BLOCK
        word = bits.block(REFINE, attempt, chunk, block, "<u8")[row % REFINEMENTS_PER_BLOCK]
        out[place, row] = _refined_count(int(word), int(lane), parts, law.rest)


def _refined_count(word: int, lane: int, parts: int, rest: FloatArray) -> int:
    uniform = (lane + (word + 0.5) * 2.0**-64) / parts
    return int(np.count_nonzero(uniform < rest))


def uniform_integers(
    k0: int, k1: int, stream: int, first: int, purpose: int, capacity: int, bounds: UInt64Array, out: IntArray
) -> None:
    """Write integers that are uniform on ``0 .. bound - 1`` into `out`, one per entry of `bounds` for each resample.

    Lemire's method (2019): a 32-bit number times the bound has the integer in its upper half, and those lower halves
    that would favour some integers are rejected.
    """
    bits = _Bits(k0, k1, stream)
    for chunk, begin, blocks in _integer_chunks(capacity, bounds.size):
        limits = bounds[begin : begin + INTEGERS_PER_BLOCK * blocks]
        halves = bits.pieces(purpose, 0, chunk, blocks, first, len(out), "<u4")[:, : limits.size]
        integers = out[:, begin : begin + limits.size]
        products = np.multiply(halves, limits, out=integers.view(np.uint64))
        lower = _pieces(products, "<u4")[:, ::2]
        # A remainder is slow to compute; it is below its bound, so only these can be rejected.
        suspects = [(*place, int(lower[place])) for place in _places(lower < limits.astype(np.uint32))]
        products >>= np.uint64(32)
        for place, position, half in suspects:
            bound, block = int(limits[position]), position // INTEGERS_PER_BLOCK
            if half < (_HALF - bound) % bound:
                block += (first + place) * blocks
                integers[place, position] = _redrawn_integer(bits, purpose, chunk, block, position, bound)


def _places(found: BoolArray) -> Iterator[tuple[int, int]]:
    """Give the places where a table is true; numpy finds them in flat arrays alone at the speed of memory."""
    return (divmod(place, found.shape[1]) for place in np.flatnonzero(found).tolist())


def _integer_chunks(capacity: int, size: int) -> Iterator[tuple[int, int, int]]:
    """Give the number, the first position and the blocks of each chunk that the first `size` integers lie in."""
    begin, blocks, chunk = 0, _blocks(min(capacity, CHUNK), INTEGERS_PER_BLOCK), 0
    while begin < size:
        yield chunk, begin, blocks
        begin, blocks, chunk = begin + INTEGERS_PER_BLOCK * blocks, CHUNK // INTEGERS_PER_BLOCK, chunk + 1


def _redrawn_integer(bits: _Bits, purpose: int, chunk: int, block: int, position: int, bound: int) -> int:
    product, attempt = 0, 0
    while product % _HALF < (_HALF - bound) % bound:
        attempt += 1
        halves = bits.block(purpose, attempt, chunk, block, "<u4")
        product = int(halves[position % INTEGERS_PER_BLOCK]) * bound
    return product // _HALF


def multinomial_counts(k0: int, k1: int, stream: int, first: int, law: Inversion, out: FloatArray) -> None:
    """Write how often each row is among n uniform draws into `out`, shape ``(B, n)``, for resamples from `first`."""
    bits, n = _Bits(k0, k1, stream), out.shape[1]
    for some in cache_sized(len(out), min(n, CHUNK)):
        out[some] = _counts(bits, first + some.start, some.stop - some.start, law, n)


def _counts(bits: _Bits, first: int, number: int, law: Inversion, n: int) -> UInt8Array:
    """Return how often each row is among n uniform draws, shape ``(number, n)``."""
    # A row is drawn 256 times with odds below 64^-200, so that eight bits hold every count.
    counts = np.empty((number, n), dtype=np.uint8)

    def draw(attempt: int, some: slice) -> IntArray:
        totals = np.zeros(some.stop - some.start, dtype=np.int64)
        for begin in range(0, n, CHUNK):
            chunk = counts[some, begin : begin + CHUNK]
            totals += _store_poisson_chunk(bits, attempt, law, begin, first + some.start, chunk)
        return totals

    missing = n - _settled_totals(draw, n, number)
    rows = _thrown_rows(bits, first, number, n, int(missing.max()))
    # The places of the rows in the flat array, of those throws that each resample needs.
    rows += np.arange(0, counts.size, n)[:, np.newaxis]
    needed = np.arange(rows.shape[1]) < missing[:, np.newaxis]
    np.add.at(counts.reshape(-1), rows[needed], np.uint8(1))
    return counts


def multinomial_sums(
    k0: int, k1: int, stream: int, first: int, law: Inversion, columns: FloatArray, out: FloatArray
) -> None:
    """Write the sums over n uniform draws of rows into `out`, shape ``(B, p)``, for resamples from `first`.

    With one chunk of rows these are sums of count times value; with more, sums over the Poisson counts, to which that
    over the thrown rows is added.

    Parameters
    ----------
    columns
        The values of the rows, shape ``(p, n)``.
    """
    bits, n, add_chunk_sums = _Bits(k0, k1, stream), columns.shape[1], ChunkSums()
    out[:] = 0.0
    for some in cache_sized(len(out), min(n, CHUNK)):
        part, start = out[some], first + some.start
        if n <= CHUNK:
            add_chunk_sums(_counts(bits, start, len(part), law, n), columns, part)
        else:
            missing = n - _store_poisson_sums(bits, start, law, columns, part)
            _add_thrown_sums(bits, start, missing, columns, part)


def _store_poisson_sums(bits: _Bits, first: int, law: Inversion, columns: FloatArray, out: FloatArray) -> IntArray:
    """Write the sums over Poisson counts whose totals are at most n into `out`; return the totals."""
    n = columns.shape[1]

    def draw(attempt: int, some: slice) -> IntArray:
        totals, part = np.zeros(some.stop - some.start, dtype=np.int64), out[some]
        part[:] = 0.0
        poisson_sums(*bits, first + some.start, attempt, law, n, 0, columns, totals, part)
        return totals

    return _settled_totals(draw, n, len(out))


def _settled_totals(draw: Callable[[int, slice], IntArray], n: int, number: int) -> IntArray:
    """Draw Poisson counts until their totals are at most `n`; return these.

    Parameters
    ----------
    draw
        Draws with the given attempt for a slice of the resamples, and returns the totals.
    """
    totals = draw(0, slice(0, number))
    for place in np.flatnonzero(totals > n).tolist():
        attempt = 0
        while totals[place] > n:
            attempt += 1
            totals[place] = draw(attempt, slice(place, place + 1))[0]
    return totals


def _add_thrown_sums(bits: _Bits, first: int, missing: IntArray, columns: FloatArray, out: FloatArray) -> None:
    """Add the sums over the thrown rows, as many as each resample misses, to `out`."""
    rows = _thrown_rows(bits, first, missing.size, columns.shape[1], int(missing.max())).T
    superfluous = np.arange(len(rows))[:, np.newaxis] >= missing
    for feature, column in enumerate(columns):
        values, sums = column.take(rows), np.zeros(missing.size)
        values[superfluous] = 0.0
        for begin in range(0, len(rows), CHUNK):
            sums += chunk_sums(values[begin : begin + CHUNK])
        out[:, feature] += sums


def _thrown_rows(bits: _Bits, first: int, number: int, n: int, throws: int) -> IntArray:
    """Return the rows of the first `throws` throws of each resample, shape ``(number, throws)``."""
    rows = np.empty((number, throws), dtype=np.int64)
    uniform_integers(*bits, first, THROW, throw_capacity(n), np.full(throws, n, dtype=np.uint64), rows)
    return rows
