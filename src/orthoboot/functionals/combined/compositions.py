"""Functions of the values of several statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from orthoboot.arrays.units import power_of_two, root_mean_square
from orthoboot.data import Data
from orthoboot.data.pieces import multiplied, side_by_side
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ArgumentError, OrthobootWarning
from orthoboot.functionals.base import Covariance, Functional, Prepared
from orthoboot.functionals.combined.automatic_gradient import (
    AutomaticGradient,
    Gradient,
    automatic_gradient,
    checked_gradient,
    given_by,
    gradient_findings,
)
from orthoboot.functionals.combined.parts import Combined, all_known, catalogued, total_work
from orthoboot.functionals.differences import curvature_by_differences, jacobian_by_differences, principal_directions
from orthoboot.functionals.evaluation import NO_FITS, Convergence
from orthoboot.functionals.output import Output, output_like
from orthoboot.functionals.user.returned_values import components, given_jacobian
from orthoboot.functionals.user.user_function import check_takes_many, value_of
from orthoboot.typing import FloatArray, Influence


@dataclass(frozen=True, repr=False)
class Composition(Combined):
    """A function of the values of several statistics of the same data; see `compose`."""

    g: Callable[..., Any]
    functionals: tuple[Functional, ...]
    gradient: Gradient = None
    name: str = "compose"

    @property
    def parts(self) -> tuple[Functional, ...]:
        """Return the statistics whose values g takes."""
        return self.functionals

    @property
    def paired(self) -> bool:  # type: ignore[override]
        """Return whether a part needs paired arrays."""
        return any(functional.paired for functional in self.functionals)

    def at(self, data: Data) -> PreparedComposition:
        """Return the statistic at `data`, not checked yet."""
        return PreparedComposition(self, data)


@dataclass(frozen=True, eq=False)
class PreparedComposition(Prepared[Composition]):
    """A function of several statistics at their data."""

    @cached_property
    def parts(self) -> tuple[Prepared[Any], ...]:
        """Return the statistics at the data."""
        return tuple(functional.at(self.data) for functional in self.functional.functionals)

    @property
    def one_by_one(self) -> bool:  # type: ignore[override]
        """Return whether a part takes one resample after the other."""
        return any(part.one_by_one for part in self.parts)

    @property
    def needs_weights(self) -> bool:
        """Return whether a part takes the weight of every row."""
        return any(part.needs_weights for part in self.parts)

    @property
    def work(self) -> float | None:
        """Return how many rows added up cost as much as one replicate, where all parts know it."""
        return total_work(self.parts)

    def check(self) -> None:
        """Raise unless every part can use the data, and g their values: on the data and on resamples."""
        for part in self.parts:
            part.check()
        values = self.part_values
        if self._derivatives(values) is None:
            check_takes_many("g", self.functional.g, *self._arguments(np.stack([values, values], axis=1)))

    def findings(self, convergence: Convergence = NO_FITS) -> tuple[OrthobootWarning, ...]:
        """Return the warnings about the parts, and about a derivative of g that disagrees with its differences."""
        of_parts = tuple(finding for part in self.parts for finding in part.findings(convergence))
        return (*of_parts, *self._about_gradient)

    @cached_property
    def _about_gradient(self) -> tuple[OrthobootWarning, ...]:
        parts = self._influences()
        if parts is None:
            return ()
        jacobian, differences = self._jacobian(parts), self._jacobian_by_differences(parts)
        return gradient_findings(self.functional.gradient, jacobian, differences, self._scale(parts), self.output.names)

    @property
    def influence_source(self) -> str:
        """Return whose derivative of g it rests on."""
        return f"{super().influence_source}{given_by(self.functional.gradient)}"

    @cached_property
    def output(self) -> Output:
        """Return the shape of g's own result; columns keep their names."""
        columns = self.data.columns[0]
        by_column = all(output.names == columns for output in self._outputs)
        values = self.part_values
        automatic = self._automatic(values)
        value = value_of("g", self.functional.g, *self._arguments(values)) if automatic is None else automatic.example
        return output_like(value, self.functional.name, columns if by_column else None)

    def values(self, resamples: Resamples) -> FloatArray:
        """Return g at the parts' values, shape ``(B, k)``."""
        values = np.hstack([part.values(resamples) for part in self.parts])
        return self.value(values.T).T

    def value(self, values: FloatArray) -> FloatArray:
        """Return g at the parts' values one below the other, shape ``(K, ...)``, as shape ``(k, ...)``."""
        point = values.reshape(len(values), -1)[:, 0]
        automatic = self._automatic(point)
        if automatic is None:
            returned = self.functional.g(*self._arguments(values))
            automatic = self._automatic(point, returned)
            if automatic is None:
                return components(returned, values.shape[1:])
        return automatic.value(values)

    @cached_property
    def part_values(self) -> FloatArray:
        """Return the parts' values on the data one after the other, shape ``(K,)``."""
        return np.concatenate([part.estimate for part in self.parts])

    def influence(self) -> Influence | None:
        """Return the chain rule: g' times the parts' influence."""
        parts = self._influences()
        if parts is None:
            return None
        jacobian = self._jacobian(parts)
        return tuple(multiplied(part, jacobian.T) for part in parts)

    def second_order_bias(self, covariance: Covariance) -> FloatArray | None:
        """Return g' times the parts' biases, plus ``(1/2) tr(g'' C)``, C the covariance of their linear parts."""
        biases = all_known(part.second_order_bias(covariance) for part in self.parts)
        parts = self._influences()
        if parts is None or biases is None:
            return None
        units = power_of_two(self._scale(parts))
        directions = principal_directions(covariance(tuple(part / units for part in parts)))
        trace = self._curvature(units[:, np.newaxis] * directions)
        return self._jacobian(parts) @ np.concatenate(biases) + trace / 2

    @cached_property
    def _outputs(self) -> tuple[Output, ...]:
        return tuple(part.output for part in self.parts)

    def _automatic(self, point: FloatArray, returned: Any = None) -> AutomaticGradient | None:
        """Return g as a function of the parts' values in a row, where a package differentiates it."""
        outputs = self._outputs

        def arguments(values: Any) -> tuple[Any, ...]:
            stops = np.cumsum([output.size for output in outputs]).tolist()
            pieces = (values[stop - output.size : stop] for output, stop in zip(outputs, stops, strict=True))
            return tuple(_packed(output, piece) for output, piece in zip(outputs, pieces, strict=True))

        return automatic_gradient(self.functional.g, self.functional.gradient, point, arguments, returned)

    def _derivatives(self, point: FloatArray) -> AutomaticGradient | None:
        """Return the automatic derivatives of g at a point, if its code or its value there belongs to a package."""
        by_code = self._automatic(point)
        return by_code or self._automatic(point, value_of("g", self.functional.g, *self._arguments(point)))

    def _curvature(self, directions: FloatArray) -> FloatArray:
        values = self.part_values
        automatic = self._derivatives(values)
        if automatic is not None:
            return automatic.curvature(values, directions)
        return curvature_by_differences(self.value, values, directions, sum(self.data.sizes))

    def _arguments(self, values: FloatArray) -> list[Any]:
        """Return the parts' values, shape ``(K, ...)``, each in the shape of its part."""
        outputs = self._outputs
        pieces = np.split(values, np.cumsum([output.size for output in outputs])[:-1])
        return [output.pack(piece) for output, piece in zip(outputs, pieces, strict=True)]

    def _influences(self) -> Influence | None:
        """Return the parts' influence side by side, one ``(n_i, K)`` array per sample."""
        parts = all_known(part.influence() for part in self.parts)
        if parts is None:
            return None
        return tuple(side_by_side(of_sample) for of_sample in zip(*parts, strict=True))

    def _jacobian(self, parts: Influence) -> FloatArray:
        values = self.part_values
        if callable(self.functional.gradient):
            shape = (len(self.value(values)), len(values))
            return given_jacobian(value_of("gradient", self.functional.gradient, *self._arguments(values)), shape)
        automatic = self._derivatives(values)
        if automatic is not None:
            return automatic.jacobian(values)
        return self._jacobian_by_differences(parts)

    def _jacobian_by_differences(self, parts: Influence) -> FloatArray:
        return jacobian_by_differences(self.value, self.part_values, self._scale(parts), sum(self.data.sizes))

    def _scale(self, parts: Influence) -> FloatArray:
        """Return how far one row moves each of the parts' values, shape ``(K,)``."""
        spreads = np.array([root_mean_square(part) / np.sqrt(len(part)) for part in parts])
        scale: FloatArray = np.sqrt(sum(self.data.sizes) * len(parts)) * root_mean_square(spreads)
        return scale


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

    The total derivative is a sum of partial ones, ``thm: partial and total``.

    Parameters
    ----------
    g
        Takes one argument per statistic, in the shape of that statistic, and returns shape ``()`` or ``(k,)``. When it
        is called for B resamples, all have a last axis of length B. A function written in jax or torch is called
        without it.
    *functionals
        Statistics of the catalogue, or callables that have an entry in it such as `numpy.mean`.
    gradient
        Takes the same arguments, without B, and returns the derivative of g with respect to all K values of the
        arguments in order, shape ``(K,)`` or ``(k, K)``; or "jax" or "torch", to evaluate and differentiate g with that
        package. By default automatic differentiation if g is written in one of them, otherwise central differences of
        fourth order.
    name
        The name of the statistic in tables and messages.

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
