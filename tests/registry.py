"""One row per part of the library; every row goes through the contract suite of its kind."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import statsmodels.api as sm
from scipy import stats
from sklearn.linear_model import Ridge
from statsmodels.genmod import families
from statsmodels.tools.sm_exceptions import DomainWarning

from orthoboot.data import Data, read
from orthoboot.functionals import (
    Functional,
    accuracy,
    brier,
    compose,
    correlation,
    covariance,
    covariance_matrix,
    difference,
    entropy,
    f1,
    function_of_means,
    gini,
    glm,
    kendall,
    kurtosis,
    linear_regression,
    log_loss,
    logistic_regression,
    m_estimator,
    mae,
    mean,
    median,
    minimize,
    norm_of_mean,
    paired_difference,
    precision,
    quantile,
    r2,
    ratio,
    recall,
    relative_difference,
    rmse,
    roc_auc,
    skewness,
    spearman,
    std,
    trimmed_mean,
    variance,
)
from orthoboot.models import from_sklearn
from orthoboot.plans import CircularBlocks, Cluster, Iid, MovingBlocks, Scheme, StationaryBlocks, Stratified
from orthoboot.solvers import LU, Cholesky, ConjugateGradients, Solver
from tests.jax_statistics import IN_JAX

N_ROWS = 23

# Plans: each scheme by what is special about it.

UNEVEN = np.repeat([0, 1, 2, 3, 4], [1, 2, 5, 12, 20])[np.random.default_rng(0).permutation(40)]
MANY_GROUPS = np.random.default_rng(1).integers(0, 90, size=300)

SCHEMES: dict[str, Scheme] = {
    "iid, few rows": Iid(40),
    "iid": Iid(150),
    "stratified": Stratified(UNEVEN),
    "one stratum": Stratified(np.zeros(30)),
    "cluster": Cluster(UNEVEN),
    "many clusters": Cluster(MANY_GROUPS),
    "moving": MovingBlocks(50, 7),
    "moving, no block cut": MovingBlocks(48, 6),
    "circular": CircularBlocks(50, 7),
    "circular, no block cut": CircularBlocks(48, 6),
    "circular, long": CircularBlocks(20, 19),
    "stationary": StationaryBlocks(50, 3),
    "stationary, long": StationaryBlocks(20, 19),
}

# Statistics.


def column() -> Data:
    return read(np.random.default_rng(1).exponential(size=N_ROWS))


def table() -> Data:
    return read(np.random.default_rng(2).gamma(2.0, size=(N_ROWS, 3)))


def images() -> Data:
    return read(np.random.default_rng(3).normal(1.0, size=(N_ROWS, 2, 2)))


def labels() -> Data:
    return read(np.random.default_rng(8).choice([-1.0, 2.0, 2.5, 9.0], p=[0.1, 0.2, 0.3, 0.4], size=N_ROWS))


def pairs() -> Data:
    x, noise = np.random.default_rng(4).exponential(size=(2, N_ROWS))
    return read(np.column_stack([x, x + noise]))


def tied_pairs() -> Data:
    x, noise = np.random.default_rng(9).poisson(2.0, size=(2, N_ROWS)).astype(float)
    return read(np.column_stack([x, x + noise]))


def paired_arrays() -> Data:
    return read(tuple(pairs().arrays[0].T), paired=True)


def two_samples() -> Data:
    rng = np.random.default_rng(5)
    return read((rng.exponential(2.0, size=17), rng.gamma(2.0, size=12)))


def two_tables() -> Data:
    rng = np.random.default_rng(6)
    return read((rng.exponential(2.0, size=(17, 2)), rng.gamma(2.0, size=(12, 2))))


def _correlation(*arrays: Any) -> float:
    return float(np.corrcoef(np.column_stack(arrays).T)[0, 1])


def _covariance(*arrays: Any, ddof: int) -> float:
    return float(np.cov(np.column_stack(arrays).T, ddof=ddof)[0, 1])


def _ratio(*arrays: Any) -> float:
    x, y = np.column_stack(arrays).mean(axis=0)
    return float(x / y)


def _trimmed_mean(x: Any, p: float) -> Any:
    cut, rank = p * len(x), np.arange(len(x))
    inside = np.clip(np.minimum(rank + 1, len(x) - cut) - np.maximum(rank, cut), 0, None)
    return np.average(np.sort(x, axis=0), axis=0, weights=inside)


def _gini(x: Any) -> Any:
    return np.abs(x[:, np.newaxis] - x).mean(axis=(0, 1)) / (2 * x.mean(axis=0))


def _entropy(x: Any) -> float:
    return float(stats.entropy(np.unique(x, return_counts=True)[1]))


def _spearman(*arrays: Any) -> float:
    return float(stats.spearmanr(*np.column_stack(arrays).T).statistic)


def _kendall(*arrays: Any) -> float:
    return float(stats.kendalltau(*np.column_stack(arrays).T).statistic)


def predictions() -> Data:
    observed, noise = np.random.default_rng(7).normal(3.0, size=(2, N_ROWS))
    return read((observed, 0.8 * observed + noise / 2), paired=True)


def _rmse(y: Any, p: Any) -> float:
    return float(np.sqrt(np.mean((y - p) ** 2)))


def _r2(y: Any, p: Any) -> float:
    return float(1 - np.sum((y - p) ** 2) / np.sum((y - y.mean()) ** 2))


def predicted_labels() -> Data:
    rng = np.random.default_rng(8)
    observed = rng.random(N_ROWS) < 0.5
    return read((observed, observed ^ (rng.random(N_ROWS) < 0.3)), paired=True)


def predicted_probabilities() -> Data:
    rng = np.random.default_rng(9)
    # Few different probabilities, so that ties within and between the classes are among them.
    probabilities = rng.integers(1, 10, size=N_ROWS) / 10
    return read((rng.random(N_ROWS) < probabilities, probabilities), paired=True)


def _precision(y: Any, p: Any) -> float:
    return float(np.mean(y[p == 1] == 1))


def _f1(y: Any, p: Any) -> float:
    return float(stats.hmean([_precision(y, p), _precision(p, y)]))


def _log_loss(y: Any, p: Any) -> float:
    return float(-np.mean(stats.bernoulli.logpmf(y, p)))


def two_predictions() -> Data:
    observed, probabilities = predicted_probabilities().arrays
    others = np.clip(probabilities + np.random.default_rng(12).integers(-3, 4, size=N_ROWS) / 10, 0.1, 0.9)
    return read((observed, probabilities, others), paired=True)


def _roc_auc(y: Any, s: Any) -> float:
    positive, negative = s[y == 1], s[y == 0]
    statistic = stats.mannwhitneyu(positive, negative, method="asymptotic").statistic
    return float(statistic / (len(positive) * len(negative)))


def regression() -> Data:
    rng = np.random.default_rng(12)
    X = rng.normal(size=(N_ROWS, 3))
    return read((X, X @ [1.0, -2.0, 0.5] + rng.exponential(size=N_ROWS)), paired=True)


def weighted_regression() -> Data:
    return read((*regression().arrays, np.random.default_rng(13).uniform(0.5, 4.0, size=N_ROWS)), paired=True)


def _least_squares(X: Any, y: Any, case_weights: Any = 1.0, *, intercept: bool = False) -> Any:
    X = np.column_stack([np.ones(len(X)), X]) if intercept else X
    roots = np.sqrt(case_weights)
    return np.linalg.lstsq((X.T * roots).T, y * roots, rcond=None)[0]


def _linear_predictor(rng: np.random.Generator, n_rows: int) -> tuple[Any, Any]:
    X = rng.uniform(-1.0, 1.0, size=(n_rows, 2))
    return X, 1.5 + X @ [0.5, -0.4]


def classes() -> Data:
    rng = np.random.default_rng(14)
    # Enough rows, and enough noise, that no resample of the suite is separated.
    X, eta = _linear_predictor(rng, 60)
    return read((X, rng.random(60) < 1 / (1 + np.exp(1 - eta))), paired=True)


def proportions() -> Data:
    rng = np.random.default_rng(15)
    X, eta = _linear_predictor(rng, N_ROWS)
    trials = rng.integers(1, 9, size=N_ROWS)
    return read((X, rng.binomial(trials, 1 / (1 + np.exp(1 - eta))) / trials, trials), paired=True)


def numbers_of_events() -> Data:
    rng = np.random.default_rng(16)
    X, eta = _linear_predictor(rng, N_ROWS)
    return read((X, rng.poisson(np.exp(eta)), rng.uniform(0.5, 4.0, size=N_ROWS)), paired=True)


def waiting_times() -> Data:
    rng = np.random.default_rng(17)
    X, eta = _linear_predictor(rng, N_ROWS)
    return read((X, rng.gamma(4.0, 0.25 / eta)), paired=True)


def _statsmodels_glm(X: Any, y: Any, case_weights: Any = 1.0, *, family: Any, link: Any, intercept: bool) -> Any:
    X = sm.add_constant(X) if intercept else X
    weights = np.broadcast_to(case_weights, len(y))
    with warnings.catch_warnings():
        # The canonical link of the gamma family, among others, gives negative means in places: not at the fits here.
        warnings.simplefilter("ignore", DomainWarning)
        model = sm.GLM(np.asarray(y, dtype=float), X, family(None if link is None else link()), freq_weights=weights)
        # Tighter than the default, whose fit is off by more than the tests allow.
        return model.fit(tol=1e-14, tol_criterion="params", maxiter=300).params


@dataclass(frozen=True)
class FunctionalRow:
    """A statistic, data to try it on, and what numpy or scipy make of the same arrays."""

    id: str
    functional: Functional
    data: Callable[[], Data]
    reference: Callable[..., Any]
    smooth: bool = True
    closed_bias: bool = True
    """Whether a smooth statistic has its second-order bias in closed form."""

    @property
    def in_jax(self) -> Callable[..., Any] | None:
        """The statistic as a function of the arrays and the weights in jax.numpy, where there is one."""
        return IN_JAX.get(self.id)


def _glm_row(
    label: str, functional: Any, data: Callable[[], Data], family: Any, link: Any = None, *, intercept: bool = True
) -> FunctionalRow:
    reference = partial(_statsmodels_glm, family=family, link=link, intercept=intercept)
    return FunctionalRow(label, functional.replace(intercept=intercept), data, reference)


FUNCTIONALS = [
    FunctionalRow("mean", mean, column, np.mean),
    FunctionalRow("mean of columns", mean, table, partial(np.mean, axis=0)),
    FunctionalRow("mean of images", mean, images, partial(np.mean, axis=0)),
    FunctionalRow("variance", variance, column, np.var),
    FunctionalRow("variance of columns", variance.replace(ddof=1), table, partial(np.var, axis=0, ddof=1)),
    FunctionalRow("std", std, column, np.std),
    FunctionalRow("std of columns", std.replace(ddof=1), table, partial(np.std, axis=0, ddof=1)),
    FunctionalRow("skewness", skewness, column, stats.skew),
    FunctionalRow("skewness of columns", skewness, table, stats.skew),
    FunctionalRow("kurtosis", kurtosis, column, stats.kurtosis),
    FunctionalRow("kurtosis of images", kurtosis, images, stats.kurtosis),
    FunctionalRow("norm_of_mean(2)", norm_of_mean(2), table, lambda x: np.sum(x.mean(axis=0) ** 2)),
    FunctionalRow("norm_of_mean(4)", norm_of_mean(4), table, lambda x: np.sum(x.mean(axis=0) ** 2) ** 2),
    FunctionalRow("norm_of_mean(1.5)", norm_of_mean(1.5), images, lambda x: np.sum(x.mean(axis=0) ** 2) ** 0.75),
    FunctionalRow("covariance", covariance, pairs, partial(_covariance, ddof=0)),
    FunctionalRow("covariance ddof", covariance.replace(ddof=1), paired_arrays, partial(_covariance, ddof=1)),
    FunctionalRow("covariance_matrix", covariance_matrix, table, partial(np.cov, rowvar=False, ddof=0)),
    FunctionalRow("correlation", correlation, pairs, _correlation),
    FunctionalRow("correlation of arrays", correlation, paired_arrays, _correlation),
    FunctionalRow("ratio", ratio, pairs, _ratio),
    FunctionalRow("rmse", rmse, predictions, _rmse),
    FunctionalRow("mae", mae, predictions, lambda y, p: np.mean(np.abs(y - p))),
    FunctionalRow("r2", r2, predictions, _r2),
    FunctionalRow("accuracy", accuracy, predicted_labels, lambda y, p: np.mean(y == p)),
    FunctionalRow("precision", precision, predicted_labels, _precision),
    FunctionalRow("recall", recall, predicted_labels, lambda y, p: _precision(p, y)),
    FunctionalRow(
        "recall of the other class", recall.replace(positive=0), predicted_labels, lambda y, p: _precision(1 - p, 1 - y)
    ),
    FunctionalRow("f1", f1, predicted_labels, _f1),
    FunctionalRow("log_loss", log_loss, predicted_probabilities, _log_loss),
    FunctionalRow("brier", brier, predicted_probabilities, lambda y, p: np.mean((y - p) ** 2)),
    FunctionalRow("roc_auc", roc_auc, predicted_probabilities, _roc_auc),
    FunctionalRow(
        "paired_difference",
        paired_difference(rmse),
        two_predictions,
        lambda y, p, q: np.sqrt(np.mean((y - p) ** 2)) - np.sqrt(np.mean((y - q) ** 2)),
    ),
    FunctionalRow(
        "paired_difference of areas",
        paired_difference(roc_auc),
        two_predictions,
        lambda y, p, q: _roc_auc(y, p) - _roc_auc(y, q),
    ),
    FunctionalRow("linear_regression", linear_regression, regression, _least_squares),
    FunctionalRow(
        "linear_regression with case weights",
        linear_regression.replace(intercept=True),
        weighted_regression,
        partial(_least_squares, intercept=True),
    ),
    FunctionalRow(
        "from_sklearn",
        from_sklearn(Ridge(alpha=2.0)),
        regression,
        lambda X, y: Ridge(alpha=2.0).fit(X, y).coef_,
    ),
    _glm_row("logistic_regression", logistic_regression, classes, families.Binomial, intercept=False),
    _glm_row("logistic_regression with intercept", logistic_regression, classes, families.Binomial),
    _glm_row("glm probit", glm("binomial", "probit"), classes, families.Binomial, families.links.Probit),
    _glm_row("glm cloglog", glm("binomial", "cloglog"), proportions, families.Binomial, families.links.CLogLog),
    _glm_row("glm poisson", glm("poisson"), numbers_of_events, families.Poisson),
    _glm_row("glm gamma", glm("gamma"), waiting_times, families.Gamma),
    _glm_row("glm gamma log", glm("gamma", "log"), waiting_times, families.Gamma, families.links.Log),
    _glm_row(
        "glm inverse_gaussian log",
        glm("inverse_gaussian", "log"),
        waiting_times,
        families.InverseGaussian,
        families.links.Log,
    ),
    _glm_row("glm gaussian log", glm("gaussian", "log"), waiting_times, families.Gaussian, families.links.Log),
    FunctionalRow("median", median, column, np.median, smooth=False),
    FunctionalRow("quantile of columns", quantile(0.3), table, partial(np.quantile, q=0.3, axis=0), smooth=False),
    FunctionalRow("quantiles", quantile([0.1, 0.9]), images, partial(np.quantile, q=[0.1, 0.9], axis=0), smooth=False),
    FunctionalRow("trimmed_mean", trimmed_mean(0.1), column, partial(_trimmed_mean, p=0.1)),
    FunctionalRow("trimmed_mean of images", trimmed_mean(0.25), images, partial(_trimmed_mean, p=0.25)),
    FunctionalRow("gini", gini, column, _gini),
    FunctionalRow("gini of columns", gini, table, _gini),
    FunctionalRow("entropy", entropy, labels, _entropy),
    FunctionalRow("spearman", spearman, paired_arrays, _spearman, closed_bias=False),
    FunctionalRow("spearman of tied pairs", spearman, tied_pairs, _spearman, closed_bias=False),
    FunctionalRow("kendall", kendall, paired_arrays, _kendall, closed_bias=False),
    FunctionalRow("kendall of tied pairs", kendall, tied_pairs, _kendall, closed_bias=False),
    FunctionalRow("difference", difference(mean), two_samples, lambda x, y: np.mean(x) - np.mean(y)),
    FunctionalRow(
        "difference of columns",
        difference(variance).replace(ddof=1),
        two_tables,
        lambda x, y: np.var(x, axis=0, ddof=1) - np.var(y, axis=0, ddof=1),
    ),
    FunctionalRow(
        "difference of medians",
        difference(median),
        two_samples,
        lambda x, y: np.median(x) - np.median(y),
        smooth=False,
    ),
    FunctionalRow(
        "difference of correlations",
        difference(correlation),
        two_tables,
        lambda x, y: _correlation(x) - _correlation(y),
    ),
    FunctionalRow(
        "relative_difference", relative_difference(mean), two_samples, lambda x, y: np.mean(x) / np.mean(y) - 1
    ),
    FunctionalRow(
        "relative_difference of columns",
        relative_difference(std),
        two_tables,
        lambda x, y: np.std(x, axis=0) / np.std(y, axis=0) - 1,
    ),
    FunctionalRow("compose", compose(lambda s, m: s / m, std, mean), column, lambda x: np.std(x) / np.mean(x)),
    FunctionalRow(
        "compose of columns",
        compose(lambda v, m: [v[0] * m[2], np.sqrt(v[1] + m[0])], variance, mean),
        table,
        lambda x: [np.var(x[:, 0]) * x[:, 2].mean(), np.sqrt(np.var(x[:, 1]) + x[:, 0].mean())],
    ),
    FunctionalRow(
        "compose of samples",
        compose(np.exp, relative_difference(variance), gradient=lambda v: [np.exp(v)]),
        two_samples,
        lambda x, y: np.exp(np.var(x) / np.var(y) - 1),
    ),
    FunctionalRow(
        "function_of_means",
        function_of_means(lambda x: [x, x**2], lambda m: (m[1] - m[0] ** 2) / m[0]),
        column,
        lambda x: np.var(x) / np.mean(x),
    ),
    FunctionalRow(
        "function_of_means with gradient",
        function_of_means(
            lambda x, y: np.column_stack([x, y]),
            lambda m: np.stack([m[0] * m[1], np.log(m[1])]),
            gradient=lambda m: [[m[1], m[0]], [0.0, 1 / m[1]]],
        ),
        paired_arrays,
        lambda x, y: [x.mean() * y.mean(), np.log(y.mean())],
    ),
]


def _logistic_loss(theta: Any, X: Any, y: Any) -> Any:
    import jax.numpy as jnp

    return jnp.logaddexp(0.0, X @ theta) - y * (X @ theta)


_LEAST_SQUARES_LOSS = m_estimator(lambda theta, X, y: (y - X @ theta) ** 2, init=3, library="jax")

_LOADS = np.random.default_rng(20).normal(size=(3, 5))
_PLAN = np.linalg.pinv(_LOADS)
_ENERGY = minimize(lambda x, xi: (x**2).sum(), 5, equality=lambda x, xi: _LOADS @ x - xi, output="value", library="jax")
# The mean of the table and of all its resamples lies far outside of the unit ball.
_NEAREST = minimize(lambda x, xi: ((x - xi) ** 2).sum(), 3, inequality=lambda x, xi: (x**2).sum() - 1, library="jax")

if find_spec("jax") is not None:
    FUNCTIONALS += [
        FunctionalRow("m_estimator, linear", _LEAST_SQUARES_LOSS, regression, _least_squares, closed_bias=False),
        FunctionalRow(
            "m_estimator, ratio of coefficients",
            _LEAST_SQUARES_LOSS.replace(target=lambda theta: theta[0] / theta[1], solver="cg"),
            regression,
            lambda X, y: np.divide(*_least_squares(X, y)[:2]),
            closed_bias=False,
        ),
        FunctionalRow(
            "m_estimator, logistic",
            m_estimator(_logistic_loss, init=2),
            classes,
            partial(_statsmodels_glm, family=families.Binomial, link=None, intercept=False),
            closed_bias=False,
        ),
        FunctionalRow(
            "minimize, solution", _ENERGY.replace(output="solution"), table, lambda x: _PLAN @ x.mean(axis=0)
        ),
        FunctionalRow("minimize, value", _ENERGY, table, lambda x: np.sum((_PLAN @ x.mean(axis=0)) ** 2)),
        FunctionalRow(
            "minimize, inequality", _NEAREST, table, lambda x: x.mean(axis=0) / np.linalg.norm(x.mean(axis=0))
        ),
        FunctionalRow(
            "minimize, value under an inequality",
            _NEAREST.replace(output="value"),
            table,
            lambda x: (np.linalg.norm(x.mean(axis=0)) - 1) ** 2,
        ),
    ]


@dataclass(frozen=True)
class SolverRow:
    """A linear solver, and whether it takes matrices that are not symmetric and positive definite."""

    id: str
    solver: Solver
    general: bool = False


SOLVERS = [
    SolverRow("cholesky", Cholesky()),
    SolverRow("cholesky, damped", Cholesky(damping=0.5)),
    SolverRow("lu", LU(), general=True),
    SolverRow("lu, damped", LU(damping=0.5), general=True),
    SolverRow("cg", ConjugateGradients(tolerance=1e-12)),
    SolverRow("cg, damped", ConjugateGradients(damping=0.5, tolerance=1e-12)),
]


@dataclass(frozen=True)
class EngineRow:
    """An influence engine and how closely it follows the closed form on 60 rows, relative to the largest value."""

    name: str
    tolerance: float


ENGINES = [
    EngineRow("finite-difference", 1e-6),
    # Leaving out a row is a step of 1/n, so the jackknife differs from the derivative by that order.
    EngineRow("jackknife", 0.15),
]


@dataclass(frozen=True)
class IntervalRow:
    """An interval method with an estimator and a number of replicates for which it is sound."""

    method: str
    estimator: str
    n_resamples: int

    @property
    def id(self) -> str:
        return f"{self.method}, {self.estimator}, {self.n_resamples}"


INTERVALS = [
    IntervalRow("auto", "orthogonal", 10),
    IntervalRow("auto", "orthogonal", 1000),
    IntervalRow("auto", "standard", 400),
    IntervalRow("normal", "orthogonal", 10),
    IntervalRow("normal", "cheap", 10),
    IntervalRow("normal", "jackknife", 0),
    IntervalRow("t", "orthogonal", 10),
    IntervalRow("t", "standard", 10),
    IntervalRow("abc", "orthogonal", 10),
    IntervalRow("abc", "jackknife", 0),
    IntervalRow("percentile", "orthogonal", 25),
    IntervalRow("percentile", "standard", 400),
    IntervalRow("basic", "orthogonal", 25),
    IntervalRow("basic", "standard", 400),
    IntervalRow("bca", "orthogonal", 25),
    IntervalRow("bca", "paper", 25),
    IntervalRow("bca", "standard", 1000),
    IntervalRow("studentized", "orthogonal", 400),
    IntervalRow("studentized", "standard", 400),
]
