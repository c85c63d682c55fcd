"""The samples of a call: loaded, or read part by part where they do not lie in memory and the call allows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orthoboot.data import Data, read
from orthoboot.data.tables_in_pieces import TableInPieces
from orthoboot.distributed.selection import source_of
from orthoboot.errors import ArgumentError, DataError
from orthoboot.functionals.base import Functional
from orthoboot.functionals.user.recognition import recognized


def read_samples(data: Any, statistic: Any, *, paired: bool, needs_rows: Mapping[str, Any]) -> Data:
    """Return the samples of a call, checked.

    Parameters
    ----------
    data, statistic, paired
        As for `bootstrap`.
    needs_rows
        The options in the call for which all rows must be at hand, by their names.
    """
    text = isinstance(statistic, Functional) and statistic.takes_text
    samples = read(data, paired=paired, text=text, source_of=source_of)
    refusal = _refusal(samples, statistic, needs_rows) if samples.is_in_pieces else None
    if refusal is None:
        return samples
    tables = (table for table in samples.tables if isinstance(table, TableInPieces))
    if all(table.surveyed.source.loads_itself for table in tables):
        return read(data, paired=paired, text=text)
    raise refusal


def _refusal(samples: Data, statistic: Any, needs_rows: Mapping[str, Any]) -> ValueError | None:
    """Return why the call cannot do with rows that are read part by part, or None where it can."""
    kind = next(type(table.container) for table in samples.tables if isinstance(table, TableInPieces))
    name = f"{kind.__module__.partition('.')[0]} {kind.__name__}"
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
            "correlations, ratios, metrics that are means and `ob.function_of_means`. Use one of these, or load the "
            "rows into memory first, if they fit."
        )
    return None
