"""The slope of the replicates on their control, from sums over them."""

from __future__ import annotations

import numpy as np

from orthoboot.typing import FloatArray

PRIOR_REPLICATES = 5.0
"""How many replicates with slope one the prior is worth, before the data speak against it."""

TRUSTED_PRIOR = 20.0
"""The same for the library's own influence functions of smooth statistics, whose slope is one to first order."""

DOUBT = 3.0
"""The t statistic against slope one beyond which the prior yields.

With 2 a right influence function loses more at B = 5, where a t statistic of 2 is common, than a wrong one gains;
``benchmarks/variance_table.py`` shows both.
"""


def prior_replicates(
    size: int,
    total: FloatArray,
    residual: FloatArray,
    cross: FloatArray,
    control: FloatArray,
    most: float = PRIOR_REPLICATES,
) -> FloatArray:
    """Return k, at most `most` and smaller where the replicates contradict slope one; the sums are of `Moments`."""
    t = np.abs(slope_t(size, residual, cross, control))
    doubt = np.minimum(1.0, ratio(DOUBT, t, otherwise=1.0) ** 2)
    worth = np.minimum(1.0, ratio(total, residual, otherwise=1.0)) ** 2
    prior: FloatArray = most * doubt * worth
    return prior


def slope_t(size: int, residual: FloatArray, cross: FloatArray, control: FloatArray) -> FloatArray:
    """Return the t statistic of the unshrunk slope against one; zero below four replicates, infinite for a perfect fit.

    It is the t statistic against zero of the slope of the residuals D on the control C.
    """
    if size < 4:
        return np.zeros_like(control)
    excess = ratio(cross, control, otherwise=0.0)
    remainder = np.maximum(residual - excess * cross, 0)
    spread = np.sqrt(ratio(remainder / (size - 2), control, otherwise=0.0))
    certain = np.where(excess == 0, 0.0, np.copysign(np.inf, excess))
    return ratio(excess, spread, otherwise=certain)


def ratio(numerator: FloatArray | float, denominator: FloatArray, *, otherwise: FloatArray | float) -> FloatArray:
    """Return the quotient where the denominator is positive, `otherwise` where it is not."""
    positive = denominator > 0
    # Mostly all are, and nothing has to be put in the place of others.
    if positive.all():
        return numerator / denominator
    return np.where(positive, numerator / np.where(positive, denominator, 1.0), otherwise)
