"""Weights that a user passes to a statistic of the catalogue, checked."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

import numpy as np

from orthoboot.data import Data, numpy_copy
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import DataError, first_line
from orthoboot.typing import FloatArray


def given_weights(data: Data, weights: Any) -> Resamples:
    """Return the user's weights as one resample of `data`; raise a `DataError` unless they can be weights of rows."""
    several = len(data.sizes) > 1
    parts = tuple(weights) if _has_parts(weights, several=several) else (weights,)
    if len(parts) != len(data.sizes):
        raise DataError(
            f"`weights` must be a tuple with one array per sample, here {len(data.sizes)}; got {len(parts)} for "
            f"samples of {' and '.join(map(str, data.sizes))} rows."
        )
    labels = [f"weights[{i}]" for i in range(len(parts))] if several else ["weights"]
    checked = (_checked(part, n, label) for part, n, label in zip(parts, data.sizes, labels, strict=True))
    return Resamples(tuple(array[np.newaxis] for array in checked))


def _has_parts(weights: Any, *, several: bool) -> bool:
    """Return whether `weights` are a tuple or list with one array per sample, which one sample may have too."""
    if not isinstance(weights, (tuple, list)):
        return False
    return several or (len(weights) == 1 and isinstance(weights[0], Sized) and not isinstance(weights[0], str))


def _checked(weights: Any, n: int, label: str) -> FloatArray:
    """Return the weights of one sample, shape ``(n,)``."""
    array = _numbers(weights, label)
    if array.shape != (n,):
        raise DataError(f"`{label}` must have one number per row, shape ({n},); got shape {array.shape}.")
    finite = np.isfinite(array)
    if not finite.all():
        raise DataError(
            f"`{label}` must be finite; got {int((~finite).sum())} value(s) that are NaN or infinite, the first in row "
            f"{int(np.argmin(finite))} (counted from 0). To leave out a row, give it the weight 0."
        )
    negative = array < 0
    if negative.any():
        raise DataError(
            f"`{label}` must not be negative; got {int(negative.sum())} negative value(s), the first, "
            f"{array[np.argmax(negative)]:g}, in row {int(np.argmax(negative))} (counted from 0). A weight says how "
            "often its row counts; 0 leaves it out."
        )
    _check_total(array, label)
    # Only ratios matter, and those of numbers next to zero are lost in products.
    return np.ldexp(array, 1000) if array.max() < 2.0**-900 else array


def _numbers(weights: Any, label: str) -> FloatArray:
    rule = f"`{label}` must be an array of real numbers, one per row"
    if np.ma.is_masked(weights):
        raise DataError(f"{rule}; got masked values. To leave out a row, give it the weight 0.")
    try:
        array = numpy_copy(weights)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"{rule}; got {type(weights).__name__}: {first_line(error)}.") from error
    if array.dtype.kind not in "biuf":
        got = repr(weights) if isinstance(weights, str) else f"{type(weights).__name__} of dtype {array.dtype}"
        raise DataError(f"{rule}; got {got}. Convert them first, for example with `np.asarray(weights, dtype=float)`.")
    return np.asarray(array, dtype=np.float64)


def _check_total(array: FloatArray, label: str) -> None:
    if not array.any():
        raise DataError(f"`{label}` must not all be zero: no row would be left. Give some rows a positive weight.")
    with np.errstate(over="ignore"):
        total = array.sum()
    if not np.isfinite(total):
        raise DataError(
            f"`{label}` must have a finite sum; the largest is {array.max():g}. Only their ratios matter: divide them "
            "by the largest."
        )
