"""How far a fit is from its solution, in the unit that matters for its use."""

from __future__ import annotations

import numpy as np

from orthoboot.typing import FloatArray


def largest_shift(shifts: FloatArray, influence: FloatArray) -> float:
    """Return the largest of `shifts` in units of the standard errors that the influence gives, 0 where none varies.

    Parameters
    ----------
    shifts
        By how much each output moves, of either sign, shape ``(k,)``.
    influence
        Of the rows on the outputs, centred or not, shape ``(n, k)``. Outputs that do not vary are left out.

    Examples
    --------
    >>> influence = np.array([[-2.0, 0.0], [2.0, 0.0], [-2.0, 0.0], [2.0, 0.0]])
    >>> largest_shift(np.array([-3.0, 5.0]), influence)  # a standard error of one, and none
    3.0
    """
    errors = influence.std(axis=0) / np.sqrt(len(influence))
    varies = errors > 0
    return float(np.max(np.abs(shifts[varies]) / errors[varies], initial=0.0))
