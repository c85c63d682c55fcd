"""The interface of linear solvers: factor an operator once, solve with it often."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from orthoboot.arguments import checked_nonnegative
from orthoboot.errors import FitError
from orthoboot.typing import FloatArray

Product = Callable[[FloatArray], FloatArray]
"""Takes a vector ``(p,)`` and returns the matrix times it."""

_EPSILON = float(np.finfo(np.float64).eps)
_LISTED = 6
"""Parameters that a message names before it counts the others."""
_SMALL_LOADING = 0.1
"""Share of the largest loading below which a parameter is not named."""

_SINGULAR_CAUSES = (
    "Likely causes: collinear columns, a parameter that is not identified or does not enter, fewer rows than "
    "parameters, a derivative that `float()`, `int()` or `.item()` inside the loss cut, or a loss without curvature: "
    "one without lower bound, as a linear one, or of absolute values or steps (smooth it, as Huber's loss does). Drop "
    "or combine parameters, add a `penalty`, or give the solver `damping`."
)
_INDEFINITE_CAUSES = (
    "The point is then no minimum: a saddle, an optimiser that stopped early, or a loss that is not convex there. "
    'Start from a better `init`, add a `penalty`, or give the solver `damping`; `solver="lu"` takes any stationary '
    "point."
)


class Operator(ABC):
    """A square matrix of size p, given by its entries or by its product with a vector.

    Attributes
    ----------
    title
        The name of the matrix in messages.
    names
        The names of its p unknowns in messages.
    singular_causes
        The causes and remedies that messages give if it has no inverse.
    """

    size: int
    title: str
    names: tuple[str, ...]
    singular_causes: str

    @abstractmethod
    def product(self, vector: FloatArray) -> FloatArray:
        """Return the matrix times `vector`, shape ``(p,)``."""

    @abstractmethod
    def matrix(self) -> FloatArray:
        """Return the matrix, shape ``(p, p)``."""


class DenseOperator(Operator):
    """A matrix given by its numbers."""

    def __init__(
        self,
        numbers: FloatArray,
        *,
        title: str = "the Hessian",
        names: tuple[str, ...] | None = None,
        singular_causes: str = _SINGULAR_CAUSES,
    ) -> None:
        self.numbers = np.asarray(numbers, dtype=np.float64)
        self.size = len(self.numbers)
        self.title = title
        self.names = parameter_names(self.size) if names is None else names
        self.singular_causes = singular_causes

    def product(self, vector: FloatArray) -> FloatArray:
        """Return the matrix times `vector`."""
        product: FloatArray = self.numbers @ vector
        return product

    def matrix(self) -> FloatArray:
        """Return the numbers."""
        return self.numbers


class ProductOperator(Operator):
    """A matrix given by its products with vectors."""

    def __init__(
        self,
        product: Product,
        size: int,
        *,
        title: str = "the Hessian",
        names: tuple[str, ...] | None = None,
        singular_causes: str = _SINGULAR_CAUSES,
    ) -> None:
        self._product = product
        self.size = size
        self.title = title
        self.names = parameter_names(size) if names is None else names
        self.singular_causes = singular_causes

    def product(self, vector: FloatArray) -> FloatArray:
        """Return the matrix times `vector`."""
        return self._product(vector)

    def matrix(self) -> FloatArray:
        """Return the products with the unit vectors."""
        return np.stack([self._product(unit) for unit in np.eye(self.size)], axis=1)


class FactoredMatrix(ABC):
    """A factored operator, ready for solving."""

    @abstractmethod
    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x with ``A x = rhs``, for one right-hand side ``(p,)`` or several in columns ``(p, k)``."""

    def solve_transposed(self, rhs: FloatArray) -> FloatArray:
        """Return x with ``A' x = rhs``: for a symmetric operator the same."""
        return self.solve(rhs)


@dataclass(frozen=True)
class Solver(ABC):
    """A solver of linear systems, with its options.

    Parameters
    ----------
    damping
        A number, at least zero, that is added to the diagonal. The inverse of a nearly singular matrix then exists, but
        is too small along the directions that the data hardly determine.
    """

    name: ClassVar[str]
    symmetric: ClassVar[bool]
    """Whether it takes symmetric positive definite operators alone."""
    by_products: ClassVar[bool] = False
    """Whether products with vectors are all it needs."""

    damping: float = 0.0

    def __post_init__(self) -> None:
        checked_nonnegative("damping", self.damping)

    @abstractmethod
    def factor(self, operator: Operator) -> FactoredMatrix:
        """Return the factored `operator`; raise a `FitError` if it cannot be factored."""

    def damped(self, operator: Operator) -> FloatArray:
        """Return the matrix with the damping on its diagonal; raise if it is not finite."""
        matrix = operator.matrix() + self.damping * np.eye(operator.size)
        if not np.isfinite(matrix).all():
            raise FitError(
                f"{operator.title} is not finite at {_unfinished(matrix, operator)}. The functions have no second "
                "derivative there, or their numbers overflow: rescale the data, or start from another `init`."
            )
        return matrix


def parameter_names(size: int) -> tuple[str, ...]:
    """Return names for parameters without names."""
    return tuple(f"theta[{position}]" for position in range(size))


def is_singular(reciprocal_condition: float, size: int) -> bool:
    """Return whether a scaled matrix is singular as far as double precision can tell."""
    return not reciprocal_condition > 4 * size * _EPSILON


def singular(operator: Operator, smallest: float, direction: FloatArray) -> FitError:
    """Return the error for a matrix without an inverse.

    Parameters
    ----------
    operator
        The matrix.
    smallest
        Its smallest eigenvalue or singular value as a share of the largest, after scaling.
    direction
        The unknowns' part in the direction that belongs to it, shape ``(p,)``.
    """
    return FitError(
        f"{operator.title} is singular: its smallest eigenvalue is {abs(smallest):.2g} of its largest, along "
        f"{loadings(direction, operator.names)}, which the data do not determine. {operator.singular_causes}"
    )


def indefinite(operator: Operator, smallest: float, direction: FloatArray) -> FitError:
    """Return the error for a symmetric matrix with a negative eigenvalue; parameters as for `singular`."""
    return FitError(
        f"{operator.title} is indefinite: an eigenvalue is {smallest:.2g} of the largest, along "
        f"{loadings(direction, operator.names)}, so the function decreases in that direction. {_INDEFINITE_CAUSES}"
    )


def loadings(direction: FloatArray, names: tuple[str, ...]) -> str:
    """Return the combination of parameters that a direction is, the largest first.

    Examples
    --------
    >>> loadings(np.array([0.0, 0.6, -0.8]), ("a", "b", "c"))
    '0.8 c - 0.6 b'
    >>> loadings(np.array([0.0, 1.0, 0.0]), ("a", "b", "c"))
    'b'
    """
    order = np.argsort(-np.abs(direction), kind="stable")
    direction = direction * np.sign(direction[order[0]])
    large = [int(j) for j in order if abs(direction[j]) >= _SMALL_LOADING * abs(direction[order[0]])]
    if len(large) == 1:
        return names[large[0]]
    terms = [f"{'-' if direction[j] < 0 else '+'} {abs(direction[j]):.2g} {names[j]}" for j in large[:_LISTED]]
    others = f" and {len(large) - _LISTED} more" if len(large) > _LISTED else ""
    return " ".join(terms).removeprefix("+ ") + others


def _unfinished(matrix: FloatArray, operator: Operator) -> str:
    row, column = np.argwhere(~np.isfinite(matrix))[0]
    return f"({operator.names[row]}, {operator.names[column]})"
