"""Quantiles of data that are read part by part, from the rows near them: exact, in a few passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from orthoboot.arrays.passes import Ranges, Spread
from orthoboot.data import Data
from orthoboot.data.pieces import RowsInPieces, SampleInPieces, as_array, in_pieces
from orthoboot.draws.resamples import Resamples
from orthoboot.functionals.columns.moments import columns_of
from orthoboot.functionals.columns.order_statistics import interpolated, interpolation, positions_of, slope_levels
from orthoboot.functionals.columns.rank_windows import Ranks, Window, rank_windows
from orthoboot.functionals.formula import PreparedFormula
from orthoboot.typing import BoolArray, FloatArray, Influence, IntArray

_REACH = 10.0
"""Standard deviations of a quantile's rank in a resample that its window reaches on either side."""

_SPARE_RANKS = 4
"""Added to each of these for the first and the last few ranks: a resample misses the k least rows with odds exp(-k)."""

_HELD_ROWS = 20_000
"""Rows up to which the window is the whole column, so that weights of any kind can be given."""

_COUNTS_AT_ONCE = 1 << 21
"""Counts held at once: 16 MB, or those of one resample where the windows hold more rows."""

_Step = tuple[Callable[..., Any], int, float]
"""A comparison, a column and the value that it is compared with."""


@dataclass(frozen=True, eq=False)
class QuantileWindows:
    """The rows around each quantile, which are all that its value on a resample needs, besides the number below them.

    Attributes
    ----------
    sample
        All rows.
    n_columns
        Columns of the table.
    levels
        Shape ``(n_levels,)``.
    windows
        One for each level and column, the columns of the first level first: k of them, in the order of the outputs.
    slopes
        One over the density at each quantile, shape ``(k,)``.
    reach
        How many standard deviations of its rank in a resample are inside, on either side of a quantile.
    """

    sample: SampleInPieces
    n_columns: int
    levels: FloatArray
    windows: tuple[Window, ...]
    slopes: FloatArray
    reach: float

    def wider(self) -> QuantileWindows:
        """Return windows twice as wide."""
        return quantile_windows(self.sample, self.n_columns, self.levels, 2 * self.reach)

    @cached_property
    def estimate(self) -> FloatArray:
        """Return the quantiles of the data, shape ``(k,)``."""
        return _quantiles(self.windows, self._levels_of_outputs, self.sample.n_rows)

    @property
    def _levels_of_outputs(self) -> FloatArray:
        return np.repeat(self.levels, self.n_columns)

    @cached_property
    def shares(self) -> FloatArray:
        """Return the share of the rows that are at most the quantile, shape ``(k,)``."""
        pairs = zip(self.windows, self.estimate.tolist(), strict=True)
        return np.array([window.at_most(value) for window, value in pairs]) / self.sample.n_rows

    @cached_property
    def steps(self) -> RowsInPieces:
        """Return what is added up over each resample, as columns of zeros and ones.

        For each output whether a row lies below its window, then for each whether it is at most the quantile, then for
        each atom of each window whether it has that value.
        """
        pairs = list(zip(self.windows, self.estimate.tolist(), strict=True))
        steps: list[_Step] = [(np.less, window.column, window.low) for window in self.windows]
        steps += [(np.less_equal, window.column, value) for window, value in pairs]
        steps += [(np.equal, window.column, atom) for window in self.windows for atom in window.atoms.tolist()]
        return RowsInPieces(self.sample, partial(_steps, steps), len(steps))

    @property
    def holds_all_rows(self) -> bool:
        """Return whether every window is the whole column and lists all its rows, so that nothing is added up."""
        return all(len(window.rows) == self.sample.n_rows for window in self.windows)

    @cached_property
    def rows(self) -> IntArray:
        """Return the numbers of the rows in any window, in ascending order."""
        return np.unique(np.concatenate([window.rows for window in self.windows]))

    def numbers_at_most(self, resamples: Resamples) -> FloatArray:
        """Return how many rows of each resample are at most the quantile of the data, shape ``(B, k)``."""
        k = len(self.windows)
        return resamples.sums(0, as_array(self.steps))[:, k : 2 * k]

    def values(self, resamples: Resamples) -> tuple[FloatArray, BoolArray]:
        """Return the quantiles of resamples, shape ``(B, k)``, and which resamples left a window, shape ``(B,)``."""
        values = np.empty((len(resamples), len(self.windows)))
        left = np.zeros(values.shape, dtype=bool)
        sums = np.zeros((len(resamples), self.steps.width))
        if not self.holds_all_rows:
            sums = resamples.sums(0, as_array(self.steps))
        at_once = max(_COUNTS_AT_ONCE // max(len(self.rows), 1), 1)
        for first in range(0, len(resamples), at_once):
            some = range(first, min(first + at_once, len(resamples)))
            places = slice(some.start, some.stop)
            part = resamples if len(some) == len(resamples) else resamples.some(some)
            values[places], left[places] = self._values(part, sums[places])
        return values, np.asarray(left.any(axis=1))

    def _values(self, resamples: Resamples, sums: FloatArray) -> tuple[FloatArray, BoolArray]:
        n, k = self.sample.n_rows, len(self.windows)
        counts, scale = resamples.counts_at(0, self.rows), n / resamples.totals(0)[:, np.newaxis]
        values, left = np.empty((len(resamples), k)), np.empty((len(resamples), k), dtype=bool)
        ranks = np.column_stack(interpolation(self._levels_of_outputs, n))
        first_atom = 2 * k
        for output, window in enumerate(self.windows):
            atoms = slice(first_atom, first_atom + len(window.atoms))
            own = np.take(counts, np.searchsorted(self.rows, window.rows), axis=1)
            below = sums[:, [output]]
            cumulative = (below + np.cumsum(window.ordered(own, sums[:, atoms]), axis=1)) * scale
            reaches_end = window.n_below + window.size == n
            values[:, output] = [_value(window, one, ranks[output]) for one in cumulative]
            is_above = (cumulative[:, -1] <= ranks[output, 1] + 0.5) & (not reaches_end)
            left[:, output] = is_above | (below[:, 0] * scale[:, 0] > ranks[output, 0] + 0.5)
            first_atom = atoms.stop
        values[counts.min(axis=1, initial=0.0) < 0] = np.nan
        return values, left


def _value(window: Window, cumulative: FloatArray, ranks: FloatArray) -> float:
    low, high = window.ordered_values[positions_of(cumulative, ranks[:2])]
    return float(interpolated(low, high, ranks[2]))


def _steps(steps: Sequence[_Step], data: Data) -> FloatArray:
    columns = columns_of(data)
    found = np.empty((len(steps), len(columns)))
    for row, (compared, column, value) in zip(found, steps, strict=True):
        compared(columns[:, column], value, out=row)
    return found.T


def quantile_windows(sample: SampleInPieces, n_columns: int, levels: FloatArray, reach: float) -> QuantileWindows:
    """Return the rows around the quantiles, and the slopes of the quantile function, in a few passes over all rows."""
    n = sample.n_rows
    lower, upper = slope_levels(levels, n)
    near = [_ranks_near(level, n, reach) for level in levels.tolist()]
    at_ends = [_ranks_at(level, n) for level in (*lower.tolist(), *upper.tolist())]
    wanted = [Ranks(column, *ends) for ends in (*near, *at_ends) for column in range(n_columns)]
    windows = rank_windows(sample, wanted, n_columns)
    k = len(levels) * n_columns
    low, high = (
        _quantiles(some, np.repeat(at, n_columns), n)
        for some, at in ((windows[k : 2 * k], lower), (windows[2 * k :], upper))
    )
    slopes = (high - low) / np.repeat(upper - lower, n_columns)
    return QuantileWindows(sample, n_columns, levels, tuple(windows[:k]), slopes, reach)


def _ranks_near(level: float, n: int, reach: float) -> tuple[int, int]:
    """Return the first and the last rank of a window."""
    if n <= _HELD_ROWS:
        return 0, n - 1
    first, last = _ranks_at(level, n)
    step = int(np.ceil(reach * (np.sqrt(n * level * (1 - level)) + _SPARE_RANKS)))
    return max(first - step, 0), min(last + step, n - 1)


def _ranks_at(level: float, n: int) -> tuple[int, int]:
    """Return the ranks that a quantile of the data lies between."""
    below, above, _ = interpolation(np.array([level]), n)
    return int(below[0]), int(above[0])


def _quantiles(windows: Sequence[Window], levels: FloatArray, n: int) -> FloatArray:
    """Return the quantile of the data at the level of each window, shape ``(k,)``."""
    below, above, fraction = interpolation(levels, n)
    ends = [window.at_ranks(ranks) for window, ranks in zip(windows, np.column_stack([below, above]), strict=True)]
    low, high = np.array(ends).T
    return interpolated(low, high, fraction)


@dataclass(frozen=True, eq=False)
class QuantilesInPieces(PreparedFormula[QuantileWindows]):
    """Quantiles at data that are read part by part; `orthoboot.functionals.columns.quantiles` has the formulas.

    The numbers are those of the same data in memory, up to rounding.

    Attributes
    ----------
    levels
        Shape ``(n_levels,)``.
    """

    levels: FloatArray

    @property
    def needs_weights(self) -> bool:
        """Return False: the counts of the rows near the quantiles are enough."""
        return False

    @cached_property
    def derived(self) -> QuantileWindows:
        """Return the rows around the quantiles."""
        sample = in_pieces(self.data)
        assert sample is not None
        n_columns = int(np.prod(self.data.row_shapes[0], dtype=int))
        return quantile_windows(sample, n_columns, self.levels, _REACH)

    @cached_property
    def centre(self) -> FloatArray:
        """Return the quantiles of the data, shape ``(k,)``."""
        return self.derived.estimate

    def values(self, resamples: Resamples) -> FloatArray:
        """Return the quantiles of resamples, shape ``(B, k)``; in wider windows where one is left."""
        windows = self.derived
        values, left = windows.values(resamples)
        while left.any():
            windows = windows.wider()
            if not windows.holds_all_rows:
                resamples.sums(0, as_array(windows.steps))  # of all resamples in one pass, remembered for each
            for b in np.flatnonzero(left).tolist():
                values[b : b + 1], left[b : b + 1] = windows.values(resamples.one(b))
        return values

    def own_values(self, resamples: Resamples) -> FloatArray | None:
        """Return None: nothing is saved."""
        return None

    def influence(self) -> Influence:
        """Return ``(share at most x_q - 1{x <= x_q}) / f(x_q)``, computed block by block."""
        windows = self.derived
        n, shares, slopes = self.data.sizes[0], windows.shares, windows.slopes
        estimate = windows.estimate.reshape(-1, windows.n_columns)
        compute = partial(_influence, estimate, shares, slopes)
        rows = RowsInPieces(windows.sample, compute, len(shares), is_centred=True)
        # It takes two values, so that no pass is needed to know how they spread.
        found = Ranges((shares - 1) * slopes, np.where(shares < 1, shares * slopes, 0.0))
        squares = n * shares * (1 - shares) * np.square(slopes)
        vars(rows)["spread"] = Spread(n, found, np.zeros_like(shares), squares)
        return (as_array(rows),)

    def linear(self, resamples: Resamples) -> FloatArray:
        """Return the mean influence of the rows of each resample, from the number that are at most the quantile."""
        windows, totals = self.derived, resamples.totals(0)[:, np.newaxis]
        excess = windows.shares * totals - windows.numbers_at_most(resamples)
        linear: FloatArray = excess * windows.slopes / self.data.sizes[0]
        return linear


def _influence(estimate: FloatArray, shares: FloatArray, slopes: FloatArray, data: Data) -> FloatArray:
    columns = columns_of(data)
    at_most = (columns[:, np.newaxis, :] <= estimate).reshape(len(columns), -1)
    influence: FloatArray = (shares - at_most) * slopes
    return influence
