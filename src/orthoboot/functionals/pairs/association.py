"""Statistics of two columns: covariance, correlation, and the ratio of means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from orthoboot.arrays.passes import ranges
from orthoboot.arrays.row_products import RowProducts, product_columns, row_products
from orthoboot.data import Data
from orthoboot.data.pieces import as_pieces, zeros_like
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ConstantDataWarning, DataError, DominantRowWarning, OrthobootWarning
from orthoboot.functionals.base import Covariance
from orthoboot.functionals.columns.moments import (
    check_ddof,
    check_more_rows_than,
    check_varying,
    checked_units,
    data_unit,
    divisor_factor,
    quotient,
    spread,
)
from orthoboot.functionals.feature_means import FeatureMeans, FunctionOfMeans
from orthoboot.functionals.formula import Formula, PreparedFormula
from orthoboot.functionals.means_form import MeansForm
from orthoboot.functionals.output import Output, output_like
from orthoboot.typing import FloatArray, Influence

_ROUNDING = 64 * float(np.finfo(np.float64).eps)
"""How far sums over many rows leave a perfect correlation from one."""


_SQUARES_AND_PRODUCT = np.array([[0, 0], [1, 1], [0, 1]])
"""The features of a correlation that are products of two columns."""


def pairs_of(data: Data) -> FloatArray:
    """Return the two columns of paired rows, shape ``(n, 2)``."""
    return np.column_stack(data.arrays)


def check_pairs(name: str, data: Data) -> None:
    """Raise unless the rows are pairs of numbers."""
    if len(data.sizes) > 1:
        raise DataError(
            f"`{name}` takes paired samples; pass `paired=True` so that the rows are drawn together, or one array with "
            f"two columns. Got {len(data.sizes)} independent samples of {_listed(data.sizes)} rows."
        )
    shapes = data.row_shapes
    if shapes not in (((2,),), ((), ())):
        advice = (
            "Select one column of the second, of probabilities for example `model.predict_proba(X)[:, 1]`."
            if len(shapes) == 2 and shapes[0] == ()
            else "Select two columns, for example `data[:, [0, 1]]`."
        )
        raise DataError(
            f"`{name}` takes one array with two columns or two paired arrays with one each; got rows of shape "
            f"{_listed(shapes)}. {advice}"
        )


class PairStatistic(Formula[Any]):
    """A single number from two columns of the same rows."""

    paired = True

    def pairs(self, data: Data) -> FloatArray:
        """Return the two columns, shape ``(n, 2)``."""
        return pairs_of(data)

    def check(self, at: PreparedFormula[Any]) -> None:
        """Raise unless the rows are pairs."""
        check_pairs(self.name, at.data)

    def output(self, at: PreparedFormula[Any]) -> Output:
        """Return a single number."""
        return output_like(0.0, self.name)

    def labels(self, data: Data) -> tuple[str, ...] | None:
        """Return the names of the two columns, where they have them."""
        named = [names for names in data.columns if names is not None]
        return tuple(name for names in named for name in names) if len(named) == len(data.columns) else None


def coefficients(values: FloatArray) -> FloatArray:
    """Return coefficients of correlation between -1 and 1, and exactly there where only rounding keeps them away."""
    return np.where(1 - np.abs(values) <= _ROUNDING, np.sign(values), values)


def influence_of(coefficient: FloatArray, influence: Influence) -> Influence:
    """Return the influence of a coefficient of correlation: nothing but rounding where it is 1 or -1, and zero then."""
    return influence if abs(coefficient[0]) < 1 else tuple(zeros_like(part) for part in influence)


def perfect(kind: str, coefficient: float) -> tuple[OrthobootWarning, ...]:
    """Return a warning where a coefficient of correlation is 1 or -1, and so on every resample."""
    if abs(coefficient) < 1:
        return ()
    return (
        ConstantDataWarning(
            f"the {kind}correlation is exactly {round(coefficient)} in the data, and so in every resample: its "
            "variance is zero and the interval has width zero. A perfect correlation often means that one column was "
            "computed from the other; if it was not, these rows do not show how far the population is from a line."
        ),
    )


def _far_row(coefficient: float, row: int) -> tuple[OrthobootWarning, ...]:
    """Return a warning where one row makes a correlation 1 or -1 to rounding, and resamples without it do not."""
    return (
        DominantRowWarning(
            f"the correlation is {round(coefficient)} to all digits, but the rows are not on a line: row {row} "
            "(counted from 0) lies so far away that it outweighs all others. Resamples without that row have another "
            "correlation, which is not seen to first order: the linear part is zero, and so is the jackknife's "
            "variance. Check that row, or use `spearman`, which uses ranks."
        ),
    )


class _Farthest(NamedTuple):
    """How far rows are from a line at most, and which of them is farthest from the mean."""

    off: float
    distance: float
    row: int


def _off_the_line(slope: float, columns: FloatArray) -> _Farthest:
    rows, find = as_pieces(columns), partial(_farthest, slope, ranges(columns).largest)
    found = [find([(0, columns)])] if rows is None else list(rows.reduced(find))
    far = max(found, key=lambda one: one.distance)
    return far._replace(off=max(one.off for one in found))


def _farthest(slope: float, largest: FloatArray, pieces: Iterable[tuple[int, FloatArray]]) -> _Farthest:
    known = _Farthest(0.0, -1.0, 0)
    for start, values in pieces:
        if not len(values):
            continue
        # In units of the largest deviation, so that rounding is as large for both columns.
        x, y = values[:, 0] / largest[0], values[:, 1] / largest[1]
        row = int(np.argmax(np.abs(x)))
        off = max(known.off, float(np.abs(x - slope * y).max()))
        known = _Farthest(off, float(abs(x[row])), start + row) if abs(x[row]) > known.distance else known
        known = known._replace(off=off)
    return known


class Association(PairStatistic, FunctionOfMeans):
    """A function of means of two columns of the same rows."""

    takes_pieces = True


def _listed(values: Iterable[Any]) -> str:
    return " and ".join(str(value) for value in values)


@dataclass(frozen=True)
class CovarianceOfTwo(Association):
    r"""The covariance of two columns.

    .. math:: \phi = \frac{1}{n - \mathrm{ddof}} \sum_j (x_j - \bar x)(y_j - \bar y), \qquad
              I_j = \frac{n}{n - \mathrm{ddof}} (x_j - \bar x)(y_j - \bar y) - \phi.

    The chain rule for a function of means, ``subsection:biascorrection``.

    Parameters
    ----------
    ddof
        The divisor is ``n - ddof``; n is the number of rows, whatever the weights sum to.

    Examples
    --------
    >>> from orthoboot.functionals import covariance
    >>> covariance([1.0, 2.0, 6.0], [0.0, 1.0, 2.0])
    1.6666666666666667
    """

    ddof: float = 0
    name = "covariance"
    is_quadratic = True

    def __post_init__(self) -> None:
        check_ddof(self.ddof)

    def check(self, at: PreparedFormula[FeatureMeans]) -> None:
        """Raise unless the rows are pairs, and more than `ddof`."""
        super().check(at)
        check_more_rows_than(self.name, self.ddof, at.data)

    def features(self, data: Data) -> FloatArray:
        """Return both deviations and their product, enlarged so that `value` has the divisor asked for."""
        x, y = data.frame.deviations(self.pairs(data)).T
        factor = divisor_factor(self.ddof, data.frame.n_rows)
        return np.stack([np.sqrt(factor) * x, np.sqrt(factor) * y, factor * x * y]).T

    def unit(self, data: Data) -> FloatArray:
        """Return the product of the units of the two columns."""
        unit = data_unit(data)
        return checked_units(self.name, unit, unit[:1] * unit[1:])

    def value(self, means: FloatArray) -> FloatArray:
        """Return ``mean(xy) - mean(x) mean(y)``."""
        x, y, xy = means
        difference: FloatArray = xy - x * y
        return difference[np.newaxis]

    def jacobian(self, means: FloatArray) -> FloatArray:
        """Return the derivatives by the three means."""
        return np.array([[-means[1], -means[0], 1.0]])


def _fill_products(columns: FloatArray) -> None:
    """Write the squares and the product of the first two columns into the next three, shape ``(5, m)``."""
    x, y, *products = columns
    for out, (first, second) in zip(products, ((x, x), (y, y), (x, y)), strict=True):
        np.multiply(first, second, out=out)


@dataclass(frozen=True)
class Correlation(Association):
    r"""The correlation of two columns, as `numpy.corrcoef`.

    .. math:: \phi = \frac{\mu_{xy}}{\sqrt{\mu_{xx} \mu_{yy}}}, \qquad
              I_j = u_j v_j - \tfrac12 \phi\,(u_j^2 + v_j^2),

    u and v the standardised columns. One of the elementary examples of ``subsection:CIconstructionexample``.

    Examples
    --------
    >>> from orthoboot.functionals import correlation
    >>> round(correlation([1.0, 2.0, 3.0], [1.0, 3.0, 2.0]), 12)
    0.5
    """

    name = "correlation"
    limits = (-1.0, 1.0)
    normal_from = 300
    own_features = True

    def check(self, at: PreparedFormula[FeatureMeans]) -> None:
        """Raise unless the rows are pairs and both columns vary."""
        super().check(at)
        check_varying(self.name, at.data.ranges, self.labels(at.data))

    def features(self, data: Data) -> FloatArray:
        """Return both deviations in units, their squares and their product."""
        return product_columns(self.products(data), data.arrays)

    def products(self, data: Data) -> RowProducts:
        """Return how they are computed."""
        frame = data.frame
        return row_products(frame.unit, frame.mean, _SQUARES_AND_PRODUCT, inverse=1 / frame.deviation_unit)

    def n_variables(self, n_features: int) -> int:
        """Return two."""
        return 2

    def powers(self, variables: FloatArray) -> FloatArray:
        """Return both columns, their squares and their product."""
        columns = np.empty((5, len(variables)))
        columns[:2] = variables.T
        _fill_products(columns)
        return columns.T

    def value(self, means: FloatArray) -> FloatArray:
        """Return the covariance over the root of both variances."""
        x, y, xx, yy, xy = means
        scale = np.sqrt(spread(x, xx) * spread(y, yy))
        return coefficients(quotient(xy - x * y, scale))[np.newaxis]

    def influence(self, at: PreparedFormula[FeatureMeans]) -> Influence:
        """Return the derivative towards each row, shape ``(n, 1)``."""
        return influence_of(at.estimate, super().influence(at))

    def linear(self, at: PreparedFormula[FeatureMeans], resamples: Resamples) -> FloatArray | None:
        """Return the derivative along the changes of the means; None where it is 1 or -1."""
        return super().linear(at, resamples) if abs(at.estimate[0]) < 1 else None

    def second_order_bias(self, at: PreparedFormula[FeatureMeans], covariance: Covariance) -> FloatArray:
        """Return the bias of second order, shape ``(1,)``; zero where the correlation is 1 or -1."""
        return super().second_order_bias(at, covariance) if abs(at.estimate[0]) < 1 else np.zeros(1)

    def means_form(self, at: PreparedFormula[FeatureMeans]) -> MeansForm | None:
        """Return the function of five means; None where the correlation is 1 or -1, and has no derivative."""
        return super().means_form(at) if abs(at.estimate[0]) < 1 else None

    def findings(self, at: PreparedFormula[FeatureMeans]) -> tuple[OrthobootWarning, ...]:
        """Return a warning where all rows lie on a line, or one far row makes them seem to."""
        coefficient = float(at.estimate[0])
        if abs(coefficient) < 1:
            return ()
        off, _, row = _off_the_line(coefficient, at.derived.deviations)
        digits = _ROUNDING * max(1.0, 1 / at.data.relative_spread)
        return perfect("", coefficient) if off <= digits else _far_row(coefficient, row)

    def jacobian(self, means: FloatArray) -> FloatArray:
        """Return the derivatives by the five means."""
        x, y, xx, yy, _ = means
        variance_x, variance_y = spread(x, xx), spread(y, yy)
        inverse_scale = 1 / np.sqrt(variance_x * variance_y)
        by_x, by_y = self.value(means)[0] / variance_x, self.value(means)[0] / variance_y
        return np.array(
            [[x * by_x - y * inverse_scale, y * by_y - x * inverse_scale, -by_x / 2, -by_y / 2, inverse_scale]]
        )

    def curvature(self, means: FloatArray, directions: FloatArray) -> FloatArray:
        """Return the sum of the second derivatives along directions; by differences they are rounding near 1 and -1."""
        x, y, xx, yy, _ = means
        along_x, along_y, along_xx, along_yy, along_xy = directions
        variance_x, variance_y = spread(x, xx), spread(y, yy)
        scale = np.sqrt(variance_x * variance_y)
        relative_x, relative_y = (along_xx - 2 * x * along_x) / variance_x, (along_yy - 2 * y * along_y) / variance_y
        of_covariance = (along_xy - x * along_y - y * along_x) / scale
        of_scale = (
            0.75 * (relative_x**2 + relative_y**2)
            + relative_x * relative_y / 2
            + along_x**2 / variance_x
            + along_y**2 / variance_y
        )
        second = -2 * along_x * along_y / scale - of_covariance * (relative_x + relative_y)
        return np.atleast_1d(np.sum(second + self.value(means)[0] * of_scale))


class QuotientOfMeans(Association):
    """The mean of one feature over the mean of another."""

    def value(self, means: FloatArray) -> FloatArray:
        """Return the quotient of the means."""
        return quotient(means[0], means[1])[np.newaxis]

    def jacobian(self, means: FloatArray) -> FloatArray:
        """Return ``1 / mean(y)`` and ``-phi / mean(y)``."""
        x, y = means
        return np.array([[1 / y, -x / y / y]])

    def curvature(self, means: FloatArray, directions: FloatArray) -> FloatArray:
        """Return ``2 u_y (phi u_y - u_x) / mean(y)**2``, summed over directions."""
        x, y = means
        along_x, along_y = directions / y
        return np.atleast_1d(2 * np.sum(along_y * (x / y * along_y - along_x)))


@dataclass(frozen=True)
class Ratio(QuotientOfMeans):
    r"""The mean of the first column over the mean of the second.

    .. math:: \phi = \bar x / \bar y, \qquad I_j = \frac{(x_j - \bar x) - \phi\,(y_j - \bar y)}{\bar y}.

    The chain rule for a function of means, ``subsection:biascorrection``.

    Examples
    --------
    >>> from orthoboot.functionals import ratio
    >>> ratio([1.0, 2.0, 6.0], [1.0, 2.0, 3.0])
    1.5
    """

    name = "ratio"

    def check(self, at: PreparedFormula[FeatureMeans]) -> None:
        """Raise unless the rows are pairs whose second mean is not zero."""
        self.check_rows(at)
        if at.derived.vanishing[1]:
            raise DataError(
                "`ratio` divides by the mean of the second column, which must not be zero; got "
                f"{at.derived.centre[1]:.2g}, zero but for rounding. Swap the columns, or study the two means with "
                "`mean`."
            )

    def check_rows(self, at: PreparedFormula[FeatureMeans]) -> None:
        """Raise unless the rows are pairs: with other weights the second mean is another."""
        super().check(at)

    def features(self, data: Data) -> FloatArray:
        """Return the two columns."""
        return self.pairs(data)


covariance = CovarianceOfTwo()
correlation = Correlation()
ratio = Ratio()
