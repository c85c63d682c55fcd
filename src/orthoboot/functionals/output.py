"""The shape and the names of what a statistic returns: a number, an array, or a dict of these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orthoboot.errors import StatisticError
from orthoboot.typing import FloatArray

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Output:
    """The shape and names of a value, and its conversion to and from k numbers.

    Attributes
    ----------
    shapes
        One shape per entry; a single entry unless the statistic returns a dict.
    keys
        The keys of the dict, or None.
    names
        k names, one per number.
    axes
        For each entry the labels of its axes where it is a labelled series or frame, else None.
    """

    shapes: tuple[Shape, ...]
    keys: tuple[Hashable, ...] | None
    names: tuple[str, ...]
    axes: tuple[Any, ...] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def size(self) -> int:
        """Return k, the number of numbers in one value."""
        return sum(int(np.prod(shape)) for shape in self.shapes)

    @property
    def is_scalar(self) -> bool:
        """Return whether the statistic is one number."""
        return self.keys is None and self.shapes[0] == ()

    def flatten(self, value: Any) -> FloatArray:
        """Return one value of the statistic as k numbers; raise if its shape differs from the first one's.

        Entries of a dict and of a labelled series are found by their labels, whatever their order. None, and a label
        that is missing, count as NaN: the statistic has no value on this resample.
        """
        # The usual case: thousands of calls of a fast function would take longer to check than to make.
        if self.is_scalar and type(value) in (float, np.float64):
            return np.array([value])
        return self._joined(value, ())

    def flatten_batch(self, value: Any, n_resamples: int) -> FloatArray:
        """Return B values, the resamples on the last axis of every entry, as an array of shape ``(B, k)``."""
        return self._joined(value, (n_resamples,)).T

    def pack(self, flat: FloatArray) -> Any:
        """Return numbers of shape ``(k, ...)`` in the statistic's own shape: float, array, or dict of these.

        Arrays are copies, so that nobody changes a result by changing what it gave away.
        """
        packed, start = [], 0
        for shape in self.shapes:
            stop = start + int(np.prod(shape))
            entry = flat[start:stop].reshape(shape + flat.shape[1:])
            packed.append(float(entry) if entry.ndim == 0 else entry.copy())
            start = stop
        return packed[0] if self.keys is None else dict(zip(self.keys, packed, strict=True))

    def _joined(self, value: Any, last: Shape) -> FloatArray:
        """Return the entries stacked, shape ``(k, *last)``."""
        entries = self._entries(value)
        expected = [shape + last for shape in self.shapes]
        arrays = [
            np.full(shape, np.nan) if entry is None else _numbers(entry)
            for entry, shape in zip(entries, expected, strict=True)
        ]
        if [array.shape for array in arrays] != expected:
            raise self._changed(_described([array.shape for array in arrays], self.keys), last)
        return np.concatenate([array.reshape(-1, *last) for array in arrays])

    def _entries(self, value: Any) -> list[Any]:
        """Return the entries of `value` in the order of the first value's."""
        if value is None:
            return [None] * len(self.shapes)
        is_dict = isinstance(value, Mapping)
        if is_dict != (self.keys is not None) or (self.keys is not None and set(value) != set(self.keys)):
            got = f"a dict with keys {', '.join(map(str, value))}" if is_dict else f"{type(value).__name__}"
            raise self._changed(got)
        entries = [_python_value(entry) for entry in ([value] if self.keys is None else map(value.get, self.keys))]
        return entries if self.axes is None else list(map(_aligned, entries, self.axes))

    def _changed(self, got: str, last: Shape = ()) -> StatisticError:
        expected = _described([shape + last for shape in self.shapes], self.keys)
        if last:
            return StatisticError(
                f"a vectorised `statistic` must return {expected} for {last[0]} resample(s), with the resamples on "
                f"the last axis; got {got}. Pass `vectorized=False` if it takes one sample at a time."
            )
        return StatisticError(
            f"`statistic` must return the same shape on every resample; got {got} where the data gave {expected}. "
            "Return a value of fixed shape, NaN where it is not defined."
        )


def output_like(value: Any, name: str, labels: tuple[str, ...] | None = None) -> Output:
    """Return the output that `value` is an example of.

    Parameters
    ----------
    value
        What the statistic returned on the data.
    name
        The statistic's name, for numbers that have none of their own.
    labels
        Names of the numbers of a vector, where the data have them; a labelled series or frame has its own.

    Examples
    --------
    >>> output_like({"slope": 1.0, "mean": [2.0, 3.0]}, "fit").names
    ('slope', 'mean[0]', 'mean[1]')
    """
    keys = tuple(value) if isinstance(value, Mapping) else None
    if keys == ():
        raise StatisticError("`statistic` must return at least one number; got an empty dict.")
    entries = [value] if keys is None else list(value.values())
    shapes = tuple(_numbers(entry).shape for entry in entries)
    if keys is None:
        names = _vector_names(name, shapes[0], _labels(value) if labels is None else labels)
    else:
        named = zip(keys, entries, shapes, strict=True)
        names = [n for key, entry, shape in named for n in _entry_names(str(key), shape, _labels(entry))]
    axes = tuple(map(_axes, entries))
    return Output(shapes, keys, unique_names(names), None if not any(axes) else axes)


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names, made unique by numbering those that repeat.

    Examples
    --------
    >>> unique_names(["a", "b", "a"])
    ('a (1)', 'b', 'a (2)')
    """
    counts = Counter(names)
    taken = {name for name, times in counts.items() if times == 1}
    numbers = {name: _free_numbers(name, taken) for name, times in counts.items() if times > 1}
    return tuple(f"{name} ({next(numbers[name])})" if name in numbers else name for name in names)


def _free_numbers(name: str, taken: set[str]) -> Iterator[int]:
    """Yield the numbers that make the name one that nothing else has."""
    for number in count(1):
        numbered = f"{name} ({number})"
        if numbered not in taken:
            taken.add(numbered)
            yield number


def _vector_names(name: str, shape: Shape, labels: Sequence[str] | None) -> Sequence[str]:
    """Return the labels where there is one for each number of an array, else the name with the position."""
    fits = labels is not None and shape != () and len(labels) == int(np.prod(shape))
    return labels if labels is not None and fits else _indexed(name, shape)


def _entry_names(key: str, shape: Shape, labels: Sequence[str] | None) -> list[str]:
    return _indexed(key, shape) if labels is None else [f"{key}[{label}]" for label in labels]


def _indexed(name: str, shape: Shape) -> list[str]:
    return [name + (str(list(index)) if index else "") for index in np.ndindex(shape)]


def _axes(entry: Any) -> list[Any] | None:
    """Return the labels of each axis of a pandas series or frame, None for what has no such labels."""
    return list(entry.axes) if hasattr(entry, "axes") and hasattr(entry, "reindex") else None


def _labels(entry: Any) -> list[str] | None:
    axes = _axes(entry)
    if axes is None:
        columns = getattr(entry, "columns", None)
        return list(map(str, columns)) if isinstance(columns, list) and len(entry) == 1 else None
    if len(axes) == 1:
        return list(map(str, axes[0]))
    return [f"{row}, {column}" for row in axes[0] for column in axes[1]]


def _aligned(entry: Any, axes: list[Any] | None) -> Any:
    """Return a series or frame with its rows and columns in the order of `axes`, NaN for those it does not have."""
    own = _axes(entry)
    if axes is None or own is None or len(own) != len(axes):
        return entry
    if all(mine.equals(first) for mine, first in zip(own, axes, strict=True)):
        return entry
    return entry.reindex(**dict(zip(("index", "columns"), axes, strict=False)))


def _numbers(value: Any) -> FloatArray:
    try:
        array = unmasked_array(_python_value(value))
        if array.dtype.kind not in "biuf" or array.size == 0:
            raise TypeError
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise StatisticError(
            f"`statistic` must return a real number, an array of numbers, or a dict of these; got {_unfit(value)}"
        ) from error


def unmasked_array(value: Any) -> NDArray[Any]:
    """Return the value as an array, masked numbers as NaN: numpy would take what is below the mask."""
    array = np.ma.asarray(value) if _is_masked(value) else np.asarray(value)
    if not isinstance(array, np.ma.MaskedArray) or array.dtype.kind not in "biuf":
        return np.asarray(array)
    filled: NDArray[np.float64] = np.ma.filled(array.astype(np.float64), np.nan)
    return filled


def _is_masked(value: Any) -> bool:
    """Return whether the value is a masked array, or a short list with masked numbers in it."""
    return isinstance(value, np.ma.MaskedArray) or (
        isinstance(value, (list, tuple)) and any(isinstance(entry, np.ma.MaskedArray) for entry in value)
    )


def _unfit(value: Any) -> str:
    if value is None:
        return "None: is a `return` missing?"
    if isinstance(value, np.ndarray) and value.size == 0:
        return f"an array without numbers, of shape {value.shape}."
    return f"{type(value).__name__}: {str(value)[:60]!r}."


def _python_value(value: Any) -> Any:
    """Return a pyarrow scalar as a Python number, which numpy needs; anything else unchanged."""
    return value.as_py() if hasattr(value, "as_py") else value


def _described(shapes: list[Shape], keys: tuple[Hashable, ...] | None) -> str:
    if keys is None:
        return f"shape {shapes[0]}"
    return "a dict of " + ", ".join(f"{key}: {shape}" for key, shape in zip(keys, shapes, strict=True))
