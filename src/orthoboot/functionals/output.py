"""The shape and the names of what a statistic returns: a number, an array, or a dict of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoboot.errors import StatisticError
from orthoboot.typing import FloatArray


@dataclass(frozen=True)
class Output:
    """How k numbers in a row are one value of the statistic.

    Attributes
    ----------
    shapes
        One shape per entry; a single entry unless the statistic returns a dict.
    keys
        The keys of the dict, or None.
    names
        k names, one per number.
    """

    shapes: tuple[tuple[int, ...], ...]
    keys: tuple[str, ...] | None
    names: tuple[str, ...]

    @property
    def size(self) -> int:
        """Return k, how many numbers make one value."""
        return sum(int(np.prod(shape)) for shape in self.shapes)

    @property
    def is_scalar(self) -> bool:
        """Return whether the statistic is one number."""
        return self.keys is None and self.shapes[0] == ()

    def flatten(self, value: Any) -> FloatArray:
        """Return one value of the statistic as k numbers; raise if its shape differs from the first one's."""
        entries, keys = _entries(value)
        shapes = tuple(entry.shape for entry in entries)
        if (shapes, keys) != (self.shapes, self.keys):
            raise StatisticError(
                f"`statistic` must return the same shape on every resample; got {_described(shapes, keys)} where the "
                f"data gave {_described(self.shapes, self.keys)}."
            )
        return np.concatenate([entry.ravel() for entry in entries])

    def pack(self, flat: FloatArray) -> Any:
        """Return numbers of shape ``(k, ...)`` in the statistic's own shape: float, array, or dict of these."""
        packed, start = [], 0
        for shape in self.shapes:
            stop = start + int(np.prod(shape))
            entry = flat[start:stop].reshape(shape + flat.shape[1:])
            packed.append(float(entry) if entry.ndim == 0 else entry)
            start = stop
        return packed[0] if self.keys is None else dict(zip(self.keys, packed, strict=True))


def output_like(value: Any, name: str, labels: tuple[str, ...] | None = None) -> Output:
    """Return the output that `value` is an example of.

    Parameters
    ----------
    value
        What the statistic returned on the data.
    name
        The statistic's name, for a single number.
    labels
        Names of the numbers of a vector, where the data have them.

    Examples
    --------
    >>> output_like({"slope": 1.0, "mean": [2.0, 3.0]}, "fit").names
    ('slope', 'mean[0]', 'mean[1]')
    """
    entries, keys = _entries(value)
    shapes = tuple(entry.shape for entry in entries)
    if keys is not None:
        names = tuple(n for key, shape in zip(keys, shapes, strict=True) for n in _indexed(key, shape))
    elif labels is not None and len(labels) == entries[0].size and shapes[0] != ():
        names = labels
    else:
        names = _indexed(name, shapes[0])
    return Output(shapes, keys, names)


def _indexed(name: str, shape: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(name + (str(list(index)) if index else "") for index in np.ndindex(shape))


def _entries(value: Any) -> tuple[list[FloatArray], tuple[str, ...] | None]:
    if isinstance(value, Mapping):
        if not value:
            raise StatisticError("`statistic` must return at least one number; got an empty dict.")
        return [_numbers(entry) for entry in value.values()], tuple(str(key) for key in value)
    return [_numbers(value)], None


def _numbers(value: Any) -> FloatArray:
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf" or array.size == 0:
            raise TypeError
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise StatisticError(
            "`statistic` must return a real number, an array of numbers, or a dict of these; got "
            f"{type(value).__name__}: {str(value)[:60]!r}."
        ) from error


def _described(shapes: tuple[tuple[int, ...], ...], keys: tuple[str, ...] | None) -> str:
    if keys is None:
        return f"shape {shapes[0]}"
    return "a dict of " + ", ".join(f"{key}: {shape}" for key, shape in zip(keys, shapes, strict=True))
