"""The counter-based generator compiled with numba: the bits of `numpy_kernels`, ten times as fast.

`orthoboot.draws.kernels` loads it when that pays. It raises an `ImportError` where numba is missing or cannot compile,
and whatever a mistake of its own raises.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from orthoboot.draws import numpy_kernels
from orthoboot.draws.compiled.compilation import called as _called
from orthoboot.draws.compiled.compilation import compiled as _compiled
from orthoboot.draws.compiled.compilation import inlined as _inlined
from orthoboot.draws.compiled.compilation import intrinsic, ir
from orthoboot.draws.compiled.compilation import types as _types
from orthoboot.draws.compiled.numba_lanes import add_chunk_sums as _add_chunk_sums
from orthoboot.draws.compiled.numba_lanes import empty_lanes as _empty_lanes
from orthoboot.draws.compiled.numba_lanes import thrown_sum as _thrown_sum
from orthoboot.draws.compiled.numba_pointers import as_bytes as _as_bytes
from orthoboot.draws.compiled.numba_pointers import as_shorts as _as_shorts
from orthoboot.draws.compiled.numba_pointers import as_words as _as_words
from orthoboot.draws.compiled.numba_pointers import from_place as _from_place
from orthoboot.draws.compiled.numba_pointers import pointer as _pointer
from orthoboot.draws.compiled.numba_words import philox as _philox
from orthoboot.draws.compiled.numba_words import store_integers as _store_integers
from orthoboot.draws.compiled.numba_words import store_words as _store_words
from orthoboot.draws.compiled.numba_words import word_of_block as _word_of_block
from orthoboot.draws.poisson import LANES as _POISSON_LANES
from orthoboot.draws.poisson import LONG_LANES as _LONG_LANES
from orthoboot.draws.poisson import OPEN as _OPEN_LANE
from orthoboot.draws.poisson import Inversion, open_capacity, throw_capacity
from orthoboot.draws.summation import CHUNK as _CHUNK
from orthoboot.typing import FloatArray, IntArray

if sys.byteorder != "little":
    raise ImportError("these kernels need a little-endian processor.")

# Numba turns a sum of a signed and an unsigned integer into a float, so every number that meets a word is unsigned.
_ZERO, _ONE, _THIRTY_TWO = np.uint64(0), np.uint64(1), np.uint64(32)
_HALF_MASK = np.uint64((1 << 32) - 1)
_POISSON, _EXTEND, _REFINE, _THROW = (
    np.uint64(purpose)
    for purpose in (numpy_kernels.POISSON, numpy_kernels.EXTEND, numpy_kernels.REFINE, numpy_kernels.THROW)
)
_ROWS_PER_BLOCK = numpy_kernels.ROWS_PER_BLOCK
_EXTENSIONS_PER_BLOCK = numpy_kernels.EXTENSIONS_PER_BLOCK
_REFINEMENTS_PER_BLOCK = numpy_kernels.REFINEMENTS_PER_BLOCK
_INTEGERS_PER_BLOCK = numpy_kernels.INTEGERS_PER_BLOCK
_MOST_WORDS = 4 * _CHUNK // _INTEGERS_PER_BLOCK

_OPEN = np.uint8(128)
"""What is added to a count that more random bits must decide."""

_MASKED = 64
"""Counts that are asked at once whether they are open; where they are asked, their number is a multiple of it."""

_FEW_COLUMNS = 8
"""Columns that are copied to be filled up; a copy of more takes longer than what it saves."""

_MOSTLY_OPEN = 3
"""More of these are rarely open: one or two are on average."""

_EVERY_OTHER, _EVERY_FOURTH = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF)
_EIGHT, _SIXTEEN = np.uint64(8), np.uint64(16)

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


def _typed_trailing_zeros(context: Any, word: Any) -> Any:
    """Return how many of the lowest bits of a word are zeros."""

    def count(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return _WORD(_WORD), count


_trailing_zeros: Any = intrinsic(_typed_trailing_zeros)


def _typed_number_of_ones(context: Any, word: Any) -> Any:
    """Return how many bits of a word are ones."""

    def count(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return _WORD(_WORD), count


_number_of_ones: Any = intrinsic(_typed_number_of_ones)


def _typed_open_mask(context: Any, counts: Any, begin: Any) -> Any:
    """Return which of the 64 counts from `begin` on are open, the first of them in the lowest bit."""

    def mask(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        some = ir.VectorType(ir.IntType(8), _MASKED)
        pointer = builder.bitcast(builder.gep(arguments[0], [arguments[1]]), some.as_pointer())
        # The bit that marks an open count is that of the sign.
        is_open = builder.icmp_signed("<", builder.load(pointer, align=1), ir.Constant(some, [0] * _MASKED))
        return builder.bitcast(is_open, ir.IntType(_MASKED))

    return _WORD(counts, begin), mask


_open_mask: Any = intrinsic(_typed_open_mask)


@_compiled(_types.UniTuple(_WORD, 4)(_WORD, _WORD, _WORD, _WORD, _WORD, _WORD))
def philox_block(c0: int, c1: int, c2: int, c3: int, k0: int, k1: int) -> tuple[int, int, int, int]:
    """Return the four words of Philox4x64-10 at a counter and a key."""
    return _philox(c0, c1, c2, c3, k0, k1)


_open_capacity = _called(open_capacity)


class _Tables(NamedTuple):
    """The tables of an `Inversion`, as pointers."""

    cuts: Any
    n_open: Any
    rest: Any
    n_rest: Any
    long_cuts: Any
    long_table: Any
    deviations: Any


@_inlined
def _tables(law: Any) -> Any:
    rest, long_cuts, long_table = _pointer(law.rest), _pointer(law.long_cuts), _pointer(law.long_table)
    return _Tables(_pointer(law.cuts), law.n_open, rest, law.rest.size, long_cuts, long_table, law.deviations)


class _Room(NamedTuple):
    """Memory for the words of a chunk, for the rows with open counts, and for the words of extensions."""

    words: Any
    open_rows: Any
    extensions: Any


@_inlined
def _memory() -> Any:
    """Return the arrays of a room."""
    words, open_rows = np.empty(_MOST_WORDS, dtype=np.uint64), np.empty(_CHUNK, dtype=np.int64)
    return _Room(words, open_rows, np.empty(_CHUNK // _EXTENSIONS_PER_BLOCK * 4, dtype=np.uint64))


@_inlined
def _room(memory: Any) -> Any:
    """Return pointers into the arrays of a room."""
    return _Room(_pointer(memory.words), _pointer(memory.open_rows), _pointer(memory.extensions))


@_inlined
def _store_settled_counts(lanes: Any, law: Any, counts: Any, size: Any) -> None:
    """Write the number of cuts above each lane into `counts`, and mark those whose lanes are open.

    Compared many at a time, lanes become counts faster than by a table.
    """
    a, b, c, d = law.cuts[0], law.cuts[1], law.cuts[2], law.cuts[3]
    first_open = np.uint8(_POISSON_LANES - law.n_open)
    for i in range(size):
        x = lanes[i]
        above = np.uint8(x < a) + np.uint8(x < b) + np.uint8(x < c) + np.uint8(x < d)
        counts[i] = above + np.uint8(x >= first_open) * _OPEN


@_inlined
def _store_open_rows(counts: Any, size: Any, rows: Any) -> Any:
    """Write the rows whose counts are open into `rows`, in ascending order; return how many these are.

    Of every 64 rows three are written, whether they are open or not, and only those that are remain: a loop of constant
    length has no branch, and one that nobody can foresee would take longer.
    """
    number = 0
    for begin in range(0, size, _MASKED):
        is_open = _open_mask(counts, begin)
        following = number + int(_number_of_ones(is_open))
        for place in range(number, number + _MOSTLY_OPEN):
            rows[place] = begin + np.int64(_trailing_zeros(is_open))
            is_open &= is_open - _ONE
        for place in range(number + _MOSTLY_OPEN, following):
            rows[place] = begin + np.int64(_trailing_zeros(is_open))
            is_open &= is_open - _ONE
        number = following
    return number


@_inlined
def _settle(
    bits: Any, attempt: Any, chunk: Any, replicate: Any, law: Any, rows: Any, room: Any, counts: Any, size: Any
) -> None:
    """Replace the open counts of a resample in a chunk."""
    n_open = _store_open_rows(counts, size, room.open_rows)
    blocks = -(-_open_capacity(rows, law.n_open, law.deviations) // _EXTENSIONS_PER_BLOCK)
    needed = min(-(-n_open // _EXTENSIONS_PER_BLOCK), blocks)
    _store_words(bits, _EXTEND, attempt, chunk, blocks, replicate, needed, room.extensions)
    lanes, extensions, first_open = _as_bytes(room.words), _as_shorts(room.extensions), _POISSON_LANES - law.n_open
    n_extended = min(n_open, needed * _EXTENSIONS_PER_BLOCK)
    for rank in range(n_extended):
        row = room.open_rows[rank]
        lane = (np.int64(lanes[row]) - first_open) * _LONG_LANES + np.int64(extensions[rank])
        count = law.long_table[lane // _POISSON_LANES]
        if count == _OPEN_LANE:
            count = _count_of_long_lane(lane, law.long_cuts)
        if count == _OPEN_LANE:
            count = _refined_count(bits, attempt, chunk, replicate, law, rows, row, lane, _LONG_LANES)
        counts[row] = count
    for rank in range(n_extended, n_open):
        row = room.open_rows[rank]
        lane = np.int64(lanes[row]) - first_open
        counts[row] = _refined_count(bits, attempt, chunk, replicate, law, rows, row, lane, 1)


@_called
def _count_of_long_lane(lane: Any, cuts: Any) -> int:
    """Return the number of cuts above a long lane, unless it is a cut itself."""
    count = 0
    while lane < cuts[count]:  # the last cut is zero
        count += 1
    return _OPEN_LANE if lane == cuts[count] else count


@_called
def _refined_count(
    bits: Any, attempt: Any, chunk: Any, replicate: Any, law: Any, rows: Any, row: Any, lane: Any, parts: Any
) -> int:
    """Return the count of a row by 64 bits more than its lane has."""
    block = replicate * np.uint64(-(-rows // _REFINEMENTS_PER_BLOCK)) + np.uint64(row // _REFINEMENTS_PER_BLOCK)
    word = _word_of_block(bits, _REFINE, attempt, chunk, block, row % _REFINEMENTS_PER_BLOCK)
    uniform = (lane + (word + 0.5) * 2.0**-64) / parts
    count = 0
    while count < law.n_rest and uniform < law.rest[count]:
        count += 1
    return count


@_inlined
def _total(eights: Any, number: Any) -> Any:
    """Return the sum of a chunk's counts, eight in a word.

    At most 26 each and 2048 of them in every sum of sixteen bits, so that none runs over.
    """
    total = _ZERO
    for place in range(number):
        total += (eights[place] & _EVERY_OTHER) + ((eights[place] >> _EIGHT) & _EVERY_OTHER)
    total = (total & _EVERY_FOURTH) + ((total >> _SIXTEEN) & _EVERY_FOURTH)
    return np.int64((total & _HALF_MASK) + (total >> _THIRTY_TWO))


@_inlined
def _whole_masks(rows: Any) -> Any:
    """Return the number of counts that are asked whether they are open: `_MASKED` at a time."""
    return -(-rows // _MASKED) * _MASKED


@_inlined
def _store_poisson_chunk(
    bits: Any, attempt: Any, chunk: Any, replicate: Any, law: Any, rows: Any, room: Any, counts: Any
) -> Any:
    """Write the Poisson counts of a resample in a chunk of `rows` into `counts`, then zeros; return their sum."""
    size = _whole_masks(rows)
    if law.n_rest == 0:
        for row in range(size):
            counts[row] = 0
        return 0
    blocks = -(-rows // _ROWS_PER_BLOCK)
    _store_words(bits, _POISSON, attempt, chunk, blocks, replicate, blocks, room.words)
    _store_settled_counts(_as_bytes(room.words), law, counts, size)
    for row in range(rows, size):
        counts[row] = 0
    _settle(bits, attempt, chunk, replicate, law, rows, room, counts, size)
    return _total(_as_words(counts), size // 8)


@_called
def _store_poisson_chunks(
    bits: Any, attempt: Any, chunk: Any, first: Any, law: Any, rows: Any, memory: Any, counts: Any, totals: Any
) -> None:
    """Write the Poisson counts of resamples in a chunk of `rows` into `counts`, and their sums into `totals`."""
    tables, room = _tables(law), _room(memory)
    for i in range(len(counts)):
        own = _from_place(_pointer(counts), i * counts.shape[1])
        totals[i] = _store_poisson_chunk(bits, attempt, chunk, first + np.uint64(i), tables, rows, room, own)


@_compiled(_types.void(_WORD, _WORD, _WORD, _WORD, _WORD, _LAW, _INTEGER, _INTEGER, _COUNTS))
def poisson_counts(
    k0: int, k1: int, stream: int, replicate: int, attempt: int, law: Inversion, n: int, start: int, out: FloatArray
) -> None:
    """Write the Poisson counts of the rows from `start` of `n` into `out`."""
    bits, stop, memory = (k0, k1, stream), start + out.size, _memory()
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
    words = np.empty(_MOST_WORDS, dtype=np.uint64)
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


@_inlined
def _store_counts_of_one_chunk(
    bits: Any, replicate: Any, law: Any, room: Any, capacity: Any, bounds: Any, rows: Any, counts: Any, n: Any
) -> None:
    """Write how often each of n rows, at most a chunk, is among n uniform draws into `counts`."""
    attempt, total = _ZERO, n + 1
    while total > n:
        total = _store_poisson_chunk(bits, attempt, 0, replicate, law, n, room, counts)
        attempt += _ONE
    _store_integers(bits, _THROW, replicate, capacity, bounds, room.words, rows, n - total)
    for throw in range(n - total):
        counts[rows[throw]] += 1


@_called
def _store_counts_of_resamples(
    bits: Any, first: Any, law: Any, memory: Any, capacity: Any, bounds: Any, rows: Any, counts: Any
) -> None:
    """Write how often each row of at most a chunk is drawn into `counts`, for resamples from `first`.

    Parameters
    ----------
    bounds, rows
        The number of rows, once for each of them, and memory for as many throws, more than which no resample has.
    """
    tables, room, n = _tables(law), _room(memory), bounds.size
    for i in range(len(counts)):
        own = _from_place(_pointer(counts), i * counts.shape[1])
        replicate, limits, thrown = first + np.uint64(i), _pointer(bounds), _pointer(rows)
        _store_counts_of_one_chunk(bits, replicate, tables, room, capacity, limits, thrown, own, n)


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
    memory = _memory()
    bounds, rows = np.full(capacity, out.shape[1], dtype=np.uint64), np.empty(capacity, dtype=np.int64)
    for place in range(len(out)):
        _store_counts((k0, k1, stream), first + np.uint64(place), law, memory, bounds, rows, out[place])


@_called
def _store_sums_of_one_chunk(bits: Any, first: Any, law: Any, capacity: Any, columns: Any, out: Any) -> None:
    n = columns.shape[1]
    if n % _MASKED and len(columns) <= _FEW_COLUMNS:
        # With rows of zeros they fill whole vectors: the last few rows of each resample took longer one by one.
        filled = np.zeros((len(columns), _whole_masks(n)))
        filled[:, :n] = columns
        _store_sums_of_rows(bits, first, law, capacity, n, filled, out)
    else:
        _store_sums_of_rows(bits, first, law, capacity, n, columns, out)


@_called
def _store_sums_of_rows(bits: Any, first: Any, law: Any, capacity: Any, n: Any, columns: Any, out: Any) -> None:
    """Write the sums over resamples of n rows, after which the columns may have zeros, into `out`."""
    memory, lanes = _memory(), _empty_lanes()
    bounds, rows = np.full(n, n, dtype=np.uint64), np.empty(n, dtype=np.int64)
    counts = np.empty((max(min(_RESAMPLES_AT_ONCE, len(out)), 1), _whole_masks(n)), dtype=np.uint8)
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
    memory, lanes, stop = _memory(), _empty_lanes(), start + columns.shape[1]
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
    words, lanes = np.empty(_MOST_WORDS, dtype=np.uint64), _empty_lanes()[0]
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
