"""The matrix of a regression: read from the data, and checked for columns that depend on others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from orthoboot.data import Data
from orthoboot.errors import DataError, FitError
from orthoboot.solvers.tall_qr import QRFactors, ScaledTriangle
from orthoboot.typing import FloatArray


@dataclass(frozen=True)
class RegressionRows:
    """The rows of a regression: X, y and case weights.

    Attributes
    ----------
    X
        The columns, the one of the intercept first where there is one, shape ``(n, d)``.
    response
        Shape ``(n,)``.
    case_weights
        Shape ``(n,)``; ones where none were given.
    names
        Of the columns.
    labels
        What messages call them: the name of a column in quotes, or its position in X.
    """

    X: FloatArray
    response: FloatArray
    case_weights: FloatArray
    names: tuple[str, ...]
    labels: tuple[str, ...]


def regression_rows(name: str, data: Data, *, intercept: bool) -> RegressionRows:
    """Return the arrays of `data` as X, y and case weights; raise a `DataError` if they are invalid."""
    check_tables(name, data)
    case_weights = arrays_of(data, intercept=False).case_weights
    broken = case_weights <= 0
    if broken.any():
        first = int(np.argmax(broken))
        raise refused_case_weights(name, int(broken.sum()), first, case_weights[first])
    names, labels = column_names(name, data, intercept=intercept)
    check_enough_rows(name, data.sizes[0], len(names), intercept=intercept)
    return RegressionRows(*arrays_of(data, intercept=intercept), names, labels)


class RegressionArrays(NamedTuple):
    """X, y and the case weights of some rows, as in `RegressionRows`."""

    X: FloatArray
    response: FloatArray
    case_weights: FloatArray


def arrays_of(data: Data, *, intercept: bool) -> RegressionArrays:
    """Return X, y and the case weights of the rows of `data`, whose tables are right."""
    X = data.arrays[0].reshape(data.sizes[0], -1)
    response, *others = (array.reshape(-1) for array in data.arrays[1:])
    with_intercept = np.column_stack([np.ones(len(X)), X]) if intercept else X
    return RegressionArrays(with_intercept, response, others[0] if others else np.ones(len(X)))


def column_names(name: str, data: Data, *, intercept: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the columns, and what messages call them."""
    given, positions = data.columns[0], range(int(np.prod(data.row_shapes[0], dtype=int)))
    names = given or tuple(f"{name}[{i}]" for i in positions)
    labels = tuple(map(repr, given or positions))
    return (("intercept", *names), ("'intercept'", *labels)) if intercept else (names, labels)


def check_enough_rows(name: str, n_rows: int, n_columns: int, *, intercept: bool) -> None:
    """Raise where there are fewer rows than coefficients."""
    if n_columns > n_rows:
        raise DataError(
            f"`{name}` needs at least as many rows as coefficients; got {n_rows} rows and {n_columns} columns"
            f"{', that of the intercept among them' if intercept else ''}. Select fewer columns, or get more rows."
        )


def check_tables(name: str, data: Data) -> None:
    """Raise unless the tables are X, y and maybe case weights, of the same rows."""
    if len(data.sizes) > 1:
        raise DataError(
            f"`{name}` takes `(X, y)` with `paired=True`, so that the rows are drawn together; got {len(data.sizes)} "
            "independent samples."
        )
    if len(data.tables) not in (2, 3):
        raise DataError(
            f"`{name}` takes `(X, y)` or `(X, y, case_weights)`; got {len(data.tables)} array(s). Put the explanatory "
            "columns side by side in X, and pass the response separately."
        )
    if len(data.row_shapes[0]) > 1:
        raise DataError(f"`{name}` takes X with rows and columns; got shape {(data.sizes[0], *data.row_shapes[0])}.")
    for what, shape in zip(("the response", "the case weights"), data.row_shapes[1:], strict=False):
        if np.prod(shape, dtype=int) != 1:
            raise DataError(
                f"`{name}` takes {what} as one number per row; got shape {(data.sizes[0], *shape)}. The arrays come in "
                "the order `(X, y, case_weights)`."
            )


def refused_case_weights(name: str, n_broken: int, first: int, weight: float) -> DataError:
    """Return the error for case weights that are not positive."""
    return DataError(
        f"`{name}` takes positive case weights; got {n_broken} that are not, the first in row {first} (counted from "
        f"0): {weight:g}. Drop rows of weight zero."
    )


def factor_of_data(name: str, rows: RegressionRows) -> QRFactors:
    """Return the factorisation of the weighted columns; raise a `DataError` where they are dependent."""
    is_weighted = (rows.case_weights != 1).any()
    factor = QRFactors.of(np.sqrt(rows.case_weights)[:, np.newaxis] * rows.X if is_weighted else rows.X)
    check_independent(name, factor, rows.labels)
    return factor


def check_independent(name: str, factor: ScaledTriangle, labels: tuple[str, ...]) -> None:
    """Raise a `DataError` where the columns of the data are dependent."""
    dependence = factor.dependence(labels)
    if dependence is not None:
        raise DataError(
            f"`{name}` needs linearly independent columns, else the coefficients are not unique; {dependence}. Drop a "
            "column of each combination: for categories leave one out, and with `intercept=True` pass no constant "
            "column."
        )


def factor_of_resample(rows: RegressionRows, weights: FloatArray) -> QRFactors:
    """Return the factorisation on a resample; raise a `FitError` where its rows leave the columns dependent."""
    factor = QRFactors.of(np.sqrt(rows.case_weights * weights)[:, np.newaxis] * rows.X)
    check_independent_on_resample(factor, rows.labels)
    return factor


def check_independent_on_resample(factor: ScaledTriangle, labels: tuple[str, ...]) -> None:
    """Raise a `FitError` where the rows of a resample leave the columns dependent, or have weights below zero."""
    if not np.isfinite(factor.triangle).all():
        raise FitError("there is no fit to weights below zero, as those of ABC may be far from the data")
    dependence = factor.dependence(labels)
    if dependence is not None:
        raise FitError(
            f"the coefficients are not unique, since {dependence} in the rows drawn. Some resamples lack the few rows "
            "in which a column differs from a combination of the others; merge rare categories, or draw within them "
            "with `strata=`"
        )
