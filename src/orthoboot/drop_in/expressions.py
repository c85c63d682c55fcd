"""Symbols that stand for samples while a function is called, and note which statistics it takes of them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from orthoboot.functionals import Functional, correlation, mean, median, quantile, std, variance
from orthoboot.typing import FloatArray

Evaluated = Callable[[Sequence[FloatArray]], FloatArray]
"""The value of a formula, from those of its terms."""

_NUMBERS = (int, float, np.integer, np.floating)
"""Constants that make numbers of numbers; a fraction, for one, makes objects."""


class UntraceableError(TypeError):
    """A function does with its samples what no symbol can follow."""


class Term(NamedTuple):
    """A statistic of the catalogue, and of which samples it is."""

    functional: Functional
    samples: tuple[int, ...]


class Trace:
    """What one call of a function does.

    Parameters
    ----------
    row_axes
        Which values of `axis` mean the axis of the rows; None where no axis may be named at all.
    """

    def __init__(self, row_axes: frozenset[int | None]) -> None:
        self.row_axes = row_axes
        self.terms: list[Term] = []
        self.is_refused = False

    def refuse(self, what: str) -> UntraceableError:
        """Return the error for what cannot be followed; the function may catch it, and is refused all the same."""
        self.is_refused = True
        return UntraceableError(what)

    def term(self, functional: Functional, *samples: SampleSymbol, axis: Any = None) -> Symbol:
        """Return the symbol of a statistic of samples."""
        if axis not in self.row_axes or any(sample.trace is not self for sample in samples):
            raise self.refuse(f"axis={axis!r}")
        term = Term(functional, tuple(sample.number for sample in samples))
        if term not in self.terms:
            self.terms.append(term)
        return Symbol(self, partial(_entry, self.terms.index(term)))


def _entry(place: int, values: Sequence[FloatArray]) -> FloatArray:
    return values[place]


@dataclass(frozen=True)
class _Applied:
    """A function of what its arguments are worth."""

    function: Callable[..., Any]
    arguments: tuple[Symbol | float, ...]

    def __call__(self, values: Sequence[FloatArray]) -> FloatArray:
        found = (part.evaluated(values) if isinstance(part, Symbol) else part for part in self.arguments)
        result: FloatArray = self.function(*found)
        return result


class _Traced:
    """Anything that the function may hold; it refuses whatever it does not know."""

    trace: Trace
    __hash__ = object.__hash__

    def _refused(self, *_: Any, **__: Any) -> Any:
        raise self.trace.refuse("an operation that no symbol can follow")

    __bool__ = __len__ = __iter__ = __float__ = __int__ = __index__ = __complex__ = __array__ = __contains__ = _refused
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refused
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __pow__ = __rpow__ = _refused
    __matmul__ = __rmatmul__ = __neg__ = __pos__ = __abs__ = __invert__ = _refused
    __round__ = __trunc__ = __floor__ = __ceil__ = _refused
    __getitem__ = __setitem__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refused
    __array_ufunc__: Any = _refused
    __array_function__: Any = _refused

    def __getattr__(self, name: str) -> Any:
        raise self.trace.refuse(f"the attribute {name!r}")


def _arithmetic(function: Callable[..., Any]) -> Any:
    def method(self: Symbol, other: Any) -> Symbol:
        return self.applied(function, self, other)

    return method


def _reflected(function: Callable[..., Any]) -> Any:
    def method(self: Symbol, other: Any) -> Symbol:
        return self.applied(function, other, self)

    return method


class Symbol(_Traced):
    """A number that the function has computed, one for each resample."""

    def __init__(self, trace: Trace, evaluated: Evaluated) -> None:
        self.trace, self.evaluated = trace, evaluated

    def applied(self, function: Callable[..., Any], *arguments: Any) -> Symbol:
        """Return the symbol of a function of numbers, one for each resample or the same for all."""
        known = all(
            isinstance(part, _NUMBERS) or (isinstance(part, Symbol) and part.trace is self.trace) for part in arguments
        )
        if not known:
            raise self.trace.refuse("arithmetic with something else than numbers")
        return Symbol(self.trace, _Applied(function, arguments))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options or ufunc.nout != 1 or ufunc.signature is not None:
            raise self.trace.refuse(f"numpy.{ufunc.__name__}")
        return self.applied(ufunc, *inputs)

    def __neg__(self) -> Symbol:
        return self.applied(operator.neg, self)

    __add__, __radd__ = _arithmetic(operator.add), _reflected(operator.add)
    __sub__, __rsub__ = _arithmetic(operator.sub), _reflected(operator.sub)
    __mul__, __rmul__ = _arithmetic(operator.mul), _reflected(operator.mul)
    __truediv__, __rtruediv__ = _arithmetic(operator.truediv), _reflected(operator.truediv)
    __pow__, __rpow__ = _arithmetic(operator.pow), _reflected(operator.pow)


class SampleSymbol(_Traced):
    """One of the samples."""

    def __init__(self, trace: Trace, number: int) -> None:
        self.trace, self.number = trace, number

    @property
    def ndim(self) -> int:
        """Return one where the function gets one sample at a time; batches have any number of axes."""
        if None not in self.trace.row_axes:
            raise self.trace.refuse("the number of axes")
        return 1

    def mean(self, axis: Any = None, **options: Any) -> Symbol:
        """Return the symbol of the mean."""
        self._refuse_any(options)
        return self.trace.term(mean, self, axis=axis)

    def var(self, axis: Any = None, *, ddof: float = 0, **options: Any) -> Symbol:
        """Return the symbol of the variance."""
        self._refuse_any(options)
        return self.trace.term(variance.replace(ddof=ddof), self, axis=axis)

    def std(self, axis: Any = None, *, ddof: float = 0, **options: Any) -> Symbol:
        """Return the symbol of the standard deviation."""
        self._refuse_any(options)
        return self.trace.term(std.replace(ddof=ddof), self, axis=axis)

    def _refuse_any(self, options: dict[str, Any]) -> None:
        if options:
            raise self.trace.refuse(f"the options {', '.join(options)}")

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        known = _OF_NUMPY.get(function)
        try:
            if known is None:
                raise TypeError
            return known(*args, **kwargs)
        except UntraceableError:
            raise
        except (TypeError, ValueError):
            raise self.trace.refuse(f"numpy.{function.__name__}") from None


def _median(a: SampleSymbol, axis: Any = None) -> Symbol:
    return a.trace.term(median, a, axis=axis)


def _quantile(a: SampleSymbol, q: Any, axis: Any = None) -> Symbol:
    if not isinstance(q, (int, float, np.floating)):
        raise TypeError
    return a.trace.term(quantile(float(q)), a, axis=axis)


def _percentile(a: SampleSymbol, q: Any, axis: Any = None) -> Symbol:
    return _quantile(a, q / 100, axis)


class _CorrelationMatrix(_Traced):
    """What ``numpy.corrcoef`` returns of two samples, of which one entry is taken."""

    def __init__(self, x: SampleSymbol, y: SampleSymbol) -> None:
        self.trace, self._samples = x.trace, (x, y)

    def __getitem__(self, place: Any) -> Symbol:
        if place not in ((0, 1), (1, 0)):
            raise self.trace.refuse(f"entry {place!r} of a correlation matrix")
        return self.trace.term(correlation, *self._samples)


def _corrcoef(x: SampleSymbol, y: SampleSymbol) -> _CorrelationMatrix:
    # It has no axis: with batches of samples it would take each of them for a variable.
    if None not in x.trace.row_axes or not isinstance(y, SampleSymbol):
        raise TypeError
    return _CorrelationMatrix(x, y)


_OF_NUMPY: dict[Any, Callable[..., Any]] = {
    np.mean: SampleSymbol.mean,
    np.var: SampleSymbol.var,
    np.std: SampleSymbol.std,
    np.median: _median,
    np.quantile: _quantile,
    np.percentile: _percentile,
    np.corrcoef: _corrcoef,
}
