"""Many small linear systems, solved side by side."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from orthoboot.typing import FloatArray

REGULAR_PIVOT = 1e-14
"""Share of its column's square below which a pivot is rounding."""
_LANES = 16
"""Numbers that no processor has more of in a register."""


def positive_solutions(matrices: FloatArray, right: FloatArray, *, least_pivot: float = REGULAR_PIVOT) -> FloatArray:
    """Return ``matrix^-1 right`` for many matrices, shape ``(B, d)``; NaN where one is not positive definite.

    By Cholesky's factors, column by column for all matrices together. A pivot is what is left of a column's square
    once it is freed of those before it, so that a share of it says in any units how close to singular a matrix is. Each
    matrix is treated alike whatever the others, to the last bit.

    Parameters
    ----------
    matrices, right
        Shapes ``(B, d, d)`` and ``(B, d)``.
    least_pivot
        The share of its column's square below which a pivot is taken for zero.

    Examples
    --------
    >>> positive_solutions(np.array([[[4.0, 2.0], [2.0, 5.0]], [[1.0, 2.0], [2.0, 1.0]]]), np.ones((2, 2)))
    array([[0.1875, 0.125 ],
           [   nan,    nan]])
    """
    number, d = right.shape
    # The matrices side by side in memory, so that each operation is one of long stretches; filled up to whole
    # registers of the processor, since what is left over may be rounded in another way.
    filled = -(-number // _LANES) * _LANES
    factor, solution = np.zeros((d, d, filled)), np.zeros((d, filled))
    factor[:, :, :number], solution[:, :number] = matrices.transpose(1, 2, 0), right.T
    with np.errstate(all="ignore"):
        for j in range(d):
            column = factor[j:, j] - np.einsum("ikb,kb->ib", factor[j:, :j], factor[j, :j])
            pivot = np.where(column[0] > least_pivot * factor[j, j], column[0], np.nan)
            factor[j:, j] = column / np.sqrt(pivot)
            solution[j] = (solution[j] - np.einsum("kb,kb->b", factor[j, :j], solution[:j])) / factor[j, j]
        for j in reversed(range(d)):
            solution[j] = (solution[j] - np.einsum("kb,kb->b", factor[j + 1 :, j], solution[j + 1 :])) / factor[j, j]
    return np.ascontiguousarray(solution[:, :number].T)


def solutions(matrices: FloatArray, right: FloatArray) -> FloatArray:
    """Return ``matrix^-1 right`` for many matrices, shape ``(B, d)``; NaN where one is singular or not finite.

    Parameters
    ----------
    matrices, right
        Shapes ``(B, d, d)`` and ``(B, d)``.

    Examples
    --------
    >>> solutions(np.array([[[0.0, 2.0], [1.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]]]), np.ones((2, 2)))
    array([[1. , 0.5],
           [nan, nan]])
    """
    usable = np.isfinite(matrices).all(axis=(1, 2)) & np.isfinite(right).all(axis=1)
    found = np.full(right.shape, np.nan)
    try:
        found[usable] = np.linalg.solve(matrices[usable], right[usable][..., np.newaxis])[..., 0]
    except np.linalg.LinAlgError:  # of one of them, which is not named
        for place in np.flatnonzero(usable):
            with suppress(np.linalg.LinAlgError):
                found[place] = np.linalg.solve(matrices[place], right[place])
    return found
