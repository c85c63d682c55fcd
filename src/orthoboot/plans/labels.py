"""Labels of rows, of any comparable kind, as integer codes 0, 1, ..."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orthoboot.errors import ArgumentError, first_line
from orthoboot.typing import IntArray

_SORTABLE_KINDS = "biufcSUmM"


def label_array(labels: Any, argument: str) -> NDArray[Any]:
    """Return the labels as a one-dimensional array without missing values, or raise an error that names `argument`."""
    if isinstance(labels, str):
        raise ArgumentError(
            f"`{argument}` must hold one label per row; got the text {labels!r}. For a column pass the column itself, "
            f"`frame[{labels!r}]`."
        )
    labels = _unmasked(labels)
    # A list goes in as objects: numpy would turn ["a", nan] into the strings "a" and "nan".
    try:
        array = np.asarray(labels, dtype=object) if isinstance(labels, (list, tuple)) else np.asarray(labels)
    except (TypeError, RuntimeError) as error:
        raise ArgumentError(
            f"`{argument}` must be labels that numpy can read; got {type(labels).__name__}: {first_line(error)}. Pass "
            "a numpy array."
        ) from error
    if array.ndim != 1 or array.size == 0:
        raise ArgumentError(
            f"`{argument}` must be one-dimensional, with one label per row; got shape {array.shape}. To cross several "
            "columns, join them into one label per row first."
        )
    missing = _missing(array)
    if missing.any():
        raise ArgumentError(
            f"`{argument}` must have a label for every row; got {int(missing.sum())} missing, the first in row "
            f"{int(missing.argmax())}. Drop those rows, or give them a separate label."
        )
    return array


def _unmasked(labels: Any) -> Any:
    """Return masked labels as objects, None for those that are masked; anything else unchanged."""
    if not np.ma.is_masked(labels):
        return labels
    values = np.asarray(np.ma.getdata(labels), dtype=object)
    values[np.ma.getmaskarray(labels)] = None
    return values


def label_codes(labels: Any, argument: str) -> IntArray:
    """Return the class of each row, numbered in the order of first appearance, shape ``(n,)``.

    That order makes a resample depend on how the labels divide the rows, and not on what the labels are called.

    Parameters
    ----------
    labels
        Array, list or series of n labels.
    argument
        The name that error messages give them.

    Examples
    --------
    >>> label_codes(["b", "a", "b"], "strata")
    array([0, 1, 0])
    """
    array = label_array(labels, argument)
    if array.dtype.kind not in _SORTABLE_KINDS:
        return _codes_of_objects(array, argument)
    _, first, inverse = np.unique(array, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[inverse]


def _codes_of_objects(array: NDArray[Any], argument: str) -> IntArray:
    known: dict[Any, int] = {}
    try:
        return np.array([known.setdefault(label, len(known)) for label in array.tolist()], dtype=np.int64)
    except TypeError as error:
        raise ArgumentError(
            f"`{argument}` must hold labels that can be compared, such as numbers or strings; {error}."
        ) from error


def _missing(array: NDArray[Any]) -> NDArray[np.bool_]:
    if array.dtype.kind in _SORTABLE_KINDS:
        # Only numbers and times have a missing value, and it is the one that differs from itself.
        return np.asarray(array != array, dtype=bool)
    return np.array([_is_missing(label) for label in array.tolist()], dtype=bool)


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:
        # The missing value of pandas refuses to be called true or false.
        return True
    except ValueError:
        # An array inside an array is no label, but it is not missing either.
        return False
