"""What a user's function reads besides its arguments."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

_DEPTH, _MOST_PARTS, _MOST_HOLDERS = 5, 50, 500
"""How many steps are followed from a function, how many parts of each thing on the way, and how many things in all.

A fit of statsmodels holds its rows four steps away.
"""


def read_from_outside(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and values that a function reads: closed over, bound, by default, global, or held by these.

    What is held by a list, a dict, an object or another function is looked at too, a few steps deep.
    """
    yield from _held(function, "", _DEPTH, set())


def _held(holder: Any, name: str, depth: int, seen: set[int]) -> Iterator[tuple[str, Any]]:
    if depth == 0 or id(holder) in seen or len(seen) >= _MOST_HOLDERS:
        return
    seen.add(id(holder))
    for inner, value in _known_parts(holder):
        path = f"{name}.{inner}" if name else inner
        yield path, value
        if n_rows_of(value) is None or isinstance(value, (list, tuple)):
            yield from _held(value, path, depth - 1, seen)


def _known_parts(holder: Any) -> list[tuple[str, Any]]:
    """Return what something holds; nothing where it does not let itself be looked at."""
    try:
        return list(_parts(holder))
    except Exception:  # objects of any library are met on the way, compiled functions and stand-ins among them
        return []


def _parts(holder: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a function, a partial, a method, a container or an object holds."""
    if isinstance(holder, partial):
        yield from ((f"argument {place}", value) for place, value in enumerate(holder.args))
        yield from holder.keywords.items()
        yield "function", holder.func
    elif isinstance(holder, MethodType):
        yield "self", holder.__self__
        yield from _of_function(holder.__func__)
    elif isinstance(holder, FunctionType):
        yield from _of_function(holder)
    elif isinstance(getattr(holder, "py_func", None), FunctionType):  # of numba
        yield from _of_function(holder.py_func)
    elif isinstance(holder, Mapping):
        yield from ((str(key), value) for key, value in list(holder.items())[:_MOST_PARTS])
    elif isinstance(holder, (list, tuple)):
        yield from ((str(place), value) for place, value in enumerate(holder[:_MOST_PARTS]))
    elif isinstance(holder, type):
        yield from _of_class(holder)
    elif not isinstance(holder, ModuleType):
        yield from list(getattr(holder, "__dict__", {}).items())[:_MOST_PARTS]
        yield from _of_class(type(holder))


def _of_class(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield what a class of the user's holds, not its methods."""
    if kind.__module__.partition(".")[0] in sys.stdlib_module_names:
        return
    values = ((name, value) for name, value in vars(kind).items() if not name.startswith("__"))
    yield from [(name, value) for name, value in values if n_rows_of(value) is not None][:_MOST_PARTS]


def _of_function(function: Any) -> Iterator[tuple[str, Any]]:
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    yield from _defaults(function)
    yield from ((name, function.__globals__[name]) for name in _globals_read(code) if name in function.__globals__)


def _defaults(function: Any) -> Iterator[tuple[str, Any]]:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    defaults = function.__defaults__ or ()
    yield from zip(names[len(names) - len(defaults) :], defaults, strict=True)
    yield from (function.__kwdefaults__ or {}).items()


def _globals_read(code: CodeType) -> Iterator[str]:
    """Yield the global names that a function reads, those of functions inside it too."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals_read(constant)


def n_rows_of(value: Any) -> int | None:
    """Return the number of rows of an array, a series, a frame or a list of numbers; None of anything else."""
    try:
        shape = getattr(value, "shape", None)
        if isinstance(shape, tuple):
            return int(shape[0]) if shape else None
    except Exception:  # an attribute of an object of any library may do anything
        return None
    return len(value) if isinstance(value, (list, tuple)) else None
