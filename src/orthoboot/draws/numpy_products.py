"""Sums over columns that are computed row by row, in plain numpy: what the compiled kernels repeat bit for bit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orthoboot.arrays.passes import NUMBERS_IN_CACHE
from orthoboot.arrays.row_products import RowProducts, product_columns
from orthoboot.draws.summation import CHUNK, sums_of_chunks
from orthoboot.typing import FloatArray


def _blocks(
    first: FloatArray, second: FloatArray, products: RowProducts, begin: int, n_chunks: int
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield the outputs of some chunks from row `begin` on, shape ``(k, m)``, with the places of the chunks."""
    step = max(NUMBERS_IN_CACHE // (CHUNK * products.n_features), 1)
    for start in range(0, n_chunks, step):
        some = slice(start, min(start + step, n_chunks))
        rows = slice(begin + CHUNK * some.start, begin + CHUNK * some.stop)
        yield some, product_columns(products, [first[rows], second[rows]]).T


def store_sums(first: FloatArray, second: FloatArray, products: RowProducts, begin: int, out: FloatArray) -> None:
    """Write the sums of the outputs over each chunk from row `begin` on into `out`, shape ``(chunks, k)``."""
    for some, columns in _blocks(first, second, products, begin, len(out)):
        out[some] = sums_of_chunks(columns)


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
    for some, columns in _blocks(first, second, products, begin, len(squares)):
        _store_spreads(columns, low[some], high[some], squares[some])


def _store_spreads(columns: FloatArray, low: FloatArray, high: FloatArray, squares: FloatArray) -> None:
    """Write the ranges and the sums of squares of columns ``(k, m)`` in each chunk, shape ``(chunks, k)``."""
    starts = np.arange(0, columns.shape[1], CHUNK)
    low[:], high[:] = (ends.reduceat(columns, starts, axis=1).T for ends in (np.fmin, np.fmax))
    squares[:] = sums_of_chunks(np.square(columns))


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
    """Write ranges and sums of squares of outputs and features, and sums of cubes and of products, of each chunk."""
    k = cubes.shape[1]
    both = zip(
        _blocks(first, second, products, begin, len(cubes)),
        _blocks(first, second, products.of_features, begin, len(cubes)),
        strict=True,
    )
    with np.errstate(all="ignore"):  # what is not finite shows in the values
        for (some, outputs), (_, features) in both:
            _store_spreads(outputs, low[some, :k], high[some, :k], squares[some, :k])
            _store_spreads(features, low[some, k:], high[some, k:], squares[some, k:])
            cubes[some] = sums_of_chunks(outputs * outputs * outputs)
            for j, output in enumerate(outputs):
                crosses[some, j] = sums_of_chunks(output * features)
