"""Checks of the arguments of `from_sklearn`."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoboot.data import Data
from orthoboot.errors import ArgumentError, DataError


def check_estimator(estimator: Any) -> None:
    """Raise unless it is an instance with the methods of an estimator."""
    if isinstance(estimator, type):
        raise ArgumentError(
            f"`estimator` must be an instance; got the class {estimator.__name__}. Write `{estimator.__name__}()`."
        )
    if not all(hasattr(estimator, method) for method in ("fit", "get_params", "set_params")):
        raise ArgumentError(
            "`estimator` must be a scikit-learn estimator, with `fit` and `get_params`, such as `Ridge()`; got "
            f"{estimator!r}."
        )


def check_tables(name: str, data: Data) -> None:
    """Raise unless the data are X and y of one sample."""
    if len(data.tables) != 2 or len(data.sizes) > 1:
        got = f"{len(data.sizes)} independent samples" if len(data.sizes) > 1 else f"{len(data.tables)} array(s)"
        raise DataError(
            f"`{name}` takes the data `(X, y)` with `paired=True`, so that their rows are drawn together; got {got}."
        )
    X, y = (np.shape(container) for container in data.containers)
    if len(X) != 2:
        raise DataError(
            f"`{name}` takes X with rows and columns; got shape {X}. Write `X.reshape(-1, 1)` for one column."
        )
    if int(np.prod(y)) != data.sizes[0]:
        raise DataError(
            f"`{name}` takes y with one number or label per row, shape ({data.sizes[0]},); got shape {y}. Make one "
            "call for each response."
        )
