"""Type aliases."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

Key = tuple[int, int]
"""The two 64-bit words that seed every random number of a run."""

Influence = tuple[FloatArray, ...]
"""One ``(n_i, k)`` array per sample, each column of mean zero."""
