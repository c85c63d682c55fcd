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
from orthoboot.typing import FloatArray, IntArray, Key

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

    def store_moments(
        self,
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
        """Write ranges and squares of outputs and features, cubes of outputs and products of both, of each chunk."""


class ProductMoments(NamedTuple):
    """What one pass finds of k outputs that are multiples of p features.

    Attributes
    ----------
    outputs, features
        Their ranges and sums of squares; the means of both are zero.
    cubes
        The sums of cubes of the outputs, shape ``(k,)``.
    crosses
        The sums of their products with the features, shape ``(k, p)``.
    """

    outputs: Spread
    features: Spread
    cubes: FloatArray
    crosses: FloatArray

    def joined(self, other: ProductMoments) -> ProductMoments:
        """Return the same of the rows of both."""
        return ProductMoments(
            self.outputs.joined(other.outputs),
            self.features.joined(other.features),
            self.cubes + other.cubes,
            self.crosses + other.crosses,
        )


def _compiled_kernels() -> Any:
    """Return the compiled kernels where those that draw are at work, else None: it would not pay to load them."""
    if kernels_for(0) is numpy_kernels:
        return None
    try:
        from orthoboot.draws.compiled import numba_products
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
    return _joined_spread(len(tables[0]), low, high, squares)


def _joined_spread(n_rows: int, low: FloatArray, high: FloatArray, squares: FloatArray) -> Spread:
    """Return the spread of columns whose means are zero from that of each chunk, shape ``(chunks, k)``."""
    total = _total(squares)
    # No sum of squares is NaN but where a number is.
    missing = np.where(np.isnan(total), np.nan, 0.0)
    ranges = Ranges(low.min(axis=0) + missing, high.max(axis=0) + missing)
    return Spread(n_rows, ranges, np.zeros(len(total)), total)


def product_moments(products: RowProducts, tables: Tables) -> ProductMoments:
    """Return what one pass finds of outputs and of the features that they are multiples of, all of mean zero."""
    kernels, n_chunks, k, p = _product_kernels(), _n_chunks(tables), products.n_outputs, products.n_features
    low, high, squares = np.empty((3, n_chunks, k + p))
    cubes, crosses = np.empty((n_chunks, k)), np.empty((n_chunks, k, p))

    def store(begin: int, some: slice) -> None:
        spread = low[some], high[some], squares[some]
        kernels.store_moments(*tables, products, begin, *spread, cubes[some], crosses[some])

    _for_chunks(tables, store)
    outputs, features = (
        _joined_spread(len(tables[0]), low[:, places], high[:, places], squares[:, places])
        for places in (slice(k), slice(k, None))
    )
    return ProductMoments(outputs, features, _total(cubes), _total(crosses))


def add_poisson_product_sums(
    key: Key,
    stream: int,
    attempt: int,
    replicates: Sequence[int],
    n_rows: int,
    start: int,
    products: RowProducts,
    tables: Tables,
    totals: IntArray,
    sums: FloatArray,
) -> bool:
    """Add Poisson counts of the rows from `start` on to `totals` and their sums of features to `sums`.

    Return whether that was done: not where nothing is compiled.
    """
    kernels = _compiled_kernels()
    if kernels is None:
        return False
    law = inversion(n_rows)

    def draw(_: Kernels, first: int, places: slice) -> None:
        found = totals[places], sums[places]
        kernels.poisson_sums(*key, stream, first, attempt, law, n_rows, start, *tables, products, *found)

    # Every stretch computes the features anew, and the parts of the rows have a thread each already.
    for_stretches(replicates, len(tables[0]), draw, most_of_a_thread=0)
    return True


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

    # Every stretch computes the features anew.
    for_stretches(replicates, n, draw, most_of_a_thread=1)
    return sums
