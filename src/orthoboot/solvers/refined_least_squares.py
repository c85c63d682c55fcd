"""Least squares on many resamples at once: solved in single precision, and refined to double precision.

Products of 32-bit numbers take half the time of those of 64 bits or less, and a solution by them is right to six or
seven digits. What it leaves of the normal equations, computed in double precision from the rows themselves, is solved
for likewise, which doubles the digits (Wilkinson 1963; Higham 2002, Accuracy and Stability, section 12.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from orthoboot.arrays.pairs import store_pairs, strips_of, symmetric
from orthoboot.arrays.threads import run_tasks
from orthoboot.arrays.units import ones_for_zeros
from orthoboot.typing import FloatArray

SingleArray = NDArray[np.float32]

TOGETHER = 16
"""Resamples of every product. The library rounds by the shape of a product and, with more columns in single precision
on processors without AVX-512, by a column's place in it too."""
_ROWS, _PAIRS = 128, 128
"""Rows and pairs of columns of every product, which is so small that no threads are started."""
_FEWEST_COLUMNS, _MOST_COLUMNS = 2, 63
"""A single column is filled up, since for one the library has other routines; pairs of more are too many."""
_LANES = 16
"""Fewer rows or pairs than a product has are filled up to a multiple of this."""
_MOST_ROWS = 1 << 16
"""With more rows too few resamples are drawn at once to fill a product."""
_ROWS_OF_A_PART = 4 * _ROWS
"""Rows whose pairs are made at once, and which are weighted at once: as the cache holds."""
_WORTH_A_TABLE = 1 << 20
"""Multiplications of a resample from which it is solved faster with others, though products are filled up."""

_SETTLED = 2.0**-20
"""The next step is about the square of the last one, both relative to the solution: less than 1e-12 after this one."""
_MOST_STEPS = 4
_LIKE_PIVOTS = 2.0**-6
"""Smallest pivot of Cholesky's factor, as a share of the largest, with which single precision leaves three digits."""


class Refined(NamedTuple):
    """Least squares on some resamples, in the orthonormal basis.

    Attributes
    ----------
    changes
        The changes of the coefficients, shape ``(B, d)``; NaN where single precision has too few digits.
    scores
        The sums ``sum_j weights_j q_j e_j``, shape ``(B, d)``.
    """

    changes: FloatArray
    scores: FloatArray


class RefinedLeastSquares:
    """The solutions of ``Q' diag(weights) Q x = Q' diag(weights) e`` for many vectors of weights.

    The matrices are the product of a table of all pairs of columns, made part by part, with the weights. All products
    have the same shape, the last ones filled up with zeros, so that a resample is computed alike whatever the others,
    to the last bit. None is so large that the library would start threads.

    Parameters
    ----------
    basis
        Columns that are orthonormal, or nearly so, shape ``(n, d)``.
    residuals
        Shape ``(n,)``.
    """

    def __init__(self, basis: FloatArray, residuals: FloatArray) -> None:
        (n, d), rows = basis.shape, min(_ROWS, _multiple(len(basis), _LANES))
        n_filled, width = _multiple(n, rows), max(d, _FEWEST_COLUMNS)
        filled = _filled_up(basis, (n_filled, width))
        self._d, self._parts = (
            d,
            [slice(start, start + _ROWS_OF_A_PART) for start in range(0, n_filled, _ROWS_OF_A_PART)],
        )
        self._basis = filled.reshape(-1, rows, width)
        self._residuals = _filled_up(residuals[np.newaxis], (1, n_filled)).reshape(-1, 1, rows)
        # Products of what lies the other way in memory take up to twice as long.
        self._turned = np.ascontiguousarray(self._basis.transpose(0, 2, 1))
        # Each part lies together: columns that are a power of two apart would drive each other out of the cache.
        self._columns: list[SingleArray] = [filled[some, :d].T.astype(np.float32, order="C") for some in self._parts]

    @staticmethod
    def suits(n: int, d: int) -> bool:
        """Return whether so many rows and columns are solved fastest in this way."""
        return n <= _MOST_ROWS and d <= _MOST_COLUMNS and n * d**2 >= _WORTH_A_TABLE

    def __call__(self, weights: FloatArray) -> Refined:
        """Return the solutions for weights ``(B, n)``."""
        (number, n), d, weights = weights.shape, self._d, np.ascontiguousarray(weights)
        groups = [slice(start, min(start + TOGETHER, number)) for start in range(0, number, TOGETHER)]
        single = np.zeros((len(groups), self._residuals.size, TOGETHER), dtype=np.float32)
        sums = np.empty((len(groups), TOGETHER, d * (d + 1) // 2), dtype=np.float32)
        found = Refined(np.empty((number, d)), np.empty((number, d)))

        def turn(group: int, some: slice) -> None:
            single[group, :n, : some.stop - some.start] = weights[some].T

        def solve(group: int, some: slice) -> None:
            found.changes[some], found.scores[some] = self._solved(sums[group], weights[some])

        with np.errstate(all="ignore"):  # what overflows is solved in another way
            run_tasks([partial(turn, group, some) for group, some in enumerate(groups)])
            run_tasks([partial(self._store_sums, single, sums, pairs) for pairs in _parts_of_pairs(d)])
            run_tasks([partial(solve, group, some) for group, some in enumerate(groups)])
        return found

    def _store_sums(self, weights: SingleArray, sums: SingleArray, numbers: range) -> None:
        """Write the sums over all resamples of the products of some pairs of columns into `sums`."""
        n_filled, rows = min(_PAIRS, _multiple(sums.shape[2], _LANES)), self._basis.shape[1]
        strips, width = list(strips_of(self._d, numbers)), self._columns[0].shape[1]
        # Rows a power of two apart would drive each other out of the cache.
        pairs = np.zeros((n_filled, width + _LANES), dtype=np.float32)[:, :width]
        total = np.zeros((len(weights), n_filled, TOGETHER), dtype=np.float32)
        product = np.empty_like(total)
        for part, columns in zip(self._parts, self._columns, strict=True):
            store_pairs(columns, strips, pairs[:, : columns.shape[1]])
            for row in range(0, columns.shape[1], rows):
                drawn = weights[:, part.start + row : part.start + row + rows]
                np.add(total, np.matmul(pairs[:, row : row + rows], drawn, out=product), out=total)
        sums[..., numbers.start : numbers.stop] = total[:, : len(numbers)].transpose(0, 2, 1)

    def _solved(self, sums: SingleArray, weights: FloatArray) -> Refined:
        """Return the solutions for the weights ``(m, n)`` of a group, given its sums of products ``(TOGETHER, p)``."""
        number, d, room = len(weights), self._d, self._room()
        drawn = self._blocks(weights)
        scores = residual = self._products(drawn, room)
        factors = _factors(symmetric(sums[:number], d))
        unit = ones_for_zeros(np.abs(scores).max(axis=1, keepdims=True))
        solution, change = np.zeros(scores.shape), np.zeros(scores.shape)
        solution[[place for place in range(number) if place not in factors]] = np.nan
        for step in range(_MOST_STEPS):
            if step:
                residual = scores - self._products(drawn, room, solution)
            right = (residual[:, :d] / unit).astype(np.float32)
            change[:] = 0.0
            for place, factor in factors.items():
                change[place, :d] = scipy.linalg.lapack.spotrs(factor, right[place], lower=1)[0]
            change *= unit
            solution += change
            settled = np.abs(change).max(axis=1) <= _SETTLED * np.abs(solution).max(axis=1)
            factors = {place: factor for place, factor in factors.items() if not settled[place]}
            if not factors:
                break
        solution[list(factors)] = np.nan
        return Refined(solution[:number, :d], scores[:number, :d])

    def _blocks(self, weights: FloatArray) -> list[FloatArray]:
        """Return the weights ``(m, n)`` of a group, filled up, of each part as ``(blocks, TOGETHER, rows)``."""
        rows, n_filled = self._basis.shape[1], self._residuals.size
        parts = [(weights[:, part], min(part.stop, n_filled) - part.start) for part in self._parts]
        filled = [_filled_up(some, (TOGETHER, n_rows)) for some, n_rows in parts]
        return [some.reshape(TOGETHER, -1, rows).transpose(1, 0, 2) for some in filled]

    def _products(self, weights: Sequence[FloatArray], room: _Room, solution: FloatArray | None = None) -> FloatArray:
        """Return ``Q' diag(weights) e``, or ``Q' diag(weights) Q x`` for a solution x, shape ``(TOGETHER, width)``."""
        total, start = np.zeros(room.products.shape[1:]), 0
        for drawn in weights:
            some = slice(start, start + len(drawn))
            rows, products = room.rows[: len(drawn)], room.products[: len(drawn)]
            column = self._residuals[some] if solution is None else np.matmul(solution, self._turned[some], out=rows)
            np.multiply(column, drawn, out=rows)
            total += np.matmul(rows, self._basis[some], out=products).sum(axis=0)
            start = some.stop
        return total

    def _room(self) -> _Room:
        """Return memory for the blocks of a part."""
        n_blocks, rows, width = self._basis.shape
        at_once = min(n_blocks, _ROWS_OF_A_PART // rows)
        return _Room(np.empty((at_once, TOGETHER, rows)), np.empty((at_once, TOGETHER, width)))


class _Room(NamedTuple):
    """Memory that is asked for once: to get it anew takes longer than what is computed there.

    Attributes
    ----------
    rows, products
        Of some blocks of rows, shapes ``(blocks, TOGETHER, rows)`` and ``(blocks, TOGETHER, width)``.
    """

    rows: FloatArray
    products: FloatArray


def _parts_of_pairs(d: int) -> list[range]:
    """Return the numbers of all pairs of d columns, in parts."""
    n_pairs = d * (d + 1) // 2
    return [range(start, min(start + _PAIRS, n_pairs)) for start in range(0, n_pairs, _PAIRS)]


def _multiple(number: int, step: int) -> int:
    """Return the smallest multiple of `step` that is not below a number."""
    return -(-number // step) * step


def _filled_up(array: FloatArray, shape: tuple[int, int]) -> FloatArray:
    """Return an array filled up with zeros to a shape, itself if it has that shape."""
    if array.shape == shape:
        return array
    filled = np.zeros(shape)
    filled[: array.shape[0], : array.shape[1]] = array
    return filled


def _factors(matrices: SingleArray) -> dict[int, SingleArray]:
    """Return Cholesky's factors of those of the matrices that single precision has digits for, by their places."""
    found: dict[int, SingleArray] = {}
    for place, matrix in enumerate(matrices):
        # A symmetric matrix is the same by rows and by columns, which is how LAPACK reads it.
        factor, failed = scipy.linalg.lapack.spotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
        pivots = factor.diagonal()
        if not failed and pivots.min() > _LIKE_PIVOTS * pivots.max():
            found[place] = factor
    return found
