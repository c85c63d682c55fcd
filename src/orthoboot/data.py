"""Arrays, lists and data frames become samples with rows; nothing else knows about pandas, polars or pyarrow."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from orthoboot.errors import ArgumentError, DataError
from orthoboot.typing import FloatArray, IntArray

_ENCODING = "for example `labels == 'yes'`, or `np.unique(labels, return_inverse=True)[1]`"
"""How labels become numbers."""

_TEXT = f"Encode the categories as numbers, {_ENCODING}; only a data frame may hold text, for a function of your own."

_CONVERSIONS = {
    "c": "Take its real and imaginary parts as two columns.",
    "M": "Turn the times into numbers, for example seconds since the first one.",
    "m": "Turn the durations into numbers, for example `data / np.timedelta64(1, 's')`.",
    "U": _TEXT,
    "S": _TEXT,
    "O": "Convert it first, for example with `np.asarray(data, dtype=float)`.",
    "V": "Pass the fields as columns of an array or of a data frame.",
}
"""What to do about an array that does not hold real numbers, by the kind of its dtype."""


class Library(ABC):
    """How the containers of one data frame library are read."""

    series: ClassVar[frozenset[str]]
    """The classes that hold one column."""
    frames: ClassVar[frozenset[str]]
    """The classes that hold several columns."""

    @abstractmethod
    def column_names(self, frame: Any) -> Iterable[Any]:
        """Return the names of the columns."""

    @abstractmethod
    def column(self, frame: Any, position: int) -> Any:
        """Return one column; positions are unique even where names are not."""

    @abstractmethod
    def column_type(self, column: Any) -> str:
        """Return what the column holds, for an error message."""

    @abstractmethod
    def floats(self, column: Any) -> FloatArray | None:
        """Return a column as floats, missing values as NaN, or None where it does not hold numbers."""

    @abstractmethod
    def take(self, container: Any, rows: IntArray) -> Any:
        """Return a container of the same kind that holds `rows`, in their order."""

    def snapshot(self, container: Any) -> Any:
        """Return the container as it is now, whatever the user does to it later."""
        return container

    def lent(self, container: Any) -> Any:
        """Return the container for one call of the user's function, which may add columns to it."""
        return container


class _Pandas(Library):
    series = frozenset({"Series"})
    frames = frozenset({"DataFrame"})

    def column_names(self, frame: Any) -> Iterable[Any]:
        return list(frame.columns)

    def column(self, frame: Any, position: int) -> Any:
        return frame.iloc[:, position]

    def column_type(self, column: Any) -> str:
        return str(column.dtype)

    def floats(self, column: Any) -> FloatArray | None:
        numeric = sys.modules["pandas"].api.types.is_numeric_dtype(column.dtype) and column.dtype.kind != "c"
        return np.ascontiguousarray(column.to_numpy(dtype=np.float64, na_value=np.nan)) if numeric else None

    def take(self, container: Any, rows: IntArray) -> Any:
        return container.iloc[rows]

    def snapshot(self, container: Any) -> Any:
        return container.copy()

    def lent(self, container: Any) -> Any:
        return container.copy(deep=False)


class _Polars(Library):
    series = frozenset({"Series"})
    frames = frozenset({"DataFrame"})

    def column_names(self, frame: Any) -> Iterable[Any]:
        return list(frame.columns)

    def column(self, frame: Any, position: int) -> Any:
        return frame.to_series(position)

    def column_type(self, column: Any) -> str:
        return str(column.dtype)

    def floats(self, column: Any) -> FloatArray | None:
        polars = sys.modules["polars"]
        numeric = column.dtype.is_numeric() or column.dtype == polars.Boolean
        return np.ascontiguousarray(column.cast(polars.Float64).to_numpy(), dtype=np.float64) if numeric else None

    def take(self, container: Any, rows: IntArray) -> Any:
        return container[rows]


class _Pyarrow(Library):
    series = frozenset({"Array", "ChunkedArray"})
    frames = frozenset({"Table", "RecordBatch"})

    def column_names(self, frame: Any) -> Iterable[Any]:
        return list(frame.schema.names)

    def column(self, frame: Any, position: int) -> Any:
        return frame.column(position)

    def column_type(self, column: Any) -> str:
        return str(column.type)

    def floats(self, column: Any) -> FloatArray | None:
        types = sys.modules["pyarrow"].types
        kinds = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
        if not any(is_kind(column.type) for is_kind in kinds):
            return None
        # Unsafe only in that whole numbers beyond 2**53 are rounded, as everywhere else.
        return np.asarray(column.cast("float64", safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)

    def take(self, container: Any, rows: IntArray) -> Any:
        return container.take(rows)


_LIBRARIES: dict[str, Library] = {"pandas": _Pandas(), "polars": _Polars(), "pyarrow": _Pyarrow()}


@dataclass(frozen=True)
class Table:
    """Rows as the user gave them, with what error messages call them.

    This class holds a numpy array; its subclasses hold the containers of data frame libraries.
    """

    container: Any
    label: str

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return len(self.container)

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Return the names of the columns, where the container has them."""
        return None

    def lent(self) -> Any:
        """Return the container for one call of the user's function."""
        return self.container

    def take(self, rows: IntArray) -> Any:
        """Return a container of the same kind that holds `rows`, in their order."""
        return self.container[rows]

    def numbers(self) -> FloatArray:
        """Return all rows as one float array; raise where they are not numbers."""
        array = self.container
        if array.dtype.kind not in "biuf":
            # Some containers hold text as objects.
            kind = "U" if isinstance(next(iter(array.flat), None), str) else array.dtype.kind
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

    def _check_columns(self) -> None:
        if 0 in self.container.shape[1:]:
            raise DataError(f"`{self.label}` must have at least one column; got shape {self.container.shape}.")

    def _numeric_columns(self) -> Iterator[tuple[str | None, FloatArray]]:
        """Yield the name and the values of what must be finite."""
        yield None, self.numbers()

    def _check_finite(self) -> None:
        """Raise if a number is NaN or infinite: how many there are, and where the first one is."""
        broken = [(name, values) for name, values in self._numeric_columns() if not np.isfinite(values).all()]
        if not broken:
            return
        tests = {"NaN": np.isnan, "infinite": np.isinf}
        counts = {kind: sum(int(test(values).sum()) for _, values in broken) for kind, test in tests.items()}
        found = " and ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        name, values = broken[0]
        without = ", or leave that column out" if name is not None or values.ndim > 1 else ""
        raise DataError(
            f"`{self.label}` must be finite; got {found} value(s), the first in {_place(name, values)}"
            f"{_others(broken)}. Drop or impute such rows before the call{without}."
        )


def _place(name: str | None, values: FloatArray) -> str:
    row, *rest = np.argwhere(~np.isfinite(values))[0].tolist()
    inside = "" if not rest else f", column {rest[0]}" if len(rest) == 1 else f", position {tuple(rest)}"
    return f"row {row} (counted from 0){inside}" + ("" if name is None else f" of column {name!r}")


def _others(broken: list[tuple[str | None, FloatArray]]) -> str:
    names = ", ".join(repr(name) for name, _ in broken[1:])
    return f"; more in {names}" if names else ""


@dataclass(frozen=True)
class _SeriesTable(Table):
    """One column of a data frame library."""

    library: Library

    @property
    def columns(self) -> tuple[str, ...] | None:
        name = getattr(self.container, "name", None)
        return None if name is None or name == "" else (str(name),)

    def numbers(self) -> FloatArray:
        values = self.library.floats(self.container)
        if values is None:
            raise DataError(
                f"`{self.label}` must hold real numbers; got a {type(self.container).__name__} of type "
                f"{self.library.column_type(self.container)}. Encode it as numbers, {_ENCODING}; only a data frame may "
                "hold other columns, for a function of your own."
            )
        return values

    def lent(self) -> Any:
        return self.library.lent(self.container)

    def take(self, rows: IntArray) -> Any:
        return self.library.take(self.container, rows)

    def _check_columns(self) -> None:
        """Do nothing: a series always has its one column."""


@dataclass(frozen=True)
class _FrameTable(Table):
    """Several named columns of a data frame library; some may hold text, for the user's own function."""

    library: Library

    @property
    def columns(self) -> tuple[str, ...] | None:
        return tuple(str(name) for name in self.library.column_names(self.container))

    def numbers(self) -> FloatArray:
        columns = list(self._columns())
        others = [f"{name!r} ({kind})" for name, kind, values in columns if values is None]
        if others:
            raise DataError(
                f"`{self.label}` must hold real numbers for this statistic; got column(s) {', '.join(others)}. Select "
                f"the numeric columns, or encode the others as numbers, {_ENCODING}."
            )
        return np.stack([values for _, _, values in columns if values is not None], axis=1)

    def lent(self) -> Any:
        return self.library.lent(self.container)

    def take(self, rows: IntArray) -> Any:
        return self.library.take(self.container, rows)

    def _columns(self) -> Iterator[tuple[str, str, FloatArray | None]]:
        for position, name in enumerate(self.columns or ()):
            column = self.library.column(self.container, position)
            yield name, self.library.column_type(column), self.library.floats(column)

    def _check_columns(self) -> None:
        if not self.columns:
            raise DataError(f"`{self.label}` must have at least one column; got a frame without columns.")

    def _numeric_columns(self) -> Iterator[tuple[str | None, FloatArray]]:
        yield from ((name, values) for name, _, values in self._columns() if values is not None)


def _table(container: Any, label: str) -> Table:
    # The bases are looked at too, so that a subclass such as a GeoDataFrame is read as what it is.
    for kind in type(container).__mro__:
        library = _LIBRARIES.get(kind.__module__.partition(".")[0])
        if library is not None and kind.__name__ in library.series:
            return _SeriesTable(library.snapshot(container), label, library)
        if library is not None and kind.__name__ in library.frames:
            return _FrameTable(library.snapshot(container), label, library)
    return Table(_array(container, label), label)


def _array(container: Any, label: str) -> np.ndarray[Any, Any]:
    if isinstance(container, np.ma.MaskedArray) and np.ma.is_masked(container):
        raise DataError(
            f"`{label}` must have no masked values; got {int(np.ma.getmaskarray(container).sum())}. Drop those rows "
            "before the call."
        )
    try:
        array = np.array(container)
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


@dataclass(frozen=True)
class Data:
    """Samples with rows.

    Arrays that are paired share one sample, and so one vector of weights; independent arrays have one each.

    Attributes
    ----------
    tables
        One per argument of the statistic.
    sample_of
        For each table the number of the sample it belongs to.
    sizes
        Rows of each sample.
    """

    tables: tuple[Table, ...]
    sample_of: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def containers(self) -> tuple[Any, ...]:
        """Return the rows as the user gave them."""
        return tuple(table.lent() for table in self.tables)

    @property
    def samples_hint(self) -> str:
        """Return what to try when a function of independent samples of equal size fails; else nothing."""
        if len(self.sizes) == 1 or len(set(self.sizes)) > 1:
            return ""
        rows = " If each is a row of one table pass `np.array(data)`." if len(self.sizes) > 2 else ""
        return f" If the rows of the samples belong together pass `paired=True`.{rows}"

    @cached_property
    def arrays(self) -> tuple[FloatArray, ...]:
        """Return the rows as float arrays, one per argument of the statistic."""
        return tuple(table.numbers() for table in self.tables)

    @property
    def columns(self) -> tuple[tuple[str, ...] | None, ...]:
        """Return the column names of each table, where it has them."""
        return tuple(table.columns for table in self.tables)

    def take(self, indices: Sequence[IntArray]) -> tuple[Any, ...]:
        """Return containers with the rows `indices[i]` of sample i, in their order."""
        return tuple(table.take(indices[i]) for table, i in zip(self.tables, self.sample_of, strict=True))

    def sample(self, number: int) -> Data:
        """Return sample `number` alone."""
        tables = tuple(table for table, i in zip(self.tables, self.sample_of, strict=True) if i == number)
        return Data(tables, (0,) * len(tables), (self.sizes[number],))


def read(data: Any, *, paired: bool = False) -> Data:
    """Return `data` as samples, checked: not empty, numeric where it must be, finite.

    One array, list of numbers, series or frame is one sample; a tuple or list of these is a sequence of samples,
    independent unless `paired`.

    Examples
    --------
    >>> read(([1.0, 2.0, 3.0], [4.0, 5.0])).sizes
    (3, 2)
    >>> read(([1.0, 2.0], [4.0, 5.0]), paired=True).sizes
    (2,)
    """
    if not isinstance(paired, (bool, np.bool_)):
        raise ArgumentError(f"`paired` must be True or False; got {paired!r}.")
    containers = list(data) if _is_sequence_of_samples(data) else [data]
    if not containers:
        raise DataError("`data` must hold at least one sample; got an empty sequence. Pass an array or a data frame.")
    alone = len(containers) == 1
    tables = tuple(_table(one, "data" if alone else f"data[{i}]") for i, one in enumerate(containers))
    for table in tables:
        table.check()
    sizes = tuple(table.n_rows for table in tables)
    if not paired:
        return Data(tables, tuple(range(len(tables))), sizes)
    if len(set(sizes)) > 1:
        raise DataError(
            "`data` must have the same number of rows in every sample when `paired=True`; got "
            f"{' and '.join(map(str, sizes))}. For independent samples leave `paired=False`."
        )
    return Data(tables, (0,) * len(tables), sizes[:1])


def _is_sequence_of_samples(data: Any) -> bool:
    if not isinstance(data, (tuple, list)):
        return False
    return not data or not all(_is_single_value(element) for element in data)


def _is_single_value(element: Any) -> bool:
    return not hasattr(element, "__len__") or isinstance(element, (str, bytes)) or getattr(element, "ndim", None) == 0
