"""``orthoboot ci``: confidence intervals for statistics of the columns of a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from orthoboot.cli import options
from orthoboot.cli.answers.destinations import Destinations
from orthoboot.cli.options import EstimatorName, IntervalName, Settings, block_length
from orthoboot.cli.statistics import Statistic, statistics_of
from orthoboot.cli.tables.columns import names_of
from orthoboot.errors import ArgumentError

if TYPE_CHECKING:
    import pandas as pd

    from orthoboot.cli.answers.answer import Answer

_NUMBERS = {"pair": 2, "labels": 1}
"""How many columns a statistic takes, where the number is fixed."""

_IN_PIECES = ("auto", "normal", "t", "abc")
"""Intervals that need no more than sums over the rows."""


@dataclass(frozen=True)
class Request:
    """What was asked for, but how it is computed.

    Attributes
    ----------
    statistics
        One or more.
    columns
        Their columns; empty for all that hold numbers.
    by, compare, baseline, relative
        The column of groups with an interval each; that of groups which are compared, with which, and how.
    strata, clusters, blocks
        How rows are drawn.
    drop
        Whether to leave out rows with empty cells.
    """

    statistics: list[Statistic]
    columns: list[str]
    by: str | None = None
    compare: str | None = None
    baseline: str | None = None
    relative: bool = False
    strata: str | None = None
    clusters: str | None = None
    blocks: int | str | None = None
    drop: bool = False

    @property
    def labels(self) -> list[str]:
        """Return the columns that hold labels."""
        return [name for name in (self.by, self.compare, self.strata, self.clusters) if name is not None]

    @property
    def plan(self) -> dict[str, str]:
        """Return the columns of the plan, by the arguments of `bootstrap`."""
        named = {"strata": self.strata, "groups": self.clusters}
        return {argument: column for argument, column in named.items() if column is not None}

    def check(self) -> None:
        """Raise where options exclude one another."""
        if self.compare is None and (self.relative or self.baseline is not None):
            raise ArgumentError("`--relative` and `--baseline` need `--compare COLUMN`, the column of the groups.")
        if self.compare is not None and self.by == self.compare:
            raise ArgumentError(f"`--by` and `--compare` must be two columns; got {self.by!r} for both.")


def ci(
    context: typer.Context,
    file: options.File,
    statistic: options.StatisticName = "mean",
    columns: options.Columns = None,
    by: options.By = None,
    compare: options.Compare = None,
    relative: options.Relative = False,
    baseline: options.Baseline = None,
    parameter: options.Parameters = None,
    drop_missing: options.DropMissing = False,
    strata: options.Strata = None,
    clusters: options.Clusters = None,
    blocks: options.Blocks = None,
    level: options.Level = 0.95,
    interval: options.IntervalOption = IntervalName.AUTO,
    estimator: options.EstimatorOption = EstimatorName.ORTHOGONAL,
    tol: options.Tolerance = None,
    resamples: options.Resamples = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
    output: options.OutputFile = None,
    report: options.ReportFile = None,
    plot: options.PlotFile = None,
) -> None:
    """Compute confidence intervals for statistics of the columns of a file.

    **Examples**

    `orthoboot ci law.csv --statistic correlation --columns LSAT,GPA`

    `orthoboot ci sales.csv -s median,quantile:0.9 -c price --by region`

    `orthoboot ci test.csv -s mean -c revenue --compare variant --relative`

    `cat sales.csv | orthoboot ci - -s mean -c price --json`
    """
    destinations = Destinations(as_json, output, report, plot)
    destinations.check()
    request = Request(
        statistics=statistics_of(statistic, parameter or []),
        columns=names_of(columns),
        by=by,
        compare=compare,
        baseline=baseline,
        relative=relative,
        strata=strata,
        clusters=clusters,
        blocks=block_length(blocks),
        drop=drop_missing,
    )
    request.check()
    settings = Settings(level, interval, estimator, tol, resamples, seed)
    answers, notes = _answers(file, request, settings)
    raise typer.Exit(options.published(context, answers, destinations, notes))


def _answers(file: str, request: Request, settings: Settings) -> tuple[list[Answer], list[str]]:
    if _is_for_pieces(file, request, settings):
        return _answers_in_pieces(file, request, settings), []
    rows, notes = chosen_rows(file, request)
    parts = rows.by(request.by) if request.by else [("", rows)]
    return [answer for part in parts for answer in _of_part(*part, request, settings)], notes


def chosen_rows(file: str, request: Request) -> tuple[Rows, list[str]]:
    """Return the rows of a file that were asked for, checked, and what is to be said of those that were not."""
    from orthoboot.cli.tables.columns import check_columns, codes, complete, numbers, numeric_columns
    from orthoboot.cli.tables.files import read_table

    table = read_table(file)
    known = [str(name) for name in table.frame.columns]
    check_columns([*request.columns, *request.labels], known, table.name)
    columns = request.columns or numeric_columns(table, request.labels)
    _check_number(request, columns, table.name)
    table, n_dropped = complete(table, [*columns, *request.labels], drop=request.drop)
    of_labels = all(statistic.entry.columns == "labels" for statistic in request.statistics)
    values = (codes if of_labels else numbers)(table, columns)
    others = [] if request.columns else [name for name in known if name not in (*columns, *request.labels)]
    notes = [f"{n_dropped} row(s) with empty cells are left out."] if n_dropped else []
    notes += [f"left out, since they do not hold numbers alone: {', '.join(others)}."] if others else []
    return Rows(values, table.frame[request.labels]), notes


@dataclass(frozen=True)
class Rows:
    """Some rows: their numbers, and their labels."""

    values: pd.DataFrame
    labels: pd.DataFrame

    def by(self, column: str) -> list[tuple[str, Rows]]:
        """Return the rows of each group, with what it is called."""
        return [(f"{column}={label}", self.where(column, label)) for label in _sorted(self.labels[column])]

    def where(self, column: str, label: Any) -> Rows:
        """Return the rows that have a label."""
        chosen = self.labels[column] == label
        return Rows(self.values[chosen], self.labels[chosen])


def _sorted(labels: pd.Series[Any]) -> list[Any]:
    found = list(labels.unique())
    try:
        return sorted(found)
    except TypeError:  # numbers and text
        return sorted(found, key=str)


def _of_part(name: str, rows: Rows, request: Request, settings: Settings) -> Iterator[Answer]:
    """Yield the answers for a group of rows, or for all."""
    from orthoboot.cli.answers.bootstrapped import bootstrapped

    for statistic in request.statistics:
        if request.compare is None:
            plan = {argument: rows.labels[column] for argument, column in request.plan.items()}
            yield bootstrapped(rows.values, statistic.functional(), settings, name, block_length=request.blocks, **plan)
        else:
            yield from _compared(name, rows, request, settings, statistic)


def _compared(name: str, rows: Rows, request: Request, settings: Settings, statistic: Statistic) -> Iterator[Answer]:
    """Yield the difference between each group and the baseline."""
    from orthoboot.cli.answers.bootstrapped import bootstrapped
    from orthoboot.functionals import difference, relative_difference

    assert request.compare is not None
    labels = _sorted(rows.labels[request.compare])
    baseline = _baseline(labels, request)
    of = (relative_difference if request.relative else difference)(statistic.functional())
    second = rows.where(request.compare, baseline)
    for label in labels:
        if label == baseline:
            continue
        both = (rows.where(request.compare, label), second)
        plan: dict[str, Any] = {
            argument: tuple(one.labels[column] for one in both) for argument, column in request.plan.items()
        }
        if request.blocks is not None:
            plan["block_length"] = (request.blocks, request.blocks)
        title = " ".join(filter(None, (name, f"{request.compare}: {label} against {baseline}")))
        yield bootstrapped(tuple(one.values for one in both), of, settings, title, **plan)


def _baseline(labels: list[Any], request: Request) -> Any:
    if len(labels) < 2:
        raise ArgumentError(
            f"`--compare` must name a column with two or more groups; {request.compare!r} has {labels[0]!r} alone."
        )
    if request.baseline is None:
        return labels[0]
    found = [label for label in labels if str(label) == request.baseline]
    if not found:
        listed = ", ".join(repr(str(label)) for label in labels[:10])
        raise ArgumentError(f"`--baseline` must be a value of {request.compare!r}: {listed}; got {request.baseline!r}.")
    return found[0]


def _check_number(request: Request, columns: list[str], file: str) -> None:
    """Raise unless every statistic can have these columns."""
    if not columns:
        raise ArgumentError(f"{file} has no column of numbers; name one with `--columns`.")
    for statistic in request.statistics:
        wanted = _NUMBERS.get(statistic.entry.columns, len(columns))
        if len(columns) != wanted:
            plural = "s" if wanted > 1 else ""
            raise ArgumentError(
                f"`--statistic {statistic.name}` takes {wanted} column{plural}; got {', '.join(columns)}. Name "
                f"{wanted} with `--columns`."
            )


# Large files


def _is_for_pieces(file: str, request: Request, settings: Settings) -> bool:
    """Return whether a file is so large that it is read part by part, and everything can be computed so."""
    from orthoboot.cli.tables.files import STANDARD_INPUT, format_of
    from orthoboot.cli.tables.pieces import LARGE, parquet_rows

    if file == STANDARD_INPUT or format_of(file) != "Parquet" or parquet_rows(file) < LARGE:
        return False
    grouped = request.by is not None or request.compare is not None or request.blocks is not None
    possible = all(statistic.entry.in_pieces for statistic in request.statistics)
    return possible and not grouped and not request.drop and str(settings.interval) in _IN_PIECES


def _answers_in_pieces(file: str, request: Request, settings: Settings) -> list[Answer]:
    from orthoboot.cli.answers.bootstrapped import bootstrapped
    from orthoboot.cli.tables.columns import check_columns
    from orthoboot.cli.tables.pieces import numeric_parquet_columns, parquet_columns, parquet_dataset

    check_columns([*request.columns, *request.labels], parquet_columns(file), file)
    columns = request.columns or numeric_parquet_columns(file, request.labels)
    _check_number(request, columns, file)
    names = list(dict.fromkeys([*columns, *request.labels]))
    dataset = parquet_dataset(file, names)
    return [bootstrapped(dataset, statistic.functional(), settings, **request.plan) for statistic in request.statistics]
