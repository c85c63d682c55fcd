"""The best interval that a run supports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from orthoboot.estimators import r_squared
from orthoboot.estimators.budget import free_evaluations
from orthoboot.estimators.estimation import Estimation
from orthoboot.intervals.abc import Abc
from orthoboot.intervals.base import Ends, Exclusion, Interval, Probabilities
from orthoboot.intervals.laws.views import LARGEST_LAW, MANY
from orthoboot.intervals.normal import NaturalNormal, Normal
from orthoboot.intervals.percentile_family import LEAST_STANDARD, Bca, Percentile
from orthoboot.typing import BoolArray, FloatArray

_NEAR_ONE = 0.9
"""From this r_squared on the tails of phi are those of its linear part, slightly bent."""

_NEGLIGIBLE = 0.02
"""Corrections of the ends for bias and skewness that do not matter, in standard errors."""

_STABLE = 0.25
"""The largest standard error on Fisher's z; 0.06 for 300 normal pairs."""

_TILTED_EVALUATIONS = 8
"""What ABC takes for each output."""

_CHEAP_EVALUATIONS = 10
"""Evaluations that need no replicates beside them, as many as the fewest replicates."""


_USUAL = (0.025, 0.975)
"""What the ends of a usual interval leave below them."""


class Candidate(NamedTuple):
    """An interval, and why it is the one to take."""

    interval: Interval
    reason: str


class Auto(Interval):
    """The first of these that the run supports.

    - For a correlation of 300 rows or more, the normal interval on Fisher's z: there the tails of BCa are those of a
      skewness that heavy-tailed data do not show reliably, 0.900 against 0.927 for the lognormal correlation of the
      paper.
    - BCa, from at least a thousand replicates or from the draws of a surrogate; percentiles for blocks of dependent
      rows. For quantiles and other kinks BCa covers better, too: 0.944 against 0.891 for the 0.95 quantile of 100
      exponential rows.
    - The normal interval, where corrections for bias and skewness would move no end by a fiftieth of a standard error.
    - ABC, where the statistic is smooth, takes fractional weights and follows its linear part, and its evaluations are
      known to cost no more than the replicates did, or next to nothing; else BCa, from the law of the linear part.
    - The normal interval, on the natural scale of a statistic whose range has limits.

    "paper" and "cheap" have their own, the normal interval and t.
    """

    name = "auto"

    def ends(self, estimation: Estimation, probabilities: Probabilities) -> Ends:
        """Return the ends of the first candidate that is sound, or of the last one."""
        candidate, ends = chosen(estimation, probabilities)
        return replace(ends, method=candidate.interval.name, reason=candidate.reason)

    def exclusion(self, estimation: Estimation, null: FloatArray, above: BoolArray) -> Exclusion:
        """Return the smallest tail with which an end excludes `null`, by the method that is chosen for 95%."""
        candidate, _ = chosen(estimation, _USUAL)
        return candidate.interval.exclusion(estimation, null, above)


def chosen(estimation: Estimation, probabilities: Probabilities) -> tuple[Candidate, Ends]:
    """Return the first candidate that is sound, or the last one, with its ends; say what stands in for another."""
    rejected = ""
    for candidate in candidates(estimation):
        ends = candidate.interval.ends(estimation, probabilities)
        if rejected:
            candidate = candidate._replace(
                reason=f'"{rejected}", the first choice, has no end here that can be trusted'
            )
        if _is_sound(ends, estimation):
            break
        rejected = rejected or candidate.interval.name
    return candidate, ends


def _is_sound(ends: Ends, estimation: Estimation) -> bool:
    """Return whether the ends exist, within the range of the statistic, and the method has no doubts about them."""
    low, high = estimation.run.limits
    # NaN is not within any limits; an estimate beyond its own has none.
    within = (ends.low >= np.minimum(low, estimation.estimate)) & (ends.high <= np.maximum(high, estimation.estimate))
    return bool(within.all()) and not ends.warnings


def candidates(estimation: Estimation) -> Iterator[Candidate]:
    """Yield the intervals that the run supports, the best one first; the last one always exists."""
    estimator = estimation.estimator
    if not estimation.standard_error.any():
        yield Candidate(Normal(), "nothing varies")
    elif estimator.uses_control:
        yield from _of_controlled(estimation)
        yield Candidate(NaturalNormal(), "the replicates are too few for their tails, and too far from the linear part")
    elif not estimator.simulates:
        if _takes_tilts(estimation):
            yield Candidate(Abc(), "no replicates are needed")
        yield Candidate(NaturalNormal(), "there are no replicates")
    elif not estimator.needs_influence and not estimator.always_t:
        if len(estimation.replicates) >= MANY:
            yield from _from_replicates(estimation)
        if len(estimation.replicates) >= LEAST_STANDARD:
            yield Candidate(Percentile(), "the replicates are too few for the corrections of BCa")
        yield Candidate(NaturalNormal(), "the replicates are too few for their tails")
    else:
        yield Candidate(Normal(), f'as estimator="{estimator.name}" has it')


def _of_controlled(estimation: Estimation) -> Iterator[Candidate]:
    """Yield the candidates of the default estimator but the last."""
    run, control = estimation.run, estimation.control_values
    if _is_stabilised(estimation):
        reason = 'on Fisher\'s z, where it is made, a correlation of so many rows is nearly normal (transform="fisher")'
        yield Candidate(NaturalNormal(), reason)
    if len(estimation.replicates) >= MANY:
        yield from _from_replicates(estimation)
    elif control is not None and control.law is not None and estimation.moments.control_is_nearer.all():
        reason = "the draws of the surrogate have the tails"
        yield Candidate(Bca() if run.plan.has_tilt else Percentile(), reason)
    elif run.functional.smooth and _is_negligible(estimation):
        yield Candidate(NaturalNormal(), "corrections for bias and skewness would not show")
    elif run.functional.smooth and r_squared(estimation.moments).min() >= _NEAR_ONE:
        if _takes_tilts(estimation):
            yield Candidate(Abc(), "the statistic is smooth, and follows its linear part")
        if run.plan.has_draws and sum(run.data.sizes) <= LARGEST_LAW:
            yield Candidate(Bca() if run.plan.has_tilt else Percentile(), "the tails are those of the linear part")


def _is_stabilised(estimation: Estimation) -> bool:
    """Return whether the statistic has a scale on which it is nearly normal, and rows enough for that.

    An outlier may make the standard error on that scale large, and then it says little.
    """
    least, run = estimation.run.functional.normal_from, estimation.run
    if least is None or not run.plan.has_tilt or min(scheme.n_units for scheme in run.plan.schemes) < least:
        return False
    low, high = run.limits
    below, above = estimation.estimate - low, high - estimation.estimate
    # The derivative of Fisher's z is (1/below + 1/above) / 2; at a limit it is infinite.
    return bool((estimation.standard_error * (below + above) < 2 * _STABLE * below * above).all())


def _from_replicates(estimation: Estimation) -> Iterator[Candidate]:
    """Yield the intervals of enough replicates for their own tails: BCa where it is valid, and percentiles."""
    run, size = estimation.run, len(estimation.replicates)
    shown = f"{size:,} replicates show the tails"
    if not run.plan.has_tilt:
        yield Candidate(Percentile(), f"{shown}, and the rows are dependent")
    elif run.influence is None:
        yield Candidate(Percentile(), f"{shown}, and BCa needs influence values")
    else:
        yield Candidate(Bca(), shown)
        yield Candidate(Percentile(), shown)


def _takes_tilts(estimation: Estimation) -> bool:
    """Return whether ABC exists for the run, and costs no more than the replicates, or next to nothing."""
    run = estimation.run
    if run.prepared.work is None:  # a refit, or a function of the user's, may take minutes
        return False
    cheap = max(len(estimation.replicates), _CHEAP_EVALUATIONS, free_evaluations(run.prepared.work))
    exists = run.functional.smooth and run.functional.fractional and run.plan.has_tilt
    return exists and _TILTED_EVALUATIONS * run.output.size <= cheap


def _is_negligible(estimation: Estimation) -> bool:
    """Return whether bias and skewness would move the ends of no output by much, to first order as BCa has it."""
    run, error = estimation.run, estimation.standard_error
    if run.influence is None or not run.plan.has_tilt or (error == 0).any():
        return False
    # A bias that few replicates happen to show as small is not known to be small.
    bias = (np.abs(estimation.bias) + estimation.error.bias) / error
    return bool((2 * bias + 4 * np.abs(run.acceleration) < _NEGLIGIBLE).all())
