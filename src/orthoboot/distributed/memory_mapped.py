"""Arrays of numpy that lie in files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from orthoboot.data.sources import Result, Rows, Source, Task
from orthoboot.distributed.blocks import STEP, Array, block_rows, check_same_rows, width_of
from orthoboot.distributed.columns import layout_of
from orthoboot.distributed.in_order import in_order

_PART_ROWS = 2**22
_FEWEST_PARTS = 8
"""So that no processor is idle for long; whatever their number, since sums over the parts must not depend on it."""


@dataclass(frozen=True)
class MappedArrays(Source):
    """Arrays of which at least one is mapped from a file; a part is a stretch of rows.

    What was read stays in the page cache of the system, which drops it where memory is needed for something else.
    """

    loads_itself = True
    arrays: tuple[Array, ...]
    part_rows: int
    columns: tuple[tuple[str, ...] | None, ...]
    shapes: tuple[tuple[int, ...], ...]
    n_parts: int

    def each(self, task: Task[Result]) -> Iterator[Result]:
        """Yield what `task` returns for each part, computed in threads."""
        return in_order(partial(self._done, task, part) for part in range(self.n_parts))

    def part_name(self, part: int) -> str:
        """Return the rows of a part."""
        stretch = self._stretch(part)
        return f"rows {stretch.start} to {stretch.stop - 1} (counted from 0)"

    def _done(self, task: Task[Result], part: int) -> Result:
        return task(part, self._blocks(part))

    def _stretch(self, part: int) -> range:
        return range(part * self.part_rows, min((part + 1) * self.part_rows, len(self.arrays[0])))

    def _blocks(self, part: int) -> Iterator[Rows]:
        stretch, rows = self._stretch(part), block_rows(width_of(self.shapes))
        for start in stretch[::rows]:
            yield tuple(_read_only(array, start, min(start + rows, stretch.stop)) for array in self.arrays)


def mapped_source(containers: Sequence[Array], labels: Sequence[str]) -> MappedArrays:
    """Return arrays of numpy with the same rows as a source."""
    layouts = [
        layout_of(np.empty((0, *one.shape[1:]), one.dtype), label)
        for one, label in zip(containers, labels, strict=True)
    ]
    check_same_rows([len(container) for container in containers], labels=labels)
    n_rows = len(containers[0])
    part_rows = _part_rows(n_rows)
    return MappedArrays(
        arrays=tuple(np.asarray(container) for container in containers),
        part_rows=part_rows,
        columns=(None,) * len(containers),
        shapes=tuple(layout.shape for layout in layouts),
        n_parts=-(-n_rows // part_rows),
    )


def _part_rows(n_rows: int) -> int:
    share = -(-n_rows // _FEWEST_PARTS)
    return max(STEP, -(-min(share, _PART_ROWS) // STEP) * STEP)


def _read_only(array: Array, start: int, stop: int) -> Array:
    """Return rows that nobody can write to, since that would change the file, in the byte order of this machine."""
    rows = array[start:stop].view()
    rows.flags.writeable = False
    native: Any = rows.dtype.newbyteorder("=")
    return rows.astype(native, copy=False)
