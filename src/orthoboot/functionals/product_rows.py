"""Deviations and products of the numbers of rows, computed where they are added up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce
from typing import Any, TypeVar, cast

import numpy as np

from orthoboot.arrays.passes import Spread
from orthoboot.arrays.row_products import RowProducts, product_columns
from orthoboot.data import Data
from orthoboot.data.pieces import ProductTables, RowsInPieces, SampleInPieces
from orthoboot.draws.products import ProductMoments, Tables, product_moments, product_spread, product_sums
from orthoboot.typing import FloatArray

_MOST_TABLES = 2

_FEW_CROSSES = 64
"""Products of outputs and features up to which a kernel adds them up beside the cubes; more are a matrix product."""

Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class ProductRows(RowsInPieces):
    """The outputs of `products` on the rows of a sample; what is asked of them takes one pass of a kernel.

    Rows in memory are one block for the kernel, others are added up block by block as they are read.

    Attributes
    ----------
    products
        How the columns are computed; `compute` computes the same.
    features
        The features that these are multiples of; None where these are features themselves.
    """

    products: RowProducts = field(kw_only=False, default=cast(RowProducts, None))
    features: ProductRows | None = None

    @property
    def product_tables(self) -> ProductTables | None:
        """Return how the features are computed, and from which tables in memory; None where these are no features."""
        return (self.products, self._tables) if self.features is None and self.at_hand else None

    def product_blocks(self, task: Callable[[Iterator[tuple[int, ProductTables]]], Found]) -> Iterator[Found] | None:
        """Return what `task` makes of the tables of each part; None where these are no features."""
        if self.features is not None:
            return None
        return self.sample.reduced(partial(_of_tables, task, self.products), self.products.n_features)

    @cached_property
    def _tables(self) -> Tables:
        return _two_tables(self.sample.arrays)

    def _reduced(self, kernel: Callable[[RowProducts, Tables], Found], join: Callable[[Found, Found], Found]) -> Found:
        """Return what a kernel finds of the columns, of all rows in memory or of the blocks that are read, joined."""
        if self.at_hand:
            return kernel(self.products, self._tables)
        task = partial(_of_part, kernel, join, self.products)
        parts = self.sample.reduced(task, self.products.n_features)
        return reduce(join, (found for found in parts if found is not None))

    @cached_property
    def means(self) -> FloatArray:
        """Return the means of the columns, shape ``(p,)``."""
        return np.zeros(self.width) if self.is_centred else self._reduced(product_sums, np.add) / len(self)

    @cached_property
    def spread(self) -> Spread:
        """Return the ranges, the means and the sums of squares of the columns, from one pass."""
        if not self.is_centred:
            return super().spread
        return self._moments.outputs if self._has_moments else self._reduced(product_spread, Spread.joined)

    @property
    def _has_moments(self) -> bool:
        """Return whether these are multiples of features of mean zero, and few: a chunk of each is held."""
        few = self.products.n_outputs * self.products.n_features <= _FEW_CROSSES
        return few and self.is_centred and self.features is not None

    @cached_property
    def _moments(self) -> ProductMoments:
        assert self.features is not None
        found = self._reduced(product_moments, ProductMoments.joined)
        self.features._keep_spread(found.features)
        return found

    def _keep_spread(self, spread: Spread) -> None:
        """Keep the spread that a pass for multiples of these has found: it has the bits of a pass of their own."""
        vars(self).setdefault("spread", spread)

    def sums_of_cubes(self, centre: FloatArray) -> FloatArray:
        """Return ``sum_j (row_j - centre)**3`` of each column, shape ``(p,)``."""
        by_kernel = self._has_moments and not np.any(centre)
        return self._moments.cubes if by_kernel else super().sums_of_cubes(centre)

    def cross_sums(self, other: RowsInPieces) -> FloatArray:
        """Return ``self.T @ other`` of columns of the same rows, shape ``(p, q)``."""
        by_kernel = self._has_moments and other is self.features
        return self._moments.crosses if by_kernel else super().cross_sums(other)

    def deviations(self) -> tuple[FloatArray, ProductRows]:
        """Return the means of features, which must be near zero, and the deviations from them."""
        return self.means, _product_rows(self.sample, self.products.less(self.means), is_centred=True)

    def multiples(self, slopes: FloatArray, scale: FloatArray | float) -> ProductRows:
        """Return ``scale * sum_i slopes[i] * features[:, i]``; see `orthoboot.functionals.feature_means`.

        Parameters
        ----------
        slopes
            t of them, each of shape ``(k,)``, for as many features or, where each output has its own, t blocks of k.
        """
        (t, k), p = slopes.shape, self.width
        places = np.broadcast_to(np.arange(p).reshape(t, p // t), (t, k))
        combined = self.products.combined(places, slopes, np.broadcast_to(scale, k))
        return _product_rows(self.sample, combined, is_centred=self.is_centred, features=self)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the tables: the sample has them."""
        return {name: value for name, value in vars(self).items() if name != "_tables"}


def feature_rows(sample: SampleInPieces, products: RowProducts) -> ProductRows | None:
    """Return features of the rows of a sample; None where more than two tables make them, or no table of whole rows."""
    if len(sample.tables) > _MOST_TABLES:
        return None
    if sample.source.in_memory and not all(table.flags.c_contiguous for table in sample.arrays):
        return None
    return _product_rows(sample, products, is_centred=False)


def _product_rows(
    sample: SampleInPieces, products: RowProducts, *, is_centred: bool, features: ProductRows | None = None
) -> ProductRows:
    compute = partial(_columns, products)
    return ProductRows(sample, compute, products.n_outputs, is_centred, products, features)


def _columns(products: RowProducts, data: Data) -> FloatArray:
    return product_columns(products, data.arrays)


def _of_tables(
    task: Callable[[Iterator[tuple[int, ProductTables]]], Found],
    products: RowProducts,
    blocks: Iterator[tuple[int, Data]],
) -> Found:
    return task((start, (products, _two_tables(data.arrays))) for start, data in blocks)


def _of_part(
    kernel: Callable[[RowProducts, Tables], Found],
    join: Callable[[Found, Found], Found],
    products: RowProducts,
    blocks: Iterator[tuple[int, Data]],
) -> Found | None:
    """Return what a kernel finds of the blocks of a part, joined; None of a part without rows."""
    found = (kernel(products, _two_tables(data.arrays)) for _, data in blocks)
    first = next(found, None)
    return None if first is None else reduce(join, found, first)


def _two_tables(arrays: Sequence[FloatArray]) -> Tables:
    """Return one or two arrays of the same rows as tables, row by row in memory."""
    n = len(arrays[0])
    first, second = (*(np.ascontiguousarray(array).reshape(n, -1) for array in arrays), np.empty((n, 0)))[:_MOST_TABLES]
    return first, second
