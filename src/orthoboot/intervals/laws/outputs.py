"""Functions of all outputs at once, whatever the shape of what they are asked for."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from orthoboot.typing import FloatArray


def by_output(function: Callable[[FloatArray], FloatArray], x: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Return a function of rows ``(k, m)``, one to an output, at an array of any shape.

    Parameters
    ----------
    function
        Takes and returns arrays of shape ``(k, m)``.
    x
        Of a shape that can be broadcast with `shape`.
    shape
        That of the outputs, which are k in all; ``()`` for one alone.

    Examples
    --------
    >>> by_output(lambda rows: rows + [[10], [20]], np.array([[1.0], [2.0], [3.0]]), (2,))
    array([[11., 21.],
           [12., 22.],
           [13., 23.]])
    """
    x = np.broadcast_to(x, np.broadcast_shapes(x.shape, shape))
    rows = x.reshape(-1, math.prod(shape)).T
    return np.ascontiguousarray(function(rows).T).reshape(x.shape)
