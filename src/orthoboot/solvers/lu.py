"""LU factors with pivoting, for any square matrix that has an inverse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from orthoboot.solvers.base import FactoredMatrix, Operator, Solver, is_singular, singular
from orthoboot.typing import FloatArray, IntArray


@dataclass(frozen=True)
class LU(Solver):
    """Gaussian elimination: for matrices that are not symmetric, or symmetric and not definite.

    Rows and columns are scaled to a largest entry of one first, so that the test for singularity does not depend on the
    units of the unknowns.

    Examples
    --------
    >>> from orthoboot.solvers import LU, DenseOperator
    >>> factor = LU().factor(DenseOperator([[0.0, 2.0], [1.0, 0.0]]))
    >>> factor.solve(np.array([4.0, 3.0])).tolist(), factor.solve_transposed(np.array([4.0, 3.0])).tolist()
    ([3.0, 2.0], [1.5, 4.0])
    """

    name = "lu"
    symmetric = False

    def factor(self, operator: Operator) -> FactoredMatrix:
        """Return the factors; raise a `FitError` if the matrix is singular."""
        matrix = self.damped(operator)
        by_row = _scales(np.abs(matrix).max(axis=1))
        by_column = _scales((np.abs(matrix) * by_row[:, np.newaxis]).max(axis=0))
        scaled = matrix * by_row[:, np.newaxis] * by_column
        factors, pivots, _ = scipy.linalg.lapack.dgetrf(scaled)
        if is_singular(_reciprocal_condition(factors, scaled), operator.size):
            raise _diagnosis(operator, scaled, by_column)
        return _LUFactors(factors, pivots, by_row, by_column)


@dataclass(frozen=True, eq=False)
class _LUFactors(FactoredMatrix):
    """The factors of ``R A C``, R and C diagonal."""

    factors: FloatArray
    pivots: IntArray
    by_row: FloatArray
    by_column: FloatArray

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return ``C (R A C)^-1 R rhs``."""
        return self._solved(rhs, self.by_row, self.by_column, transposed=False)

    def solve_transposed(self, rhs: FloatArray) -> FloatArray:
        """Return ``R (C A' R)^-1 C rhs``."""
        return self._solved(rhs, self.by_column, self.by_row, transposed=True)

    def _solved(self, rhs: FloatArray, before: FloatArray, after: FloatArray, *, transposed: bool) -> FloatArray:
        # A copy: scipy counts the pivots up for LAPACK and down again, in place, while another thread may solve.
        pivots = self.pivots.copy()
        solution: FloatArray = scipy.linalg.lapack.dgetrs(self.factors, pivots, (before * rhs.T).T, trans=transposed)[0]
        return (after * solution.T).T


def _scales(largest: FloatArray) -> FloatArray:
    """Return factors that scale each largest entry to one; a row of zeros is not scaled."""
    return 1 / np.where(largest > 0, largest, 1.0)


def _reciprocal_condition(factors: FloatArray, scaled: FloatArray) -> float:
    return float(scipy.linalg.lapack.dgecon(factors, np.abs(scaled).sum(axis=0).max())[0])


def _diagnosis(operator: Operator, scaled: FloatArray, by_column: FloatArray) -> Exception:
    _, values, directions = scipy.linalg.svd(scaled)
    direction = directions[-1] * by_column
    return singular(operator, values[-1] / values[0] if values[0] else 0.0, direction / np.linalg.norm(direction))
