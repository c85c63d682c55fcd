"""Moments of each column: mean, variance, standard deviation, skewness, kurtosis, and the norm of the mean."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from orthoboot.arguments import is_real
from orthoboot.arrays.passes import Ranges
from orthoboot.arrays.row_products import RowProducts, product_columns, row_products
from orthoboot.arrays.units import divided, power_of_two
from orthoboot.data import Data
from orthoboot.data.pieces import as_array, in_pieces
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ArgumentError, DataError
from orthoboot.functionals.feature_means import FeatureMeans, FunctionOfMeans, sum_of_multiples
from orthoboot.functionals.formula import PreparedFormula
from orthoboot.functionals.output import Output, output_like
from orthoboot.functionals.product_rows import feature_rows
from orthoboot.typing import FloatArray, Influence, IntArray

_NO_SPREAD = 1e-14
"""A variance below this share of the second moment is rounding: every row of the resample is the same."""


def columns_of(data: Data) -> FloatArray:
    """Return the rows of the only table as columns of numbers, shape ``(n, d)``."""
    return data.arrays[0].reshape(data.sizes[0], -1)


def data_unit(data: Data) -> FloatArray:
    """Return the power of two in which each column is measured, shape ``(d,)``: one for numbers of ordinary size."""
    return power_of_two(data.ranges.largest)


def check_one_table(name: str, data: Data) -> None:
    """Raise if the sample consists of several arrays."""
    if len(data.tables) > 1:
        raise DataError(
            f"`{name}` takes one array or frame; got {len(data.tables)} paired ones. Put them side by side, for "
            "example with `np.column_stack`."
        )


def check_ddof(ddof: Any) -> None:
    """Raise unless `ddof` is a number."""
    if not is_real(ddof) or not np.isfinite(ddof):
        raise ArgumentError(f"`ddof` must be a finite number; got {ddof!r}. The divisor is n - ddof: use 0 or 1.")


def check_more_rows_than(name: str, ddof: float, data: Data) -> None:
    """Raise if the divisor ``n - ddof`` is not positive."""
    if data.sizes[0] <= ddof:
        raise DataError(
            f"`{name}` with ddof={ddof} needs more than {ddof} rows; got {data.sizes[0]}. Use `.replace(ddof=0)`."
        )


def check_varying(name: str, found: Ranges, labels: tuple[str, ...] | None) -> None:
    """Raise if a column with these ranges is constant, and say which one."""
    low, high = found
    constant = np.flatnonzero(low == high)
    if constant.size:
        first = int(constant[0])
        label = repr(labels[first]) if labels is not None and len(labels) == low.size else str(first)
        raise DataError(
            f"`{name}` is not defined for a constant column; got column {label} with every value {low[first]}. Leave "
            "that column out."
        )


def divisor_factor(ddof: float, n_rows: int) -> float:
    """Return ``n / (n - ddof)``, what turns a mean of squares into a sum over ``n - ddof``."""
    return n_rows / (n_rows - ddof)


def spread(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the variance ``second - first**2``, exactly zero where it is rounding."""
    difference = second - np.square(first)
    return np.where(difference > _NO_SPREAD * second, difference, 0.0)


def quotient(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Return ``numerator / denominator``; NaN where the denominator is zero, as for a resample without spread."""
    missing = np.full(np.broadcast_shapes(np.shape(numerator), np.shape(denominator)), np.nan)
    result: FloatArray = np.divide(numerator, denominator, out=missing, where=denominator != 0)
    return result


def checked_units(name: str, unit: FloatArray, of_value: FloatArray) -> FloatArray:
    """Return the units of the value, `of_value`; raise if it is no floating-point number for data of size `unit`."""
    numbers = np.finfo(np.float64)
    # Leave room below the unit, so that values much smaller than it keep their digits.
    outside = ~((of_value >= numbers.tiny / numbers.eps) & (of_value <= numbers.max))
    if outside.any():
        size = float(np.ravel(unit)[int(np.argmax(outside)) % unit.size])
        raise DataError(
            f"`{name}` of numbers of the size {size:.0e} is out of the range of floating-point numbers, "
            f"{numbers.tiny:.0e} to {numbers.max:.0e}. Divide that column by {size:.0e} first."
        )
    return of_value


class ColumnMoment(FunctionOfMeans):
    """A statistic of each column, a function of the column's first `order` moments about the data's mean."""

    own_features = True
    takes_pieces = True
    degree: ClassVar[int] = 0
    """The power of the unit of the data in which the statistic is measured."""

    @abstractmethod
    def formula(self, *moments: FloatArray) -> FloatArray:
        """Return the statistic at the raw moments 1 to `order`, each of shape ``(d, ...)``."""

    @abstractmethod
    def partials(self, *moments: FloatArray) -> tuple[FloatArray, ...]:
        """Return the derivative of `formula` by each moment, each of shape ``(d,)``."""

    def unit(self, data: Data) -> FloatArray:
        """Return the unit of each column to the power `degree`."""
        unit = data_unit(data)
        return checked_units(self.name, unit, unit**self.degree)

    def check(self, at: PreparedFormula[FeatureMeans]) -> None:
        """Raise unless there is one table."""
        super().check(at)
        check_one_table(self.name, at.data)

    def output(self, at: PreparedFormula[FeatureMeans]) -> Output:
        """Return one number per column, named by it."""
        return output_like(np.zeros(at.data.row_shapes[0]), self.name, at.data.columns[0])

    def features(self, data: Data) -> FloatArray:
        """Return the powers 1 to `order` of the variables."""
        tables = data.arrays  # before anything else is asked of data that are no numbers
        return product_columns(self.products(data), tables)

    def products(self, data: Data) -> RowProducts:
        """Return the powers 1 to `order` of the deviations from the mean."""
        frame, d = data.frame, len(data.frame.unit)
        powers = _power_pairs(self.order, d)
        return row_products(frame.unit, frame.mean, powers, inverse=self.inverse(data), factor=self.factor(data))

    def inverse(self, data: Data) -> FloatArray | None:
        """Return what the deviations are multiplied by, shape ``(d,)``; None for one."""
        return None

    def factor(self, data: Data) -> FloatArray | None:
        """Return what the powers are multiplied by, shape ``(order d,)``; None for one."""
        return None

    def n_variables(self, n_features: int) -> int:
        """Return the number of columns; none for the mean itself, which moves with them."""
        return n_features // self.order if self.order > 1 else 0

    def powers(self, variables: FloatArray) -> FloatArray:
        """Return the powers 1 to `order` of variables ``(n, d)``, column by column in memory."""
        n, d = variables.shape
        powers = np.empty((self.order, d, n))
        powers[0] = variables.T
        _fill_powers(powers)
        return powers.reshape(-1, n).T

    def own_values(self, at: PreparedFormula[FeatureMeans], resamples: Resamples) -> FloatArray:
        """Return each column's statistic on a resample of its own: the means of its own powers are all it needs."""
        means = at.derived
        shifts = resamples.own_sums(0, means.deviations) / resamples.totals(0)
        values: FloatArray = means.unit * self.formula(*(means.centre.reshape(self.order, -1) + shifts))
        return values

    def value(self, means: FloatArray) -> FloatArray:
        """Return `formula` at the means of the powers."""
        return self.formula(*means.reshape(self.order, -1, *means.shape[1:]))

    def derivative_along(self, means: FeatureMeans, changes: FloatArray) -> FloatArray:
        """Return ``g' . change`` column by column: each statistic depends only on the `order` moments of its column."""
        return sum_of_multiples(self.slopes(means), changes)

    def slopes(self, means: FeatureMeans) -> tuple[FloatArray, ...]:
        """Return the derivatives by the moments, `order` of them."""
        return self.partials(*means.centre.reshape(self.order, -1))


@lru_cache
def _power_pairs(order: int, d: int) -> IntArray:
    """Return which features make each power of d columns from the second on: the power below it and the first."""
    places = np.arange((order - 1) * d)
    return np.stack([places, places % d], axis=1)


def _fill_powers(powers: FloatArray) -> None:
    """Write the second and further powers of the variables ``powers[0]``, shape ``(order, d, m)``."""
    for lower, higher in pairwise(powers):
        np.multiply(lower, powers[0], out=higher)


@dataclass(frozen=True)
class Mean(ColumnMoment):
    r"""The mean of each column.

    .. math:: \phi = \bar x, \qquad I_j = x_j - \bar x.

    The linear statistic: its remainder and its bias are zero (``eq:taylor`` ends after the first term).

    Examples
    --------
    >>> from orthoboot.functionals import mean
    >>> mean([1.0, 2.0, 6.0])
    3.0
    """

    name = "mean"
    order = 1
    degree = 1
    is_linear = True

    def products(self, data: Data) -> RowProducts:
        """Return the rows themselves, in units of the data."""
        unit = data_unit(data)
        return row_products(unit, (np.zeros_like(unit), np.zeros_like(unit)), _power_pairs(1, len(unit)))

    def derived(self, data: Data) -> FeatureMeans:
        """Return the rows as their mean and deviations, of long tables by the kernels that add these up."""
        sample = in_pieces(data)
        if sample is None:
            return super().derived(data)
        example = data if sample.source.in_memory else sample.example
        known = feature_rows(sample, super().products(example))
        if known is None:
            return super().derived(data)
        first, rest = example.frame.mean
        left, deviations = known.deviations()
        return FeatureMeans(first + (rest + left), as_array(deviations), unit=self.unit(data))

    def formula(self, *moments: FloatArray) -> FloatArray:
        """Return the first moment."""
        return moments[0]

    def partials(self, *moments: FloatArray) -> tuple[FloatArray, ...]:
        """Return ones."""
        return (np.ones_like(moments[0]),)


@dataclass(frozen=True)
class _Spread(ColumnMoment):
    """A statistic of the variance with divisor ``n - ddof``."""

    ddof: float = 0
    order = 2

    def __post_init__(self) -> None:
        check_ddof(self.ddof)

    def check(self, at: PreparedFormula[FeatureMeans]) -> None:
        """Raise unless there is one table with more than `ddof` rows."""
        super().check(at)
        check_more_rows_than(self.name, self.ddof, at.data)

    def factor(self, data: Data) -> FloatArray | None:
        """Return what enlarges the deviations and their squares so that ``m2 - m1**2`` has the divisor asked for."""
        if not self.ddof:
            return None
        factor = divisor_factor(self.ddof, data.frame.n_rows)
        return np.repeat([np.sqrt(factor), factor], len(data.frame.unit))


@dataclass(frozen=True)
class Variance(_Spread):
    r"""The variance of each column.

    .. math:: \phi = \frac{1}{n - \mathrm{ddof}} \sum_j (x_j - \bar x)^2, \qquad
              I_j = \frac{n}{n - \mathrm{ddof}} (x_j - \bar x)^2 - \phi.

    One of the elementary examples of ``subsection:CIconstructionexample``.

    Parameters
    ----------
    ddof
        What is taken off n in the divisor; n is the number of rows whatever the weights sum to.

    Examples
    --------
    >>> from orthoboot.functionals import variance
    >>> variance([1.0, 2.0, 6.0]), variance.replace(ddof=1)([1.0, 2.0, 6.0])
    (4.666666666666667, 7.0)
    """

    name = "variance"
    is_quadratic = True
    limits = (0.0, math.inf)
    degree = 2

    def formula(self, *moments: FloatArray) -> FloatArray:
        """Return ``m2 - m1**2``."""
        return spread(*moments)

    def partials(self, *moments: FloatArray) -> tuple[FloatArray, ...]:
        """Return ``-2 m1`` and ``1``."""
        first, second = moments
        return -2 * first, np.ones_like(second)


@dataclass(frozen=True)
class StandardDeviation(_Spread):
    r"""The standard deviation of each column.

    .. math:: \phi = \sqrt{s^2}, \qquad I_j = I^{s^2}_j / (2 \phi),

    where :math:`s^2` is `variance` with the same `ddof`; the influence is zero for a constant column. The chain rule
    for a function of means, ``subsection:biascorrection``.

    Parameters
    ----------
    ddof
        What is taken off n in the divisor of the variance.

    Examples
    --------
    >>> from orthoboot.functionals import std
    >>> std([1.0, 1.0, 3.0, 3.0])
    1.0
    """

    name = "std"
    limits = (0.0, math.inf)
    degree = 1

    def formula(self, *moments: FloatArray) -> FloatArray:
        """Return the root of ``m2 - m1**2``."""
        return np.sqrt(spread(*moments))

    def partials(self, *moments: FloatArray) -> tuple[FloatArray, ...]:
        """Return ``-m1 / phi`` and ``1 / (2 phi)``."""
        deviation = self.formula(*moments)
        # A constant column has no derivative to one side; zero says that resampling does not move it.
        inverse = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
        return -moments[0] * inverse, inverse / 2


@dataclass(frozen=True)
class _ScaleFree(ColumnMoment):
    """A statistic that neither shifting nor stretching a column changes."""

    def check(self, at: PreparedFormula[FeatureMeans]) -> None:
        """Raise unless there is one table whose columns vary."""
        super().check(at)
        check_varying(self.name, at.data.ranges, at.data.columns[0])

    def inverse(self, data: Data) -> FloatArray:
        """Return the inverse of a unit in which deviations are below one, so that powers do not overflow."""
        return 1 / data.frame.deviation_unit


@dataclass(frozen=True)
class Skewness(_ScaleFree):
    r"""The skewness of each column, as `scipy.stats.skew`.

    .. math:: \phi = \mu_3 / \mu_2^{3/2}, \qquad
              I_j = z_j^3 - 3 z_j - \phi - \tfrac32 \phi\,(z_j^2 - 1), \qquad z_j = (x_j - \bar x)/\sqrt{\mu_2}.

    The chain rule for a function of means, ``subsection:biascorrection``.

    Examples
    --------
    >>> from orthoboot.functionals import skewness
    >>> round(skewness([1.0, 2.0, 6.0]), 6)
    0.59517
    """

    name = "skewness"
    order = 3

    def formula(self, *moments: FloatArray) -> FloatArray:
        """Return the third central moment over the second to the power 3/2."""
        first, second, third = moments
        mu_2 = spread(first, second)
        return quotient(third - 3 * first * second + 2 * first**3, mu_2 * np.sqrt(mu_2))

    def partials(self, *moments: FloatArray) -> tuple[FloatArray, ...]:
        """Return the derivatives by the three raw moments."""
        first, second, _ = moments
        mu_2 = spread(first, second)
        cubed_scale = mu_2 * np.sqrt(mu_2)
        by_mu_2 = -1.5 * self.formula(*moments) / mu_2
        return (
            (6 * first**2 - 3 * second) / cubed_scale - 2 * first * by_mu_2,
            -3 * first / cubed_scale + by_mu_2,
            1 / cubed_scale,
        )


@dataclass(frozen=True)
class Kurtosis(_ScaleFree):
    r"""The excess kurtosis of each column, as `scipy.stats.kurtosis`.

    .. math:: \phi = \mu_4 / \mu_2^2 - 3, \qquad
              I_j = z_j^4 - 4 \gamma z_j - 2 (\phi + 3) z_j^2 + \phi + 3, \qquad z_j = (x_j - \bar x)/\sqrt{\mu_2},

    where :math:`\gamma` is the skewness. The chain rule for a function of means, ``subsection:biascorrection``.

    Examples
    --------
    >>> from orthoboot.functionals import kurtosis
    >>> kurtosis([-1.0, 1.0, -1.0, 1.0])
    -2.0
    """

    name = "kurtosis"
    order = 4

    def formula(self, *moments: FloatArray) -> FloatArray:
        """Return the fourth central moment over the squared second, less 3."""
        first, second, third, fourth = moments
        central = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
        return quotient(central, np.square(spread(first, second))) - 3

    def partials(self, *moments: FloatArray) -> tuple[FloatArray, ...]:
        """Return the derivatives by the four raw moments."""
        first, second, third, _ = moments
        mu_2 = spread(first, second)
        squared = np.square(mu_2)
        by_mu_2 = -2 * (self.formula(*moments) + 3) / mu_2
        return (
            (12 * first * second - 4 * third - 12 * first**3) / squared - 2 * first * by_mu_2,
            6 * first**2 / squared + by_mu_2,
            -4 * first / squared,
            1 / squared,
        )


@dataclass(frozen=True)
class NormOfMean(FunctionOfMeans):
    """A power of the length of the mean row; see `norm_of_mean`."""

    power: float
    name = "norm_of_mean"
    takes_pieces = True

    def __post_init__(self) -> None:
        if not is_real(self.power) or not 0 < self.power < np.inf:
            raise ArgumentError(f"`power` must be a positive number; got {self.power!r}. The paper takes 2 and 4.")

    def check(self, at: PreparedFormula[FeatureMeans]) -> None:
        """Raise unless there is one table, with a mean at which the power has a derivative."""
        self.check_rows(at)
        if self.power < 2 and at.derived.vanishing.all():
            raise DataError(
                f"`norm_of_mean({self.power})` is not smooth where the mean is zero, and the mean of the data is. Use "
                "a power of 2 or more."
            )

    def check_rows(self, at: PreparedFormula[FeatureMeans]) -> None:
        """Raise unless there is one table: with other weights the mean is another."""
        super().check(at)
        check_one_table(self.name, at.data)

    def output(self, at: PreparedFormula[FeatureMeans]) -> Output:
        """Return a single number."""
        return output_like(0.0, self.name)

    def features(self, data: Data) -> FloatArray:
        """Return the rows themselves, in units of the data."""
        return divided(columns_of(data), data_unit(data).max(keepdims=True))

    def unit(self, data: Data) -> FloatArray:
        """Return the unit to the power of the statistic."""
        unit: FloatArray = data_unit(data).max(keepdims=True)
        return checked_units(self.name, unit, unit**self.power)

    def influence(self, at: PreparedFormula[FeatureMeans]) -> Influence:
        """Return the derivative of the power; zero where the mean is zero but for rounding."""
        (influence,) = super().influence(at)
        return (np.zeros_like(influence) if at.derived.vanishing.all() else influence,)

    def linear(self, at: PreparedFormula[FeatureMeans], resamples: Resamples) -> FloatArray | None:
        """Return the derivative along the change of the mean; None where the mean is zero but for rounding."""
        return None if at.derived.vanishing.all() else super().linear(at, resamples)

    def value(self, means: FloatArray) -> FloatArray:
        """Return the power of the length."""
        return _squared_length(means)[np.newaxis] ** (self.power / 2)

    def jacobian(self, means: FloatArray) -> FloatArray:
        """Return ``power |m|**(power - 2) m``."""
        return self.power * self._stretch(means) * means[np.newaxis]

    def curvature(self, means: FloatArray, directions: FloatArray) -> FloatArray:
        """Return ``power |m|**(power - 2) (|u|**2 + (power - 2) (m . u)**2 / |m|**2)``, summed over directions."""
        along = np.sum(np.square(means @ directions))
        squared_length = float(_squared_length(means))
        share = along / squared_length if squared_length else 0.0
        total = np.sum(np.square(directions)) + (self.power - 2) * share
        return np.atleast_1d(self.power * self._stretch(means) * total)

    def _stretch(self, means: FloatArray) -> float:
        return float(np.power(_squared_length(means), self.power / 2 - 1))


def _squared_length(means: FloatArray) -> FloatArray:
    total: FloatArray = np.sum(np.square(means), axis=0)
    return total


def norm_of_mean(power: float) -> NormOfMean:
    r"""Return the statistic :math:`\phi = \|\bar x\|_2^{\mathrm{power}}`, a single number for any number of columns.

    .. math:: I_j = \mathrm{power}\,\|\bar x\|^{\mathrm{power}-2}\,\bar x^\top (x_j - \bar x).

    The debiasing examples of ``subsection:biascorrection`` are the powers 2 and 4.

    Parameters
    ----------
    power
        A positive number; below 2 the mean must not be zero.

    Examples
    --------
    >>> from orthoboot.functionals import norm_of_mean
    >>> norm_of_mean(2)([[2.0, 4.0], [4.0, 4.0]])
    25.0
    """
    return NormOfMean(power)


mean = Mean()
variance = Variance()
std = StandardDeviation()
skewness = Skewness()
kurtosis = Kurtosis()
