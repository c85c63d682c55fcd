"""The empirical influence values of a weights-aware statistic, by central differences in the weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from orthoboot.errors import InfluenceError
from orthoboot.execution.evaluations import evaluations
from orthoboot.execution.execution import Execution
from orthoboot.execution.progress import ProgressBar
from orthoboot.functionals.base import Prepared
from orthoboot.influence.engine_values import ROUNDING, EngineInfluence, SampleValues, complete_values, engine_influence
from orthoboot.influence.units import Units, UnitsMoved, units_of
from orthoboot.plans import Plan
from orthoboot.typing import FloatArray, IntArray

_ENGINE = "finite-difference"

_FIRST_ORDER_STEPS = (1e-4, 1e-1)
"""In units of ``1/sqrt(n)``: short, and for large values with small changes long."""

_SECOND_ORDER_STEP = 1e-3

_LONGER, _GROWTH, _NOTABLE = 8, 3, 0.1
"""A bias of more than a tenth of a standard error is that of a kink if eight times the step makes it a third."""

_ACCURACY = 1e-4
"""Rounding may be this share of the influence values before a longer step is taken."""

_EPSILON = float(np.finfo(np.float64).eps)


def finite_difference_influence(
    prepared: Prepared[Any], execution: Execution, plan: Plan | None = None
) -> EngineInfluence:
    """Return ``(phi(towards row j) - phi(away from row j)) / (2 step)`` for every row.

    Row j's weight grows at the cost of all: weights ``(1 - e) + e n`` on row j and ``1 - e`` elsewhere. It costs two
    evaluations a row, each of n weights. Where the value is so large beside its changes that rounding would show, the
    differences are taken again with a longer step.

    Where the plan draws whole groups their rows are moved together, ``(1 - e) + e G`` on group g of G, at two
    evaluations a group. The rows of a group share its difference, ``n / (G n_g)`` times it each: the mean of their own
    influence values for a function that does not change when all weights are multiplied.

    The second differences of the same evaluations give the bias, as in `finite_difference_bias`.
    """
    _check(prepared)
    samples = units_of(prepared.data.sizes, plan)
    with ProgressBar(2 * sum(units.number for units in samples), unit="evaluation", shown=execution.progress) as bar:
        return engine_influence([_differences(prepared, units, execution, bar) for units in samples], plan)


def _differences(prepared: Prepared[Any], units: Units, execution: Execution, bar: ProgressBar) -> SampleValues:
    """Return the first and second differences for the units of one sample; rounding alone counts as zero."""
    estimate = np.abs(prepared.estimate)
    for step in (step / np.sqrt(units.number) for step in _FIRST_ORDER_STEPS):
        rounding_of_values = _EPSILON * estimate / step
        towards, away = _moved(prepared, UnitsMoved(units, step), execution, bar)
        values = (towards - away) / (2 * step)
        values -= values.mean(axis=0)
        spread = np.abs(values).max(axis=0)
        if (rounding_of_values <= _ACCURACY * spread).all():
            break
    second = towards - 2 * prepared.centre + away
    # The rounding of the centre is the same in all second differences, and adds up.
    last_places = np.full_like(second, ROUNDING) * estimate
    bias, rounding = (_second_order(part, units.number, step) for part in (second, last_places))
    return SampleValues(units, np.where(spread > 10 * rounding_of_values, values, 0.0), bias, rounding)


def _second_order(second: FloatArray, number: int, step: float) -> FloatArray:
    """Return the bias from second differences ``(m, k)`` of `number` units that take one another's place."""
    bias: FloatArray = second.sum(axis=0) / (2 * step**2 * number**2)
    return bias


def finite_difference_bias(
    prepared: Prepared[Any],
    execution: Execution,
    standard_error: FloatArray | None = None,
    plan: Plan | None = None,
) -> FloatArray | None:
    """Return ``(1/2) sum_s sum_j d2_sj / n_s**2`` by second differences, shape ``(k,)``: two evaluations per unit.

    ``d2_sj`` is the second derivative towards unit j of the ``n_s`` that take one another's place: the rows of a sample
    or of a stratum, at the cost of these alone, or groups of rows. The counts of such units have the covariance
    ``I - 1 1'/n_s``, which is the sum of ``u u' / n_s**2`` over the directions ``u = n_s e_j - 1``; so the bias is
    exact for a statistic that is quadratic in the counts.

    None at a kink, where there is no second derivative and differences grow as one over the step: found where the bias
    is notable beside the standard error.

    Parameters
    ----------
    plan
        How the rows are drawn: independently, within strata, or as groups; rows where it is None.
    """
    _check(prepared)
    bias, kinked = np.zeros_like(prepared.centre), False
    least = np.inf if standard_error is None else _NOTABLE * standard_error
    sources = [_second_order_moves(units, plan) for units in units_of(prepared.data.sizes, plan)]
    with ProgressBar(sum(2 * len(one.movable) for one in sources), unit="evaluation", shown=execution.progress) as bar:
        for source in sources:
            towards, away = _moved(prepared, source, execution, bar)
            second = towards - 2 * prepared.centre + away
            # In every stratum a step times the number of rows that share it is the same.
            own = _second_order(second, source.units.number, source.step)
            bias += own
            notable = np.flatnonzero(np.abs(own) > least)
            kinked = kinked or (notable.size > 0 and _has_kink(prepared, source, second, notable))
    return None if kinked else bias


def _second_order_moves(units: Units, plan: Plan | None) -> UnitsMoved:
    strata = None if plan is None else plan.schemes[units.sample].stratum_codes
    return UnitsMoved(units, _SECOND_ORDER_STEP / np.sqrt(units.number), strata)


def _has_kink(prepared: Prepared[Any], source: UnitsMoved, second: FloatArray, outputs: IntArray) -> bool:
    """Return whether second differences ``(m, k)`` grow with a shorter step, at the largest of each of some outputs."""
    places = np.argmax(np.abs(second[:, outputs]), axis=0)
    longer = replace(source, step=_LONGER * source.step)
    evaluation = prepared.evaluate(longer.resamples([*places, *(places + len(second))]))
    towards, away = np.split(complete_values(_ENGINE, evaluation)[:, outputs], 2)
    long = np.diag(towards - 2 * prepared.centre[outputs] + away) / _LONGER**2
    return bool((np.abs(second[places, outputs]) > _GROWTH * np.abs(long)).any())


def _check(prepared: Prepared[Any]) -> None:
    if not prepared.functional.fractional:
        raise InfluenceError(
            'influence="finite-difference" needs a statistic with a `weights` parameter; this one gets whole rows. '
            'Give it one, or use influence="jackknife".'
        )


def _moved(
    prepared: Prepared[Any], source: UnitsMoved, execution: Execution, bar: ProgressBar
) -> tuple[FloatArray, FloatArray]:
    """Return phi with the weight of each unit that can move, in turn moved up and down, each ``(m, k)``."""
    within = "" if source.strata is None else " within strata"
    section = f"{_ENGINE}{source.units.name}{within} {source.units.sample} {source.step!r}"
    evaluation = evaluations(prepared, source, 2 * len(source.movable), execution, section, bar)
    towards, away = np.split(complete_values(_ENGINE, evaluation), 2)
    return towards, away
