"""Models of scikit-learn as statistics."""

from orthoboot.models.sklearn.model import SklearnModel, from_sklearn

__all__ = ["SklearnModel", "from_sklearn"]
