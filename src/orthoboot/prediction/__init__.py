"""Prediction intervals: a regressor, its refits, and an estimate of the noise."""

try:
    import sklearn  # noqa: F401
except ImportError as missing:
    from orthoboot.errors import MissingDependencyError

    raise MissingDependencyError(
        "`PredictionIntervalRegressor` needs scikit-learn; install it with `pip install 'orthoboot[sklearn]'`."
    ) from missing

from orthoboot.prediction.regressor import PredictionIntervalRegressor

__all__ = ["PredictionIntervalRegressor"]
