"""Targets of fitted models that look at the rows as well as at the model: they get the weights of the resample."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from orthoboot.data import Data
from orthoboot.errors import ArgumentError, InfluenceError, StatisticError, UnweightedRowsWarning
from orthoboot.functionals.output import Output
from orthoboot.functionals.user.outside import n_rows_of, read_from_outside
from orthoboot.functionals.user.user_function import named
from orthoboot.typing import FloatArray

ROWS = ("X", "y", "weights")
"""The parameters by which a target gets the rows of the data and how often the resample has each."""

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
"""The kinds of parameters that can be passed by name."""

_TRIAL_SEED = 20240607
_SAME_VALUE = 1e-9
"""A relative difference that rounding makes."""

_STEP = 1e-3
"""Of the weights, in units of ``1/sqrt(n)``: a target is a weighted mean or a smooth function of some."""
_MOST_ROWS = 10_000
"""Largest n for numerical differentiation by weights (two evaluations a row)."""


@dataclass(frozen=True, eq=False)
class TargetRows:
    """The data, once, and how often the resample has each row.

    Attributes
    ----------
    X, y
        As they were given.
    weights
        Shape ``(n,)``; ones for the data themselves.
    """

    X: Any
    y: Any
    weights: FloatArray

    def weighted(self, weights: FloatArray) -> TargetRows:
        """Return the same rows with other weights."""
        return replace(self, weights=weights)

    def arguments(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Return those that a target asks for; of the weights a copy, since it may normalise them in place."""
        values = {"X": self.X, "y": self.y, "weights": self.weights.copy()}
        return {name: values[name] for name in names}


def rows_taken(target: Callable[..., Any]) -> tuple[str, ...]:
    """Return which of X, y and weights a target takes beside the model; raise where it takes rows without weights.

    Parameters with a default are left to the user.
    """
    try:
        parameters = inspect.signature(target).parameters
    except (TypeError, ValueError):  # of compiled functions
        return ()
    beside_model = list(parameters.items())[1:]
    required = [name for name, one in beside_model if one.default is one.empty and one.kind in _NAMED]
    names = tuple(name for name in required if name in ROWS)
    if names and "weights" not in names:
        raise ArgumentError(
            f"`target` takes {' and '.join(f'`{name}`' for name in names)} without `weights`: it would count every row "
            "once, whatever the resample. Write `def target(model, X, y, weights)` and count each row with its weight, "
            "as `np.average(values, weights=weights)` does."
        )
    return names


def check_weights_count(value: Callable[[TargetRows], Any], output: Output, rows: TargetRows, data: Data) -> None:
    """Raise a `StatisticError` if a target takes the weights and counts every row once all the same.

    Its value then stays at other weights, and changes on the rows that those weights stand for.

    Parameters
    ----------
    value
        The target of the fit to the data, as a function of the rows.
    output
        The shape of that value.
    rows, data
        The rows that the target takes, and all of the data.
    """
    n_rows = data.sizes[0]
    drawn = np.random.default_rng(_TRIAL_SEED).integers(n_rows, size=n_rows)
    counts = np.bincount(drawn, minlength=n_rows).astype(np.float64)
    X, y = data.taken((drawn,)).containers[:2]
    try:
        once, weighted, repeated = (
            output.flatten(value(one)) for one in (rows, rows.weighted(counts), TargetRows(X, y, np.ones(n_rows)))
        )
    except Exception:  # the target may raise anything; a replicate in which it does is reported
        return
    rounding = _SAME_VALUE * np.maximum(np.abs(once), np.abs(repeated))
    ignored = (np.abs(weighted - once) <= rounding) & (np.abs(repeated - once) > rounding)
    if not ignored.any():
        return
    worst = int(np.argmax(ignored))
    raise StatisticError(
        f"`target` ignores its `weights`{named(output, worst)}: with the counts of a resample as weights it stays at "
        f"{once[worst]:.6g}, but on the rows of that resample it is {repeated[worst]:.6g}. Count each row with its "
        "weight, as `np.average(values, weights=weights)` does."
    )


def direct_influence(value: Callable[[FloatArray], FloatArray], n_rows: int) -> FloatArray:
    """Return the influence of the rows on a target by its own weights, the model held fixed, shape ``(n, k)``.

    By central differences; that through the model is added to it.

    Parameters
    ----------
    value
        The target's value ``(k,)`` for weights ``(n,)``.
    """
    if n_rows > _MOST_ROWS:
        raise InfluenceError(
            f"no influence function is known for a `target` that takes the weights of {n_rows:,} rows, more than "
            f'{_MOST_ROWS:,}; use estimator="standard" or "cheap"'
        )
    step = _STEP / np.sqrt(n_rows)
    rows = np.stack([_moved(value, row, n_rows, step) for row in range(n_rows)])
    centred: FloatArray = rows - rows.mean(axis=0)
    return centred


def direct_source(n_rows: int) -> str:
    """Return what `direct_influence` adds to the source of an influence function."""
    return f", and differences of `target` in its weights, {2 * n_rows:,} evaluations"


def _moved(value: Callable[[FloatArray], FloatArray], row: int, n_rows: int, step: float) -> FloatArray:
    towards = np.full(n_rows, -1.0)
    towards[row] += n_rows
    return (value(1 + step * towards) - value(1 - step * towards)) / (2 * step)


def unweighted_rows(target: Callable[..., Any], n_rows: int) -> list[UnweightedRowsWarning]:
    """Return a warning if a target reads an array with as many rows as the data from outside."""
    read = [name for name, value in read_from_outside(target) if n_rows_of(value) == n_rows]
    if not read:
        return []
    return [
        UnweightedRowsWarning(
            f"`target` reads `{read[0]}`, which has {n_rows} rows as the data have. If these are the rows that the "
            "model is fitted to, the target counts each once, whatever the resample, and the standard error misses "
            "their part. Write `def target(model, X, y, weights)`: it gets the data and the weights of the resample, "
            "to take means as `np.average(values, weights=weights)`. Otherwise ignore this warning."
        )
    ]
