"""Products of all pairs of columns, and their sums as symmetric matrices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orthoboot.typing import FloatArray, IntArray


class Strip(NamedTuple):
    """Pairs that follow each other: a first column with some others.

    Attributes
    ----------
    first, others
        The numbers of the columns.
    places
        Where the pairs stand among those that are asked for.
    """

    first: int
    others: slice
    places: slice


def pair_columns(columns: FloatArray) -> FloatArray:
    """Return the products of all pairs of columns ``(d, m)``, each with itself too, shape ``(d (d + 1) / 2, m)``."""
    d, m = columns.shape
    pairs = np.empty((d * (d + 1) // 2, m))
    store_pairs(columns, strips_of(d, range(len(pairs))), pairs)
    return pairs


def strips_of(d: int, numbers: range) -> Iterator[Strip]:
    """Yield the pairs of d columns with some numbers, where each column is paired with itself and all after it."""
    start = 0
    for first in range(d):
        low, high = max(start, numbers.start), min(start + d - first, numbers.stop)
        if low < high:
            shift, before = first - start, numbers.start
            yield Strip(first, slice(low + shift, high + shift), slice(low - before, high - before))
        start += d - first


def store_pairs(columns: NDArray[Any], strips: Iterable[Strip], out: NDArray[Any]) -> None:
    """Write the products of some pairs of columns ``(d, m)`` into `out`, pair by pair."""
    for first, others, places in strips:
        np.multiply(columns[first], columns[others], out=out[places])


def symmetric(sums: NDArray[Any], d: int) -> NDArray[Any]:
    """Return sums of `pair_columns`, shape ``(..., d (d + 1) / 2)``, as symmetric matrices ``(..., d, d)``."""
    places: IntArray = np.empty((d, d), dtype=np.int64)
    upper = np.triu_indices(d)
    places[upper] = np.arange(len(upper[0]))
    places.T[upper] = places[upper]
    return sums[..., places]
