"""The same statistic compared: of two independent samples, or of two predictions for the same rows."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ArgumentError, DataError, OrthobootWarning
from orthoboot.functionals.base import Covariance, Functional, KnowsCategories, Prepared
from orthoboot.functionals.columns.moments import quotient
from orthoboot.functionals.combined.parts import Combined, all_known, catalogued, total_work
from orthoboot.functionals.evaluation import NO_FITS, Convergence
from orthoboot.functionals.output import Output
from orthoboot.typing import FloatArray, Influence, IntArray

Pair = tuple[FloatArray, FloatArray]
"""One array for each of two samples."""


class Comparison(Combined):
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
    def parts(self) -> tuple[Functional, ...]:
        """Return the compared statistic."""
        return (self.of,)

    def replace(self, **options: Any) -> Self:
        """Return the same comparison of the statistic with other options."""
        return replace(self, of=self.of.replace(**options))  # type: ignore[type-var]

    def curvature(self, first: FloatArray, second: FloatArray) -> FloatArray | None:
        """Return the second derivative of `compared` by the second value, times the square of that value.

        None where it is linear in both. Without the square it would leave the range of numbers before the comparison.
        """
        return None

    def check_estimates(self, first: FloatArray, second: FloatArray) -> None:
        """Raise a `DataError` if these values of the statistic cannot be compared."""

    def at(self, data: Data) -> PreparedComparison:
        """Return the comparison at `data`, not checked yet."""
        return PreparedComparison(self, data)


@dataclass(frozen=True, eq=False)
class PreparedComparison(Prepared[Comparison]):
    """The same statistic of two independent samples at their data."""

    @cached_property
    def samples(self) -> tuple[Prepared[Any], Prepared[Any]]:
        """Return the statistic at each of the two samples."""
        of = self.functional.of
        return of.at(self.data.sample(0)), of.at(self.data.sample(1))

    @property
    def one_by_one(self) -> bool:  # type: ignore[override]
        """Return whether the statistic takes one resample after the other."""
        return self.samples[0].one_by_one

    @property
    def needs_weights(self) -> bool:
        """Return whether the statistic takes the weight of every row."""
        return any(sample.needs_weights for sample in self.samples)

    @property
    def work(self) -> float | None:
        """Return how many rows added up cost as much as one replicate, where the statistic knows it."""
        return total_work(self.samples)

    def check(self) -> None:
        """Raise unless there are two samples with the same columns, each of which the statistic can use."""
        _check_two_samples(self.functional, self.data)
        _check_same_columns(self.functional.name, self.data)
        for sample in self.samples:
            sample.check()
        self.functional.check_estimates(*self.sample_estimates)

    def findings(self, convergence: Convergence = NO_FITS) -> tuple[OrthobootWarning, ...]:
        """Return the warnings about the statistic in either sample."""
        return tuple(finding for sample in self.samples for finding in sample.findings(convergence))

    @cached_property
    def output(self) -> Output:
        """Return the output of the statistic on the first sample; columns keep their names."""
        output = self.samples[0].output
        columns = () if output.is_scalar else self.data.columns[0] or ()
        names = tuple(name if name in columns else f"{self.functional.word} of {name}" for name in output.names)
        return replace(output, names=names)

    def values(self, resamples: Resamples) -> FloatArray:
        """Return the comparison at the weights of both samples, shape ``(B, k)``."""
        first, second = (sample.values(resamples.sample(i)) for i, sample in enumerate(self.samples))
        return self.functional.compared(first, second)

    def influence(self) -> Influence | None:
        """Return the statistic's influence in each sample, times the slope of the comparison."""
        parts = all_known(sample.influence() for sample in self.samples)
        if parts is None:
            return None
        slopes = self.functional.slopes(*self.sample_estimates)
        return tuple(part[0] * slope for part, slope in zip(parts, slopes, strict=True))

    def linear(self, resamples: Resamples) -> FloatArray | None:
        """Return the statistic's linear part in each sample, times the slope of the comparison."""
        parts = all_known(sample.linear(resamples.sample(i)) for i, sample in enumerate(self.samples))
        if parts is None:
            return None
        slopes = self.functional.slopes(*self.sample_estimates)
        return slopes[0] * parts[0] + slopes[1] * parts[1]

    @property
    def sample_estimates(self) -> Pair:
        """Return the statistic of each sample, two arrays of shape ``(k,)``."""
        return self.samples[0].estimate, self.samples[1].estimate

    def second_order_bias(self, covariance: Covariance) -> FloatArray | None:
        """Return the slopes times the samples' biases, plus half the curvature times the second one's variance."""
        within = [_WithinSample(covariance, self.data, number) for number in range(2)]
        biases = all_known(sample.second_order_bias(cov) for sample, cov in zip(self.samples, within, strict=True))
        if biases is None:
            return None
        slopes = self.functional.slopes(*self.sample_estimates)
        bias: FloatArray = slopes[0] * biases[0] + slopes[1] * biases[1]
        curvature = self.functional.curvature(*self.sample_estimates)
        if curvature is None:
            return bias
        influence = self.samples[1].influence()
        if influence is None:
            return None
        relative = tuple(part / self.sample_estimates[1] for part in influence)
        return bias + curvature * np.diag(within[1](relative)) / 2


@dataclass(frozen=True, eq=False)
class _WithinSample:
    """The covariance of sums over one of two samples alone: the other one counts with zeros."""

    covariance: Covariance
    data: Data
    number: int

    def __call__(self, parts: Influence) -> FloatArray:
        width = parts[0].shape[1]
        sizes = enumerate(self.data.sizes)
        return self.covariance(tuple(parts[0] if i == self.number else np.zeros((n, width)) for i, n in sizes))

    def category_variances(self, sample: int, codes: IntArray) -> FloatArray | None:
        """Return the variance of each category's share of the sample; None where it is not known."""
        whole = self.covariance
        return whole.category_variances(self.number, codes) if isinstance(whole, KnowsCategories) else None


def _check_two_samples(comparison: Comparison, data: Data) -> None:
    if data.sample_of != (0, 1):
        got = f"{len(data.sizes)} sample(s)" if len(data.sizes) == len(data.tables) else "paired arrays"
        raise DataError(
            f"`{comparison.name}` takes two independent samples, `(first, second)`; got {got}. "
            f"{_advice_for_paired_rows(comparison.of)}"
        )


def _advice_for_paired_rows(of: Functional) -> str:
    if not of.paired:
        return "For paired rows take the statistic of their differences instead."
    return (
        "For two predictions of the same rows use "
        f"`ob.bootstrap((y, first, second), ob.paired_difference(ob.{of.name}), paired=True)`."
    )


def _check_same_columns(name: str, data: Data) -> None:
    shapes = data.row_shapes
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


@dataclass(frozen=True)
class RelativeDifference(Comparison):
    """A difference in units of the second sample's statistic; see `relative_difference`."""

    of: Functional
    word = "relative difference"

    def check_estimates(self, first: FloatArray, second: FloatArray) -> None:
        """Raise if the second sample's statistic is zero."""
        if not second.all():
            raise DataError(
                f"`{self.name}` divides by the statistic of the second sample, which must not be zero; got 0.0. Use "
                "`difference`, or swap the samples."
            )

    def compared(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return ``(first - second) / second``."""
        return quotient(first - second, second)

    def slopes(self, first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``1 / second`` and ``-first / second**2``."""
        return 1 / second, -first / second / second

    def curvature(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return ``2 first / second``."""
        return 2 * first / second


@dataclass(frozen=True)
class PairedDifference(Combined):
    """A statistic of y and a first prediction less that of y and a second one; see `paired_difference`."""

    of: Functional
    paired = True

    @property
    def name(self) -> str:  # type: ignore[override]
        """Return for example ``paired difference of roc_auc``."""
        return f"paired difference of {self.of.name}"

    @property
    def parts(self) -> tuple[Functional, ...]:
        """Return the compared statistic."""
        return (self.of,)

    def replace(self, **options: Any) -> Self:
        """Return the same comparison of the statistic with other options."""
        return replace(self, of=self.of.replace(**options))

    def at(self, data: Data) -> PreparedPairedDifference:
        """Return the comparison at `data`, not checked yet."""
        return PreparedPairedDifference(self, data)


@dataclass(frozen=True, eq=False)
class PreparedPairedDifference(Prepared[PairedDifference]):
    """A statistic of y with either of two predictions, at the rows of all three."""

    @cached_property
    def predictions(self) -> tuple[Prepared[Any], Prepared[Any]]:
        """Return the statistic at y with each of the two predictions."""
        y, *predictions = self.data.tables
        first, second = (Data((y, prediction), (0, 0), self.data.sizes) for prediction in predictions)
        return self.functional.of.at(first), self.functional.of.at(second)

    @property
    def one_by_one(self) -> bool:  # type: ignore[override]
        """Return whether the statistic takes one resample after the other."""
        return self.predictions[0].one_by_one

    @property
    def work(self) -> float | None:
        """Return how many rows added up cost as much as one replicate, where the statistic knows it."""
        return total_work(self.predictions)

    def check(self) -> None:
        """Raise unless there are y and two predictions, each of which the statistic can use."""
        if self.data.sample_of != (0, 0, 0):
            got = f"{len(self.data.tables)} array(s) in {len(self.data.sizes)} sample(s)"
            raise DataError(
                f"`{self.functional.name}` takes y and two predictions for the same rows, `(y, first, second)`, with "
                f"`paired=True`; got {got}."
            )
        for prediction in self.predictions:
            prediction.check()

    def findings(self, convergence: Convergence = NO_FITS) -> tuple[OrthobootWarning, ...]:
        """Return the warnings about the statistic with either prediction, each once."""
        found = [finding for prediction in self.predictions for finding in prediction.findings(convergence)]
        return tuple({(type(finding), str(finding)): finding for finding in found}.values())

    @cached_property
    def output(self) -> Output:
        """Return the output of the statistic with the first prediction."""
        output = self.predictions[0].output
        return replace(output, names=tuple(f"paired difference of {name}" for name in output.names))

    def values(self, resamples: Resamples) -> FloatArray:
        """Return the difference at the same weights for both, shape ``(B, k)``."""
        first, second = self.predictions
        return first.values(resamples) - second.values(resamples)

    def influence(self) -> Influence | None:
        """Return the difference of the two influence functions."""
        parts = all_known(prediction.influence() for prediction in self.predictions)
        return None if parts is None else (parts[0][0] - parts[1][0],)

    def linear(self, resamples: Resamples) -> FloatArray | None:
        """Return the difference of the two linear parts."""
        parts = all_known(prediction.linear(resamples) for prediction in self.predictions)
        return None if parts is None else parts[0] - parts[1]

    def second_order_bias(self, covariance: Covariance) -> FloatArray | None:
        """Return the difference of the two biases."""
        biases = all_known(prediction.second_order_bias(covariance) for prediction in self.predictions)
        return None if biases is None else biases[0] - biases[1]


def difference(f: Any) -> Difference:
    r"""Return the statistic "`f` of the first sample minus `f` of the second", for two independent samples.

    .. math:: \phi = f(x) - f(y), \qquad I^x_j = I^f_j(x), \qquad I^y_j = -I^f_j(y).

    The two samples are two input models, as in the paper's ``section:ci``.

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

    The two samples are two input models, as in the paper's ``section:ci``.

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


def paired_difference(metric: Any) -> PairedDifference:
    r"""Return the statistic "`metric` of the first prediction minus `metric` of the second", on the same rows.

    .. math:: \phi = f(y, a) - f(y, b), \qquad I_j = I^f_j(y, a) - I^f_j(y, b).

    Use it for two models on one test set: their errors are correlated, so the interval of the difference is shorter
    than with separate test sets. The data are ``(y, first, second)``, with ``paired=True``. Both influence functions
    are derivatives with respect to the same weights, so that of the difference is their difference, by ``eq:taylor``.

    Parameters
    ----------
    metric
        A statistic of pairs of the catalogue, such as `roc_auc`, `rmse`, `accuracy` or `correlation`.

    Examples
    --------
    >>> from orthoboot.functionals import mae, paired_difference
    >>> paired_difference(mae)([1.0, 2.0, 3.0], [1.0, 2.5, 3.0], [1.0, 2.0, 4.5])
    -0.33333333333333337
    """
    functional = catalogued(metric, "metric")
    if not functional.paired:
        raise ArgumentError(
            f"`metric` must be a statistic of pairs, y and a prediction, such as `roc_auc` or `rmse`; got "
            f"`{functional.name}`, which takes one sample. For paired rows take it of their differences."
        )
    return PairedDifference(functional)
