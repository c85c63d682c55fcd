"""Sums by pairs of inputs."""

from __future__ import annotations

import numpy as np

from orthoboot.typing import FloatArray


def folded_to_upper(entries: FloatArray) -> FloatArray:
    """Return entries ``(m, m, k)`` with those below the diagonal added to those above."""
    shape = entries.shape[:2]
    upper, lower = np.triu(np.ones(shape))[:, :, np.newaxis], np.tril(np.ones(shape), -1)[:, :, np.newaxis]
    found: FloatArray = upper * entries + (lower * entries).transpose(1, 0, 2)
    return found
