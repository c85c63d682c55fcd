"""Rows that are read part by part, so that they need not fit in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from orthoboot.arrays.threads import run_tasks
from orthoboot.typing import IntArray

CHUNK = 8192
"""Rows that share random numbers; see `orthoboot.draws.summation`."""

_ROWS_OF_A_PART = 1 << 18
"""Rows in memory that one processor works on at a time, in about a millisecond."""

_MOST_ROWS = 1 << 17
"""Rows that are worked on at once: what is computed from them stays in the processor's cache."""

Result = TypeVar("Result")

Rows = tuple[np.ndarray[Any, Any], ...]
"""Some consecutive rows of a sample: one array for each table, as many rows in each."""

Task = Callable[[int, Iterator[Rows]], Result]
"""Takes the number of a part and its rows, a few at a time in their order; must not keep or change them."""


class Source(ABC):
    """A sample whose rows are read part by part, in their order, as often as they are needed.

    A sample has one table, or several with the same rows. A part is what one worker reads: a partition, a row group, a
    stretch of a file. Reading the same part again gives the same rows.

    Attributes
    ----------
    columns
        The names of the columns of each table, or None where it has none.
    shapes
        The shape of a row of each table: ``()`` for a single column without a table around it, else ``(d,)``.
    n_parts
        How many parts there are.
    """

    in_memory: ClassVar[bool] = False
    """Whether the rows lie in memory, so that any of them is at hand."""
    finds_rows: ClassVar[bool] = False
    """Whether `at` gives any rows without reading the others."""
    loads_itself: ClassVar[bool] = False
    """Whether numpy takes the containers for arrays, which are loaded where something needs all rows at once."""
    columns: tuple[tuple[str, ...] | None, ...]
    shapes: tuple[tuple[int, ...], ...]
    n_parts: int

    @abstractmethod
    def each(self, task: Task[Result]) -> Iterator[Result]:
        """Yield what `task` returns for each part, in the order of the parts, wherever and whenever it runs."""

    def at(self, rows: IntArray) -> Rows:
        """Return some of the rows, in the order asked for; only where it finds them."""
        raise NotImplementedError

    def part_name(self, part: int) -> str:
        """Return what messages call a part, for example "partition 17 (counted from 0)"."""
        return f"partition {part} (counted from 0)"


class MemorySource(Source):
    """A sample in memory, whose parts are worked on by all processors."""

    in_memory = True
    finds_rows = True

    def __init__(self, tables: Rows) -> None:
        self.tables = tables
        # Whatever the number of processors, so that sums over the parts are the same on every machine.
        self.starts = tuple(range(0, len(tables[0]), _ROWS_OF_A_PART))
        self.n_parts = len(self.starts)
        self.columns = (None,) * len(tables)
        self.shapes = tuple(table.shape[1:] for table in tables)

    def each(self, task: Task[Result]) -> Iterator[Result]:
        """Yield what `task` returns for each part."""
        results: list[Result | None] = [None] * self.n_parts
        run_tasks([partial(self._run, task, part, results) for part in range(self.n_parts)])
        yield from cast(list[Result], results)

    def _run(self, task: Task[Result], part: int, results: list[Result | None]) -> None:
        results[part] = task(part, iter([self._rows(part)]))

    def _rows(self, part: int) -> Rows:
        return tuple(table[self.starts[part] : self.starts[part] + _ROWS_OF_A_PART] for table in self.tables)

    def at(self, rows: IntArray) -> Rows:
        """Return some of the rows, in the order asked for."""
        return tuple(table.take(rows, axis=0) for table in self.tables)


def blocks(start: int, rows: Iterator[Rows], size: int, *, least: int = CHUNK) -> Iterator[tuple[int, Rows]]:
    """Yield rows from number `start` on in blocks of about `size`, each with the number of its first row.

    Blocks end at multiples of `CHUNK`, so that no chunk of random numbers is drawn twice but at the ends. Where rows
    are so wide that a block should be shorter, it is an even part of `CHUNK`, but of no fewer rows than `least`, a
    power of two: what is computed of such rows takes longer than to draw a chunk again.
    """
    step = _short_step(size, least) if size < CHUNK else min(size - size % CHUNK, _MOST_ROWS)
    for some in rows:
        n, begin = len(some[0]), 0
        while begin < n:
            end = min(begin + step - (start + begin) % step, n)
            yield start + begin, tuple(table[begin:end] for table in some)
            begin = end
        start += n


def _short_step(size: int, least: int) -> int:
    """Return the power of two next below `size`, from `least` to `CHUNK`."""
    return min(max(1 << max(size.bit_length() - 1, 0), least), CHUNK)
