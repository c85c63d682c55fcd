"""Models of other libraries as statistics, with their influence functions."""

from orthoboot.models.cvxpy import ConvexOptimum, from_cvxpy
from orthoboot.models.sklearn import SklearnModel, from_sklearn
from orthoboot.models.statsmodels import StatsmodelsFit, from_statsmodels

__all__ = [
    "ConvexOptimum",
    "SklearnModel",
    "StatsmodelsFit",
    "from_cvxpy",
    "from_sklearn",
    "from_statsmodels",
]
