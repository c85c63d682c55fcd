"""``orthoboot metric``: intervals for the metrics of predictions, and for the difference between two models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orthoboot.cli import options
from orthoboot.cli.answers.destinations import Destinations
from orthoboot.cli.options import EstimatorName, IntervalName, Settings
from orthoboot.cli.statistics import OF_CLASSES, OF_LABELS, metrics_of
from orthoboot.cli.tables.columns import names_of
from orthoboot.errors import ArgumentError, DataError

if TYPE_CHECKING:
    import pandas as pd

    from orthoboot.cli.answers.answer import Answer
    from orthoboot.cli.tables.files import Table

Truth = Annotated[str, typer.Option(metavar="COLUMN", help="What was observed.", show_default=False)]
Scores = Annotated[
    str,
    typer.Option("--score", metavar="P1,P2", help="What was predicted, a column for each model.", show_default=False),
]
Positive = Annotated[
    str | None, typer.Option(metavar="LABEL", help="The positive class.", show_default="1, or the last of two")
]
Threshold = Annotated[float, typer.Option(metavar="P", help="Scores above it count as the positive class.")]


@dataclass(frozen=True)
class Predictions:
    """What was observed, and what models predicted, in a table.

    Attributes
    ----------
    table
        The rows.
    truth, scores
        The columns.
    positive
        The label of the positive class, or None.
    threshold
        The score above which a row counts as positive.
    """

    table: Table
    truth: str
    scores: list[str]
    positive: str | None
    threshold: float

    def columns(self, metric: str) -> pd.DataFrame:
        """Return the truth and the predictions as numbers, as a metric takes them."""
        from orthoboot.cli.tables.columns import numbers

        if metric not in OF_CLASSES or (metric == "accuracy" and self._n_classes > 2):
            return self._matches() if metric == "accuracy" else numbers(self.table, [self.truth, *self.scores])
        found = {self.truth: self._is_positive(self.truth)}
        for score in self.scores:
            found[score] = self._labels(score) if metric in OF_LABELS else self._probabilities(score)
        return _frame(found)

    @property
    def _n_classes(self) -> int:
        return int(self.table.frame[self.truth].nunique())

    @property
    def classes(self) -> tuple[Any, Any]:
        """Return the two classes, the positive one last."""
        found = sorted(self.table.frame[self.truth].unique(), key=lambda label: (str(type(label)), label))
        if len(found) != 2:
            listed = ", ".join(str(label) for label in found[:5])
            raise DataError(
                f"column {self.truth!r} of {self.table.name} must hold two classes; it has {len(found)}: {listed}"
                f"{', ...' if len(found) > 5 else ''}."
            )
        if self.positive is None:
            return found[0], found[1]
        named = [label for label in found if _same_label(label, self.positive)]
        if not named:
            raise ArgumentError(
                f"`--positive` must be one of {str(found[0])!r} and {str(found[1])!r}; got {self.positive!r}."
            )
        return found[1 - found.index(named[0])], named[0]

    def _is_positive(self, column: str) -> pd.Series[float]:
        return self.table.frame[column].eq(self.classes[1]).astype(float)

    def is_labels(self, column: str) -> bool:
        """Return whether a column holds nothing but labels of the truth."""
        return set(self.table.frame[column].unique()) <= set(self.table.frame[self.truth].unique())

    def _labels(self, column: str) -> pd.Series[float]:
        if self.is_labels(column):
            return self._is_positive(column)
        return (self._probabilities(column) > self.threshold).astype(float)

    def _probabilities(self, column: str) -> pd.Series[float]:
        from orthoboot.cli.tables.columns import numbers

        return numbers(self.table, [column])[column]

    def _matches(self) -> pd.DataFrame:
        """Return ones, and for each model whether it named the class: its accuracy is that of many classes."""
        frame = self.table.frame
        found: dict[str, Any] = {self.truth: frame[self.truth].eq(frame[self.truth]).astype(float)}
        return _frame(found | {one: frame[one].eq(frame[self.truth]).astype(float) for one in self.scores})

    def notes(self, metrics: list[str]) -> Iterator[str]:
        """Yield what was decided about classes."""
        of_classes = [metric for metric in metrics if metric in OF_CLASSES and metric != "accuracy"]
        if of_classes and self.positive is None and set(self.table.frame[self.truth].unique()) != {0, 1}:
            yield f"the positive class of {self.truth!r} is {str(self.classes[1])!r}; `--positive` names another."
        cut = [score for score in self.scores if not self.is_labels(score)]
        of_labels = [metric for metric in metrics if metric in OF_LABELS]
        if of_labels and cut and self._n_classes == 2:
            yield f"for {', '.join(of_labels)} a score above {self.threshold:g} counts as {str(self.classes[1])!r}."


def _same_label(label: Any, written: str) -> bool:
    try:
        return str(label) == written or float(label) == float(written)
    except (TypeError, ValueError):
        return False


def _frame(columns: dict[str, Any]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(columns)


def metric(
    context: typer.Context,
    file: options.File,
    truth: Truth,
    score: Scores,
    metric: options.MetricNames = "roc_auc",
    positive: Positive = None,
    threshold: Threshold = 0.5,
    drop_missing: options.DropMissing = False,
    strata: options.Strata = None,
    clusters: options.Clusters = None,
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
    """Compute intervals for metrics of predictions, and for differences between models on the same rows.

    **Examples**

    `orthoboot metric test.csv --truth y --score p --metric roc_auc,f1`

    `orthoboot metric test.csv --truth y --score p1,p2 --metric log_loss`
    """
    from orthoboot.cli.tables.columns import check_columns, complete
    from orthoboot.cli.tables.files import read_table

    destinations = Destinations(as_json, output, report, plot)
    destinations.check()
    metrics, scores = metrics_of(metric), names_of(score)
    if not scores:
        raise ArgumentError("`--score` must name a column of predictions.")
    table = read_table(file)
    plan = {name: column for name, column in (("strata", strata), ("groups", clusters)) if column is not None}
    used = list(dict.fromkeys([truth, *scores, *plan.values()]))
    check_columns(used, [str(name) for name in table.frame.columns], table.name)
    table, n_dropped = complete(table, used, drop=drop_missing)
    predictions = Predictions(table, truth, scores, positive, threshold)
    settings = Settings(level, interval, estimator, tol, resamples, seed)
    labels = {name: table.frame[column] for name, column in plan.items()}
    answers = [one for name in metrics for one in _answers(predictions, name, settings, labels)]
    notes = [f"{n_dropped} row(s) with empty cells are left out."] if n_dropped else []
    raise typer.Exit(options.published(context, answers, destinations, [*notes, *predictions.notes(metrics)]))


def _answers(predictions: Predictions, name: str, settings: Settings, plan: dict[str, Any]) -> Iterator[Answer]:
    """Yield the metric of each model, and the difference of the first from each of the others."""
    from orthoboot import functionals
    from orthoboot.cli.answers.bootstrapped import bootstrapped

    of = getattr(functionals, name)
    frame = predictions.columns(name)
    truth, (first, *others) = frame[predictions.truth], predictions.scores
    for score in predictions.scores:
        label = score if others else ""
        yield bootstrapped((truth, frame[score]), of, settings, label, paired=True, **plan)
    for other in others:
        data = (truth, frame[first], frame[other])
        difference = functionals.paired_difference(of)
        answer = bootstrapped(data, difference, settings, f"{first} - {other}", paired=True, **plan)
        yield replace(answer, statistic=name, outputs=tuple(replace(one, name=name) for one in answer.outputs))
