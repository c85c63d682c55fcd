"""Whether a model fits every row exactly: then its residuals are rounding, and no resample has another fit."""

from __future__ import annotations

import numpy as np

from orthoboot.typing import FloatArray

_ROUNDING = 32 * float(np.finfo(np.float64).eps)
"""Relative rounding error of a residual, per column."""
_LINEAR_ROUNDING = 16 * float(np.finfo(np.float64).eps)
"""The same of least squares."""


def residual_is_rounding(X: FloatArray, response: FloatArray, coefficients: FloatArray, residuals: FloatArray) -> bool:
    """Return whether the residuals ``y - X b`` of all rows are rounding alone."""
    sizes = np.abs(response) + np.einsum("jp,p->j", np.abs(X), np.abs(coefficients))
    return bool(np.all(np.abs(residuals) <= _LINEAR_ROUNDING * X.shape[1] * sizes))


def residuals_are_rounding(
    slopes: FloatArray, curvature: FloatArray, of_response: FloatArray, predictor_sizes: FloatArray, n_columns: int
) -> bool:
    """Return whether the slopes of all rows' losses are rounding alone.

    Parameters
    ----------
    slopes, curvature
        Of the losses by the linear predictors, each of shape ``(n,)``.
    of_response
        The part of the slopes that is linear in the response, shape ``(n,)``.
    predictor_sizes
        The sums of the absolute terms of the predictors, shape ``(n,)``.
    n_columns
        How many terms there are.
    """
    sizes = np.abs(curvature) * predictor_sizes + np.abs(of_response)
    return bool(np.all(np.abs(slopes) <= _ROUNDING * n_columns * sizes))
