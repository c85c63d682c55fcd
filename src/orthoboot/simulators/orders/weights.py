"""How much a part counts that is unbiased but noisy."""

from __future__ import annotations

import numpy as np

from orthoboot.typing import FloatArray

HALF_WEIGHT = 2.0
"""Size in errors at which a part has half of its weight."""


def shrinkage_weight(value: FloatArray, error: FloatArray, doubt: float = HALF_WEIGHT) -> FloatArray:
    """Return how much an unbiased but noisy part counts: ``z^4 / (z^4 + doubt^4)``, z its value over its error.

    Nearly one for what is well above its noise, so that the sum stays unbiased, and nearly zero for noise.
    """
    z4 = (value / np.where(error > 0, error, 1.0)) ** 4
    found: FloatArray = np.where(error > 0, z4 / (z4 + doubt**4), 1.0)
    return found


def weighted_error(value: FloatArray, error: FloatArray, doubt: float = HALF_WEIGHT) -> FloatArray:
    """Return the simulation error of a part times its weight, which moves with the part: the derivative of ``w z``."""
    z4 = (value / np.where(error > 0, error, 1.0)) ** 4
    slope = z4 / (z4 + doubt**4) + 4 * doubt**4 * z4 / (z4 + doubt**4) ** 2
    return np.asarray(slope * error)


def expected_share(expected: FloatArray, error: FloatArray) -> FloatArray:
    """Return how much a part counts by the size it may be expected to have: ``expected^2 / (expected^2 + error^2)``."""
    both = expected**2 + error**2
    return np.asarray(expected**2 / np.where(both > 0, both, 1.0))
