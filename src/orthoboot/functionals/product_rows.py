"""Deviations and products of the numbers of long rows in memory, computed where they are added up."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, cast

import numpy as np

from orthoboot.arrays.passes import Spread
from orthoboot.arrays.row_products import RowProducts, product_columns
from orthoboot.data import Data
from orthoboot.data.pieces import ProductTables, RowsInPieces, SampleInPieces
from orthoboot.draws.products import Tables, ThirdOrder, product_spread, product_sums, product_third_order
from orthoboot.typing import FloatArray

_MOST_TABLES = 2


@dataclass(frozen=True, eq=False)
class ProductRows(RowsInPieces):
    """The outputs of `products` on rows in memory; what is asked of them takes one pass of a kernel.

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
        """Return how the features are computed, and from which tables; None where these are no features."""
        return (self.products, self._tables) if self.features is None else None

    @cached_property
    def _tables(self) -> Tables:
        n = len(self)
        first, second = (*(table.reshape(n, -1) for table in self.sample.arrays), np.empty((n, 0)))[:_MOST_TABLES]
        return first, second

    @cached_property
    def means(self) -> FloatArray:
        """Return the means of the columns, shape ``(p,)``."""
        return np.zeros(self.width) if self.is_centred else product_sums(self.products, self._tables) / len(self)

    @cached_property
    def spread(self) -> Spread:
        """Return the ranges, the means and the sums of squares of the columns, from one pass."""
        return product_spread(self.products, self._tables) if self.is_centred else super().spread

    @cached_property
    def _third_order(self) -> ThirdOrder:
        return product_third_order(self.products, self._tables)

    def sums_of_cubes(self, centre: FloatArray) -> FloatArray:
        """Return ``sum_j (row_j - centre)**3`` of each column, shape ``(p,)``."""
        return super().sums_of_cubes(centre) if np.any(centre) else self._third_order.cubes

    def cross_sums(self, other: RowsInPieces) -> FloatArray:
        """Return ``self.T @ other`` of columns of the same rows, shape ``(p, q)``."""
        return self._third_order.crosses if other is self.features else super().cross_sums(other)

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
    """Return features of the rows of a sample in memory; None where they do not lie there as the kernels need it."""
    if len(sample.arrays) > _MOST_TABLES or not all(table.flags.c_contiguous for table in sample.arrays):
        return None
    return _product_rows(sample, products, is_centred=False)


def _product_rows(
    sample: SampleInPieces, products: RowProducts, *, is_centred: bool, features: ProductRows | None = None
) -> ProductRows:
    compute = partial(_columns, products)
    return ProductRows(sample, compute, products.n_outputs, is_centred, products, features)


def _columns(products: RowProducts, data: Data) -> FloatArray:
    return product_columns(products, data.arrays)
