"""Cross products given by what they are products of: factored without forming them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from orthoboot.solvers.base import FactoredMatrix
from orthoboot.typing import FloatArray

_LEAST_CONDITION = 1e-12
"""Reciprocal condition of the scaled columns below which too few digits would be left."""


@dataclass(frozen=True, eq=False)
class TriangularFactors(FactoredMatrix):
    """The matrix ``A'A = D R'R D``, D diagonal and R from the QR factorisation of the scaled columns of A.

    Its condition is the square of that of R: columns far from zero beside an intercept, such as years or timestamps,
    leave R half of its digits where the products have none.
    """

    triangle: FloatArray
    scale: FloatArray

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return ``D^-1 R^-1 R'^-1 D^-1 rhs``."""
        inner = scipy.linalg.solve_triangular(self.triangle, (rhs.T / self.scale).T, trans="T")
        solution: FloatArray = scipy.linalg.solve_triangular(self.triangle, inner)
        return (solution.T / self.scale).T


def triangular_factors(columns: FloatArray) -> TriangularFactors | None:
    """Return the factors of ``A'A`` for columns A ``(m, p)``, or None where they are dependent.

    Examples
    --------
    >>> factor = triangular_factors(np.array([[1e9, 1.0], [1e9 + 1, 1.0], [1e9 + 2, 1.0]]))
    >>> round(float(factor.solve(np.array([1.0, 0.0]))[0]), 5)  # one over the sum of squared deviations
    0.5
    """
    scale = np.linalg.norm(columns, axis=0)
    if len(columns) < columns.shape[1] or not np.isfinite(scale).all() or not (scale > 0).all():
        return None
    triangle = np.asarray(np.linalg.qr(columns / scale, mode="r"), dtype=np.float64)
    condition, _ = scipy.linalg.lapack.dtrcon(triangle)
    return TriangularFactors(triangle, scale) if condition > _LEAST_CONDITION else None
