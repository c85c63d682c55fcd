"""Whether a part of a statistic counts every row once, whatever its weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoboot.errors import OrthobootWarning, UnweightedRowsWarning
from orthoboot.functionals.base import Prepared
from orthoboot.plans import Plan
from orthoboot.typing import FloatArray, Key

_HARMLESS = 0.2
"""In standard errors: ways to interpolate between weighted rows, or the tolerance of a fit, make less."""

_TRIALS = 2


def unweighted_parts_finding(
    prepared: Prepared[Any], plan: Plan, key: Key, standard_error: FloatArray
) -> tuple[OrthobootWarning, ...]:
    """Return a warning if counts as weights and the rows they count give different values: four evaluations.

    Only a user's function is tried. ``np.average(x, weights=weights) / x.std()`` changes with the weights, but not as
    with the rows that they count.
    """
    functional = prepared.functional
    if not (functional.by_user and functional.fractional):
        return ()
    resamples = plan.resamples(key, range(_TRIALS))
    by_weights = prepared.evaluate(resamples).values
    by_rows = np.stack([_on_rows(prepared, resamples.indices(b)) for b in range(_TRIALS)])
    apart = np.abs(by_weights - by_rows)
    # NaN compares as no difference: what is undefined on a resample proves nothing.
    wrong = apart > np.maximum(_HARMLESS * standard_error, 1e-6 * np.abs(prepared.estimate))
    if not wrong.any() or not np.array_equal(by_weights, prepared.evaluate(resamples).values, equal_nan=True):
        return ()
    trial, worst = np.unravel_index(np.argmax(np.where(wrong, apart, -1.0)), wrong.shape)
    name = functional.name if prepared.output.is_scalar else prepared.output.names[worst]
    return (
        UnweightedRowsWarning(
            f"a part of `{name}` ignores the weights: on one resample it is {by_weights[trial, worst]:.6g} with the "
            f"counts as weights, and {by_rows[trial, worst]:.6g} on the rows that they count. The standard error "
            "misses the variation of that part. Weight every mean and sum, and let the features of a row depend on it alone."
        ),
    )


def _on_rows(prepared: Prepared[Any], rows: Any) -> FloatArray:
    """Return the statistic of the rows of a resample, each counted once; NaN where it has none."""
    try:
        with np.errstate(all="ignore"):
            return prepared.value_of_rows(rows)
    except Exception:  # the user's function may raise anything
        return np.full(prepared.output.size, np.nan)
