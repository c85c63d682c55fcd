"""The counter-based generator in plain numpy: the definition that the compiled kernels repeat bit for bit.

The generator is numpy's own Philox4x64-10 (Salmon and others 2011). It maps a key of two 64-bit words and a counter of
four to a block of four random words, so any word can be had without those before it. Numpy adds one to the counter
before it makes a block; so does this layout, once and for all:

====  ==========================  =============================================================================
word  holds                       meaning
====  ==========================  =============================================================================
c0    1 + block                   16 rows of Poisson lanes, 4 rows of refinements, or 8 thrown integers per block
c1    replicate                   the number of the resample
c2    4 * stream + purpose        the sample, and what the bits are for: `POISSON`, `REFINE`, `THROW`, `RESTART`
c3    attempt                     counts how often this draw was rejected before
====  ==========================  =============================================================================

Within a block the lower bits come first: row 16 i + 4 w + l has bits 16 l to 16 l + 15 of word w of block i, thrown
integer 8 i + 2 w + l has bits 32 l to 32 l + 31, and row 4 i + w is refined with the whole of word w.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orthoboot.draws.poisson import LANES, MARK
from orthoboot.typing import FloatArray, IntArray

POISSON, REFINE, THROW, RESTART = range(4)
PURPOSES = 4

ROWS_PER_BLOCK = 16
REFINEMENTS_PER_BLOCK = 4
THROWS_PER_BLOCK = 8

_CHUNK_ROWS = 1 << 16
"""A multiple of `ROWS_PER_BLOCK`; intermediate arrays of this many rows stay in the processor's cache."""

_HALF = 1 << 32

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


def poisson_counts(
    k0: int,
    k1: int,
    stream: int,
    replicate: int,
    attempt: int,
    table: NDArray[np.uint8],
    survival: FloatArray,
    start: int,
    out: FloatArray,
) -> int:
    """Write the Poisson counts of the rows from `start`, a multiple of 16, into `out`; return their sum."""
    total = 0
    for begin in range(0, out.size, _CHUNK_ROWS):
        chunk, first = out[begin : begin + _CHUNK_ROWS], start + begin
        counter = (first // ROWS_PER_BLOCK, replicate, PURPOSES * stream + POISSON, attempt)
        lanes = _pieces(philox_words((k0, k1), counter, -(-chunk.size // 4)), "<u2")[: chunk.size]
        counts = table.take(lanes)
        chunk[:] = counts
        if counts.max() == MARK:
            counter = (0, replicate, PURPOSES * stream + REFINE, attempt)
            for i in np.flatnonzero(counts == MARK).tolist():
                chunk[i] = _refined_count((k0, k1), counter, first + i, int(lanes[i]), survival)
        total += int(chunk.sum())
    return total


def _pieces(words: UInt64Array, dtype: str) -> NDArray[Any]:
    """Return the words cut into pieces, lower bits first on every machine."""
    return words.astype("<u8", copy=False).view(dtype)


def _refined_count(
    key: tuple[int, int], counter: tuple[int, int, int, int], row: int, lane: int, survival: FloatArray
) -> int:
    block, position = divmod(row, REFINEMENTS_PER_BLOCK)
    word = philox_words(key, (block, *counter[1:]), REFINEMENTS_PER_BLOCK)[position].item()
    uniform = (lane + (word + 0.5) * 2.0**-64) / LANES
    return int(np.count_nonzero(uniform < survival))


def uniform_integers(
    k0: int, k1: int, stream: int, replicate: int, purpose: int, bounds: UInt64Array, out: IntArray
) -> None:
    """Write integers that are uniform on ``0 .. bound - 1`` into `out`, one per entry of `bounds`.

    Lemire's method (2019): a 32-bit number times the bound has the integer in its upper half, and those lower halves
    that would favour some integers are rejected.
    """
    key, tag = (k0, k1), PURPOSES * stream + purpose
    halves = _pieces(philox_words(key, (0, replicate, tag, 0), -(-bounds.size // 2)), "<u4")[: bounds.size]
    products = halves * bounds
    out[:] = products >> 32
    lower = products & (_HALF - 1)
    # A remainder is slow to compute; it is below its bound, so only these can be rejected.
    suspects = np.flatnonzero(lower < bounds)
    for position in suspects[lower[suspects] < (_HALF - bounds[suspects]) % bounds[suspects]].tolist():
        out[position] = _redrawn_integer(key, replicate, tag, position, int(bounds[position]))


def _redrawn_integer(key: tuple[int, int], replicate: int, tag: int, position: int, bound: int) -> int:
    block, place = divmod(position, THROWS_PER_BLOCK)
    product, attempt = 0, 0
    while product % _HALF < (_HALF - bound) % bound:
        attempt += 1
        words = philox_words(key, (block, replicate, tag, attempt), 4)
        product = int(_pieces(words, "<u4")[place]) * bound
    return product // _HALF


def multinomial_counts(
    k0: int,
    k1: int,
    stream: int,
    replicate: int,
    table: NDArray[np.uint8],
    survival: FloatArray,
    out: FloatArray,
) -> None:
    """Write how often each row is among ``out.size`` uniform draws into `out`."""
    n = out.size
    total = _poisson_part(k0, k1, stream, replicate, table, survival, out)
    rows = np.empty(n - total, dtype=np.int64)
    uniform_integers(k0, k1, stream, replicate, THROW, np.full(n - total, n, dtype=np.uint64), rows)
    np.add.at(out, rows, 1.0)


def _poisson_part(
    k0: int, k1: int, stream: int, replicate: int, table: NDArray[np.uint8], survival: FloatArray, out: FloatArray
) -> int:
    """Write Poisson counts whose sum is at most ``out.size`` into `out`; return their sum."""
    if survival.size == 0:
        out[:] = 0.0
        return 0
    total, attempt = out.size + 1, 0
    while total > out.size:
        total = poisson_counts(k0, k1, stream, replicate, attempt, table, survival, 0, out)
        attempt += 1
    return total
