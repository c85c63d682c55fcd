"""``orthoboot predict``: prediction intervals for new rows, as a file."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from orthoboot.cli import options
from orthoboot.cli.answers.answer import Answer, Output, Publication
from orthoboot.cli.answers.destinations import Destinations
from orthoboot.cli.tables.columns import names_of
from orthoboot.errors import ArgumentError, MissingDependencyError, OrthobootWarning

if TYPE_CHECKING:
    import pandas as pd


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
) -> None:
    """Predict the rows of a new file, with an interval for each response.

    **Examples**

    `orthoboot predict houses.csv --target price --new offers.csv --output predicted.csv`

    `orthoboot predict houses.csv --target price --new offers.csv --model boosting`
    """
    destinations = Destinations(as_json, output)
    destinations.check()
    task, notes = _task(file, new, target, names_of(columns), drop=drop_missing)
    n_refits = _REFITS[model] if resamples is None else resamples
    found, answer = _predicted(task, _regressor(model, seed, n_refits, level), model)
    arguments = {name: value for name, value in context.params.items() if value is not None}
    publication = Publication("predict", arguments, (answer,), tuple(notes), frame=task.rows.join(found))
    raise typer.Exit(destinations.publish(publication))


class Task(NamedTuple):
    """What a model is fitted to, and what it is to predict.

    Attributes
    ----------
    features, response
        The rows of the fit.
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
        raise ArgumentError(f"{rows.name} has no column of numbers of {train.name}, by which to predict.")
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
    )
