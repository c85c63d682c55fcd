"""``orthoboot compare``: the estimators side by side, with the time they take and what another seed would change."""

from __future__ import annotations

import difflib
from typing import Annotated, Any

import typer

from orthoboot.cli import options
from orthoboot.cli.answers.destinations import Destinations
from orthoboot.cli.options import EstimatorName, IntervalName, Settings
from orthoboot.cli.statistics import statistics_of
from orthoboot.cli.tables.columns import names_of
from orthoboot.errors import ArgumentError

Estimators = Annotated[
    str | None, typer.Option("--estimators", metavar="A,B", help="Which to compare.", show_default="all")
]


def compare(
    context: typer.Context,
    file: options.File,
    statistic: options.StatisticName = "mean",
    columns: options.Columns = None,
    estimators: Estimators = None,
    parameter: options.Parameters = None,
    drop_missing: options.DropMissing = False,
    strata: options.Strata = None,
    clusters: options.Clusters = None,
    level: options.Level = 0.95,
    interval: options.IntervalOption = IntervalName.AUTO,
    tol: options.Tolerance = None,
    resamples: options.Resamples = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
    output: options.OutputFile = None,
    report: options.ReportFile = None,
    plot: options.PlotFile = None,
) -> None:
    """Compare the estimators on the same rows: standard error, interval, simulation error and time.

    Each takes as many resamples as it does by default, or those of `--resamples`.

    **Examples**

    `orthoboot compare law.csv --statistic correlation --columns LSAT,GPA`
    """
    from orthoboot.cli.answers.bootstrapped import bootstrapped
    from orthoboot.cli.ci import Request, chosen_rows

    destinations = Destinations(as_json, output, report, plot)
    destinations.check()
    names = _checked(names_of(estimators))
    request = Request(
        statistics=statistics_of(statistic, parameter or []),
        columns=names_of(columns),
        strata=strata,
        clusters=clusters,
        drop=drop_missing,
    )
    rows, notes = chosen_rows(file, request)
    plan: dict[str, Any] = {argument: rows.labels[column] for argument, column in request.plan.items()}
    answers = []
    for one in request.statistics:
        # What is imported and compiled once is no cost of the first.
        bootstrapped(rows.values, one.functional(), Settings(resamples=2, interval="normal"), **plan)
        for name in names:
            settings = Settings(level, interval, name, None if name == "jackknife" else tol, resamples, seed)
            answers.append(bootstrapped(rows.values, one.functional(), settings, name, **plan))
    raise typer.Exit(options.published(context, answers, destinations, notes))


def _checked(names: list[str]) -> list[str]:
    known = [name.value for name in EstimatorName]
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name.lower(), known, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise ArgumentError(f"`--estimators` must be among {', '.join(known)}; got {name!r}.{hint}")
    return names or known
