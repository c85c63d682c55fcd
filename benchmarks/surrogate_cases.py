"""The statistics on which controls beyond the linear part are tried: functions of means, fits, optima and a kink."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.cases import exponential, exponential_pair, heteroscedastic, lognormal_pair

import orthoboot as ob


@dataclass(frozen=True)
class Case:
    """A data generator, a statistic, its control, and how many replicates tell the truth.

    Attributes
    ----------
    batched
        The same statistic for many resamples at once, where there is one: it tells the truth sooner.
    goal
        The relative RMSE of the variance that was asked for.
    """

    name: str
    generate: Callable[[np.random.Generator], Any]
    statistic: Any
    control: str
    paired: bool = False
    n_truth: int = 100_000
    goal: str = ""
    batched: Any = None

    def statistic_of(self, data: Any) -> Any:
        """Return the statistic, made for its data where it must be."""
        return self.statistic(*data) if isinstance(self.statistic, RobustRegression) else self.statistic


def logistic(n: int, d: int, size: float = 1.0) -> Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]:
    def generate(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = rng.standard_normal((n, d))
        return X, (rng.random(n) < 1 / (1 + np.exp(-size * X.sum(axis=1) / np.sqrt(d)))).astype(float)

    return generate


def counts(n: int, d: int) -> Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]:
    def generate(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = rng.standard_normal((n, d))
        return X, rng.poisson(np.exp(0.5 + X.sum(axis=1) / (2 * np.sqrt(d)))).astype(float)

    return generate


def returns(n: int, n_assets: int) -> Callable[[np.random.Generator], np.ndarray]:
    covariance = 0.04 * (np.diag(np.linspace(0.5, 1.5, n_assets)) + 0.3)
    return lambda rng: rng.multivariate_normal(np.zeros(n_assets), covariance, size=n)


def portfolio(n_assets: int, output: str = "value") -> Any:
    """Return the smallest variance of a portfolio without short sales, or its shares."""

    def variance(x: Any, xi: Any) -> Any:
        mean, second = xi[:n_assets], xi[n_assets:].reshape(n_assets, n_assets)
        return x @ second @ x - (mean @ x) ** 2

    def moments(rows: np.ndarray) -> np.ndarray:
        products = rows[:, :, np.newaxis] * rows[:, np.newaxis, :]
        return np.hstack([rows, products.reshape(len(rows), -1)])

    return ob.minimize(
        variance,
        np.full(n_assets, 1 / n_assets),
        equality=lambda x, xi: x.sum() - 1,
        inequality=lambda x, xi: -x,
        parameters=moments,
        output=output,
        library="jax",
    )


def convex_portfolio(n_assets: int) -> Any:
    """Return the same shares by cvxpy."""
    import cvxpy as cp

    factor, shares = cp.Parameter((n_assets, n_assets)), cp.Variable(n_assets)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(factor @ shares)), [cp.sum(shares) == 1, shares >= 0])
    return ob.from_cvxpy(problem, {factor: ob.covariance_factor}, shares)


def least_squares() -> Any:
    """Return the coefficients of least squares as a model that is refitted; the tables are of the first one."""
    from sklearn.linear_model import LinearRegression

    return ob.from_sklearn(LinearRegression(fit_intercept=False), target="coef_")


def own_logistic(d: int) -> Any:
    """Return a logistic regression as a user writes it, as a loss in jax."""
    from jax.nn import softplus

    return ob.m_estimator(lambda theta, X, y: softplus(X @ theta) - y * (X @ theta), init=d)


class RobustRegression:
    """The coefficients of statsmodels' RLM, which is made for its data; the tables are of the first one."""

    def __init__(self, norm: str) -> None:
        self.norm = norm

    def __call__(self, X: np.ndarray, y: np.ndarray) -> Any:
        """Return the model of the data."""
        import statsmodels.api as sm

        model = sm.RLM(y, X, M=getattr(sm.robust.norms, self.norm)())
        return ob.from_statsmodels(model.fit(maxiter=2000, tol=1e-12))


def outliers(n: int, d: int, *, skewed: bool = False) -> Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]:
    """Return a generator of a regression with t errors of three degrees of freedom, or with skewed ones."""

    def generate(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = np.column_stack([np.ones(n), rng.standard_normal((n, d - 1))])
        errors = rng.exponential(size=n) ** 1.5 if skewed else rng.standard_t(3, size=n)
        return X, X.sum(axis=1) + errors

    return generate


def cases() -> list[Case]:
    """Return the cases; models are made here, since scikit-learn, statsmodels and jax are optional."""
    fits = {"control": "surrogate", "paired": True}
    least = {"statistic": least_squares(), "batched": ob.linear_regression, **fits}
    return [
        Case("correlation of lognormal, n=200", lognormal_pair(200), ob.correlation, "quadratic", goal=".21/.15/.10"),
        Case("correlation of lognormal, n=1000", lognormal_pair(1000), ob.correlation, "quadratic", goal=".07/.06/.04"),
        Case("ratio of exponentials, n=50", exponential_pair(50), ob.ratio, "quadratic", goal=".06/.05/.04"),
        Case("skewness of exponential, n=200", exponential(200), ob.skewness, "quadratic", goal=".16/.12/.09"),
        Case("OLS, n=30, d=10", heteroscedastic(30, 10), **least, goal=".04"),
        Case("OLS, n=1000, d=10", heteroscedastic(1000, 10), **least, goal=".02"),
        Case("logistic, n=200, d=5", logistic(200, 5), ob.logistic_regression, **fits, goal=".02"),
        Case("Poisson, n=200, d=5", counts(200, 5), ob.glm("poisson"), **fits, goal=".02"),
        Case("own logistic, n=100, d=5", logistic(100, 5), own_logistic(5), **fits, n_truth=5000),
        Case("RLM, t errors, n=100, d=4", outliers(100, 4), RobustRegression("HuberT"), **fits, n_truth=5000),
        Case(
            "RLM, skewed errors, n=200, d=3",
            outliers(200, 3, skewed=True),
            RobustRegression("HuberT"),
            **fits,
            n_truth=5000,
        ),
        Case("RLM, biweight, n=100, d=4", outliers(100, 4), RobustRegression("TukeyBiweight"), **fits, n_truth=5000),
        Case("RLM, trimmed, n=200, d=3", outliers(200, 3), RobustRegression("TrimmedMean"), "auto", True, 5000),
        Case("portfolio, value", returns(200, 5), portfolio(5), "quadratic", n_truth=3000, goal=".05/.04/.03"),
        Case("portfolio, shares", returns(200, 5), portfolio(5, "solution"), "surrogate", n_truth=3000),
        Case("portfolio by cvxpy, shares", returns(200, 5), convex_portfolio(5), "surrogate", n_truth=3000),
        Case("near-separated logistic, n=100, d=6", logistic(100, 6, 4.0), ob.logistic_regression, **fits),
        Case("median, n=200", exponential(200), ob.median, "auto", goal=".36/.32/.20"),
    ]
