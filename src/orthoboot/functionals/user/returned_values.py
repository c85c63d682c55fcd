"""Values returned by user functions, as arrays of checked shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoboot.errors import StatisticError
from orthoboot.functionals.output import unmasked_array
from orthoboot.typing import FloatArray


def feature_rows(returned: Any, n_rows: int, argument: str = "features") -> FloatArray:
    """Return the features from the user's `argument` as ``(n, p)``; raise unless each row has finite ones."""
    array = _float_array(np.stack(returned, axis=1) if isinstance(returned, (list, tuple)) else returned, argument)
    _check_features(array, n_rows, argument)
    return array.reshape(len(array), -1)


def components(returned: Any, batch: tuple[int, ...]) -> FloatArray:
    """Return the value of a user's g as ``(k, *batch)``; raise if it lost or changed the batch."""
    array = _float_array(returned)
    if array.shape[array.ndim - len(batch) :] != batch:
        raise StatisticError(
            f"`g` must keep the resamples on the last axis, {batch}; got shape {array.shape}. Index or sum the "
            "components over the first axis, for example `m.sum(axis=0)`."
        )
    return array.reshape(-1, *batch)


def given_jacobian(returned: Any, shape: tuple[int, int]) -> FloatArray:
    """Return the value of a user's gradient as `shape`, one row per number that g returns."""
    jacobian = np.atleast_2d(_float_array(returned))
    if jacobian.shape != shape:
        raise StatisticError(
            f"`gradient` must return shape {shape}, one row per number of `g` and one column per argument; got "
            f"{jacobian.shape}."
        )
    return jacobian


def _float_array(returned: Any, argument: str = "features`, `g` and `gradient") -> FloatArray:
    array = unmasked_array(returned)
    if array.dtype.kind not in "biuf":
        raise StatisticError(
            f"`{argument}` must return real numbers; got {type(returned).__name__} of dtype {array.dtype}."
        )
    return array.astype(np.float64, copy=False)


def _check_features(features: FloatArray, n_rows: int, argument: str) -> None:
    if features.ndim not in (1, 2) or len(features) != n_rows:
        raise StatisticError(
            f"`{argument}` must return shape ({n_rows}, p), one row per row of the data; got {features.shape}. To give "
            "the features one by one return a list of arrays."
        )
    broken = ~np.isfinite(features).reshape(n_rows, -1).all(axis=1)
    if broken.any():
        raise StatisticError(
            f"`{argument}` must be finite; got NaN or infinity in {int(broken.sum())} row(s), the first in row "
            f"{int(np.argmax(broken))}."
        )
