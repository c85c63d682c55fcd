"""Exact variances of the shares of categories, for any number of them at the price of a sort.

An indicator for each category would make a table of rows times categories. What is drawn holds few of them: sums over
what is there are all that the variances need.
"""

from __future__ import annotations

import numpy as np

from orthoboot.typing import FloatArray, IntArray


def category_counts(codes: IntArray) -> FloatArray:
    """Return the number of rows in each category, shape ``(d,)``."""
    return np.bincount(codes).astype(np.float64)


def stratified_variances(codes: IntArray, strata: IntArray) -> FloatArray:
    """Return the variances where each row is replaced by one of its own stratum, shape ``(d,)``.

    ``(1/n^2) sum_h n_hc (1 - n_hc / n_h)``, with ``n_hc`` the rows of category c in stratum h of ``n_h`` rows.
    """
    category, stratum, together = _counted_pairs(codes, strata)
    inside = together * (1 - together / np.bincount(strata)[stratum])
    return np.bincount(category, inside) / codes.size**2


def cluster_variances(codes: IntArray, groups: IntArray) -> FloatArray:
    """Return the variances where as many groups are drawn as there are, each with all its rows, shape ``(d,)``.

    ``(1/n^2) sum_g (n_gc - n_g p_c)^2``, with ``n_gc`` the rows of category c in group g of ``n_g`` rows and ``p_c``
    the share of the category.
    """
    category, group, together = _counted_pairs(codes, groups)
    sizes = np.bincount(groups).astype(np.float64)
    shares = category_counts(codes) / codes.size
    squares = np.bincount(category, together**2)
    products = np.bincount(category, together * sizes[group])
    return (squares - 2 * shares * products + shares**2 * np.sum(sizes**2)) / codes.size**2


def block_variances(codes: IntArray, length: int, n_starts: int) -> FloatArray:
    """Return the variance over blocks of the rows of each category in one block, shape ``(d,)``.

    Block s holds the rows from s to ``s + length - 1`` of a circle, s from 0 to ``n_starts - 1``. The number of a
    category's rows in it changes only where one of them comes in or falls out.
    """
    category, start, stop = _blocks_with(codes, length, n_starts)
    events = np.r_[category, category], np.r_[start, stop]
    order = np.lexsort(events[::-1])
    held = np.cumsum(np.r_[np.ones(start.size), -np.ones(stop.size)][order])
    place = events[1][order]
    # After the last event of a category none of its rows is held, so that what follows there counts nothing.
    constant_for = np.r_[np.diff(place), 0] * (held > 0)
    mean, square = (np.bincount(events[0][order], held**power * constant_for) / n_starts for power in (1, 2))
    variances: FloatArray = square - mean**2
    return variances


def _blocks_with(codes: IntArray, length: int, n_starts: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return the category of each row with the first block that holds it and the first after, as pieces of a line."""
    rows = np.arange(codes.size)
    first, after = rows - length + 1, rows + 1
    # On the circle the first rows are in the last blocks too.
    around = rows[first < 0]
    category = np.r_[codes, codes[around]]
    start = np.clip(np.r_[first, first[around] + codes.size], 0, n_starts)
    stop = np.clip(np.r_[after, np.full(around.size, codes.size)], 0, n_starts)
    return category, start, stop


def _counted_pairs(codes: IntArray, units: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the pairs of a category and a unit that have rows in common, and how many."""
    n_units = int(units.max()) + 1
    pairs, together = np.unique(codes * n_units + units, return_counts=True)
    return pairs // n_units, pairs % n_units, together.astype(np.float64)
