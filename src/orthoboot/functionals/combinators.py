"""Statistics made of statistics: differences between two samples, and functions of several values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from orthoboot.data import Data
from orthoboot.errors import ArgumentError, DataError, OrthobootWarning
from orthoboot.functionals.automatic_gradient import (
    AutomaticGradient,
    Gradient,
    automatic_gradient,
    checked_gradient,
)
from orthoboot.functionals.base import Covariance, Functional
from orthoboot.functionals.function_of_means import (
    components,
    curvature_by_differences,
    given_jacobian,
    jacobian_by_differences,
    once_per_data,
    principal_directions,
)
from orthoboot.functionals.moments import quotient
from orthoboot.functionals.output import Output, output_like
from orthoboot.functionals.recognition import recognized
from orthoboot.functionals.user_function import check_takes_many, value_of
from orthoboot.resamples import Resamples
from orthoboot.typing import FloatArray, Influence

Known = TypeVar("Known")


class Comparison(Functional):
    """The same statistic of two independent samples, turned into one."""

    of: Functional
    word: ClassVar[str]

    @abstractmethod
    def compared(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return the comparison of two values of the statistic."""

    @abstractmethod
    def slopes(self, first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of `compared` by both values."""

    @property
    def name(self) -> str:  # type: ignore[override]
        """Return for example ``difference of mean``."""
        return f"{self.word} of {self.of.name}"

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """Return whether the compared statistic is smooth."""
        return self.of.smooth

    @property
    def fractional(self) -> bool:  # type: ignore[override]
        """Return whether the compared statistic takes weights that are not whole numbers."""
        return self.of.fractional

    @property
    def batched(self) -> bool:  # type: ignore[override]
        """Return whether the compared statistic is faster on many resamples at once."""
        return self.of.batched

    def replace(self, **options: Any) -> Self:
        """Return the same comparison of the statistic with other options."""
        return replace(self, of=self.of.replace(**options))  # type: ignore[type-var]

    def check(self, data: Data) -> None:
        """Raise unless there are two samples with the same columns, each of which the statistic can use."""
        _check_two_samples(self.name, data)
        _check_same_columns(self.name, data)
        for sample in self.samples(data):
            self.of.check(sample)

    def findings(self, data: Data) -> tuple[OrthobootWarning, ...]:
        """Return what the statistic has found in either sample."""
        return tuple(finding for sample in self.samples(data) for finding in self.of.findings(sample))

    def output(self, data: Data) -> Output:
        """Return the output of the statistic on the first sample; columns keep their names."""
        output = self.of.output(self.samples(data)[0])
        columns = () if output.is_scalar else data.columns[0] or ()
        names = tuple(name if name in columns else f"{self.word} of {name}" for name in output.names)
        return replace(output, names=names)

    def evaluate(self, data: Data, resamples: Resamples) -> FloatArray:
        """Return the comparison at the weights of both samples, shape ``(B, k)``."""
        first, second = self.samples(data)
        return self.compared(
            self.of.evaluate(first, resamples.sample(0)), self.of.evaluate(second, resamples.sample(1))
        )

    def influence(self, data: Data) -> Influence | None:
        """Return the statistic's influence in each sample, times the slope of the comparison."""
        parts = _all_known(self.of.influence(sample) for sample in self.samples(data))
        if parts is None:
            return None
        slopes = self.slopes(*self.values(data))
        return tuple(part[0] * slope for part, slope in zip(parts, slopes, strict=True))

    @once_per_data
    def samples(self, data: Data) -> tuple[Data, Data]:
        """Return the two samples, the same objects every time, so that what is kept for them is found again."""
        return data.sample(0), data.sample(1)

    def values(self, data: Data) -> tuple[FloatArray, FloatArray]:
        """Return the statistic of each sample, two arrays of shape ``(k,)``."""
        first, second = (self.of.estimate(sample) for sample in self.samples(data))
        return first, second

    def _biases(self, data: Data, covariance: Covariance) -> list[FloatArray] | None:
        """Return the statistic's second-order bias in each sample, or None where it has none."""
        return _all_known(
            self.of.second_order_bias(sample, _within_sample(covariance, data, number))
            for number, sample in enumerate(self.samples(data))
        )


def _all_known(parts: Iterable[Known | None]) -> list[Known] | None:
    """Return the parts as a list, or None if one of them is None."""
    known = []
    for part in parts:
        if part is None:
            return None
        known.append(part)
    return known


def _within_sample(covariance: Covariance, data: Data, number: int) -> Covariance:
    """Return the covariance of sums over sample `number` alone: the other sample counts with zeros."""

    def of_sample(parts: Influence) -> FloatArray:
        width = parts[0].shape[1]
        return covariance(
            tuple(parts[0] if i == number else np.zeros((size, width)) for i, size in enumerate(data.sizes))
        )

    return of_sample


def _check_two_samples(name: str, data: Data) -> None:
    if data.sample_of != (0, 1):
        got = f"{len(data.sizes)} sample(s)" if len(data.sizes) == len(data.tables) else "paired arrays"
        raise DataError(
            f"`{name}` takes two independent samples, `(first, second)`; got {got}. For paired rows take the "
            "statistic of their differences instead."
        )


def _check_same_columns(name: str, data: Data) -> None:
    shapes = [array.shape[1:] for array in data.arrays]
    named = [columns for columns in data.columns if columns is not None and shapes[0] != ()]
    if shapes[0] != shapes[1] or len(set(named)) > 1:
        got = named if len(set(named)) > 1 else shapes
        raise DataError(
            f"`{name}` takes two samples with the same columns; got {got[0]} and {got[1]}. Select the same columns "
            "in the same order."
        )


@dataclass(frozen=True)
class Difference(Comparison):
    """A statistic of the first sample less that of the second; see `difference`."""

    of: Functional
    word = "difference"

    def compared(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return ``first - second``."""
        return first - second

    def slopes(self, first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``1`` and ``-1``."""
        return np.ones_like(first), -np.ones_like(second)

    def second_order_bias(self, data: Data, covariance: Covariance) -> FloatArray | None:
        """Return the bias in the first sample less that in the second."""
        biases = self._biases(data, covariance)
        return None if biases is None else biases[0] - biases[1]


@dataclass(frozen=True)
class RelativeDifference(Comparison):
    """A difference in units of the second sample's statistic; see `relative_difference`."""

    of: Functional
    word = "relative difference"

    def check(self, data: Data) -> None:
        """Raise unless the samples can be compared and the second one's statistic is not zero."""
        super().check(data)
        if not self.values(data)[1].all():
            raise DataError(
                f"`{self.name}` divides by the statistic of the second sample, which must not be zero; got 0.0. Use "
                "`difference`, or swap the samples."
            )

    def compared(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return ``(first - second) / second``."""
        return quotient(first - second, second)

    def slopes(self, first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``1 / second`` and ``-first / second**2``."""
        return 1 / second, -first / np.square(second)

    def second_order_bias(self, data: Data, covariance: Covariance) -> FloatArray | None:
        """Return the slopes times the samples' biases, plus ``first Var(second) / second**3``."""
        biases = self._biases(data, covariance)
        influence = self.of.influence(self.samples(data)[1])
        if biases is None or influence is None:
            return None
        first, second = self.values(data)
        slopes = self.slopes(first, second)
        variance = np.diag(_within_sample(covariance, data, 1)(influence))
        return slopes[0] * biases[0] + slopes[1] * biases[1] + first * variance / second**3


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
        biases = _all_known(functional.second_order_bias(data, covariance) for functional in self.functionals)
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
        parts = _all_known(functional.influence(data) for functional in self.functionals)
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


def difference(f: Any) -> Difference:
    r"""Return the statistic "`f` of the first sample less `f` of the second", for two independent samples.

    .. math:: \phi = f(x) - f(y), \qquad I^x_j = I^f_j(x), \qquad I^y_j = -I^f_j(y).

    Two input models, as in the paper's ``section:ci``.

    Parameters
    ----------
    f
        A statistic of the catalogue, or a callable that has an entry in it such as `numpy.mean`.

    Examples
    --------
    >>> from orthoboot.functionals import difference, mean
    >>> difference(mean)([1.0, 2.0, 6.0], [1.0, 2.0])
    1.5
    """
    return Difference(_catalogued(f, "f"))


def relative_difference(f: Any) -> RelativeDifference:
    r"""Return the statistic "difference of `f` between two independent samples, over `f` of the second".

    .. math:: \phi = \frac{f(x) - f(y)}{f(y)}, \qquad I^x_j = \frac{I^f_j(x)}{f(y)}, \qquad
              I^y_j = -\frac{f(x)}{f(y)^2} I^f_j(y).

    Two input models, as in the paper's ``section:ci``.

    Parameters
    ----------
    f
        A statistic of the catalogue, or a callable that has an entry in it such as `numpy.mean`.

    Examples
    --------
    >>> from orthoboot.functionals import mean, relative_difference
    >>> relative_difference(mean)([1.0, 2.0, 6.0], [1.0, 3.0])
    0.5
    """
    return RelativeDifference(_catalogued(f, "f"))


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
    return Composition(g, tuple(_catalogued(f, "functionals") for f in functionals), checked_gradient(gradient), name)


def _catalogued(f: Any, argument: str) -> Functional:
    functional = recognized(f)
    if functional is None:
        raise ArgumentError(
            f"`{argument}` must be a statistic of the catalogue, such as `mean` or `quantile(0.9)`; got "
            f"{getattr(f, '__name__', type(f).__name__)!r}. For your own function of means use `function_of_means`."
        )
    return functional
