"""Warnings about the columns of a regression: nearly dependent, or resting on few rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orthoboot.errors import FitWarning, OrthobootWarning, SmallSampleWarning
from orthoboot.solvers.tall_qr import ScaledTriangle
from orthoboot.typing import FloatArray, IntArray

_EPSILON = float(np.finfo(np.float64).eps)
_NEARLY_DEPENDENT = 1e8
"""Condition of the columns that leaves a coefficient half of its digits."""
_RARE = 3
"""A column that is constant but for so few rows is a rare category; its interval of 95% covers 77% or less."""
ROWS_WITH_THE_COMMON_VALUE = 2 * _RARE + 1
"""Of so many rows most have the common value of a column, if there is one."""
_FEW_EFFECTIVE_ROWS = 3.5
_ROWS_PER_EFFECTIVE_ROW = 40
"""Of n rows a skewed column may well rest on 1 + n / 40, as one in a hundred exponential ones of 20 to 100 do."""
_NAMED = 3
"""Coefficients that a warning names before it counts the others."""


def common_values(first_rows: FloatArray) -> FloatArray:
    """Return the value that most rows have in each column, shape ``(d,)``, given `ROWS_WITH_THE_COMMON_VALUE`."""
    common: FloatArray = np.median(first_rows, axis=0)
    return common


def nearly_dependent(factor: ScaledTriangle) -> Iterator[OrthobootWarning]:
    """Yield a warning for columns whose condition leaves few digits."""
    condition = factor.condition()
    if condition < _NEARLY_DEPENDENT:
        return
    digits = max(round(-np.log10(condition * _EPSILON)), 0)
    yield FitWarning(
        f"the columns of X are nearly dependent (condition {condition:.0e}), so about {digits} digits of the "
        "coefficients are reliable. Centre the columns before taking powers or products of them, or drop some."
    )


def resting_on_few(
    names: tuple[str, ...], n_rows: int, n_varying: IntArray, effective: FloatArray
) -> Iterator[OrthobootWarning]:
    """Yield a warning for coefficients that a few rows determine: their residuals understate the noise.

    Parameters
    ----------
    names
        Of the columns.
    n_rows
        How many rows there are.
    n_varying
        How many of them differ from the common value of each column, shape ``(d,)``.
    effective
        See `QRFactors.effective_rows`.
    """
    fewest = min(_FEW_EFFECTIVE_ROWS, 1 + n_rows / _ROWS_PER_EFFECTIVE_ROW)
    rare = (n_varying > 0) & (n_varying <= _RARE)
    few = np.flatnonzero(rare | (effective < fewest))
    if few.size:
        named = ", ".join(f"`{names[k]}`" for k in few[:_NAMED])
        more = f" and {few.size - _NAMED} more" if few.size > _NAMED else ""
        fewest_rows = max(round(float(effective[few].min())), 1)
        yield SmallSampleWarning(
            f"the coefficient of {named}{more} depends on about {fewest_rows} row(s): the fit follows a rare category "
            "or an outlying row, whose residual then understates the noise. The interval is too short, with strata "
            "too. Merge or drop such columns, look at such rows, or collect more of them."
        )
