"""Lazy frames of polars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from orthoboot.distributed.blocks import Array, block_rows, check_same_rows, width_of
from orthoboot.distributed.columns import frame_rows, layout_of
from orthoboot.distributed.streams import Stream, number_of_parts
from orthoboot.errors import MissingDependencyError


@dataclass(frozen=True)
class LazyFrames(Stream):
    """Lazy frames, whose queries run in polars' streaming engine."""

    frames: tuple[Any, ...]

    @contextmanager
    def opened(self) -> Iterator[Sequence[Iterator[Array]]]:
        """Run the queries; one that is left before its end stops when its batches are dropped."""
        rows = block_rows(width_of(self.shapes))
        yield [_arrays(frame, rows) for frame in self.frames]


def lazy_source(containers: Sequence[Any], labels: Sequence[str]) -> LazyFrames:
    """Return lazy frames with the same rows as a source; the rows are counted, which for Parquet reads no column."""
    polars = import_module("polars")
    for container in containers:
        if not hasattr(container, "collect_batches"):
            raise MissingDependencyError(
                "reading a LazyFrame part by part needs a polars with `LazyFrame.collect_batches`; got "
                f"{polars.__version__}. Install a newer one with `pip install --upgrade polars`, or call `.collect()` "
                "on the frame where it fits in memory."
            )
    empty = [polars.DataFrame(schema=container.collect_schema()) for container in containers]
    layouts = [layout_of(one, label) for one, label in zip(empty, labels, strict=True)]
    counts = [int(container.select(polars.len()).collect(engine="streaming").item()) for container in containers]
    check_same_rows(counts, labels=labels)
    shapes = tuple(layout.shape for layout in layouts)
    return LazyFrames(
        labels=tuple(labels),
        n_rows=counts[0],
        columns=tuple(layout.columns for layout in layouts),
        shapes=shapes,
        n_parts=number_of_parts(counts[0], shapes),
        frames=tuple(containers),
    )


def _arrays(frame: Any, rows: int) -> Iterator[Array]:
    # Batches of one query and not slices: a slice runs all filters that lie below it again.
    for batch in frame.collect_batches(chunk_size=rows, maintain_order=True, lazy=True):
        yield frame_rows(batch, "polars")
