"""A function of the user's with stand-ins for those functions of ``scipy.stats`` that refuse symbols."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import CellType, FunctionType, ModuleType
from typing import Any

import scipy.stats

from orthoboot.drop_in.expressions import SampleSymbol, Symbol
from orthoboot.functionals import correlation, kurtosis, skewness


class _Association:
    """What ``scipy.stats.pearsonr`` returns; its first entry is the coefficient."""

    def __init__(self, x: SampleSymbol, y: SampleSymbol, axis: Any) -> None:
        self.statistic = self.correlation = x.trace.term(correlation, x, y, axis=axis)

    def __getitem__(self, place: int) -> Symbol:
        if place != 0:
            raise self.statistic.trace.refuse("the p-value")
        return self.statistic


def _pearsonr(x: SampleSymbol, y: SampleSymbol, *, axis: Any = 0) -> _Association:
    return _Association(x, y, axis)


def _skew(a: SampleSymbol, axis: Any = 0) -> Symbol:
    return a.trace.term(skewness, a, axis=axis)


def _kurtosis(a: SampleSymbol, axis: Any = 0) -> Symbol:
    return a.trace.term(kurtosis, a, axis=axis)


_STAND_INS: tuple[tuple[Any, Callable[..., Any]], ...] = (
    (scipy.stats.pearsonr, _pearsonr),
    (scipy.stats.skew, _skew),
    (scipy.stats.kurtosis, _kurtosis),
)


class _Stats:
    """The module ``scipy.stats`` with the stand-ins in it."""

    def __getattr__(self, name: str) -> Any:
        return _stand_in(getattr(scipy.stats, name))


class _Scipy:
    """The package ``scipy`` with that module in it."""

    def __getattr__(self, name: str) -> Any:
        return _stand_in(getattr(scipy, name))


def _stand_in(value: Any) -> Any:
    """Return what takes the place of a value in the function: mostly itself."""
    if isinstance(value, ModuleType):
        return _Stats() if value is scipy.stats else _Scipy() if value is scipy else value
    return next((stand_in for known, stand_in in _STAND_INS if value is known), value)


def with_stand_ins(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a copy of a Python function that calls the stand-ins; anything else as it is.

    The functions that it calls in turn, and the modules, are left alone.
    """
    if not isinstance(function, FunctionType):
        return function
    code = function.__code__
    found = {name: _stand_in(function.__globals__[name]) for name in code.co_names if name in function.__globals__}
    cells = tuple(_cell(cell) for cell in function.__closure__ or ())
    names = {**function.__globals__, **found, "__builtins__": function.__globals__.get("__builtins__", builtins)}
    copy = FunctionType(code, names, function.__name__, function.__defaults__, cells)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _cell(cell: CellType) -> CellType:
    try:
        return CellType(_stand_in(cell.cell_contents))
    except ValueError:  # a name that is not set yet
        return cell
