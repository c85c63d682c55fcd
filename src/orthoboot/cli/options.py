"""Options that commands share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orthoboot.cli.statistics import METRICS, STATISTICS

if TYPE_CHECKING:
    from orthoboot.cli.answers.answer import Answer
    from orthoboot.cli.answers.destinations import Destinations


class EstimatorName(StrEnum):
    """The estimators of `bootstrap`."""

    ORTHOGONAL = "orthogonal"
    PAPER = "paper"
    STANDARD = "standard"
    CHEAP = "cheap"
    JACKKNIFE = "jackknife"


class IntervalName(StrEnum):
    """The intervals of `bootstrap`."""

    AUTO = "auto"
    NORMAL = "normal"
    T = "t"
    ABC = "abc"
    PERCENTILE = "percentile"
    BASIC = "basic"
    BCA = "bca"
    STUDENTIZED = "studentized"


@dataclass(frozen=True)
class Settings:
    """How the bootstrap is done."""

    level: float = 0.95
    interval: str = "auto"
    estimator: str = "orthogonal"
    tol: float | None = None
    resamples: int | None = None
    seed: int = 0

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `bootstrap`."""
        return {
            "confidence_level": self.level,
            "method": str(self.interval),
            "estimator": str(self.estimator),
            "tol": self.tol,
            "n_resamples": self.resamples,
            "rng": self.seed,
        }


OPTIONS: Mapping[str, str] = {
    "confidence_level": "--level",
    "method": "--interval",
    "n_resamples": "--resamples",
    "rng": "--seed",
    "groups": "--clusters",
    "block_length": "--blocks",
    "n_runs": "--runs",
    "estimator": "--estimator",
    "tol": "--tol",
    "strata": "--strata",
    "horizon": "--horizon",
}
"""What the arguments of the library are called here, for its messages."""


def _statistics(incomplete: str) -> list[str]:
    return [name for name in STATISTICS if name.startswith(incomplete)]


def _metrics(incomplete: str) -> list[str]:
    return [name for name in METRICS if name.startswith(incomplete)]


_HOW, _WHERE, _ROWS = "How it is computed", "Where it goes", "How rows are drawn"

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A table: CSV, TSV, Parquet, Feather or JSON lines; - for standard input.",
        show_default=False,
    ),
]
StatisticName = Annotated[
    str,
    typer.Option(
        "--statistic",
        "-s",
        metavar="NAME",
        help=f"One or more, with commas: {', '.join(STATISTICS)}. Some take a number: quantile:0.9.",
        autocompletion=_statistics,
    ),
]
MetricNames = Annotated[
    str,
    typer.Option(
        "--metric",
        "-m",
        metavar="NAMES",
        help=f"One or more, with commas: {', '.join(METRICS)}.",
        autocompletion=_metrics,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option("--columns", "-c", metavar="A,B", help="The columns.", show_default="all that hold numbers"),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option("--parameter", metavar="NAME=NUMBER", help="An option of the statistic, such as ddof=1."),
]
By = Annotated[str | None, typer.Option(metavar="COLUMN", help="An interval for each group of rows.")]
Compare = Annotated[str | None, typer.Option(metavar="COLUMN", help="Differences between groups of rows.")]
Relative = Annotated[bool, typer.Option("--relative", help="Relative differences, in units of the baseline.")]
Baseline = Annotated[
    str | None,
    typer.Option(metavar="LABEL", help="The group that others are compared with.", show_default="the first"),
]
DropMissing = Annotated[bool, typer.Option("--drop-missing", help="Leave out rows with empty cells.")]

Strata = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Draw within each stratum.", rich_help_panel=_ROWS),
]
Clusters = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Draw whole clusters of rows.", rich_help_panel=_ROWS)
]
Blocks = Annotated[
    str | None,
    typer.Option(
        metavar="N", help="Draw blocks of N rows of a time series; auto finds the length.", rich_help_panel=_ROWS
    ),
]

Level = Annotated[float, typer.Option(metavar="P", help="The confidence level, in (0, 1).", rich_help_panel=_HOW)]
IntervalOption = Annotated[
    IntervalName, typer.Option("--interval", help="How the interval is made.", rich_help_panel=_HOW)
]
EstimatorOption = Annotated[
    EstimatorName, typer.Option("--estimator", help="How resamples become a standard error.", rich_help_panel=_HOW)
]
Tolerance = Annotated[
    float | None,
    typer.Option(
        "--tol", metavar="P", help="Resample until another seed moves the standard error by less.", rich_help_panel=_HOW
    ),
]
Resamples = Annotated[
    int | None,
    typer.Option(metavar="B", help="How many resamples.", show_default="as many as are cheap", rich_help_panel=_HOW),
]
Seed = Annotated[int, typer.Option(metavar="S", help="The seed of all random numbers.", rich_help_panel=_HOW)]

Json = Annotated[bool, typer.Option("--json", help="Print JSON.", rich_help_panel=_WHERE)]
OutputFile = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Write .csv, .json, .md, .parquet or .txt.", rich_help_panel=_WHERE
    ),
]
ReportFile = Annotated[
    str | None, typer.Option("--report", metavar="FILE", help="Write a page, .html.", rich_help_panel=_WHERE)
]
PlotFile = Annotated[
    str | None,
    typer.Option("--plot", metavar="FILE", help="Draw a picture, .png, .svg or .pdf.", rich_help_panel=_WHERE),
]


def block_length(blocks: str | None) -> int | str | None:
    """Return the length of blocks as `bootstrap` takes it."""
    return int(blocks) if blocks is not None and blocks.isdecimal() else blocks


def published(
    context: typer.Context,
    answers: Sequence[Answer],
    destinations: Destinations,
    notes: Sequence[str] = (),
    frame: Any = None,
) -> int:
    """Write and print the answers of a command; return its exit code.

    Parameters
    ----------
    context
        Of typer; its object is what was typed.
    answers, notes, frame
        What was found: see `Publication`.
    destinations
        Where it goes.
    """
    from orthoboot.cli.answers.answer import Publication

    arguments = {name: value for name, value in context.params.items() if value is not None}
    name, typed = str(context.info_name), context.obj or ""
    return destinations.publish(Publication(name, arguments, tuple(answers), tuple(notes), frame, typed))
