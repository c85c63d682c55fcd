"""Sums over columns that are computed row by row, compiled: the bits of `numpy_products`, in one pass over the rows.

Features are computed where they are added: a few rows at a time, in memory that stays in the processor's first cache,
or a chunk at a time where products of them are added by `numba_lanes`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoboot.arrays.row_products import RowProducts
from orthoboot.draws.compiled.compilation import called as _called
from orthoboot.draws.compiled.compilation import compiled as _compiled
from orthoboot.draws.compiled.compilation import inlined as _inlined
from orthoboot.draws.compiled.compilation import types as _types
from orthoboot.draws.compiled.numba_kernels import (
    _INTEGER,
    _LAW,
    _ONE,
    _TOTALS,
    _WORD,
    _ZERO,
    _add_poisson_sums,
    _thrown_rows,
)
from orthoboot.draws.compiled.numba_lanes import add_chunk_sums as _add_chunk_sums
from orthoboot.draws.compiled.numba_lanes import empty_lanes as _empty_lanes
from orthoboot.draws.compiled.numba_lanes import sum_by_halves as _sum_by_halves
from orthoboot.draws.compiled.numba_words import MOST_BLOCKS as _MOST_BLOCKS
from orthoboot.draws.compiled.numba_words import memory_for_words as _memory_for_words
from orthoboot.draws.poisson import Inversion, throw_capacity
from orthoboot.draws.summation import CHUNK as _CHUNK
from orthoboot.draws.summation import LANES as _LANES
from orthoboot.typing import FloatArray, IntArray

_TILE = 4 * _LANES
"""Rows whose features are computed before they are added: four to a lane."""

_APART = 40
"""Numbers between two features: at the same place of a page the processor would take the next for the one before."""

_STRIDE = _TILE + _APART
"""Where the next feature of a tile begins."""

_VECTOR, _MATRIX, _NUMBERS = _types.float64[::1], _types.float64[:, ::1], _types.int64[:, ::1]
_CUBE = _types.float64[:, :, ::1]
_TABLE = _types.Array(_types.float64, 2, "C", readonly=True)
_PRODUCTS = _types.NamedTuple(
    (_VECTOR, _VECTOR, _VECTOR, _VECTOR, _NUMBERS, _VECTOR, _VECTOR, _NUMBERS, _MATRIX, _VECTOR), RowProducts
)


@_inlined
def _numbers(first: Any, second: Any) -> tuple[Any, Any, Any, Any]:
    """Return the numbers of each table row after row, and how many a row has."""
    return first.reshape(first.size), first.shape[1], second.reshape(second.size), second.shape[1]


@_inlined
def _store_variables(numbers: Any, d: Any, begin: Any, products: Any, start: Any, size: Any, features: Any) -> None:
    """Write the d variables of a table, the first of which is number `start`, of `size` rows into the features."""
    rows = numbers[begin * d : (begin + size) * d]
    # Of one or two columns the compiler reads many numbers at a time.
    if d == 1:
        out = features[start, :size]
        for i in range(size):
            out[i] = rows[i]
    elif d == 2:
        out, other = features[start, :size], features[start + 1, :size]
        for i in range(size):
            out[i], other[i] = rows[2 * i], rows[2 * i + 1]
    else:
        for column in range(d):
            out = features[start + column, :size]
            for i in range(size):
                out[i] = rows[d * i + column]
    for i in range(start, start + d):
        _centre_variable(products, i, features[i, :size])


@_inlined
def _centre_variable(products: Any, i: Any, out: Any) -> None:
    """Turn the numbers of rows into variable i; a loop between two names of the same memory would be a slow one."""
    unit, first, rest, inverse = products.unit[i], products.first[i], products.rest[i], products.inverse[i]
    if unit != 1.0:
        for j in range(out.size):
            out[j] /= unit
    # A factor of one changes no bit.
    for j in range(out.size):
        out[j] = (out[j] - first - rest) * inverse


@_inlined
def _multiply(one: Any, other: Any, out: Any) -> None:
    for i in range(out.size):
        out[i] = one[i] * other[i]


@_inlined
def _store_products(products: Any, size: Any, features: Any) -> None:
    """Write the products of `size` rows, whose variables are the first of the features, into the others."""
    v = products.unit.size
    for i in range(len(products.pairs)):
        one, other = products.pairs[i, 0], products.pairs[i, 1]
        _multiply(features[one, :size], features[other, :size], features[v + i, :size])


@_inlined
def _store_unfinished(tables: Any, products: Any, begin: Any, size: Any, features: Any) -> None:
    """Write the features of `size` rows from `begin`, but for `factor` and `centre`, shape ``(p, at least size)``."""
    first, d, second, more = tables
    _store_variables(first, d, begin, products, 0, size, features)
    _store_variables(second, more, begin, products, d, size, features)
    _store_products(products, size, features)


@_inlined
def _finished(value: Any, factor: Any, centre: Any) -> Any:
    """Return a feature of a row; a factor of one and a centre of zero change no bit of it."""
    return value * factor - centre


@_inlined
def _finish(products: Any, size: Any, features: Any) -> None:
    """Multiply the features of `size` rows by `factor`, and take off `centre`."""
    for i in range(len(features)):
        factor, centre, feature = products.factor[i], products.centre[i], features[i, :size]
        for row in range(size):
            feature[row] = _finished(feature[row], factor, centre)


@_inlined
def _output(products: Any, j: Any, features: Any, out: Any) -> Any:
    """Return output j of some rows, whose features are not finished, in `out` where it is none of these."""
    if len(products.places) == 0 and products.factor[j] == 1.0 and products.centre[j] == 0.0:
        return features[j, : out.size]
    _store_output(products, j, features, out)
    return out


@_inlined
def _store_output(products: Any, j: Any, features: Any, out: Any) -> None:
    """Write output j of some rows, whose features are not finished, into `out`."""
    places, slopes, scale = products.places, products.slopes, products.scale[j]
    if len(places) == 0:
        values, factor, centre = features[j, : out.size], products.factor[j], products.centre[j]
        for i in range(out.size):
            out[i] = _finished(values[i], factor, centre)
        return
    for term in range(len(places)):
        place, slope = places[term, j], slopes[term, j]
        values, factor, centre = features[place, : out.size], products.factor[place], products.centre[place]
        if term == 0:
            for i in range(out.size):
                out[i] = _finished(values[i], factor, centre) * slope
        else:
            for i in range(out.size):
                out[i] += _finished(values[i], factor, centre) * slope
    if scale != 1.0:
        for i in range(out.size):
            out[i] *= scale


@_inlined
def _add_to_lanes(values: Any, lanes: Any) -> None:
    """Add a tile of values, or its rest, to the lanes of their chunk."""
    if values.size == _TILE:
        # A lane is read and written once for four additions.
        a, b, c, d = _quarters(values)
        for lane in range(_LANES):
            lanes[lane] = lanes[lane] + a[lane] + b[lane] + c[lane] + d[lane]
        return
    for begin in range(0, values.size, _LANES):
        some = values[begin : begin + _LANES]
        for lane in range(some.size):
            lanes[lane] += some[lane]


@_inlined
def _add_squares_to_lanes(values: Any, lanes: Any, low: Any, high: Any) -> None:
    """Add the squares of a tile of values, or its rest, and note the smallest and the largest of them by lanes."""
    if values.size == _TILE:
        a, b, c, d = _quarters(values)
        for lane in range(_LANES):
            w, x, y, z = a[lane], b[lane], c[lane], d[lane]
            lanes[lane] = lanes[lane] + w * w + x * x + y * y + z * z
            low[lane] = _smaller(low[lane], _smaller(_smaller(w, x), _smaller(y, z)))
            high[lane] = _larger(high[lane], _larger(_larger(w, x), _larger(y, z)))
        return
    for begin in range(0, values.size, _LANES):
        some = values[begin : begin + _LANES]
        for lane in range(some.size):
            value = some[lane]
            lanes[lane] += value * value
            low[lane], high[lane] = _smaller(low[lane], value), _larger(high[lane], value)


@_inlined
def _spread(values: Any, by_lanes: Any) -> tuple[Any, Any, Any]:
    """Return the smallest and the largest of a chunk of values, but for NaN, and the sum of squares."""
    low, high, squares = by_lanes[0], by_lanes[1], by_lanes[2]
    low[:], high[:], squares[:] = np.inf, -np.inf, 0.0
    for begin in range(0, values.size, _TILE):
        _add_squares_to_lanes(values[begin : begin + _TILE], squares, low, high)
    return low.min(), high.max(), _sum_by_halves(squares)


@_inlined
def _quarters(tile: Any) -> tuple[Any, Any, Any, Any]:
    return (
        tile[:_LANES],
        tile[_LANES : 2 * _LANES],
        tile[2 * _LANES : 3 * _LANES],
        tile[3 * _LANES : 4 * _LANES],
    )


@_inlined
def _smaller(one: Any, other: Any) -> Any:
    """Return the smaller of two numbers: one comparison, and whatever that gives of NaN."""
    return one if one < other else other


@_inlined
def _larger(one: Any, other: Any) -> Any:
    return one if one > other else other


@_compiled(_types.void(_TABLE, _TABLE, _PRODUCTS, _INTEGER, _MATRIX))
def store_sums(first: FloatArray, second: FloatArray, products: RowProducts, begin: int, out: FloatArray) -> None:
    """Write the sums of the outputs over each chunk from row `begin` on into `out`, shape ``(chunks, k)``."""
    tables = _numbers(first, second)
    features, memory = np.empty((products.centre.size, _STRIDE)), np.empty(_TILE)
    lanes = np.empty((out.shape[1], _LANES))
    for chunk in range(len(out)):
        start = begin + chunk * _CHUNK
        end = min(start + _CHUNK, len(first))
        lanes[:] = 0.0
        for row in range(start, end, _TILE):
            size = min(_TILE, end - row)
            _store_unfinished(tables, products, row, size, features)
            for j in range(out.shape[1]):
                _add_to_lanes(_output(products, j, features, memory[:size]), lanes[j])
        for j in range(out.shape[1]):
            out[chunk, j] = _sum_by_halves(lanes[j])


@_compiled(_types.void(_TABLE, _TABLE, _PRODUCTS, _INTEGER, _MATRIX, _MATRIX, _MATRIX))
def store_spreads(
    first: FloatArray,
    second: FloatArray,
    products: RowProducts,
    begin: int,
    low: FloatArray,
    high: FloatArray,
    squares: FloatArray,
) -> None:
    """Write the ranges of the outputs in each chunk from row `begin` on, but for NaN, and the sums of squares."""
    k = squares.shape[1]
    tables = _numbers(first, second)
    features, memory = np.empty((products.centre.size, _STRIDE)), np.empty(_TILE)
    lowest, highest, lanes = np.empty((k, _LANES)), np.empty((k, _LANES)), np.empty((k, _LANES))
    for chunk in range(len(squares)):
        start = begin + chunk * _CHUNK
        end = min(start + _CHUNK, len(first))
        lowest[:], highest[:], lanes[:] = np.inf, -np.inf, 0.0
        for row in range(start, end, _TILE):
            size = min(_TILE, end - row)
            _store_unfinished(tables, products, row, size, features)
            for j in range(k):
                values = _output(products, j, features, memory[:size])
                _add_squares_to_lanes(values, lanes[j], lowest[j], highest[j])
        for j in range(k):
            low[chunk, j], high[chunk, j] = lowest[j].min(), highest[j].max()
            squares[chunk, j] = _sum_by_halves(lanes[j])


@_compiled(_types.void(_TABLE, _TABLE, _PRODUCTS, _INTEGER, _MATRIX, _MATRIX, _MATRIX, _MATRIX, _CUBE))
def store_moments(
    first: FloatArray,
    second: FloatArray,
    products: RowProducts,
    begin: int,
    low: FloatArray,
    high: FloatArray,
    squares: FloatArray,
    cubes: FloatArray,
    crosses: FloatArray,
) -> None:
    """Write ranges and sums of squares of outputs and features, and sums of cubes and of products, of each chunk.

    `low`, `high` and `squares` have shape ``(chunks, k + p)``, the outputs first, `cubes` ``(chunks, k)`` and `crosses`
    ``(chunks, k, p)``. A chunk of every column is held, so this is for few of them.
    """
    k, p = cubes.shape[1], products.centre.size
    tables = _numbers(first, second)
    features, outputs = np.empty((p, _CHUNK + _APART)), np.empty((k, _CHUNK + _APART))
    squared, by_lanes, lanes = np.empty((1, _CHUNK)), np.empty((3, _LANES)), _empty_lanes()
    cubes[:], crosses[:] = 0.0, 0.0
    for chunk in range(len(cubes)):
        start = begin + chunk * _CHUNK
        size = min(_CHUNK, len(first) - start)
        _store_unfinished(tables, products, start, size, features)
        for j in range(k):
            _store_output(products, j, features, outputs[j, :size])
        _finish(products, size, features)
        for i in range(k + p):
            values = outputs[i, :size] if i < k else features[i - k, :size]
            low[chunk, i], high[chunk, i], squares[chunk, i] = _spread(values, by_lanes)
        _add_chunk_sums(outputs[:, :size], features[:, :size], lanes, crosses[chunk])
        for j in range(k):
            _multiply(outputs[j, :size], outputs[j, :size], squared[0, :size])
            of_output = cubes[chunk : chunk + 1, j : j + 1]
            _add_chunk_sums(squared[:, :size], outputs[j : j + 1, :size], lanes, of_output)


@_called
def _store_features_at(first: Any, second: Any, products: Any, rows: Any, features: Any) -> None:
    """Write the features of some rows into `features`, shape ``(p, m)``."""
    d = first.shape[1]
    for i in range(products.unit.size):
        for j in range(rows.size):
            features[i, j] = first[rows[j], i] if i < d else second[rows[j], i - d]
        _centre_variable(products, i, features[i])
    _store_products(products, rows.size, features)
    _finish(products, rows.size, features)


@_called
def _add_feature_sums(
    bits: Any,
    attempt: Any,
    replicate: Any,
    law: Any,
    n: Any,
    start: Any,
    first: Any,
    second: Any,
    products: Any,
    totals: Any,
    out: Any,
) -> None:
    """Add the Poisson counts of the rows from `start` of `n` to `totals`, and their sums of features to `out`."""
    tables, whole = _numbers(first, second), np.empty((products.centre.size, _CHUNK))
    begin = 0
    while begin < len(first):
        rows = min(_CHUNK - (start + begin) % _CHUNK, len(first) - begin)
        columns = whole if rows == _CHUNK else np.empty((products.centre.size, rows))
        _store_unfinished(tables, products, begin, rows, columns)
        _finish(products, rows, columns)
        _add_poisson_sums(bits, attempt, replicate, law, n, start + begin, columns, totals, out)
        begin += rows


@_called
def _sum_of(values: Any, lanes: Any) -> float:
    """Return the sum of values in the order of `orthoboot.draws.summation`."""
    total = 0.0
    for begin in range(0, values.size, _CHUNK):
        some = values[begin : begin + _CHUNK]
        lanes[:] = 0.0
        _add_to_lanes(some, lanes)
        total += _sum_by_halves(lanes)
    return total


@_compiled(_types.void(_WORD, _WORD, _WORD, _WORD, _LAW, _INTEGER, _TABLE, _TABLE, _PRODUCTS, _MATRIX))
def _multinomial_sums(
    k0: Any,
    k1: Any,
    stream: Any,
    replicate: Any,
    law: Any,
    capacity: Any,
    first: Any,
    second: Any,
    products: Any,
    out: Any,
) -> None:
    n, bits, totals = len(first), (k0, k1, stream), np.empty(len(out), dtype=np.int64)
    words, lanes = _memory_for_words(_MOST_BLOCKS), np.empty(_LANES)
    bounds, rows = np.full(capacity, n, dtype=np.uint64), np.empty(capacity, dtype=np.int64)
    totals[:], out[:] = 0, 0.0
    _add_feature_sums(bits, _ZERO, replicate, law, n, 0, first, second, products, totals, out)
    for place in range(len(out)):
        number, attempt = replicate + np.uint64(place), _ZERO
        while totals[place] > n:
            attempt += _ONE
            one = slice(place, place + 1)
            totals[one], out[one] = 0, 0.0
            _add_feature_sums(bits, attempt, number, law, n, 0, first, second, products, totals[one], out[one])
        thrown = _thrown_rows(bits, number, n - totals[place], n, words, bounds, rows)
        features = np.empty((products.centre.size, thrown.size))
        _store_features_at(first, second, products, thrown, features)
        for feature in range(len(features)):
            out[place, feature] += _sum_of(features[feature], lanes)


@_compiled(
    _types.void(
        _WORD, _WORD, _WORD, _WORD, _WORD, _LAW, _INTEGER, _INTEGER, _TABLE, _TABLE, _PRODUCTS, _TOTALS, _MATRIX
    )
)
def poisson_sums(
    k0: int,
    k1: int,
    stream: int,
    replicate: int,
    attempt: int,
    law: Inversion,
    n: int,
    start: int,
    first: FloatArray,
    second: FloatArray,
    products: RowProducts,
    totals: IntArray,
    out: FloatArray,
) -> None:
    """Add the Poisson counts of the rows from `start` of `n` to `totals`, and their sums of features to `out`."""
    bits = (k0, k1, stream)
    _add_feature_sums(bits, attempt, replicate, law, n, start, first, second, products, totals, out)


def multinomial_sums(
    k0: int,
    k1: int,
    stream: int,
    replicate: int,
    law: Inversion,
    first: FloatArray,
    second: FloatArray,
    products: RowProducts,
    out: FloatArray,
) -> None:
    """Write the sums of the features over n uniform draws of rows into `out`, for resamples from `replicate`."""
    _multinomial_sums(k0, k1, stream, replicate, law, throw_capacity(len(first)), first, second, products, out)
