"""The statistics whose intervals are simulated, and the methods that make them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import orthoboot as ob
from orthoboot.paper.published import Row
from orthoboot.typing import FloatArray

SIZES = (2, 5, 10)
"""Numbers of resamples B."""
METHODS = ("standard, B", "standard", "cheap", "paper", "orthogonal", "abc")

ROWS: tuple[Row, ...] = (*((method, B) for B in SIZES for method in METHODS), ("jackknife", None))
"""The rows of each table, in order."""


@dataclass(frozen=True)
class Problem:
    """A statistic of simulated data with a known true value.

    Attributes
    ----------
    title
        As in the paper's table.
    generate
        Draws the data.
    statistic, paired
        As `bootstrap` takes them.
    truth
        The true value.
    """

    title: str
    generate: Callable[[np.random.Generator], Any]
    statistic: Any
    truth: float
    paired: bool = False


def _folded_normal(rng: np.random.Generator) -> FloatArray:
    return np.abs(rng.standard_normal(1000))


def _double_exponential(rng: np.random.Generator) -> FloatArray:
    return rng.laplace(size=1000)


def _bivariate_lognormal(rng: np.random.Generator) -> FloatArray:
    return np.exp(rng.multivariate_normal([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]], size=1000))


def _regression(rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    X = np.exp(rng.standard_normal((5000, 50)))
    return X, X.sum(axis=1) + 10 * rng.standard_normal(len(X))


_first_coefficient = ob.compose(
    lambda coefficients: coefficients[0],
    ob.linear_regression,
    gradient=lambda coefficients: np.eye(len(coefficients))[0],
    name="first coefficient",
)

PROBLEMS = {
    "folded-normal": Problem("Variance of folded normal", _folded_normal, ob.variance, 1 - 2 / np.pi),
    "double-exponential": Problem("Variance of double exponential", _double_exponential, ob.variance, 2.0),
    "lognormal": Problem(
        "Correlation of bivariate lognormal",
        _bivariate_lognormal,
        ob.correlation,
        (np.exp(1.5) - np.e) / (np.e**2 - np.e),
    ),
    "regression": Problem("Linear regression", _regression, _first_coefficient, 1.0, paired=True),
}
"""The columns of ``table: ci``, in order."""
