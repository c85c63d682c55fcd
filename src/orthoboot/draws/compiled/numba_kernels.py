"""The counter-based generator compiled with numba: the bits of `numpy_kernels`, ten times as fast.

`orthoboot.draws.kernels` loads it when that pays. It raises an `ImportError` where numba is missing or cannot compile,
and whatever a mistake of its own raises.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from orthoboot.draws import numpy_kernels
from orthoboot.draws.compiled.compilation import called as _called
from orthoboot.draws.compiled.compilation import compiled as _compiled
from orthoboot.draws.compiled.compilation import types as _types
from orthoboot.draws.compiled.numba_few_rows import store_counts_of_resamples as _store_counts_of_resamples
from orthoboot.draws.compiled.numba_lanes import add_chunk_sums as _add_chunk_sums
from orthoboot.draws.compiled.numba_lanes import empty_lanes as _empty_lanes
from orthoboot.draws.compiled.numba_lanes import thrown_sum as _thrown_sum
from orthoboot.draws.compiled.numba_pointers import pointer as _pointer
from orthoboot.draws.compiled.numba_poisson import filled_to_masks as _filled_to_masks
from orthoboot.draws.compiled.numba_poisson import new_memory as _new_memory
from orthoboot.draws.compiled.numba_poisson import store_poisson_chunks as _store_poisson_chunks
from orthoboot.draws.compiled.numba_words import MOST_BLOCKS as _MOST_BLOCKS
from orthoboot.draws.compiled.numba_words import memory_for_words as _memory_for_words
from orthoboot.draws.compiled.numba_words import philox as _philox
from orthoboot.draws.compiled.numba_words import store_integers as _store_integers
from orthoboot.draws.poisson import Inversion, throw_capacity
from orthoboot.draws.summation import CHUNK as _CHUNK
from orthoboot.typing import FloatArray, IntArray

if sys.byteorder != "little":
    raise ImportError("these kernels need a little-endian processor.")

# Numba turns a sum of a signed and an unsigned integer into a float, so every number that meets a word is unsigned.
_ZERO, _ONE, _THROW = np.uint64(0), np.uint64(1), np.uint64(numpy_kernels.THROW)

_FEW_COLUMNS = 8
"""Columns that are copied to be filled up; a copy of more takes longer than what it saves."""

_RESAMPLES_AT_ONCE = 16
"""Resamples whose counts of a chunk are drawn before its values are added, so that these come from the cache."""

_WORD, _INTEGER = _types.uint64, _types.int64
_SMALL_TABLE, _REST, _LONG_TABLE = (
    _types.Array(dtype, 1, "C", readonly=True) for dtype in (_types.uint8, _types.float64, _types.uint32)
)
_LAW_FIELDS = (_SMALL_TABLE, _SMALL_TABLE, _INTEGER, _REST, _LONG_TABLE, _SMALL_TABLE, _types.float64)
_LAW = _types.NamedTuple(_LAW_FIELDS, Inversion)
_BOUNDS = _types.Array(_types.uint64, 1, "C", readonly=True)
_COLUMNS = _types.Array(_types.float64, 2, "C", readonly=True)
_COUNTS = _types.float64[::1]
_RESULTS = _types.float64[:, ::1]
_INTEGERS = _types.int64[:, ::1]
_TOTALS = _types.int64[::1]


@_compiled(_types.UniTuple(_WORD, 4)(_WORD, _WORD, _WORD, _WORD, _WORD, _WORD))
def philox_block(c0: int, c1: int, c2: int, c3: int, k0: int, k1: int) -> tuple[int, int, int, int]:
    """Return the four words of Philox4x64-10 at a counter and a key."""
    return _philox(c0, c1, c2, c3, k0, k1)


@_compiled(_types.void(_WORD, _WORD, _WORD, _WORD, _WORD, _LAW, _INTEGER, _INTEGER, _COUNTS))
def poisson_counts(
    k0: int, k1: int, stream: int, replicate: int, attempt: int, law: Inversion, n: int, start: int, out: FloatArray
) -> None:
    """Write the Poisson counts of the rows from `start` of `n` into `out`."""
    bits, stop, memory = (k0, k1, stream), start + out.size, _new_memory()
    counts, total = np.empty((1, _CHUNK), dtype=np.uint8), np.empty(1, dtype=np.int64)
    for chunk in range(start // _CHUNK, -(-stop // _CHUNK)):
        begin = _CHUNK * chunk
        _store_poisson_chunks(bits, attempt, chunk, replicate, law, min(_CHUNK, n - begin), memory, counts, total)
        for row in range(max(start, begin), min(stop, begin + _CHUNK)):
            out[row - start] = counts[0, row - begin]


@_called
def _store_own_integers(
    bits: Any, purpose: Any, replicate: Any, capacity: Any, bounds: Any, words: Any, out: Any
) -> None:
    """Write the integers of a resample into `out`, one for each of the first bounds."""
    limits, integers = _pointer(bounds), _pointer(out)
    _store_integers(bits, purpose, replicate, capacity, limits, _pointer(words), integers, out.size)


@_compiled(_types.void(_WORD, _WORD, _WORD, _WORD, _WORD, _INTEGER, _BOUNDS, _INTEGERS))
def uniform_integers(
    k0: int,
    k1: int,
    stream: int,
    first: int,
    purpose: int,
    capacity: int,
    bounds: numpy_kernels.UInt64Array,
    out: IntArray,
) -> None:
    """Write integers that are uniform on ``0 .. bound - 1`` into `out`, one per entry of `bounds` for each resample."""
    words = _memory_for_words(_MOST_BLOCKS)
    for place in range(len(out)):
        _store_own_integers((k0, k1, stream), purpose, first + np.uint64(place), capacity, bounds, words, out[place])


@_called
def _thrown_rows(bits: Any, replicate: Any, number: Any, n: Any, words: Any, bounds: Any, rows: Any) -> Any:
    """Return the rows of the first `number` throws, in the memory of `rows` where that is enough."""
    capacity = rows.size
    if number > capacity:  # once in a billion resamples
        bounds, rows = np.full(number, n, dtype=np.uint64), np.empty(number, dtype=np.int64)
    _store_own_integers(bits, _THROW, replicate, capacity, bounds, words, rows[:number])
    return rows[:number]


@_called
def _store_counts(bits: Any, replicate: Any, law: Any, memory: Any, bounds: Any, rows: Any, out: Any) -> None:
    """Write how often each row is among n uniform draws into `out`."""
    n, attempt = out.size, _ZERO
    counts, totals = np.empty((1, _CHUNK), dtype=np.uint8), np.empty(1, dtype=np.int64)
    total = n + 1
    while total > n:
        total = 0
        for begin in range(0, n, _CHUNK):
            size = min(_CHUNK, n - begin)
            _store_poisson_chunks(bits, attempt, begin // _CHUNK, replicate, law, size, memory, counts, totals)
            total += totals[0]
            for row in range(size):
                out[begin + row] = counts[0, row]
        attempt += _ONE
    for row in _thrown_rows(bits, replicate, n - total, n, memory.words, bounds, rows):
        out[row] += 1


@_compiled(_types.void(_WORD, _WORD, _WORD, _WORD, _LAW, _INTEGER, _RESULTS))
def _multinomial_counts(k0: Any, k1: Any, stream: Any, first: Any, law: Any, capacity: Any, out: Any) -> None:
    memory = _new_memory()
    bounds, rows = np.full(capacity, out.shape[1], dtype=np.uint64), np.empty(capacity, dtype=np.int64)
    for place in range(len(out)):
        _store_counts((k0, k1, stream), first + np.uint64(place), law, memory, bounds, rows, out[place])


@_called
def _store_sums_of_one_chunk(bits: Any, first: Any, law: Any, capacity: Any, columns: Any, out: Any) -> None:
    n = columns.shape[1]
    if _filled_to_masks(n) > n and len(columns) <= _FEW_COLUMNS:
        # With rows of zeros they fill whole vectors: the last few rows of each resample took longer one by one.
        filled = np.zeros((len(columns), _filled_to_masks(n)))
        filled[:, :n] = columns
        _store_sums_of_rows(bits, first, law, capacity, n, filled, out)
    else:
        _store_sums_of_rows(bits, first, law, capacity, n, columns, out)


@_called
def _store_sums_of_rows(bits: Any, first: Any, law: Any, capacity: Any, n: Any, columns: Any, out: Any) -> None:
    """Write the sums over resamples of n rows, after which the columns may have zeros, into `out`."""
    memory, lanes = _new_memory(), _empty_lanes()
    bounds, rows = np.full(n, n, dtype=np.uint64), np.empty(n, dtype=np.int64)
    counts = np.empty((max(min(_RESAMPLES_AT_ONCE, len(out)), 1), _filled_to_masks(n)), dtype=np.uint8)
    out[:] = 0.0
    for place in range(0, len(out), len(counts)):
        number = min(len(counts), len(out) - place)
        replicate = first + np.uint64(place)
        _store_counts_of_resamples(bits, replicate, law, memory, capacity, bounds, rows, counts[:number])
        _add_chunk_sums(counts[:number, : columns.shape[1]], columns, lanes, out[place : place + number])


@_called
def _add_poisson_sums(
    bits: Any, attempt: Any, first: Any, law: Any, n: Any, start: Any, columns: Any, totals: Any, out: Any
) -> None:
    """Add the sums over Poisson counts of the rows from `start` of `n` to `out`, and the counts to `totals`."""
    memory, lanes, stop = _new_memory(), _empty_lanes(), start + columns.shape[1]
    counts = np.empty((max(min(_RESAMPLES_AT_ONCE, len(out)), 1), _CHUNK), dtype=np.uint8)
    drawn = np.empty(len(counts), dtype=np.int64)
    for chunk in range(start // _CHUNK, -(-stop // _CHUNK)):
        begin = _CHUNK * chunk
        rows, lower, upper = min(_CHUNK, n - begin), max(start - begin, 0), min(stop - begin, _CHUNK)
        values = columns[:, begin + lower - start : begin + upper - start]
        for place in range(0, len(out), len(counts)):
            number = min(len(counts), len(out) - place)
            replicate, some = first + np.uint64(place), counts[:number]
            _store_poisson_chunks(bits, attempt, chunk, replicate, law, rows, memory, some, drawn)
            for i in range(number):
                totals[place + i] += drawn[i] if upper - lower == rows else counts[i, lower:upper].sum()
            _add_chunk_sums(counts[:number, lower:upper], values, lanes, out[place : place + number])


@_called
def _store_sums_of_chunks(bits: Any, first: Any, law: Any, capacity: Any, columns: Any, out: Any) -> None:
    n, totals = columns.shape[1], np.empty(len(out), dtype=np.int64)
    words, lanes = _memory_for_words(_MOST_BLOCKS), _empty_lanes()[0]
    bounds, rows = np.full(capacity, n, dtype=np.uint64), np.empty(capacity, dtype=np.int64)
    totals[:], out[:] = 0, 0.0
    _add_poisson_sums(bits, _ZERO, first, law, n, 0, columns, totals, out)
    for place in range(len(out)):
        replicate, attempt = first + np.uint64(place), _ZERO
        while totals[place] > n:
            attempt += _ONE
            one = slice(place, place + 1)
            totals[one], out[one] = 0, 0.0
            _add_poisson_sums(bits, attempt, replicate, law, n, 0, columns, totals[one], out[one])
        thrown = _thrown_rows(bits, replicate, n - totals[place], n, words, bounds, rows)
        for feature in range(len(columns)):
            out[place, feature] += _thrown_sum(thrown, columns[feature], lanes)


@_compiled(_types.void(_WORD, _WORD, _WORD, _WORD, _LAW, _INTEGER, _COLUMNS, _RESULTS))
def _multinomial_sums(
    k0: Any, k1: Any, stream: Any, first: Any, law: Any, capacity: Any, columns: Any, out: Any
) -> None:
    if columns.shape[1] <= _CHUNK:
        _store_sums_of_one_chunk((k0, k1, stream), first, law, capacity, columns, out)
    else:
        _store_sums_of_chunks((k0, k1, stream), first, law, capacity, columns, out)


@_compiled(_types.void(_WORD, _WORD, _WORD, _WORD, _WORD, _LAW, _INTEGER, _INTEGER, _COLUMNS, _TOTALS, _RESULTS))
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
    """Add the Poisson counts of the rows from `start` of `n` to `totals`, and their sums of values to `out`."""
    _add_poisson_sums((k0, k1, stream), attempt, first, law, n, start, columns, totals, out)


@_compiled(_types.void(_COLUMNS, _COLUMNS, _RESULTS))
def weighted_sums(weights: FloatArray, columns: FloatArray, out: FloatArray) -> None:
    """Write ``weights @ columns.T`` into `out`, in the order of `orthoboot.draws.summation`."""
    lanes = _empty_lanes()
    out[:] = 0.0
    for begin in range(0, columns.shape[1], _CHUNK):
        end = min(begin + _CHUNK, columns.shape[1])
        _add_chunk_sums(weights[:, begin:end], columns[:, begin:end], lanes, out)


def multinomial_counts(k0: int, k1: int, stream: int, first: int, law: Inversion, out: FloatArray) -> None:
    """Write how often each row is among n uniform draws into `out`, shape ``(B, n)``, for resamples from `first`."""
    _multinomial_counts(k0, k1, stream, first, law, throw_capacity(out.shape[1]), out)


def multinomial_sums(
    k0: int, k1: int, stream: int, first: int, law: Inversion, columns: FloatArray, out: FloatArray
) -> None:
    """Write the sums over n uniform draws of rows into `out`, shape ``(B, p)``, for resamples from `first`."""
    _multinomial_sums(k0, k1, stream, first, law, throw_capacity(columns.shape[1]), columns, out)
