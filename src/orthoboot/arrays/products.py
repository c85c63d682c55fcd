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
