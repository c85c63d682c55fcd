"""Least squares on many resamples at once: solved in single precision, and refined to double precision.

Products in single precision take half the time, and a solution by them is right to three to seven digits. What it
leaves of the normal equations, computed in double precision from the rows themselves, is solved for likewise, and each
such step adds as many digits (Wilkinson 1963; Higham 2002, Accuracy and Stability, section 12.1).
"""

from __future__ import annotations

import math
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

TOGETHER = 32
"""Resamples of every product in double precision: OpenBLAS rounds by its shape, and not by a column's place."""
_IN_SINGLE = 16
"""The same in single precision: of more columns its routines for AVX2 round the outer ones in another way."""
_PAIRS, _ROWS = 64, 256
"""Pairs of columns and rows of every product of resamples and pairs, which is so small that no threads are started."""
_ROWS_IN_DOUBLE = 128
"""Rows of every product of resamples and columns."""
_COLUMNS, _MOST_COLUMNS = 8, 63
"""Columns are filled up to a multiple of so many: for a single one the library has other routines. Pairs of more than
the second number are too many."""
_LANES = 16
"""Fewer rows or pairs than a product has are filled up to a multiple of this."""
_MOST_ROWS = 1 << 16
"""With more rows too few resamples are drawn at once to fill a product."""
_PAIRS_OF_A_PART, _ROWS_OF_A_PART, _BLOCKS_OF_A_PART = 5 * _PAIRS, 512, 8
"""Pairs and rows whose products are made at once, and blocks of rows that are refined at once: as the cache holds."""
_WORTH_A_TABLE = 1 << 20
"""Multiplications of a resample from which it is solved faster with others, though products are filled up."""

_SETTLED = 2.0**-40
"""Steps become smaller by about the same factor each: the next one is less than this share of the solution."""
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
        (n, d), n_filled = basis.shape, _filled_rows(len(basis))
        filled, errors = np.zeros((n_filled, -(-d // _COLUMNS) * _COLUMNS)), np.zeros((n_filled, 1))
        filled[:n, :d], errors[:n, 0] = basis, residuals
        self._rows, in_double = min(n_filled, _ROWS), min(n_filled, _ROWS_IN_DOUBLE)
        self._d, at_once = d, min(n_filled, _ROWS_OF_A_PART)
        # Each part lies together: columns that are a power of two apart would drive each other out of the cache.
        self._columns: list[SingleArray] = [
            filled[start : start + at_once, :d].T.astype(np.float32, order="C") for start in range(0, n_filled, at_once)
        ]
        self._basis, self._residuals = (part.reshape(-1, in_double, part.shape[1]) for part in (filled, errors))

    @staticmethod
    def suits(n: int, d: int) -> bool:
        """Return whether so many rows and columns are solved fastest in this way."""
        return n <= _MOST_ROWS and d <= _MOST_COLUMNS and n * d**2 >= _WORTH_A_TABLE

    def __call__(self, weights: FloatArray) -> Refined:
        """Return the solutions for weights ``(B, n)``."""
        (number, n), d = weights.shape, self._d
        groups, singles = _slices(number, TOGETHER), _slices(number, _IN_SINGLE)
        single = _zeros(len(singles), self._residuals.size, _IN_SINGLE)
        sums = np.empty((len(singles), _IN_SINGLE, d * (d + 1) // 2), dtype=np.float32)
        found = Refined(np.empty((number, d)), np.empty((number, d)))

        def turn(group: int, some: slice) -> None:
            single[group, :n, : some.stop - some.start] = weights[some].T

        def solve(some: slice) -> None:
            products = sums.reshape(-1, sums.shape[2])[some]
            found.changes[some], found.scores[some] = self._solved(products, weights[some])

        with np.errstate(all="ignore"):  # what overflows is solved in another way
            run_tasks([partial(turn, group, some) for group, some in enumerate(singles)])
            run_tasks([partial(self._store_sums, single, sums, pairs) for pairs in _parts(d)])
            run_tasks([partial(solve, some) for some in groups])
        return found

    def _store_sums(self, weights: SingleArray, sums: SingleArray, numbers: range) -> None:
        """Write the sums over all resamples of the products of some pairs of columns into `sums`."""
        tile, at_once = min(_PAIRS, _multiple(sums.shape[2], _LANES)), self._columns[0].shape[1]
        n_tiles = -(-len(numbers) // tile)
        pairs = _zeros(n_tiles * tile, at_once)
        tiles = pairs.reshape(n_tiles, 1, tile, at_once)
        strips = list(strips_of(self._d, numbers))
        total, product = (_zeros(n_tiles, len(weights), tile, _IN_SINGLE) for _ in range(2))
        for number, columns in enumerate(self._columns):
            store_pairs(columns, strips, pairs[:, : columns.shape[1]])
            for row in range(0, columns.shape[1], self._rows):
                start = number * at_once + row
                drawn = weights[:, start : start + self._rows]
                np.add(total, np.matmul(tiles[..., row : row + self._rows], drawn, out=product), out=total)
        summed = total.transpose(1, 3, 0, 2).reshape(*sums.shape[:2], -1)
        sums[..., numbers.start : numbers.stop] = summed[..., : len(numbers)]

    def _solved(self, sums: SingleArray, weights: FloatArray) -> Refined:
        """Return the solutions for the weights ``(m, n)`` of a group, given its sums of products ``(m, p)``."""
        (number, n), d, room = weights.shape, self._d, self._room()
        drawn = np.zeros((self._residuals.size, TOGETHER))
        drawn[:n, :number] = weights.T
        blocks = drawn.reshape(*self._basis.shape[:2], TOGETHER)
        scores = residual = self._scores(blocks, room)
        factors = _factors(symmetric(sums, d))
        unit = ones_for_zeros(np.abs(scores).max(axis=1, keepdims=True))
        solution, change, before = np.zeros(scores.shape), np.zeros(scores.shape), np.zeros(len(scores))
        solution[[place for place in range(number) if place not in factors]] = np.nan
        for step in range(_MOST_STEPS):
            if step:
                residual = self._scores(blocks, room, solution)
            right = (residual[:, :d] / unit).astype(np.float32)
            change[:] = 0.0
            for place, factor in factors.items():
                change[place, :d] = scipy.linalg.lapack.spotrs(factor, right[place], lower=1)[0]
            change *= unit
            solution += change
            size = np.abs(change).max(axis=1)
            before = ones_for_zeros(before) if step else ones_for_zeros(size)
            settled = size * (size / before) <= _SETTLED * np.abs(solution).max(axis=1)
            before = size
            factors = {place: factor for place, factor in factors.items() if not settled[place]}
            if not factors:
                break
        solution[list(factors)] = np.nan
        return Refined(solution[:number, :d], scores[:number, :d])

    def _scores(self, weights: FloatArray, room: _Room, solution: FloatArray | None = None) -> FloatArray:
        """Return ``Q' diag(weights) (e - Q x)``, or of e alone, shape ``(TOGETHER, width)``; some blocks at a time."""
        total = np.zeros(room.products.shape[1:])
        coefficients = None if solution is None else np.ascontiguousarray(solution.T)
        for start in range(0, len(self._basis), _BLOCKS_OF_A_PART):
            some = slice(start, start + _BLOCKS_OF_A_PART)
            basis, residuals = self._basis[some], self._residuals[some]
            left, products = room.residuals[: len(basis)], room.products[: len(basis)]
            if coefficients is not None:
                residuals = np.subtract(residuals, np.matmul(basis, coefficients, out=left), out=left)
            np.multiply(residuals, weights[some], out=left)
            total += np.matmul(basis.transpose(0, 2, 1), left, out=products).sum(axis=0)
        return np.ascontiguousarray(total.T)

    def _room(self) -> _Room:
        """Return memory for some blocks."""
        rows, width = self._basis.shape[1:]
        n_blocks = min(len(self._basis), _BLOCKS_OF_A_PART)
        return _Room(np.empty((n_blocks, rows, TOGETHER)), np.empty((n_blocks, width, TOGETHER)))


class _Room(NamedTuple):
    """Memory that is asked for once: to get it anew takes longer than what is computed there.

    Attributes
    ----------
    residuals, products
        Of some blocks of rows, shapes ``(blocks, rows, TOGETHER)`` and ``(blocks, width, TOGETHER)``.
    """

    residuals: FloatArray
    products: FloatArray


def _parts(d: int) -> list[range]:
    """Return the numbers of all pairs of d columns, in parts."""
    n_pairs = d * (d + 1) // 2
    starts = range(0, n_pairs, _PAIRS_OF_A_PART)
    return [range(start, min(start + _PAIRS_OF_A_PART, n_pairs)) for start in starts]


def _slices(number: int, at_once: int) -> list[slice]:
    """Return the slices of so many resamples at once, the last one of those that are left."""
    return [slice(start, min(start + at_once, number)) for start in range(0, number, at_once)]


def _filled_rows(n: int) -> int:
    """Return how many rows n are with those of zeros that fill up the last block, and the last register."""
    return _multiple(n, _ROWS if n > _ROWS_IN_DOUBLE else _LANES)


def _zeros(*shape: int) -> SingleArray:
    """Return zeros that begin with a line of the cache: registers that lie across two of them take longer to fill."""
    size = math.prod(shape)
    memory = np.zeros(size + _LANES, dtype=np.float32)
    start = -memory.ctypes.data % (_LANES * memory.itemsize) // memory.itemsize
    return memory[start : start + size].reshape(shape)


def _multiple(number: int, step: int) -> int:
    """Return the smallest multiple of `step` that is not below a number."""
    return -(-number // step) * step


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
