"""The factored KKT matrix: scaled, with bounded variables eliminated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orthoboot.solvers import LU, DenseOperator, FactoredMatrix
from orthoboot.typing import FloatArray, IntArray

_SINGULAR_CAUSES = (
    "Either the solution is not unique, since the objective is flat along a direction that the binding constraints "
    "leave free, or the gradients of the binding constraints are dependent. Add a small quadratic term to the "
    "objective, or drop redundant constraints."
)


def kkt_factor(matrix: FloatArray, names: tuple[str, ...], n_constraints: int) -> FactoredMatrix:
    """Return the KKT matrix ``[[H, A'], [A, 0]]``, factored; raise a `FitError` if it is singular.

    A constraint on one variable alone, such as a bound, determines it without the others. Such variables are solved
    for first, so that what a bound holds does not move, to the last bit, and the rest is smaller.

    Parameters
    ----------
    matrix
        Symmetric, shape ``(p + m, p + m)``.
    names
        What messages call the unknowns.
    n_constraints
        The number m of rows of A.
    """
    p = len(matrix) - n_constraints
    bounds, held = lone_variables(matrix[p:, :p])
    rest = np.setdiff1d(np.arange(len(matrix)), np.concatenate([held, p + bounds]))
    inner = _scaled_factor(matrix[np.ix_(rest, rest)], tuple(names[i] for i in rest), int(np.sum(rest >= p)))
    return _SchurComplement(matrix, inner, p + bounds, held, rest)


def variable_units(hessian: FloatArray) -> FloatArray:
    """Return units of the variables, shape ``(p,)``, in which no entry of the Hessian is above one.

    Each variable has its own, so that a length in metres beside one in nanometres does not look flat; one without any
    curvature takes the smallest of the others'.

    Examples
    --------
    >>> variable_units(np.array([[4.0, 0.0], [0.0, 0.0]])).tolist()
    [0.5, 0.5]
    """
    largest = np.abs(hessian).max(axis=1, initial=0.0)
    typical = largest.max(initial=0.0) or 1.0
    units: FloatArray = 1 / np.sqrt(np.where(largest > 0, largest, typical))
    return units


def lone_variables(jacobian: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the constraints that hold one variable alone, and these variables; one constraint for each of them."""
    single = np.flatnonzero(np.count_nonzero(jacobian, axis=1) == 1)
    held, first = np.unique(np.argmax(jacobian[single] != 0, axis=1), return_index=True)
    return single[first], held


@dataclass(frozen=True)
class _SchurComplement(FactoredMatrix):
    """A symmetric matrix K with the held variables and the multipliers of their bounds eliminated."""

    matrix: FloatArray
    inner: FactoredMatrix
    bounds: IntArray
    held: IntArray
    rest: IntArray

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return the held variables from their bounds, then the rest, then the multipliers of the bounds."""
        entries = self.matrix[self.bounds, self.held]
        solution = np.zeros_like(rhs)
        solution[self.held] = (rhs[self.bounds].T / entries).T
        solution[self.rest] = self.inner.solve((rhs - self.matrix[:, self.held] @ solution[self.held])[self.rest])
        solution[self.bounds] = ((rhs - self.matrix @ solution)[self.held].T / entries).T
        return solution


def kkt_scales(matrix: FloatArray, n_constraints: int) -> FloatArray:
    """Return the diagonal D, shape ``(p + m,)``, for which the Hessian and the gradients in ``D K D`` have size one.

    Examples
    --------
    >>> kkt_scales(np.array([[4.0, 10.0], [10.0, 0.0]]), 1).tolist()
    [0.5, 0.2]
    """
    p = len(matrix) - n_constraints
    units = variable_units(matrix[:p, :p])
    lengths = np.linalg.norm(matrix[p:, :p] * units, axis=1)
    return np.concatenate([units, 1 / np.where(lengths > 0, lengths, 1.0)])


def _scaled_factor(matrix: FloatArray, names: tuple[str, ...], n_constraints: int) -> FactoredMatrix:
    """Return the factors of ``D K D``: the Hessian and each constraint's gradient have size one on both sides of it.

    Then the units of the objective and of the constraints do not decide what counts as singular.
    """
    if not len(matrix):
        return _EmptyFactors()
    scales = kkt_scales(matrix, n_constraints)
    operator = DenseOperator(
        matrix * np.outer(scales, scales), title="the KKT matrix", names=names, singular_causes=_SINGULAR_CAUSES
    )
    return _Scaled(LU().factor(operator), scales)


@dataclass(frozen=True)
class _Scaled(FactoredMatrix):
    """The factors of ``D K D``, D diagonal and K symmetric."""

    factor: FactoredMatrix
    scales: FloatArray

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return ``D (D K D)^-1 D rhs``."""
        return (self.scales * self.factor.solve((self.scales * rhs.T).T).T).T


class _EmptyFactors(FactoredMatrix):
    """The factors of a matrix without rows, at a vertex of bounds."""

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return the empty solution."""
        return rhs
