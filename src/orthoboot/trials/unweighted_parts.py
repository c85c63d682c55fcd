"""Whether a part of a statistic counts every row once, whatever its weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import OrthobootWarning, UnweightedRowsWarning
from orthoboot.functionals.base import Prepared
from orthoboot.typing import FloatArray

_HARMLESS = 0.2
"""In standard errors: ways to interpolate between weighted rows, or the tolerance of a fit, make less."""

_LAST_DIGITS = 1e-10
"""Ranges below this share of the largest number leave too few digits to compare squares of differences."""


def unweighted_parts_finding(prepared: Prepared[Any], standard_error: FloatArray) -> tuple[OrthobootWarning, ...]:
    """Return a warning if counts as weights and the rows they count give different values: two evaluations.

    Only a user's function is tried. ``np.average(x, weights=weights) / x.std()`` changes with the weights, but not as
    with the rows that they count. Data that vary in their last digits, or not at all, round too differently.
    """
    functional, data = prepared.functional, prepared.data
    if not (functional.by_user and functional.fractional):
        return ()
    if data.is_constant or data.relative_spread < _LAST_DIGITS:
        return ()
    resamples = Resamples(tuple(_upper_half(data, sample)[np.newaxis] for sample in range(len(data.sizes))))
    by_weights = prepared.evaluate(resamples).values[0]
    by_rows = _on_rows(prepared, resamples.indices(0))
    apart = np.abs(by_weights - by_rows)
    # NaN compares as no difference: what is undefined on a resample proves nothing.
    wrong = apart > np.maximum(_HARMLESS * standard_error, 1e-6 * np.abs(prepared.estimate))
    if not wrong.any() or not np.array_equal(by_weights, prepared.evaluate(resamples).values[0], equal_nan=True):
        return ()  # in the second case because the function is random
    worst = int(np.argmax(np.where(wrong, apart, -1.0)))
    name = functional.name if prepared.output.is_scalar else prepared.output.names[worst]
    return (
        UnweightedRowsWarning(
            f"a part of `{name}` ignores the weights: on one resample it is {by_weights[worst]:.6g} with the counts as "
            f"weights, and {by_rows[worst]:.6g} on the rows that they count. The standard error misses the variation "
            "of that part. Weight every mean and sum, and let the features of a row depend on that row alone."
        ),
    )


def _upper_half(data: Data, sample: int) -> FloatArray:
    """Return counts of 2 for the rows above the median of the first column of numbers, and of 0 for those below.

    So far from the data every part shows.
    """
    n, column = data.sizes[sample], data.first_numbers(sample)
    order = np.arange(n) if column is None else np.argsort(column, kind="stable")
    counts = np.zeros(n)
    counts[order[(n + 1) // 2 :]] = 2.0
    counts[order[n // 2]] += n % 2
    return counts


def _on_rows(prepared: Prepared[Any], rows: Any) -> FloatArray:
    """Return the statistic of the rows of a resample, each counted once; NaN where it has none."""
    try:
        with np.errstate(all="ignore"):
            return prepared.value_of_rows(rows)
    except Exception:  # the user's function may raise anything
        return np.full(prepared.output.size, np.nan)
