"""The samples of a call: loaded, or read part by part where they do not lie in memory and the call allows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orthoboot.data import Data, named_groups, read
from orthoboot.data.labels_in_pieces import labels_in_pieces
from orthoboot.data.tables_in_pieces import TableInPieces
from orthoboot.distributed.selection import source_of
from orthoboot.errors import ArgumentError, DataError
from orthoboot.functionals.base import Functional
from orthoboot.functionals.user.recognition import recognized


def read_samples(
    data: Any, statistic: Any, *, paired: bool, groups: Any, needs_rows: Mapping[str, Any]
) -> tuple[Data, Any]:
    """Return the samples of a call, checked, and the labels of the groups, where there are any.

    Parameters
    ----------
    data, statistic, paired, groups
        As for `bootstrap`.
    needs_rows
        The options in the call for which all rows must be at hand, by their names.
    """
    text = isinstance(statistic, Functional) and statistic.takes_text
    beside = None if isinstance(groups, (str, tuple, list)) else groups
    samples = read(data, paired=paired, text=text, source_of=source_of, beside=beside)
    if not samples.is_in_pieces:
        return named_groups(samples, groups)
    refusal = _refusal(samples, statistic, groups, needs_rows)
    if refusal is None:
        return samples, None if groups is None else labels_in_pieces(samples, groups)
    tables = (table for table in samples.tables if isinstance(table, TableInPieces))
    if all(table.surveyed.source.loads_itself for table in tables):
        return named_groups(read(data, paired=paired, text=text), groups)
    raise refusal


def _refusal(samples: Data, statistic: Any, groups: Any, needs_rows: Mapping[str, Any]) -> ValueError | None:
    """Return why the call cannot do with rows that are read part by part, or None where it can."""
    kind = next(type(table.container) for table in samples.tables if isinstance(table, TableInPieces))
    name = f"{kind.__module__.partition('.')[0]} {kind.__name__}"
    if groups is not None and len(samples.sizes) > 1:
        needs_rows = {**needs_rows, "groups": groups}
    if needs_rows:
        option, value = next(iter(needs_rows.items()))
        shown = repr(value) if isinstance(value, str) else "..."
        return ArgumentError(
            f"`{option}={shown}` needs all rows at once, and a {name} is read part by part. Leave it out, or load the "
            "rows into memory first, if they fit."
        )
    functional = recognized(statistic)
    if functional is None or not functional.takes_pieces:
        what = "a function of yours" if functional is None else f"`{functional.name}`"
        return DataError(
            f"{what} needs all rows at once, and a {name} is read part by part. That is enough for moments, "
            "quantiles, correlations, ratios, metrics that are means, regressions and `ob.function_of_means`. Use one "
            "of these, or load the rows into memory first, if they fit."
        )
    return None
