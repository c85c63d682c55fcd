"""Sums of columns that are computed row by row from long tables, in one pass over these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from orthoboot.arrays.passes import Ranges, Spread
from orthoboot.arrays.row_products import RowProducts
from orthoboot.arrays.threads import run_tasks
from orthoboot.draws import numpy_kernels, numpy_products
from orthoboot.draws.kernels import Kernels, for_stretches, kernels_for
from orthoboot.draws.poisson import inversion
from orthoboot.draws.random_counts import checked_rows
from orthoboot.draws.summation import CHUNK
from orthoboot.typing import FloatArray, Key

_CHUNKS_OF_A_TASK = 32
"""Chunks that one processor works on at a time, in a tenth of a millisecond or more."""

Tables = tuple[FloatArray, FloatArray]
"""Two tables ``(n, d)`` with the numbers of the same rows; the second may have no columns."""


class ProductKernels(Protocol):
    """The interface of the numpy and numba kernels."""

    def store_sums(
        self, first: FloatArray, second: FloatArray, products: RowProducts, begin: int, out: FloatArray
    ) -> None:
        """Write the sums of the outputs over each chunk from row `begin` on into `out`, shape ``(chunks, k)``."""

    def store_spreads(
        self,
        first: FloatArray,
        second: FloatArray,
        products: RowProducts,
        begin: int,
        low: FloatArray,
        high: FloatArray,
        squares: FloatArray,
    ) -> None:
        """Write the ranges of the outputs in each chunk from row `begin` on, but for NaN, and the sums of squares."""

    def store_third_order(
        self,
        first: FloatArray,
        second: FloatArray,
        products: RowProducts,
        begin: int,
        cubes: FloatArray,
        crosses: FloatArray,
    ) -> None:
        """Write the sums of cubes of the outputs in each chunk, and of their products with the features."""


class ThirdOrder(NamedTuple):
    """The sums of cubes of outputs, shape ``(k,)``, and of their products with the features, shape ``(k, p)``."""

    cubes: FloatArray
    crosses: FloatArray

    def joined(self, other: ThirdOrder) -> ThirdOrder:
        """Return the same of the rows of both."""
        return ThirdOrder(self.cubes + other.cubes, self.crosses + other.crosses)


def _compiled_kernels() -> Any:
    """Return the compiled kernels where those that draw are at work, else None: it would not pay to load them."""
    if kernels_for(0) is numpy_kernels:
        return None
    try:
        from orthoboot.draws import numba_products
    except (ImportError, OSError):  # both kernels give the same bits, so the run goes on
        return None
    return numba_products


def _product_kernels() -> ProductKernels:
    return _compiled_kernels() or numpy_products


def _for_chunks(tables: Tables, store: Callable[[int, slice], None]) -> None:
    """Call `store` with the first row and the places of some chunks after the other, on all processors."""
    n_chunks = _n_chunks(tables)
    parts = [slice(start, start + _CHUNKS_OF_A_TASK) for start in range(0, n_chunks, _CHUNKS_OF_A_TASK)]
    run_tasks([partial(store, CHUNK * part.start, part) for part in parts])


def _n_chunks(tables: Tables) -> int:
    return -(-len(tables[0]) // CHUNK)


def _total(sums: FloatArray) -> FloatArray:
    """Return the sum over the chunks, one after the other."""
    total: FloatArray = np.add.accumulate(sums)[-1]
    return total


def product_sums(products: RowProducts, tables: Tables) -> FloatArray:
    """Return the sums of the outputs, shape ``(k,)``, in the order of `orthoboot.draws.summation`."""
    kernels, sums = _product_kernels(), np.empty((_n_chunks(tables), products.n_outputs))

    def store(begin: int, some: slice) -> None:
        kernels.store_sums(*tables, products, begin, sums[some])

    _for_chunks(tables, store)
    return _total(sums)


def product_spread(products: RowProducts, tables: Tables) -> Spread:
    """Return the ranges and the sums of squares of outputs whose means are zero."""
    kernels = _product_kernels()
    low, high, squares = np.empty((3, _n_chunks(tables), products.n_outputs))

    def store(begin: int, some: slice) -> None:
        kernels.store_spreads(*tables, products, begin, low[some], high[some], squares[some])

    _for_chunks(tables, store)
    total = _total(squares)
    # No sum of squares is NaN but where a number is.
    missing = np.where(np.isnan(total), np.nan, 0.0)
    ranges = Ranges(low.min(axis=0) + missing, high.max(axis=0) + missing)
    return Spread(len(tables[0]), ranges, np.zeros(products.n_outputs), total)


def product_third_order(products: RowProducts, tables: Tables) -> ThirdOrder:
    """Return the sums of cubes of the outputs, and of their products with the features."""
    kernels, n_chunks = _product_kernels(), _n_chunks(tables)
    cubes = np.empty((n_chunks, products.n_outputs))
    crosses = np.empty((n_chunks, products.n_outputs, products.n_features))

    def store(begin: int, some: slice) -> None:
        kernels.store_third_order(*tables, products, begin, cubes[some], crosses[some])

    _for_chunks(tables, store)
    return ThirdOrder(_total(cubes), _total(crosses))


def multinomial_product_sums(
    key: Key, stream: int, replicates: Sequence[int], products: RowProducts, tables: Tables
) -> FloatArray | None:
    """Return the sums of the features over resamples, shape ``(B, p)``; None where nothing is compiled.

    Of more than one chunk of rows they have the bits that `orthoboot.draws.random_counts.multinomial_sums` gives.
    """
    kernels = _compiled_kernels()
    if kernels is None:
        return None
    n = checked_rows(len(tables[0]))
    law, sums = inversion(n), np.empty((len(replicates), products.n_features))

    def draw(_: Kernels, first: int, places: slice) -> None:
        kernels.multinomial_sums(*key, stream, first, law, *tables, products, sums[places])

    for_stretches(replicates, n, draw)
    return sums
