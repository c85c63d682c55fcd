"""Rows in blocks: how many at a time, and cut alike however a library hands them out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import zip_longest
from typing import Any

import numpy as np

from orthoboot.data.sources import Rows
from orthoboot.errors import ArgumentError, DataError

Array = np.ndarray[Any, Any]

STEP = 2**13
"""Sums over rows are built from stretches of this many, so that blocks and parts begin at multiples of it."""

_MOST_ROWS = 2**16
_NUMBERS = 2**22
"""About how many numbers a block holds where rows are wide."""

_APART = 61
"""Of so many rows one is looked at to see whether a second reading gives the same."""

_LABELS = ("groups", "strata")
"""Tables that hold the labels of the rows of the others."""


def width_of(shapes: Sequence[tuple[int, ...]]) -> int:
    """Return how many numbers a row has, all tables together."""
    return sum(int(np.prod(shape)) for shape in shapes)


def block_rows(width: int) -> int:
    """Return how many rows of `width` numbers a block holds: a power of two, fewer where rows are wide."""
    fitting = 1 << max(_NUMBERS // max(width, 1), 1).bit_length() - 1
    return max(STEP, min(_MOST_ROWS, fitting))


def cut(arrays: Iterator[Array], rows: int) -> Iterator[Array]:
    """Yield the same rows in arrays of `rows` each, and fewer in the last.

    Examples
    --------
    >>> [piece.tolist() for piece in cut(iter([np.array([1, 2, 3]), np.array([4]), np.array([5])]), 2)]
    [[1, 2], [3, 4], [5]]
    """
    waiting: list[Array] = []
    held = 0
    for array in arrays:
        start = 0
        while start < len(array):
            waiting.append(array[start : start + rows - held])
            start += len(waiting[-1])
            held += len(waiting[-1])
            if held == rows:
                yield _joined(waiting)
                waiting, held = [], 0
    if held:
        yield _joined(waiting)


def _joined(arrays: list[Array]) -> Array:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def some_rows(block: Rows) -> bytes:
    """Return a digest of how many rows a block has, the first, the last and some between.

    A sort with ties may keep the ends in place.
    """
    found = blake2b(len(block[0]).to_bytes(8, "little"), digest_size=16)
    for array in block:
        some = np.concatenate([array[::_APART], array[-1:]])
        found.update(np.ascontiguousarray(some, dtype=np.float64).tobytes())
    return found.digest()


def paired(
    tables: Sequence[Iterator[Array]], rows: int, place: str = "", labels: Sequence[str] = ("data",)
) -> Iterator[Rows]:
    """Yield blocks of `rows` rows of several tables side by side; `place` and `labels` as for `check_same_rows`."""
    for block in zip_longest(*(cut(arrays, rows) for arrays in tables)):
        check_same_rows([0 if array is None else len(array) for array in block], place, labels)
        yield block


def check_same_rows(counts: Sequence[int], place: str = "", labels: Sequence[str] = ("data",)) -> None:
    """Raise unless tables that are read side by side have as many rows as each other.

    Parameters
    ----------
    counts
        The rows of each.
    place
        Where these lie, if they are not all rows.
    labels
        What messages call the tables.
    """
    if len(set(counts)) == 1:
        return
    where = f" in {place}" if place else ""
    if labels[-1] in _LABELS and len(set(counts[:-1])) == 1:
        raise ArgumentError(
            f"`{labels[-1]}` must have one label per row; got {counts[-1]} labels for {counts[0]} rows{where}."
        )
    raise DataError(
        f"`data` must have the same rows in every table when `paired=True`; got {' and '.join(map(str, counts))} "
        f"rows{where or ' in all'}. Make all tables from one, so that their rows are divided alike."
    )
