"""Models of scikit-learn as statistics."""

from orthoboot.models.sklearn.model import FittedSklearnModel, SklearnModel, from_sklearn

__all__ = ["FittedSklearnModel", "SklearnModel", "from_sklearn"]
