"""The counter-based generator compiled with numba: the bits of `numpy_kernels`, about three times as fast.

The only module that imports numba; `orthoboot.draws.random_counts` loads it when that pays. It raises an `ImportError`
where numba is missing or cannot compile, and whatever a mistake of its own raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from orthoboot.draws import numpy_kernels
from orthoboot.draws.poisson import LANES
from orthoboot.draws.poisson import MARK as _MARK
from orthoboot.typing import FloatArray, IntArray

try:
    import numba
    from llvmlite import ir
    from numba.core.errors import NumbaError
    from numba.extending import intrinsic
except Exception as error:  # broken installations raise anything, such as a SystemError next to another numpy
    raise ImportError(f"numba cannot be loaded: {error}") from error

if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    raise ImportError("NUMBA_DISABLE_JIT is set: numba compiles nothing, and these kernels cannot run as plain Python.")

# Numba turns a sum of a signed and an unsigned integer into a float, so every number that meets a word is unsigned.
_MULTIPLIER_0, _MULTIPLIER_1 = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_INCREMENT_0, _INCREMENT_1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
_ROUNDS = 10
_ONE, _SIXTEEN, _THIRTY_TWO = np.uint64(1), np.uint64(16), np.uint64(32)
_LANE_MASK, _HALF_MASK, _HALF = np.uint64(LANES - 1), np.uint64((1 << 32) - 1), np.uint64(1 << 32)
_POISSON, _REFINE, _THROW = (
    np.uint64(numpy_kernels.POISSON),
    np.uint64(numpy_kernels.REFINE),
    np.uint64(numpy_kernels.THROW),
)
_PURPOSES = np.uint64(numpy_kernels.PURPOSES)
_ROWS_PER_BLOCK = numpy_kernels.ROWS_PER_BLOCK
_REFINEMENTS_PER_BLOCK = numpy_kernels.REFINEMENTS_PER_BLOCK
_THROWS_PER_BLOCK = numpy_kernels.THROWS_PER_BLOCK

_types: Any = numba.types
_WORD = _types.uint64
_TABLE = _types.Array(_types.uint8, 1, "C", readonly=True)
_SURVIVAL = _types.Array(_types.float64, 1, "C", readonly=True)
_BOUNDS = _types.Array(_types.uint64, 1, "C", readonly=True)
_COUNTS = _types.float64[::1]
_INTEGERS = _types.int64[::1]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _inlined(function: _Function) -> _Function:
    """Compile a function inlined into the inner loops, which doubles the speed of Philox."""
    return cast(_Function, numba.njit(nogil=True, forceinline=True)(function))


def _called(function: _Function) -> _Function:
    """Compile a rare branch, kept out of the inner loops."""
    return cast(_Function, numba.njit(nogil=True)(function))


def _compiled(signature: Any) -> Callable[[_Function], _Function]:
    """Return a decorator that compiles for one signature at once, so that Python integers of any size are accepted."""

    def decorate(function: _Function) -> _Function:
        try:
            return cast(_Function, numba.njit(signature, nogil=True, cache=True)(function))
        except (RuntimeError, OSError):
            # Numba finds no folder it may write its cache to, as in a read-only container.
            pass
        except NumbaError as error:
            raise ImportError(f"numba cannot compile: {error}") from error
        try:
            return cast(_Function, numba.njit(signature, nogil=True)(function))
        except (RuntimeError, OSError, NumbaError) as error:
            raise ImportError(f"numba cannot compile: {error}") from error

    return decorate


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
def _philox(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> tuple[Any, Any, Any, Any]:
    """Return the four words of Philox4x64-10 at a counter and a key (Salmon and others 2011)."""
    for _ in range(_ROUNDS):
        upper_0, lower_0 = _wide_product(_MULTIPLIER_0, c0)
        upper_1, lower_1 = _wide_product(_MULTIPLIER_1, c2)
        c0, c1, c2, c3 = upper_1 ^ c1 ^ k0, lower_1, upper_0 ^ c3 ^ k1, lower_0
        k0 += _INCREMENT_0
        k1 += _INCREMENT_1
    return c0, c1, c2, c3


@_compiled(_types.UniTuple(_WORD, 4)(_WORD, _WORD, _WORD, _WORD, _WORD, _WORD))
def philox_block(c0: int, c1: int, c2: int, c3: int, k0: int, k1: int) -> tuple[int, int, int, int]:
    """Return the four words of Philox4x64-10 at a counter and a key."""
    return _philox(c0, c1, c2, c3, k0, k1)


@_inlined
def _words(
    k0: Any, k1: Any, stream: Any, purpose: Any, replicate: Any, attempt: Any, block: Any
) -> tuple[Any, Any, Any, Any]:
    return _philox(np.uint64(block) + _ONE, replicate, _PURPOSES * stream + purpose, attempt, k0, k1)


@_inlined
def _store_lane_counts(word: Any, table: Any, out: Any, row: int) -> Any:
    total = np.uint64(0)
    for lane in range(4):
        count = table[word & _LANE_MASK]
        out[row + lane] = count
        total += count
        word >>= _SIXTEEN
    return total


@_inlined
def _refined_count(word: Any, lane: Any, survival: Any) -> int:
    uniform = (lane + (word + 0.5) * 2.0**-64) / LANES
    count = 0
    while count < survival.size and uniform < survival[count]:
        count += 1
    return count


@_called
def _refine_block(
    k0: Any, k1: Any, stream: Any, replicate: Any, attempt: Any, survival: Any, block: Any, out: Any, row: Any
) -> Any:
    """Replace the marks among 16 counts; return the sum of the counts."""
    words = _words(k0, k1, stream, _POISSON, replicate, attempt, block)
    total = np.uint64(0)
    for i in range(_ROWS_PER_BLOCK):
        if out[row + i] == _MARK:
            lane = (words[i // 4] >> np.uint64(16 * (i % 4))) & _LANE_MASK
            global_row = _ROWS_PER_BLOCK * block + i
            refining = _words(k0, k1, stream, _REFINE, replicate, attempt, global_row // _REFINEMENTS_PER_BLOCK)
            out[row + i] = _refined_count(refining[global_row % _REFINEMENTS_PER_BLOCK], lane, survival)
        total += np.uint64(out[row + i])
    return total


@_inlined
def _store_block(
    k0: Any, k1: Any, stream: Any, replicate: Any, attempt: Any, table: Any, block: Any, out: Any, row: Any
) -> Any:
    """Write the table entries of a block's 16 rows to ``out[row:]``; return the sum."""
    words = _words(k0, k1, stream, _POISSON, replicate, attempt, block)
    total = _store_lane_counts(words[0], table, out, row)
    total += _store_lane_counts(words[1], table, out, row + 4)
    total += _store_lane_counts(words[2], table, out, row + 8)
    total += _store_lane_counts(words[3], table, out, row + 12)
    return total


@_compiled(_types.int64(_WORD, _WORD, _WORD, _WORD, _WORD, _TABLE, _SURVIVAL, _types.int64, _COUNTS))
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
    first, whole = start // _ROWS_PER_BLOCK, out.size // _ROWS_PER_BLOCK
    total = np.uint64(0)
    for i in range(whole):
        row = _ROWS_PER_BLOCK * i
        subtotal = _store_block(k0, k1, stream, replicate, attempt, table, first + i, out, row)
        # Settled counts are below 10, so only a mark can raise the sum of sixteen this far.
        if subtotal >= np.uint64(_MARK):
            subtotal = _refine_block(k0, k1, stream, replicate, attempt, survival, first + i, out, row)
        total += subtotal
    rest = out.size - _ROWS_PER_BLOCK * whole
    if rest:
        last = np.empty(_ROWS_PER_BLOCK)
        _store_block(k0, k1, stream, replicate, attempt, table, first + whole, last, 0)
        _refine_block(k0, k1, stream, replicate, attempt, survival, first + whole, last, 0)
        for i in range(rest):
            out[_ROWS_PER_BLOCK * whole + i] = last[i]
            total += np.uint64(last[i])
    return np.int64(total)  # type: ignore[return-value]


@_inlined
def _store_halves(words: Any, halves: Any) -> None:
    for i in range(4):
        halves[2 * i] = words[i] & _HALF_MASK
        halves[2 * i + 1] = words[i] >> _THIRTY_TWO


@_inlined
def _is_biased(product: Any, bound: Any) -> bool:
    lower = product & _HALF_MASK
    return bool(lower < bound and lower < (_HALF - bound) % bound)


@_inlined
def _integer(k0: Any, k1: Any, stream: Any, purpose: Any, replicate: Any, position: Any, half: Any, bound: Any) -> Any:
    product, attempt = half * bound, np.uint64(0)
    while _is_biased(product, bound):
        attempt += _ONE
        words = _words(k0, k1, stream, purpose, replicate, attempt, position // _THROWS_PER_BLOCK)
        place = position % _THROWS_PER_BLOCK
        product = ((words[place // 2] >> np.uint64(32 * (place % 2))) & _HALF_MASK) * bound
    return np.int64(product >> _THIRTY_TWO)


@_compiled(_types.void(_WORD, _WORD, _WORD, _WORD, _WORD, _BOUNDS, _INTEGERS))
def uniform_integers(
    k0: int, k1: int, stream: int, replicate: int, purpose: int, bounds: numpy_kernels.UInt64Array, out: IntArray
) -> None:
    """Write integers that are uniform on ``0 .. bound - 1`` into `out`, one per entry of `bounds`."""
    halves = np.empty(_THROWS_PER_BLOCK, dtype=np.uint64)
    for position in range(out.size):
        place = position % _THROWS_PER_BLOCK
        if place == 0:
            words = _words(k0, k1, stream, purpose, replicate, np.uint64(0), position // _THROWS_PER_BLOCK)
            _store_halves(words, halves)
        out[position] = _integer(k0, k1, stream, purpose, replicate, position, halves[place], bounds[position])


@_inlined
def _throw(k0: Any, k1: Any, stream: Any, replicate: Any, number: int, out: Any) -> None:
    """Add `number` uniform draws to the counts."""
    halves, bound = np.empty(_THROWS_PER_BLOCK, dtype=np.uint64), np.uint64(out.size)
    for position in range(number):
        place = position % _THROWS_PER_BLOCK
        if place == 0:
            words = _words(k0, k1, stream, _THROW, replicate, np.uint64(0), position // _THROWS_PER_BLOCK)
            _store_halves(words, halves)
        out[_integer(k0, k1, stream, _THROW, replicate, position, halves[place], bound)] += 1.0


@_compiled(_types.void(_WORD, _WORD, _WORD, _WORD, _TABLE, _SURVIVAL, _COUNTS))
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
    total = 0
    if survival.size == 0:
        out[:] = 0.0
    else:
        total, attempt = out.size + 1, np.uint64(0)
        while total > out.size:
            total = poisson_counts(k0, k1, stream, replicate, attempt, table, survival, 0, out)  # type: ignore[arg-type]
            attempt += _ONE
    _throw(k0, k1, stream, replicate, out.size - total, out)
