"""Where the rows of a block that is read part by part lie among those of their strata."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from orthoboot.data.sources import Rows
from orthoboot.typing import FloatArray, IntArray


class BlockStrata(NamedTuple):
    """The rows of a block stratum by stratum; those of one stratum have consecutive numbers within it.

    Attributes
    ----------
    order
        The rows of the block, stratum by stratum and in their order within each, shape ``(m,)``.
    strata
        The strata of which the block has rows, ascending, shape ``(r,)``.
    ends
        Where those of each begin in `order`, and the end, shape ``(r + 1,)``.
    firsts
        The number within its stratum of the first row of each, shape ``(r,)``.
    """

    order: IntArray
    strata: IntArray
    ends: IntArray
    firsts: IntArray

    @property
    def of_rows(self) -> IntArray:
        """Return the stratum of each row, and the number that it has there, shape ``(2, m)``."""
        lengths = np.diff(self.ends)
        found = np.empty((2, self.order.size), dtype=np.int64)
        found[:, self.order] = np.repeat(self.strata, lengths), consecutive(self.firsts, lengths)
        return found


@dataclass(frozen=True, eq=False)
class StrataOfParts:
    """The strata of all rows, and how many rows of each lie before every part.

    Attributes
    ----------
    table, column
        Where the labels are in the rows of the source.
    labels
        The different labels in ascending order, shape ``(S,)``.
    numbers
        The stratum of each label, numbered by their first rows, shape ``(S,)``.
    sizes
        The rows of each stratum, shape ``(S,)``.
    before
        Of each part the strata that it has rows of, and the rows of these in the parts before it.
    """

    table: int
    column: int
    labels: FloatArray
    numbers: IntArray
    sizes: IntArray
    before: tuple[tuple[IntArray, IntArray], ...]

    def of_part(self, part: int) -> PartStrata:
        """Return what tells the strata of the blocks of a part."""
        strata, rows = self.before[part]
        seen = np.zeros(self.sizes.size, dtype=np.int64)
        seen[strata] = rows
        return PartStrata(self, seen)

    def labels_of(self, rows: Rows) -> FloatArray:
        """Return a copy of the labels of some rows."""
        table = rows[self.table]
        return np.array(table.reshape(len(table), -1)[:, self.column], dtype=np.float64)


class PartStrata:
    """The strata of the blocks of one part, found when they are asked for, which most passes do not.

    Parameters
    ----------
    whole
        The strata of all rows.
    seen
        The rows of each stratum before the part; of this object's own.
    """

    def __init__(self, whole: StrataOfParts, seen: IntArray) -> None:
        self._whole, self._seen = whole, seen
        self._waiting: list[FloatArray] = []
        self._n_read = 0
        self._last: BlockStrata | None = None

    def next_block(self, rows: Rows) -> Callable[[], BlockStrata]:
        """Return what finds the strata of the next block; it must be asked before any later block is."""
        self._waiting.append(self._whole.labels_of(rows))
        self._n_read += 1
        return partial(self._found, self._n_read)

    def _found(self, number: int) -> BlockStrata:
        while self._waiting and number > self._n_read - len(self._waiting):
            self._last = self._advanced(self._waiting.pop(0))
        assert self._last is not None
        assert number == self._n_read - len(self._waiting), "the strata of a later block were asked for before"
        return self._last

    def _advanced(self, labels: FloatArray) -> BlockStrata:
        numbers = self._whole.numbers[np.searchsorted(self._whole.labels, labels)]
        counts = np.bincount(numbers, minlength=self._seen.size)
        strata = np.flatnonzero(counts)
        ends = np.concatenate([[0], np.cumsum(counts[strata])])
        found = BlockStrata(_stable_order(numbers, self._seen.size), strata, ends, self._seen[strata])
        self._seen += counts
        return found


def _stable_order(numbers: IntArray, bound: int) -> IntArray:
    """Return the order that sorts whole numbers below a bound; numpy takes a time linear in them if they are short."""
    short = numbers.astype(np.uint16) if bound <= 1 << 16 else numbers
    return np.argsort(short, kind="stable")


def joined_strata(blocks: Sequence[BlockStrata]) -> BlockStrata:
    """Return the strata of the rows of consecutive blocks of one part, taken as one block."""
    sizes = np.array([block.order.size for block in blocks])
    before = np.cumsum(sizes) - sizes
    order = np.concatenate([block.order + start for block, start in zip(blocks, before, strict=True)])
    begins = np.concatenate([block.ends[:-1] + start for block, start in zip(blocks, before, strict=True)])
    lengths = np.concatenate([np.diff(block.ends) for block in blocks])
    strata, firsts = (np.concatenate(one) for one in zip(*((b.strata, b.firsts) for b in blocks), strict=True))
    runs = np.argsort(strata, kind="stable")
    found, place = np.unique(strata[runs], return_index=True)
    ends = np.concatenate([[0], np.cumsum(np.add.reduceat(lengths[runs], place))])
    return BlockStrata(order[consecutive(begins[runs], lengths[runs])], found, ends, firsts[runs][place])


def consecutive(firsts: IntArray, lengths: IntArray) -> IntArray:
    """Return so many consecutive numbers from each of the first ones.

    Examples
    --------
    >>> consecutive(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    before = np.cumsum(lengths) - lengths
    return np.repeat(firsts - before, lengths) + np.arange(lengths.sum())
