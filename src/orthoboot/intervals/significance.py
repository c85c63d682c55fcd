"""P-values by inverting intervals: the smallest alpha whose interval of level 1 - alpha excludes a value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orthoboot.errors import IntervalWarning, OrthobootWarning
from orthoboot.estimators.estimation import Estimation
from orthoboot.intervals.base import Exclusion, Interval
from orthoboot.typing import FloatArray


@dataclass(frozen=True, eq=False)
class Significance:
    """The p-value of each output, ``(k,)``, with warnings."""

    pvalues: FloatArray
    warnings: tuple[OrthobootWarning, ...] = ()


def significance(
    interval: Interval, estimation: Estimation, null: FloatArray, alternative: str, *, simultaneous: bool = False
) -> Significance:
    """Return the p-values of the hypotheses that the outputs equal `null`.

    The interval of level ``1 - p`` is the shortest that still holds the value. For one output that is the tail which
    the end on the value's side leaves, twice that for two-sided intervals. For simultaneous intervals it is the
    probability that the largest of all standardised outputs has such a tail: p-values adjusted for their number
    (Westfall and Young 1993, single step).

    Parameters
    ----------
    interval
        The method that is inverted.
    estimation
        The run, its replicates and the estimator.
    null
        The values, shape ``(k,)``.
    alternative
        "two-sided", "less" (the output is less than its value) or "greater".
    simultaneous
        Whether the intervals are simultaneous ones.

    References
    ----------
    Westfall, P. H. and Young, S. S. (1993). Resampling-based multiple testing. Wiley.
    """
    excluded = _exclusion(interval, estimation.in_units, null / estimation.unit, alternative)
    pvalues = np.minimum(2 * excluded.tail, 1.0) if alternative == "two-sided" else excluded.tail
    if simultaneous and len(null) > 1:
        adjusted = interval.maximum(estimation, alternative).probabilities(pvalues)
        pvalues = np.where(estimation.standard_error > 0, adjusted, pvalues)
    return Significance(pvalues, _told(interval, estimation, null, pvalues, excluded))


def _exclusion(interval: Interval, estimation: Estimation, null: FloatArray, alternative: str) -> Exclusion:
    """Return the tails of the ends on the side of `alternative`; of the two sides the smaller."""
    if alternative != "two-sided":
        return interval.exclusion(estimation, null, np.full(null.shape, alternative == "greater"))
    above = estimation.estimate > null
    one = interval.exclusion(estimation, null, above)
    if not (one.tail > 0.5).any():
        return one
    # Beside the estimate: corrections for bias may put the value on the other side.
    other = interval.exclusion(estimation, null, ~above)
    is_smaller = other.tail < one.tail
    return Exclusion(*(np.where(is_smaller, getattr(other, f), getattr(one, f)) for f in ("tail", "is_limit")))


def _told(
    interval: Interval, estimation: Estimation, null: FloatArray, pvalues: FloatArray, excluded: Exclusion
) -> tuple[OrthobootWarning, ...]:
    """Return warnings where there is no p-value, or only the smallest that can be shown."""
    names, unknown = estimation.run.output.names, np.isnan(pvalues)
    found: list[OrthobootWarning] = []
    if unknown.any():
        found.append(
            IntervalWarning(
                f'method="{interval.name}" has no interval for `{names[int(np.argmax(unknown))]}` at any level, and so '
                'no p-value. Use method="normal".'
            )
        )
    if excluded.is_limit.any():
        first = int(np.argmax(excluded.is_limit))
        by_replicates = interval.needs_linear_law and not estimation.estimator.needs_influence
        replicates = f" that {len(estimation.replicates):,} replicates give" if by_replicates else ""
        more = "more replicates, or " if by_replicates else ""
        found.append(
            IntervalWarning(
                f'every interval of method="{interval.name}"{replicates} excludes {null[first]:g} for '
                f"`{names[first]}`, so its p-value is the smallest that these can show, {pvalues[first]:.2g}. Use "
                f'{more}method="normal".'
            )
        )
    return tuple(found)
