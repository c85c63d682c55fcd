"""Models of other libraries as statistics, with their influence functions."""

from orthoboot.models.cvxpy import ConvexOptimum, from_cvxpy
from orthoboot.models.sklearn import SklearnModel, from_sklearn
from orthoboot.models.statsmodels import StatsmodelsFit, from_statsmodels
from orthoboot.models.torch import NetworkDiagnostics, TorchModel, from_torch

__all__ = [
    "ConvexOptimum",
    "NetworkDiagnostics",
    "SklearnModel",
    "StatsmodelsFit",
    "TorchModel",
    "from_cvxpy",
    "from_sklearn",
    "from_statsmodels",
    "from_torch",
]
