"""Checks of the arguments of `PredictionIntervalRegressor`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from orthoboot.arguments import checked_confidence_level, checked_count
from orthoboot.data import Data, read
from orthoboot.errors import ArgumentError, DataError
from orthoboot.estimators import Estimator

NOISES = ("corrected", "out-of-bag")
"""How the variance of the noise is estimated."""


def checked_resamples(n_resamples: Any, estimator: Estimator) -> int:
    """Return the number of refits, if it is enough for the estimator."""
    # The noise needs a refit also where the variance needs none.
    least = max(estimator.minimum, 1)
    return checked_count("n_resamples", n_resamples, least=least, reason=f"for variance_estimator={estimator.name!r}")


def check_regressor(estimator: Any) -> None:
    """Raise if an estimator is not a regressor; `SklearnModel` refuses other objects."""
    if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
        return
    # Not by `predict`: some, such as a stack of regressors, have it only once they are fitted.
    if not is_regressor(estimator):
        kind = type(estimator).__name__
        advice = (
            "For probabilities of classes with their confidence intervals use `ob.from_sklearn(classifier, new_rows)`."
            if is_classifier(estimator)
            else "Put a regressor behind it in a pipeline, or pass one alone."
        )
        raise ArgumentError(f"`estimator` must be a regressor, such as `Ridge()`; got {kind}. {advice}")


def is_frame(X: Any) -> bool:
    """Return whether X is a data frame."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def read_rows(X: Any, y: Any) -> Data:
    """Return the data as one sample; errors name them `X` and `y`."""
    try:
        return read((X, y), paired=True)
    except DataError as error:
        raise DataError(str(error).replace("`data[0]`", "`X`").replace("`data[1]`", "`y`")) from None


def checked_levels(levels: Any) -> tuple[list[float], bool]:
    """Return the levels, and whether there may be several."""
    if np.ndim(levels) == 0:
        return [checked_confidence_level(levels)], False
    if not len(levels):
        raise ArgumentError("`confidence_level` must be a number in (0, 1) or a list of them; got an empty list.")
    return [checked_confidence_level(level) for level in levels], True
