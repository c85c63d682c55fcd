"""Where the rows of a block that is read part by part lie among those of their strata."""

from __future__ import annotations

from dataclasses import dataclass
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
        """Return what tells the strata of the blocks of a part, which must come in their order."""
        strata, rows = self.before[part]
        seen = np.zeros(self.sizes.size, dtype=np.int64)
        seen[strata] = rows
        return PartStrata(self, seen)


@dataclass(frozen=True, eq=False)
class PartStrata:
    """The strata of the blocks of one part.

    Attributes
    ----------
    whole
        The strata of all rows.
    seen
        The rows of each stratum before the next block.
    """

    whole: StrataOfParts
    seen: IntArray

    def next_block(self, rows: Rows) -> BlockStrata:
        """Return the strata of the next block of the part."""
        table = rows[self.whole.table]
        labels = np.asarray(table.reshape(len(table), -1)[:, self.whole.column], dtype=np.float64)
        numbers = self.whole.numbers[np.searchsorted(self.whole.labels, labels)]
        counts = np.bincount(numbers, minlength=self.seen.size)
        strata = np.flatnonzero(counts)
        ends = np.concatenate([[0], np.cumsum(counts[strata])])
        found = BlockStrata(_stable_order(numbers, self.seen.size), strata, ends, self.seen[strata])
        np.add(self.seen, counts, out=self.seen)
        return found


def _stable_order(numbers: IntArray, bound: int) -> IntArray:
    """Return the order that sorts whole numbers below a bound; numpy takes a time linear in them if they are short."""
    short = numbers.astype(np.uint16) if bound <= 1 << 16 else numbers
    return np.argsort(short, kind="stable")


def consecutive(firsts: IntArray, lengths: IntArray) -> IntArray:
    """Return so many consecutive numbers from each of the first ones.

    Examples
    --------
    >>> consecutive(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    before = np.cumsum(lengths) - lengths
    return np.repeat(firsts - before, lengths) + np.arange(lengths.sum())
