"""Products of many rows and a small matrix, block by block, shared out among threads.

Up to 90 columns the linear algebra library starts no threads of its own for products of so few numbers, and each has
the same shape however the blocks are shared out: their bits do not depend on the number of threads.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from orthoboot.arrays.threads import run_here, run_tasks
from orthoboot.typing import FloatArray

_MULTIPLICATIONS_IN_ONE_THREAD = 1 << 18
"""OpenBLAS starts no threads for matrix products of so many multiplications."""
FEWEST_ROWS = 32
"""Blocks of fewer rows are slow."""
_MANY_ROWS = 4096
_NUMBERS_OF_A_PART = 1 << 15
"""Numbers of a part of a table that is one task among others: so many are worth a thread, and stay in its cache."""


def rows_times(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return ``rows @ matrix``, shape ``(n, k)``, for many rows and a small matrix."""
    (n, d), step = rows.shape, rows_of_a_product(matrix.size)
    products = np.empty((n, matrix.shape[1]))
    # Where the library has threads of its own, ours would wait for them.
    run = run_tasks if step * matrix.size <= _MULTIPLICATIONS_IN_ONE_THREAD else run_here
    run([partial(_store_products, rows[part], matrix, step, products[part]) for part in parts_of(n, d, step)])
    return products


def _store_products(rows: FloatArray, matrix: FloatArray, step: int, out: FloatArray) -> None:
    """Write ``rows @ matrix`` into `out`, some rows at a time."""
    n_blocks, (d, k) = len(rows) // step, matrix.shape
    whole = n_blocks * step
    np.matmul(rows[:whole].reshape(n_blocks, step, d), matrix, out=out[:whole].reshape(n_blocks, step, k))
    np.matmul(rows[whole:], matrix, out=out[whole:])


def products_with_themselves(columns: FloatArray) -> FloatArray:
    """Return ``columns' columns``, shape ``(d, d)``, added up block by block."""
    n, d = columns.shape
    rows = min(rows_of_a_product(d**2), max(_NUMBERS_OF_A_PART // d, FEWEST_ROWS), n)
    parts = parts_of(n, d, rows)
    sums = np.empty((len(parts), d, d))

    def store(number: int) -> None:
        blocks = blocks_of(columns[parts[number]], rows)
        # Of a copy, since the product of a matrix with itself is another routine, which may start threads.
        sums[number] = (blocks.transpose(0, 2, 1) @ blocks.copy()).sum(axis=0)

    run_tasks([partial(store, number) for number in range(len(parts))])
    products: FloatArray = sums.sum(axis=0)
    return products


def parts_of(n: int, d: int, rows: int = FEWEST_ROWS) -> list[slice]:
    """Return n rows of d columns in parts for threads, all but the last one a multiple of so many rows."""
    step = rows * max(_NUMBERS_OF_A_PART // (rows * d), 1)
    return [slice(start, start + step) for start in range(0, n, step)]


def blocks_of(matrix: FloatArray, rows: int) -> FloatArray:
    """Return the rows in blocks of equal size, the last one filled with zeros, shape ``(blocks, rows, columns)``."""
    n, columns = matrix.shape
    if n % rows:
        filled = np.zeros((-(-n // rows) * rows, columns))
        filled[:n] = matrix
        matrix = filled
    return matrix.reshape(-1, rows, columns)


def rows_of_a_product(size: int) -> int:
    """Return how many rows are multiplied at once with a matrix of so many numbers."""
    few = _MULTIPLICATIONS_IN_ONE_THREAD // size
    # Blocks of less are slow; with so many columns let the library have its threads.
    return few if few >= FEWEST_ROWS else _MANY_ROWS
