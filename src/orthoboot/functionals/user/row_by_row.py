"""Whether a user's function of rows gives each row a value of its own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from orthoboot.errors import UnweightedRowsWarning
from orthoboot.typing import FloatArray, IntArray

_TRIAL_SEED = 20240607

_ROUNDING = 1e-4
"""Beside the largest number; numbers of 32 bits have so few digits."""


def rows_together(
    argument: str, values: Callable[[IntArray], FloatArray], n_rows: int
) -> tuple[UnweightedRowsWarning, ...]:
    """Return a warning if the values of rows depend on which others there are: two evaluations.

    Weights count the values of rows, so that a mean over all rows inside of them, or a neighbour, has no weight.

    Parameters
    ----------
    argument
        The name of the argument that passes the function.
    values
        The function at some rows by their numbers: one value or several for each, shape ``(n, ...)``.
    """
    drawn = np.random.default_rng(_TRIAL_SEED).integers(n_rows, size=n_rows)
    try:
        own, among_others = values(np.arange(n_rows))[drawn], values(drawn)
    except Exception:  # the user's function may raise anything; on the data it did not
        return ()
    if own.shape != among_others.shape or not np.isfinite(own).all():
        return ()
    if np.allclose(own, among_others, rtol=0, atol=_ROUNDING * float(np.abs(own).max(initial=0.0)), equal_nan=True):
        return ()
    return (
        UnweightedRowsWarning(
            f"`{argument}` of a row depends on other rows, for example on a mean over them or on the row before. Those "
            "have no weights there, so the standard error misses their part. Write it for each row alone, or pass a "
            "function of the resampled rows as the statistic."
        ),
    )
