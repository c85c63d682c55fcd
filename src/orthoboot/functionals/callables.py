"""A user's own function as a functional: plain, vectorised as in scipy, or aware of weights."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from orthoboot.data import Data, Resamples
from orthoboot.errors import ArgumentError, StatisticError
from orthoboot.functionals.base import Functional
from orthoboot.functionals.output import Output, output_like
from orthoboot.functionals.recognition import recognized
from orthoboot.typing import FloatArray


@dataclass(frozen=True)
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
    """

    function: Callable[..., Any]
    value_output: Output = field(repr=False)
    value: FloatArray = field(repr=False)

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
    """``statistic(*samples, axis)``: gets all resamples of a batch at once, the rows on the last axis, as in scipy."""

    fractional = False

    def evaluate(self, data: Data, resamples: Resamples) -> FloatArray:
        """Return its values on the resampled rows, shape ``(B, k)``."""
        rows = [resamples.indices(b) for b in range(len(resamples))]
        if any(len({len(one[i]) for one in rows}) > 1 for i in range(len(data.sizes))):
            # Whole groups of unequal size make resamples of unequal length, which no one array can hold.
            return np.stack([self._values(data, [one])[0] for one in rows])
        return self._values(data, rows)

    def _values(self, data: Data, rows: list[tuple[Any, ...]]) -> FloatArray:
        stacked = [np.stack([one[i] for one in rows]) for i in range(len(data.sizes))]
        samples = [
            np.moveaxis(array, 0, -1)[..., stacked[i]] for array, i in zip(data.arrays, data.sample_of, strict=True)
        ]
        return _batch_values(self.function(*samples, axis=-1), self.value_output, len(rows))


class WeightedCallable(CallableFunctional):
    """``statistic(*samples, weights)``: gets the data once and the weight of each row, one resample at a time."""

    batched = False

    def evaluate(self, data: Data, resamples: Resamples) -> FloatArray:
        """Return its values at the weights, shape ``(B, k)``."""
        return np.stack(
            [
                self.value_output.flatten(self.function(*data.containers, weights=_weights_argument(resamples, b)))
                for b in range(len(resamples))
            ]
        )


class VectorizedWeightedCallable(CallableFunctional):
    """``statistic(*samples, weights)`` with weights of shape ``(B, n_i)`` and B on the last axis of its value."""

    def evaluate(self, data: Data, resamples: Resamples) -> FloatArray:
        """Return its values at the weights, shape ``(B, k)``."""
        weights = resamples.weights[0] if len(resamples.weights) == 1 else resamples.weights
        return _batch_values(self.function(*data.containers, weights=weights), self.value_output, len(resamples))


def as_functional(statistic: Any, data: Data, *, vectorized: bool | None = None) -> Functional:
    """Return `statistic` as a functional: itself, its entry in the catalogue, or a wrapper of the user's function.

    A function with a `weights` parameter is aware of weights; one with an `axis` parameter is vectorised unless
    `vectorized` says otherwise, as in scipy.
    """
    known = recognized(statistic)
    if known is not None:
        return known
    if not callable(statistic):
        raise ArgumentError(
            "`statistic` must be a function of the samples or an entry of the catalogue such as `ob.variance`; got "
            f"{type(statistic).__name__}."
        )
    parameters = _parameters(statistic)
    if "weights" in parameters:
        return _weighted(statistic, data, vectorized=bool(vectorized))
    if vectorized is None:
        vectorized = "axis" in parameters
    if vectorized:
        value = _first_value(statistic, [np.moveaxis(array, 0, -1) for array in data.arrays], axis=-1)
        return _wrapped(VectorizedCallable, statistic, data, value)
    return _wrapped(PlainCallable, statistic, data, _first_value(statistic, data.containers))


def _parameters(statistic: Callable[..., Any]) -> set[str]:
    try:
        return set(inspect.signature(statistic).parameters)
    except (TypeError, ValueError):  # some built-in functions have no signature
        return set()


def _weighted(statistic: Callable[..., Any], data: Data, *, vectorized: bool) -> CallableFunctional:
    ones = [np.ones((1, n) if vectorized else n) for n in data.sizes]
    value = _first_value(statistic, data.containers, weights=ones[0] if len(ones) == 1 else tuple(ones))
    if not vectorized:
        return _wrapped(WeightedCallable, statistic, data, value)
    if np.shape(value)[-1:] != (1,):
        raise ArgumentError(
            "a vectorised `statistic` with `weights` of shape (B, n) must return its values with B on the last axis; "
            f"for B = 1 it returned shape {np.shape(value)}. Pass `vectorized=False` if it takes one set of weights."
        )
    return _wrapped(VectorizedWeightedCallable, statistic, data, np.asarray(value)[..., 0])


def _first_value(statistic: Callable[..., Any], samples: Any, **keywords: Any) -> Any:
    try:
        return statistic(*samples, **keywords)
    except Exception as error:  # whatever the user's function raises is told with its cause
        raise StatisticError(
            f"`statistic` raised {type(error).__name__} on the data themselves, before any resampling: {error}"
        ) from error


def _wrapped(
    kind: type[CallableFunctional], statistic: Callable[..., Any], data: Data, value: Any
) -> CallableFunctional:
    name = getattr(statistic, "__name__", "statistic")
    name = "statistic" if name == "<lambda>" else name
    output = output_like(value, name, _labels(value, data))
    flat = output.flatten(value)
    if not np.isfinite(flat).all():
        raise StatisticError(
            f"`statistic` must be finite on the data; got {value}. Check the data for what makes it undefined."
        )
    functional = kind(statistic, output, flat)
    object.__setattr__(functional, "name", name)
    return functional


def _labels(value: Any, data: Data) -> tuple[str, ...] | None:
    """Return names for the numbers of a vector: its own index, or the columns of the only table."""
    index = getattr(value, "index", None)
    if index is not None and not callable(index):
        return tuple(str(label) for label in index)
    return data.columns[0] if len(data.tables) == 1 else None


def _weights_argument(resamples: Resamples, b: int) -> FloatArray | tuple[FloatArray, ...]:
    weights = tuple(w[b] for w in resamples.weights)
    return weights[0] if len(weights) == 1 else weights


def _batch_values(value: Any, output: Output, size: int) -> FloatArray:
    values = np.asarray(value, dtype=np.float64)
    if values.shape != (*output.shapes[0], size):
        raise StatisticError(
            f"a vectorised `statistic` must return shape {(*output.shapes[0], size)} for {size} resample(s), with the "
            f"resamples on the last axis; got {values.shape}. Pass `vectorized=False` if it takes one sample at a time."
        )
    return values.reshape(output.size, size).T
