"""Type aliases."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

Value = Any
"""What a statistic returns, in its own shape: a float, an array, or a dict of these; or what goes by samples.

Which one is known when it is computed. A union would have every reader of a number tell it apart from a dict.
"""

Key = tuple[int, int]
"""The two 64-bit words that seed every random number of a run."""

Influence = tuple[FloatArray, ...]
"""One ``(n_i, k)`` array per sample, each column of mean zero."""
