"""Influence values of any statistic by leaving out one row, or one group, at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoboot.execution.evaluations import evaluations
from orthoboot.execution.execution import Execution
from orthoboot.execution.progress import ProgressBar
from orthoboot.functionals.base import Prepared
from orthoboot.influence.engine_values import complete_values
from orthoboot.influence.units import UnitsLeftOut, units_of
from orthoboot.plans import Plan
from orthoboot.typing import FloatArray, Influence


def jackknife_influence(prepared: Prepared[Any], execution: Execution, plan: Plan | None = None) -> Influence:
    """Return ``(n - 1) (phi_hat - phi_without_j)``, centred: one evaluation per row (R's ``empinf(type = "jack")``).

    Where the plan draws whole groups these are left out instead: rows left out one by one would not show what varies
    between groups. The rows of a group share its value, ``n / (G n_g) (G - 1) (phi_hat - phi_without_g)`` each.
    """
    samples, estimate = units_of(prepared.data.sizes, plan), prepared.estimate
    columns = []
    with ProgressBar(sum(units.number for units in samples), unit="evaluation", shown=execution.progress) as bar:
        for units in samples:
            section = f"jackknife{units.name} {units.sample}"
            evaluation = evaluations(prepared, UnitsLeftOut(units), units.number, execution, section, bar)
            without = complete_values("jackknife", evaluation)
            columns.append(units.shared(_centred((units.number - 1) * (estimate - without), estimate)))
    return tuple(columns)


def _centred(values: FloatArray, estimate: FloatArray) -> FloatArray:
    """Return `values` minus their mean; columns that are rounding alone are set to zero."""
    rounding = len(values) * float(np.finfo(np.float64).eps) * np.abs(estimate)
    centred = values - values.mean(axis=0)
    return np.where(np.abs(centred).max(axis=0) > 10 * rounding, centred, 0.0)
