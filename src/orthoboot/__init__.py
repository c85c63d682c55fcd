"""The orthogonal bootstrap: bias, variance and intervals from about ten refits instead of a thousand.

Docstrings cite the paper by the labels of its LaTeX source, such as ``alg:cap`` and ``eq:taylor``.
"""

from orthoboot import errors, plans, solvers
from orthoboot.api import bootstrap
from orthoboot.checking import InfluenceCheck, check_influence
from orthoboot.functionals import (
    Functional,
    accuracy,
    brier,
    compose,
    correlation,
    covariance,
    covariance_factor,
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
from orthoboot.influence import regression_on
from orthoboot.models import from_cvxpy, from_sklearn, from_statsmodels
from orthoboot.result import ConfidenceInterval, Result, SimulationError

__version__ = "0.1.0"

__all__ = [
    "ConfidenceInterval",
    "Functional",
    "InfluenceCheck",
    "Result",
    "SimulationError",
    "accuracy",
    "bootstrap",
    "brier",
    "check_influence",
    "compose",
    "correlation",
    "covariance",
    "covariance_factor",
    "covariance_matrix",
    "difference",
    "entropy",
    "errors",
    "f1",
    "from_cvxpy",
    "from_sklearn",
    "from_statsmodels",
    "function_of_means",
    "gini",
    "glm",
    "kendall",
    "kurtosis",
    "linear_regression",
    "log_loss",
    "logistic_regression",
    "m_estimator",
    "mae",
    "mean",
    "median",
    "minimize",
    "norm_of_mean",
    "plans",
    "precision",
    "quantile",
    "r2",
    "ratio",
    "recall",
    "regression_on",
    "relative_difference",
    "rmse",
    "roc_auc",
    "skewness",
    "solvers",
    "spearman",
    "std",
    "trimmed_mean",
    "variance",
]


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
