"""Functions of the values of several statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ArgumentError, OrthobootWarning
from orthoboot.functionals.base import Covariance, Functional
from orthoboot.functionals.combined.automatic_gradient import (
    AutomaticGradient,
    Gradient,
    automatic_gradient,
    checked_gradient,
)
from orthoboot.functionals.combined.parts import all_known, catalogued
from orthoboot.functionals.differences import curvature_by_differences, jacobian_by_differences, principal_directions
from orthoboot.functionals.feature_means import once_per_data
from orthoboot.functionals.output import Output, output_like
from orthoboot.functionals.user.returned_values import components, given_jacobian
from orthoboot.functionals.user.user_function import check_takes_many, value_of
from orthoboot.typing import FloatArray, Influence


@dataclass(frozen=True, repr=False)
class Composition(Functional):
    """A function of the values of several statistics of the same data; see `compose`."""

    g: Callable[..., Any]
    functionals: tuple[Functional, ...]
    gradient: Gradient = None
    name: str = "compose"

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """Return whether all parts are smooth."""
        return all(functional.smooth for functional in self.functionals)

    @property
    def fractional(self) -> bool:  # type: ignore[override]
        """Return whether all parts take weights that are not whole numbers."""
        return all(functional.fractional for functional in self.functionals)

    @property
    def batched(self) -> bool:  # type: ignore[override]
        """Return whether all parts are faster on many resamples at once."""
        return all(functional.batched for functional in self.functionals)

    @property
    def paired(self) -> bool:  # type: ignore[override]
        """Return whether a part needs paired arrays."""
        return any(functional.paired for functional in self.functionals)

    def check(self, data: Data) -> None:
        """Raise unless every part can use the data, and g their values: on the data and on resamples."""
        for functional in self.functionals:
            functional.check(data)
        values = self.values(data)
        if self._derivatives(data, values) is None:
            check_takes_many("g", self.g, *self._arguments(data, np.stack([values, values], axis=1)))

    def findings(self, data: Data) -> tuple[OrthobootWarning, ...]:
        """Return what the parts have found."""
        return tuple(finding for functional in self.functionals for finding in functional.findings(data))

    def output(self, data: Data) -> Output:
        """Return the shape of g's own result; columns keep their names."""
        columns = data.columns[0]
        by_column = all(output.names == columns for output in self._outputs(data))
        values = self.values(data)
        automatic = self._automatic(data, values)
        value = value_of("g", self.g, *self._arguments(data, values)) if automatic is None else automatic.example
        return output_like(value, self.name, columns if by_column else None)

    def evaluate(self, data: Data, resamples: Resamples) -> FloatArray:
        """Return g at the parts' values, shape ``(B, k)``."""
        values = np.hstack([functional.evaluate(data, resamples) for functional in self.functionals])
        return self.value(data, values.T).T

    def value(self, data: Data, values: FloatArray) -> FloatArray:
        """Return g at the parts' values one below the other, shape ``(K, ...)``, as shape ``(k, ...)``."""
        point = values.reshape(len(values), -1)[:, 0]
        automatic = self._automatic(data, point)
        if automatic is None:
            returned = self.g(*self._arguments(data, values))
            automatic = self._automatic(data, point, returned)
            if automatic is None:
                return components(returned, values.shape[1:])
        return automatic.value(values)

    def values(self, data: Data) -> FloatArray:
        """Return the parts' values on the data one after the other, shape ``(K,)``."""
        return np.concatenate([functional.estimate(data) for functional in self.functionals])

    def influence(self, data: Data) -> Influence | None:
        """Return the chain rule: g' times the parts' influence."""
        parts = self._influences(data)
        if parts is None:
            return None
        jacobian = self._jacobian(data, parts)
        return tuple(part @ jacobian.T for part in parts)

    def second_order_bias(self, data: Data, covariance: Covariance) -> FloatArray | None:
        """Return g' times the parts' biases, plus ``(1/2) tr(g'' C)``, C the covariance of their linear parts."""
        biases = all_known(functional.second_order_bias(data, covariance) for functional in self.functionals)
        parts = self._influences(data)
        if parts is None or biases is None:
            return None
        trace = self._curvature(data, principal_directions(covariance(parts)))
        return self._jacobian(data, parts) @ np.concatenate(biases) + trace / 2

    @once_per_data
    def _outputs(self, data: Data) -> tuple[Output, ...]:
        return tuple(functional.output(data) for functional in self.functionals)

    def _automatic(self, data: Data, point: FloatArray, returned: Any = None) -> AutomaticGradient | None:
        """Return g as a function of the parts' values in a row, where a package differentiates it."""
        outputs = self._outputs(data)

        def arguments(values: Any) -> tuple[Any, ...]:
            stops = np.cumsum([output.size for output in outputs]).tolist()
            pieces = (values[stop - output.size : stop] for output, stop in zip(outputs, stops, strict=True))
            return tuple(_packed(output, piece) for output, piece in zip(outputs, pieces, strict=True))

        return automatic_gradient(self.g, self.gradient, point, arguments, returned)

    def _derivatives(self, data: Data, point: FloatArray) -> AutomaticGradient | None:
        """Return what differentiates g at a point, told by its code or by what it returns there."""
        by_code = self._automatic(data, point)
        return by_code or self._automatic(data, point, value_of("g", self.g, *self._arguments(data, point)))

    def _curvature(self, data: Data, directions: FloatArray) -> FloatArray:
        values = self.values(data)
        automatic = self._derivatives(data, values)
        if automatic is not None:
            return automatic.curvature(values, directions)
        return curvature_by_differences(lambda points: self.value(data, points), values, directions, sum(data.sizes))

    def _arguments(self, data: Data, values: FloatArray) -> list[Any]:
        """Return the parts' values, shape ``(K, ...)``, each in the shape of its part."""
        outputs = self._outputs(data)
        pieces = np.split(values, np.cumsum([output.size for output in outputs])[:-1])
        return [output.pack(piece) for output, piece in zip(outputs, pieces, strict=True)]

    def _influences(self, data: Data) -> Influence | None:
        """Return the parts' influence side by side, one ``(n_i, K)`` array per sample."""
        parts = all_known(functional.influence(data) for functional in self.functionals)
        if parts is None:
            return None
        return tuple(np.hstack(of_sample) for of_sample in zip(*parts, strict=True))

    def _jacobian(self, data: Data, parts: Influence) -> FloatArray:
        values = self.values(data)
        if callable(self.gradient):
            shape = (len(self.value(data, values)), len(values))
            return given_jacobian(value_of("gradient", self.gradient, *self._arguments(data, values)), shape)
        automatic = self._derivatives(data, values)
        if automatic is not None:
            return automatic.jacobian(values)
        n_rows = sum(data.sizes)
        variances = np.sum([np.mean(np.square(part), axis=0) / len(part) for part in parts], axis=0)
        return jacobian_by_differences(
            lambda points: self.value(data, points), values, np.sqrt(n_rows * variances), n_rows
        )


def _packed(output: Output, values: Any) -> Any:
    """Return values in a row, an array of any package, in the shapes of `output`."""
    stops = np.cumsum([int(np.prod(shape)) for shape in output.shapes]).tolist()
    starts = [0, *stops[:-1]]
    entries = [
        values[start:stop].reshape(shape) for start, stop, shape in zip(starts, stops, output.shapes, strict=True)
    ]
    return entries[0] if output.keys is None else dict(zip(output.keys, entries, strict=True))


def compose(g: Callable[..., Any], *functionals: Any, gradient: Gradient = None, name: str = "compose") -> Composition:
    r"""Return the statistic ``g(f1, f2, ...)`` of the values of several statistics of the same data.

    .. math:: \phi = g(f_1, f_2, \ldots), \qquad I_j = \sum_i \frac{\partial g}{\partial f_i} I^{f_i}_j.

    The total derivative as a sum of partial ones, ``thm: partial and total``.

    Parameters
    ----------
    g
        Takes one argument per statistic, in that statistic's own shape, with B resamples on a last axis when it is
        called for many; returns shape ``()`` or ``(k,)``, with B last. One written in jax or torch is called without B.
    *functionals
        Statistics of the catalogue, or callables that have an entry in it such as `numpy.mean`.
    gradient
        Takes the same arguments, without B; returns the derivative of g by all their numbers in a row, shape ``(K,)``
        or ``(k, K)``. Or "jax" or "torch", in which g is then evaluated and differentiated. Without it: automatic where
        g is written in one of them, else central differences of fourth order.
    name
        What tables and messages call the statistic.

    Examples
    --------
    >>> from orthoboot.functionals import compose, mean, std
    >>> compose(lambda s, m: s / m, std, mean, name="coefficient of variation")([1.0, 1.0, 3.0, 3.0])
    0.5
    """
    if not functionals:
        raise ArgumentError("`compose` needs at least one statistic after `g`; got none.")
    if not callable(g):
        raise ArgumentError(f"`g` must be callable, the function of the statistics' values; got {type(g).__name__}.")
    return Composition(g, tuple(catalogued(f, "functionals") for f in functionals), checked_gradient(gradient), name)
