"""Arrays, lists and data frames become samples with rows; nothing else knows about pandas, polars or pyarrow."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from orthoboot.errors import DataError
from orthoboot.typing import FloatArray, IntArray

_NUMBERS_IN_CACHE = 1 << 15
"""Rows of a product are taken in pieces of about so many numbers, which stay in the processor's cache."""


@dataclass(frozen=True)
class Table:
    """Rows as the user gave them.

    Subclasses say how one library's containers are read.
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

    def take(self, rows: IntArray) -> Any:
        """Return a container of the same kind that holds `rows`, in their order."""
        return self.container[rows]

    def numeric_columns(self) -> list[tuple[str | None, FloatArray]]:
        """Return the columns that hold numbers, as floats, with their names."""
        return [(None, self.numbers())] if _is_numeric(np.asarray(self.container)) else []

    def numbers(self) -> FloatArray:
        """Return all rows as one float array, or say which column is not numeric."""
        array = np.asarray(self.container)
        if not _is_numeric(array):
            raise DataError(
                f"`{self.label}` must hold real numbers; got dtype {array.dtype}. Convert it first, for example with "
                "`np.asarray(data, dtype=float)`, or encode the categories as numbers."
            )
        return np.ascontiguousarray(array, dtype=np.float64)

    def check_numbers(self) -> None:
        """Raise unless the rows are usable at all; frames may carry text columns for the user's own statistic."""
        self.numbers()

    def check_finite(self) -> None:
        """Raise if a numeric column holds NaN or infinity: how many, and where the first one is."""
        for name, values in self.numeric_columns():
            broken = ~np.isfinite(values)
            if broken.any():
                row = int(np.argwhere(broken)[0][0])
                where = f"row {row}" if name is None else f"row {row} of column {name!r}"
                raise DataError(
                    f"`{self.label}` must be finite; got {int(broken.sum())} NaN or infinite value(s), the first in "
                    f"{where}. Drop or impute those rows before the call."
                )


class _SeriesTable(Table):
    """One named column: a series of pandas or polars."""

    @property
    def columns(self) -> tuple[str, ...] | None:
        return None if self.container.name in (None, "") else (str(self.container.name),)

    def numeric_columns(self) -> list[tuple[str | None, FloatArray]]:
        values = _column_values(self.container)
        return [] if values is None else [(None, values)]

    def numbers(self) -> FloatArray:
        values = _column_values(self.container)
        if values is None:
            raise _not_numeric(self.label, [str(self.container.name)])
        return values

    def take(self, rows: IntArray) -> Any:
        return _take(self.container, rows)


class _FrameTable(Table):
    """Several named columns: a frame of pandas or polars, or a pyarrow table."""

    @property
    def columns(self) -> tuple[str, ...] | None:
        names = self.container.column_names if _library(self.container) == "pyarrow" else self.container.columns
        return tuple(str(name) for name in names)

    def _values(self) -> list[tuple[str, FloatArray | None]]:
        names = self.columns or ()
        return [(name, _column_values(_column(self.container, i))) for i, name in enumerate(names)]

    def numeric_columns(self) -> list[tuple[str | None, FloatArray]]:
        return [(name, values) for name, values in self._values() if values is not None]

    def numbers(self) -> FloatArray:
        columns = self._values()
        text = [name for name, values in columns if values is None]
        if text:
            raise _not_numeric(self.label, text)
        return np.stack([values for _, values in columns if values is not None], axis=1)

    def check_numbers(self) -> None:
        if not self.columns:
            raise DataError(f"`{self.label}` must have at least one column; got a frame without columns.")

    def take(self, rows: IntArray) -> Any:
        return _take(self.container, rows)


def _not_numeric(label: str, columns: list[str]) -> DataError:
    names = ", ".join(repr(name) for name in columns)
    return DataError(
        f"`{label}` must hold real numbers for this statistic; column(s) {names} do not. Select the numeric columns, "
        "or encode the categories as numbers."
    )


def _is_numeric(array: np.ndarray[Any, Any]) -> bool:
    return array.dtype.kind in "biuf"


def _library(container: Any) -> str:
    return type(container).__module__.partition(".")[0]


def _column(frame: Any, position: int) -> Any:
    if _library(frame) == "pandas":
        return frame.iloc[:, position]
    if _library(frame) == "polars":
        return frame.to_series(position)
    return frame.column(position)


def _column_values(column: Any) -> FloatArray | None:
    """Return a column as floats, missing values as NaN, or None where it does not hold numbers."""
    library = _library(column)
    if library == "pandas":
        if not sys.modules["pandas"].api.types.is_numeric_dtype(column.dtype) or column.dtype.kind == "c":
            return None
        return np.ascontiguousarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if library == "polars":
        polars = sys.modules["polars"]
        if not (column.dtype.is_numeric() or column.dtype == polars.Boolean):
            return None
        return np.ascontiguousarray(column.cast(polars.Float64).to_numpy(), dtype=np.float64)
    array = column.to_numpy(zero_copy_only=False) if hasattr(column, "type_code") else np.asarray(column.to_numpy())
    if array.dtype == object and column.null_count:
        array = np.array([np.nan if value is None else value for value in array])
    return np.ascontiguousarray(array, dtype=np.float64) if _is_numeric(array) else None


def _take(container: Any, rows: IntArray) -> Any:
    if _library(container) == "pandas":
        return container.iloc[rows]
    if _library(container) == "polars":
        return container[rows]
    return container.take(rows)


def _table(container: Any, label: str) -> Table:
    library, kind = _library(container), type(container).__name__
    if library in ("pandas", "polars") and kind == "Series":
        return _SeriesTable(container, label)
    if (library in ("pandas", "polars") and kind == "DataFrame") or (library == "pyarrow" and kind == "Table"):
        return _FrameTable(container, label)
    if library == "polars" and kind == "LazyFrame":
        raise DataError(f"`{label}` is a lazy frame; call `.collect()` on it first.")
    if isinstance(container, (dict, set, str, bytes)) or callable(container):
        raise DataError(
            f"`{label}` must be an array, a list, a series or a frame; got {type(container).__name__}. "
            "For named columns pass a data frame."
        )
    return Table(_as_array(container, label), label)


def _as_array(container: Any, label: str) -> np.ndarray[Any, Any]:
    try:
        array = np.asarray(container)
    except ValueError as error:
        raise DataError(
            f"`{label}` must be rectangular; its rows have different lengths. For independent samples of unequal "
            "size pass a tuple with one array per sample."
        ) from error
    if array.ndim == 0:
        raise DataError(f"`{label}` must have rows; got a single value of type {type(container).__name__}.")
    return array


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
        return tuple(table.container for table in self.tables)

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
    containers = list(data) if _is_sequence_of_samples(data) else [data]
    if not containers:
        raise DataError("`data` must hold at least one sample; got an empty sequence.")
    alone = len(containers) == 1
    tables = tuple(_table(one, "data" if alone else f"data[{i}]") for i, one in enumerate(containers))
    for table in tables:
        _check(table)
    sizes = tuple(table.n_rows for table in tables)
    if not paired:
        return Data(tables, tuple(range(len(tables))), sizes)
    if len(set(sizes)) > 1:
        raise DataError(
            f"paired samples must have the same number of rows; got {', '.join(map(str, sizes))}. "
            "For independent samples leave `paired=False`."
        )
    return Data(tables, (0,) * len(tables), sizes[:1])


def _is_sequence_of_samples(data: Any) -> bool:
    if isinstance(data, tuple):
        return not (data and all(np.isscalar(element) for element in data))
    return isinstance(data, list) and (not data or not np.isscalar(data[0]))


def _check(table: Table) -> None:
    if table.n_rows == 0:
        raise DataError(f"`{table.label}` must have at least two rows; got none.")
    table.check_numbers()
    table.check_finite()
    if table.n_rows == 1:
        raise DataError(f"`{table.label}` must have at least two rows; got one, which cannot vary under resampling.")


class Resamples:
    """A batch of B resamples: for each sample a ``(B, n_i)`` array of weights.

    Parameters
    ----------
    weights
        Counts of each row, or any non-negative weights when an engine probes the statistic.
    indices
        Gives the rows of resample b in drawing order, for plans in which the order matters; without it rows come in
        the order of the data, each as often as its weight says.
    """

    def __init__(
        self, weights: tuple[FloatArray, ...], indices: Callable[[int], tuple[IntArray, ...]] | None = None
    ) -> None:
        self.weights = weights
        self._indices = indices

    def __len__(self) -> int:
        return len(self.weights[0])

    def indices(self, b: int) -> tuple[IntArray, ...]:
        """Return the rows of resample `b`, one array per sample."""
        if self._indices is not None:
            return self._indices(b)
        return tuple(np.repeat(np.arange(w.shape[1]), w[b].astype(np.int64)) for w in self.weights)

    def one(self, b: int) -> Resamples:
        """Return resample `b` alone."""
        indices = self._indices
        return Resamples(tuple(w[b : b + 1] for w in self.weights), None if indices is None else lambda _: indices(b))

    def sample(self, number: int) -> Resamples:
        """Return the weights of sample `number` alone."""
        indices = self._indices
        return Resamples((self.weights[number],), None if indices is None else lambda b: (indices(b)[number],))

    def totals(self, sample: int) -> FloatArray:
        """Return the sum of the weights of each resample, shape ``(B,)``."""
        return self.weights[sample].sum(axis=1)

    def sums(self, sample: int, values: FloatArray) -> FloatArray:
        """Return ``weights @ values``, shape ``(B, p)``, each row computed alike whatever the batch.

        A general matrix product rounds a row differently when the batch has another size or the machine more threads;
        a replicate must not depend on either to the last bit. So every row is a sum of its own, in one thread, taken
        piece by piece so that `values` stay in the cache.
        """
        weights = self.weights[sample]
        n, p = values.shape
        columns = np.ascontiguousarray(values.T)
        result = np.zeros((len(weights), p))
        rows = max(_NUMBERS_IN_CACHE // p, 512)
        for start in range(0, n, rows):
            piece = columns[:, start : start + rows]
            for b, row in enumerate(weights):
                result[b] += np.einsum("pj,j->p", piece, row[start : start + rows])
        return result
