"""Counts of resamples of at most a chunk of rows, compiled: the random words of many resamples are made together."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoboot.draws import numpy_kernels
from orthoboot.draws.compiled.compilation import called as _called
from orthoboot.draws.compiled.compilation import inlined as _inlined
from orthoboot.draws.compiled.numba_pointers import from_place as _from_place
from orthoboot.draws.compiled.numba_pointers import pointer as _pointer
from orthoboot.draws.compiled.numba_poisson import blocks_of_rows as _blocks_of_rows
from orthoboot.draws.compiled.numba_poisson import room_in as _room_in
from orthoboot.draws.compiled.numba_poisson import store_counts_of_words as _store_counts_of_words
from orthoboot.draws.compiled.numba_poisson import store_poisson_chunk as _store_poisson_chunk
from orthoboot.draws.compiled.numba_poisson import tables_of as _tables_of
from orthoboot.draws.compiled.numba_words import MOST_BLOCKS as _MOST_BLOCKS
from orthoboot.draws.compiled.numba_words import blocks_of_integers as _blocks_of_integers
from orthoboot.draws.compiled.numba_words import memory_for_numbers as _memory_for_numbers
from orthoboot.draws.compiled.numba_words import store_integers as _store_integers
from orthoboot.draws.compiled.numba_words import store_integers_of_words as _store_integers_of_words
from orthoboot.draws.compiled.numba_words import store_words as _store_words
from orthoboot.draws.compiled.numba_words import store_words_of as _store_words_of

# Numba turns a sum of a signed and an unsigned integer into a float, so every number that meets a word is unsigned.
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_POISSON, _THROW = np.uint64(numpy_kernels.POISSON), np.uint64(numpy_kernels.THROW)
_INTEGERS_PER_BLOCK = numpy_kernels.INTEGERS_PER_BLOCK


@_inlined
def _store_poisson_counts(bits: Any, first: Any, law: Any, room: Any, n: Any, counts: Any, totals: Any) -> None:
    """Write the Poisson counts of resamples of n rows into `counts`, and their sums into `totals`."""
    blocks = _blocks_of_rows(n)
    at_once = _MOST_BLOCKS // blocks
    for begin in range(0, len(counts), at_once):
        replicate, number = first + np.uint64(begin), min(at_once, len(counts) - begin)
        _store_words(bits, _POISSON, _ZERO, 0, replicate * np.uint64(blocks), number * blocks, room.words)
        for i in range(number):
            own, words = _row(counts, begin + i), _from_place(room.words, 4 * blocks * i)
            total = _store_counts_of_words(bits, _ZERO, 0, replicate + np.uint64(i), law, n, words, room, own)
            totals[begin + i] = total


@_inlined
def _redraw(bits: Any, first: Any, law: Any, room: Any, n: Any, counts: Any, totals: Any) -> None:
    """Replace the Poisson counts of resamples whose sum is above n."""
    for i in range(len(counts)):
        attempt = _ZERO
        while totals[i] > n:
            attempt += _ONE
            own = _row(counts, i)
            totals[i] = _store_poisson_chunk(bits, attempt, 0, first + np.uint64(i), law, n, room, own)


@_inlined
def _blocks_of_throws(throws: Any, capacity: Any) -> Any:
    """Return the blocks that are made together with those of other resamples: none where a resample has too many."""
    return -(-throws // _INTEGERS_PER_BLOCK) if throws <= capacity else 0


@_inlined
def _store_words_of_throws(
    bits: Any, first: Any, room: Any, capacity: Any, n: Any, totals: Any, number: Any, numbers: Any
) -> None:
    """Write the words of the throws of some resamples one after the other."""
    blocks, used = _blocks_of_integers(capacity), 0
    for i in range(number):
        own = (first + np.uint64(i)) * np.uint64(blocks)
        needed = _blocks_of_throws(n - totals[i], capacity)
        for block in range(needed):
            numbers[used + block] = own + np.uint64(block)
        used += needed
    _store_words_of(bits, _THROW, _ZERO, 0, _ZERO, numbers, used, room.words)


@_inlined
def _throw(
    bits: Any, first: Any, room: Any, capacity: Any, bounds: Any, rows: Any, n: Any, counts: Any, totals: Any
) -> None:
    """Add thrown rows to the counts, as many as each resample lacks."""
    numbers, blocks = _memory_for_numbers(_MOST_BLOCKS), _blocks_of_integers(capacity)
    at_once = _MOST_BLOCKS // blocks
    for begin in range(0, len(counts), at_once):
        replicate, number, used = first + np.uint64(begin), min(at_once, len(counts) - begin), 0
        _store_words_of_throws(bits, replicate, room, capacity, n, totals[begin:], number, _pointer(numbers))
        for i in range(number):
            throws, words = n - totals[begin + i], _from_place(room.words, 4 * used)
            if throws <= capacity:
                block = (replicate + np.uint64(i)) * np.uint64(blocks)
                _store_integers_of_words(bits, _THROW, 0, block, words, bounds, rows, throws)
                _add_rows(rows, throws, _row(counts, begin + i))
            used += _blocks_of_throws(throws, capacity)
        for i in range(number):
            throws = n - totals[begin + i]
            # Once in a billion resamples; after the others, whose words these overwrite.
            if throws > capacity:
                _store_integers(bits, _THROW, replicate + np.uint64(i), capacity, bounds, room.words, rows, throws)
                _add_rows(rows, throws, _row(counts, begin + i))


@_inlined
def _add_rows(rows: Any, number: Any, counts: Any) -> None:
    for throw in range(number):
        counts[rows[throw]] += 1


@_inlined
def _row(counts: Any, i: Any) -> Any:
    return _from_place(_pointer(counts), i * counts.shape[1])


@_called
def store_counts_of_resamples(
    bits: Any, first: Any, law: Any, memory: Any, capacity: Any, bounds: Any, rows: Any, counts: Any
) -> None:
    """Write how often each row of at most a chunk is drawn into `counts`, for resamples from `first`.

    Parameters
    ----------
    bounds, rows
        The number of rows, once for each of them, and memory for as many throws, more than which no resample has.
    """
    tables, room, n, totals = _tables_of(law), _room_in(memory), bounds.size, np.zeros(len(counts), dtype=np.int64)
    if tables.n_rest > 0:
        _store_poisson_counts(bits, first, tables, room, n, counts, totals)
        _redraw(bits, first, tables, room, n, counts, totals)
    else:
        counts[:] = 0
    _throw(bits, first, room, capacity, _pointer(bounds), _pointer(rows), n, counts, totals)
