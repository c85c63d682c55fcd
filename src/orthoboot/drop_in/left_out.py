"""Values of a statistic without one row at a time, as few passes over the rows as it allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from orthoboot.arrays.passes import column_sums
from orthoboot.data.pieces import as_pieces
from orthoboot.draws.resamples import Resamples
from orthoboot.drop_in.order_statistics import quantile_without_each_row
from orthoboot.functionals.base import Prepared
from orthoboot.functionals.columns.moments import StandardDeviation, Variance, divisor_factor
from orthoboot.functionals.columns.quantiles import Quantile
from orthoboot.typing import FloatArray

_NUMBERS_AT_ONCE = 1 << 21
"""Weights, or sums, that are held at once: 16 MB."""


class RowsLeftOut(Resamples):
    """The data without each of some rows of one sample in turn; sums over the others are differences.

    Parameters
    ----------
    sizes
        Rows of each sample.
    sample
        The sample whose rows are left out.
    rows
        Which rows, consecutive.
    """

    def __init__(self, sizes: Sequence[int], sample: int, rows: range) -> None:
        self._sizes, self._sample, self._rows = tuple(sizes), sample, rows

    @property
    def weights(self) -> tuple[FloatArray, ...]:
        """Return ones but for the row that is left out, one array ``(B, n_i)`` for each sample."""
        weights = tuple(np.ones((len(self), n)) for n in self._sizes)
        weights[self._sample][np.arange(len(self)), np.array(self._rows)] = 0.0
        return weights

    def __len__(self) -> int:
        return len(self._rows)

    def some(self, chosen: range) -> Resamples:
        """Return consecutive ones of them."""
        return RowsLeftOut(self._sizes, self._sample, self._rows[chosen.start : chosen.stop])

    def totals(self, sample: int) -> FloatArray:
        """Return how many rows are left, shape ``(B,)``."""
        return np.full(len(self), float(self._sizes[sample] - (sample == self._sample)))

    def sums(self, sample: int, values: FloatArray) -> FloatArray:
        """Return the sums of `values` over the rows that are left, shape ``(B, p)``."""
        total = np.broadcast_to(column_sums(values), (len(self), values.shape[1]))
        if sample != self._sample:
            return total
        rows, in_pieces = np.array(self._rows), as_pieces(values)
        left_out: FloatArray = total - (values[rows] if in_pieces is None else in_pieces.at(rows))
        return left_out


def values_without_each_row(prepared: Prepared[Any], sample: int) -> FloatArray:
    """Return the values of a statistic of the catalogue without each row of a sample in turn, shape ``(n_i, k)``."""
    functional = prepared.functional
    if isinstance(functional, Quantile):
        return _quantiles_without_each_row(prepared.data.arrays[0], functional.levels)
    sizes = prepared.data.sizes
    n, width = sizes[sample], sum(sizes) if prepared.needs_weights else 8 * prepared.output.size
    starts = range(0, n, at_once := max(_NUMBERS_AT_ONCE // width, 1))
    batches = (RowsLeftOut(sizes, sample, range(start, min(start + at_once, n))) for start in starts)
    values = np.concatenate([prepared.evaluate(batch).values for batch in batches])
    return values * _divisor_correction(functional, n)


def _quantiles_without_each_row(columns: FloatArray, levels: FloatArray) -> FloatArray:
    """Return the quantiles of columns ``(n,)`` or ``(n, d)``, those of one level side by side."""
    table = columns.reshape(len(columns), -1)
    return np.stack([quantile_without_each_row(column, level) for level in levels for column in table.T], axis=1)


def _divisor_correction(functional: Any, n: int) -> float:
    """Return the factor to the divisor of one row less: weights leave that of all rows as it is."""
    if not isinstance(functional, (Variance, StandardDeviation)) or n - 1 <= functional.ddof:
        return 1.0
    factor = divisor_factor(functional.ddof, n - 1) / divisor_factor(functional.ddof, n)
    return float(factor if isinstance(functional, Variance) else factor**0.5)
