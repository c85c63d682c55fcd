"""What a user's function reads besides its arguments."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from functools import partial
from types import CodeType
from typing import Any


def read_from_outside(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and values that a function reads: closed over, bound, by default, or global."""
    if isinstance(function, partial):
        yield from ((f"argument {place}", value) for place, value in enumerate(function.args))
        yield from function.keywords.items()
        yield from read_from_outside(function.func)
        return
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        return
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
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return int(shape[0]) if shape else None
    return len(value) if isinstance(value, (list, tuple)) else None
