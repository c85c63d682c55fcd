"""The studentized interval: quantiles of the replicates in standard errors of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from orthoboot.errors import ArgumentError, IntervalWarning, OrthobootWarning, ReplicationError
from orthoboot.estimators import ESTIMATORS, Estimator
from orthoboot.estimators.estimation import Estimation
from orthoboot.functionals import Functional
from orthoboot.intervals.base import Ends, Exclusion, Interval, Probabilities
from orthoboot.intervals.inversion import EndFunction, excluding_tail
from orthoboot.intervals.laws.replicated import EmpiricalDistribution, rank_errors, same_levels, share_noise
from orthoboot.intervals.percentile_family import (
    LEAST_STANDARD,
    replicates_for,
    too_few,
    too_small_a_tail,
)
from orthoboot.plans import Plan
from orthoboot.replicates import Replicates
from orthoboot.typing import BoolArray, FloatArray, IntArray

_ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""A relative difference that rounding makes."""

_LEAST = 2
"""Replicates without which there is no quantile."""

_AT_ONCE = 2**18
"""The largest array, in numbers: many outputs are taken in pieces of this size."""


class Studentized(Interval):
    r"""Bootstrap-t: the quantiles of phi over resamples, each in the standard error that its own resample gives.

    .. math:: \hat\phi - q_{1-\alpha}\,\hat\sigma, \quad \hat\phi - q_{\alpha}\,\hat\sigma, \qquad
              q \text{ the quantiles of } t_b = \frac{\phi_b - \hat\phi}{\sigma_b}, \quad
              \sigma_b^2 = \frac1{n^2} \sum_j w_{bj}\,I_j(w_b)^2.

    I at the weights of a resample is its own influence function, so that no resample is resampled again; with strata,
    groups and several samples the variance is the plan's exact one of the linear part, were the resample the data. At
    the data the same formula gives sigma_hat, the infinitesimal jackknife. Second-order accurate, and mostly longer
    than other intervals where the data are few and skewed; not transformation respecting.

    The quantiles are those of the replicates alone, under every estimator: t_b is far from linear in the resample.
    Resamples without a standard error, such as one row many times, are left out of the quantiles, and a warning counts
    them; more than half of them are an error.

    References
    ----------
    Efron, B. (1981). Nonparametric standard errors and confidence intervals. Canadian Journal of Statistics 9, 139-158.

    Davison, A. C. and Hinkley, D. V. (1997). Bootstrap Methods and their Application, sections 2.7.2 and 5.2.1.
    Cambridge University Press. R's ``boot.ci(type = "stud")`` with ``var.linear``; R interpolates quantiles on the
    normal scale.
    """

    name = "studentized"
    needs_influence = True
    needs_influence_of_resamples = True
    why_many = "Its quantiles are not linear in the resample, so that no influence function stands for replicates."

    def least_resamples(self, estimator: Estimator) -> int:
        """Return how many replicates the tails need, with any estimator."""
        return LEAST_STANDARD

    def default_resamples(self, estimator: Estimator) -> int:
        """Return as many as the standard bootstrap takes."""
        return ESTIMATORS["standard"].default_resamples

    def check(self, functional: Functional, plan: Plan, estimator: Estimator) -> None:
        """Raise unless there are replicates, and rows, strata or groups are drawn independently."""
        if not estimator.simulates:
            raise ArgumentError(
                f"method={self.name!r} needs replicates, and estimator={estimator.name!r} simulates none. Use "
                'method="abc", or estimator="orthogonal".'
            )
        if not plan.has_tilt:
            raise ArgumentError(
                f'method="{self.name}" is not valid for blocks of dependent rows: the rows of a resample do not say '
                'how they depend on each other. Use method="percentile".'
            )

    def ends(self, estimation: Estimation, probabilities: Probabilities) -> Ends:
        """Return the ends of every output; their errors are those of the ranks of their quantiles."""
        replicates, estimate = estimation.replicates, estimation.estimate
        size, unknown = len(replicates), np.full_like(estimate, np.nan)
        if size < _LEAST:
            return Ends(unknown, unknown, unknown, unknown, (too_few(self.name, size),))
        still = (replicates.values == estimate).all(axis=0) & (estimation.standard_error == 0)
        roots = _roots(estimation)
        _check_half(self.name, estimation, roots, ~still)
        quantiles, errors = np.full((2, 2, len(estimate)), np.nan)
        for outputs, kept in _pieces(roots.known & ~still):
            t = _standardised(replicates, roots, outputs, kept)
            quantiles[:, outputs], errors[:, outputs] = _quantiles(t, 1 - np.asarray(probabilities))
        sound = still | (roots.of_data > 0)
        ends = np.where(still, estimate, np.where(sound, estimate - quantiles * roots.of_data, np.nan))
        ends_errors = np.where(still, 0.0, np.where(sound, errors * roots.of_data, np.nan))
        warnings = _told(self.name, estimation, roots, ~still, sound, probabilities)
        return Ends(ends[0], ends[1], ends_errors[0], ends_errors[1], tuple(warnings))

    def exclusion(self, estimation: Estimation, null: FloatArray, above: BoolArray) -> Exclusion:
        """Return the smallest tail with which an end excludes `null`, of those that the replicates show."""
        return excluding_tail(_end_function(estimation), estimation, null, above)


def _end_function(estimation: Estimation) -> EndFunction:
    """Return the ends of all outputs as a function of their probabilities; NaN where so few replicates show none."""
    replicates, estimate, roots = estimation.replicates, estimation.estimate, _roots(estimation)
    laws = [
        (outputs, EmpiricalDistribution(_standardised(replicates, roots, outputs, kept)), len(kept))
        for outputs, kept in _pieces(roots.known)
    ]

    def end(probabilities: FloatArray) -> FloatArray:
        found = np.full_like(probabilities, np.nan)
        for outputs, law, size in laws:
            below = probabilities[outputs]
            ends = estimate[outputs] - law.quantile((1 - below)[np.newaxis])[0] * roots.of_data[outputs]
            found[outputs] = np.where(np.minimum(below, 1 - below) * (size + 1) >= 1, ends, np.nan)
        return found

    return end


def _standardised(replicates: Replicates, roots: _Roots, outputs: IntArray, kept: IntArray) -> FloatArray:
    """Return t_b of some outputs on some resamples, shape ``(B, k)``."""
    changes = replicates.values[kept][:, outputs] - replicates.estimate[outputs]
    return np.asarray(changes / roots.of_resamples[kept][:, outputs])


class _Roots(NamedTuple):
    """Standard errors by the infinitesimal jackknife.

    Attributes
    ----------
    of_data
        sigma_hat, shape ``(k,)``.
    of_resamples
        sigma_b, shape ``(B, k)``; NaN where there is none.
    known
        Where sigma_b is a number and no rounding, shape ``(B, k)``.
    """

    of_data: FloatArray
    of_resamples: FloatArray
    known: BoolArray


def _roots(estimation: Estimation) -> _Roots:
    run = estimation.run
    assert run.linear_variance is not None
    roots = np.sqrt(estimation.resample_variances.values)
    # Rows that are all the same differ from their mean by its rounding, which is as large as the numbers are; where
    # the rows themselves differ in their last digits only, such a difference is no rounding.
    size = run.influence_function.largest
    largest = size if run.data.has_few_digits else np.maximum(size, np.abs(estimation.estimate))
    rounding = _ROUNDING * largest / max(run.data.sizes) ** 0.5
    with np.errstate(invalid="ignore"):
        known = np.isfinite(roots) & (roots > rounding)
    return _Roots(np.sqrt(run.linear_variance), roots, known)


def _pieces(known: BoolArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield outputs that have a standard error on the same resamples, and these; few outputs at a time."""
    complete = known.all(axis=0)
    together, every = np.flatnonzero(complete), np.arange(len(known))
    few = max(1, _AT_ONCE // len(known))
    for start in range(0, len(together), few):
        yield together[start : start + few], every
    for output in np.flatnonzero(~complete):
        kept = np.flatnonzero(known[:, output])
        if len(kept) >= _LEAST:
            yield np.array([output]), kept


def _quantiles(t: FloatArray, levels: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the quantiles of t ``(B, k)`` at two levels and their simulation errors, each of shape ``(2, k)``."""
    whole = EmpiricalDistribution(t)
    every = same_levels(whole, levels)
    return whole.quantile(every), rank_errors(whole.quantile, every, share_noise(every, len(t)), len(t))


def _check_half(method: str, estimation: Estimation, roots: _Roots, varies: BoolArray) -> None:
    """Raise if more than half of the resamples have no standard error for an output that varies."""
    missing = np.where(varies, (~roots.known).sum(axis=0), 0)
    worst = int(np.argmax(missing))
    size = len(roots.known)
    if 2 * missing[worst] > size:
        raise ReplicationError(
            f'method="{method}" needs a standard error of `{estimation.run.output.names[worst]}` on every resample, '
            f"and {missing[worst]:,} of {size:,} have none: {_reason(estimation, roots, worst)}. Use "
            'method="percentile" or "bca".'
        )


def _reason(estimation: Estimation, roots: _Roots, output: int) -> str:
    """Return why the first resample without a standard error of an output has none."""
    first = int(np.argmin(roots.known[:, output]))
    failure = estimation.resample_variances.failures[first]
    if failure is None or np.isfinite(roots.of_resamples[first, output]):
        return "the influence function is zero there"
    return failure.reason


def _told(
    method: str,
    estimation: Estimation,
    roots: _Roots,
    varies: BoolArray,
    sound: BoolArray,
    probabilities: Probabilities,
) -> Iterator[OrthobootWarning]:
    """Yield warnings about what was left out, and about ends that there are not or that so few replicates show."""
    names, kept = estimation.run.output.names, np.where(varies, roots.known.sum(axis=0), len(roots.known))
    fewest = int(np.argmin(kept))
    size, drawn = int(kept[fewest]), len(roots.known)
    if size < drawn:
        yield IntervalWarning(
            f'{drawn - size:,} of {drawn:,} resamples were left out of method="{method}" for `{names[fewest]}`, since '
            f"they have no standard error of their own: {_reason(estimation, roots, fewest)}. The interval is "
            "conditional on the others."
        )
    if not sound.all():
        yield IntervalWarning(
            f'method="{method}" has no interval for `{names[int(np.argmin(sound))]}`: it varies over resamples, but '
            'its influence function is zero at the data. Use method="percentile".'
        )
    tail = min(*probabilities, *(1 - p for p in probabilities))
    if varies.any() and tail * (size + 1) < 1:
        advice = f"so the end is the most extreme one. Use {replicates_for(tail)}"
        yield too_small_a_tail(method, names[fewest], tail, size, advice)
