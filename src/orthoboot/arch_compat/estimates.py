"""The values of a function on resamples, and the rows of what it is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoboot.drop_in import KnownStatistic, formula_of
from orthoboot.drop_in.known_statistic import known_statistic
from orthoboot.functionals import Functional
from orthoboot.typing import FloatArray, IntArray

_OF_COLUMN = frozenset({None, 0, -1})
_OF_COLUMNS = frozenset({0})


@dataclass(frozen=True, eq=False)
class Estimates:
    """The values of a function on the data and on resamples.

    Attributes
    ----------
    function
        The function.
    base
        Its value on the data, shape ``(k,)``.
    values
        Those on the resamples, shape ``(reps, k)``.
    without_each_row
        Finds those without each row in turn, shape ``(n, k)``.
    studentized
        The errors of the values divided by standard errors of their own, shape ``(reps, k)``.
    """

    function: Any
    base: FloatArray
    values: FloatArray
    without_each_row: Callable[[], FloatArray]
    studentized: FloatArray | None = None

    def is_of(self, function: Any, reps: int) -> bool:
        """Return whether these are as many values of this function."""
        return self.function is function and len(self.values) == reps

    def errors(self, recenter: bool = True) -> FloatArray:
        """Return the values about their mean, or about that on the data, shape ``(reps, k)``."""
        return self.values - (self.values.mean(axis=0) if recenter else self.base)

    @property
    def standard_error(self) -> FloatArray:
        """Return the root of the mean squared error about the mean, shape ``(k,)``."""
        error: FloatArray = np.sqrt(np.square(self.errors()).mean(axis=0))
        return error


def row_count(entry: Any, name: object) -> int:
    """Return the rows of an array, series or data frame; raise for anything else."""
    if not (isinstance(entry, np.ndarray) or hasattr(entry, "iloc")):
        raise TypeError(
            "Only NumPy arrays and pandas DataFrames and Series are supported. Input "
            f"{name} has type {type(entry).__name__}."
        )
    return len(entry)


def taken(entry: Any, rows: IntArray) -> Any:
    """Return some rows."""
    return entry.iloc[rows] if hasattr(entry, "iloc") else entry[rows]


def known_to(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], extra: dict[str, Any]) -> KnownStatistic | None:
    """Return the function at its data where the catalogue computes it, else None."""
    if kwargs or not args or any(type(entry) is not np.ndarray or entry.ndim > 2 for entry in args):
        return None
    n_axes = {entry.ndim for entry in args}
    if isinstance(func, Functional):
        return known_statistic(formula_of(func, len(args), row_axes=_OF_COLUMNS, options={}), args, paired=True)
    if len(n_axes) > 1 or len({entry.shape for entry in args}) > 1:
        return None
    row_axes = _OF_COLUMN if n_axes == {1} else _OF_COLUMNS
    formula = formula_of(func, len(args), row_axes=row_axes, options=extra)
    if formula is None or (n_axes == {2} and not formula.is_columnwise):
        return None
    known = known_statistic(formula, args, paired=True)
    agrees = known is not None and known.agrees_with(lambda *samples: func(*samples, **extra))
    return known if agrees else None
