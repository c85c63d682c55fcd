"""How far two computations of the same number may be apart where only the order of their sums differs.

The kernels of BLAS, LAPACK, torch and XLA add in an order of their own: it depends on the processor, on the number of
threads, on the shapes of the arrays and on where these lie in memory. What they compute is equal to rounding, and what
rounding does to a result is derived here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SEARCH = 1e-4
"""Standard errors between two searches for the minimum of a network that round differently. Each ends where what is
left to fall, measured with the curvature that it has learned, is 1e-10 of the error of estimation: a hundred-thousandth
of a standard error from the minimum. There are two of them, and the exact curvature may be several times the learned
one."""


def trained(n_steps: int, learning_rate: float, dtype: Any = np.float64) -> float:
    """Return by how much parameters may differ after so many steps of Adam.

    A gradient g is a sum; with terms of size S its rounding is of size eps S. Adam divides by the size of g itself, so
    that a step moves by ``learning_rate * eps * S / |g|``. A thousand is for S over |g|, and the steps add up. Of long
    trainings with large steps this is not true, since they magnify what has come before (docs/torch.md).
    """
    return 1e3 * float(np.finfo(dtype).eps) * n_steps * learning_rate
