"""Additions to the lanes of a chunk, compiled: the order of `orthoboot.draws.summation`, many lanes at a time.

The innermost loop is written as vector instructions. What the compiler makes of the plain loop has the same bits and
takes a third longer from two columns on: it converts every count for each column anew, and fetches and writes back
every lane for each row that is added to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np

from orthoboot.draws.compiled.compilation import called as _called
from orthoboot.draws.compiled.compilation import inlined as _inlined
from orthoboot.draws.compiled.compilation import intrinsic, ir, loop_over, loops_until, tuple_items, variable
from orthoboot.draws.compiled.compilation import types as _types
from orthoboot.draws.summation import CHUNK as _CHUNK
from orthoboot.draws.summation import LANES as _LANES

_WIDTH = 8
"""Numbers of a vector; a processor with shorter ones takes two or four for it."""

_VECTORS = 2
"""Vectors of lanes that stay in the processor while the rows of a chunk are added to them."""

_BLOCK = _VECTORS * _WIDTH
"""Lanes whose rows are added one after the other, before those of the next lanes."""

_INTEGER, _BYTE = ir.IntType(64), ir.IntType(8)
_VECTOR = ir.VectorType(ir.DoubleType(), _WIDTH)


def _integer(value: int) -> Any:
    return ir.Constant(_INTEGER, value)


class _Rows:
    """A table of doubles or of counts of one byte; the numbers of a row must be consecutive in memory."""

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any) -> None:
        table = context.make_array(kind)(context, builder, value)
        self._builder = builder
        self._data = builder.bitcast(table.data, _BYTE.as_pointer())
        self._stride = tuple_items(builder, table.strides)[0]
        self._size = kind.dtype.bitwidth // 8

    def _pointer(self, row: int, place: Any, kind: Any) -> Any:
        builder = self._builder
        offset = builder.add(builder.mul(self._stride, _integer(row)), builder.mul(place, _integer(self._size)))
        return builder.bitcast(builder.gep(self._data, [offset]), kind.as_pointer())

    def vector(self, row: int, place: Any) -> Any:
        """Return the numbers of a row from `place` on as doubles."""
        if self._size == 1:
            counts = ir.VectorType(_BYTE, _WIDTH)
            return self._builder.uitofp(self._builder.load(self._pointer(row, place, counts), align=1), _VECTOR)
        return self._builder.load(self._pointer(row, place, _VECTOR), align=self._size)

    def store(self, vector: Any, row: int, place: Any) -> None:
        """Write a vector of doubles into a row."""
        self._builder.store(vector, self._pointer(row, place, _VECTOR), align=self._size)


class _Totals:
    """The sums of a block of lanes, for each resample and feature: variables that the compiler keeps in registers."""

    def __init__(self, builder: Any, n_resamples: int, n_features: int) -> None:
        self._builder = builder
        self._n_resamples, self._n_features = n_resamples, n_features
        places = product(range(n_resamples), range(n_features), range(_VECTORS))
        self._sums = {place: variable(builder, _VECTOR) for place in places}

    def clear(self) -> None:
        """Begin at zero."""
        for total in self._sums.values():
            self._builder.store(ir.Constant(_VECTOR, [0.0] * _WIDTH), total)

    def add(self, weights: _Rows, values: _Rows, row: Any) -> None:
        """Add weight times value of one row to each lane, the first of which has that number."""
        builder = self._builder
        for place in range(_VECTORS):
            begin = builder.add(row, _integer(place * _WIDTH))
            some_weights = [weights.vector(i, begin) for i in range(self._n_resamples)]
            some_values = [values.vector(j, begin) for j in range(self._n_features)]
            for i, j in product(range(self._n_resamples), range(self._n_features)):
                total, term = self._sums[i, j, place], builder.fmul(some_weights[i], some_values[j])
                builder.store(builder.fadd(builder.load(total), term), total)

    def store(self, lanes: _Rows, first: Any) -> None:
        """Write the sums into the lanes from `first` on."""
        for (i, j, place), total in self._sums.items():
            begin = self._builder.add(first, _integer(place * _WIDTH))
            lanes.store(self._builder.load(total), i * self._n_features + j, begin)


@contextmanager
def _blocks_of_lanes(builder: Any) -> Iterator[Any]:
    """Repeat what is built in here with the first lane of each block."""
    with loop_over(builder, _integer(0), _integer(_LANES), _integer(_BLOCK), _INTEGER) as (first, _):
        yield first


@contextmanager
def _rows_of_lanes(builder: Any, n_rows: Any, first: Any) -> Iterator[Any]:
    """Repeat what is built in here with the first row of each whole block of the lanes from `first` on."""
    # Zero for lanes beyond the last row.
    left = builder.sub(builder.add(n_rows, _integer(_LANES - _BLOCK)), first)
    number = builder.ashr(left, _integer(_LANES.bit_length() - 1))
    with loops_until(builder, number, intp=_INTEGER) as loop:
        yield builder.add(first, builder.mul(loop.index, _integer(_LANES)))


def _lane_products(n_resamples: int, n_features: int) -> Any:
    """Return a function that writes the lanes of so many resamples and features at once.

    It takes weights ``(B, rows)``, values ``(p, rows)``, the number of rows and the lanes, shape ``(B p, 256)``. The
    last few rows, which fill no block of lanes, are not added.
    """

    def typed(context: Any, weights: Any, values: Any, n_rows: Any, lanes: Any) -> Any:
        if weights.dtype not in (_types.uint8, _types.float64) or values.dtype != _types.float64:
            raise TypeError(f"weights must be bytes or doubles, and values doubles; got {weights} and {values}.")

        def store(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            weights, values, lanes = (_Rows(context, builder, signature.args[i], arguments[i]) for i in (0, 1, 3))
            totals = _Totals(builder, n_resamples, n_features)
            with _blocks_of_lanes(builder) as first:
                totals.clear()
                with _rows_of_lanes(builder, arguments[2], first) as row:
                    totals.add(weights, values, row)
                totals.store(lanes, first)
            return context.get_dummy_value()

        return _types.void(weights, values, n_rows, lanes), store

    return intrinsic(typed)


_one_by_one, _one_by_two, _two_by_one, _two_by_two = (
    _lane_products(n_resamples, n_features) for n_resamples in (1, 2) for n_features in (1, 2)
)


def _typed_sum_by_halves(context: Any, lanes: Any) -> Any:
    """Return the sum of 256 lanes, added by halves; those without rows are zero, and change nothing."""
    if lanes.layout != "C":
        raise TypeError(f"lanes must lie one after the other; got {lanes}.")

    def total(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        places = (builder.gep(data, [_integer(place)]) for place in range(0, _LANES, _WIDTH))
        sums = [builder.load(builder.bitcast(each, _VECTOR.as_pointer()), align=8) for each in places]
        while len(sums) > 1:
            half = len(sums) // 2
            sums = [builder.fadd(sums[i], sums[i + half]) for i in range(half)]
        vector, half = sums[0], _WIDTH // 2
        while half:
            turned = ir.Constant(ir.VectorType(ir.IntType(32), _WIDTH), [(i + half) % _WIDTH for i in range(_WIDTH)])
            vector = builder.fadd(vector, builder.shuffle_vector(vector, vector, turned))
            half //= 2
        return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))

    return _types.float64(lanes), total


sum_by_halves: Any = intrinsic(_typed_sum_by_halves)


@_inlined
def _with_last_rows(weights: Any, values: Any, lanes: Any) -> float:
    """Add the last rows, which fill no block of lanes; return the sum of the lanes."""
    for row in range(values.size - values.size % _BLOCK, values.size):
        lanes[row % _LANES] += weights[row] * values[row]
    return sum_by_halves(lanes)  # type: ignore[no-any-return]


@_called
def add_chunk_sums(weights: Any, columns: Any, lanes: Any, out: Any) -> None:
    """Add the sums over a chunk of weight times value to `out`, in the order of `orthoboot.draws.summation`.

    Two resamples and two columns at a time, where there are two, so that both are fetched and converted half as often.

    Parameters
    ----------
    weights, columns
        Of at most a chunk of rows, shapes ``(B, rows)`` and ``(p, rows)``, the rows one after the other in memory.
    lanes
        Memory, shape ``(4, 256)``.
    out
        Shape ``(B, p)``.
    """
    (n_resamples, rows), n_features = weights.shape, len(columns)
    for j in range(0, n_features, 2):
        for i in range(0, n_resamples, 2):
            some_weights, some_columns = weights[i : i + 2], columns[j : j + 2]
            if len(some_weights) == 2:
                if len(some_columns) == 2:
                    _two_by_two(some_weights, some_columns, rows, lanes)
                else:
                    _two_by_one(some_weights, some_columns, rows, lanes)
            elif len(some_columns) == 2:
                _one_by_two(some_weights, some_columns, rows, lanes)
            else:
                _one_by_one(some_weights, some_columns, rows, lanes)
            for one in range(len(some_weights)):
                for other in range(len(some_columns)):
                    own = lanes[one * len(some_columns) + other]
                    out[i + one, j + other] += _with_last_rows(some_weights[one], some_columns[other], own)


@_called
def thrown_sum(rows: Any, values: Any, lanes: Any) -> float:
    """Return the sum of the thrown rows' values, in the order of their throws."""
    total = 0.0
    for begin in range(0, rows.size, _CHUNK):
        size = min(_CHUNK, rows.size - begin)
        lanes[:] = 0.0
        for i in range(size):
            lanes[i % _LANES] += values[rows[begin + i]]
        total += sum_by_halves(lanes)
    return total


@_inlined
def empty_lanes() -> Any:
    """Return memory for `add_chunk_sums`."""
    return np.empty((4, _LANES))
