"""The values that an influence engine needs."""

from __future__ import annotations

from orthoboot.errors import InfluenceError
from orthoboot.functionals.evaluation import Evaluation
from orthoboot.typing import FloatArray


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
