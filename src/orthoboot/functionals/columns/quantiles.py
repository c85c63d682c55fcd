"""Quantiles of each column, by one sort of the data and a cumulative sum of the weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from orthoboot.arguments import is_real
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ArgumentError
from orthoboot.functionals.columns.moments import columns_of
from orthoboot.functionals.columns.sorted_columns import SortedColumns, SortedColumnStatistic
from orthoboot.functionals.formula import PreparedFormula
from orthoboot.functionals.output import Output, output_like
from orthoboot.typing import FloatArray, Influence, IntArray

_BANDWIDTH_LEVEL = 0.95
"""The coverage for which Hall and Sheather's bandwidth is best."""


@dataclass(frozen=True)
class Quantile(SortedColumnStatistic):
    """One or several quantiles of each column; `quantile` has the formulas, `median` is the one at level 0.5.

    The data are one sample of shape ``(n,)`` or ``(n, d)``; of several columns each has its own.

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

    def output(self, at: PreparedFormula[SortedColumns]) -> Output:
        """Return one number per level and column, shaped as by `numpy.quantile` along the rows."""
        one_level, columns = np.zeros(at.data.arrays[0].shape[1:]), at.data.columns[0]
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
        below, above, fraction = _interpolation(self.levels, n_rows)
        for b, (weights, total) in enumerate(zip(resamples.weights[0], resamples.totals(0), strict=True)):
            for column in range(n_columns):
                cumulative = np.cumsum(weights[columns.order[column]]) * (n_rows / total)
                low, high = (columns.values[column, _ranks(cumulative, at)] for at in (below, above))
                result[b, :, column] = _interpolated(low, high, fraction)
            if weights.min() < 0:
                result[b] = np.nan
        return result.reshape(len(resamples), -1)

    def influence(self, at: PreparedFormula[SortedColumns]) -> Influence:
        """Return ``(q - 1{x <= x_q}) / f(x_q)``, centred."""
        values = columns_of(at.data)
        phi_hat = _quantiles(at.derived.values, self.levels)
        at_most = values[:, np.newaxis, :] <= phi_hat
        influence = (at_most.mean(axis=0) - at_most) * self._sparsities(at)
        return (influence.reshape(len(values), -1),)

    def _sparsities(self, at: PreparedFormula[SortedColumns]) -> FloatArray:
        """Return ``1 / f(x_q)``, shape ``(n_levels, d)``, as slopes of the empirical quantile function."""
        bandwidths = hall_sheather_bandwidth(self.levels, at.data.sizes[0])
        lower, upper = np.clip(self.levels - bandwidths, 0, 1), np.clip(self.levels + bandwidths, 0, 1)
        values = at.derived.values
        rise = _quantiles(values, upper) - _quantiles(values, lower)
        slopes: FloatArray = rise / (upper - lower)[:, np.newaxis]
        return slopes


def hall_sheather_bandwidth(levels: FloatArray, n_rows: int) -> FloatArray:
    r"""Return the bandwidth for the slope of the quantile function, shape as `levels`.

    .. math:: h = n^{-1/3} z_{0.975}^{2/3}
              \left(\frac{1.5\,\varphi(z_q)^2}{2 z_q^2 + 1}\right)^{1/3}

    Hall and Sheather (1988), Journal of the Royal Statistical Society B 50, for a normal density; the rule of R's
    quantreg.

    Examples
    --------
    >>> hall_sheather_bandwidth(np.array([0.5]), 1000).round(4)
    array([0.0972])
    """
    z = ndtri(levels)
    density = np.exp(-np.square(z) / 2) / np.sqrt(2 * np.pi)
    best = np.cbrt(1.5 * np.square(density) / (2 * np.square(z) + 1))
    bandwidths: FloatArray = best * np.cbrt(np.square(ndtri((1 + _BANDWIDTH_LEVEL) / 2)) / n_rows)
    return bandwidths


def _interpolation(levels: FloatArray, n_rows: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the rank below each quantile, counted from zero, and the fraction towards the next."""
    position = (n_rows - 1) * levels
    below = np.floor(position)
    return below, np.minimum(below + 1, n_rows - 1), position - below


def _ranks(cumulative: FloatArray, ranks: FloatArray) -> IntArray:
    """Return the positions in the sorted data that hold the given ranks among the repeated rows."""
    # Half a row further: whole counts give the same answer, and rescaled ones are safe from rounding.
    positions = np.searchsorted(cumulative, ranks + 0.5, side="right")
    return np.minimum(positions, len(cumulative) - 1)


def _interpolated(low: FloatArray, high: FloatArray, fraction: FloatArray) -> FloatArray:
    """Return the point between `low` and `high`, from the nearer end as numpy does, so that the bits agree."""
    rise = high - low
    return np.where(fraction >= 0.5, high - rise * (1 - fraction), low + rise * fraction)


def _quantiles(values: FloatArray, levels: FloatArray) -> FloatArray:
    """Return the quantiles of sorted columns ``(d, n)``, shape ``(n_levels, d)``."""
    below, above, fraction = _interpolation(levels, values.shape[1])
    return _interpolated(values[:, below.astype(int)], values[:, above.astype(int)], fraction).T


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

    The value is that of `numpy.quantile` on the rows repeated as often as their weights say, the weights first
    rescaled to sum to n. It is not smooth in the weights. One over the density, :math:`1/f(x_q)`, is the slope of the
    empirical quantile function between :math:`q \pm h`, h the bandwidth of Hall and Sheather (1988), clipped to the
    unit interval; where ties make that slope zero, so is the influence. The derivative itself is that of
    ``eq:taylor``.

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
