"""The orthogonal bootstrap: bias, variance and intervals from about ten refits instead of a thousand.

Docstrings cite the paper by the labels of its LaTeX source, such as ``alg:cap`` and ``eq:taylor``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from orthoboot import errors, plans, solvers
from orthoboot.api import bootstrap
from orthoboot.checking.check import InfluenceCheck, check_influence
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
from orthoboot.hypotheses import PermutationTest, permutation_test
from orthoboot.influence import regression_on
from orthoboot.result import ConfidenceInterval, Result, SimulationError

if TYPE_CHECKING:
    from orthoboot.models import from_cvxpy, from_sklearn, from_statsmodels, from_torch
    from orthoboot.models.torch.neural_regressor import NeuralRegressor as NeuralRegressor
    from orthoboot.prediction import PredictionIntervalRegressor as PredictionIntervalRegressor
    from orthoboot.simulators import InputUncertainty, fitted, input, input_uncertainty  # noqa: A004 - the public name

__version__ = "0.1.0"

__all__ = [
    "ConfidenceInterval",
    "Functional",
    "InfluenceCheck",
    "InputUncertainty",
    "PermutationTest",
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
    "fitted",
    "from_cvxpy",
    "from_sklearn",
    "from_statsmodels",
    "from_torch",
    "function_of_means",
    "gini",
    "glm",
    "input",
    "input_uncertainty",
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
    "paired_difference",
    "permutation_test",
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

# Names that are imported when they are asked for, and where they are: what has to do with models and simulations, which
# most runs do not use. Classes that derive from those of an optional package are not in `__all__`, since
# `from orthoboot import *` must work without these packages.
_LAZY = {
    "InputUncertainty": "orthoboot.simulators",
    "NeuralRegressor": "orthoboot.models.torch.neural_regressor",
    "PredictionIntervalRegressor": "orthoboot.prediction",
    "fitted": "orthoboot.simulators",
    "from_cvxpy": "orthoboot.models",
    "from_sklearn": "orthoboot.models",
    "from_statsmodels": "orthoboot.models",
    "from_torch": "orthoboot.models",
    "input": "orthoboot.simulators",
    "input_uncertainty": "orthoboot.simulators",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_LAZY[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_LAZY, "__version__"})
