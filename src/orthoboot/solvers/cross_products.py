"""Weighted cross products of columns, for many vectors of weights."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from orthoboot.arrays.passes import NUMBERS_IN_CACHE
from orthoboot.arrays.row_blocks import blocks_of, rows_of_a_product
from orthoboot.typing import FloatArray

_COLUMNS_OF_A_STRIP = 24
"""Columns from which on a strip of them is worth a product of its own."""


class CrossProducts:
    """The matrix ``columns' diag(weights) [columns, others]`` for many vectors of weights.

    Many columns come in strips, each of which is multiplied with itself and what comes after it: what lies below the
    diagonal is the same as above it. Blocks of rows are added up one after the other.

    Parameters
    ----------
    columns
        Shape ``(n, d)``.
    others
        Further columns, each of shape ``(n,)``.
    """

    def __init__(self, columns: FloatArray, *others: FloatArray) -> None:
        self._rows = np.column_stack([columns, *others])
        (n, d), width = columns.shape, self._rows.shape[1]
        n_strips = max(d // _COLUMNS_OF_A_STRIP, 1)
        self._ends = [d * strip // n_strips for strip in range(n_strips + 1)]
        self._block = min(rows_of_a_product(-(-d // n_strips) * width), n)
        self._at_once = self._block * max(NUMBERS_IN_CACHE // (self._block * width), 1)
        if n_strips == 1:
            self._rows = blocks_of(self._rows, self._block)
            self._columns = np.ascontiguousarray(self._rows[:, :, :d].transpose(0, 2, 1))

    def __call__(self, weights: FloatArray) -> FloatArray:
        """Return the products for one vector of weights ``(n,)``, shape ``(d, d + k)``."""
        if len(self._ends) > 2:
            return self._by_strips(weights)
        products: FloatArray = (self._columns @ _weighted(self._rows, weights)).sum(axis=0)
        return products

    def _by_strips(self, weights: FloatArray) -> FloatArray:
        """Return the products, of as many rows at a time as the cache holds.

        Rows of weight zero, a third of those of a resample, are left out: with many columns that is worth their choice.
        """
        d = self._ends[-1]
        total = np.zeros((d, self._rows.shape[1]))
        kept = np.flatnonzero(weights != 0)  # three times faster than to ask numbers whether they are zero
        for start in range(0, kept.size, self._at_once):
            some = kept[start : start + self._at_once]
            self._add_strips(
                blocks_of(self._rows.take(some, axis=0), min(self._block, some.size)), weights[some], total
            )
        for first, last in pairwise(self._ends):
            total[last:, first:last] = total[first:last, last:d].T
        return total

    def _add_strips(self, rows: FloatArray, weights: FloatArray, total: FloatArray) -> None:
        """Add the products of each strip with itself and what comes after it to `total`."""
        weighted = _weighted(rows, weights)
        for first, last in pairwise(self._ends):
            strip = rows[:, :, first:last].transpose(0, 2, 1)
            total[first:last, first:] += (strip @ weighted[:, :, first:]).sum(axis=0)


def _weighted(blocks: FloatArray, weights: FloatArray) -> FloatArray:
    """Return each row of some blocks times its weight."""
    return blocks * blocks_of(weights[:, np.newaxis], blocks.shape[1])
