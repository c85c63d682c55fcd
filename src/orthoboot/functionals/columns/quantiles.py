"""Quantiles of each column, by one sort of the data and a cumulative sum of the weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoboot.arguments import is_real
from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ArgumentError
from orthoboot.functionals.columns.moments import columns_of
from orthoboot.functionals.columns.order_statistics import (
    interpolated,
    interpolation,
    positions_of,
    quantiles_of_sorted,
    slope_levels,
)
from orthoboot.functionals.columns.quantiles_in_pieces import QuantilesInPieces
from orthoboot.functionals.columns.sorted_columns import SortedColumns, SortedColumnStatistic
from orthoboot.functionals.formula import PreparedFormula
from orthoboot.functionals.output import Output, output_like
from orthoboot.typing import FloatArray, Influence


@dataclass(frozen=True)
class Quantile(SortedColumnStatistic):
    """One or several quantiles of each column; `quantile` has the formulas, `median` is the one at level 0.5.

    The data are one sample of shape ``(n,)`` or ``(n, d)``; each column has its own quantiles.

    Parameters
    ----------
    q
        A level strictly between 0 and 1, or several, which give a vector.

    Examples
    --------
    >>> from orthoboot.functionals import median
    >>> median([1.0, 2.0, 6.0])
    2.0
    >>> median([[1.0, 0.0], [2.0, 5.0], [6.0, 4.0]])
    array([2., 4.])
    """

    q: float | Sequence[float]
    smooth = False
    takes_pieces = True
    counts_rows = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", _checked_levels(self.q))

    @property
    def name(self) -> str:  # type: ignore[override]
        """Return ``median``, ``quantile(0.25)``, or ``quantile`` for several levels."""
        if isinstance(self.q, Sequence):
            return "quantile"
        return "median" if self.q == 0.5 else _level_name(self.q)

    @property
    def levels(self) -> FloatArray:
        """Return the levels as an array, shape ``(n_levels,)``."""
        return np.atleast_1d(np.asarray(self.q, dtype=np.float64))

    def at(self, data: Data) -> PreparedFormula[Any]:
        """Return the statistic at `data`, not checked yet."""
        return QuantilesInPieces(self, data, self.levels) if data.is_in_pieces else super().at(data)

    def output(self, at: PreparedFormula[SortedColumns]) -> Output:
        """Return one number per level and column, shaped as by `numpy.quantile` along the rows."""
        one_level, columns = np.zeros(at.data.row_shapes[0]), at.data.columns[0]
        if not isinstance(self.q, Sequence):
            return output_like(one_level, self.name, columns)
        names: list[str] = []
        for level in map(_level_name, self.q):
            labels = None if columns is None else tuple(f"{level} of {column}" for column in columns)
            names += output_like(one_level, level, labels).names
        return Output(((len(self.q), *one_level.shape),), None, tuple(names))

    def values(self, at: PreparedFormula[SortedColumns], resamples: Resamples) -> FloatArray:
        """Return the interpolated quantiles of the weighted rows, shape ``(B, n_levels * d)``.

        NaN for weights below zero: their sums fall on the way, and the order of equal rows would decide.
        """
        columns = at.derived
        n_columns, n_rows = columns.values.shape
        result = np.empty((len(resamples), len(self.levels), n_columns))
        below, above, fraction = interpolation(self.levels, n_rows)
        for b, (weights, total) in enumerate(zip(resamples.weights[0], resamples.totals(0), strict=True)):
            for column in range(n_columns):
                cumulative = np.cumsum(weights[columns.order[column]]) * (n_rows / total)
                low, high = (columns.values[column, positions_of(cumulative, at)] for at in (below, above))
                result[b, :, column] = interpolated(low, high, fraction)
            if weights.min() < 0:
                result[b] = np.nan
        return result.reshape(len(resamples), -1)

    def influence(self, at: PreparedFormula[SortedColumns]) -> Influence:
        """Return ``(q - 1{x <= x_q}) / f(x_q)``, centred."""
        values = columns_of(at.data)
        phi_hat = quantiles_of_sorted(at.derived.values, self.levels)
        at_most = values[:, np.newaxis, :] <= phi_hat
        influence = (at_most.mean(axis=0) - at_most) * self._sparsities(at)
        return (influence.reshape(len(values), -1),)

    def _sparsities(self, at: PreparedFormula[SortedColumns]) -> FloatArray:
        """Return ``1 / f(x_q)``, shape ``(n_levels, d)``, as slopes of the empirical quantile function."""
        lower, upper = slope_levels(self.levels, at.data.sizes[0])
        values = at.derived.values
        rise = quantiles_of_sorted(values, upper) - quantiles_of_sorted(values, lower)
        slopes: FloatArray = rise / (upper - lower)[:, np.newaxis]
        return slopes


def _checked_levels(q: Any) -> float | tuple[float, ...]:
    several = np.ndim(q) == 1
    levels = tuple(q) if several else (q,)
    if not levels:
        raise ArgumentError("`q` must hold at least one level; got an empty sequence. Use for example [0.25, 0.75].")
    for level in levels:
        if not is_real(level) or not 0 < level < 1:
            raise ArgumentError(f"`q` must lie strictly between 0 and 1; got {level!r}. For the 25% quantile use 0.25.")
    numbers = tuple(float(level) for level in levels)
    return numbers if several else numbers[0]


def _level_name(level: float) -> str:
    return f"quantile({level:g})"


def quantile(q: float | Sequence[float]) -> Quantile:
    r"""Return the statistic "quantile at level `q`" of each column, with numpy's linear interpolation.

    .. math:: \phi = x_q, \qquad I_j = \frac{q - 1\{x_j \le x_q\}}{f(x_q)} \text{, centred}.

    The value is that of `numpy.quantile` on the rows repeated by their weights, which are first rescaled to sum to n.
    It is not smooth in the weights. One over the density, :math:`1/f(x_q)`, is the slope of the empirical quantile
    function between :math:`q \pm h`, h the bandwidth of Hall and Sheather (1988), clipped to the unit interval; where
    ties make that slope zero, so is the influence. The derivative itself is that of ``eq:taylor``.

    Parameters
    ----------
    q
        A level strictly between 0 and 1, or several, which give a vector.

    Examples
    --------
    >>> from orthoboot.functionals import quantile
    >>> quantile(0.25)([1.0, 2.0, 3.0, 4.0])
    1.75
    >>> quantile([0.25, 0.75])([1.0, 2.0, 3.0, 4.0])
    array([1.75, 3.25])
    """
    return Quantile(q)


median = Quantile(0.5)
