"""Automatic derivatives of the function g of a composition or of means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoboot.arguments import checked_name
from orthoboot.autodiff import PACKAGES, Autodiff, PackageFunction, autodiff, package_named, package_of
from orthoboot.autodiff.values import check_package_arrays, numpy_value
from orthoboot.errors import (
    ArgumentError,
    InfluenceError,
    InfluenceMismatchWarning,
    MissingDependencyError,
    OrthobootWarning,
    StatisticError,
)
from orthoboot.typing import FloatArray

Gradient = Callable[..., Any] | str | None
"""The derivative of g: a function, the package that finds it, or None where g or differences must do."""

_GRADIENT_TOLERANCE = 1e-3
"""Differences of fourth order are better than this, relative to the largest derivative."""


@dataclass(frozen=True, eq=False)
class AutomaticGradient:
    """A function of one point ``(p,)`` with its derivatives.

    Attributes
    ----------
    package
        What differentiates it.
    program
        The function, its values in a row.
    example
        What it returned at one point, in its own shape.
    """

    package: Autodiff
    program: PackageFunction
    example: Any

    def value(self, points: FloatArray) -> FloatArray:
        """Return the values at `points` ``(p, ...)`` as ``(k, ...)``, the same bits for a point whatever the others."""
        columns = np.ascontiguousarray(points.reshape(len(points), -1).T)
        return self.package.one_by_one(self.program)(columns).T.reshape(-1, *points.shape[1:])

    def jacobian(self, point: FloatArray) -> FloatArray:
        """Return the derivative at one point, shape ``(k, p)``."""
        return self.package.jacobian(self.program)(point)

    def curvature(self, point: FloatArray, directions: FloatArray) -> FloatArray:
        """Return the sum of the second derivatives along the columns of `directions` ``(p, q)``, shape ``(k,)``."""
        along = self.package.curvature_along(self.program)
        total: FloatArray = np.sum([along(u, point) for u in directions.T], axis=0)
        return total if directions.size else np.zeros(len(self.value(point)))


def checked_gradient(gradient: Any) -> Gradient:
    """Return `gradient` if it is a function, the name of a package that is installed, or None."""
    if isinstance(gradient, str):
        autodiff(checked_name("gradient", gradient, PACKAGES))
    elif gradient is not None and not callable(gradient):
        raise ArgumentError(f'`gradient` must be a function, "jax", "torch" or None; got {type(gradient).__name__}.')
    checked: Gradient = gradient
    return checked


def given_by(gradient: Gradient) -> str:
    """Return a note for the source of the influence function if the derivative is the user's."""
    return ", with the `gradient` that was given" if callable(gradient) else ""


def gradient_findings(
    gradient: Gradient, jacobian: FloatArray, differences: FloatArray, scale: FloatArray, outputs: Sequence[str]
) -> tuple[OrthobootWarning, ...]:
    """Return a warning if a derivative that the user gave, or a package found, disagrees with differences of g.

    Parameters
    ----------
    gradient
        What the user gave.
    jacobian, differences
        The derivative and what differences of g say, each of shape ``(k, p)``.
    scale
        How far one row moves each argument of g, shape ``(p,)``: what moves none does not matter.
    outputs
        The names of the k outputs.
    """
    given, found = jacobian * scale, differences * scale
    distance = np.abs(given - found)
    largest = np.minimum(np.abs(given).max(axis=1, initial=0.0), np.abs(found).max(axis=1, initial=0.0))
    excess = np.where(np.isfinite(distance), distance, 0.0) - _GRADIENT_TOLERANCE * largest[:, np.newaxis]
    output, argument = divmod(int(np.argmax(excess)), excess.shape[1])
    if excess[output, argument] <= 0:
        return ()
    whose = "the `gradient` that you gave" if callable(gradient) else "the automatic derivative of `g`"
    return (
        InfluenceMismatchWarning(
            f"{whose} disagrees with `g`: for the derivative of `{outputs[output]}` with respect to value {argument} "
            f"of its arguments (counted from 0) it gives {jacobian[output, argument]:.6g}, and differences of `g` give "
            f"{differences[output, argument]:.6g}. The influence function uses it. Correct it, or leave it out."
        ),
    )


def automatic_gradient(
    g: Callable[..., Any],
    gradient: Gradient,
    point: FloatArray,
    arguments: Callable[[Any], tuple[Any, ...]],
    returned: Any = None,
) -> AutomaticGradient | None:
    """Return g with the derivatives of the package that `gradient` names, or in which g is written if it is None.

    None where the gradient is the user's own, and where g is written in no package that differentiates.

    Parameters
    ----------
    g
        The user's function of one point.
    gradient
        A function, the name of a package, or None.
    point
        A point at which g is tried, shape ``(p,)``.
    arguments
        Makes the arguments of g of a point, which is an array of the package.
    returned
        What g returned for numpy arrays, where it has been called: its code need not name the package.
    """
    if isinstance(gradient, str):
        return _differentiated(g, autodiff(gradient), point, arguments)
    name = None if gradient is not None else package_named(g) or package_of(returned)
    if name is None:
        return None
    try:
        return _differentiated(g, autodiff(name), point, arguments)
    except (InfluenceError, StatisticError, MissingDependencyError):  # g works on numpy arrays, though it names it
        return None


def _differentiated(
    g: Callable[..., Any], package: Autodiff, point: FloatArray, arguments: Callable[[Any], tuple[Any, ...]]
) -> AutomaticGradient:
    try:
        value = package.called(lambda at: g(*arguments(at)), package.array(point))
    except Exception as error:  # the user's function may raise anything
        raise StatisticError(
            f"`g` must return a value for arrays of {package.name}; it raised {type(error).__name__}: "
            f"{str(error).rstrip('.')}."
        ) from error
    check_package_arrays("g", value, package)
    program = package.traced(lambda at: package.flat(g(*arguments(at))), point)
    return AutomaticGradient(package, program, np.asarray(numpy_value(value, package)))
