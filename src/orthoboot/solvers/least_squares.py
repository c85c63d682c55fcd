"""Least squares with leave-one-out residuals and coefficients, and forward selection of columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from orthoboot.typing import BoolArray, FloatArray

_MOST_LEVERAGE = 0.8
"""Leverages are cut off here: beyond, a leave-one-out residual would be mostly the noise of the fit without the row."""

_DEPENDENT = 1e-10


class LeastSquares(NamedTuple):
    """Outputs by least squares on columns.

    Attributes
    ----------
    columns
        Shape ``(R, c)``.
    coefficients
        Shape ``(c, k)``.
    residuals
        e, shape ``(R, k)``.
    leverage
        Shape ``(R,)``.
    inverse_factor
        The inverse of the triangular factor of the columns, shape ``(c, c)``.
    """

    columns: FloatArray
    coefficients: FloatArray
    residuals: FloatArray
    leverage: FloatArray
    inverse_factor: FloatArray

    @property
    def leave_one_out_residuals(self) -> FloatArray:
        """Return ``e / (1 - leverage)``, shape ``(R, k)``: residuals from the fit to the other rows, those of HC3."""
        return self.residuals / (1 - self.leverage)[:, np.newaxis]

    def leave_one_out_coefficients(self, rows: BoolArray) -> FloatArray:
        """Return the sum over some rows ``(R,)`` of the coefficients without the row, shape ``(c, k)``."""
        rest = self.columns[rows].T @ self.leave_one_out_residuals[rows]
        return np.asarray(rows.sum() * self.coefficients - self.inverse_factor @ (self.inverse_factor.T @ rest))


def least_squares(columns: FloatArray, outputs: FloatArray) -> LeastSquares | None:
    """Return the fit of outputs ``(R, k)``; None if the rows do not determine it."""
    orthogonal, triangular = np.linalg.qr(columns)
    diagonal = np.abs(np.diag(triangular))
    if len(columns) <= columns.shape[1] or diagonal.min() <= _DEPENDENT * diagonal.max():
        return None
    inverse = solve_triangular(triangular, np.eye(len(triangular)))
    projected = orthogonal.T @ outputs
    leverage = np.minimum((orthogonal**2).sum(axis=1), _MOST_LEVERAGE)
    return LeastSquares(columns, inverse @ projected, outputs - orthogonal @ projected, leverage, inverse)


def forward_selected(
    fitted: FloatArray, outputs: FloatArray, doubtful: FloatArray, least: float, most: int
) -> tuple[int, ...]:
    """Return the places of doubtful columns that make residuals from fits to the other rows smaller.

    Parameters
    ----------
    fitted
        Columns that are fitted anyway, shape ``(R, c)``.
    outputs
        Shape ``(R, k)``; of several the mean gain counts.
    doubtful
        Each is tried beside those before it that were taken, shape ``(R, d)``.
    least
        The share of the squared residuals that a column must take away.
    most
        No more columns than these.
    """
    orthogonal = np.linalg.qr(fitted)[0]
    leverage, residuals = (orthogonal**2).sum(axis=1), outputs - orthogonal @ (orthogonal.T @ outputs)
    taken: list[int] = []
    for place, column in enumerate(doubtful.T):
        rest = column - orthogonal @ (orthogonal.T @ column)
        length = np.linalg.norm(rest)
        if len(taken) == most:
            break
        if length <= np.sqrt(_DEPENDENT) * np.linalg.norm(column):
            continue
        new = rest / length
        with_it, more = residuals - np.outer(new, new @ residuals), leverage + new**2
        before, after = _outer_squares(residuals, leverage), _outer_squares(with_it, more)
        if more.max() < _MOST_LEVERAGE and np.mean(1 - after / before) > least:
            taken.append(place)
            orthogonal = np.concatenate([orthogonal, new[:, np.newaxis]], axis=1)
            leverage, residuals = more, with_it
    return tuple(taken)


def _outer_squares(residuals: FloatArray, leverage: FloatArray) -> FloatArray:
    """Return the sums of squared residuals from fits to the other rows, shape ``(k,)``."""
    outer = residuals / np.maximum(1 - leverage, 1 - _MOST_LEVERAGE)[:, np.newaxis]
    return np.asarray((outer**2).sum(axis=0) + np.finfo(float).tiny)
