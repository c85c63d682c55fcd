"""`check_influence`: whether an influence function is that of the statistic."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from orthoboot.arguments import checked_count
from orthoboot.autodiff import package_asked
from orthoboot.checking.verdicts import (
    AGREES,
    ALL_EQUAL,
    IGNORES,
    NOT_ITS_DERIVATIVE,
    UNDEFINED,
    Verdict,
    agreement,
    joined,
    misfit,
    off_centre,
    steps,
)
from orthoboot.data import Data, read
from orthoboot.errors import ArgumentError, InfluenceError
from orthoboot.estimators import moments_of, r_squared
from orthoboot.functionals import Functional
from orthoboot.functionals.user.callables import as_functional
from orthoboot.influence import (
    CENTRE_TOLERANCE,
    GIVEN,
    InfluenceFunction,
    Probe,
    design_for,
    given_columns,
    ignored_weights,
    probed,
    requested_regression,
)
from orthoboot.plans import key_from, plan_for
from orthoboot.presentation.wording import shortened
from orthoboot.replicates import Replicates, extended, no_replicates, regressed
from orthoboot.run import Run
from orthoboot.typing import BoolArray, FloatArray, Influence

_LINE = 110
_SHORTER = 10.0
"""By how much the step is shortened to see whether the changes follow it."""

_STEADY = 0.3
"""A derivative moves by less than this share when the step is shortened."""

_EPSILON = float(np.finfo(np.float64).eps)
_ROUNDING = 1e5 * _EPSILON
"""What rounding makes of a change over the shorter step, relative to the statistic."""

_TRIAL_RESAMPLES = 10
"""On how many resamples an output that never moves is tried; a largest value is in two of three."""

_MOST_ROWS = 30


class Directions(NamedTuple):
    """Changes of the statistic per unit of movement, each of shape ``(n_directions, k)``."""

    predicted: FloatArray
    """What the influence values say."""
    found: FloatArray
    """What the statistic does."""


@dataclass(frozen=True, eq=False, repr=False)
class InfluenceCheck:
    """The result of `check_influence`; prints as a table with a verdict.

    Attributes
    ----------
    statistic
        The name of the statistic.
    names
        The names of its k outputs.
    source
        Where the influence values come from.
    mean
        Their mean in units of their standard deviation, for the sample where it is farthest from zero, shape ``(k,)``.
    directions
        The changes that they predict in random directions, and those of the statistic.
    disagreement
        The root mean square difference between the two, relative to the changes, shape ``(k,)``.
    r_squared
        The share of the variance of a few replicates that the linear part explains, shape ``(k,)``.
    findings
        The verdict on each output in a word or two.
    verdict
        The verdict in words: what is wrong, and what to do.
    passed
        Whether nothing is wrong.
    """

    statistic: str
    names: tuple[str, ...]
    source: str
    mean: FloatArray
    directions: Directions
    disagreement: FloatArray
    r_squared: FloatArray
    findings: tuple[str, ...]
    verdict: str
    passed: bool

    def __str__(self) -> str:
        heading = f"Influence function of {shortened(self.statistic)}: {self.source}"
        rows = [self._row(output) for output in range(min(len(self.names), _MOST_ROWS))]
        hidden = len(self.names) - len(rows)
        more = [f"{hidden} more outputs are not shown; `findings` has them all."] if hidden else []
        lines = [*textwrap.wrap(heading, _LINE), "", *_aligned([_HEADER, *rows]), *more, ""]
        return "\n".join([*lines, *textwrap.wrap(self.verdict, _LINE)])

    __repr__ = __str__

    def _row(self, output: int) -> list[str]:
        predicted, found = (changes[:, output] for changes in self.directions)
        largest = int(np.argmax(np.maximum(np.abs(predicted), np.abs(found)))) if len(found) else None
        return [
            shortened(self.names[output]),
            f"{round(self.mean[output], 3) + 0.0:g} sd" if np.isfinite(self.mean[output]) else "all equal",
            "?" if largest is None else f"{predicted[largest]:.5g}",
            "?" if largest is None else f"{found[largest]:.5g}",
            _percentage(self.disagreement[output]),
            _percentage(self.r_squared[output]),
            self.findings[output],
        ]


def _percentage(share: float) -> str:
    return "?" if np.isnan(share) else "infinite" if np.isinf(share) else f"{100 * share:.1f}%"


_HEADER = ["", "mean", "predicted", "found", "disagreement", "r_squared", ""]


def check_influence(
    statistic: Any,
    data: Any,
    influence: Any = "auto",
    *,
    paired: bool = False,
    vectorized: bool | None = None,
    n_resamples: int = 10,
    n_directions: int = 5,
    rng: Any = 0,
) -> InfluenceCheck:
    """Check influence values against the statistic, and return their mean, directions, r_squared and a verdict.

    In each of a few random directions the weights of some rows grow and those of others shrink, and the change of the
    statistic is compared with ``sum_i (1/n_i) direction_i . influence_i``. For a smooth statistic the weights move by a
    hundredth. For a function of whole rows, rows are dropped and doubled, and a disagreement of up to a half is
    tolerated.

    Parameters
    ----------
    statistic
        An entry of the catalogue or a function, as in `bootstrap`.
    data
        One sample or several, as in `bootstrap`.
    influence
        As in `bootstrap`: "auto" for the default, the name of an engine, values, or a function of the samples that
        returns values. None, which `bootstrap` does not accept, is "auto" here.
    paired, vectorized
        As in `bootstrap`.
    n_resamples
        The number of replicates from which r_squared is computed.
    n_directions
        The number of directions, at two evaluations each.
    rng
        The seed of the replicates and the directions.

    Examples
    --------
    >>> import numpy as np
    >>> import orthoboot as ob
    >>> x = np.random.default_rng(0).exponential(size=200)
    >>> check = ob.check_influence(ob.variance, x, lambda x: 2 * ((x - x.mean()) ** 2 - x.var()))
    >>> check.passed
    False
    >>> check.findings
    ('wrong scale',)
    """
    n_resamples = checked_count("n_resamples", n_resamples, least=2)
    n_directions = checked_count("n_directions", n_directions, least=1)
    if callable(data) and not callable(statistic):
        raise ArgumentError("`check_influence` takes the statistic first, then the data; got them in the other order.")
    samples = read(data, paired=paired, text=isinstance(statistic, Functional) and statistic.takes_text)
    functional = as_functional(statistic, samples, vectorized=vectorized, library=package_asked(influence))
    candidate = _candidate(_run(functional, samples, rng), influence)
    seen = candidate.seen
    replicates = extended(candidate.run, seen, n_resamples).select(slice(len(seen), None))
    return _checked(_Case(candidate, replicates, n_directions))


def _run(functional: Functional, data: Data, rng: Any) -> Run:
    return Run(functional.prepared(data), plan_for(data.sizes), key_from(rng), InfluenceFunction(None, "none"))


class _Candidate(NamedTuple):
    """An influence function to be checked."""

    run: Run
    """The run that has it, centred."""
    columns: Influence
    """Its values as they came."""
    seen: Replicates
    """Those that it was fitted to; none for most."""
    computed: bool = False
    """Whether it is the statistic's own or an engine's, so that the statistic is to blame where they disagree."""


def _candidate(run: Run, influence: Any) -> _Candidate:
    """Return the influence function to check."""
    regression = requested_regression(influence)
    if regression is not None:
        design = design_for(regression, run.data, run.plan)
        fitted, seen = regressed(run, design, max(design.default_resamples, design.least_resamples))
        return _Candidate(fitted, _known(fitted), seen)
    if influence is None or isinstance(influence, str):
        informed = run.with_influence(run.find_influence("auto" if influence is None else influence))
        return _Candidate(informed, _known(informed), no_replicates(informed), computed=True)
    columns = given_columns(influence, run.data, run.output)
    centred = tuple(values - values.mean(axis=0) for values in columns)
    informed = run.with_influence(InfluenceFunction(centred, GIVEN))
    return _Candidate(informed, columns, no_replicates(informed))


def _known(run: Run) -> Influence:
    if run.influence is None:
        raise InfluenceError(
            f"there is no influence function to check: {run.influence_source}. Name an engine with "
            "`influence=`, or pass values."
        )
    return run.influence


def _checked(case: _Case) -> InfluenceCheck:
    run, probe = case.candidate.run, case.probe
    k = len(run.estimate)
    verdicts = [case.verdict(output) for output in range(k)]
    nothing = np.empty((0, k))
    return InfluenceCheck(
        statistic=run.functional.name,
        names=run.output.names,
        source=run.influence_source,
        mean=case.mean,
        directions=Directions(nothing, nothing) if probe is None else _without_rounding(probe),
        disagreement=np.full(k, np.nan) if probe is None else probe.disagreement,
        r_squared=case.r_squared,
        findings=tuple(finding.short for finding in verdicts),
        verdict=joined(verdicts, run.output.names),
        passed=all(finding.short == AGREES for finding in verdicts),
    )


def _without_rounding(probe: Probe) -> Directions:
    """Return the changes; predicted ones that are rounding alone are set to zero."""
    return Directions(np.where(np.abs(probe.predicted) > _ROUNDING * probe.spread, probe.predicted, 0.0), probe.found)


def _largest_mean(columns: Influence) -> FloatArray:
    """Return the mean in standard deviations, the largest over the samples, shape ``(k,)``."""
    means = []
    for values in columns:
        mean, spread = values.mean(axis=0), values.std(axis=0)
        # What rounding leaves of a mean of zero is no mean, and what it leaves of equal values no spread.
        rounding = len(values) * _EPSILON * np.abs(values).max(axis=0)
        otherwise = np.where(np.abs(mean) > rounding, np.copysign(np.inf, mean), 0.0)
        means.append(np.divide(mean, spread, out=otherwise, where=spread > rounding))
    stacked = np.array(means)
    farthest: FloatArray = stacked[np.argmax(np.abs(stacked), axis=0), np.arange(stacked.shape[1])]
    return farthest


@dataclass(frozen=True, eq=False)
class _Case:
    """The evidence for the verdicts."""

    candidate: _Candidate
    replicates: Replicates
    n_directions: int

    def verdict(self, output: int) -> Verdict:
        """Return the verdict on one output: the first cause that applies, strongest first."""
        if self._ignored[output]:
            return IGNORES
        if self.probe is None:
            return UNDEFINED
        if self._has_steps(output):
            return steps(self.candidate.run.functional.fractional)
        if not self.probe.agrees[output]:
            if self.candidate.computed:
                return NOT_ITS_DERIVATIVE
            if all((values[:, output] == values[0, output]).all() for values in self.candidate.columns):
                return ALL_EQUAL
            sizes = self.candidate.run.data.sizes
            return misfit(self.probe, output, float(self.r_squared[output]), sizes)
        if abs(self.mean[output]) > CENTRE_TOLERANCE:
            return off_centre(self.mean[output])
        return agreement(self.r_squared[output], len(self.replicates))

    @cached_property
    def mean(self) -> FloatArray:
        """Return the mean of the influence values in standard deviations, shape ``(k,)``."""
        mean = _largest_mean(self.candidate.columns)
        # Engines centre what they find; of equal values that leaves rounding, which is no mean.
        return np.where(np.isfinite(mean), mean, 0.0) if self.candidate.computed else mean

    @cached_property
    def r_squared(self) -> FloatArray:
        """Return the share of the variance of the replicates that the linear part explains, shape ``(k,)``."""
        if len(self.replicates) < 2:
            return np.full_like(self.mean, np.nan)
        return r_squared(moments_of(self.replicates))

    @cached_property
    def probe(self) -> Probe | None:
        """Return the changes in the directions; None where the statistic has no value there."""
        return self._probed(1.0)

    def _probed(self, shorter: float) -> Probe | None:
        run = self.candidate.run
        return probed(
            _known(run),
            run.prepared,
            run.execution,
            n_directions=self.n_directions,
            seed=run.key[0],
            shorter=shorter,
        )

    def _has_steps(self, output: int) -> bool:
        """Return whether the statistic is a step function of the weights."""
        if self.probe is None:
            return False
        varies = bool((self.replicates.values[:, output] != self.replicates.estimate[output]).any())
        if varies and not self.probe.moved[:, output].any():
            return True
        if self.probe.agrees[output]:
            return False
        functional = self.candidate.run.functional
        by_whole_rows = not (functional.fractional and functional.smooth)
        return self._jumps(output) or (self.candidate.computed and by_whole_rows)

    def _jumps(self, output: int) -> bool:
        """Return whether the changes do not shrink with the step as those of a differentiable function do."""
        if self.probe is None or self._shorter is None:
            return False
        long, short = self.probe.found[:, output], self._shorter.found[:, output]
        rounding = _ROUNDING * abs(self.replicates.estimate[output])
        return bool((np.abs(long - short) > _STEADY * np.maximum(np.abs(long), np.abs(short)) + rounding).any())

    @cached_property
    def _shorter(self) -> Probe | None:
        return self._probed(_SHORTER)

    @cached_property
    def _ignored(self) -> BoolArray:
        """Return which outputs ignore the weights; checked only if one never changed."""
        run = self.candidate.run
        still: BoolArray = (self.replicates.values == self.replicates.estimate).all(axis=0)
        if not still.any():
            return still
        resamples = run.plan.resamples(run.key, range(_TRIAL_RESAMPLES))
        found = ignored_weights(run.prepared, resamples)
        return np.zeros_like(still) if found is None else found.ignored


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True)),
                row[-1],
            ]
        ).rstrip()
        for row in rows
    ]
