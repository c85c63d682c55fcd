"""The QR factorisation of many rows and few columns, with columns scaled to length one.

Replicates must have the same bits whatever the batch and however many threads the linear algebra library starts. It
starts none for products of few numbers, so here long products are taken block by block, and systems are solved for one
right-hand side at a time: for many it shares them out among its threads, however small they are, and how a column is
rounded may depend on which others a thread has.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy

from orthoboot.arrays.passes import ranges
from orthoboot.arrays.row_blocks import (
    FEWEST_ROWS,
    parts_of,
    products_with_themselves,
    rows_of_a_product,
    rows_times,
)
from orthoboot.arrays.threads import run_tasks
from orthoboot.arrays.units import ones_for_zeros
from orthoboot.solvers.positive_solution import NUMBERS_IN_ONE_THREAD, solved_one_by_one
from orthoboot.typing import FloatArray

_EPSILON = float(np.finfo(np.float64).eps)
_DEPENDENT = 64 * _EPSILON
"""A column of length one that is so close to the span of others, times their number, is in it but for rounding."""
_FAR = 1e-3
"""Reciprocal condition of the products of columns from which on their factors lose a digit and a half at most."""
_NAMED_SHARE = 1e-8
"""Columns with a smaller coefficient in a combination are not named."""
_LISTED = 5


@dataclass(frozen=True)
class ScaledTriangle:
    """The triangle of the QR factorisation ``matrix / scales = orthonormal @ triangle`` of columns of length one.

    Scaling first makes the rank, and the digits of a solution, independent of the units of the columns.
    """

    triangle: FloatArray
    scales: FloatArray

    def coefficients(self, rotated: FloatArray) -> FloatArray:
        """Return the coefficients of the columns, shape ``(d,)``, from those of the orthonormal columns."""
        return self._solution(rotated) / self.scales

    def back_rotation(self) -> FloatArray:
        """Return the matrix that `coefficients` multiplies with, shape ``(d, d)``."""
        return self.inverse_triangle / self.scales[:, np.newaxis]

    def condition(self) -> float:
        """Return the condition of the scaled columns: by how much errors in them may grow."""
        return float(np.linalg.cond(self.triangle))

    @cached_property
    def inverse_triangle(self) -> FloatArray:
        """Return the inverse of the triangle, shape ``(d, d)``."""
        return solved_one_by_one(self._solution, np.eye(len(self.scales)))

    def _solution(self, right: FloatArray) -> FloatArray:
        """Return ``triangle^-1 right``, shape ``(d,)`` or ``(d, k)``; as `solve_triangular`, without its checks."""
        # LAPACK reads columns one after the other, and in memory these are the rows.
        solution: FloatArray = scipy.linalg.lapack.dtrtrs(self.triangle.T, right, lower=1, trans=1)[0]
        return solution

    def dependence(self, labels: tuple[str, ...]) -> str | None:
        """Return a description of columns that are linear combinations of others, or None."""
        # Shorter and shorter, so that of columns that would do equally well it is the last one that is left over.
        shortened = self.triangle * np.linspace(1.0, 0.5, len(self.scales))
        triangle, pivots = scipy.linalg.qr(shortened, mode="r", pivoting=True)
        sizes = np.abs(np.diag(triangle))
        rank = int(np.sum(sizes > _DEPENDENT * len(sizes) * sizes[0]))
        if rank == len(sizes):
            return None
        shares = scipy.linalg.solve_triangular(triangle[:rank, :rank], triangle[:rank, rank:])
        kept, left_over = pivots[:rank], pivots[rank:]
        described = [
            _combination(labels[left_over[i]], [labels[k] for k in np.sort(kept[np.abs(shares[:, i]) > _NAMED_SHARE])])
            for i in np.argsort(left_over)
        ]
        more = f" and {len(described) - _LISTED} more" if len(described) > _LISTED else ""
        return "; ".join(described[:_LISTED]) + more


@dataclass(frozen=True)
class QRFactors(ScaledTriangle):
    """The thin QR factorisation of the columns of a matrix, with its orthonormal columns."""

    orthonormal: FloatArray

    @staticmethod
    def of(matrix: FloatArray) -> QRFactors:
        """Return the factorisation of `matrix`, shape ``(n, d)`` with n at least d."""
        columns, scales = _of_length_one(matrix)
        orthonormal, triangle = _qr_by_cholesky(columns) or tall_qr(columns)
        return QRFactors(triangle, scales, orthonormal)

    @cached_property
    def shares(self) -> FloatArray:
        """Return ``orthonormal @ triangle^-T``: each row's share in the coefficients of the scaled columns."""
        return rows_times(self.orthonormal, self.inverse_triangle.T)

    def effective_rows(self) -> FloatArray:
        r"""Return the effective number of rows behind each coefficient, shape ``(d,)``.

        .. math:: \frac{(\sum_j c_j^2)^2}{\sum_j c_j^4}, \qquad c_j = (X'X)^{-1} x_j,

        the share of row j in the coefficient; m rows of equal share give m.
        """
        parts = parts_of(*self.orthonormal.shape)
        sums = np.empty((2, len(parts), len(self.scales)))

        def store(number: int) -> None:
            squares = np.square(self.shares[parts[number]])
            sums[:, number] = squares.sum(axis=0), np.einsum("jp,jp->p", squares, squares)

        run_tasks([partial(store, number) for number in range(len(parts))])
        squares, fourth_powers = sums.sum(axis=1)
        effective: FloatArray = squares**2 / fourth_powers
        return effective


def _combination(label: str, others: list[str]) -> str:
    if not others:
        return f"column {label} is zero in every row"
    more = f" and {len(others) - _LISTED} more" if len(others) > _LISTED else ""
    columns = "column" if len(others) == 1 else "columns"
    return f"column {label} is a combination of {columns} {', '.join(others[:_LISTED])}{more}"


def _qr_by_cholesky(columns: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return Q and R as `tall_qr`, in a third of its time; None unless the columns are far from dependent.

    By Cholesky's factor of their products, twice (Yamamoto, Nakatsukasa, Yanagisawa and Fukaya 2015, ETNA 44): Q is
    orthonormal up to rounding then. Columns are multiplied with the inverse of R, whose condition costs digits.
    """
    n, d = columns.shape
    if n < FEWEST_ROWS * d or d**2 > NUMBERS_IN_ONE_THREAD:
        return None
    orthonormal, whole = columns, np.eye(d)
    for _ in range(2):
        products = products_with_themselves(orthonormal)
        triangle, failed = scipy.linalg.lapack.dpotrf(products)
        if failed or not scipy.linalg.lapack.dpocon(triangle, np.abs(products).sum(axis=0).max())[0] > _FAR:
            return None
        factor = ScaledTriangle(np.ascontiguousarray(triangle), np.ones(d))
        orthonormal, whole = rows_times(orthonormal, factor.inverse_triangle), factor.triangle @ whole
    return orthonormal, whole


def _of_length_one(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the columns of a matrix divided by their lengths, and these lengths."""
    peaks = ones_for_zeros(ranges(matrix).largest)
    columns, parts = np.empty(matrix.shape), parts_of(*matrix.shape)
    squares = np.empty((len(parts), matrix.shape[1]))

    def store(number: int) -> None:
        part = parts[number]
        # Two steps, since squares of very large or very small numbers would leave the range of floats.
        np.divide(matrix[part], peaks, out=columns[part])
        squares[number] = np.einsum("jp,jp->p", columns[part], columns[part])

    run_tasks([partial(store, number) for number in range(len(parts))])
    lengths = ones_for_zeros(np.sqrt(squares.sum(axis=0)))
    run_tasks([partial(np.divide, columns[part], lengths, out=columns[part]) for part in parts])
    return columns, peaks * lengths


def tall_qr(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Q, shape ``(n, d)``, and R, shape ``(d, d)``, of a matrix with n at least d.

    Blocks of rows are factorised first and then their triangles (Demmel, Grigori, Hoemmen and Langou, 2012, SIAM J.
    Sci. Comput. 34): as stable as one factorisation, and free of threads up to 73 columns.
    """
    n, d = matrix.shape
    rows = _rows_of_a_block(d)
    if n <= rows:
        q, r = np.linalg.qr(matrix)
        return q, r
    n_blocks = n // rows
    q_blocks, r_blocks = np.linalg.qr(matrix[: n_blocks * rows].reshape(n_blocks, rows, d))
    q_rest, r_rest = np.linalg.qr(matrix[n_blocks * rows :])
    q, r = tall_qr(np.concatenate([r_blocks.reshape(-1, d), r_rest]))
    joined = np.empty((n, d))
    whole, rest = joined[: n_blocks * rows].reshape(n_blocks, rows, d), joined[n_blocks * rows :]
    step = rows_of_a_product(d**2)
    for some in (slice(start, start + step) for start in range(0, rows, step)):
        np.matmul(q_blocks[:, some], q[: n_blocks * d].reshape(n_blocks, d, d), out=whole[:, some])
        np.matmul(q_rest[some], q[n_blocks * d :], out=rest[some])
    return joined, r


def tall_triangle(matrix: FloatArray) -> FloatArray:
    """Return R of `tall_qr` alone, of any number of rows n, shape ``(min(n, d), d)``."""
    d = matrix.shape[1]
    rows = _rows_of_a_block(d)
    while len(matrix) > rows:
        n_blocks = len(matrix) // rows
        triangles: Any = np.linalg.qr(matrix[: n_blocks * rows].reshape(n_blocks, rows, d), mode="r")
        matrix = np.concatenate([triangles.reshape(-1, d), matrix[n_blocks * rows :]])
    triangle: Any = np.linalg.qr(matrix, mode="r")
    return np.asarray(triangle)


def _rows_of_a_block(d: int) -> int:
    # With fewer rows than one and a half times the columns the triangles would hardly be smaller than the blocks.
    return max(NUMBERS_IN_ONE_THREAD // d, d + d // 2 + 1)
