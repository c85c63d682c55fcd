"""A surrogate of the statistic as a control: thousands of its draws, two probes and a limit to what it may say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from orthoboot.controls.base import HEAVY_TAIL, Control, ControlValues, SimulatedLaw, tail_shares, without_groups
from orthoboot.draws.resamples import Resamples
from orthoboot.execution.evaluations import evaluations
from orthoboot.execution.execution import Execution
from orthoboot.execution.progress import ProgressBar
from orthoboot.functionals.base import Prepared
from orthoboot.functionals.surrogate import Surrogate
from orthoboot.plans import Plan
from orthoboot.typing import BoolArray, FloatArray, Key

_FIRST_DRAW = 1 << 40
"""The number of the first draw in the counter: beyond all replicates, so that more of these change nothing."""

_MOST_MISSING = 0.05
"""Share of the draws on which a surrogate may have no value."""

_FIRST_LOOK, _HOPELESS = 100, 0.2
"""So many draws show whether a surrogate has values at all: where it has none on a fifth of them, more would not bring
that down to what is allowed."""

_TOLERATED = 0.5
"""A probe may be so far from the surrogate, as a share of ``|S - L|`` or of the standard deviation of L."""

_ROUNDING = 1e-9
"""Of the standard deviation of L: a surrogate that is nowhere farther from it is L."""

_MORE_PROBES = 10
"""So many draws more are probed at most where outputs have heavy tails."""

_REACH = 1.5
"""How far beyond what replicates have confirmed a surrogate may go where a probe has contradicted it."""


class JointDraws(NamedTuple):
    """The surrogate and the linear part on resamples of their own, as changes from the estimate: ``(N, k)`` each."""

    surrogate: FloatArray
    linear: FloatArray

    def times(self, factor: FloatArray) -> JointDraws:
        """Return both times a factor for each output, shape ``(k,)``."""
        return JointDraws(self.surrogate * factor, self.linear * factor)


class Probes(NamedTuple):
    """What the statistic says at the draws on which its surrogate is farthest from the linear part.

    Attributes
    ----------
    contradicted
        On which side, below and above, they speak against the surrogate, shape ``(2, k)``.
    remainders
        ``P - L`` of the statistic there, shape ``(probes, k)``; zero where it has no value.
    """

    contradicted: BoolArray
    remainders: FloatArray

    def times(self, factor: FloatArray) -> Probes:
        """Return them for outputs times a factor each, shape ``(k,)``."""
        return Probes(self.contradicted, self.remainders * factor)


@dataclass(frozen=True, eq=False)
class SurrogateControl(Control):
    r"""A cheap twin S of the statistic: ``C = S - phi_hat``.

    Its mean and variance come from N draws of (S, L) on resamples of their own, by regression on the linear part L,
    whose variance V is exact:

    .. math:: E[C] = \overline{C - \gamma L}, \qquad
              \operatorname{Var}(C) = \gamma^2 V + s^2(C - \gamma L).

    The statistic itself is evaluated at the draws with the largest and the smallest ``S - L``, and at those of outputs
    of which a few draws carry much of the variance. Where it is far from S there, or has no value, S may go on that
    side no farther than 1.5 times what the replicates have shown, or than the statistic went at the draws probed: a few
    draws on which the surrogate explodes would else make its variance anything. What limits twice as far would change
    counts as error.

    Attributes
    ----------
    surrogate
        The twin.
    estimate
        phi_hat, not in units, shape ``(k,)``.
    linear_variance
        V, shape ``(k,)``.
    linear_covariance
        The exact covariance of the linear part, shape ``(k, k)``.
    draws
        The draws.
    probes
        What the statistic said at the extremes of the draws.
    unit
        What the outputs are divided by, shape ``(k,)``.
    """

    surrogate: Surrogate
    estimate: FloatArray
    linear_variance: FloatArray
    linear_covariance: FloatArray
    draws: JointDraws
    probes: Probes
    unit: FloatArray

    name = "surrogate"

    def on(self, resamples: Resamples, linear: FloatArray, changes: FloatArray) -> ControlValues:
        """Return the control on resamples, less its mean."""
        values = (self.surrogate.values(resamples) - self.estimate) / self.unit
        excess = np.where(np.isfinite(values).all(axis=1, keepdims=True), values - linear, 0.0)
        limits = self._limits(changes - linear)
        drawn, farther = self._drawn(limits), self._drawn(2 * limits)
        found = _moments(drawn, self.draws.linear, self.linear_variance)
        found_farther = _moments(farther, self.draws.linear, self.linear_variance)
        without = [
            _moments(drawn[kept], self.draws.linear[kept], self.linear_variance) for kept in without_groups(len(drawn))
        ]
        return ControlValues(
            linear + np.clip(excess, *limits) - found.mean,
            found.mean,
            found.variance,
            partial(_covariance, drawn, self.draws.linear, self.linear_covariance),
            SimulatedLaw(
                drawn,
                self.draws.linear,
                np.array([each.mean for each in without]),
                np.array([each.variance for each in without]),
                np.abs(found_farther.mean - found.mean),
                _log_ratio(found_farther.variance, found.variance),
            ),
            is_limited=np.asarray(self.probes.contradicted.any(axis=0)),
        )

    def in_unit(self, unit: FloatArray) -> SurrogateControl:
        """Return the control of the outputs divided by a unit each."""
        factor = self.unit / unit
        if (factor == 1).all():
            return self
        return replace(
            self,
            linear_variance=self.linear_variance * factor * factor,
            linear_covariance=self.linear_covariance * factor * factor[:, np.newaxis],
            draws=self.draws.times(factor),
            probes=self.probes.times(factor),
            unit=unit,
        )

    @property
    def description(self) -> str:
        """Return what it is and what the probes found."""
        contradicted = self.probes.contradicted.any()
        number = len(self.probes.remainders)
        confirmed = f"confirmed by {'two' if number == 2 else number} probes"
        said = "contradicted by a probe, and limited" if contradicted else confirmed
        return f"surrogate ({len(self.draws.linear):,} draws, {said})"

    def _limits(self, remainders: FloatArray) -> FloatArray:
        """Return how far ``S - L`` may go below and above, shape ``(2, k)``, given ``P - L`` of the replicates."""
        probed = self.probes.remainders
        below = np.minimum(_REACH * remainders.min(axis=0), probed.min(axis=0))
        above = np.maximum(_REACH * remainders.max(axis=0), probed.max(axis=0))
        seen = np.array([np.minimum(below, 0.0), np.maximum(above, 0.0)])
        unlimited = np.array([[-np.inf], [np.inf]])
        return np.where(self.probes.contradicted, seen, unlimited)

    def _drawn(self, limits: FloatArray) -> FloatArray:
        return self.draws.linear + np.clip(self._draws_excess, *limits)

    @cached_property
    def _draws_excess(self) -> FloatArray:
        return self.draws.surrogate - self.draws.linear


class _ControlMoments(NamedTuple):
    mean: FloatArray
    variance: FloatArray


def _log_ratio(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return ``|log(first / second)|`` where both are positive, else zero."""
    positive = (first > 0) & (second > 0)
    return np.abs(np.log(np.where(positive, first, 1.0) / np.where(positive, second, 1.0)))


def _regressed(drawn: FloatArray, linear: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the slope of the control on the linear part, ``(k,)``, and what it leaves, ``(N, k)``.

    The slope is one where the linear part is constant.
    """
    l = linear - linear.mean(axis=0)  # noqa: E741
    size = (l**2).sum(axis=0)
    excess = ((drawn - linear) * l).sum(axis=0)
    slope = np.asarray(1 + np.divide(excess, size, out=np.zeros_like(size), where=size > 0))
    return slope, drawn - slope * linear


def _moments(drawn: FloatArray, linear: FloatArray, linear_variance: FloatArray) -> _ControlMoments:
    """Return the mean and the variance of the control by regression on the linear part, each of shape ``(k,)``."""
    slope, rest = _regressed(drawn, linear)
    mean = rest.mean(axis=0)
    left = ((rest - mean) ** 2).sum(axis=0) / (len(rest) - 2)
    return _ControlMoments(mean, slope**2 * linear_variance + left)


def _covariance(drawn: FloatArray, linear: FloatArray, linear_covariance: FloatArray) -> FloatArray:
    """Return the covariance of the control, shape ``(k, k)``, by the same regression."""
    slope, rest = _regressed(drawn, linear)
    rest = rest - rest.mean(axis=0)
    left: FloatArray = rest.T @ rest / (len(rest) - 2)
    return np.outer(slope, slope) * linear_covariance + left


@dataclass(frozen=True, eq=False)
class _SomeDraws:
    """The resamples of some draws, numbered from 0."""

    plan: Plan
    key: Key
    draws: Sequence[int]

    def resamples(self, numbers: Sequence[int]) -> Resamples:
        """Return the resamples with these numbers."""
        return self.plan.resamples(self.key, [self.draws[number] for number in numbers])


def surrogate_control(
    prepared: Prepared[Any],
    plan: Plan,
    key: Key,
    execution: Execution,
    linear: Callable[[Resamples], FloatArray],
    linear_covariance: FloatArray,
    unit: FloatArray,
    n_draws: int,
) -> SurrogateControl | None:
    """Return the surrogate of the statistic as a control; None where it has too often no value, or is the linear part.

    Parameters
    ----------
    prepared
        The statistic at its data, which has a surrogate.
    plan, key
        How the rows are drawn, and the seed.
    execution
        Which jobs share the two probes.
    linear
        The linear part of resamples, of mean zero and in units.
    linear_covariance
        Its exact covariance, in units.
    unit
        What the outputs are divided by, a power of two each, shape ``(k,)``.
    n_draws
        How many draws.
    """
    surrogate = prepared.surrogate
    assert surrogate is not None
    resamples = plan.resamples(key, range(_FIRST_DRAW, _FIRST_DRAW + n_draws))
    values = _values(surrogate, resamples)
    if values is None:
        return None
    changes, parts = (values - prepared.estimate) / unit, linear(resamples)
    usable = np.asarray(np.isfinite(changes).all(axis=1, keepdims=True))
    # A draw without a value counts as its linear part, as a replicate does: dropping it would cut off a tail.
    draws = JointDraws(np.where(usable, changes, parts), parts)
    variance = np.diag(linear_covariance).copy()
    if _is_linear(draws, np.sqrt(variance)):
        return None
    source = _SomeDraws(plan, key, range(_FIRST_DRAW, _FIRST_DRAW + n_draws))
    probes = _probed(prepared, source, execution, draws, np.sqrt(variance), unit)
    return SurrogateControl(surrogate, prepared.estimate, variance, linear_covariance, draws, probes, unit)


def _is_linear(draws: JointDraws, spread: FloatArray) -> bool:
    """Return whether the surrogate is the linear part but for rounding, and so has nothing to say."""
    return bool((np.abs(draws.surrogate - draws.linear).max(axis=0) <= _ROUNDING * spread).all())


def _values(surrogate: Surrogate, resamples: Resamples) -> FloatArray | None:
    """Return the values of a surrogate, shape ``(N, k)``; None where it has too often none, found out early."""
    first = surrogate.values(resamples.some(range(min(_FIRST_LOOK, len(resamples)))))
    if _missing(first) > _HOPELESS:
        return None
    values = np.concatenate([first, surrogate.values(resamples.some(range(len(first), len(resamples))))])
    return values if _missing(values) <= _MOST_MISSING else None


def _missing(values: FloatArray) -> float:
    """Return the share of draws without a value."""
    return float(1 - np.isfinite(values).all(axis=1).mean())


def _probed(
    prepared: Prepared[Any],
    source: _SomeDraws,
    execution: Execution,
    draws: JointDraws,
    spread: FloatArray,
    unit: FloatArray,
) -> Probes:
    """Return what the statistic says at the draws on which its surrogate is farthest from the linear part.

    A probe that contradicts it in any output makes all outputs doubtful on its side, since the others' own extremes
    were not probed; and that output on both sides.
    """
    excess = draws.surrogate - draws.linear
    below, above = _sides(np.divide(excess, spread, out=np.zeros_like(excess), where=spread > 0), draws.surrogate)
    probes = list(dict.fromkeys([*below, *above]))
    section = "probes of the surrogate " + " ".join(str(source.draws[probe]) for probe in probes)
    chosen = replace(source, draws=[source.draws[probe] for probe in probes])
    found = evaluations(prepared, chosen, len(probes), execution, section, ProgressBar(len(probes), shown=False))
    changes = (found.values - prepared.estimate) / unit
    tolerated = _TOLERATED * np.maximum(np.abs(excess[probes]), spread)
    # A value that is missing is NaN, which is not within any bound.
    wrong = ~np.asarray(np.abs(changes - draws.surrogate[probes]) <= tolerated)
    by_side = np.array([[wrong[[probes.index(probe) for probe in side]].any()] for side in (below, above)])
    remainders = changes - draws.linear[probes]
    return Probes(by_side | wrong.any(axis=0), np.where(np.isfinite(remainders), remainders, 0.0))


def _sides(relative: FloatArray, surrogate: FloatArray) -> tuple[list[int], list[int]]:
    """Return which draws to probe below and above the linear part, given ``S - L`` in its deviations, ``(N, k)``.

    The two farthest of all; and those of the outputs with heavy tails, the heaviest first, since an extreme of another
    output hides where these come from.
    """
    first, second = _extremes(relative)
    below, above = [first], [second]
    tails = tail_shares(surrogate)
    for output in np.argsort(-tails, kind="stable")[: _MORE_PROBES // 2]:
        if tails[output] > HEAVY_TAIL:
            below.append(int(np.argmin(relative[:, output])))
            above.append(int(np.argmax(relative[:, output])))
    return below, above


def _extremes(relative: FloatArray) -> list[int]:
    """Return the draws with the smallest and with the largest entry of ``(N, k)``: two of them, if one has both."""
    first = int(np.argmin(relative.min(axis=1)))
    others = relative.max(axis=1)
    others[first] = -np.inf
    return [first, int(np.argmax(others))]
