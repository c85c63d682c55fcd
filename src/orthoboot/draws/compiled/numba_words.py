"""The random words and integers of `orthoboot.draws.numpy_kernels`, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoboot.draws import numpy_kernels
from orthoboot.draws.compiled.compilation import called as _called
from orthoboot.draws.compiled.compilation import has_long_vectors, intrinsic, ir
from orthoboot.draws.compiled.compilation import inlined as _inlined
from orthoboot.draws.compiled.compilation import types as _types
from orthoboot.draws.compiled.numba_blocks import FEW as _FEW
from orthoboot.draws.compiled.numba_blocks import INCREMENTS, MULTIPLIERS, ROUNDS
from orthoboot.draws.compiled.numba_blocks import MANY as _MANY
from orthoboot.draws.compiled.numba_blocks import store_few_blocks as _store_few_blocks
from orthoboot.draws.compiled.numba_blocks import store_many_blocks as _store_many_blocks
from orthoboot.draws.compiled.numba_pointers import as_halves as _as_halves
from orthoboot.draws.compiled.numba_pointers import from_place as _from_place
from orthoboot.draws.compiled.numba_pointers import pointer as _pointer
from orthoboot.draws.summation import CHUNK as _CHUNK

# Numba turns a sum of a signed and an unsigned integer into a float, so every number that meets a word is unsigned.
_MULTIPLIER_0, _MULTIPLIER_1 = (np.uint64(number) for number in MULTIPLIERS)
_INCREMENT_0, _INCREMENT_1 = (np.uint64(number) for number in INCREMENTS)
_ZERO, _ONE, _THIRTY_TWO = np.uint64(0), np.uint64(1), np.uint64(32)
_HALF_MASK, _HALF = np.uint64((1 << 32) - 1), np.uint64(1 << 32)
_PURPOSES = np.uint64(numpy_kernels.PURPOSES)
_INTEGERS_PER_BLOCK = numpy_kernels.INTEGERS_PER_BLOCK

_LONG_VECTORS = has_long_vectors()
"""Shorter ones take longer than general registers."""

_FEW_LEFT = 5
"""Blocks up to which general registers take less time than a vector."""

_SPARE_BLOCKS = _FEW - (_FEW_LEFT + 1)
"""How many blocks the last vector makes beyond those that are needed, at most."""

MOST_BLOCKS = _CHUNK // _INTEGERS_PER_BLOCK
"""Blocks of a chunk of integers; a chunk of counts takes fewer."""

_CONSECUTIVE = np.arange(MOST_BLOCKS + _SPARE_BLOCKS, dtype=np.uint64)

_WORD = _types.uint64


def _typed_wide_product(context: Any, left: Any, right: Any) -> Any:
    """Return the upper and the lower word of a product; numba itself has no 128-bit integers."""

    def product(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word, wide = ir.IntType(64), ir.IntType(128)
        value = builder.mul(builder.zext(arguments[0], wide), builder.zext(arguments[1], wide))
        upper = builder.trunc(builder.lshr(value, ir.Constant(wide, 64)), word)
        return context.make_tuple(builder, signature.return_type, (upper, builder.trunc(value, word)))

    return _types.UniTuple(_WORD, 2)(_WORD, _WORD), product


_wide_product: Any = intrinsic(_typed_wide_product)


@_inlined
def philox(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> tuple[Any, Any, Any, Any]:
    """Return the four words of Philox4x64-10 at a counter and a key (Salmon and others 2011)."""
    for _ in range(ROUNDS):
        upper_0, lower_0 = _wide_product(_MULTIPLIER_0, c0)
        upper_1, lower_1 = _wide_product(_MULTIPLIER_1, c2)
        c0, c1, c2, c3 = upper_1 ^ c1 ^ k0, lower_1, upper_0 ^ c3 ^ k1, lower_0
        k0 += _INCREMENT_0
        k1 += _INCREMENT_1
    return c0, c1, c2, c3


@_inlined
def _block(bits: Any, purpose: Any, attempt: Any, chunk: Any, number: Any) -> tuple[Any, Any, Any, Any]:
    """Return the four words of a block, counted from the first one of resample 0."""
    k0, k1, stream = bits
    return philox(_ONE + number, np.uint64(chunk), _PURPOSES * stream + purpose, attempt, k0, k1)


@_called
def word_of_block(bits: Any, purpose: Any, attempt: Any, chunk: Any, number: Any, place: Any) -> Any:
    """Return one of the four words of a block, counted from the first one of resample 0."""
    return _block(bits, purpose, attempt, chunk, number)[place]


@_called
def store_words_of(
    bits: Any, purpose: Any, attempt: Any, chunk: Any, first: Any, numbers: Any, needed: Any, words: Any
) -> None:
    """Write the words of the blocks ``first + numbers[i]``, counted from the first one of resample 0."""
    (k0, k1, stream), block = bits, 0
    if _LONG_VECTORS:
        c0, c1, c2, c3 = _ONE + first, np.uint64(chunk), _PURPOSES * stream + purpose, np.uint64(attempt)
        while needed - block > _FEW_LEFT:
            own, some = _from_place(words, 4 * block), _from_place(numbers, block)
            if needed - block >= _MANY:
                _store_many_blocks(own, some, c0, c1, c2, c3, k0, k1)
                block += _MANY
            else:
                _store_few_blocks(own, some, c0, c1, c2, c3, k0, k1)
                block += _FEW
    while block < needed:
        four = _block(bits, purpose, attempt, chunk, first + numbers[block])
        words[4 * block], words[4 * block + 1], words[4 * block + 2], words[4 * block + 3] = four
        block += 1


@_inlined
def store_words(bits: Any, purpose: Any, attempt: Any, chunk: Any, first: Any, needed: Any, words: Any) -> None:
    """Write the words of consecutive blocks, at most those of a chunk of integers; see `store_words_of`."""
    store_words_of(bits, purpose, attempt, chunk, first, _pointer(_CONSECUTIVE), needed, words)


@_inlined
def _is_biased(product: Any, bound: Any) -> bool:
    lower = product & _HALF_MASK
    return bool(lower < bound and lower < (_HALF - bound) % bound)


@_called
def _redrawn_integer(bits: Any, purpose: Any, chunk: Any, block: Any, place: Any, bound: Any) -> Any:
    product, attempt = _ZERO, _ZERO
    while _is_biased(product, bound):
        attempt += _ONE
        word = word_of_block(bits, purpose, attempt, chunk, block, place // 2)
        half = word >> _THIRTY_TWO if place % 2 else word & _HALF_MASK
        product = half * bound
    return np.int64(product >> _THIRTY_TWO)


@_inlined
def _store_upper_halves(halves: Any, bounds: Any, integers: Any, size: Any) -> bool:
    """Write the upper halves of the products into `integers`; return whether any of them may have to be rejected."""
    suspect = False
    for i in range(size):
        # It has no higher bits, but only the mask tells the compiler, whose product of halves is one instruction.
        bound = bounds[i] & _HALF_MASK
        product = halves[i] * bound
        integers[i] = np.int64(product >> _THIRTY_TWO)
        suspect |= (product & _HALF_MASK) < bound
    return suspect


@_inlined
def store_integers_of_words(
    bits: Any, purpose: Any, chunk: Any, first: Any, words: Any, bounds: Any, integers: Any, size: Any
) -> None:
    """Write integers below their bounds, from the words of consecutive blocks of which `first` is the first one."""
    halves = _as_halves(words)
    if _store_upper_halves(halves, bounds, integers, size):
        for i in range(size):
            if _is_biased(halves[i] * bounds[i], bounds[i]):
                block = first + np.uint64(i // _INTEGERS_PER_BLOCK)
                integers[i] = _redrawn_integer(bits, purpose, chunk, block, i % _INTEGERS_PER_BLOCK, bounds[i])


@_inlined
def store_integers(
    bits: Any, purpose: Any, replicate: Any, capacity: Any, bounds: Any, words: Any, out: Any, number: Any
) -> None:
    """Write `number` integers of a resample to `out`, one for each of the first bounds."""
    chunk, begin, blocks = 0, 0, blocks_of_integers(capacity)
    while begin < number:
        size, first = min(_INTEGERS_PER_BLOCK * blocks, number - begin), replicate * np.uint64(blocks)
        store_words(bits, purpose, _ZERO, chunk, first, -(-size // _INTEGERS_PER_BLOCK), words)
        limits, integers = _from_place(bounds, begin), _from_place(out, begin)
        store_integers_of_words(bits, purpose, chunk, first, words, limits, integers, size)
        chunk, begin, blocks = chunk + 1, begin + size, MOST_BLOCKS


@_inlined
def blocks_of_integers(capacity: Any) -> Any:
    """Return the blocks that a resample has in the first chunk of its integers."""
    return -(-min(capacity, _CHUNK) // _INTEGERS_PER_BLOCK)


@_inlined
def memory_for_words(blocks: Any) -> Any:
    """Return memory for the words of so many blocks, with room for those that the last vector makes beyond them."""
    return np.empty(4 * (blocks + _SPARE_BLOCKS), dtype=np.uint64)


@_inlined
def memory_for_numbers(blocks: Any) -> Any:
    """Return memory for the numbers of so many blocks, and of those that the last vector makes beyond them."""
    return np.zeros(blocks + _SPARE_BLOCKS, dtype=np.uint64)
