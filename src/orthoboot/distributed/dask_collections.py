"""Arrays, series and frames of dask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, NamedTuple

import numpy as np

from orthoboot.data.libraries import LIBRARIES
from orthoboot.data.sources import Result, Rows, Source, Task
from orthoboot.data.tables import check_unmasked
from orthoboot.distributed.blocks import Array, block_rows, check_same_rows, some_rows, width_of
from orthoboot.distributed.columns import column_rows, frame_rows, layout_of
from orthoboot.distributed.dask_schedulers import computed
from orthoboot.errors import DataError


class _Done(NamedTuple, Generic[Result]):
    """What a task has made of a partition."""

    rows: bytes
    """A digest of some of the rows that it was given."""
    result: Result


class _Expected(NamedTuple):
    """What dask says of the partitions of one collection, before any is computed."""

    label: str
    shape: tuple[int, ...]
    columns: tuple[tuple[str, str], ...]
    """The name and the type of each column; of an array the type alone, without a name."""


@dataclass(frozen=True)
class DaskCollections(Source):
    """Collections of dask with the same partitions; a part is a partition.

    What all partitions need, such as a mean that is subtracted from each, is computed for every few of them anew;
    persist it first.
    """

    columns: tuple[tuple[str, ...] | None, ...]
    shapes: tuple[tuple[int, ...], ...]
    n_parts: int
    expected: tuple[_Expected, ...]
    partitions: tuple[tuple[Any, ...], ...]
    """Of each part the delayed partitions, one for each table."""
    _seen: dict[int, bytes] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Of each partition that was read, a digest of some rows: what computes it may give others the next time."""

    def each(self, task: Task[Result]) -> Iterator[Result]:
        """Yield what `task` returns for each partition, computed where the partition is."""
        done: Iterator[_Done[Result]] = computed(partial(_done, expected=self.expected), task, self.partitions)
        for part, (rows, result) in enumerate(done):
            if self._seen.setdefault(part, rows) != rows:
                raise DataError(
                    f"`{'`, `'.join(one.label for one in self.expected)}` must give the same rows in the same order "
                    f"each time; they changed in {self.part_name(part)}. Seed random operations, sort rows that come "
                    "in any order, or call `persist` on the collections first."
                )
            yield result


def dask_source(containers: Sequence[Any], labels: Sequence[str]) -> DaskCollections:
    """Return collections with the same partitions as a source; nothing is computed."""
    for one, label in zip(containers, labels, strict=True):
        _check_axes(one, label)
    layouts = [layout_of(_empty(one), label) for one, label in zip(containers, labels, strict=True)]
    tables = [_delayed(one) for one in _divided_alike(containers, labels)]
    return DaskCollections(
        columns=tuple(layout.columns for layout in layouts),
        shapes=tuple(layout.shape for layout in layouts),
        n_parts=len(tables[0]),
        expected=tuple(
            _Expected(label, layout.shape, _column_types(_empty(one)))
            for one, label, layout in zip(containers, labels, layouts, strict=True)
        ),
        partitions=tuple(zip(*tables, strict=True)),
    )


def _is_array(collection: Any) -> bool:
    return hasattr(collection, "chunks")


def _check_axes(collection: Any, label: str) -> None:
    """Raise unless an array has rows, and a number of columns that is known before any is computed."""
    if not _is_array(collection) or (collection.ndim and not np.isnan(collection.shape[1:]).any()):
        return
    if not collection.ndim:
        raise DataError(
            f"`{label}` must be an array with rows first; got a single number, a dask Array without axes. Pass the "
            "rows that it was computed from."
        )
    raise DataError(
        f"`{label}` must have a known number of columns where it is read part by part; got a dask Array of shape "
        f"{('n', *collection.shape[1:])}. Call `compute_chunk_sizes()` on it first."
    )


def _empty(collection: Any) -> Any:
    """Return an object in memory without rows that has the columns of a collection."""
    return np.empty((0, *collection.shape[1:]), collection.dtype) if _is_array(collection) else collection._meta


def _column_types(table: Any) -> tuple[tuple[str, str], ...]:
    """Return the name and the type of each column; of an array the type alone."""
    if isinstance(table, np.ndarray):
        return (("", str(table.dtype)),)
    if table.ndim == 1:
        return ((str(table.name), str(table.dtype)),)
    return tuple((str(name), str(kind)) for name, kind in zip(table.columns, table.dtypes, strict=True))


def _divided_alike(collections: Sequence[Any], labels: Sequence[str]) -> list[Any]:
    """Return the collections with the same number of partitions, each of which holds whole rows."""
    whole = [one.rechunk({1: -1}) if _is_array(one) and one.ndim == 2 else one for one in collections]
    if all(_is_array(one) and not np.isnan(one.chunks[0]).any() for one in whole):
        check_same_rows([one.shape[0] for one in whole], labels=labels)
        whole = [one.rechunk({0: whole[0].chunks[0]}) for one in whole]
    counts = [len(one.chunks[0]) if _is_array(one) else one.npartitions for one in whole]
    if len(set(counts)) > 1:
        raise DataError(
            f"`{'`, `'.join(labels)}` must have the same partitions; got "
            f"{' and '.join(map(str, counts))} of them. Make all tables from one collection, or call "
            "`to_dask_array(lengths=True)` on each frame, so that the lengths are known."
        )
    return whole


def _delayed(collection: Any) -> list[Any]:
    """Return the partitions, each with no more of the graph than it needs.

    Otherwise every partition that is sent to a cluster would bring the graph of all.
    """
    from dask.delayed import Delayed
    from dask.optimization import cull

    # Of frames the columns that are not needed are left out, and no more: dask would also join files of few columns,
    # and tables of one folder with different columns would no longer have the same partitions.
    whole = collection if _is_array(collection) else collection.simplify()
    partitions = np.ravel(whole.to_delayed(optimize_graph=_is_array(collection))).tolist()
    graph = dict(partitions[0].__dask_graph__())
    return [Delayed(partition.key, cull(graph, [partition.key])[0]) for partition in partitions]


def _done(task: Task[Result], part: int, tables: Sequence[Any], expected: Sequence[_Expected]) -> _Done[Result]:
    """Return what `task` gives for a partition, wherever this runs."""
    arrays = tuple(_checked(table, part, one) for table, one in zip(tables, expected, strict=True))
    labels = [one.label for one in expected]
    check_same_rows([len(array) for array in arrays], f"partition {part} (counted from 0)", labels)
    rows = block_rows(width_of([one.shape for one in expected]))
    return _Done(some_rows(arrays), task(part, _blocks(arrays, rows)))


def _blocks(arrays: Rows, rows: int) -> Iterator[Rows]:
    # A partition without rows is one block without rows.
    for start in range(0, max(len(arrays[0]), 1), rows):
        yield tuple(array[start : start + rows] for array in arrays)


def _checked(table: Any, part: int, expected: _Expected) -> Array:
    """Return the rows of a partition; raise if its columns are not those that dask promised."""
    rule = f"`{expected.label}` must have the columns in every partition that dask expects"
    place = f"{rule}; partition {part} (counted from 0)"
    remedy = "Convert the column in all of them, for example with `astype`, or write that file anew."
    check_unmasked(table, expected.label)
    table = table if hasattr(table, "dtypes") or hasattr(table, "to_numpy") else np.asarray(table)
    found = _column_types(table)
    if len(found) != len(expected.columns) or table.ndim != 1 + len(expected.shape):
        raise DataError(f"{place} has {_described(table)} instead of {len(expected.columns)} column(s). {remedy}")
    for (name, kind), (expected_name, expected_kind) in zip(found, expected.columns, strict=True):
        if name != expected_name:
            select = "Select the columns by name and in one order in all of them, or write that file anew."
            raise DataError(f"{place} has column {name!r} instead of {expected_name!r}. {select}")
        if kind != expected_kind:
            column = f" in column {name!r}" if name else ""
            raise DataError(f"{place} has type {kind}{column} instead of {expected_kind}. {remedy}")
    if isinstance(table, np.ndarray):
        if table.shape[1:] != expected.shape:
            raise DataError(f"{place} has {_described(table)} instead of {expected.shape[0]} column(s). {remedy}")
        return table
    return frame_rows(table, "pandas") if table.ndim == 2 else column_rows(table, LIBRARIES["pandas"])


def _described(table: Any) -> str:
    return f"{table.shape[1]} column(s)" if table.ndim == 2 else f"{table.ndim} axis(es)"
