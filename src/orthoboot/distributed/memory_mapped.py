"""Arrays of numpy that lie in files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from mmap import ALLOCATIONGRANULARITY, mmap
from typing import Any

import numpy as np

from orthoboot.data.sources import Result, Rows, Source, Task
from orthoboot.distributed.blocks import STEP, Array, block_rows, check_same_rows, width_of
from orthoboot.distributed.columns import layout_of
from orthoboot.distributed.in_order import in_order
from orthoboot.errors import DataError
from orthoboot.typing import IntArray

_PART_ROWS = 2**22
_FEWEST_PARTS = 8
"""So that no processor is idle for long; whatever their number, since sums over the parts must not depend on it."""


@dataclass(frozen=True)
class _MappedFile:
    """A file that is mapped, up to the byte `end`."""

    map: mmap
    end: int
    label: str

    def check(self) -> None:
        """Raise if the file has become shorter: the system ends a process that reads what is no longer there."""
        try:
            size = self.map.size()
        except (OSError, ValueError):  # closed, or a map that keeps no hold of its file
            return
        if size < self.end:
            raise DataError(
                f"`{self.label}` must not change while it is read; got a file of {size:,} bytes, of which {self.end:,} "
                "were mapped. Rewrite the file and map it again."
            )


@dataclass(frozen=True)
class MappedArrays(Source):
    """Arrays of which at least one is mapped from a file; a part is a stretch of rows.

    What was read stays in the page cache of the system, which drops it where memory is needed for something else.
    """

    finds_rows = True
    loads_itself = True
    arrays: tuple[Array, ...]
    files: tuple[_MappedFile, ...]
    part_rows: int
    columns: tuple[tuple[str, ...] | None, ...]
    shapes: tuple[tuple[int, ...], ...]
    n_parts: int

    def each(self, task: Task[Result]) -> Iterator[Result]:
        """Yield what `task` returns for each part, computed in threads."""
        return in_order(partial(self._done, task, part) for part in range(self.n_parts))

    def at(self, rows: IntArray) -> Rows:
        """Return some of the rows; they are read as they lie in the file, so that a disc reads it from end to end."""
        self._check_files()
        order = np.argsort(rows, kind="stable")
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return tuple(_in_native_order(array[rows[order]])[back] for array in self.arrays)

    def part_name(self, part: int) -> str:
        """Return the rows of a part."""
        stretch = self._stretch(part)
        return f"rows {stretch.start} to {stretch.stop - 1} (counted from 0)"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the files: whoever unpickles has the arrays in memory."""
        return {**vars(self), "files": ()}

    def _done(self, task: Task[Result], part: int) -> Result:
        self._check_files()
        return task(part, self._blocks(part))

    def _check_files(self) -> None:
        for file in self.files:
            file.check()

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
        files=tuple(file for one, label in zip(containers, labels, strict=True) for file in _file(one, label)),
        part_rows=part_rows,
        columns=(None,) * len(containers),
        shapes=tuple(layout.shape for layout in layouts),
        n_parts=-(-n_rows // part_rows),
    )


def _file(array: Array, label: str) -> Iterator[_MappedFile]:
    """Yield the file that an array is mapped from, where it is."""
    if not isinstance(array, np.memmap):
        return
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap) and array.offset is not None:
        # Maps begin at a multiple of what the system allots.
        yield _MappedFile(base, array.offset - array.offset % ALLOCATIONGRANULARITY + len(base), label)


def _part_rows(n_rows: int) -> int:
    share = -(-n_rows // _FEWEST_PARTS)
    return max(STEP, -(-min(share, _PART_ROWS) // STEP) * STEP)


def _read_only(array: Array, start: int, stop: int) -> Array:
    """Return rows that nobody can write to, since that would change the file, in the byte order of this machine."""
    rows = array[start:stop].view()
    rows.flags.writeable = False
    return _in_native_order(rows)


def _in_native_order(rows: Array) -> Array:
    native: Any = rows.dtype.newbyteorder("=")
    return rows.astype(native, copy=False)
