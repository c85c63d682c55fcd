"""Approximate bootstrap confidence: second-order accurate from eight more evaluations of the statistic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy

from orthoboot.draws.tilted import Tilt
from orthoboot.errors import ArgumentError, IntervalWarning, OrthobootWarning
from orthoboot.estimators import Estimator
from orthoboot.estimators.estimation import Estimation
from orthoboot.functionals import Functional
from orthoboot.intervals.base import Ends, Exclusion, Interval, Probabilities
from orthoboot.intervals.inversion import EndFunction, excluding_tail
from orthoboot.plans import Plan
from orthoboot.run import Run
from orthoboot.typing import BoolArray, FloatArray

_STEP = 1e-3
"""In standard errors, as R's `abc.ci` has it: for the curvature of a smooth statistic."""

_LONG_STEP = 0.5
"""For one with a kink at the data, where the curvature grows as one over the step."""

_KINK = 0.1
"""A curvature that exceeds three times that of the long step by this is that of a kink, mostly of hundreds of times."""

_FLAT = 1e-9
"""A statistic that comes back by no more than this share is flat but for rounding."""

_SHORT_OF_THE_END = 0.95
"""Share of the way to an end at which the statistic must still rise."""


class Abc(Interval):
    """ABC of DiCiccio and Efron (1992), on the weights: transformation respecting.

    With sigma the infinitesimal jackknife's standard error, a the acceleration, b the bias and c the curvature along
    the tilt ``weights = 1 + t Cov(weights) influence / (n sigma)``, the end is the statistic at ``t = w/(1 - a w)**2``,
    ``w = z + a + c - b/sigma``. The bias is the estimator's: simulated, or of second order under "jackknife", which
    gives the digits of R's ``boot::abc.ci``.

    The curvature is a second difference over steps of a thousandth of a standard error; over steps of a half where the
    statistic has a kink at the data, as a trimmed mean has.

    Far out on the tilt some weights are negative, in R's as here. Where the statistic breaks down there or turns back,
    or the ends cross, there is no interval, and a warning says so.

    References
    ----------
    DiCiccio, T. and Efron, B. (1992). More accurate confidence intervals in exponential families. Biometrika 79.
    """

    name = "abc"
    needs_influence = True

    def check(self, functional: Functional, plan: Plan, estimator: Estimator) -> None:
        """Raise unless the statistic takes fractional weights and the plan draws independently."""
        if not functional.fractional:
            raise ArgumentError(
                'method="abc" evaluates the statistic at weights that are not whole numbers; this one gets whole rows. '
                'Give it a `weights` parameter, or use method="percentile" or "bca".'
            )
        if not plan.has_tilt:
            raise ArgumentError('method="abc" is not valid for blocks of dependent rows. Use method="normal".')

    def ends(self, estimation: Estimation, probabilities: Probabilities) -> Ends:
        """Return the statistic at the two tilted weights."""
        tilt = _Tilt(estimation.run)
        curve = _curve(estimation, tilt)
        positions = [curve.position(probability) for probability in probabilities]
        low, high, *before = tilt.values_at(positions + [_SHORT_OF_THE_END * position for position in positions])
        rising = [_rises(tilt, *end) for end in zip(positions, before, (low, high), strict=True)]
        low_error, high_error = (
            curve.sensitivity(probability) * _slope(tilt, *end) * estimation.error.bias
            for probability, *end in zip(probabilities, positions, before, (low, high), strict=True)
        )
        finite = np.isfinite(low) & np.isfinite(high) & (low <= high)
        sound = finite & rising[0] & rising[1] & curve.sound(probabilities, estimation)
        low, high = (np.where(sound, end, np.nan) for end in (low, high))
        warnings = (*_broken(estimation, sound, tilt.failure), *_beside(estimation, low, high, probabilities))
        return Ends(low, high, low_error, high_error, warnings)

    def exclusion(self, estimation: Estimation, null: FloatArray, above: BoolArray) -> Exclusion:
        """Return the smallest tail with which an end excludes `null`, from about fifty evaluations more."""
        return excluding_tail(_end_function(estimation), estimation, null, above)


def _end_function(estimation: Estimation) -> EndFunction:
    """Return the statistic at tilted weights as a function of probabilities; NaN where that is no end."""
    tilt = _Tilt(estimation.run)
    curve = _curve(estimation, tilt)

    def end(probabilities: FloatArray) -> FloatArray:
        position = curve.position(probabilities)
        value = tilt.values(position)
        sound = np.isfinite(value) & curve.sound((probabilities,), estimation)
        before = tilt.values(_SHORT_OF_THE_END * position)
        return np.where(sound & _rises(tilt, position, before, value), value, np.nan)

    return end


def _rises(tilt: _Tilt, position: FloatArray, before: FloatArray, end: FloatArray) -> BoolArray:
    """Return whether the statistic still moves away from its value on the data when it comes to an end.

    Beyond a vertex it comes back: a higher level would have a shorter interval.

    Parameters
    ----------
    position, end
        Where the end lies on the tilt, and the statistic there.
    before
        The statistic just before it, at `_SHORT_OF_THE_END` of the way.
    """
    centre = tilt.run.prepared.centre
    away = np.sign(end - centre) == np.sign(position)
    rises = np.abs(before - centre) <= (1 + _FLAT) * np.abs(end - centre)
    return np.asarray((away & rises) | (tilt.sigma == 0))


def _slope(tilt: _Tilt, position: FloatArray, before: FloatArray, end: FloatArray) -> FloatArray:
    """Return how steep the statistic is over the last twentieth of the way to an end, in standard errors, ``(k,)``.

    At the data it is as steep as its linear part.
    """
    step = (1 - _SHORT_OF_THE_END) * position * tilt.sigma
    return np.abs(np.divide(end - before, step, out=np.ones_like(end), where=step != 0))


class _Tilt:
    """The statistic along the direction of least favourable weights, one direction per output."""

    def __init__(self, run: Run) -> None:
        assert run.linear_variance is not None
        self.run = run
        self.sigma = np.sqrt(run.linear_variance)
        self.failure: str | None = None

    @cached_property
    def weights(self) -> Tilt:
        """Return the weights as a function of the position."""
        assert self.run.influence is not None
        direction = self.run.plan.tilt(self.run.influence)
        assert direction is not None
        # An output without influence has no direction; its weights stay at one.
        return Tilt(tuple(part / np.where(self.sigma > 0, self.sigma, 1.0) for part in direction))

    def values_at(self, positions: Sequence[FloatArray]) -> list[FloatArray]:
        """Return `values` at several positions; those of one output that needs sums alone are found together."""
        if len(self.sigma) > 1 or self.run.has_no_remainder or self.run.prepared.needs_weights:
            return [self.values(position) for position in positions]
        return list(self._evaluated(np.concatenate(positions)))

    def values(self, positions: FloatArray) -> FloatArray:
        """Return each output at weights tilted to its own position, shape ``(k,)``; NaN where it raised."""
        if self.run.has_no_remainder:
            return np.asarray(self.run.prepared.centre + positions * self.sigma)
        own = self.run.prepared.own_values(self.weights.to(positions)) if len(positions) > 1 else None
        return np.diag(self._evaluated(positions)).copy() if own is None else own

    def _evaluated(self, positions: FloatArray) -> FloatArray:
        """Return all outputs at tilted weights, a row for each position; NaN where they raised."""
        with np.errstate(all="ignore"):  # weights below zero are no weights to many formulas
            evaluation = self.run.prepared.evaluate(self.weights.to(positions))
        failure = evaluation.first_failure
        if failure is not None and failure.raised:
            self.failure = failure.reason
        return evaluation.values


@dataclass(frozen=True, eq=False)
class _Curve:
    """The constants of ABC for each output, shape ``(k,)``."""

    sigma: FloatArray
    acceleration: FloatArray
    shift: FloatArray = field(repr=False)

    def position(self, probability: FloatArray | float) -> FloatArray:
        """Return how far along the tilt the end lies: ``w / (1 - a w)**2``, ``w = shift + z``."""
        w = self._shifted(probability)
        return np.asarray(w / (1 - self.acceleration * w) ** 2)

    def sensitivity(self, probability: float) -> FloatArray:
        """Return the derivative of `position` by w, without its sign."""
        w = self._shifted(probability)
        return np.asarray(np.abs((1 + self.acceleration * w) / (1 - self.acceleration * w) ** 3))

    def sound(self, probabilities: Sequence[FloatArray | float], estimation: Estimation) -> BoolArray:
        """Return whether no end is beyond the pole of `position`, and there is a direction if anything varies."""
        before_pole = [1 - self.acceleration * self._shifted(p) > 0 for p in probabilities]
        return np.asarray(np.all(before_pole, axis=0) & ((self.sigma > 0) | (estimation.standard_error == 0)))

    def _shifted(self, probability: FloatArray | float) -> FloatArray:
        return np.asarray(self.shift + scipy.special.ndtri(probability))


def _curve(estimation: Estimation, tilt: _Tilt) -> _Curve:
    skew = tilt.run.acceleration
    scale = np.where(tilt.sigma > 0, tilt.sigma, 1.0)
    short, long = _curvatures(tilt, scale)
    curvature = np.where(np.abs(short) > 3 * np.abs(long) + _KINK, long, short)
    return _Curve(tilt.sigma, skew, skew + curvature - estimation.bias / scale)


def _curvatures(tilt: _Tilt, scale: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return half the second differences along the tilt, over the short step and the long one, in standard errors."""
    if tilt.run.has_no_remainder:
        return np.zeros_like(scale), np.zeros_like(scale)
    steps = (_STEP, -_STEP, _LONG_STEP, -_LONG_STEP)
    up, down, far_up, far_down = tilt.values_at([np.full_like(tilt.sigma, step) for step in steps])
    twice = 2 * tilt.run.prepared.centre
    return (up - twice + down) / (2 * _STEP**2 * scale), (far_up - twice + far_down) / (2 * _LONG_STEP**2 * scale)


def _beside(
    estimation: Estimation, low: FloatArray, high: FloatArray, probabilities: Probabilities
) -> tuple[OrthobootWarning, ...]:
    """Return a warning if a central interval of an output does not hold its estimate."""
    slack = 1e-9 * estimation.standard_error
    outside = (low > estimation.estimate + slack) | (high < estimation.estimate - slack)
    if not outside.any() or not probabilities[0] < 0.25 < 0.75 < probabilities[1]:
        return ()
    name = estimation.run.output.names[int(np.argmax(outside))]
    return (
        IntervalWarning(
            f'the interval of method="abc" for `{name}` does not contain its estimate: the corrections for bias and '
            'curvature are larger than the interval. Compare with method="bca" or "percentile".'
        ),
    )


def _broken(estimation: Estimation, sound: BoolArray, failure: str | None) -> tuple[OrthobootWarning, ...]:
    if sound.all():
        return ()
    name = estimation.run.output.names[int(np.argmin(sound))]
    cause = "" if failure is None else f" The statistic raised {failure}."
    return (
        IntervalWarning(
            f'method="abc" has no interval for `{name}`: its ends cross, or the statistic breaks down or turns '
            f'back at the tilted weights, some of which may be negative.{cause} Use method="bca" or "percentile".'
        ),
    )
