"""``orthoboot fit``: the coefficients of a regression, with robust standard errors."""

from __future__ import annotations

import re
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orthoboot.cli import options
from orthoboot.cli.answers.destinations import Destinations
from orthoboot.cli.options import EstimatorName, IntervalName, Settings
from orthoboot.errors import ArgumentError, DataError, MissingDependencyError, first_line

if TYPE_CHECKING:
    from orthoboot.cli.answers.answer import Answer
    from orthoboot.cli.tables.files import Table


class Family(StrEnum):
    """The distributions of the response."""

    GAUSSIAN = "gaussian"
    LOGISTIC = "logistic"
    POISSON = "poisson"


FormulaText = Annotated[
    str, typer.Option("--formula", "-f", metavar="TEXT", help='As in R, such as "y ~ a + b".', show_default=False)
]
FamilyOption = Annotated[Family, typer.Option("--family", help="Least squares, logistic or Poisson regression.")]


def fit(
    context: typer.Context,
    file: options.File,
    formula: FormulaText,
    family: FamilyOption = Family.GAUSSIAN,
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
    """Fit a regression and show its coefficients with bias, robust standard errors and intervals.

    **Examples**

    `orthoboot fit houses.csv --formula "price ~ area + age + C(city)"`

    `orthoboot fit test.csv --formula "bought ~ age + visits" --family logistic`
    """
    from orthoboot.cli.answers.bootstrapped import bootstrapped
    from orthoboot.cli.tables.columns import check_columns, check_text_among_numbers, complete
    from orthoboot.cli.tables.files import read_table

    destinations = Destinations(as_json, output, report, plot)
    destinations.check()
    variables = _variables(formula)
    table = read_table(file)
    plan = {name: column for name, column in (("strata", strata), ("groups", clusters)) if column is not None}
    used = list(dict.fromkeys([*variables, *plan.values()]))
    check_columns(used, [str(name) for name in table.frame.columns], table.name)
    table, n_dropped = complete(table, used, drop=drop_missing)
    check_text_among_numbers(table, [name for name in variables if not _is_labels(name, formula)])
    response, design = _design(formula, table)
    settings = Settings(level, interval, estimator, tol, resamples, seed)
    labels: dict[str, Any] = {name: table.frame[column] for name, column in plan.items()}
    answer = bootstrapped((design, response), _statistic(family), settings, paired=True, **labels)
    notes = [f"{n_dropped} row(s) with empty cells are left out."] if n_dropped else []
    raise typer.Exit(options.published(context, [_with_sandwich(answer)], destinations, notes))


def _statistic(family: Family) -> Any:
    from orthoboot import functionals

    if family is Family.GAUSSIAN:
        return functionals.linear_regression
    return functionals.logistic_regression if family is Family.LOGISTIC else functionals.glm("poisson")


def _variables(formula: str) -> list[str]:
    """Return the columns that a formula needs; raise where it is none, or has no response."""
    try:
        from formulaic import Formula
        from formulaic.errors import FormulaicError
    except ImportError as error:
        raise MissingDependencyError(
            'formulas are read by formulaic; install it with `pip install "orthoboot[cli]"`.'
        ) from error
    try:
        parsed = Formula(formula)
    except FormulaicError as error:
        raise ArgumentError(f"`--formula` {formula!r} cannot be read: {first_line(error)}.") from error
    if not hasattr(parsed, "lhs"):
        raise ArgumentError(f'`--formula` must have a response and a tilde, such as "y ~ a + b"; got {formula!r}.')
    return sorted(str(variable) for variable in parsed.required_variables)


def _is_labels(name: str, formula: str) -> bool:
    """Return whether a formula says that a column holds labels, ``C(name)``."""
    return re.search(rf"\bC\(\s*`?{re.escape(name)}\b", formula) is not None


def _design(formula: str, table: Table) -> tuple[Any, Any]:
    """Return the response, and the columns of the regression with their names."""
    from formulaic import model_matrix
    from formulaic.errors import FormulaicError

    try:
        matrices = model_matrix(formula, table.frame, na_action="ignore")
    except FormulaicError as error:
        raise ArgumentError(f"`--formula` {formula!r} cannot be computed: {first_line(error)}.") from error
    response, design = (_plain(part) for part in (matrices.lhs, matrices.rhs))
    if response.shape[1] != 1:
        raise DataError(
            f"the response of {formula!r} must be one column of numbers; it has {response.shape[1]}: "
            f"{', '.join(map(str, response.columns))}. For a class write a comparison, such as "
            f"\"{{y == 'yes'}} ~ a + b\"."
        )
    return response.iloc[:, 0].astype(float), design.astype(float)


def _plain(matrix: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(matrix)


def _with_sandwich(answer: Answer) -> Answer:
    """Return the answer with the standard errors of the linear part alone, which are those of the sandwich."""
    result = answer.source
    variance = result.run.output.flatten(result.jackknife_variance)
    errors = {name: float(value) ** 0.5 for name, value in zip(result.names, variance, strict=True)}
    listed = ", ".join(f"{name} {error:.4g}" for name, error in errors.items())
    note = f"- Sandwich standard errors, by the linear part alone: {listed}."
    head, worries, rest = answer.text.partition("\n\nWarnings:")
    return replace(answer, details={"sandwich_standard_errors": errors}, text=f"{head}\n{note}{worries}{rest}")
