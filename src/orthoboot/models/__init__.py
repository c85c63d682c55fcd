"""Models of other libraries as statistics, with their influence functions."""

from orthoboot.models.cvxpy.problem import ConvexOptimum, from_cvxpy
from orthoboot.models.sklearn.model import SklearnModel, from_sklearn
from orthoboot.models.statsmodels.model import StatsmodelsFit, from_statsmodels
from orthoboot.models.torch.module import NetworkDiagnostics, TorchModel, from_torch

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
