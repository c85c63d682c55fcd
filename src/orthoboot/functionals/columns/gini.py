"""The Gini coefficient of each column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orthoboot.draws.resamples import Resamples
from orthoboot.errors import DataError
from orthoboot.functionals.base import Covariance
from orthoboot.functionals.columns.moments import columns_of, quotient
from orthoboot.functionals.columns.sorted_columns import SortedColumns, SortedColumnStatistic
from orthoboot.functionals.formula import PreparedFormula
from orthoboot.typing import FloatArray, Influence

_LARGEST_SUM = 4_000_000
"""Rows times rows up to which the second-order bias is summed value by value: some hundredths of a second."""
_THRESHOLDS_AT_ONCE = 16
"""Values for which one covariance matrix is asked; a larger one holds more that is not needed."""


@dataclass(frozen=True)
class Gini(SortedColumnStatistic):
    r"""The Gini coefficient of each column of non-negative numbers.

    .. math:: \phi = \frac{\sum_{i,j} |x_i - x_j|}{2 n^2 \bar x} = \frac{1}{\bar x} \int F (1 - F)\,dt, \qquad
              I_j = \frac{a_j - \bar a - \phi\,(x_j - \bar x)}{\bar x}, \qquad
              a_j = \int_{x_j}^\infty (1 - 2 F(t))\,dt.

    Both are computed by one sort and cumulative sums. The divisor is :math:`n^2`, so the value is zero for equal rows
    and :math:`1 - 1/n` if one row has everything. Gini (1914); the influence is that of Monti (1991), Statistica 51, in
    terms of the distribution function; the derivative is that of ``eq:taylor``.

    Examples
    --------
    >>> from orthoboot.functionals import gini
    >>> gini([0.0, 0.0, 0.0, 5.0])
    0.75
    """

    name = "gini"
    limits = (0.0, 1.0)

    def check(self, at: PreparedFormula[SortedColumns]) -> None:
        """Raise unless no number is negative and no column has mean zero."""
        super().check(at)
        columns = columns_of(at.data)
        if columns.min() < 0:
            raise DataError(
                f"`gini` takes numbers that are not negative; got {columns.min()}. Leave such rows out, or compare "
                "spreads with `std`."
            )
        empty = np.flatnonzero(columns.max(axis=0) == 0)
        if empty.size:
            label = int(empty[0]) if at.data.columns[0] is None else at.data.columns[0][empty[0]]
            raise DataError(
                f"`gini` divides by the mean, which must not be zero; got column {label!r} with zeros only. Leave that "
                "column out."
            )

    def values(self, at: PreparedFormula[SortedColumns], resamples: Resamples) -> FloatArray:
        """Return ``sum F (1 - F) gap / mean``, shape ``(B, d)``; NaN for a resample of zeros only."""
        coefficients = []
        for shares, values in self.ordered_shares(at, resamples):
            below = np.cumsum(shares, axis=1)[:, :-1]
            spreads = Resamples((below * (1 - below),)).sums(0, np.diff(values)[:, np.newaxis])
            means = Resamples((shares,)).sums(0, values[:, np.newaxis])
            coefficients.append(quotient(spreads, means))
        return np.hstack(coefficients)

    def influence(self, at: PreparedFormula[SortedColumns]) -> Influence:
        """Return the derivative of the quotient, shape ``(n, d)``."""
        columns = at.derived
        rows = columns_of(at.data)
        means = rows.mean(axis=0)
        beyond = np.empty_like(rows)
        np.put_along_axis(beyond, columns.order.T, _integral_beyond(columns.values).T, axis=0)
        derivative = (beyond - at.estimate * rows) / means
        return (derivative - derivative.mean(axis=0),)

    def second_order_bias(self, at: PreparedFormula[SortedColumns], covariance: Covariance) -> FloatArray | None:
        r"""Return the bias of the quotient, shape ``(d,)``; None where it costs too much.

        .. math:: -\frac{1}{\bar x} \left( \int \operatorname{Var}(F_b(t))\,dt
                  + \operatorname{Cov}(\bar I_b, \bar x_b) \right),

        with the variance of the distribution function and the covariance of the mean influence and the mean over
        resamples of the plan; for rows drawn independently the integral is :math:`\phi\,\bar x / n`.
        """
        rows, (influence,) = columns_of(at.data), self.influence(at)
        if rows.size * len(rows) > _LARGEST_SUM:
            return None
        return np.array(
            [
                -(_spread_of_shares(values, covariance) + covariance((np.column_stack(pair),))[0, 1]) / values.mean()
                for values, *pair in zip(rows.T, influence.T, rows.T, strict=True)
            ]
        )


def _spread_of_shares(values: FloatArray, covariance: Covariance) -> float:
    """Return the integral over t of the variance of the share of `values` ``(n,)`` up to t."""
    thresholds, total = np.unique(values), 0.0
    gaps = np.diff(thresholds)
    for start in range(0, len(gaps), _THRESHOLDS_AT_ONCE):
        part = slice(start, start + _THRESHOLDS_AT_ONCE)
        up_to = (values[:, np.newaxis] <= thresholds[:-1][part]).astype(np.float64)
        total += float(gaps[part] @ np.diag(covariance((up_to - up_to.mean(axis=0),))))
    return total


def _integral_beyond(values: FloatArray) -> FloatArray:
    """Return the integral of ``1 - 2 F`` from each row of the sorted columns ``(d, n)`` upwards, same shape."""
    n = values.shape[1]
    pieces = (1 - 2 * np.arange(1, n) / n) * np.diff(values, axis=1)
    upwards = np.zeros_like(values)
    upwards[:, :-1] = np.cumsum(pieces[:, ::-1], axis=1)[:, ::-1]
    return upwards


gini = Gini()
