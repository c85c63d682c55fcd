"""Many blocks of Philox at once, as vector instructions: the words of `numba_words.philox`, in half the time.

A processor multiplies 64 bits by 64 one product at a time, and 32 by 32 in vector registers eight at a time: that makes
up for the four products that it takes. The words are the same everywhere, since products of integers are exact.
"""

from __future__ import annotations

from typing import Any

from orthoboot.draws.compiled.compilation import intrinsic, ir
from orthoboot.draws.compiled.compilation import types as _types

ROUNDS = 10
MULTIPLIERS = 0xD2E7470EE14C6C93, 0xCA5A826395121157
INCREMENTS = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B

_LANES = 8
"""Blocks in the lanes of a vector."""

_WORD, _PLACE = ir.IntType(64), ir.IntType(32)
_VECTOR = ir.VectorType(_WORD, _LANES)


def _constant(number: int) -> Any:
    return ir.Constant(_VECTOR, [number] * _LANES)


def _products(builder: Any, words: Any, multiplier: int) -> tuple[Any, Any]:
    """Return the upper and the lower words of the products with a constant, by four products of halves each."""
    half, lower = _constant(32), _constant((1 << 32) - 1)
    low, high = _constant(multiplier & ((1 << 32) - 1)), _constant(multiplier >> 32)
    lows, highs = builder.and_(words, lower), builder.lshr(words, half)
    low_low, low_high = builder.mul(lows, low), builder.mul(lows, high)
    high_low, high_high = builder.mul(highs, low), builder.mul(highs, high)
    # No sum has more than 64 bits.
    middle = builder.add(high_low, builder.lshr(low_low, half))
    other = builder.add(low_high, builder.and_(middle, lower))
    upper = builder.add(builder.add(high_high, builder.lshr(middle, half)), builder.lshr(other, half))
    return upper, builder.or_(builder.shl(other, half), builder.and_(low_low, lower))


def _after_round(builder: Any, words: list[Any], keys: list[Any]) -> list[Any]:
    """Return the four words of blocks after one round."""
    upper_0, lower_0 = _products(builder, words[0], MULTIPLIERS[0])
    upper_1, lower_1 = _products(builder, words[2], MULTIPLIERS[1])
    first = builder.xor(builder.xor(upper_1, words[1]), keys[0])
    third = builder.xor(builder.xor(upper_0, words[3]), keys[1])
    return [first, lower_1, third, lower_0]


def _shuffled(builder: Any, one: Any, other: Any, places: list[int]) -> Any:
    """Return the words at some places of two vectors, those of the second one counted on."""
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(_PLACE, _LANES), places))


def _filled(builder: Any, word: Any) -> Any:
    """Return a vector with the same word in all lanes."""
    lane = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), word, ir.Constant(_PLACE, 0))
    return _shuffled(builder, lane, lane, [0] * _LANES)


def _block_by_block(builder: Any, words: list[Any]) -> list[Any]:
    """Return the words of the blocks of a vector one block after the other, two blocks in each of four vectors."""
    found = []
    for half in (0, _LANES // 2):
        pairs = [place for lane in range(half, half + _LANES // 2) for place in (lane, _LANES + lane)]
        firsts = _shuffled(builder, words[0], words[1], pairs)
        seconds = _shuffled(builder, words[2], words[3], pairs)
        for start in (0, _LANES // 2):
            two = [start, start + 1, _LANES + start, _LANES + start + 1]
            found.append(_shuffled(builder, firsts, seconds, [*two, *(place + 2 for place in two)]))
    return found


def _place(builder: Any, words: Any, number: int) -> Any:
    """Return a pointer to one of the vectors that lie one after the other."""
    first = builder.gep(words, [ir.Constant(_WORD, _LANES * number)])
    return builder.bitcast(first, _VECTOR.as_pointer())


def _store_blocks(n_vectors: int) -> Any:
    """Return a function that writes the words of the blocks in so many vectors, one block after the other.

    It takes a pointer to the words; a pointer to numbers, one for each block, that are added to the first word of the
    counter; the four words of the counter; and the two of the key.
    """

    def typed(context: Any, words: Any, numbers: Any, c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> Any:
        def store(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            words, numbers = arguments[:2]
            first, *others = (_filled(builder, word) for word in arguments[2:6])
            keys = [_filled(builder, word) for word in arguments[6:]]
            added = [builder.load(_place(builder, numbers, i), align=8) for i in range(n_vectors)]
            blocks = [[builder.add(first, each), *others] for each in added]
            for _ in range(ROUNDS):
                blocks = [_after_round(builder, some, keys) for some in blocks]
                keys = [builder.add(key, _constant(step)) for key, step in zip(keys, INCREMENTS, strict=True)]
            vectors = [vector for some in blocks for vector in _block_by_block(builder, some)]
            for number, vector in enumerate(vectors):
                builder.store(vector, _place(builder, words, number), align=8)
            return context.get_dummy_value()

        return _types.void(words, numbers, c0, c1, c2, c3, k0, k1), store

    return intrinsic(typed)


MANY, FEW = 4 * _LANES, _LANES
"""How many blocks the following functions make. They wait less for the last round's words the more these are."""

store_many_blocks: Any = _store_blocks(4)
store_few_blocks: Any = _store_blocks(1)
