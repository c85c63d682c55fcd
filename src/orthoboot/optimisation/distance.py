"""Distances between fits, in standard errors."""

from __future__ import annotations

import numpy as np

from orthoboot.typing import FloatArray


def distance_in_errors(shifts: FloatArray, influence: FloatArray) -> float:
    r"""Return the largest shift among the outputs, each in its standard errors.

    .. math:: \max_k \frac{|\text{shift}_k|}{\operatorname{std}(I_{\cdot k}) / \sqrt{n}}

    An output that does not vary has no such unit, and does not count.

    Parameters
    ----------
    shifts
        How far each output is from where it should be, shape ``(k,)``.
    influence
        The influence of the rows on the outputs, centred or not, shape ``(n, k)``.

    Examples
    --------
    >>> distance_in_errors(np.array([0.5, 3.0]), np.array([[-2.0, 0.0], [2.0, 0.0], [-2.0, 0.0], [2.0, 0.0]]))
    0.5
    """
    errors = influence.std(axis=0) / np.sqrt(len(influence))
    varying = errors > 0
    return float(np.max(np.abs(shifts[varying]) / errors[varying], initial=0.0))
