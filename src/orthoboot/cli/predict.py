"""``orthoboot predict``: prediction intervals for new rows, as a file."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from orthoboot.cli import options
from orthoboot.cli.answers.answer import Answer, Output
from orthoboot.cli.answers.destinations import Destinations
from orthoboot.cli.tables.columns import names_of
from orthoboot.errors import ArgumentError, MissingDependencyError, OrthobootWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from orthoboot.presentation.plots.predictions import Predictions


class ModelName(StrEnum):
    """The models."""

    LINEAR = "linear"
    BOOSTING = "boosting"
    NETWORK = "network"


_REFITS = {ModelName.LINEAR: 5, ModelName.BOOSTING: 20, ModelName.NETWORK: 5}
"""Without an influence function five refits are few."""

Target = Annotated[str, typer.Option(metavar="COLUMN", help="What is predicted.", show_default=False)]
New = Annotated[str, typer.Option("--new", metavar="FILE", help="The rows to predict.", show_default=False)]
ModelOption = Annotated[ModelName, typer.Option("--model", help="The model.")]
Refits = Annotated[
    int | None, typer.Option("--resamples", metavar="B", help="Refits.", show_default="5, or 20 for boosting")
]


def predict(
    context: typer.Context,
    file: options.File,
    target: Target,
    new: New,
    model: ModelOption = ModelName.LINEAR,
    columns: options.Columns = None,
    drop_missing: options.DropMissing = False,
    level: options.Level = 0.95,
    resamples: Refits = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
    output: options.OutputFile = None,
    report: options.ReportFile = None,
    plot: options.PlotFile = None,
) -> None:
    """Predict the rows of a new file, with an interval for each response.

    **Examples**

    `orthoboot predict houses.csv --target price --new offers.csv --output predicted.csv`

    `orthoboot predict houses.csv --target price --new offers.csv --model boosting --plot intervals.png`
    """
    destinations = Destinations(as_json, output, report, plot)
    destinations.check()
    task, notes = _task(file, new, target, names_of(columns), drop=drop_missing)
    n_refits = _REFITS[model] if resamples is None else resamples
    found, answer = _predicted(task, _regressor(model, seed, n_refits, level), model)
    raise typer.Exit(options.published(context, [answer], destinations, notes, task.rows.join(found)))


class Task(NamedTuple):
    """What a model is fitted to, and what it is to predict.

    Attributes
    ----------
    features, response
        The rows of the fit; the response has the name of its column.
    offered
        The features of the new rows.
    rows
        The new rows with all of their columns.
    """

    features: pd.DataFrame
    response: pd.Series[float]
    offered: pd.DataFrame
    rows: pd.DataFrame


def _task(file: str, new: str, target: str, columns: list[str], *, drop: bool) -> tuple[Task, list[str]]:
    from orthoboot.cli.tables.columns import check_columns, complete, numbers, numeric_columns
    from orthoboot.cli.tables.files import read_table

    train, rows = read_table(file), read_table(new, least=1)
    check_columns([target, *columns], [str(name) for name in train.frame.columns], train.name)
    there = set(map(str, rows.frame.columns))
    names = columns or [name for name in numeric_columns(train, [target]) if name in there]
    if not names:
        raise ArgumentError(f"{rows.name} has none of the numeric columns of {train.name}, from which to predict.")
    check_columns(names, [str(name) for name in rows.frame.columns], rows.name)
    train, n_dropped = complete(train, [target, *names], drop=drop)
    complete(rows, names, drop=False)
    values = numbers(train, [target, *names])
    notes = [f"predicted by {', '.join(names)}."]
    notes += [f"{n_dropped} row(s) with empty cells are left out."] if n_dropped else []
    return Task(values[names], values[target], numbers(rows, names), rows.frame), notes


def _predicted(task: Task, regressor: Any, model: ModelName) -> tuple[pd.DataFrame, Answer]:
    """Return the predictions as a table, and as an answer."""
    from orthoboot.warning_scopes import recorded, show_again

    start = time.perf_counter()
    with recorded() as caught:
        regressor.fit(task.features, task.response)
        found = regressor.predict_interval(task.offered, as_frame=True)
        std, errors = regressor.predict(task.offered, return_std=True)[1], regressor.simulation_error(task.offered)
    show_again(w for w in caught if not issubclass(w.category, OrthobootWarning))
    worries = dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, OrthobootWarning))
    unknown = float("nan")
    rows = zip(found.to_numpy().tolist(), std, errors, strict=True)
    outputs = tuple(
        Output(f"row {number}", point, unknown, float(s), low, high, unknown, float(error))
        for number, ((point, low, high), s, error) in enumerate(rows, start=1)
    )
    return found, _answer(outputs, task, regressor, model, tuple(worries), time.perf_counter() - start)


def _regressor(model: ModelName, seed: int, n_refits: int, level: float) -> Any:
    try:
        from orthoboot import PredictionIntervalRegressor
    except ImportError as error:
        raise MissingDependencyError(
            '`orthoboot predict` needs scikit-learn; install it with `pip install "orthoboot[sklearn]"`.'
        ) from error
    return PredictionIntervalRegressor(
        _estimator(model, seed),
        n_resamples=n_refits,
        confidence_level=level,
        variance_estimator="standard" if model is ModelName.BOOSTING else "orthogonal",
        rng=seed,
    )


def _estimator(model: ModelName, seed: int) -> Any:
    if model is ModelName.BOOSTING:
        from sklearn.ensemble import GradientBoostingRegressor

        return GradientBoostingRegressor(random_state=seed)
    if model is ModelName.NETWORK:
        from orthoboot import NeuralRegressor

        return NeuralRegressor(random_state=seed)
    from sklearn.linear_model import LinearRegression

    return LinearRegression()


def _answer(
    outputs: tuple[Output, ...],
    task: Task,
    regressor: Any,
    model: ModelName,
    warnings: tuple[str, ...],
    seconds: float,
) -> Answer:
    return Answer(
        statistic=f"Predictions of the {model.value} model",
        label="",
        n_rows=(len(task.features), len(task.offered)),
        outputs=outputs,
        level=regressor.confidence_level,
        interval="normal",
        estimator=regressor.variance_estimator_,
        n_resamples=len(regressor.estimators_),
        n_failed=regressor.n_failed_,
        plan=f"{len(task.features):,} rows",
        warnings=warnings,
        seconds=seconds,
        text="",
        details={"noise_standard_deviation": float(regressor.noise_variance_) ** 0.5},
        source=Drawn(outputs, task, regressor, model, warnings),
    )


class Drawn(NamedTuple):
    """Predictions that can be drawn and put on a page, as results of the library can."""

    outputs: tuple[Output, ...]
    task: Task
    regressor: Any
    model: ModelName
    warnings: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the rows."""
        return tuple(output.name for output in self.outputs)

    def plot(self, kind: str) -> Any:
        """Draw the intervals, whatever the kind, and return the axes."""
        from orthoboot.presentation.plots.drawing import plotted
        from orthoboot.presentation.plots.predictions import PREDICTIONS

        return plotted(self._answer, PREDICTIONS)

    def to_html(self, path: Any, command: str | None = None) -> Any:
        """Write a page, and return its path."""
        from orthoboot.presentation.pages.prediction_page import written_page

        return written_page(self._answer, path, command)

    @property
    def _answer(self) -> Predictions:
        import numpy as np

        from orthoboot.presentation.plots.predictions import Predictions

        numbers = [(o.estimate, o.standard_error, o.standard_error_error, o.low, o.high) for o in self.outputs]
        estimate, std, std_error, low, high = np.array(numbers).T
        return Predictions(
            model=self.model.value,
            target=str(self.task.response.name),
            features=tuple(map(str, self.task.features.columns)),
            names=self.names,
            estimate=estimate,
            standard_error=std,
            standard_error_error=std_error,
            low=low,
            high=high,
            confidence_level=self.regressor.confidence_level,
            terms=tuple(self._terms()),
            code=self._code,
            warnings=self.warnings,
        )

    def _terms(self) -> Iterator[tuple[str, str]]:
        regressor = self.regressor
        yield "Model", f"`{' '.join(repr(regressor.estimator).split())}`"
        yield "Rows of the fit", f"{len(self.task.features):,}"
        failed = f", of which {regressor.n_failed_:,} failed and were left out" if regressor.n_failed_ else ""
        yield "Refits", f"{len(regressor.estimators_) + regressor.n_failed_:,}{failed}"
        yield "Seed", f"`rng={regressor.rng}`"
        yield "Estimator", f"`{regressor.variance_estimator_}`, of the variance of the predictions"
        yield "Noise", f"standard deviation {float(regressor.noise_variance_) ** 0.5:.4g}, from rows not in a refit"
        yield "Interval", f"{100 * regressor.confidence_level:g}%, normal"

    @property
    def _code(self) -> str:
        """Return the program that makes the predictions again; comments say what the user has to give."""
        regressor = self.regressor
        model = regressor.estimator
        package = "orthoboot" if self.model is ModelName.NETWORK else type(model).__module__.rpartition("._")[0]
        lines = [
            f"from {package} import {type(model).__name__}",
            "",
            "import orthoboot as ob",
            "",
            "model = ob.PredictionIntervalRegressor(",
            f"    {' '.join(repr(model).split())},",
            f"    n_resamples={regressor.n_resamples},",
            f"    confidence_level={regressor.confidence_level!r},",
            f'    variance_estimator="{regressor.variance_estimator}",',
            f"    rng={regressor.rng},",
            ")",
            f"model.fit(X, y)  # {', '.join(map(str, self.task.features.columns))}; {self.task.response.name}",
            "print(model.predict_interval(new_rows, as_frame=True))",
        ]
        return "\n".join(" ".join(line.splitlines()) for line in lines)
