"""Exact moments of the linear part's distribution."""

from __future__ import annotations

import numpy as np

from orthoboot.plans import Plan
from orthoboot.typing import FloatArray, Influence


def acceleration(plan: Plan, influence: Influence) -> FloatArray:
    """Return ``k3 / (6 sigma**3)`` of the linear part for each output, shape ``(k,)``; zero where it is constant.

    For independent rows this is ``sum I**3 / (6 (sum I**2)**1.5)``, the acceleration of BCa and ABC.
    """
    second, third = plan.variance(influence), plan.third_cumulant(influence)
    # Influence values may be tiny numbers in the user's units: their cube must not vanish against one.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(second > 0, third / (6 * second**1.5), 0.0)
