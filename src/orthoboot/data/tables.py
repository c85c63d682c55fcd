"""Rows as the user gave them: arrays, series and frames."""

from __future__ import annotations

import datetime
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from orthoboot.arrays.passes import Extent, Ranges, copied, extent_of, is_long, ranges
from orthoboot.data.libraries import LIBRARIES, Library
from orthoboot.errors import DataError, DigitsWarning, OrthobootWarning, first_line
from orthoboot.typing import FloatArray, IntArray

_FIRST_ROWS = 1024
"""Rows whose mean is near enough to that of all that sums about it keep their digits."""

_ENCODING = "for example `labels == 'yes'`, or `np.unique(labels, return_inverse=True)[1]`"
"""How labels become numbers."""

_TEXT = f"Encode the categories as numbers, {_ENCODING}; only data frames may hold text, for your own functions."

_TIMES = "Turn the times into numbers, for example seconds since the first one."
_DURATIONS = "Turn the durations into numbers, for example seconds."

_CONVERSIONS = {
    "c": "Take its real and imaginary parts as two columns.",
    "M": _TIMES,
    "m": "Turn the durations into numbers, for example `data / np.timedelta64(1, 's')`.",
    "U": _TEXT,
    "S": _TEXT,
    "O": "Convert it first, for example with `np.asarray(data, dtype=float)`.",
    "V": "Pass the fields as columns of an array or of a data frame.",
}
"""What to do about an array that does not hold real numbers, by the kind of its dtype."""

_COLUMN_CONVERSIONS = {
    r"timedelta|duration": _DURATIONS,
    r"datetime|timestamp|date|time|period": _TIMES,
    r"complex": _CONVERSIONS["c"],
}
"""What to do about a column that does not hold real numbers, by how the name of its type begins in any library."""


def _column_conversion(column_type: str) -> str:
    """Return what to do about a column of that type; empty where labels are to be encoded."""
    fitting = (advice for start, advice in _COLUMN_CONVERSIONS.items() if re.match(start, column_type, re.IGNORECASE))
    return next(fitting, "")


@dataclass(frozen=True)
class InputTable:
    """Rows as the user gave them, with the name that error messages use.

    This class holds a numpy array; its subclasses hold the containers of data frame libraries.
    """

    container: Any
    label: str
    may_hold_text: bool = field(default=False, kw_only=True)
    """Whether text labels are allowed; converting them still raises."""

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return len(self.container)

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Return the names of the columns, where the container has them."""
        return None

    def for_call(self) -> Any:
        """Return the container for one call of the user's function."""
        return self.container

    def take(self, rows: IntArray) -> Any:
        """Return a container of the same kind that holds `rows`, in their order."""
        return self.container[rows]

    has_columns: ClassVar[bool] = False
    """Whether there are columns that can be named."""

    @property
    def n_columns(self) -> int:
        """Return how many columns may hold labels: one where a row is a single value, none where it has more axes."""
        return {1: 1, 2: int(self.container.shape[-1])}.get(self.container.ndim, 0)

    def column_values(self, position: int) -> np.ndarray[Any, Any]:
        """Return what one column holds, shape ``(n,)``."""
        return np.asarray(self.container if self.container.ndim == 1 else self.container[:, position])

    def with_column(self, taken: Any, position: int, values: np.ndarray[Any, Any]) -> Any:
        """Return rows that were taken with other values in one column."""
        if taken.ndim == 1:
            return values
        # Numbers of few bits, or short texts, would not hold other labels.
        changed = taken.copy() if taken.dtype.kind == "f" else taken.astype(np.result_type(taken, values))
        changed[:, position] = values
        return changed

    @property
    def row_labels(self) -> Any:
        """Return the labels of the rows by which containers are aligned, an index of pandas, or None."""
        return None

    def with_row_labels(self, taken: Any, labels: Any) -> Any:
        """Return rows that were taken with other labels, where they have any."""
        return taken

    def numbers(self) -> FloatArray:
        """Return all rows as one float array; raise where they are not numbers."""
        array = self.container
        if array.dtype.kind not in "biuf":
            kind = _kind_of_objects(array) if array.dtype.kind == "O" else array.dtype.kind
            conversion = _CONVERSIONS.get(kind, "Convert it first.")
            raise DataError(f"`{self.label}` must hold real numbers; got dtype {array.dtype}. {conversion}")
        return np.ascontiguousarray(array, dtype=np.float64)

    def check(self) -> None:
        """Raise unless there are two rows and a column, all finite, and numbers where they must be."""
        self._check_columns()
        if self.n_rows < 2:
            raise DataError(
                f"`{self.label}` must have at least two rows, since fewer cannot vary under resampling; got "
                f"{self.n_rows}."
            )
        self._check_finite()

    def numeric_columns(self) -> Iterator[FloatArray]:
        """Yield the columns of numbers, one by one or as one table."""
        return (values for _, values in self._numeric_columns())

    def relative_spreads(self) -> Iterator[float]:
        """Yield the range of each column of numbers that varies, relative to its largest value."""
        for found in self.ranges:
            low, high, largest = found.low, found.high, found.largest
            # Halved, since the range of huge numbers of both signs is not a number any more.
            yield from ((high / 2 - low / 2)[low < high] / largest[low < high] * 2).tolist()

    @cached_property
    def ranges(self) -> tuple[Ranges, ...]:
        """Return the ranges of the columns of numbers, one by one or of one table."""
        return tuple(found.ranges if isinstance(found, Extent) else found for found in self.extents)

    @cached_property
    def extents(self) -> tuple[Extent | Ranges, ...]:
        """Return the same, with the sums beside the ranges where a pass over the columns takes long."""
        return tuple(_extent(values.reshape(len(values), -1)) for values in self.numeric_columns())

    def lost_digits(self) -> OrthobootWarning | None:
        """Return a warning if whole numbers are too large to be kept exactly as floating-point numbers."""
        return rounded_warning(self.label, max(map(largest_rounded, self._whole_columns()), default=0))

    def _whole_columns(self) -> Iterator[Any]:
        """Yield the columns of whole numbers, as arrays of numpy."""
        if self.container.dtype.kind in "iu":
            yield self.container

    def _check_columns(self) -> None:
        if 0 in self.container.shape[1:]:
            raise DataError(f"`{self.label}` must have at least one column; got shape {self.container.shape}.")

    def _numeric_columns(self) -> Iterator[tuple[str | None, FloatArray]]:
        """Yield the name and the values of each column that must be finite."""
        if not (self.may_hold_text and self._is_text()):
            yield None, self.numbers()

    def _is_text(self) -> bool:
        """Return whether all of it is text."""
        return self.container.dtype.kind == "U" or (
            self.container.dtype.kind == "O" and all(isinstance(value, str) for value in self.container.flat)
        )

    def _check_finite(self) -> None:
        """Raise if a number is NaN or infinite: how many there are, and where the first one is."""
        if all(np.isfinite(found).all() for found in self.ranges):
            return
        broken = [(name, values) for name, values in self._numeric_columns() if not np.isfinite(values).all()]
        tests = {"NaN": np.isnan, "infinite": np.isinf}
        counts = {kind: sum(int(test(values).sum()) for _, values in broken) for kind, test in tests.items()}
        found = " and ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        name, values = broken[0]
        without = ", or leave that column out" if name is not None or values.ndim > 1 else ""
        raise DataError(
            f"`{self.label}` must be finite; got {found} value(s), the first in {_place(name, values)}"
            f"{_others(broken)}. Drop or impute such rows before the call{without}."
        )


def _extent(columns: FloatArray) -> Extent | Ranges:
    """Return the ranges of columns ``(n, d)``, and of long ones the sums about the mean of their first rows."""
    if not is_long(columns):
        return ranges(columns)
    with np.errstate(all="ignore"):  # what is not finite shows in the ranges
        return extent_of(columns, columns[:_FIRST_ROWS].mean(axis=0))


def rounded_warning(label: str, largest: int) -> OrthobootWarning | None:
    """Return a warning about whole numbers of which `largest` is not a floating-point number; None where it is 0."""
    if not largest:
        return None
    return DigitsWarning(
        f"`{label}` holds whole numbers beyond 2**53, such as {largest}, which were rounded to multiples of "
        f"{int(np.spacing(float(largest)))}. Subtract a constant first, such as the smallest of them."
    )


def largest_rounded(column: Any) -> int:
    """Return the largest whole number of a column, in size, that a float does not hold; 0 if it holds all."""
    if column.dtype.kind not in "iu" or column.dtype.itemsize < 8 or column.size == 0:
        return 0
    flat = column.reshape(-1)
    # What is rounded differs from what comes back; beyond the range of the type nothing comes back.
    beyond = np.abs(flat.astype(np.float64)) >= 2.0 ** (63 if column.dtype.kind == "i" else 64)
    back = np.where(beyond, 0, flat.astype(np.float64)).astype(column.dtype)
    lost = flat[beyond | (back != flat)].tolist()
    return max(lost, key=abs, default=0)


def _place(name: str | None, values: FloatArray) -> str:
    row, *rest = np.argwhere(~np.isfinite(values))[0].tolist()
    inside = "" if not rest else f", column {rest[0]}" if len(rest) == 1 else f", position {tuple(rest)}"
    return f"row {row} (counted from 0){inside}" + ("" if name is None else f" of column {name!r}")


def _others(broken: list[tuple[str | None, FloatArray]]) -> str:
    names = ", ".join(repr(name) for name, _ in broken[1:])
    return f"; more in {names}" if names else ""


@dataclass(frozen=True)
class _SeriesTable(InputTable):
    """One column of a data frame library."""

    library: Library

    @property
    def n_columns(self) -> int:
        return 1

    def column_values(self, position: int) -> np.ndarray[Any, Any]:
        return self.library.values(self.container)

    def with_column(self, taken: Any, position: int, values: np.ndarray[Any, Any]) -> Any:
        return self.library.with_values(taken, values)

    @property
    def columns(self) -> tuple[str, ...] | None:
        name = getattr(self.container, "name", None)
        return None if name is None or name == "" else (str(name),)

    def numbers(self) -> FloatArray:
        values = self.library.floats(self.container)
        if values is None:
            column_type = self.library.column_type(self.container)
            conversion = _column_conversion(column_type) or f"Encode it as numbers, {_ENCODING}."
            raise DataError(
                f"`{self.label}` must hold real numbers; got a {type(self.container).__name__} of type {column_type}. "
                f"{conversion} Only data frames may hold other columns, for your own functions."
            )
        return values

    @property
    def row_labels(self) -> Any:
        return self.library.row_labels(self.container)

    def with_row_labels(self, taken: Any, labels: Any) -> Any:
        return self.library.with_row_labels(taken, labels)

    def for_call(self) -> Any:
        return self.library.for_call(self.container)

    def take(self, rows: IntArray) -> Any:
        return self.library.take(self.container, rows)

    def _whole_columns(self) -> Iterator[Any]:
        yield self.library.values(self.container)

    def _check_columns(self) -> None:
        """Do nothing: a series always has its one column."""

    def _is_text(self) -> bool:
        return self.library.floats(self.container) is None


@dataclass(frozen=True)
class _FrameTable(InputTable):
    """Several named columns of a data frame library; some may hold text, for the user's own function."""

    library: Library
    has_columns: ClassVar[bool] = True

    @property
    def n_columns(self) -> int:
        return len(self.columns or ())

    def column_values(self, position: int) -> np.ndarray[Any, Any]:
        return self.library.values(self.library.column(self.container, position))

    def with_column(self, taken: Any, position: int, values: np.ndarray[Any, Any]) -> Any:
        return self.library.with_column(taken, position, values)

    @property
    def columns(self) -> tuple[str, ...] | None:
        return tuple(str(name) for name in self.library.column_names(self.container))

    def numbers(self) -> FloatArray:
        columns = list(self._columns())
        others = [f"{name!r} ({kind})" for name, kind, values in columns if values is None]
        if others:
            kinds = [kind for _, kind, values in columns if values is None]
            advice = dict.fromkeys(_column_conversion(kind) or f"Encode labels, {_ENCODING}." for kind in kinds)
            raise DataError(
                f"`{self.label}` must hold real numbers for this statistic; got column(s) {', '.join(others)}. Select "
                f"the numeric columns, or make the others numbers. {' '.join(advice)}"
            )
        return np.stack([values for _, _, values in columns if values is not None], axis=1)

    @property
    def row_labels(self) -> Any:
        return self.library.row_labels(self.container)

    def with_row_labels(self, taken: Any, labels: Any) -> Any:
        return self.library.with_row_labels(taken, labels)

    def for_call(self) -> Any:
        return self.library.for_call(self.container)

    def take(self, rows: IntArray) -> Any:
        return self.library.take(self.container, rows)

    def _whole_columns(self) -> Iterator[Any]:
        for position in range(len(self.columns or ())):
            yield self.library.values(self.library.column(self.container, position))

    def _columns(self) -> Iterator[tuple[str, str, FloatArray | None]]:
        for position, name in enumerate(self.columns or ()):
            column = self.library.column(self.container, position)
            yield name, self.library.column_type(column), self.library.floats(column)

    def _check_columns(self) -> None:
        if not self.columns:
            raise DataError(f"`{self.label}` must have at least one column; got a frame without columns.")

    def _numeric_columns(self) -> Iterator[tuple[str | None, FloatArray]]:
        yield from ((name, values) for name, _, values in self._columns() if values is not None)


def _kind_of_objects(array: np.ndarray[Any, Any]) -> str:
    """Return the kind of dtype that an array of objects stands for, by the first of them."""
    first = next(iter(array.flat), None)
    kinds: dict[str, tuple[type, ...]] = {"U": (str,), "M": (datetime.date, datetime.time), "m": (datetime.timedelta,)}
    return next((kind for kind, types in kinds.items() if isinstance(first, types)), "O")


def table_of(container: Any, label: str, *, text: bool = False) -> InputTable:
    """Return one of the user's containers as a table; `label` names it in messages, and `text` lets it hold labels."""
    # The bases are looked at too, so that a subclass such as a GeoDataFrame is read as what it is.
    for kind in type(container).__mro__:
        library = LIBRARIES.get(kind.__module__.partition(".")[0])
        if library is not None and kind.__name__ in library.series:
            return _SeriesTable(library.snapshot(container), label, library, may_hold_text=text)
        if library is not None and kind.__name__ in library.frames:
            return _FrameTable(library.snapshot(container), label, library)
    return InputTable(_array(container, label), label, may_hold_text=text)


def check_unmasked(container: Any, label: str) -> None:
    """Raise if an array has masked values: most libraries would take what lies below the mask."""
    if isinstance(container, np.ma.MaskedArray) and np.ma.is_masked(container):
        raise DataError(
            f"`{label}` must have no masked values; got {int(np.ma.getmaskarray(container).sum())}. Drop those rows "
            "before the call."
        )


def _array(container: Any, label: str) -> np.ndarray[Any, Any]:
    check_unmasked(container, label)
    try:
        array = numpy_copy(container)
    except (TypeError, RuntimeError) as error:
        raise DataError(
            f"`{label}` must be an array that numpy can read; got {type(container).__name__}: {first_line(error)}. "
            "Convert it to a numpy array first."
        ) from error
    except ValueError as error:
        raise DataError(
            f"`{label}` must be rectangular; got rows of different lengths. For independent samples of unequal size "
            "pass a tuple with one array per sample."
        ) from error
    if array.ndim == 0:
        raise DataError(
            f"`{label}` must be an array with rows first, a list of numbers, a series or a data frame; got "
            f"{type(container).__name__}. {_advice(container)}"
        )
    # A copy that nobody can write to: neither the statistic nor a later edit of the user's changes what was read.
    array.flags.writeable = False
    return array


def numpy_copy(container: Any) -> np.ndarray[Any, Any]:
    """Return a copy of a list or of an array of any library as an array of numpy; of tensors their numbers alone."""
    readable = _readable(container)
    return _with_known_dtype(copied(readable) if isinstance(readable, np.ndarray) else np.array(readable))


def _readable(container: Any) -> Any:
    """Return a tensor of torch as one that numpy can read: of its numbers alone, where the data are only read."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(container, torch.Tensor):
        return container
    plain = container.detach().to_dense() if container.layout != torch.strided else container.detach()
    plain = plain.cpu().resolve_conj().resolve_neg()
    try:
        return plain.numpy()
    except TypeError:
        # Numpy has no floats of 8 bits, nor the short ones of torch; every one of them is a double as well.
        return plain.double().numpy()


def _with_known_dtype(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return floats of a dtype that is foreign to numpy, as the short ones of jax, as doubles."""
    foreign = array.dtype.kind == "V" and array.dtype.names is None and "float" in array.dtype.name
    return array.astype(np.float64) if foreign else array


def _advice(container: Any) -> str:
    if isinstance(container, dict):
        return "For named columns pass a data frame; for several samples a tuple of arrays."
    if hasattr(container, "collect"):
        return "Call `.collect()` on it first."
    if callable(container):
        return "The data come first, then the statistic."
    if isinstance(container, Iterable) and not isinstance(container, (str, bytes, np.ndarray)):
        return "Call `.toarray()` on it first." if hasattr(container, "toarray") else "Make it a list first."
    return "One sample needs at least two rows."
