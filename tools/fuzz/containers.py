"""What holds the numbers: arrays of every type and layout, lists, series and frames."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np


def _read_only(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def _strided(array: np.ndarray) -> np.ndarray:
    """Return every second row of an array whose other rows must not be read."""
    wide = np.full((2 * len(array), *array.shape[1:]), np.nan)
    wide[::2] = array
    return wide[::2]


def _backwards(array: np.ndarray) -> np.ndarray:
    return array[::-1].copy()[::-1]


def _pandas(array: np.ndarray) -> Any:
    import pandas as pd

    # An index that is neither in order nor unique: rows are matched by position.
    index = np.arange(len(array))[::-1] // 2
    if array.ndim == 1:
        return pd.Series(array, index=index, name="x")
    return pd.DataFrame(array, index=index, columns=[f"x{j}" for j in range(array.shape[1])])


def _labelled(array: np.ndarray) -> Any:
    """Return a series whose labels are its numbers."""
    import pandas as pd

    return pd.Series(array, index=array, name="x")


def _numbered(array: np.ndarray) -> Any:
    """Return a series whose labels are its numbers, as a range: that of a series that was given none is one."""
    import pandas as pd

    step = int(array[1] - array[0]) if len(array) > 1 else 1
    return pd.Series(array, index=pd.RangeIndex(int(array[0]), int(array[0]) + step * len(array), step), name="x")


def _is_range(array: np.ndarray) -> bool:
    """Return whether the numbers are whole and at equal distances."""
    small = array.ndim == 1 and find_spec("pandas") is not None and np.abs(array).max() < 2**53
    steps = np.unique(np.diff(array)) if small else np.zeros(2)
    return bool(small and (array == np.round(array)).all() and len(steps) <= 1 and steps.all())


def _polars(array: np.ndarray) -> Any:
    import polars as pl

    if array.ndim == 1:
        return pl.Series("x", array)
    return pl.DataFrame({f"x{j}": array[:, j] for j in range(array.shape[1])})


def _fits(kind: str) -> Callable[[np.ndarray], bool]:
    """Return whether an array has the same numbers as a type with less room."""

    def fits(array: np.ndarray) -> bool:
        with np.errstate(all="ignore"):
            return bool((array.astype(kind).astype(np.float64) == array).all())

    return fits


def _as(kind: str) -> Callable[[np.ndarray], np.ndarray]:
    return lambda array: array.astype(kind)


CONTAINERS: dict[str, tuple[Callable[[np.ndarray], bool], Callable[[np.ndarray], Any]]] = {
    # Which arrays it can hold without a change, and what it makes of them.
    "list": (lambda array: array.ndim == 1, lambda array: array.tolist()),
    "float32": (_fits("float32"), _as("float32")),
    "big-endian": (lambda array: True, _as(">f8")),
    "int64": (_fits("int64"), _as("int64")),
    "int8": (_fits("int8"), _as("int8")),
    "uint16": (_fits("uint16"), _as("uint16")),
    "bool": (_fits("bool"), _as("bool")),
    "Fortran order": (lambda array: True, np.asfortranarray),
    "read-only": (lambda array: True, _read_only),
    "strided": (lambda array: True, _strided),
    "backwards": (lambda array: True, _backwards),
    "pandas": (lambda array: array.ndim < 3 and find_spec("pandas") is not None, _pandas),
    "polars": (lambda array: array.ndim < 3 and find_spec("polars") is not None, _polars),
}
LABELLED: dict[str, tuple[Callable[[np.ndarray], bool], Callable[[np.ndarray], Any]]] = {
    # For statistics that read the labels: these belong to the rows.
    "labelled": (lambda array: array.ndim == 1 and find_spec("pandas") is not None, _labelled),
    "numbered": (_is_range, _numbered),
}
PLAIN = "array"


def container_name(rng: np.random.Generator, *, labelled: bool = False) -> str:
    """Return the name of a container, that of a plain array half of the time; `labelled` for readers of labels."""
    return PLAIN if rng.random() < 0.5 else str(rng.choice(list(LABELLED if labelled else CONTAINERS)))


def usable(name: str, array: np.ndarray) -> str:
    """Return the name of the container, or that of a plain array where it cannot hold the numbers."""
    return name if name != PLAIN and (CONTAINERS | LABELLED)[name][0](array) else PLAIN


def held(name: str, array: np.ndarray) -> Any:
    """Return the numbers in the container of that name."""
    return array if name == PLAIN else (CONTAINERS | LABELLED)[name][1](array)
