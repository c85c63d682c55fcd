"""Whether a statistic reads the labels of groups as values, which a group that is drawn again does not keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from orthoboot.data import Data, GroupColumn
from orthoboot.errors import GroupValuesWarning, OrthobootWarning
from orthoboot.functionals.base import Prepared
from orthoboot.functionals.user.callables import PreparedRows
from orthoboot.influence.probe import PROBE_SEED
from orthoboot.typing import FloatArray

Relabel = Callable[[GroupColumn, int], np.ndarray[Any, Any]]
"""Other labels of the rows, by a seed."""

_HARMLESS = 0.01
"""In standard errors: an iterative fit to groups in another order moves less."""


def group_values_finding(prepared: Prepared[Any], standard_error: FloatArray) -> tuple[OrthobootWarning, ...]:
    """Return a warning if the statistic changes with the names of the groups: one evaluation.

    A column that `groups` names gets a new label wherever a group is drawn again. That suits labels, and falsifies
    values such as years.
    """
    if not isinstance(prepared, PreparedRows) or not prepared.data.group_columns:
        return ()
    renamed = renamed_value(prepared)
    if isinstance(renamed, Exception):
        return (_warning(prepared.data, f"with other labels it raises {type(renamed).__name__}"),)
    if are_close(renamed, prepared.estimate, standard_error):
        return ()
    change = np.abs(renamed - prepared.estimate)
    worst = int(np.argmax(np.where(np.isnan(change), np.inf, change)))
    values = f"with other labels it is {renamed[worst]:.6g} instead of {prepared.estimate[worst]:.6g}"
    return (_warning(prepared.data, values),)


def renamed_value(prepared: PreparedRows, relabel: Relabel = GroupColumn.exchanged) -> FloatArray | Exception:
    """Return the statistic of the data with every group renamed, or what it raises then."""
    try:
        return prepared.output.flatten(prepared.functional.function(*_renamed(prepared.data, relabel)))
    except Exception as error:  # the user's function may raise anything
        return error


def are_close(first: FloatArray, second: FloatArray, standard_error: FloatArray) -> bool:
    """Return whether two values differ by no more than an iterative fit to groups in another order does."""
    # NaN is not close.
    return bool((np.abs(first - second) <= np.maximum(_HARMLESS * standard_error, 1e-9 * np.abs(second))).all())


def _warning(data: Data, change: str) -> GroupValuesWarning:
    column = data.group_columns[0]
    names = data.columns[column.table]
    name = repr(column.position if names is None else names[column.position])
    return GroupValuesWarning(
        f"the statistic reads the values of column {name}, not only which rows share them: {change}. With "
        f"`groups={name}` a group that is drawn twice gets a new label, so the replicates are wrong. Pass the labels "
        f"as an array, `groups=data[{name}]`, to leave the column as it is."
    )


def _renamed(data: Data, relabel: Relabel) -> tuple[Any, ...]:
    """Return the containers with every group under another label."""
    rows = tuple(np.arange(n) for n in data.sizes)
    renamed = list(data.take(rows))
    for column in data.group_columns:
        table, labels = data.tables[column.table], relabel(column, PROBE_SEED)
        renamed[column.table] = table.with_column(renamed[column.table], column.position, labels)
    return tuple(renamed)
