"""Readers for the containers of pandas, polars and pyarrow."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from orthoboot.typing import FloatArray, IntArray


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

    @abstractmethod
    def with_column(self, frame: Any, position: int, values: Any) -> Any:
        """Return a frame with other values in one column."""

    @abstractmethod
    def with_values(self, column: Any, values: np.ndarray[Any, Any]) -> Any:
        """Return a column of the same kind with other values."""

    def values(self, column: Any) -> np.ndarray[Any, Any]:
        """Return what a column holds; as objects where numpy has no such type, as for whole numbers of 128 bits."""
        try:
            return np.asarray(column)
        except Exception:  # each library raises its own
            objects = np.empty(len(column), dtype=object)
            for row, value in enumerate(column):
                objects[row] = value
            return objects

    def row_labels(self, container: Any) -> Any:
        """Return the labels of the rows by which the library aligns containers; None where it has none."""
        return None

    def with_row_labels(self, container: Any, labels: Any) -> Any:
        """Return the container with other labels of its rows."""
        return container

    def snapshot(self, container: Any) -> Any:
        """Return the container as it is now, whatever the user does later to it or to the arrays that it was made of.

        Polars and pyarrow containers cannot be changed, but the numpy array whose memory one shares can. Their own
        copies share it too; taking all rows does not.
        """
        return self.take(container, np.arange(len(container)))

    def for_call(self, container: Any) -> Any:
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

    def with_column(self, frame: Any, position: int, values: Any) -> Any:
        changed = frame.copy()
        changed.isetitem(position, _labelled(self.column(frame, position), values))
        return changed

    def with_values(self, column: Any, values: np.ndarray[Any, Any]) -> Any:
        return type(column)(_labelled(column, values), column.index, name=column.name)

    def row_labels(self, container: Any) -> Any:
        return container.index

    def with_row_labels(self, container: Any, labels: Any) -> Any:
        return container.set_axis(labels, axis=0)

    def snapshot(self, container: Any) -> Any:
        copied = container.copy()
        # copy() still shares Arrow buffers.
        if container.ndim == 1:
            arrow = _is_arrow(container)
            return type(container)(_apart(container), copied.index, name=copied.name) if arrow else copied
        for position in range(container.shape[1]):
            column = self.column(container, position)
            if _is_arrow(column):
                copied.isetitem(position, _apart(column))
        return copied

    def for_call(self, container: Any) -> Any:
        return container.copy(deep=False)


def _labelled(column: Any, values: np.ndarray[Any, Any]) -> Any:
    """Return new labels for a column of pandas: if it is categorical, in the order of those that they stand for."""
    pandas = sys.modules["pandas"]
    if not isinstance(column.dtype, pandas.CategoricalDtype):
        return values
    categories = column.cat.categories
    numbers, known = pandas.factorize(values)
    codes = np.empty(len(known), dtype=np.int64)
    codes[numbers] = column.cat.codes.to_numpy()
    # Unused ones are needed to compare with; where there is no order they would only count as empty groups.
    if not column.cat.ordered and categories.dtype != bool:
        order = np.argsort(codes, kind="stable")
        return pandas.Categorical.from_codes(np.argsort(order)[numbers], known[order])
    ranked = _ranked(categories.tolist(), codes.tolist(), known.tolist())
    places = {label: place for place, label in enumerate(ranked)}
    # By place, since pandas finds no True by the number one.
    coded = np.array([places[label] for label in known.tolist()])[numbers]
    found = pandas.Categorical.from_codes(coded, ranked, ordered=column.cat.ordered)
    return found if column.cat.ordered else found.remove_unused_categories()


def _ranked(categories: list[Any], codes: list[int], labels: list[Any]) -> list[Any]:
    """Return categories in their order, each followed by the labels that stand for it.

    Parameters
    ----------
    categories
        Those of the column.
    codes, labels
        The position of each label's category, and the label.
    """
    ranks = dict(zip(categories, range(len(categories)), strict=True)) | dict(zip(labels, codes, strict=True))
    return sorted(ranks, key=lambda label: ranks[label])


def _is_arrow(column: Any) -> bool:
    return isinstance(column.dtype, sys.modules["pandas"].ArrowDtype)


def _apart(column: Any) -> Any:
    """Return the values of a column in memory of their own; `Series.take` of all rows would share it."""
    return column.array.take(np.arange(len(column)))


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

    def with_column(self, frame: Any, position: int, values: Any) -> Any:
        return frame.with_columns(self.with_values(self.column(frame, position), values))

    def with_values(self, column: Any, values: np.ndarray[Any, Any]) -> Any:
        polars, labels, dtype = sys.modules["polars"], values.tolist(), None
        if column.dtype == polars.Enum:
            dtype = polars.Enum(_ranked(column.dtype.categories.to_list(), column.to_physical().to_list(), labels))
        return polars.Series(column.name, labels, dtype=dtype)


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

    def with_column(self, frame: Any, position: int, values: Any) -> Any:
        column = sys.modules["pyarrow"].array(values.tolist())
        return frame.set_column(position, frame.schema.names[position], column)

    def with_values(self, column: Any, values: np.ndarray[Any, Any]) -> Any:
        pyarrow, labels = sys.modules["pyarrow"], values.tolist()
        return pyarrow.chunked_array([labels]) if hasattr(column, "chunks") else pyarrow.array(labels)


LIBRARIES: dict[str, Library] = {"pandas": _Pandas(), "polars": _Polars(), "pyarrow": _Pyarrow()}
