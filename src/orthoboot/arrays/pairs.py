"""Products of all pairs of columns, and their sums as symmetric matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orthoboot.typing import FloatArray, IntArray


def pair_columns(columns: FloatArray) -> FloatArray:
    """Return the products of all pairs of columns ``(d, m)``, each with itself too, shape ``(d (d + 1) / 2, m)``."""
    d, m = columns.shape
    pairs = np.empty((d * (d + 1) // 2, m))
    store_pairs(columns, range(d), pairs)
    return pairs


def store_pairs(columns: NDArray[Any], firsts: range, out: NDArray[Any]) -> None:
    """Write the products of some columns, each with itself and all that come after it, into `out`, pair by pair."""
    start = 0
    for i in firsts:
        stop = start + len(columns) - i
        np.multiply(columns[i], columns[i:], out=out[start:stop])
        start = stop


def symmetric(sums: NDArray[Any], d: int) -> NDArray[Any]:
    """Return sums of `pair_columns`, shape ``(..., d (d + 1) / 2)``, as symmetric matrices ``(..., d, d)``."""
    places: IntArray = np.empty((d, d), dtype=np.int64)
    upper = np.triu_indices(d)
    places[upper] = np.arange(len(upper[0]))
    places.T[upper] = places[upper]
    return sums[..., places]
