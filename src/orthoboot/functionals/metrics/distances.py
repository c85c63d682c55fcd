"""Regression metrics: root mean squared error, mean absolute error and R squared."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from orthoboot.arrays.units import power_of_two
from orthoboot.data import Data
from orthoboot.data.pieces import RowsInPieces, SampleInPieces, in_pieces
from orthoboot.errors import DataError
from orthoboot.functionals.columns.moments import quotient, spread
from orthoboot.functionals.feature_means import FeatureMeans
from orthoboot.functionals.formula import PreparedFormula
from orthoboot.functionals.metrics.base import MeanLoss, Metric
from orthoboot.typing import FloatArray


@dataclass(frozen=True)
class RootMeanSquaredError(Metric):
    r"""The root mean squared error of predictions p of y, as scikit-learn's ``root_mean_squared_error(y, p)``.

    .. math:: \phi = \sqrt{\tfrac1n \sum_j (y_j - p_j)^2}, \qquad I_j = \frac{(y_j - p_j)^2 - \phi^2}{2 \phi}.

    The influence is zero where every prediction is perfect. The chain rule for a function of means,
    ``subsection:biascorrection``.

    Examples
    --------
    >>> from orthoboot.functionals import rmse
    >>> rmse([1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 2.0, 5.0])
    1.0
    """

    name = "rmse"
    limits = (0.0, math.inf)

    def features(self, data: Data) -> FloatArray:
        """Return the squared errors, in units of their size."""
        return self._squares(self.unit(data), data)

    def features_in_pieces(self, sample: SampleInPieces) -> RowsInPieces:
        """Return the squared errors block by block, in units of the size that they have in all blocks."""
        return RowsInPieces(sample, partial(self._squares, self._unit_in_pieces(sample)), 1)

    def unit(self, data: Data) -> FloatArray:
        """Return the power of two next to the largest error."""
        sample = in_pieces(data)
        if sample is not None:
            return self._unit_in_pieces(sample)
        return power_of_two(np.abs(self._errors(data)).max(axis=0))

    def _unit_in_pieces(self, sample: SampleInPieces) -> FloatArray:
        """Return the unit from one more pass, where numbers of such ranges may need one."""
        low, high = sample.whole.ranges
        with np.errstate(over="ignore"):
            unit = power_of_two(np.maximum(high[:1] - low[1:], high[1:] - low[:1]))
        if (unit == 1).all():
            return unit
        return power_of_two(RowsInPieces(sample, self._errors, 1).spread.ranges.largest)

    def _squares(self, unit: FloatArray, data: Data) -> FloatArray:
        squared: FloatArray = np.square(self._errors(data) / unit)
        return squared

    def _errors(self, data: Data) -> FloatArray:
        pairs = self.pairs(data)
        return pairs[:, :1] - pairs[:, 1:]

    def value(self, means: FloatArray) -> FloatArray:
        """Return the root of the mean squared error."""
        return np.sqrt(means)

    def jacobian(self, means: FloatArray) -> FloatArray:
        """Return ``1 / (2 phi)``."""
        # Perfect predictions have no derivative to one side; zero says that resampling does not move them.
        return np.atleast_2d(0.5 / np.sqrt(means) if means[0] > 0 else np.zeros(1))

    def curvature(self, means: FloatArray, directions: FloatArray) -> FloatArray:
        """Return ``-u**2 / (4 phi**3)``, summed over directions."""
        total = np.sum(np.square(directions))
        return -total / (4 * means**1.5) if means[0] > 0 else np.zeros(1)


@dataclass(frozen=True)
class MeanAbsoluteError(MeanLoss):
    r"""The mean absolute error of predictions p of y, as scikit-learn's ``mean_absolute_error(y, p)``.

    .. math:: \phi = \tfrac1n \sum_j |y_j - p_j|, \qquad I_j = |y_j - p_j| - \phi.

    A linear statistic: ``eq:taylor`` ends after the first term.

    Examples
    --------
    >>> from orthoboot.functionals import mae
    >>> mae([1.0, 2.0, 3.0], [2.0, 4.0, 3.0])
    1.0
    """

    name = "mae"
    limits = (0.0, math.inf)

    def features(self, data: Data) -> FloatArray:
        """Return the absolute errors."""
        observed, predicted = self.pairs(data).T
        absolute: FloatArray = np.abs(observed - predicted)
        return absolute[:, np.newaxis]


@dataclass(frozen=True)
class RSquared(Metric):
    r"""The share of the variance of y that predictions p explain, as scikit-learn's ``r2_score(y, p)``.

    .. math:: \phi = 1 - \frac{\sum_j (y_j - p_j)^2}{\sum_j (y_j - \bar y)^2}, \qquad
              I_j = \frac{(1 - \phi)(y_j - \bar y)^2 - (y_j - p_j)^2}{\mu_{yy}},

    :math:`\mu_{yy}` the variance of y with divisor n. It is negative for predictions worse than the mean of y. A
    resample in which y is constant has no R squared and counts as a failed replicate. The chain rule for a function
    of means, ``subsection:biascorrection``.

    Examples
    --------
    >>> from orthoboot.functionals import r2
    >>> r2([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 5.0])
    0.8
    """

    name = "r2"
    limits = (-math.inf, 1.0)

    def check(self, at: PreparedFormula[FeatureMeans]) -> None:
        """Raise unless the rows are pairs whose first column varies."""
        super().check(at)
        (low, *_), (high, *_) = at.data.ranges
        if low == high:
            raise DataError(
                "`r2` compares with the variance of the observed values, the first column, which must not be zero; "
                f"got {low} in every row. The observed values come first; use `rmse` where they do not vary."
            )

    def features(self, data: Data) -> FloatArray:
        """Return the deviation of y, its square and the squared error, in units of y's largest deviation."""
        pairs, frame = self.pairs(data), data.frame
        largest = frame.largest_deviation[0]
        y, error = frame.deviations(pairs)[:, 0] / largest, (pairs[:, 0] - pairs[:, 1]) / frame.unit[0] / largest
        return np.stack([y, y * y, error * error]).T

    def n_variables(self, n_features: int) -> int:
        """Return one: y."""
        return 1

    def powers(self, variables: FloatArray) -> FloatArray:
        """Return y and its square."""
        return np.hstack([variables, np.square(variables)])

    def value(self, means: FloatArray) -> FloatArray:
        """Return one minus the mean squared error over the variance."""
        first, second, squared_error = means
        return 1 - quotient(squared_error, spread(first, second))[np.newaxis]

    def jacobian(self, means: FloatArray) -> FloatArray:
        """Return the derivatives by the three means."""
        first, second, squared_error = means
        variance = spread(first, second)
        by_variance = quotient(squared_error, variance**2)
        return np.array([[-2 * first * by_variance, by_variance, -quotient(np.ones_like(variance), variance)]])


rmse = RootMeanSquaredError()
mae = MeanAbsoluteError()
r2 = RSquared()
