"""The same statistic of two independent samples, compared."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import DataError, OrthobootWarning
from orthoboot.functionals.base import Covariance, Functional
from orthoboot.functionals.columns.moments import quotient
from orthoboot.functionals.combined.parts import all_known, catalogued
from orthoboot.functionals.feature_means import once_per_data
from orthoboot.functionals.output import Output
from orthoboot.typing import FloatArray, Influence


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
        parts = all_known(self.of.influence(sample) for sample in self.samples(data))
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
        return all_known(
            self.of.second_order_bias(sample, _within_sample(covariance, data, number))
            for number, sample in enumerate(self.samples(data))
        )


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
    return Difference(catalogued(f, "f"))


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
    return RelativeDifference(catalogued(f, "f"))
