"""Whether a statistic reads the labels of groups, and so counts a group that is drawn twice as one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from orthoboot.data import Data, GroupColumn, unnamed_group_columns
from orthoboot.errors import MergedGroupsWarning, OrthobootWarning
from orthoboot.functionals.base import Prepared
from orthoboot.functionals.user.callables import PreparedRows
from orthoboot.plans import Plan
from orthoboot.trials.group_values import are_close, renamed_value
from orthoboot.typing import FloatArray, Key


def merged_groups_finding(
    prepared: Prepared[Any], plan: Plan, key: Key, groups: Any, standard_error: FloatArray
) -> tuple[OrthobootWarning, ...]:
    """Return a warning if the statistic tells groups apart by a column that nobody named.

    A column of values, such as years, may tell the groups apart too; the statistic then changes when groups are
    renamed. Two evaluations, three more for each column that is tried, and two before a warning.
    """
    codes = plan.schemes[0].group_codes
    if groups is None or len(plan.schemes) > 1 or codes is None or not isinstance(prepared, PreparedRows):
        return ()
    columns = unnamed_group_columns(prepared.data, codes)
    if not columns:
        return ()
    resamples = plan.resamples(key, range(2))  # of a few groups one resample may hold each once
    own = prepared.evaluate(resamples).values
    for column in columns:
        named = prepared.data.group_columns
        apart = _with_columns(prepared, (*named, column)).evaluate(resamples).values
        if np.allclose(own, apart, rtol=1e-9, atol=0, equal_nan=True):
            continue
        renamed = renamed_value(_with_columns(prepared, (column,)), GroupColumn.renewed)
        if isinstance(renamed, Exception) or not are_close(renamed, prepared.estimate, standard_error):
            continue
        is_random = not np.array_equal(own, prepared.evaluate(resamples).values, equal_nan=True)
        return () if is_random else (_warning(prepared.data, column),)
    return ()


def _with_columns(prepared: PreparedRows, columns: tuple[GroupColumn, ...]) -> PreparedRows:
    return replace(prepared, data=replace(prepared.data, group_columns=columns))


def _warning(data: Data, column: GroupColumn) -> MergedGroupsWarning:
    table = data.tables[column.table]
    name = repr(table.columns[column.position]) if table.has_columns and table.columns is not None else None
    is_alone = name is None and table.n_columns == 1
    where = f"`{table.label}`" if is_alone else f"column {name or column.position}"
    as_frame = ", the name of the column in a data frame," if name is None else ""
    return MergedGroupsWarning(
        f"the statistic reads {where}, which holds the labels of `groups` or others for the same groups, and counts a "
        f"group drawn twice as one group. Pass `groups={name or '...'}`{as_frame} to give each draw its own label"
        f"{_or_read_the_named(data)}."
    )


def _or_read_the_named(data: Data) -> str:
    named = [(data.columns[column.table] or ())[column.position] for column in data.group_columns]
    return f", or let the statistic read column {named[0]!r} instead" if named else ""
