"""Targets: the fitted parameters, or a function of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from orthoboot.autodiff import Autodiff, NumpyFunction, PackageFunction
from orthoboot.autodiff.values import check_package_arrays, numpy_value
from orthoboot.errors import StatisticError, first_line
from orthoboot.functionals.output import Output, output_like
from orthoboot.typing import FloatArray


class ParametersTarget:
    """The parameters themselves."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def value(self, parameters: FloatArray) -> FloatArray:
        """Return the parameters."""
        return parameters

    def values(self, points: FloatArray) -> FloatArray:
        """Return many parameters ``(B, p)``."""
        return points

    def jacobian(self, parameters: FloatArray) -> FloatArray:
        """Return the unit matrix."""
        return np.eye(len(parameters))

    def output(self, parameters: FloatArray, name: str) -> Output:
        """Return a vector with the names of the parameters."""
        return output_like(parameters, name, self._names)


class TargetPrograms(NamedTuple):
    """A compiled target: its value at many parameter vectors, and its derivative at one."""

    values: NumpyFunction
    jacobian: NumpyFunction


class FunctionOfParameters:
    """A user's function of the parameters, which returns a number, an array, or a dict of these.

    Parameters
    ----------
    library
        The package that the function is written in.
    function
        Takes the parameters, shape ``(p,)``, as an array of the package.
    parameters
        A point at which it is tried, and whose shape its program is for.
    """

    def __init__(self, library: Autodiff, function: PackageFunction, parameters: FloatArray) -> None:
        self._library, self._function, self._parameters = library, function, parameters
        self._example = numpy_value(value_in_package("target", library, function, parameters), library)
        _ = self._programs  # traced now, so that its errors are raised now

    @cached_property
    def _programs(self) -> TargetPrograms:
        library, function = self._library, self._function

        def joined(point: Any) -> Any:
            value = function(point)
            return library.flat(list(value.values()) if isinstance(value, Mapping) else value)

        program = of_user("target", partial(library.traced, joined), self._parameters)
        return TargetPrograms(library.one_by_one(program), library.jacobian(program))

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without compiled programs, which another process compiles for itself."""
        state = dict(vars(self))
        state.pop("_programs", None)
        return state

    def value(self, parameters: FloatArray) -> FloatArray:
        """Return its numbers as a vector, shape ``(k,)``."""
        value: FloatArray = self.values(parameters[np.newaxis])[0]
        return value

    def values(self, points: FloatArray) -> FloatArray:
        """Return its numbers at many parameters ``(B, p)``, shape ``(B, k)``."""
        values: FloatArray = of_user("target", self._programs.values, points)
        return values

    def jacobian(self, parameters: FloatArray) -> FloatArray:
        """Return its derivative, shape ``(k, p)``; raise if it is not finite, or zero everywhere."""
        jacobian: FloatArray = of_user("target", self._programs.jacobian, parameters)
        if not np.isfinite(jacobian).all():
            raise StatisticError(
                "`target` must be differentiable at the fit; its derivative is NaN or infinite there, as that of a "
                "root or a norm is at zero. Choose a smooth function of the parameters."
            )
        elsewhere = parameters + 0.1 * (np.abs(parameters).max() or 1.0)
        if not (jacobian.any(axis=1) | self._programs.jacobian(elsewhere).any(axis=1)).all():
            raise StatisticError(
                "`target` must depend smoothly on the parameters; the derivative of one of its outputs is zero, at the "
                "fit and elsewhere. Rounding, signs, comparisons and numbers taken out of the library "
                "(`float(...)`, `.item()`, `.detach()`) have none."
            )
        return jacobian

    def output(self, parameters: FloatArray, name: str) -> Output:
        """Return the shape and the names of its value."""
        return output_like(self._example, name)


def of_user(argument: str, function: PackageFunction, *arguments: Any) -> Any:
    """Return the value of a user's function; its exceptions are raised as a `StatisticError`."""
    try:
        return function(*arguments)
    except Exception as error:  # the user's function may raise anything
        shapes = ", ".join(str(tuple(np.shape(one))) for one in arguments)
        raise StatisticError(
            f"`{argument}` raised {type(error).__name__}: {first_line(error)}. It was called with arrays of shape "
            f"{shapes}, and must be written in the functions of one library, jax or torch, without `float()`, `int()`, "
            "`.item()` or `.tolist()` on the way from the parameters."
        ) from error


def value_in_package(argument: str, library: Autodiff, function: PackageFunction, *arguments: Any) -> Any:
    """Return the value of a user's function in arrays of the package, checked to be such arrays."""
    value = of_user(argument, partial(library.called, function), *map(library.array, arguments))
    check_package_arrays(argument, value, library)
    return value
