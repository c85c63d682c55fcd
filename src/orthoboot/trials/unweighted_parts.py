"""Whether a part of a statistic counts every row once, whatever its weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoboot.errors import OrthobootWarning, UnweightedRowsWarning
from orthoboot.functionals.base import Prepared
from orthoboot.replicates import Replicates
from orthoboot.run import Run
from orthoboot.typing import FloatArray

_HARMLESS = 0.2
"""In standard errors: ways to interpolate between weighted rows, or the tolerance of a fit, make less."""


def unweighted_parts_finding(
    run: Run, replicates: Replicates, standard_error: FloatArray
) -> tuple[OrthobootWarning, ...]:
    """Return a warning if counts as weights and the rows they count give different values: one evaluation.

    Only a user's function is tried, on the resample whose value is farthest from that of the data.
    ``np.average(x, weights=weights) / x.std()`` changes with the weights, but not as with the rows that they count.
    """
    prepared, functional = run.prepared, run.functional
    if not (functional.by_user and functional.fractional):
        return ()
    number, by_weights = _farthest(run, replicates)
    resamples = run.resamples([number])
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


def _farthest(run: Run, replicates: Replicates) -> tuple[int, FloatArray]:
    """Return the number and the value of the replicate that is farthest from the estimate; of the first without any."""
    if not len(replicates):
        return 0, run.prepared.evaluate(run.resamples([0])).values[0]
    distance = np.abs(replicates.values - replicates.estimate)
    scale = distance.max(axis=0)
    place = int(np.argmax((distance / np.where(scale > 0, scale, 1.0)).sum(axis=1)))
    return int(replicates.numbers[place]), replicates.values[place]


def _on_rows(prepared: Prepared[Any], rows: Any) -> FloatArray:
    """Return the statistic of the rows of a resample, each counted once; NaN where it has none."""
    try:
        with np.errstate(all="ignore"):
            return prepared.value_of_rows(rows)
    except Exception:  # the user's function may raise anything
        return np.full(prepared.output.size, np.nan)
