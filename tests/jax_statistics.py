"""The catalogue once more, each entry as a user would write it in jax.numpy: a function of the arrays and the weights.

Written from the definitions, pairs of rows compared with each other where a definition is about pairs, and not from the
catalogue's own formulas: automatic differentiation of these judges its influence functions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

try:
    import jax
    import jax.numpy as jnp
except ImportError:  # the tests that would call these functions are then skipped
    pass

Statistic = Callable[..., Any]


def mean(x: Any, weights: Any) -> Any:
    return jnp.tensordot(weights, x, 1) / weights.sum()


def moment(x: Any, weights: Any, order: int) -> Any:
    return mean((x - mean(x, weights)) ** order, weights)


def variance(x: Any, weights: Any, ddof: int = 0) -> Any:
    return moment(x, weights, 2) * len(x) / (len(x) - ddof)


def std(x: Any, weights: Any, ddof: int = 0) -> Any:
    return jnp.sqrt(variance(x, weights, ddof))


def skewness(x: Any, weights: Any) -> Any:
    return moment(x, weights, 3) / moment(x, weights, 2) ** 1.5


def kurtosis(x: Any, weights: Any) -> Any:
    return moment(x, weights, 4) / moment(x, weights, 2) ** 2 - 3


def norm_of_mean(x: Any, weights: Any, power: float) -> Any:
    return jnp.sum(mean(x, weights) ** 2) ** (power / 2)


def covariance(*arrays: Any, weights: Any, ddof: int = 0) -> Any:
    x, y = jnp.column_stack(arrays).T
    products = (x - mean(x, weights)) * (y - mean(y, weights))
    return mean(products, weights) * len(x) / (len(x) - ddof)


def correlation(*arrays: Any, weights: Any) -> Any:
    x, y = jnp.column_stack(arrays).T
    return covariance(x, y, weights=weights) / (std(x, weights) * std(y, weights))


def ratio(*arrays: Any, weights: Any) -> Any:
    x, y = mean(jnp.column_stack(arrays), weights)
    return x / y


def rmse(y: Any, p: Any, weights: Any) -> Any:
    return jnp.sqrt(mean((y - p) ** 2, weights))


def mae(y: Any, p: Any, weights: Any) -> Any:
    return mean(jnp.abs(y - p), weights)


def r2(y: Any, p: Any, weights: Any) -> Any:
    return 1 - mean((y - p) ** 2, weights) / variance(y, weights)


def accuracy(y: Any, p: Any, weights: Any) -> Any:
    return mean(1.0 * (y == p), weights)


def precision(y: Any, p: Any, weights: Any) -> Any:
    return mean(y * p, weights) / mean(p, weights)


def recall(y: Any, p: Any, weights: Any) -> Any:
    return precision(p, y, weights)


def f1(y: Any, p: Any, weights: Any) -> Any:
    return 2 / (1 / precision(y, p, weights) + 1 / recall(y, p, weights))


def log_loss(y: Any, p: Any, weights: Any) -> Any:
    return -mean(y * jnp.log(p) + (1 - y) * jnp.log1p(-p), weights)


def roc_auc(y: Any, s: Any, weights: Any) -> Any:
    wins = 1.0 * (s[:, None] > s) + 0.5 * (s[:, None] == s)
    positive, negative = weights * y, weights * (1 - y)
    return positive @ wins @ negative / (positive.sum() * negative.sum())


def trimmed_mean(x: Any, weights: Any, p: float) -> Any:
    order = jnp.argsort(x, axis=0)
    shares = weights[order] / weights.sum()
    above = jnp.cumsum(shares, axis=0)
    inside = jnp.clip(jnp.minimum(above, 1 - p) - jnp.maximum(above - shares, p), 0, None)
    return jnp.sum(inside * jnp.take_along_axis(x, order, axis=0), axis=0) / (1 - 2 * p)


def gini(x: Any, weights: Any) -> Any:
    distances = jnp.abs(x[:, None] - x)
    return mean(mean(distances, weights), weights) / (2 * mean(x, weights))


def entropy(x: Any, weights: Any) -> Any:
    return -mean(jnp.log(mean(1.0 * (x[:, None] == x), weights)), weights)


def spearman(*arrays: Any, weights: Any) -> Any:
    x, y = jnp.column_stack(arrays).T
    ranks = [mean(1.0 * (z[:, None] < z) + 0.5 * (z[:, None] == z), weights) for z in (x, y)]
    return correlation(*ranks, weights=weights)


def kendall(*arrays: Any, weights: Any) -> Any:
    x, y = (jnp.sign(z[:, None] - z) for z in jnp.column_stack(arrays).T)
    alike, in_x, in_y = (weights @ pairs @ weights for pairs in (x * y, x * x, y * y))
    return alike / jnp.sqrt(in_x * in_y)


def difference(f: Statistic) -> Statistic:
    return lambda x, y, weights: f(x, weights=weights[0]) - f(y, weights=weights[1])


def relative_difference(f: Statistic) -> Statistic:
    return lambda x, y, weights: f(x, weights=weights[0]) / f(y, weights=weights[1]) - 1


def composed_columns(x: Any, weights: Any) -> Any:
    v, m = variance(x, weights), mean(x, weights)
    return jnp.stack([v[0] * m[2], jnp.sqrt(v[1] + m[0])])


def means_of_both(x: Any, y: Any, weights: Any) -> Any:
    return jnp.stack([mean(x, weights) * mean(y, weights), jnp.log(mean(y, weights))])


def linear_regression(X: Any, y: Any, *case_weights: Any, weights: Any, intercept: bool = False) -> Any:
    X = jnp.column_stack([jnp.ones(len(X)), X]) if intercept else X
    weighted = X * (weights * jnp.prod(jnp.stack([jnp.ones(len(y)), *case_weights]), axis=0))[:, None]
    return jnp.linalg.solve(weighted.T @ X, weighted.T @ y)


def ratio_of_coefficients(X: Any, y: Any, weights: Any) -> Any:
    first, second, *_ = linear_regression(X, y, weights=weights)
    return first / second


def maximum_likelihood(
    X: Any,
    y: Any,
    *case_weights: Any,
    weights: Any,
    log_density: Statistic,
    intercept: bool = True,
    link: Statistic = lambda mean: 0.0,
) -> Any:
    """The maximum by Newton's steps from a constant, which are differentiated along with everything else."""
    X = jnp.column_stack([jnp.ones(len(X)), X]) if intercept else X
    total = weights * jnp.prod(jnp.stack([jnp.ones(len(y)), *case_weights]), axis=0)

    def loss(coefficients: Any) -> Any:
        return -total @ log_density(y, X @ coefficients) / total.sum()

    def step(_: Any, coefficients: Any) -> Any:
        return coefficients - jnp.linalg.solve(jax.hessian(loss)(coefficients), jax.grad(loss)(coefficients))

    start = jnp.zeros(X.shape[1]).at[0].set(link(jnp.mean(y)))
    return jax.lax.fori_loop(0, 12, step, start)


def binomial(y: Any, eta: Any) -> Any:
    return y * eta - jnp.logaddexp(0.0, eta)


def poisson(y: Any, eta: Any) -> Any:
    return y * eta - jnp.exp(eta)


def gamma_log(y: Any, eta: Any) -> Any:
    return -y * jnp.exp(-eta) - eta


def gamma_inverse(y: Any, eta: Any) -> Any:
    return jnp.log(eta) - y * eta


def inverse_gaussian_log(y: Any, eta: Any) -> Any:
    return -((y * jnp.exp(-eta) - 1) ** 2) / (2 * y)


def gaussian_log(y: Any, eta: Any) -> Any:
    return -((y - jnp.exp(eta)) ** 2) / 2


def binomial_probit(y: Any, eta: Any) -> Any:
    log_probability = jax.scipy.stats.norm.logcdf
    return y * log_probability(eta) + (1 - y) * log_probability(-eta)


def binomial_cloglog(y: Any, eta: Any) -> Any:
    return y * jnp.log(-jnp.expm1(-jnp.exp(eta))) - (1 - y) * jnp.exp(eta)


def covariance_matrix(x: Any, weights: Any) -> Any:
    shares = weights / weights.sum()
    centred = x - shares @ x
    return (centred * shares[:, None]).T @ centred


def ridge(X: Any, y: Any, weights: Any, alpha: float) -> Any:
    """The penalty is scikit-learn's, beside a sum of as many squares as there are rows."""
    shares = weights / weights.sum()
    X, y = X - shares @ X, y - shares @ y
    weighted = len(y) * shares[:, None] * X
    return jnp.linalg.solve(weighted.T @ X + alpha * jnp.eye(X.shape[1]), weighted.T @ y)


IN_JAX: dict[str, Statistic] = {
    "mean": mean,
    "mean of columns": mean,
    "mean of images": mean,
    "variance": variance,
    "variance of columns": partial(variance, ddof=1),
    "std": std,
    "std of columns": partial(std, ddof=1),
    "skewness": skewness,
    "skewness of columns": skewness,
    "kurtosis": kurtosis,
    "kurtosis of images": kurtosis,
    "norm_of_mean(2)": partial(norm_of_mean, power=2),
    "norm_of_mean(4)": partial(norm_of_mean, power=4),
    "norm_of_mean(1.5)": partial(norm_of_mean, power=1.5),
    "covariance": covariance,
    "covariance ddof": partial(covariance, ddof=1),
    "correlation": correlation,
    "correlation of arrays": correlation,
    "ratio": ratio,
    "rmse": rmse,
    "mae": mae,
    "r2": r2,
    "accuracy": accuracy,
    "precision": precision,
    "recall": recall,
    "recall of the other class": lambda y, p, weights: recall(1 - y, 1 - p, weights),
    "f1": f1,
    "log_loss": log_loss,
    "brier": lambda y, p, weights: mean((y - p) ** 2, weights),
    "roc_auc": roc_auc,
    "paired_difference": lambda y, p, q, weights: (
        jnp.sqrt(mean((y - p) ** 2, weights)) - jnp.sqrt(mean((y - q) ** 2, weights))
    ),
    "paired_difference of areas": lambda y, p, q, weights: roc_auc(y, p, weights) - roc_auc(y, q, weights),
    "linear_regression": linear_regression,
    "linear_regression with case weights": partial(linear_regression, intercept=True),
    "logistic_regression": partial(maximum_likelihood, log_density=binomial, intercept=False),
    "logistic_regression with intercept": partial(maximum_likelihood, log_density=binomial),
    "glm poisson": partial(maximum_likelihood, log_density=poisson),
    "glm gamma log": partial(maximum_likelihood, log_density=gamma_log),
    "glm gamma": partial(maximum_likelihood, log_density=gamma_inverse, link=lambda mean: 1 / mean),
    "glm inverse_gaussian log": partial(
        maximum_likelihood, log_density=inverse_gaussian_log, link=lambda mean: jnp.log(mean)
    ),
    "glm gaussian log": partial(maximum_likelihood, log_density=gaussian_log, link=lambda mean: jnp.log(mean)),
    "glm probit": partial(maximum_likelihood, log_density=binomial_probit),
    "glm cloglog": partial(maximum_likelihood, log_density=binomial_cloglog),
    "covariance_matrix": covariance_matrix,
    "from_sklearn": partial(ridge, alpha=2.0),
    "m_estimator, linear": linear_regression,
    "m_estimator, ratio of coefficients": ratio_of_coefficients,
    "m_estimator, logistic": partial(maximum_likelihood, log_density=binomial, intercept=False),
    "trimmed_mean": partial(trimmed_mean, p=0.1),
    "trimmed_mean of images": partial(trimmed_mean, p=0.25),
    "gini": gini,
    "gini of columns": gini,
    "entropy": entropy,
    "spearman": spearman,
    "spearman of tied pairs": spearman,
    "kendall": kendall,
    "kendall of tied pairs": kendall,
    "difference": difference(mean),
    "difference of columns": difference(partial(variance, ddof=1)),
    "difference of correlations": difference(correlation),
    "relative_difference": relative_difference(mean),
    "relative_difference of columns": relative_difference(std),
    "compose": lambda x, weights: std(x, weights) / mean(x, weights),
    "compose of columns": composed_columns,
    "compose of samples": lambda x, y, weights: jnp.exp(relative_difference(variance)(x, y, weights)),
    "function_of_means": lambda x, weights: variance(x, weights) / mean(x, weights),
    "function_of_means with gradient": means_of_both,
}
"""By the name of the row in `tests/registry.py`."""
