"""Cholesky factors, for symmetric positive definite matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from orthoboot.errors import FitError
from orthoboot.solvers.base import FactoredMatrix, Operator, Solver, indefinite, is_singular, singular
from orthoboot.typing import FloatArray


@dataclass(frozen=True)
class Cholesky(Solver):
    """The factors ``L L'`` of a symmetric matrix, which exist only if it is positive definite.

    The matrix is scaled to a diagonal of ones first, so that the test for singularity does not depend on the units of
    the parameters.

    Examples
    --------
    >>> from orthoboot.solvers import Cholesky, DenseOperator
    >>> factor = Cholesky().factor(DenseOperator([[4.0, 2.0], [2.0, 3.0]]))
    >>> factor.solve(np.array([6.0, 5.0])).round(12).tolist()
    [1.0, 1.0]
    """

    name = "cholesky"
    symmetric = True

    def factor(self, operator: Operator) -> FactoredMatrix:
        """Return the factors; raise a `FitError` if the matrix is singular or indefinite."""
        matrix = self.damped(operator)
        diagonal = np.abs(np.diagonal(matrix))
        scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        scaled = matrix * scale * scale[:, np.newaxis]
        factor, failed_at = scipy.linalg.lapack.dpotrf(scaled, lower=True)
        if failed_at or is_singular(_reciprocal_condition(factor, scaled), operator.size):
            raise _diagnosis(operator, scaled, scale)
        return _CholeskyFactors(factor, scale)


@dataclass(frozen=True, eq=False)
class _CholeskyFactors(FactoredMatrix):
    """The factor of ``D A D``, D diagonal."""

    factor: FloatArray
    scale: FloatArray

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return ``D (D A D)^-1 D rhs``."""
        solution: FloatArray = scipy.linalg.cho_solve((self.factor, True), (self.scale * rhs.T).T)
        return (self.scale * solution.T).T


def _reciprocal_condition(factor: FloatArray, scaled: FloatArray) -> float:
    return float(scipy.linalg.lapack.dpocon(factor, np.abs(scaled).sum(axis=0).max(), uplo="L")[0])


def _diagnosis(operator: Operator, scaled: FloatArray, scale: FloatArray) -> FitError:
    values, directions = scipy.linalg.eigh(scaled)
    largest = np.abs(values).max() or 1.0
    direction = directions[:, 0] * scale
    share, direction = values[0] / largest, direction / np.linalg.norm(direction)
    tells = indefinite if share < 0 and not is_singular(-share, operator.size) else singular
    return tells(operator, share, direction)
