"""Systems with a small positive definite matrix, without threads of the linear algebra library."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy

from orthoboot.typing import FloatArray

NUMBERS_IN_ONE_THREAD = 1 << 13
"""OpenBLAS starts no threads for the products of matrices and vectors inside a factorisation of so many numbers."""


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
    return solved_one_by_one(lambda columns: scipy.linalg.lapack.dpotrs(triangle, columns, lower=1)[0], right)


def solved_one_by_one(solve: Callable[[FloatArray], FloatArray], right: FloatArray) -> FloatArray:
    """Return the solutions for right-hand sides ``(d,)`` or ``(d, k)``, one by one where that avoids BLAS threads."""
    if right.ndim == 1 or len(right) ** 2 > NUMBERS_IN_ONE_THREAD:
        return solve(right)
    return np.column_stack([solve(column) for column in right.T])
