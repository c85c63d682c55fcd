"""The samples of a call: loaded, or read part by part where they do not lie in memory and the call allows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from orthoboot.data import Data, named_groups, named_strata, read
from orthoboot.data.labels_in_pieces import TooManyStrataError, labels_in_pieces, with_strata
from orthoboot.data.tables_in_pieces import TableInPieces
from orthoboot.distributed.selection import is_column, source_of
from orthoboot.errors import ArgumentError, DataError
from orthoboot.functionals.base import Functional
from orthoboot.functionals.user.recognition import recognized


class Labels(NamedTuple):
    """The labels of a call: of groups that are drawn whole, or of strata within which rows are drawn."""

    groups: Any = None
    strata: Any = None

    @property
    def given(self) -> dict[str, Any]:
        """Return those that are given, by their argument."""
        return {argument: labels for argument, labels in self._asdict().items() if labels is not None}


def read_samples(
    data: Any, statistic: Any, *, paired: bool, labels: Labels, needs_rows: Mapping[str, Any]
) -> tuple[Data, Labels]:
    """Return the samples of a call, checked, and the labels of their rows, where there are any.

    Parameters
    ----------
    data, statistic, paired
        As for `bootstrap`.
    labels
        As the user gives them.
    needs_rows
        The options in the call for which all rows must be at hand, by their names.
    """
    text = isinstance(statistic, Functional) and statistic.takes_text
    beside = {argument: one for argument, one in labels.given.items() if is_column(one)}
    samples = read(data, paired=paired, text=text, source_of=source_of, beside=beside if len(beside) == 1 else {})
    if not samples.is_in_pieces:
        return _in_memory(samples, labels)
    refusal = _refusal(samples, statistic, labels, needs_rows)
    if refusal is None:
        try:
            return _labelled(samples, labels, recognized(statistic))
        except TooManyStrataError as error:
            refusal = error
    tables = (table for table in samples.tables if isinstance(table, TableInPieces))
    if all(table.surveyed.source.loads_itself for table in tables):
        return _in_memory(read(data, paired=paired, text=text), labels)
    raise refusal


def _in_memory(samples: Data, labels: Labels) -> tuple[Data, Labels]:
    samples, groups = named_groups(samples, labels.groups)
    return samples, Labels(groups, named_strata(samples, labels.strata))


def _labelled(samples: Data, labels: Labels, functional: Functional | None) -> tuple[Data, Labels]:
    """Return a sample that is read part by part with the labels of its rows."""
    if len(labels.given) > 1:  # which no plan takes, and it has the words
        return samples, labels
    given = {argument: labels_in_pieces(samples, one, argument) for argument, one in labels.given.items()}
    for argument, found in given.items():
        # Sums over groups need no more than the totals of these.
        if argument == "strata" or (functional is not None and functional.counts_rows):
            samples = with_strata(samples, found)
    return samples, Labels(**given)


def _refusal(samples: Data, statistic: Any, labels: Labels, needs_rows: Mapping[str, Any]) -> ValueError | None:
    """Return why the call cannot do with rows that are read part by part, or None where it can."""
    kind = next(type(table.container) for table in samples.tables if isinstance(table, TableInPieces))
    name = f"{kind.__module__.partition('.')[0]} {kind.__name__}"
    if needs_rows:
        option, value = next(iter(needs_rows.items()))
        shown = repr(value) if isinstance(value, str) else "..."
        return _needs_rows(f"`{option}={shown}`", name)
    if labels.given and len(samples.sizes) > 1:
        return _needs_rows(f"`{next(iter(labels.given))}=...` of several samples", name)
    for argument, one in labels.given.items():
        if not (is_column(one) or isinstance(one, str)):
            return ArgumentError(
                f"`{argument}` must name a column of the data, or be a column of numbers that is read beside them, "
                f"where a {name} is read part by part; got a {type(one).__name__}. Put the labels into the data."
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


def _needs_rows(what: str, name: str) -> ArgumentError:
    return ArgumentError(
        f"{what} needs all rows at once, and a {name} is read part by part. Leave it out, or load the rows into memory "
        "first, if they fit."
    )
