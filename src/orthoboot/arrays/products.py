"""Matrix products so small that the linear algebra library starts no threads.

Where parts of the data have a thread each already, its own threads would wait for one another.
"""

from __future__ import annotations

import numpy as np

from orthoboot.typing import FloatArray

_MULTIPLICATIONS = 1 << 18
"""OpenBLAS starts no threads for matrix products of so many multiplications."""
_ROWS = 256
"""Rows to add up at once, at least where there are so many: enough that a product is worth its call."""
_ALIKE = 8
"""Rows of every product of `product_alike`: the library rounds by the shape of a product, and not by a row's place."""


def product_in_one_thread(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return ``left @ right``, shapes ``(b, m)`` and ``(m, p)``.

    Examples
    --------
    >>> product_in_one_thread(np.ones((2, 3)), np.eye(3))
    array([[1., 1., 1.],
           [1., 1., 1.]])
    """
    (b, m), p = left.shape, right.shape[1]
    total = np.zeros((b, p))
    columns = min(p, max(_MULTIPLICATIONS // max(b * min(m, _ROWS), 1), 1))
    rows = max(_MULTIPLICATIONS // max(b * columns, 1), 1)
    for first in range(0, p, max(columns, 1)):
        some = slice(first, first + columns)
        for start in range(0, m, rows):
            total[:, some] += left[:, start : start + rows] @ right[start : start + rows, some]
    return total


def product_alike(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return ``left @ right``, shapes ``(b, m)`` and ``(m, p)``, each row computed alike whatever the other rows.

    A product of more rows may add in another order. So all products here have eight rows, the last one rows of zeros
    where there are fewer, and are so small that the library starts no threads.

    Examples
    --------
    >>> product_alike(np.ones((2, 3)), np.eye(3))
    array([[1., 1., 1.],
           [1., 1., 1.]])
    """
    (b, m), p = left.shape, right.shape[1]
    n_blocks = -(-b // _ALIKE)
    if b % _ALIKE:
        left = np.concatenate([left, np.zeros((n_blocks * _ALIKE - b, m))])
    blocks = left.reshape(n_blocks, _ALIKE, m)
    total = np.zeros((n_blocks, _ALIKE, p))
    columns = min(max(p, 1), _MULTIPLICATIONS // (_ALIKE * _ROWS))
    rows = _MULTIPLICATIONS // (_ALIKE * columns)
    for first in range(0, p, columns):
        some = slice(first, first + columns)
        for start in range(0, m, rows):
            total[:, :, some] += blocks[:, :, start : start + rows] @ right[start : start + rows, some]
    return total.reshape(n_blocks * _ALIKE, p)[:b]
