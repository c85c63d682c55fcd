"""Whether a statistic reads the labels of groups, and so counts a group that is drawn twice as one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from orthoboot.data import unnamed_group_column
from orthoboot.errors import MergedGroupsWarning, OrthobootWarning
from orthoboot.functionals.base import Prepared
from orthoboot.functionals.user.callables import PreparedRows
from orthoboot.plans import Plan
from orthoboot.trials.group_values import are_close, renamed_value
from orthoboot.typing import FloatArray, Key


def merged_groups_finding(
    prepared: Prepared[Any], plan: Plan, key: Key, groups: Any, standard_error: FloatArray
) -> tuple[OrthobootWarning, ...]:
    """Return a warning if the statistic reads the labels of groups from a column that nobody named: seven evaluations.

    A column of values, such as years, may equal the labels too; the statistic then changes when groups are renamed.
    """
    column = unnamed_group_column(prepared.data, groups) if isinstance(prepared, PreparedRows) else None
    if column is None or not isinstance(prepared, PreparedRows):
        return ()
    apart = replace(prepared, data=replace(prepared.data, group_columns=(column,)))
    renamed = renamed_value(apart)
    if isinstance(renamed, Exception) or not are_close(renamed, prepared.estimate, standard_error):
        return ()
    resamples = plan.resamples(key, range(2))  # of a few groups one resample may hold each once
    own, other, again = (one.evaluate(resamples).values for one in (prepared, apart, prepared))
    is_random = not np.array_equal(own, again, equal_nan=True)
    if is_random or np.allclose(own, other, rtol=1e-9, atol=0, equal_nan=True):
        return ()
    names = prepared.data.columns[column.table]
    where = f"column {column.position if names is None else repr(names[column.position])}"
    as_frame = ", the name of the column in a data frame," if names is None else ""
    remedy = "..." if names is None else repr(names[column.position])
    return (
        MergedGroupsWarning(
            f"the statistic reads {where}, which holds the labels of `groups`, and counts a group drawn twice as one "
            f"group. Pass `groups={remedy}`{as_frame} to give each draw its own label."
        ),
    )
