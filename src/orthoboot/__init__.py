"""The orthogonal bootstrap: bias, variance and intervals from about ten refits instead of a thousand."""

from orthoboot import errors, plans
from orthoboot.api import bootstrap
from orthoboot.functionals import (
    Functional,
    compose,
    correlation,
    covariance,
    difference,
    function_of_means,
    kurtosis,
    mean,
    median,
    norm_of_mean,
    quantile,
    ratio,
    relative_difference,
    skewness,
    std,
    variance,
)
from orthoboot.result import ConfidenceInterval, Result, SimulationError

__version__ = "0.1.0"

__all__ = [
    "ConfidenceInterval",
    "Functional",
    "Result",
    "SimulationError",
    "bootstrap",
    "compose",
    "correlation",
    "covariance",
    "difference",
    "errors",
    "function_of_means",
    "kurtosis",
    "mean",
    "median",
    "norm_of_mean",
    "plans",
    "quantile",
    "ratio",
    "relative_difference",
    "skewness",
    "std",
    "variance",
]


def __dir__() -> list[str]:
    return sorted(__all__)
