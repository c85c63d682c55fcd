"""The Gini coefficient of each column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orthoboot.draws.resamples import Resamples
from orthoboot.errors import DataError
from orthoboot.functionals.columns.moments import columns_of, quotient
from orthoboot.functionals.columns.sorted_columns import SortedColumns, SortedColumnStatistic
from orthoboot.functionals.formula import PreparedFormula
from orthoboot.typing import FloatArray, Influence


@dataclass(frozen=True)
class Gini(SortedColumnStatistic):
    r"""The Gini coefficient of each column of non-negative numbers.

    .. math:: \phi = \frac{\sum_{i,j} |x_i - x_j|}{2 n^2 \bar x} = \frac{1}{\bar x} \int F (1 - F)\,dt, \qquad
              I_j = \frac{a_j - \bar a - \phi\,(x_j - \bar x)}{\bar x}, \qquad
              a_j = \int_{x_j}^\infty (1 - 2 F(t))\,dt.

    Both come from one sort and cumulative sums. It has the divisor :math:`n^2`, so it is zero for equal rows and
    :math:`1 - 1/n` where one row has all. Gini (1914); the influence is that of Monti (1991), Statistica 51, in terms
    of the distribution function; the derivative is that of ``eq:taylor``.

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


def _integral_beyond(values: FloatArray) -> FloatArray:
    """Return the integral of ``1 - 2 F`` from each row of the sorted columns ``(d, n)`` upwards, same shape."""
    n = values.shape[1]
    pieces = (1 - 2 * np.arange(1, n) / n) * np.diff(values, axis=1)
    upwards = np.zeros_like(values)
    upwards[:, :-1] = np.cumsum(pieces[:, ::-1], axis=1)[:, ::-1]
    return upwards


gini = Gini()
