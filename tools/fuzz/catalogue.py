"""Every statistic with its laws: what becomes of it when the data are multiplied or shifted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

import orthoboot as ob
from tools.fuzz import functions, samples
from tools.fuzz.samples import Draw


class Chosen(NamedTuple):
    """A statistic with its options, and the words that make it."""

    statistic: Any
    words: str


Choose = Callable[[np.random.Generator], Chosen]
Condition = Callable[[samples.Samples], float]


@dataclass(frozen=True)
class Row:
    """A statistic, data for it, and its laws.

    Attributes
    ----------
    name
        What reports call it.
    choose
        Takes a generator and returns the statistic with random options.
    draw
        Takes a generator and a number of rows and returns the data.
    degree
        The power of c by which it changes when the data are multiplied by c; None where there is no such law.
    shift
        "moves" with a constant that is added to the data, or "stays"; None where neither holds.
    changed
        Which of the arrays are multiplied or shifted; None for all.
    paired
        Whether several arrays are columns of the same rows.
    tolerance
        How far two computations of it may be apart on easy data, relative to its size: more for fits.
    most_rows
        More would take too long.
    decades
        Between which powers of ten the data may lie; fewer for functions of the user's that square, since what
        overflows there is not for the library to mend.
    row_function
        Whether it is a function of the user's, which knows no weights of rows from outside.
    steps
        Whether it takes few values, as a quantile and a share of rows do.
    condition
        Takes the samples and returns by how much it enlarges rounding errors there: without bound at a singularity,
        such as a quotient by a mean of zero, where no answer is right.
    reads_labels
        Whether it reads the index of a series.
    odds
        How often it is drawn, relative to the others.
    """

    name: str
    choose: Choose
    draw: Draw
    degree: float | Callable[[Any], float] | None = None
    shift: Literal["moves", "stays"] | None = None
    changed: tuple[int, ...] | None = None
    paired: bool = False
    tolerance: float = 1e-9
    most_rows: int = 100_000
    decades: float = 295.0
    row_function: bool = False
    steps: bool = False
    condition: Condition = lambda samples: 1.0
    reads_labels: bool = False
    odds: float = 1.0


def _fixed(words: str, statistic: Any = None) -> Choose:
    """Return a choice without options; without a statistic it is that of the library with this name."""
    chosen = Chosen(getattr(ob, words) if statistic is None else statistic, words if statistic else f"ob.{words}")
    return lambda rng: chosen


def _with_ddof(name: str) -> Choose:
    """Return a choice of the entry `name` with a divisor of n or of n - 1."""

    def choose(rng: np.random.Generator) -> Chosen:
        if rng.random() < 0.5:
            return Chosen(getattr(ob, name), f"ob.{name}")
        return Chosen(getattr(ob, name).replace(ddof=1), f"ob.{name}.replace(ddof=1)")

    return choose


def _norm(rng: np.random.Generator) -> Chosen:
    power = rng.choice([1.0, 1.5, 2.0, 3.0, 4.0]).item()
    return Chosen(ob.norm_of_mean(power), f"ob.norm_of_mean({power})")


def _quantile(rng: np.random.Generator) -> Chosen:
    q: Any = [round(float(level), 3) for level in rng.uniform(0.01, 0.99, rng.integers(1, 4))]
    q = q[0] if len(q) == 1 else q
    return Chosen(ob.quantile(q), f"ob.quantile({q})")


def _trimmed(rng: np.random.Generator) -> Chosen:
    share = round(float(rng.uniform(0, 0.49)), 3)
    return Chosen(ob.trimmed_mean(share), f"ob.trimmed_mean({share})")


def _of_class(name: str) -> Choose:
    def choose(rng: np.random.Generator) -> Chosen:
        positive = int(rng.integers(2))
        return Chosen(getattr(ob, name).replace(positive=positive), f"ob.{name}.replace(positive={positive})")

    return choose


def _with_intercept(statistic: Any, words: str) -> Choose:
    def choose(rng: np.random.Generator) -> Chosen:
        intercept = bool(rng.integers(2))
        return Chosen(statistic.replace(intercept=intercept), f"{words}.replace(intercept={intercept})")

    return choose


def _between(how: str, name: str) -> Choose:
    """Return the choice of a comparison of two samples."""
    return _fixed(f"ob.{how}(ob.{name})", getattr(ob, how)(getattr(ob, name)))


def _bound(rng: np.random.Generator) -> Chosen:
    """Return a function with arguments that the user has bound, some of them to None."""
    options: dict[str, Any] = {"power": rng.choice([1, 2]).item()}
    options |= {name: None for name in ("weights", "axis") if rng.random() < 0.5}
    words = ", ".join(f"{name}={value}" for name, value in options.items())
    return Chosen(partial(functions.power_mean, **options), f"partial(power_mean, {words})")


def _power_of_bound(statistic: Any) -> float:
    return float(statistic.keywords["power"])


def _numbers_of_labels(rng: np.random.Generator, n: int) -> samples.Samples:
    return samples.progression(rng, n) if rng.random() < 0.5 else samples.column(rng, n)


def _power_of_norm(statistic: Any) -> float:
    return float(statistic.power)


def _of_mean(sample: int = 0, column: int | None = None) -> Condition:
    """Return the condition of a quotient by the mean of a sample, or of one column: what cancels in that mean."""

    def condition(data: samples.Samples) -> float:
        chosen = data[sample].reshape(len(data[sample]), -1)
        # In units of the largest number, whose sum may overflow.
        columns = (chosen if column is None else chosen[:, [column]]) / max(float(np.abs(chosen).max()), 1e-300)
        with np.errstate(all="ignore"):
            return float(np.nan_to_num(np.abs(columns).mean(axis=0) / np.abs(columns.mean(axis=0)), nan=np.inf).max())

    return condition


def _of_second_column(data: samples.Samples) -> float:
    """Return the condition of a quotient by the second of two columns, in one array or in two."""
    return _of_mean(0, 1)(data) if len(data) == 1 else _of_mean(1)(data)


def _of_dependence(data: samples.Samples) -> float:
    """Return the condition of the correlation matrix: infinite for columns that depend on each other."""
    with np.errstate(all="ignore"):
        scaled = data[0] / np.abs(data[0]).max(axis=0)
        scaled = scaled - scaled.mean(axis=0)
        values = np.linalg.svd(np.nan_to_num(scaled / np.sqrt(np.square(scaled).sum(axis=0))), compute_uv=False)
        full = len(values) == scaled.shape[1] and values[-1] > 0
        return float(np.square(values[0] / values[-1])) if full else np.inf


_PAIRED_ROW = partial(Row, paired=True)
_PLAIN_ROW = partial(Row, row_function=True, most_rows=300)

ROWS = [
    # Columns.
    Row("mean", _fixed("mean"), samples.columns, 1, "moves"),
    Row("variance", _with_ddof("variance"), samples.columns, 2, "stays"),
    Row("std", _with_ddof("std"), samples.columns, 1, "stays"),
    Row("skewness", _fixed("skewness"), samples.columns, 0, "stays"),
    Row("kurtosis", _fixed("kurtosis"), samples.columns, 0, "stays"),
    Row("norm_of_mean", _norm, samples.columns, _power_of_norm),
    Row("median", _fixed("median"), samples.columns, 1, "moves", steps=True),
    Row("quantile", _quantile, samples.columns, 1, "moves", steps=True),
    Row("trimmed_mean", _trimmed, samples.columns, 1, "moves", steps=True),
    Row("gini", _fixed("gini"), samples.positive_columns, 0),
    Row("entropy", _fixed("entropy"), samples.categories, 0, "stays", steps=True),
    # Pairs and tables.
    _PAIRED_ROW("covariance", _with_ddof("covariance"), samples.pair, 2, "stays"),
    _PAIRED_ROW("correlation", _fixed("correlation"), samples.pair, 0, "stays"),
    _PAIRED_ROW("ratio", _fixed("ratio"), samples.pair, 0, condition=_of_second_column),
    _PAIRED_ROW("spearman", _fixed("spearman"), samples.pair, 0, "stays", most_rows=1_000),
    _PAIRED_ROW("kendall", _fixed("kendall"), samples.pair, 0, "stays", most_rows=500),
    Row("covariance_matrix", _with_ddof("covariance_matrix"), samples.table, 2, "stays"),
    Row(
        "covariance_factor",
        _with_ddof("covariance_factor"),
        samples.table,
        1,
        "stays",
        condition=_of_dependence,
    ),
    # Metrics.
    _PAIRED_ROW("rmse", _fixed("rmse"), samples.predictions, 1, "stays"),
    _PAIRED_ROW("mae", _fixed("mae"), samples.predictions, 1, "stays"),
    _PAIRED_ROW("r2", _fixed("r2"), samples.predictions, 0, "stays"),
    _PAIRED_ROW("paired_difference", _between("paired_difference", "rmse"), samples.two_predictions, 1, "stays"),
    _PAIRED_ROW("accuracy", _fixed("accuracy"), samples.labels, steps=True),
    _PAIRED_ROW("precision", _of_class("precision"), samples.labels, steps=True),
    _PAIRED_ROW("recall", _of_class("recall"), samples.labels, steps=True),
    _PAIRED_ROW("f1", _of_class("f1"), samples.labels, steps=True),
    _PAIRED_ROW("log_loss", _fixed("log_loss"), samples.probabilities),
    _PAIRED_ROW("brier", _fixed("brier"), samples.probabilities),
    _PAIRED_ROW("roc_auc", _fixed("roc_auc"), samples.scores, 0, "stays", (1,)),
    # Regressions: the response alone is multiplied for the first, the predictors alone for the others.
    _PAIRED_ROW(
        "linear_regression",
        _with_intercept(ob.linear_regression, "ob.linear_regression"),
        samples.regression,
        1,
        changed=(1,),
    ),
    _PAIRED_ROW(
        "logistic_regression",
        _fixed("logistic_regression"),
        samples.classes,
        -1,
        changed=(0,),
        tolerance=1e-6,
        most_rows=1_000,
        odds=0.5,
    ),
    _PAIRED_ROW(
        "glm poisson",
        _fixed('ob.glm("poisson")', ob.glm("poisson")),
        samples.events,
        -1,
        changed=(0,),
        tolerance=1e-6,
        most_rows=1_000,
        odds=0.5,
    ),
    # Two samples.
    Row("difference of means", _between("difference", "mean"), samples.two_samples, 1, "stays"),
    Row("difference of medians", _between("difference", "median"), samples.two_samples, 1, "stays", steps=True),
    Row("difference of variances", _between("difference", "variance"), samples.two_samples, 2, "stays"),
    Row("difference of correlations", _between("difference", "correlation"), samples.two_tables, 0, "stays"),
    Row(
        "relative_difference of means",
        _between("relative_difference", "mean"),
        samples.two_samples,
        0,
        condition=_of_mean(1),
    ),
    Row("relative_difference of stds", _between("relative_difference", "std"), samples.two_samples, 0, "stays"),
    # Composed.
    Row(
        "compose: std / mean",
        _fixed("ob.compose(quotient, ob.std, ob.mean)", ob.compose(functions.quotient, ob.std, ob.mean)),
        samples.column,
        0,
        condition=_of_mean(),
    ),
    Row(
        "compose: root of variance",
        _fixed("ob.compose(np.sqrt, ob.variance)", ob.compose(np.sqrt, ob.variance)),
        samples.column,
        1,
        "stays",
    ),
    Row(
        "function_of_means: mean square",
        _fixed(
            "ob.function_of_means(first_two_powers, second)",
            ob.function_of_means(functions.first_two_powers, functions.second),
        ),
        samples.column,
        2,
        decades=70,
    ),
    Row(
        "function_of_means: quotient",
        _fixed(
            "ob.function_of_means(columns, quotient_of_means)",
            ob.function_of_means(functions.columns, functions.quotient_of_means),
        ),
        samples.table,
        0,
        decades=270,  # what cancels in a mean of features, which have no unit, must not lose its digits to underflow
        condition=_of_mean(0, 1),
    ),
    # Functions of the user's.
    _PLAIN_ROW("plain mean", _fixed("plain_mean", functions.plain_mean), samples.column, 1, "moves"),
    _PLAIN_ROW(
        "plain std / mean",
        _fixed("plain_variation", functions.plain_variation),
        samples.column,
        0,
        decades=70,
        condition=_of_mean(),
    ),
    _PLAIN_ROW("plain range", _fixed("plain_range", functions.plain_range), samples.column, 1, "stays", steps=True),
    _PLAIN_ROW("plain dict", _fixed("plain_dict", functions.plain_dict), samples.column, 1, decades=70),
    _PLAIN_ROW("plain of two samples", _fixed("plain_gap", functions.plain_gap), samples.two_samples, 1, "stays"),
    _PLAIN_ROW("weighted mean", _fixed("weighted_mean", functions.weighted_mean), samples.column, 1, "moves"),
    _PLAIN_ROW(
        "weighted variance",
        _fixed("weighted_variance", functions.weighted_variance),
        samples.column,
        2,
        "stays",
        decades=70,
    ),
    _PLAIN_ROW("vectorised mean", _fixed("vectorised_mean", functions.vectorised_mean), samples.column, 1, "moves"),
    _PLAIN_ROW("mean by choice", _fixed("mean_by_choice", functions.mean_by_choice), samples.column, 1, "moves"),
    _PLAIN_ROW(
        "variance by choice",
        _fixed("variance_by_choice", functions.variance_by_choice),
        samples.column,
        2,
        "stays",
        decades=70,
    ),
    _PLAIN_ROW(
        "range by choice", _fixed("range_by_choice", functions.range_by_choice), samples.column, 1, "stays", steps=True
    ),
    _PLAIN_ROW("bound", _bound, samples.column, _power_of_bound, decades=70),
    _PLAIN_ROW(
        "mean of labels",
        _fixed("mean_of_index", functions.mean_of_index),
        _numbers_of_labels,
        1,
        "moves",
        reads_labels=True,
    ),
    _PLAIN_ROW("np.var", _fixed("np.var", np.var), samples.column, 2, "stays"),
    _PLAIN_ROW("np.median", _fixed("np.median", np.median), samples.column, 1, "moves", steps=True),
]
_ODDS = np.array([row.odds for row in ROWS]) / sum(row.odds for row in ROWS)


def row(rng: np.random.Generator) -> Row:
    """Return a random row."""
    return ROWS[rng.choice(len(ROWS), p=_ODDS)]
