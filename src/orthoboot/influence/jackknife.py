"""Influence values of any statistic by leaving out one row, or one group, at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoboot.execution.evaluations import evaluations
from orthoboot.execution.execution import Execution
from orthoboot.execution.progress import ProgressBar
from orthoboot.functionals.base import Prepared
from orthoboot.influence.engine_values import EngineInfluence, SampleValues, complete_values, engine_influence
from orthoboot.influence.units import Units, UnitsLeftOut, units_of
from orthoboot.plans import Plan
from orthoboot.typing import FloatArray


def jackknife_influence(prepared: Prepared[Any], execution: Execution, plan: Plan | None = None) -> EngineInfluence:
    r"""Return ``(n - 1) (phi_hat - phi_without_j)``, centred: one evaluation per row (R's ``empinf(type = "jack")``).

    Where the plan draws whole groups these are left out instead: rows left out one by one would not show what varies
    between groups. The rows of a group share its value, ``n / (G n_g) (G - 1) (phi_hat - phi_without_g)`` each.

    The same evaluations give the second-order bias of the bootstrap,

    .. math:: \sum_i \frac{(n_i - 1)^2}{n_i} \Bigl(\frac1{n_i} \sum_j \phi_{(ij)} - \hat\phi\Bigr),

    ``(n - 1)/n`` times Quenouille's, exact for a statistic that is quadratic in the shares of the rows. At a kink
    differences of first order stay in it, so a bias of more than half a standard error is not trusted.
    """
    samples = units_of(prepared.data.sizes, plan)
    with ProgressBar(sum(units.number for units in samples), unit="evaluation", shown=execution.progress) as bar:
        return engine_influence([_left_out(prepared, units, execution, bar) for units in samples], plan)


def _left_out(prepared: Prepared[Any], units: Units, execution: Execution, bar: ProgressBar) -> SampleValues:
    """Return the changes of the statistic when the units of one sample are left out in turn."""
    section = f"jackknife{units.name} {units.sample}"
    evaluation = evaluations(prepared, UnitsLeftOut(units), units.number, execution, section, bar)
    changes = (units.number - 1) * (prepared.estimate - complete_values("jackknife", evaluation))
    return SampleValues(units, _centred(changes, prepared.estimate), -(1 - 1 / units.number) * changes.mean(axis=0))


def _centred(values: FloatArray, estimate: FloatArray) -> FloatArray:
    """Return `values` minus their mean; columns that are rounding alone are set to zero."""
    rounding = len(values) * float(np.finfo(np.float64).eps) * np.abs(estimate)
    centred = values - values.mean(axis=0)
    return np.where(np.abs(centred).max(axis=0) > 10 * rounding, centred, 0.0)
