"""Influence values of any statistic by leaving out one row, or one group, at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoboot.execution.evaluations import evaluations
from orthoboot.execution.execution import Execution
from orthoboot.execution.progress import ProgressBar
from orthoboot.functionals.base import Prepared
from orthoboot.influence.engine_values import (
    LARGEST_BIAS,
    ROUNDING,
    EngineInfluence,
    SampleValues,
    complete_values,
    engine_influence,
    linear_error,
)
from orthoboot.influence.units import Units, UnitsLeftOut, UnitsTwice, units_of
from orthoboot.plans import Plan
from orthoboot.typing import FloatArray


def jackknife_influence(prepared: Prepared[Any], execution: Execution, plan: Plan | None = None) -> EngineInfluence:
    r"""Return ``(n - 1) (phi_hat - phi_without_j)``, centred: one evaluation per row (R's ``empinf(type = "jack")``).

    Where the plan draws whole groups these are left out instead: rows left out one by one would not show what varies
    between groups. The rows of a group share its value, ``n / (G n_g) (G - 1) (phi_hat - phi_without_g)`` each.

    The same evaluations, and one more with all rows of a sample twice, give the second-order bias of the bootstrap,

    .. math:: \sum_i \Bigl(1 - \frac1{n_i}\Bigr) \Bigl[(n_i - 1) (\bar\phi_{(i)} - \hat\phi)
              + 2 (\phi_{i\,\text{twice}} - \hat\phi)\Bigr],

    with the mean of the values without a row. It is exact for a statistic that is quadratic in the shares of the rows.
    The second term takes out what depends on the number of rows alone, to order 1/n, as a divisor n - 1 does. A bias of
    more than half a standard error is not trusted: the statistic may have a kink.
    """
    samples = units_of(prepared.data.sizes, plan)
    in_all = sum(units.number for units in samples) + (0 if prepared.functional.fractional else len(samples))
    with ProgressBar(in_all, unit="evaluation", shown=execution.progress) as bar:
        return engine_influence([_left_out(prepared, units, execution, bar) for units in samples], plan)


def _left_out(prepared: Prepared[Any], units: Units, execution: Execution, bar: ProgressBar) -> SampleValues:
    """Return how the statistic changes when the units of one sample are left out in turn."""
    section = f"jackknife{units.name} {units.sample}"
    evaluation = evaluations(prepared, UnitsLeftOut(units), units.number, execution, section, bar)
    without = complete_values("jackknife", evaluation)
    values = _centred((units.number - 1) * (prepared.estimate - without), prepared.estimate)
    # Not about the estimate: a fit that stops at its tolerance is n times that far from the others.
    left_out = (units.number - 1) * (without.mean(axis=0) - prepared.centre)
    twice = 2 * (_twice(prepared, units, execution, bar) - prepared.centre)
    bias = (1 - 1 / units.number) * (left_out + twice)
    # What falls with another power of the number of rows, as a standard error does, is no expansion in 1/n.
    is_expanded = np.abs(twice) <= LARGEST_BIAS * linear_error(values)
    return SampleValues(units, values, np.where(is_expanded, bias, np.nan), _rounding(units.number, prepared.centre))


def _twice(prepared: Prepared[Any], units: Units, execution: Execution, bar: ProgressBar) -> FloatArray:
    """Return the statistic with all rows of one sample twice, shape ``(k,)``; NaN where it fails.

    One that takes weights does not change when all of them do.
    """
    if prepared.functional.fractional:
        return prepared.centre
    section = f"jackknife{units.name} {units.sample} twice"
    value: FloatArray = evaluations(prepared, UnitsTwice(units), 1, execution, section, bar).values[0]
    return value


def _rounding(number: int, value: FloatArray) -> FloatArray:
    """Return how far rounding may move n differences of a value in the same direction."""
    return number * ROUNDING * np.abs(value)


def _centred(values: FloatArray, estimate: FloatArray) -> FloatArray:
    """Return `values` minus their mean; columns that are rounding alone are set to zero."""
    rounding = len(values) * float(np.finfo(np.float64).eps) * np.abs(estimate)
    centred = values - values.mean(axis=0)
    return np.where(np.abs(centred).max(axis=0) > 10 * rounding, centred, 0.0)
