"""What the library needs to know of a statistic."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from orthoboot.data import Data, read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ArgumentError, DataError, OrthobootWarning
from orthoboot.functionals.output import Output
from orthoboot.typing import FloatArray, Influence

Covariance = Callable[[Influence], FloatArray]
"""The exact covariance of ``sum_i (1/n_i) weights_i . values_i`` under the plan in force."""


class Functional(ABC):
    """A statistic as a function of the data and of weights on their rows.

    It must not change when the weights of one sample are all multiplied by the same number. Subclasses are frozen
    dataclasses whose fields are the statistic's options.

    Attributes
    ----------
    name
        What tables and messages call it.
    smooth
        Whether it is differentiable in the weights.
    fractional
        Whether it can be evaluated at weights that are not whole numbers.
    paired
        Whether several arrays are columns of the same rows, as for a correlation.
    batched
        Whether it evaluates many resamples at once faster than one by one.
    undefined
        What it means that it has no value on a resample, for the report of a failed replicate.
    """

    name: str = "statistic"
    smooth: bool = True
    fractional: bool = True
    paired: bool = False
    batched: bool = True
    undefined: str = ""

    def check(self, data: Data) -> None:  # noqa: B027
        """Raise a `DataError` if the statistic does not exist for such data."""

    @abstractmethod
    def output(self, data: Data) -> Output:
        """Return the shape and the names of its value on `data`."""

    @abstractmethod
    def evaluate(self, data: Data, resamples: Resamples) -> FloatArray:
        """Return its values at the given weights, shape ``(B, k)``."""

    def estimate(self, data: Data) -> FloatArray:
        """Return its value on the data themselves, shape ``(k,)``."""
        values = self.evaluate(data, unit_resamples(data))
        return values.reshape(-1)

    def influence(self, data: Data) -> Influence | None:
        """Return its influence function on the rows, or None where it does not bring one."""
        return None

    @property
    def influence_source(self) -> str:
        """Return in words where its influence function comes from."""
        return f"closed form of `{self.name}`"

    def findings(self, data: Data) -> tuple[OrthobootWarning, ...]:
        """Return what a careful user should know of the statistic at these data, beyond its value."""
        return ()

    def second_order_bias(self, data: Data, covariance: Covariance) -> FloatArray | None:
        """Return ``(1/2) tr(second derivative . Cov)``, shape ``(k,)``, or None where it has no closed form."""
        return None

    def replace(self, **options: Any) -> Self:
        """Return the same statistic with other options.

        Examples
        --------
        >>> import orthoboot as ob
        >>> ob.variance.replace(ddof=1)([1.0, 2.0, 3.0])
        1.0
        """
        known = {field.name for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        unknown = sorted(set(options) - known)
        if unknown:
            has = f"its options are {', '.join(sorted(known))}" if known else "it has none"
            raise ArgumentError(f"`{self.name}` has no option {unknown[0]!r}; {has}.")
        return dataclasses.replace(self, **options)  # type: ignore[type-var]

    def __repr__(self) -> str:
        """Return the options that are not the default ones, by the names of the arguments, functions by their names."""
        options = [
            f"{field.metadata.get('argument', field.name)}={getattr(value, '__name__', repr(value))}"
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
            # By what they print, since arrays are not simply equal or not.
            if field.repr and repr(value := getattr(self, field.name)) != repr(field.default)
        ]
        return f"{type(self).__name__}({', '.join(options)})"

    def __call__(self, *samples: Any, weights: Any = None, **options: Any) -> Any:
        """Return the statistic of the samples, each row counted with its weight."""
        if options:
            written = ", ".join(f"{name}={value!r}" for name, value in options.items())
            raise ArgumentError(f"options of `{self.name}` are set beforehand; write `{self.name}.replace({written})`.")
        data = read(samples, paired=self.paired and len(samples) > 1)
        self.check(data)
        resamples = unit_resamples(data) if weights is None else _given_weights(data, weights)
        return self.output(data).pack(self.evaluate(data, resamples)[0])


def unit_resamples(data: Data) -> Resamples:
    """Return the one resample in which every row counts once: the data themselves."""
    return Resamples(tuple(np.ones((1, n)) for n in data.sizes))


def _given_weights(data: Data, weights: Any) -> Resamples:
    parts = weights if isinstance(weights, (tuple, list)) and np.ndim(weights[0]) == 1 else (weights,)
    arrays = tuple(np.asarray(part, dtype=np.float64)[np.newaxis] for part in parts)
    if tuple(array.shape[1:] for array in arrays) != tuple((n,) for n in data.sizes):
        raise DataError(
            f"`weights` must have one number per row, {data.sizes}; got shapes {[array.shape[1:] for array in arrays]}."
        )
    return Resamples(arrays)
