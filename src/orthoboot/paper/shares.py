"""The error of a simulated share, such as a coverage."""

from __future__ import annotations

import math


def share_error(share: float, size: float) -> float:
    """Return the standard error of a share of `size` cases.

    A share of one has an error too: two successes and two failures are added before it is estimated (Agresti and
    Coull).

    Examples
    --------
    >>> round(share_error(0.95, 1000), 4), share_error(1.0, 1000) > 0
    (0.007, True)
    """
    likely = (share * size + 2) / (size + 4)
    return math.sqrt(likely * (1 - likely) / size)
