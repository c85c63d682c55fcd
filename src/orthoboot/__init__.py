"""The orthogonal bootstrap: bias, variance and intervals from about ten refits instead of a thousand."""

from orthoboot import errors, plans
from orthoboot.api import bootstrap
from orthoboot.functionals import (
    Functional,
    accuracy,
    brier,
    compose,
    correlation,
    covariance,
    difference,
    entropy,
    f1,
    function_of_means,
    gini,
    kendall,
    kurtosis,
    log_loss,
    mae,
    mean,
    median,
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
from orthoboot.result import ConfidenceInterval, Result, SimulationError

__version__ = "0.1.0"

__all__ = [
    "ConfidenceInterval",
    "Functional",
    "Result",
    "SimulationError",
    "accuracy",
    "bootstrap",
    "brier",
    "compose",
    "correlation",
    "covariance",
    "difference",
    "entropy",
    "errors",
    "f1",
    "function_of_means",
    "gini",
    "kendall",
    "kurtosis",
    "log_loss",
    "mae",
    "mean",
    "median",
    "norm_of_mean",
    "plans",
    "precision",
    "quantile",
    "r2",
    "ratio",
    "recall",
    "relative_difference",
    "rmse",
    "roc_auc",
    "skewness",
    "spearman",
    "std",
    "trimmed_mean",
    "variance",
]


def __dir__() -> list[str]:
    return sorted(__all__)
