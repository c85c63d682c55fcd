"""Poisson counts of the rows of a chunk, compiled: the bits of `orthoboot.draws.numpy_kernels`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orthoboot.draws import numpy_kernels
from orthoboot.draws.compiled.compilation import called as _called
from orthoboot.draws.compiled.compilation import inlined as _inlined
from orthoboot.draws.compiled.compilation import intrinsic, ir
from orthoboot.draws.compiled.compilation import types as _types
from orthoboot.draws.compiled.numba_pointers import as_bytes as _as_bytes
from orthoboot.draws.compiled.numba_pointers import as_shorts as _as_shorts
from orthoboot.draws.compiled.numba_pointers import as_words as _as_words
from orthoboot.draws.compiled.numba_pointers import from_place as _from_place
from orthoboot.draws.compiled.numba_pointers import pointer as _pointer
from orthoboot.draws.compiled.numba_words import MOST_BLOCKS as _MOST_BLOCKS
from orthoboot.draws.compiled.numba_words import memory_for_words as _memory_for_words
from orthoboot.draws.compiled.numba_words import store_words as _store_words
from orthoboot.draws.compiled.numba_words import word_of_block as _word_of_block
from orthoboot.draws.poisson import LANES as _POISSON_LANES
from orthoboot.draws.poisson import LONG_LANES as _LONG_LANES
from orthoboot.draws.poisson import OPEN as _OPEN_LANE
from orthoboot.draws.poisson import open_capacity
from orthoboot.draws.summation import CHUNK as _CHUNK

# Numba turns a sum of a signed and an unsigned integer into a float, so every number that meets a word is unsigned.
_ZERO, _ONE, _THIRTY_TWO = np.uint64(0), np.uint64(1), np.uint64(32)
_HALF_MASK = np.uint64((1 << 32) - 1)
_POISSON, _EXTEND, _REFINE = (
    np.uint64(purpose) for purpose in (numpy_kernels.POISSON, numpy_kernels.EXTEND, numpy_kernels.REFINE)
)
_ROWS_PER_BLOCK = numpy_kernels.ROWS_PER_BLOCK
_EXTENSIONS_PER_BLOCK = numpy_kernels.EXTENSIONS_PER_BLOCK
_REFINEMENTS_PER_BLOCK = numpy_kernels.REFINEMENTS_PER_BLOCK

_OPEN = np.uint8(128)
"""What is added to a count that more random bits must decide."""

_MASKED = 64
"""Counts that are asked at once whether they are open; where they are asked, their number is a multiple of it."""

_MOSTLY_OPEN = 3
"""More of these are rarely open: one or two are on average."""

_EVERY_OTHER, _EVERY_FOURTH = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF)
_EIGHT, _SIXTEEN = np.uint64(8), np.uint64(16)

_WORD = _types.uint64


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
def tables_of(law: Any) -> Any:
    """Return pointers to the tables of a law."""
    rest, long_cuts, long_table = _pointer(law.rest), _pointer(law.long_cuts), _pointer(law.long_table)
    return _Tables(_pointer(law.cuts), law.n_open, rest, law.rest.size, long_cuts, long_table, law.deviations)


class _Room(NamedTuple):
    """Memory for the words of a chunk, for the rows with open counts, and for the words of extensions."""

    words: Any
    open_rows: Any
    extensions: Any


@_inlined
def new_memory() -> Any:
    """Return the arrays of a room."""
    open_rows, extensions = np.empty(_CHUNK, dtype=np.int64), _memory_for_words(_CHUNK // _EXTENSIONS_PER_BLOCK)
    return _Room(_memory_for_words(_MOST_BLOCKS), open_rows, extensions)


@_inlined
def room_in(memory: Any) -> Any:
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
    bits: Any,
    attempt: Any,
    chunk: Any,
    replicate: Any,
    law: Any,
    rows: Any,
    words: Any,
    room: Any,
    counts: Any,
    size: Any,
) -> None:
    """Replace the open counts of a resample in a chunk."""
    n_open = _store_open_rows(counts, size, room.open_rows)
    blocks = -(-_open_capacity(rows, law.n_open, law.deviations) // _EXTENSIONS_PER_BLOCK)
    needed = min(-(-n_open // _EXTENSIONS_PER_BLOCK), blocks)
    _store_words(bits, _EXTEND, attempt, chunk, replicate * np.uint64(blocks), needed, room.extensions)
    lanes, extensions, first_open = _as_bytes(words), _as_shorts(room.extensions), _POISSON_LANES - law.n_open
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
def filled_to_masks(rows: Any) -> Any:
    """Return the number of counts that are asked whether they are open: `_MASKED` at a time."""
    return -(-rows // _MASKED) * _MASKED


@_inlined
def blocks_of_rows(rows: Any) -> Any:
    """Return the blocks that a resample has in a chunk of `rows`."""
    return -(-rows // _ROWS_PER_BLOCK)


@_inlined
def store_counts_of_words(
    bits: Any, attempt: Any, chunk: Any, replicate: Any, law: Any, rows: Any, words: Any, room: Any, counts: Any
) -> Any:
    """Write the Poisson counts of a resample in a chunk of `rows` into `counts`, then zeros; return their sum."""
    size = filled_to_masks(rows)
    _store_settled_counts(_as_bytes(words), law, counts, size)
    for row in range(rows, size):
        counts[row] = 0
    _settle(bits, attempt, chunk, replicate, law, rows, words, room, counts, size)
    return _total(_as_words(counts), size // 8)


@_inlined
def store_poisson_chunk(
    bits: Any, attempt: Any, chunk: Any, replicate: Any, law: Any, rows: Any, room: Any, counts: Any
) -> Any:
    """Draw the words of a resample in a chunk, and write its counts as `store_counts_of_words`; return their sum."""
    if law.n_rest == 0:
        for row in range(filled_to_masks(rows)):
            counts[row] = 0
        return 0
    blocks = blocks_of_rows(rows)
    _store_words(bits, _POISSON, attempt, chunk, replicate * np.uint64(blocks), blocks, room.words)
    return store_counts_of_words(bits, attempt, chunk, replicate, law, rows, room.words, room, counts)


@_called
def store_poisson_chunks(
    bits: Any, attempt: Any, chunk: Any, first: Any, law: Any, rows: Any, memory: Any, counts: Any, totals: Any
) -> None:
    """Write the Poisson counts of resamples in a chunk of `rows` into `counts`, and their sums into `totals`."""
    tables, room = tables_of(law), room_in(memory)
    for i in range(len(counts)):
        own = _from_place(_pointer(counts), i * counts.shape[1])
        totals[i] = store_poisson_chunk(bits, attempt, chunk, first + np.uint64(i), tables, rows, room, own)
