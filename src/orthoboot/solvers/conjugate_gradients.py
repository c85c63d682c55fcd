"""Conjugate gradients: symmetric positive definite systems by products with vectors alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orthoboot.arguments import checked_count, is_real
from orthoboot.errors import ArgumentError, FitError
from orthoboot.solvers.base import FactoredMatrix, Operator, Product, Solver, indefinite, singular
from orthoboot.typing import FloatArray

_EPSILON = float(np.finfo(np.float64).eps)
_ITERATIONS_PER_UNKNOWN = 10
"""In exact arithmetic one is enough; rounding asks for more where the matrix is badly conditioned."""


@dataclass(frozen=True)
class ConjugateGradients(Solver):
    """Solve by products with vectors, for matrices too large to store, such as Hessians of many parameters.

    Hestenes and Stiefel (1952). Each solve costs one product per iteration, so "factoring" is free and solving is not.
    A direction in which the matrix is not positive is detected only if a search meets it.

    Parameters
    ----------
    damping
        Added to the diagonal; it also reduces the number of iterations.
    tolerance
        The relative residual at which the iterations stop.
    max_iterations
        The maximum number of iterations; None for ten times the number of unknowns.

    Examples
    --------
    >>> from orthoboot.solvers import ConjugateGradients, ProductOperator
    >>> factor = ConjugateGradients().factor(ProductOperator(lambda v: np.array([2.0, 5.0]) * v, 2))
    >>> factor.solve(np.array([2.0, 10.0])).round(9).tolist()
    [1.0, 2.0]
    """

    name = "cg"
    symmetric = True
    by_products = True

    tolerance: float = 1e-10
    max_iterations: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_real(self.tolerance) or not 0 < float(self.tolerance) < 1:
            raise ArgumentError(f"`tolerance` must lie in (0, 1): the relative residual; got {self.tolerance!r}.")
        if self.max_iterations is not None:
            checked_count("max_iterations", self.max_iterations, least=1)

    def factor(self, operator: Operator) -> FactoredMatrix:
        """Return the operator with the options of a solve; nothing is computed yet."""
        most = _ITERATIONS_PER_UNKNOWN * operator.size if self.max_iterations is None else self.max_iterations
        return _CGMatrix(operator, self.damping, self.tolerance, most)


@dataclass(frozen=True, eq=False)
class _CGMatrix(FactoredMatrix):
    """A matrix that conjugate gradients solve with, by its products with vectors."""

    operator: Operator
    damping: float
    tolerance: float
    max_iterations: int

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return the solutions, one right-hand side after the other; raise where the iterations fail."""
        if rhs.ndim > 1:
            return np.stack([self.solve(column) for column in rhs.T], axis=1)
        found = search(self._product, rhs, tolerance=self.tolerance, max_iterations=self.max_iterations)
        if found.flat_direction is not None:
            raise self._not_positive(found)
        if not found.residual <= self.tolerance:
            raise self._not_converged(found)
        return found.solution

    def _product(self, vector: FloatArray) -> FloatArray:
        return self.operator.product(vector) + self.damping * vector

    def _not_positive(self, found: CGResult) -> FitError:
        assert found.flat_direction is not None
        tells = indefinite if found.curvature < -_EPSILON * self.operator.size else singular
        return tells(self.operator, found.curvature, found.flat_direction)

    def _not_converged(self, found: CGResult) -> FitError:
        return FitError(
            f"conjugate gradients did not converge: after {found.iterations} iterations with {self.operator.title} "
            f"the residual is {found.residual:.2g} of the right-hand side, and `tolerance` is {self.tolerance:.2g}. "
            "The parameters have very different scales, or the data barely determine some of them: rescale the "
            'columns, use `damping`, raise `max_iterations` or `tolerance`, or use `solver="cholesky"`.'
        )


@dataclass(frozen=True, eq=False)
class CGResult:
    """The result of conjugate gradients.

    Attributes
    ----------
    solution
        The last iterate, shape ``(p,)``.
    residual
        The size of its residual relative to the right-hand side.
    iterations
        How many there were.
    flat_direction
        A direction of unit length in which the matrix is not positive, or None.
    curvature
        The curvature in that direction, as a share of the largest that was met.
    """

    solution: FloatArray
    residual: float
    iterations: int
    flat_direction: FloatArray | None = None
    curvature: float = 0.0


def search(product: Product, rhs: FloatArray, *, tolerance: float, max_iterations: int) -> CGResult:
    """Return the result of conjugate gradients: converged, or stopped early.

    scipy has the same iterations, but goes on where the curvature is negative, and what it returns is then no solution
    and no descent.
    """
    solution, residual = np.zeros_like(rhs), rhs
    goal = np.linalg.norm(rhs)
    if goal == 0:
        return CGResult(solution, 0.0, 0)
    direction, squared, largest = residual, float(residual @ residual), 0.0
    for iteration in range(max_iterations):
        image = product(direction)
        length = float(direction @ direction)
        curvature = float(direction @ image)
        largest = max(largest, abs(curvature) / length)
        if not curvature > _EPSILON * len(rhs) * largest * length:
            share = curvature / length / largest if largest else 0.0
            return CGResult(solution, float(np.sqrt(squared) / goal), iteration, direction / np.sqrt(length), share)
        distance = squared / curvature
        solution, residual = solution + distance * direction, residual - distance * image
        previous, squared = squared, float(residual @ residual)
        if np.sqrt(squared) <= tolerance * goal:
            return CGResult(solution, float(np.sqrt(squared) / goal), iteration + 1)
        direction = residual + squared / previous * direction
    return CGResult(solution, float(np.sqrt(squared) / goal), max_iterations)
