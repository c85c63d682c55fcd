"""The values that an influence engine needs, and what it finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from orthoboot.arrays.units import root_mean_square
from orthoboot.errors import InfluenceError
from orthoboot.functionals.evaluation import Evaluation
from orthoboot.influence.units import Units
from orthoboot.plans import Cluster, Iid, Plan
from orthoboot.typing import FloatArray, Influence

LARGEST_BIAS = 0.5
"""In standard errors: the largest second-order bias that is taken for that of a smooth statistic.

At a kink changes of first order remain in it: of medians of 21 to 101 normal rows one in ten was below.
"""

ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""Relative rounding error of a function of many rows."""

_LARGEST_ROUNDING = 0.01
"""In standard errors: the rounding up to which a second-order bias is known."""


class EngineInfluence(NamedTuple):
    """What the evaluations of an engine say.

    Attributes
    ----------
    values
        The influence values, one ``(n_i, k)`` array per sample.
    second_order_bias
        Shape ``(k,)``, NaN where it cannot be trusted; None if the engine does not find it.
    """

    values: Influence
    second_order_bias: FloatArray | None = None


class SampleValues(NamedTuple):
    """What an engine finds for the G units of one sample.

    Attributes
    ----------
    units
        The units that were changed in turn.
    values
        Their influence values, shape ``(G, k)``.
    second_order_bias, rounding
        What moving one unit for another adds to the bias, and the rounding in it, shape ``(k,)`` each.
    """

    units: Units
    values: FloatArray
    second_order_bias: FloatArray
    rounding: FloatArray


def engine_influence(samples: Sequence[SampleValues], plan: Plan | None) -> EngineInfluence:
    """Return what an engine found for all samples; a bias only where the units of a sample replace one another.

    That is not so within strata and in blocks, where moving one row at the cost of all is no change that is drawn.
    """
    values = tuple(sample.units.shared(sample.values) for sample in samples)
    if plan is not None and not all(isinstance(scheme, (Iid, Cluster)) for scheme in plan.schemes):
        return EngineInfluence(values)
    standard_error = np.hypot.reduce([linear_error(sample.values) for sample in samples])
    biases = np.array([sample.second_order_bias for sample in samples])
    # Sample by sample, since two kinks may cancel.
    is_smooth = (np.abs(biases) <= LARGEST_BIAS * standard_error).all(axis=0)
    rounding = np.sum([sample.rounding for sample in samples], axis=0)
    is_known = is_smooth & (rounding <= _LARGEST_ROUNDING * standard_error)
    return EngineInfluence(values, np.where(is_known, biases.sum(axis=0), np.nan))


def linear_error(values: FloatArray) -> FloatArray:
    """Return the standard error of the linear part of G units from their influence values ``(G, k)``."""
    error: FloatArray = root_mean_square(values) / np.sqrt(len(values))
    return error


def complete_values(engine: str, evaluation: Evaluation) -> FloatArray:
    """Return the values at all weights of an engine; raise if the statistic failed at some of them."""
    failure = evaluation.first_failure
    if failure is None:
        return evaluation.values
    if failure.raised:
        raise InfluenceError(f'influence="{engine}" failed, since the statistic raised {failure.reason}.')
    raise not_finite(engine)


def not_finite(engine: str) -> InfluenceError:
    """Return the error of an engine whose values are not finite."""
    return InfluenceError(
        f'influence="{engine}" gave values that are not finite: the statistic is not differentiable at these data, '
        'or undefined when a row is left out; use estimator="standard" or give `influence` yourself.'
    )
