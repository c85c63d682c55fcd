"""Datasets of pyarrow, and single Parquet files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from orthoboot.data.sources import Result, Rows, Source, Task
from orthoboot.distributed.blocks import Array, block_rows, check_same_rows, paired, some_rows, width_of
from orthoboot.distributed.columns import frame_rows, layout_of
from orthoboot.distributed.in_order import in_order
from orthoboot.distributed.streams import Stream, number_of_parts
from orthoboot.errors import DataError, first_line

_AHEAD = 2
"""Batches that pyarrow reads ahead in each part; its own sixteen would lie in memory for every thread."""


class _Piece(NamedTuple):
    """What one part has of one table."""

    fragment: Any
    schema: Any
    name: str

    def arrays(self, rows: int) -> Iterator[Array]:
        """Yield the rows in batches; an error of pyarrow's names the file."""
        names = self.schema.names
        # Parts run in threads of their own.
        options = {"batch_size": rows, "batch_readahead": _AHEAD, "use_threads": False}
        try:
            for batch in self.fragment.to_batches(schema=self.schema, columns=names, **options):
                yield frame_rows(batch, "pyarrow")
        except (ValueError, TypeError, NotImplementedError) as error:  # pyarrow's own classes derive from these
            raise DataError(
                f"`data` must have the same columns in every file; {self.name} cannot be read as the others are: "
                f"{first_line(error)}. Rewrite that file with the types of the others."
            ) from error


@dataclass(frozen=True)
class _Pieces(Source):
    """Tables in pieces, each of which is a part."""

    columns: tuple[tuple[str, ...] | None, ...]
    shapes: tuple[tuple[int, ...], ...]
    n_parts: int
    _seen: dict[int, bytes] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Of each part that was read, a digest of some rows: its file may be written anew meanwhile."""

    @abstractmethod
    def tables(self, part: int) -> Sequence[Iterator[Array]]:
        """Return the rows that one part has of each table."""

    def done(self, task: Task[Result], part: int) -> Result:
        """Return what `task` gives for one part."""
        return task(part, self._blocks(part))

    def _blocks(self, part: int) -> Iterator[Rows]:
        read: list[bytes] = []
        for block in paired(self.tables(part), block_rows(width_of(self.shapes)), self.part_name(part)):
            read.append(some_rows(block))
            yield block
        rows = b"".join(read)
        if self._seen.setdefault(part, rows) != rows:
            raise DataError(
                f"`data` must give the same rows in the same order each time; they changed in "
                f"{self.part_name(part)}. Let nothing write to the file while it is read, and start again."
            )


@dataclass(frozen=True)
class Datasets(_Pieces):
    """Datasets; a part is a row group of a Parquet file, or a whole file of another kind."""

    parts: tuple[tuple[_Piece, ...], ...]

    def each(self, task: Task[Result]) -> Iterator[Result]:
        """Yield what `task` returns for each part, computed in threads."""
        return in_order(partial(self.done, task, part) for part in range(self.n_parts))

    def part_name(self, part: int) -> str:
        """Return the file and the row group."""
        return self.parts[part][0].name

    def tables(self, part: int) -> Sequence[Iterator[Array]]:
        """Return the rows that one part has of each table."""
        rows = block_rows(width_of(self.shapes))
        return [piece.arrays(rows) for piece in self.parts[part]]


@dataclass(frozen=True)
class ParquetFiles(_Pieces):
    """Open Parquet files; a part is a row group. One thread reads, since a reader may not be shared."""

    files: tuple[Any, ...]

    def each(self, task: Task[Result]) -> Iterator[Result]:
        """Yield what `task` returns for each part."""
        return (self.done(task, part) for part in range(self.n_parts))

    def part_name(self, part: int) -> str:
        """Return the number of the row group."""
        return f"row group {part} (counted from 0)"

    def tables(self, part: int) -> Sequence[Iterator[Array]]:
        """Return the rows that one row group has of each table."""
        rows = block_rows(width_of(self.shapes))
        return [_group_arrays(file, part, rows) for file in self.files]


@dataclass(frozen=True)
class FilteredDatasets(Stream):
    """Datasets with a filter, of which pyarrow gives no fragments."""

    datasets: tuple[Any, ...]

    @contextmanager
    def opened(self) -> Iterator[Sequence[Iterator[Array]]]:
        """Start to read."""
        rows = block_rows(width_of(self.shapes))
        yield [_scanned(dataset, rows) for dataset in self.datasets]


def dataset_source(containers: Sequence[Any], labels: Sequence[str]) -> Datasets | FilteredDatasets:
    """Return datasets with the same rows as a source; only the ends of Parquet files are read for it."""
    pieces: list[list[_Piece]] = []
    for container, label in zip(containers, labels, strict=True):
        try:
            fragments = list(container.get_fragments())
        except ValueError:  # filtered
            return _filtered_source(containers, labels)
        pieces.append([piece for fragment in fragments for piece in _pieces(fragment, container, label)])
    layouts = [layout_of(one.schema.empty_table(), label) for one, label in zip(containers, labels, strict=True)]
    _check_same_parts([len(one) for one in pieces], labels)
    return Datasets(
        columns=tuple(layout.columns for layout in layouts),
        shapes=tuple(layout.shape for layout in layouts),
        n_parts=len(pieces[0]),
        parts=tuple(zip(*pieces, strict=True)),
    )


def parquet_source(containers: Sequence[Any], labels: Sequence[str]) -> ParquetFiles:
    """Return open Parquet files with the same rows as a source."""
    empty = [container.schema_arrow.empty_table() for container in containers]
    layouts = [layout_of(one, label) for one, label in zip(empty, labels, strict=True)]
    _check_same_parts([container.num_row_groups for container in containers], labels)
    return ParquetFiles(
        columns=tuple(layout.columns for layout in layouts),
        shapes=tuple(layout.shape for layout in layouts),
        n_parts=containers[0].num_row_groups,
        files=tuple(containers),
    )


def _filtered_source(containers: Sequence[Any], labels: Sequence[str]) -> FilteredDatasets:
    empty = [container.scanner().projected_schema.empty_table() for container in containers]
    layouts = [layout_of(one, label) for one, label in zip(empty, labels, strict=True)]
    counts = [container.count_rows() for container in containers]
    check_same_rows(counts, labels=labels)
    shapes = tuple(layout.shape for layout in layouts)
    return FilteredDatasets(
        labels=tuple(labels),
        n_rows=counts[0],
        columns=tuple(layout.columns for layout in layouts),
        shapes=shapes,
        n_parts=number_of_parts(counts[0], shapes),
        datasets=tuple(containers),
    )


def _check_same_parts(counts: Sequence[int], labels: Sequence[str]) -> None:
    if len(set(counts)) > 1:
        raise DataError(
            f"`{'`, `'.join(labels)}` must be divided into the same files and row groups; got "
            f"{' and '.join(map(str, counts))}. Write all columns to one dataset, or pass `polars.scan_parquet` of "
            "each."
        )


def _pieces(fragment: Any, dataset: Any, label: str) -> Iterator[_Piece]:
    """Yield the pieces of one file, or of a table in memory."""
    path = getattr(fragment, "path", None)
    if path is None:
        yield _Piece(fragment, dataset.schema, "a table in memory")
        return
    _check_schema(fragment, dataset, label)
    if not hasattr(fragment, "split_by_row_group"):
        yield _Piece(fragment, dataset.schema, f"file {path!r}")
        return
    for group in fragment.split_by_row_group():
        yield _Piece(group, dataset.schema, f"row group {group.row_groups[0].id} (counted from 0) of file {path!r}")


def _check_schema(fragment: Any, dataset: Any, label: str) -> None:
    """Raise if a file lacks a column or has another type: pyarrow would fill in missing values, or convert."""
    # Columns that come from the names of folders are in no file.
    folders = getattr(getattr(dataset, "partitioning", None), "schema", None)
    found = {field.name: field.type for field in fragment.physical_schema}
    # Text has no types of its own: those of the dataset hold when it is parsed.
    typed = fragment.format.default_extname in ("parquet", "feather", "ipc", "arrow", "orc")
    for column in dataset.schema:
        if column.name not in found and (folders is None or column.name not in folders.names):
            raise DataError(
                f"`{label}` must have the same columns in every file; column {column.name!r} is missing in "
                f"{fragment.path!r}. Leave that file out, or rewrite it with all columns."
            )
        if typed and found.get(column.name, column.type) != column.type:
            raise DataError(
                f"`{label}` must have the same columns in every file; column {column.name!r} is {found[column.name]} "
                f"in {fragment.path!r} and {column.type} in the dataset. Rewrite that file with the type of the "
                "others."
            )


def _group_arrays(file: Any, group: int, rows: int) -> Iterator[Array]:
    for batch in file.iter_batches(batch_size=rows, row_groups=[group]):
        yield frame_rows(batch, "pyarrow")


def _scanned(dataset: Any, rows: int) -> Iterator[Array]:
    for batch in dataset.to_batches(batch_size=rows, batch_readahead=_AHEAD):
        yield frame_rows(batch, "pyarrow")
