"""Which package a function is written in."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.util import find_spec
from types import CodeType
from typing import Any

from orthoboot.arguments import checked_name
from orthoboot.autodiff.base import Autodiff
from orthoboot.errors import MissingDependencyError

PACKAGES = ("jax", "torch")
"""In the order of preference for a function that any of them can run."""

_ROOTS = {"jax": "jax", "jaxlib": "jax", "torch": "torch"}


@cache
def autodiff(name: str) -> Autodiff:
    """Return the package called `name`, imported now and not before."""
    checked_name("library", name, PACKAGES)
    if find_spec(name) is None:
        raise MissingDependencyError(
            f'"{name}" is not installed, and it differentiates this function. Install it with '
            f'`pip install "orthoboot[{name}]"`.'
        )
    if name == "jax":
        from orthoboot.autodiff.jax import Jax

        return Jax()
    from orthoboot.autodiff.torch import Torch

    return Torch()


def package_of(value: Any) -> str | None:
    """Return the name of the package that `value` is an array of, without importing any."""
    for kind in type(value).__mro__:
        package = _ROOTS.get(kind.__module__.partition(".")[0])
        if package is not None:
            return package
    return None


def autodiff_for(*written: Any, name: str | None = None) -> Autodiff:
    """Return the package in which functions are written, or from which arrays come.

    Parameters
    ----------
    *written
        Functions and arrays; None is passed over. A function is in the package whose module or names its code uses;
        one that uses neither, such as ``lambda t, x, y: (y - x @ t) ** 2``, runs in any.
    name
        The package, where the caller knows it.
    """
    if name is not None:
        return autodiff(name)
    for package in (package for one in written for package in _packages(one)):
        return autodiff(package)
    return autodiff(_at_hand())


def package_asked(request: Any) -> str | None:
    """Return the package that the argument `influence` names, or None."""
    return request if isinstance(request, str) and request in PACKAGES else None


def package_named(function: Any) -> str | None:
    """Return the package whose module or names the code of `function` uses; None where it uses none of them."""
    return next(_packages(function), None)


def _at_hand() -> str:
    """Return an installed package, preferring one that is already imported."""
    for is_there in (sys.modules.__contains__, lambda package: find_spec(package) is not None):
        for package in filter(is_there, PACKAGES):
            return package
    return PACKAGES[0]


def _packages(one: Any) -> Iterator[str]:
    if isinstance(one, partial):
        yield from _packages(one.func)
    elif inspect.isfunction(one) or inspect.ismethod(one):
        yield from _named_in(one, set())
    elif one is not None:
        package = package_of(one)
        if package is not None:
            yield package
        elif inspect.isfunction(getattr(type(one), "__call__", None)):  # noqa: B004
            yield from _named_in(type(one).__call__, set())


def _named_in(function: Callable[..., Any], seen: set[Callable[..., Any]]) -> Iterator[str]:
    """Yield the packages behind the names that the code of `function` uses, its neighbours in the module included."""
    seen.add(function)
    values = tuple(_used_by(function))
    for value in values:
        root = getattr(value, "__name__", "") if inspect.ismodule(value) else getattr(value, "__module__", "")
        package = _ROOTS.get(str(root).partition(".")[0]) or package_of(value)
        if package is not None:
            yield package
    yield from _imported_in(function.__code__)
    # Functions of other modules are not the user's: many a library names torch only to ask whether it got tensors.
    for value in values:
        if inspect.isfunction(value) and value.__module__ == function.__module__ and value not in seen:
            yield from _named_in(value, seen)


def _used_by(function: Callable[..., Any]) -> Iterator[Any]:
    """Yield the values of the names that the code of `function` uses."""
    try:
        variables = inspect.getclosurevars(function)
    except ValueError:  # a name of the function around it that has no value yet
        return
    yield from (*variables.nonlocals.values(), *variables.globals.values())


def _imported_in(code: CodeType) -> Iterator[str]:
    """Yield the packages that the function imports itself, in its body or in functions inside it."""
    yield from (package for name, package in _ROOTS.items() if name in code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _imported_in(constant)
