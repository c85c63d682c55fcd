"""The order in which weighted rows are added, so that a sum has the same bits on every path.

The sum over n rows of weight times value is defined by IEEE multiplications and additions alone, in this order:

1. Rows come in chunks of 8192, the last one shorter.
2. Within a chunk, lane l of 256 begins at zero and adds the rows l, l + 256, l + 512, ... one after the other.
3. The 256 lanes are added by halves: lane l + 128 to lane l, then lane l + 64 to lane l, and so on to lane 0.
4. The sum begins at zero and adds the chunks one after the other.

Rows of zeros at the end of a chunk change nothing, so a short chunk needs no rule of its own. Thrown rows are added in
the same order, by the place of the throw instead of the row.

This module is the order in plain numpy, by additions of whole arrays element by element: it rests on nothing that numpy
is free to do in another order.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from orthoboot.arrays.passes import NUMBERS_IN_CACHE
from orthoboot.typing import FloatArray

CHUNK = 8192
LANES = 256

_MOST_AT_ONCE = 1024
"""Resamples that are worked on at once: beyond, or beyond the cache, memory is what takes the time."""


def chunk_sums(products: FloatArray) -> FloatArray:
    """Return the sums over the first axis, at most a chunk, in the order of steps 2 and 3; `products` are overwritten.

    Rows come first so that every addition is one of two stretches of memory, which numpy does fast.

    Examples
    --------
    >>> chunk_sums(np.arange(6.0).reshape(3, 2))
    array([6., 9.])
    """
    for start in range(LANES, len(products), LANES):
        _add_to_first(products, products[start : start + LANES])
    size, half = min(len(products), LANES), LANES // 2
    while half:
        if size > half:
            _add_to_first(products, products[half:size])
            size = half
        half //= 2
    sums: FloatArray = products[0]
    return sums


def _add_to_first(products: FloatArray, step: FloatArray) -> None:
    reached = products[: len(step)]
    np.add(reached, step, out=reached)


def weighted_sums(weights: FloatArray, columns: FloatArray, out: FloatArray) -> None:
    """Write ``weights @ columns.T`` into `out`, in the order that this module states.

    Parameters
    ----------
    weights
        Of each resample and row, shape ``(B, n)``.
    columns
        The values of the rows, shape ``(p, n)``.
    out
        Shape ``(B, p)``.
    """
    n, add_chunk_sums = weights.shape[1], ChunkSums()
    out[:] = 0.0
    for some in cache_sized(len(weights), min(n, CHUNK)):
        for start in range(0, n, CHUNK):
            rows = slice(start, start + CHUNK)
            add_chunk_sums(weights[some, rows], columns[:, rows], out[some])


def sums_of_chunks(columns: FloatArray) -> FloatArray:
    """Return the sums of columns ``(p, m)`` over each chunk of the rows, shape ``(chunks, p)``, by steps 1 to 3.

    Examples
    --------
    >>> sums_of_chunks(np.ones((1, CHUNK + 3)))
    array([[8.192e+03],
           [3.000e+00]])
    """
    p, m = columns.shape
    if m % CHUNK:
        whole = m - m % CHUNK
        last = np.zeros((p, CHUNK))
        last[:, : m - whole] = columns[:, whole:]
        return np.concatenate([sums_of_chunks(columns[:, :whole]), sums_of_chunks(last)])
    rows = columns.reshape(p, m // CHUNK, CHUNK // LANES, LANES)
    lanes = 0.0 + rows[:, :, 0]
    for row in range(1, CHUNK // LANES):
        lanes += rows[:, :, row]
    half = LANES // 2
    while half:
        lanes[..., :half] += lanes[..., half : 2 * half]
        half //= 2
    sums: FloatArray = lanes[..., 0].T
    return sums


class ChunkSums:
    """Adds sums over chunks of rows, in memory that is asked for once."""

    def __init__(self) -> None:
        self._memory = np.empty((2, 0))

    def __call__(self, weights: FloatArray | NDArray[np.uint8], columns: FloatArray, out: FloatArray) -> None:
        """Add the sums over one chunk of rows, with weights ``(B, rows)``, to `out`, shape ``(B, p)``."""
        if self._memory.shape[1] < weights.size:
            self._memory = np.empty((2, weights.size))
        row_by_row, products = self._memory[:, : weights.size].reshape(2, *weights.T.shape)
        # Turned as they are and then converted: counts of one byte are turned many times faster than floats.
        row_by_row[:] = np.ascontiguousarray(weights.T)
        for feature, column in enumerate(columns):
            np.multiply(row_by_row, column[:, np.newaxis], out=products)
            out[:, feature] += chunk_sums(products)


def cache_sized(number: int, size: int) -> Iterator[slice]:
    """Give `number` rows of `size` numbers in slices of like length that stay in the processor's cache.

    Examples
    --------
    >>> list(cache_sized(33, 8192))
    [slice(0, 11, None), slice(11, 22, None), slice(22, 33, None)]
    """
    most = min(max(NUMBERS_IN_CACHE // size, 1), _MOST_AT_ONCE)
    at_once = -(-number // -(-number // most)) if number else 1
    for start in range(0, number, at_once):
        yield slice(start, min(start + at_once, number))
