"""The statistics on which estimators are compared: smooth, skewed, of few rows, with a wrong influence function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import orthoboot as ob

Influence = Callable[..., np.ndarray]


@dataclass(frozen=True)
class Case:
    """A data generator, a statistic, and the influence function given to it (None for the right one)."""

    name: str
    generate: Callable[[np.random.Generator], Any]
    statistic: Any
    influence: Influence | None = None
    paired: bool = False

    @property
    def is_right(self) -> bool:
        """Whether the influence function is the statistic's own."""
        return "influence" not in self.name


def double_exponential(n: int) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: rng.laplace(size=n)


def lognormal_pair(n: int) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: np.exp(rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], size=n))


def exponential(n: int) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: rng.exponential(size=n)


def exponential_pair(n: int) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: rng.exponential(size=(n, 2))


def heteroscedastic(n: int, d: int) -> Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]:
    """Lognormal regressors, noise that grows with the first of them."""

    def generate(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = np.exp(rng.standard_normal((n, d)))
        return X, X @ np.ones(d) + X[:, 0] * rng.standard_normal(n)

    return generate


def first_coefficient(X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    weighted = X * weights[:, None]
    return float(np.linalg.solve(weighted.T @ X, weighted.T @ y)[0])


def first_coefficient_influence(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    gram = X.T @ X / len(X)
    residuals = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
    return np.linalg.solve(gram, (X * residuals[:, None]).T)[0]


def _correlation_influence(data: np.ndarray) -> np.ndarray:
    z = (data - data.mean(axis=0)) / data.std(axis=0)
    r = (z[:, 0] * z[:, 1]).mean()
    return z[:, 0] * z[:, 1] - r * (z**2).sum(axis=1) / 2


def _scaled_correlation_influence(scale: float) -> Influence:
    return lambda data: scale * _correlation_influence(data)


def _noise(data: np.ndarray) -> np.ndarray:
    noise = np.random.default_rng(1).standard_normal(len(data))
    return 20 * _correlation_influence(data).std() * (noise - noise.mean())


OLS = {"statistic": first_coefficient, "influence": first_coefficient_influence, "paired": True}

CASES = [
    Case("variance of double exponential, n=200", double_exponential(200), ob.variance),
    Case("correlation of lognormal, n=1000", lognormal_pair(1000), ob.correlation),
    Case("correlation of lognormal, n=200", lognormal_pair(200), ob.correlation),
    Case("heteroscedastic OLS coefficient, n=1000, d=10", heteroscedastic(1000, 10), **OLS),
    Case("heteroscedastic OLS coefficient, n=30, d=10", heteroscedastic(30, 10), **OLS),
    Case(
        "correlation, n=1000, influence times 3",
        lognormal_pair(1000),
        ob.correlation,
        _scaled_correlation_influence(3.0),
    ),
    Case(
        "correlation, n=1000, influence times 0.3",
        lognormal_pair(1000),
        ob.correlation,
        _scaled_correlation_influence(0.3),
    ),
    Case("correlation, n=1000, influence is 20 x noise", lognormal_pair(1000), ob.correlation, _noise),
]
