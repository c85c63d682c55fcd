"""The matrix of a regression: read from the data, checked, and rewritten in an orthonormal basis.

Replicates must have the same bits whatever the batch and however many threads the linear algebra library starts. It
starts none for products of few numbers, so here long products are taken block by block, and systems are solved for one
right-hand side at a time: for many it shares them out among its threads, however small they are, and how a column is
rounded may depend on which others a thread has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy

from orthoboot.arrays.passes import ranges
from orthoboot.arrays.row_blocks import (
    FEWEST_ROWS,
    blocks_of,
    parts_of,
    products_with_themselves,
    rows_of_a_product,
    rows_times,
)
from orthoboot.arrays.threads import run_tasks
from orthoboot.arrays.units import ones_for_zeros
from orthoboot.data import Data
from orthoboot.errors import DataError, FitError
from orthoboot.typing import FloatArray

_NUMBERS_IN_ONE_THREAD = 1 << 13
"""OpenBLAS starts no threads for the products of matrices and vectors inside a factorisation of so many numbers."""
_COLUMNS_OF_A_STRIP = 24
"""Columns from which on a strip of them is worth a product of its own."""
_NUMBERS_IN_CACHE = 1 << 17
"""Numbers of a table that the processor keeps at hand from one operation to the next: a megabyte."""

_EPSILON = float(np.finfo(np.float64).eps)
_DEPENDENT = 64 * _EPSILON
"""A column of length one that is so close to the span of others, times their number, is in it but for rounding."""
_FAR = 1e-3
"""Reciprocal condition of the products of columns from which on their factors lose a digit and a half at most."""
_NAMED_SHARE = 1e-8
"""Columns with a smaller coefficient in a combination are not named."""
_LISTED = 5


@dataclass(frozen=True)
class RegressionRows:
    """The rows of a regression: X, y and case weights.

    Attributes
    ----------
    X
        The columns, the one of the intercept first where there is one, shape ``(n, d)``.
    response
        Shape ``(n,)``.
    case_weights
        Shape ``(n,)``; ones where none were given.
    names
        Of the columns.
    labels
        What messages call them: the name of a column in quotes, or its position in X.
    """

    X: FloatArray
    response: FloatArray
    case_weights: FloatArray
    names: tuple[str, ...]
    labels: tuple[str, ...]


def regression_rows(name: str, data: Data, *, intercept: bool) -> RegressionRows:
    """Return the arrays of `data` as X, y and case weights; raise a `DataError` if they are invalid."""
    check_tables(name, data)
    case_weights = arrays_of(data, intercept=False).case_weights
    broken = case_weights <= 0
    if broken.any():
        first = int(np.argmax(broken))
        raise refused_case_weights(name, int(broken.sum()), first, case_weights[first])
    names, labels = column_names(name, data, intercept=intercept)
    check_enough_rows(name, data.sizes[0], len(names), intercept=intercept)
    return RegressionRows(*arrays_of(data, intercept=intercept), names, labels)


class RegressionArrays(NamedTuple):
    """X, y and the case weights of some rows, as in `RegressionRows`."""

    X: FloatArray
    response: FloatArray
    case_weights: FloatArray


def arrays_of(data: Data, *, intercept: bool) -> RegressionArrays:
    """Return X, y and the case weights of the rows of `data`, whose tables are right."""
    X = data.arrays[0].reshape(data.sizes[0], -1)
    response, *others = (array.reshape(-1) for array in data.arrays[1:])
    with_intercept = np.column_stack([np.ones(len(X)), X]) if intercept else X
    return RegressionArrays(with_intercept, response, others[0] if others else np.ones(len(X)))


def column_names(name: str, data: Data, *, intercept: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the columns, and what messages call them."""
    given, positions = data.columns[0], range(int(np.prod(data.row_shapes[0], dtype=int)))
    names = given or tuple(f"{name}[{i}]" for i in positions)
    labels = tuple(map(repr, given or positions))
    return (("intercept", *names), ("'intercept'", *labels)) if intercept else (names, labels)


def check_enough_rows(name: str, n_rows: int, n_columns: int, *, intercept: bool) -> None:
    """Raise where there are fewer rows than coefficients."""
    if n_columns > n_rows:
        raise DataError(
            f"`{name}` needs at least as many rows as coefficients; got {n_rows} rows and {n_columns} columns"
            f"{', that of the intercept among them' if intercept else ''}. Select fewer columns, or get more rows."
        )


def check_tables(name: str, data: Data) -> None:
    """Raise unless the tables are X, y and maybe case weights, of the same rows."""
    if len(data.sizes) > 1:
        raise DataError(
            f"`{name}` takes `(X, y)` with `paired=True`, so that the rows are drawn together; got {len(data.sizes)} "
            "independent samples."
        )
    if len(data.tables) not in (2, 3):
        raise DataError(
            f"`{name}` takes `(X, y)` or `(X, y, case_weights)`; got {len(data.tables)} array(s). Put the explanatory "
            "columns side by side in X, and pass the response separately."
        )
    if len(data.row_shapes[0]) > 1:
        raise DataError(f"`{name}` takes X with rows and columns; got shape {(data.sizes[0], *data.row_shapes[0])}.")
    for what, shape in zip(("the response", "the case weights"), data.row_shapes[1:], strict=False):
        if np.prod(shape, dtype=int) != 1:
            raise DataError(
                f"`{name}` takes {what} as one number per row; got shape {(data.sizes[0], *shape)}. The arrays come in "
                "the order `(X, y, case_weights)`."
            )


def refused_case_weights(name: str, n_broken: int, first: int, weight: float) -> DataError:
    """Return the error for case weights that are not positive."""
    return DataError(
        f"`{name}` takes positive case weights; got {n_broken} that are not, the first in row {first} (counted from "
        f"0): {weight:g}. Drop rows of weight zero."
    )


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
        return _solved(self._solution, np.eye(len(self.scales)))

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
    if n < FEWEST_ROWS * d or d**2 > _NUMBERS_IN_ONE_THREAD:
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
    return max(_NUMBERS_IN_ONE_THREAD // d, d + d // 2 + 1)


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
        self._at_once = self._block * max(_NUMBERS_IN_CACHE // (self._block * width), 1)
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


def positive_solution(matrix: FloatArray, right: FloatArray, *, least_condition: float) -> FloatArray | None:
    """Return ``matrix^-1 right`` of a positive definite matrix; None where its reciprocal condition is too small.

    `right` has shape ``(d,)`` or ``(d, k)``.
    """
    triangle, failed = scipy.linalg.lapack.dpotrf(matrix, lower=1)
    if failed:
        return None
    reciprocal_condition, _ = scipy.linalg.lapack.dpocon(triangle, np.abs(matrix).sum(axis=0).max(), uplo="L")
    if not reciprocal_condition > least_condition:
        return None
    return _solved(lambda columns: scipy.linalg.lapack.dpotrs(triangle, columns, lower=1)[0], right)


def _solved(solve: Callable[[FloatArray], FloatArray], right: FloatArray) -> FloatArray:
    """Return the solutions for right-hand sides ``(d,)`` or ``(d, k)``, one by one where that avoids BLAS threads."""
    if right.ndim == 1 or len(right) ** 2 > _NUMBERS_IN_ONE_THREAD:
        return solve(right)
    return np.column_stack([solve(column) for column in right.T])


def factor_of_data(name: str, rows: RegressionRows) -> QRFactors:
    """Return the factorisation of the weighted columns; raise a `DataError` where they are dependent."""
    is_weighted = (rows.case_weights != 1).any()
    factor = QRFactors.of(np.sqrt(rows.case_weights)[:, np.newaxis] * rows.X if is_weighted else rows.X)
    check_independent(name, factor, rows.labels)
    return factor


def check_independent(name: str, factor: ScaledTriangle, labels: tuple[str, ...]) -> None:
    """Raise a `DataError` where the columns of the data are dependent."""
    dependence = factor.dependence(labels)
    if dependence is not None:
        raise DataError(
            f"`{name}` needs linearly independent columns, else the coefficients are not unique; {dependence}. Drop a "
            "column of each combination: for categories leave one out, and with `intercept=True` pass no constant "
            "column."
        )


def factor_of_resample(rows: RegressionRows, weights: FloatArray) -> QRFactors:
    """Return the factorisation on a resample; raise a `FitError` where its rows leave the columns dependent."""
    factor = QRFactors.of(np.sqrt(rows.case_weights * weights)[:, np.newaxis] * rows.X)
    check_independent_on_resample(factor, rows.labels)
    return factor


def check_independent_on_resample(factor: ScaledTriangle, labels: tuple[str, ...]) -> None:
    """Raise a `FitError` where the rows of a resample leave the columns dependent."""
    dependence = factor.dependence(labels)
    if dependence is not None:
        raise FitError(
            f"the coefficients are not unique, since {dependence} in the rows drawn. Some resamples lack the few rows "
            "in which a column differs from a combination of the others; merge rare categories, or draw within them "
            "with `strata=`"
        )
