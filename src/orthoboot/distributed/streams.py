"""Rows that a query hands out from the first to the last."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from orthoboot.data.sources import Result, Rows, Source, Task
from orthoboot.distributed.blocks import Array, block_rows, paired, some_rows, width_of
from orthoboot.distributed.in_order import in_order
from orthoboot.errors import DataError

_PART_ROWS = 2**20
_PART_NUMBERS = 2**23
"""About how many numbers a part holds where rows are wide; a few parts are in memory at a time."""


def rows_per_part(width: int) -> int:
    """Return how many rows of `width` numbers a part has: whole blocks."""
    block = block_rows(width)
    return max(1, min(_PART_ROWS, _PART_NUMBERS // max(width, 1)) // block) * block


@dataclass(frozen=True)
class Stream(Source):
    """Tables that are read by running a query anew each time; a part is a stretch of rows.

    One run hands out all rows, since to run a query for each part would repeat its filters and joins. Whatever batches
    a library hands out, the parts are cut at the same rows.
    """

    labels: tuple[str, ...]
    n_rows: int
    columns: tuple[tuple[str, ...] | None, ...]
    shapes: tuple[tuple[int, ...], ...]
    n_parts: int
    _seen: dict[int, bytes] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Of each part that was read, some of its rows: a query may give its rows in another order the next time."""

    @abstractmethod
    def opened(self) -> AbstractContextManager[Sequence[Iterator[Array]]]:
        """Run the queries, and return the rows of each table; on exit whatever they hold is given back."""

    def each(self, task: Task[Result]) -> Iterator[Result]:
        """Yield what `task` returns for each part, computed in threads while the query goes on."""
        with self.opened() as tables:
            blocks = paired(tables, block_rows(width_of(self.shapes)), labels=self.labels)
            # A generator that is left closes the one it yields from, and so ends the threads before the query.
            yield from in_order(self._calls(task, blocks))

    def part_name(self, part: int) -> str:
        """Return the rows of a part."""
        start = part * rows_per_part(width_of(self.shapes))
        return f"rows {start} to {start + self._length(part) - 1} (counted from 0)"

    def _length(self, part: int) -> int:
        rows = rows_per_part(width_of(self.shapes))
        return min(rows, self.n_rows - part * rows)

    def _calls(self, task: Task[Result], blocks: Iterator[Rows]) -> Iterator[partial[Result]]:
        width = width_of(self.shapes)
        per_part = rows_per_part(width) // block_rows(width)
        for part in range(self.n_parts):
            rows = list(islice(blocks, per_part))
            self._check_unchanged(part, rows)
            yield partial(task, part, iter(rows))
        if next(blocks, None) is not None:
            raise self._changed(f"more than {self.n_rows} rows")

    def _check_unchanged(self, part: int, blocks: list[Rows]) -> None:
        """Raise if the part has not the rows that it had before."""
        found = sum(len(block[0]) for block in blocks)
        if found != self._length(part):
            raise self._changed(f"{found} rows where there were {self._length(part)}, in {self.part_name(part)}")
        rows = b"".join(map(some_rows, blocks))
        if self._seen.setdefault(part, rows) != rows:
            raise self._changed(f"other rows, or the same in another order, in {self.part_name(part)}")

    def _changed(self, what: str) -> DataError:
        return DataError(
            f"`{'`, `'.join(self.labels)}` must give the same rows in the same order each time; this time it gave "
            f"{what}. Sort the rows by columns that tell them apart, or write them to a Parquet file and read that."
        )


def number_of_parts(n_rows: int, shapes: Sequence[tuple[int, ...]]) -> int:
    """Return how many parts a stream of `n_rows` rows has."""
    return -(-n_rows // rows_per_part(width_of(shapes)))
