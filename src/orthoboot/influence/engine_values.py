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

_LARGEST_BIAS = 0.5
"""In standard errors: the largest second-order bias that is taken for that of a smooth statistic.

At a kink differences of first order remain in it, several standard errors for a median.
"""


class EngineInfluence(NamedTuple):
    """What the evaluations of an engine say.

    Attributes
    ----------
    values
        The influence values, one ``(n_i, k)`` array per sample.
    bias
        The second-order bias, shape ``(k,)``, NaN where it cannot be trusted; None if the engine does not find it.
    """

    values: Influence
    bias: FloatArray | None = None


class SampleValues(NamedTuple):
    """What an engine finds for the units of one sample: their influence values ``(G, k)`` and the bias ``(k,)``."""

    units: Units
    influence: FloatArray
    bias: FloatArray


def engine_influence(samples: Sequence[SampleValues], plan: Plan | None) -> EngineInfluence:
    """Return what an engine found for all samples; a bias only where the units of a sample replace one another.

    That is not so within strata and in blocks, where moving one row at the cost of all is no change that is drawn.
    """
    values = tuple(sample.units.shared(sample.influence) for sample in samples)
    if plan is not None and not all(isinstance(scheme, (Iid, Cluster)) for scheme in plan.schemes):
        return EngineInfluence(values)
    errors = [root_mean_square(sample.influence) / np.sqrt(sample.units.number) for sample in samples]
    bias = np.sum([sample.bias for sample in samples], axis=0)
    return EngineInfluence(values, np.where(np.abs(bias) <= _LARGEST_BIAS * np.hypot.reduce(errors), bias, np.nan))


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
