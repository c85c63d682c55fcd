"""The Lagrangian of a constrained problem: the user's functions, checked, and their derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np

from orthoboot.autodiff import Autodiff, NumpyFunction, PackageFunction
from orthoboot.errors import StatisticError, first_line
from orthoboot.typing import FloatArray


class LagrangianPrograms:
    """The functions of a problem and the derivatives of their Lagrangian, compiled once for all data.

    Parameters
    ----------
    library
        The package that the functions are written in.
    objective, constraints
        Each takes x and xi; the objective returns one number of the package, a constraint a vector.
    n_variables
        The length p of x.
    """

    def __init__(
        self, library: Autodiff, objective: PackageFunction, *constraints: PackageFunction, n_variables: int
    ) -> None:
        def joined(x: Any, xi: Any) -> Any:
            return library.joined([constraint(x, xi) for constraint in constraints])

        def lagrangian(point: Any, xi: Any) -> Any:
            x, multipliers = point[:n_variables], point[n_variables:]
            return objective(x, xi) + (multipliers * joined(x, xi)).sum() if constraints else objective(x, xi)

        def of_everything(point: Any, like_xi: Any) -> Any:
            return lagrangian(point[: -len(like_xi)], point[-len(like_xi) :])

        def along_directions(point: Any, xi: Any, directions: Any) -> Any:
            r = directions.shape[1]
            return lagrangian(point[:-r], xi + directions @ point[-r:])

        self.objective = library.function(objective)
        self.constraints = tuple(map(library.function, constraints))
        self.jacobian = library.jacobian(joined)
        self.matrix = library.hessian(lagrangian)
        self.gradient = library.gradient(of_everything)
        self.product = library.hessian_product(of_everything)
        self.curvature = library.hessian(along_directions)
        self.objectives = library.side_by_side(objective)
        self.gradients = library.side_by_side(lagrangian, 1)
        self.matrices = library.side_by_side(lagrangian, 2)


class Lagrangian:
    r"""The function :math:`L(x, \lambda, \xi) = f(x, \xi) + \lambda \cdot c(x, \xi)` and its derivatives.

    c are the equality constraints and after them the inequality constraints. The KKT conditions of a solution are that
    the derivative of L by ``(x, lambda)`` vanishes, without the inequalities that do not bind; the matrix of Newton's
    method on them is the second derivative (``appendix: constrained optimization``).

    Parameters
    ----------
    library
        The package that f and c are written in.
    objective
        ``f(x, xi)``, as the user wrote it.
    constraints
        The functions that c is made of by the names of their arguments; each returns a number, a vector, or a list.
    x, xi
        A point at which the functions are tried.
    """

    def __init__(
        self,
        library: Autodiff,
        objective: PackageFunction,
        constraints: Mapping[str, PackageFunction],
        x: FloatArray,
        xi: FloatArray,
    ) -> None:
        self.library = library
        self.n_variables = len(x)
        self._objective = objective
        self._constraints = dict(constraints)
        self._example = (x, xi)

    @cached_property
    def programs(self) -> LagrangianPrograms:
        """Return the compiled functions; raise if one of them fails at the example.

        Compiling costs more than solving, so that programs are kept, by the steps that the functions take: a function
        written anew is known again, and one that names a number which has changed is not mistaken.
        """
        library, example = self.library, self._example
        value = _traced("objective", library, partial(_number, library, self._objective), *example)
        written = [(name, partial(_vector, library, name, c)) for name, c in self._constraints.items()]
        parts = [_traced(name, library, constraint, *example) for name, constraint in written]
        return library.compiled(LagrangianPrograms, value, *parts, n_variables=self.n_variables)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without compiled programs, which another process compiles for itself."""
        state = dict(vars(self))
        state.pop("programs", None)
        return state

    def objective(self, x: FloatArray, xi: FloatArray) -> float:
        """Return f."""
        return float(self.programs.objective(x, xi))

    def constraints(self, x: FloatArray, xi: FloatArray) -> FloatArray:
        """Return c, shape ``(m,)``."""
        return np.concatenate([np.empty(0), *(c(x, xi) for c in self.programs.constraints)])

    def jacobian(self, x: FloatArray, xi: FloatArray) -> FloatArray:
        """Return the derivative of c by x, shape ``(m, p)``."""
        return self.programs.jacobian(x, xi) if self._constraints else np.empty((0, self.n_variables))

    def gradient(self, x: FloatArray, multipliers: FloatArray, xi: FloatArray) -> FloatArray:
        """Return the derivative of L by ``(x, lambda, xi)``, shape ``(p + m + q,)``."""
        return self.programs.gradient(np.concatenate([x, multipliers, xi]), xi)

    def matrix(self, x: FloatArray, multipliers: FloatArray, xi: FloatArray) -> FloatArray:
        """Return the second derivative of L by ``(x, lambda)``, shape ``(p + m, p + m)``."""
        return self.programs.matrix(np.concatenate([x, multipliers]), xi)

    def objectives(self, points: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return f at many x ``(B, p)``, each with a xi of its own ``(B, q)``, shape ``(B,)``."""
        return self.programs.objectives(points, parameters)

    def gradients(self, points: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return the derivative of L by ``(x, lambda)`` at many of them, each with its xi, shape ``(B, p + m)``."""
        return self.programs.gradients(points, parameters)

    def matrices(self, points: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return the second derivative of L by ``(x, lambda)`` at many of them, shape ``(B, p + m, p + m)``."""
        return self.programs.matrices(points, parameters)

    def mixed_product(
        self, x: FloatArray, multipliers: FloatArray, xi: FloatArray, direction: FloatArray
    ) -> FloatArray:
        """Return ``direction . (derivative of the KKT conditions by xi)``, shape ``(q,)``, in one pass whatever q."""
        product = self.programs.product(
            np.concatenate([direction, np.zeros(len(xi))]), np.concatenate([x, multipliers, xi]), xi
        )
        return product[-len(xi) :]

    def curvature(
        self, x: FloatArray, multipliers: FloatArray, xi: FloatArray, directions: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the mixed second derivatives of L along directions of xi, and its own ones.

        Parameters
        ----------
        x, multipliers, xi
            The point.
        directions
            In columns, shape ``(q, r)``; more than p + m are taken in blocks, so that what is held stays small.

        Returns
        -------
        The derivative of the KKT conditions along each direction, ``(p + m, r)``, and ``u' L_xixi u``, ``(r,)``.
        """
        size = len(x) + len(multipliers)
        blocks = [
            self._curvature_of_block(x, multipliers, xi, directions[:, start : start + size])
            for start in range(0, directions.shape[1], size)
        ]
        return np.hstack([mixed for mixed, _ in blocks]), np.concatenate([own for _, own in blocks])

    def _curvature_of_block(
        self, x: FloatArray, multipliers: FloatArray, xi: FloatArray, directions: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        size, r = len(x) + len(multipliers), directions.shape[1]
        hessian = self.programs.curvature(np.concatenate([x, multipliers, np.zeros(r)]), xi, directions)
        return hessian[:size, size:], np.diagonal(hessian)[size:]

    def checked_lengths(self, x: FloatArray, xi: FloatArray) -> dict[str, int]:
        """Return the number of constraints of each function; raise if a function is invalid at `x`."""
        programs = self.programs
        _checked_value("objective", programs.objective, x, xi)
        named = zip(self._constraints, programs.constraints, strict=True)
        return {name: len(_checked_value(name, constraint, x, xi)) for name, constraint in named}

    def check_derivatives(self, x: FloatArray, n_constraints: int, xi: FloatArray) -> None:
        """Raise unless L has finite first and second derivatives at `x`, and depends on xi."""
        other = xi + (1 + np.abs(xi)) / np.arange(3, 3 + len(xi))
        multipliers = np.ones(n_constraints)
        try:
            here, there = (self.gradient(x, multipliers, at) for at in (xi, other))
            matrix = self.matrix(x, multipliers, xi)
        except Exception as error:  # the package may refuse what the user wrote in any way
            raise StatisticError(
                "`objective` and the constraints must be twice differentiable by the package they are written in; it "
                f"raised {type(error).__name__}: {str(error).partition(chr(10))[0].rstrip('.')}. Use only its "
                "functions, and no `float`, `.item()` or numpy, between x, xi and the value."
            ) from error
        if not (np.isfinite(here).all() and np.isfinite(matrix).all()):
            raise StatisticError(
                "`objective` and the constraints must have finite first and second derivatives at `init`, x = "
                f"{described(x)}. Start where no root, norm or logarithm is taken of zero."
            )
        if not here[-len(xi) :].any() and np.array_equal(here, there):
            raise StatisticError(
                "the problem must depend on the data; neither `objective` nor a constraint changes with its second "
                "argument, xi, near `init`. Write them as functions of x and xi, and use `xi`."
            )


def _traced(name: str, library: Autodiff, function: PackageFunction, x: FloatArray, xi: FloatArray) -> PackageFunction:
    try:
        return library.traced(function, x, xi)
    except StatisticError:
        raise
    except Exception as error:  # the user's function may raise anything
        raise _failure(name, error, x, xi) from error


def _number(library: Autodiff, objective: PackageFunction, x: Any, xi: Any) -> Any:
    """Return the value of the objective as one number of the package."""
    returned = objective(x, xi)
    shape = tuple(getattr(returned, "shape", ()))
    if shape != () or returned is None or not library.holds_floats(returned):
        got = "None" if returned is None else f"shape {shape}" if shape else "a whole number or a truth value"
        raise StatisticError(f"`objective` must return one floating-point number; got {got}. Sum a vector first.")
    return library.joined([returned]).sum()


def _vector(library: Autodiff, name: str, constraint: PackageFunction, x: Any, xi: Any) -> Any:
    """Return the value of a constraint function as a vector of the package; raise if it is invalid."""
    returned = constraint(x, xi)
    values = list(returned) if isinstance(returned, (list, tuple)) else [returned]
    if not values or any(getattr(value, "ndim", 0) > 1 or 0 in getattr(value, "shape", ()) for value in values):
        shapes = [tuple(getattr(value, "shape", ())) for value in values]
        raise StatisticError(
            f"`{name}` must return one number per constraint: a number, a vector, or a list of these; got shape(s) "
            f"{', '.join(map(str, shapes)) or 'of an empty list'}. Flatten a matrix with `.reshape(-1)`."
        )
    if any(value is None or not library.holds_floats(value) for value in values):
        sign = "= 0" if name == "equality" else "<= 0"
        raise StatisticError(
            f"`{name}` must return the left-hand sides of `... {sign}` as floating-point numbers; got None, whole "
            "numbers or truth values. Write `x - 1.0` rather than `x <= 1.0`."
        )
    return library.joined(values)


def _checked_value(name: str, function: NumpyFunction, x: FloatArray, xi: FloatArray) -> FloatArray:
    """Return the value of a user's function at the start; raise a `StatisticError` if it fails."""
    try:
        value = function(x, xi)
    except StatisticError:
        raise
    except Exception as error:  # the user's function may raise anything
        raise _failure(name, error, x, xi) from error
    if not np.isfinite(value).all():
        raise StatisticError(
            f"`{name}` must be finite at `init`; got {_first_unfinished(value)} at x = {described(x)}. Give an `init` "
            "at which the problem is defined."
        )
    return value


def _failure(name: str, error: Exception, x: FloatArray, xi: FloatArray) -> StatisticError:
    return StatisticError(
        f"`{name}` must return a value at `init`; it raised {type(error).__name__}: {first_line(error)}. It was "
        f"called with x of shape {x.shape} and xi of shape {xi.shape}."
    )


def _first_unfinished(value: FloatArray) -> str:
    flat = value.reshape(-1)
    return str(flat[np.argmin(np.isfinite(flat))])


def described(x: FloatArray) -> str:
    """Return a short text for a point: its first numbers, and how many more there are."""
    first = ", ".join(f"{number:.4g}" for number in x[:4])
    return f"[{first}]" if len(x) <= 4 else f"[{first}, ... {len(x) - 4} more]"
