"""A user's own function as a functional: plain, vectorised as in scipy, or aware of weights."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from orthoboot.data import Data
from orthoboot.errors import ArgumentError, StatisticError
from orthoboot.functionals.base import Functional
from orthoboot.functionals.combinators import compose, difference, relative_difference
from orthoboot.functionals.function_of_means import function_of_means
from orthoboot.functionals.moments import norm_of_mean
from orthoboot.functionals.output import Output, output_like
from orthoboot.functionals.quantiles import quantile
from orthoboot.functionals.recognition import recognized
from orthoboot.resamples import Resamples
from orthoboot.typing import FloatArray, IntArray

_NUMBERS_AT_ONCE = 1 << 22
"""Resampled numbers that a vectorised function gets at once: 32 MB, or those of one resample where it is larger."""


_FACTORIES: dict[Any, str] = {
    quantile: "ob.quantile(0.9)",
    norm_of_mean: "ob.norm_of_mean(2)",
    difference: "ob.difference(ob.mean)",
    relative_difference: "ob.relative_difference(ob.mean)",
    compose: "ob.compose(np.log, ob.variance)",
    function_of_means: "ob.function_of_means(features, g)",
}
"""Functions that make a statistic and are none themselves, with an example of each."""


@dataclass(frozen=True, eq=False)
class CallableFunctional(Functional):
    """A function of the user's, evaluated once on the data to learn the shape of what it returns.

    Attributes
    ----------
    function
        What the user wrote.
    value_output
        The shape and names of its value.
    value
        Its value on the data, shape ``(k,)``, so that an expensive fit is not repeated.
    name
        What a report calls it.
    """

    function: Callable[..., Any]
    value_output: Output = field(repr=False)
    value: FloatArray = field(repr=False)
    name: str = "statistic"

    def output(self, data: Data) -> Output:
        """Return the shape and the names of its value, known from the first evaluation."""
        return self.value_output

    def estimate(self, data: Data) -> FloatArray:
        """Return its value on the data, known from the first evaluation."""
        return self.value


class PlainCallable(CallableFunctional):
    """``statistic(*samples)``: gets the resampled rows, one resample at a time."""

    fractional = False
    batched = False

    def evaluate(self, data: Data, resamples: Resamples) -> FloatArray:
        """Return its values on the resampled rows, shape ``(B, k)``."""
        rows = (data.take(resamples.indices(b)) for b in range(len(resamples)))
        return np.stack([self.value_output.flatten(self.function(*samples)) for samples in rows])


class VectorizedCallable(CallableFunctional):
    """``statistic(*samples, axis)``: gets many resamples at once, the rows on the last axis, as in scipy."""

    fractional = False

    def evaluate(self, data: Data, resamples: Resamples) -> FloatArray:
        """Return its values on the resampled rows, shape ``(B, k)``."""
        at_once = max(_NUMBERS_AT_ONCE // sum(array.size for array in data.arrays), 1)
        return np.concatenate([self._values(data, rows) for rows in _stackable(resamples, at_once)])

    def _values(self, data: Data, rows: list[tuple[IntArray, ...]]) -> FloatArray:
        stacked = [np.stack(sample) for sample in zip(*rows, strict=True)]
        samples = [
            np.moveaxis(array, 0, -1)[..., stacked[i]] for array, i in zip(data.arrays, data.sample_of, strict=True)
        ]
        return self.value_output.flatten_batch(self.function(*samples, axis=-1), len(rows))


class WeightedCallable(CallableFunctional):
    """``statistic(*samples, weights)``: gets the data once and the weight of each row, one resample at a time."""

    batched = False

    def evaluate(self, data: Data, resamples: Resamples) -> FloatArray:
        """Return its values at the weights, shape ``(B, k)``."""
        weights = (_weights_argument([w[b] for w in resamples.weights]) for b in range(len(resamples)))
        return np.stack([self.value_output.flatten(self.function(*data.containers, weights=one)) for one in weights])


class VectorizedWeightedCallable(CallableFunctional):
    """``statistic(*samples, weights)`` with weights of shape ``(B, n_i)`` and B on the last axis of its value."""

    def evaluate(self, data: Data, resamples: Resamples) -> FloatArray:
        """Return its values at the weights, shape ``(B, k)``."""
        value = self.function(*data.containers, weights=_weights_argument(resamples.weights))
        return self.value_output.flatten_batch(value, len(resamples))


def as_functional(statistic: Any, data: Data, *, vectorized: bool | None = None) -> Functional:
    """Return `statistic` as a functional: itself, its entry in the catalogue, or a wrapper of the user's function.

    Beyond the samples, a function with a `weights` parameter is aware of weights; one with an `axis` parameter is
    vectorised unless `vectorized` says otherwise, as in scipy.
    """
    if vectorized not in (None, True, False):
        raise ArgumentError(f"`vectorized` must be True, False or None; got {vectorized!r}.")
    known = recognized(statistic)
    if known is not None:
        return known
    if not callable(statistic):
        raise ArgumentError(
            "`statistic` must be a function of the samples or an entry of the catalogue such as `ob.variance`; got "
            f"{statistic!r}." + (f" Write `ob.{statistic}`, without quotes." if isinstance(statistic, str) else "")
        )
    if isinstance(statistic, Hashable) and statistic in _FACTORIES:
        raise ArgumentError(f"`statistic` must be complete; write `{_FACTORIES[statistic]}`, for example.")
    options = _options(statistic, len(data.tables))
    if "weights" in options:
        return _vectorized_weighted(statistic, data) if vectorized else _weighted(statistic, data)
    if vectorized or (vectorized is None and "axis" in options):
        return _vectorized(statistic, data)
    return _plain(statistic, data)


def _options(statistic: Callable[..., Any], n_samples: int) -> set[str]:
    """Return the parameters that remain when the samples are given by position.

    A function of two samples may well call its second one `weights`.
    """
    try:
        parameters = inspect.signature(statistic).parameters.values()
    except (TypeError, ValueError):  # some built-in functions have no signature
        return set()
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_keyword = {p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
    return by_keyword - set(positional[:n_samples])


def _plain(statistic: Callable[..., Any], data: Data) -> CallableFunctional:
    # The rows are taken as for a resample, so that a function which sorts them in place leaves the user's data alone.
    value = _first_value(statistic, data, data.take([np.arange(n) for n in data.sizes]))
    return _wrapped(PlainCallable, statistic, value)


def _vectorized(statistic: Callable[..., Any], data: Data) -> CallableFunctional:
    value = _first_value(statistic, data, [np.moveaxis(array, 0, -1).copy() for array in data.arrays], axis=-1)
    # The function reduces the last axis, so a vector has one number per column.
    return _wrapped(VectorizedCallable, statistic, value, data.columns[0] if len(data.tables) == 1 else None)


def _weighted(statistic: Callable[..., Any], data: Data) -> CallableFunctional:
    ones = _weights_argument([np.ones(n) for n in data.sizes])
    return _wrapped(WeightedCallable, statistic, _first_value(statistic, data, data.containers, weights=ones))


def _vectorized_weighted(statistic: Callable[..., Any], data: Data) -> CallableFunctional:
    ones = _weights_argument([np.ones((1, n)) for n in data.sizes])
    value = _first_value(statistic, data, data.containers, weights=ones)
    only = {key: _only(entry) for key, entry in value.items()} if isinstance(value, Mapping) else _only(value)
    return _wrapped(VectorizedWeightedCallable, statistic, only)


def _only(entry: Any) -> Any:
    """Return the one resample on the last axis."""
    if np.shape(entry)[-1:] != (1,):
        raise ArgumentError(
            "a vectorised `statistic` with `weights` of shape (B, n) must return its values with B on the last axis; "
            f"for B = 1 it returned shape {np.shape(entry)}. Pass `vectorized=False` if it takes one set of weights."
        )
    return np.asarray(entry)[..., 0]


def _first_value(statistic: Callable[..., Any], data: Data, samples: Any, **options: Any) -> Any:
    try:
        return statistic(*samples, **options)
    except Exception as error:  # whatever the user's function raises is told with its cause
        raise StatisticError(
            f"`statistic` must return a value on the data themselves; it raised {type(error).__name__}: "
            f"{str(error).rstrip('.')}. It was called with {_arguments(samples, options)}."
            f"{_hint(error, options)}{data.samples_hint}"
        ) from error


def _hint(error: Exception, options: Mapping[str, Any]) -> str:
    if "read-only" in str(error):
        return " It must not change the data it is given: let it copy them first."
    if "axis" in options:
        return " It has an `axis` parameter, so it got a batch of samples: pass `vectorized=False` if it takes one."
    return ""


def _arguments(samples: Any, options: Mapping[str, Any]) -> str:
    kinds = [f"{type(sample).__name__} of shape {getattr(sample, 'shape', (len(sample),))}" for sample in samples]
    return ", ".join([*kinds, *(f"`{option}`" for option in options)])


def _wrapped(
    kind: type[CallableFunctional],
    statistic: Callable[..., Any],
    value: Any,
    labels: tuple[str, ...] | None = None,
) -> CallableFunctional:
    name = _name(statistic)
    output = output_like(value, name, labels)
    flat = output.flatten(value)
    if not np.isfinite(flat).all():
        raise StatisticError(
            f"`statistic` must be finite on the data; got {_first_of(flat, output)}. Check the data for what makes it "
            "undefined."
        )
    return kind(statistic, output, flat, name)


def _first_of(flat: FloatArray, output: Output) -> str:
    """Return the first number that is not finite, with its name where there are several."""
    first = int(np.argmin(np.isfinite(flat)))
    return f"{flat[first]}" + ("" if output.is_scalar else f" for `{output.names[first]}`")


def _name(statistic: Any) -> str:
    if isinstance(statistic, partial):
        return _name(statistic.func)
    name: str = getattr(statistic, "__name__", type(statistic).__name__)
    return "statistic" if name == "<lambda>" else name


def _weights_argument(weights: Any) -> FloatArray | tuple[FloatArray, ...]:
    """Return copies of the weights, one array or a tuple of them for several samples.

    The linear part is computed from the same weights later; a function that normalises them in place must not spoil it.
    """
    copies = tuple(w.copy() for w in weights)
    return copies[0] if len(copies) == 1 else copies


def _stackable(resamples: Resamples, at_once: int) -> Iterator[list[tuple[IntArray, ...]]]:
    """Yield the rows of the resamples in lists of at most `at_once`, all of one length in each list.

    Whole groups of unequal size make resamples of unequal length, which no one array can hold.
    """
    pending: list[tuple[IntArray, ...]] = []
    for b in range(len(resamples)):
        rows = resamples.indices(b)
        if pending and (len(pending) == at_once or list(map(len, rows)) != list(map(len, pending[0]))):
            yield pending
            pending = []
        pending.append(rows)
    if pending:
        yield pending
