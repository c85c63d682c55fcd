"""The orthogonal bootstrap: bias, variance and intervals from about ten refits instead of a thousand.

Docstrings cite the paper by the labels of its LaTeX source, such as ``alg:cap`` and ``eq:taylor``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from orthoboot import errors

if TYPE_CHECKING:
    from orthoboot import plans, solvers
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
    from orthoboot.models import from_cvxpy, from_sklearn, from_statsmodels, from_torch
    from orthoboot.models.torch.neural_regressor import NeuralRegressor as NeuralRegressor
    from orthoboot.prediction import PredictionIntervalRegressor as PredictionIntervalRegressor
    from orthoboot.result import ConfidenceInterval, Result, SimulationError
    from orthoboot.simulators import InputUncertainty, fitted, input, input_uncertainty  # noqa: A004 - the public name

__version__ = "0.2.0"

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

# Every name is imported when it is asked for, since the command line shows its help without numpy. Classes that derive
# from those of an optional package are not in `__all__`: `from orthoboot import *` must work without these packages.
_LAZY = {
    "ConfidenceInterval": "orthoboot.result",
    "Functional": "orthoboot.functionals",
    "InfluenceCheck": "orthoboot.checking.check",
    "InputUncertainty": "orthoboot.simulators",
    "NeuralRegressor": "orthoboot.models.torch.neural_regressor",
    "PermutationTest": "orthoboot.hypotheses",
    "PredictionIntervalRegressor": "orthoboot.prediction",
    "Result": "orthoboot.result",
    "SimulationError": "orthoboot.result",
    "accuracy": "orthoboot.functionals",
    "bootstrap": "orthoboot.api",
    "brier": "orthoboot.functionals",
    "check_influence": "orthoboot.checking.check",
    "compose": "orthoboot.functionals",
    "correlation": "orthoboot.functionals",
    "covariance": "orthoboot.functionals",
    "covariance_factor": "orthoboot.functionals",
    "covariance_matrix": "orthoboot.functionals",
    "difference": "orthoboot.functionals",
    "entropy": "orthoboot.functionals",
    "f1": "orthoboot.functionals",
    "fitted": "orthoboot.simulators",
    "from_cvxpy": "orthoboot.models",
    "from_sklearn": "orthoboot.models",
    "from_statsmodels": "orthoboot.models",
    "from_torch": "orthoboot.models",
    "function_of_means": "orthoboot.functionals",
    "gini": "orthoboot.functionals",
    "glm": "orthoboot.functionals",
    "input": "orthoboot.simulators",
    "input_uncertainty": "orthoboot.simulators",
    "kendall": "orthoboot.functionals",
    "kurtosis": "orthoboot.functionals",
    "linear_regression": "orthoboot.functionals",
    "log_loss": "orthoboot.functionals",
    "logistic_regression": "orthoboot.functionals",
    "m_estimator": "orthoboot.functionals",
    "mae": "orthoboot.functionals",
    "mean": "orthoboot.functionals",
    "median": "orthoboot.functionals",
    "minimize": "orthoboot.functionals",
    "norm_of_mean": "orthoboot.functionals",
    "paired_difference": "orthoboot.functionals",
    "permutation_test": "orthoboot.hypotheses",
    "plans": "orthoboot.plans",
    "precision": "orthoboot.functionals",
    "quantile": "orthoboot.functionals",
    "r2": "orthoboot.functionals",
    "ratio": "orthoboot.functionals",
    "recall": "orthoboot.functionals",
    "regression_on": "orthoboot.influence",
    "relative_difference": "orthoboot.functionals",
    "rmse": "orthoboot.functionals",
    "roc_auc": "orthoboot.functionals",
    "skewness": "orthoboot.functionals",
    "solvers": "orthoboot.solvers",
    "spearman": "orthoboot.functionals",
    "std": "orthoboot.functionals",
    "trimmed_mean": "orthoboot.functionals",
    "variance": "orthoboot.functionals",
}


if not TYPE_CHECKING:  # or else every misspelt name would be one of the library's to a type checker

    def __getattr__(name: str) -> Any:
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(_LAZY[name])
        value = globals()[name] = module if _LAZY[name] == f"{__name__}.{name}" else getattr(module, name)
        return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_LAZY, "__version__"})
