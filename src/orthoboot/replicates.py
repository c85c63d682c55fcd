"""The only loop: data, a plan and a statistic become a frozen `Replicates`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ReplicationError, StatisticError
from orthoboot.execution.progress import ProgressBar
from orthoboot.influence import Design, Found, regression_fit
from orthoboot.run import COUNTS_AT_ONCE, Simulation
from orthoboot.typing import FloatArray, IntArray

_ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""A relative difference that summing in another order makes."""


@dataclass(frozen=True, eq=False)
class Replicates:
    """What was simulated: the statistic and its linear part on each resample that did not fail.

    Attributes
    ----------
    estimate
        phi_hat, shape ``(k,)``.
    values
        phi_b, shape ``(B, k)``.
    linear
        linear_b, centred at its exact mean under the plan, shape ``(B, k)``, or None without an influence function.
    linear_variance
        Its exact variance V under the plan, shape ``(k,)``, or None.
    numbers
        The number of each replicate in the run, shape ``(B,)``; failed ones are missing.
    n_drawn
        How many resamples were drawn, failed ones included.
    first_failure
        What the first failed replicate did, in words.
    interrupted
        Whether the run was stopped before it was complete.
    second_order_bias
        The infinitesimal jackknife's bias, shape ``(k,)``, where it was asked for and could be found.
    """

    estimate: FloatArray
    values: FloatArray
    linear: FloatArray | None
    linear_variance: FloatArray | None
    numbers: IntArray
    n_drawn: int
    first_failure: str | None = None
    interrupted: bool = False
    second_order_bias: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def n_failed(self) -> int:
        """Return how many replicates raised or were not finite."""
        return self.n_drawn - len(self.values)

    @property
    def next_number(self) -> int:
        """Return the number of the replicate to draw next: one after all of these."""
        return max(self.n_drawn, int(self.numbers.max(initial=-1)) + 1)

    def among(self, keep: slice) -> Replicates:
        """Return some of the replicates that did not fail, as if only these had been drawn."""
        chosen = self.select(keep)
        if len(chosen) == len(self):
            return self
        return replace(chosen, n_drawn=len(chosen), first_failure=None, interrupted=False)

    def select(self, keep: IntArray | slice) -> Replicates:
        """Return the replicates at the positions `keep`."""
        linear = None if self.linear is None else self.linear[keep]
        return replace(self, values=self.values[keep], linear=linear, numbers=self.numbers[keep])

    def without_group(self, group: int, n_groups: int) -> Replicates:
        """Return all replicates but those of one of `n_groups` groups of about equal size."""
        return self.select(np.flatnonzero(np.arange(len(self)) % n_groups != group))


def no_replicates(simulation: Simulation) -> Replicates:
    """Return what is known before the first replicate."""
    k = len(simulation.estimate)
    return Replicates(
        estimate=simulation.estimate,
        values=np.empty((0, k)),
        linear=None if simulation.influence is None else np.empty((0, k)),
        linear_variance=simulation.linear_variance,
        numbers=np.empty(0, dtype=np.int64),
        n_drawn=0,
    )


def extended(simulation: Simulation, replicates: Replicates, n_resamples: int) -> Replicates:
    """Return `replicates` with `n_resamples` more.

    Replicate b depends on the seed and b alone, so twice ten more are the same as twenty. Ctrl-C ends the loop and
    keeps what is done.
    """
    start = replicates.next_number
    n_requested = replicates.n_drawn + n_resamples
    pieces = [replicates]
    interrupted = False
    with ProgressBar(n_resamples, shown=simulation.progress) as bar:
        try:
            for numbers in _batches(range(start, start + n_resamples), simulation.batch_size):
                pieces.append(_simulated(simulation, numbers))
                if pieces[-1].n_failed:
                    _check_failures(pieces, n_requested)
                bar.advance(len(numbers))
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        _check_failures(pieces, sum(piece.n_drawn for piece in pieces))
    return replace(_joined(pieces), interrupted=interrupted)


def relinearized(simulation: Simulation, replicates: Replicates) -> Replicates:
    """Return `replicates` with the linear part of another influence function.

    The resamples are drawn again, from their numbers; the statistic is not evaluated again.
    """
    batches = _batches(replicates.numbers.tolist(), max(COUNTS_AT_ONCE // sum(simulation.data.sizes), 1))
    parts = [simulation.linear(simulation.plan.resamples(simulation.key, numbers)) for numbers in batches]
    known = [part for part in parts if part is not None]
    linear = np.concatenate(known) if known else no_replicates(simulation).linear
    return replace(replicates, linear=linear, linear_variance=simulation.linear_variance)


def regressed(simulation: Simulation, design: Design, n_resamples: int) -> tuple[Simulation, Replicates]:
    """Return a first round of replicates with the influence function fitted to them, and the run that has it.

    The linear part of each is from the fit to the others; replicates that come later have the whole fit's.
    """
    drawn = extended(simulation, no_replicates(simulation), n_resamples)
    if drawn.interrupted and len(drawn) < design.least_resamples:
        raise KeyboardInterrupt
    design.check(len(drawn), f"{len(drawn):,} that did not fail, of {drawn.n_drawn:,}")
    fit = regression_fit(design, simulation.key, drawn.numbers, drawn.values)
    source = f"regression on {design.description}, from {len(drawn):,} replicates (as asked)"
    fitted = simulation.with_influence(Found(fit.influence, source))
    return fitted, replace(drawn, linear=fit.linear, linear_variance=fitted.linear_variance)


def _batches(numbers: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for start in range(0, len(numbers), size):
        yield numbers[start : start + size]


def _simulated(simulation: Simulation, numbers: Sequence[int]) -> Replicates:
    resamples = simulation.plan.resamples(simulation.key, numbers)
    values, failure = _values(simulation, resamples)
    values = _without_rounding(values, simulation.estimate)
    finite = np.isfinite(values).all(axis=1)
    if failure is None and not finite.all():
        failure = _not_finite(simulation, values[np.argmin(finite)])
    linear = simulation.linear(resamples)
    return Replicates(
        estimate=simulation.estimate,
        values=values[finite],
        linear=None if linear is None else linear[finite],
        linear_variance=simulation.linear_variance,
        numbers=np.asarray(numbers, dtype=np.int64)[finite],
        n_drawn=len(numbers),
        first_failure=failure,
    )


def _not_finite(simulation: Simulation, value: FloatArray) -> str:
    """Return in words that a replicate has no value, and why where the statistic knows."""
    functional = simulation.functional
    if functional.undefined:
        return f"`{functional.name}` is not defined where {functional.undefined}"
    return f"the statistic was {value.tolist()}, which is not finite"


def _without_rounding(values: FloatArray, estimate: FloatArray) -> FloatArray:
    """Return `values`, those that differ from the estimate by rounding alone set to it: a constant does not vary."""
    return np.where(np.abs(values - estimate) <= _ROUNDING * np.abs(estimate), estimate, values)


def _values(simulation: Simulation, resamples: Resamples) -> tuple[FloatArray, str | None]:
    """Return phi_b with NaN for replicates that raised, and what the first of those said."""
    functional, data = simulation.functional, simulation.data
    try:
        return functional.evaluate(data, resamples), None
    except StatisticError:
        raise
    except Exception as error:  # any exception of the user's function is a failed replicate, counted and reported
        if len(resamples) == 1:
            # The sentence that quotes it ends with a full stop of its own.
            return np.full((1, len(simulation.estimate)), np.nan), f"{type(error).__name__}: {error}".rstrip(".")
    outcomes = [_values(simulation, resamples.one(b)) for b in range(len(resamples))]
    failures = [failure for _, failure in outcomes if failure is not None]
    return np.concatenate([values for values, _ in outcomes]), failures[0] if failures else None


def _check_failures(pieces: list[Replicates], n_requested: int) -> None:
    n_failed = sum(piece.n_failed for piece in pieces)
    if 2 * n_failed > n_requested:
        cause = next(piece.first_failure for piece in pieces if piece.first_failure)
        n_drawn = sum(piece.n_drawn for piece in pieces)
        raise ReplicationError(
            f"more than half of the replicates failed: {n_failed} of the {n_drawn} drawn so far. The first failure "
            f"was: {cause}. Make the statistic defined on resamples, in which rows repeat and some are missing."
        )


def _joined(pieces: list[Replicates]) -> Replicates:
    linear = [piece.linear for piece in pieces if piece.linear is not None]
    return replace(
        pieces[0],
        values=np.concatenate([piece.values for piece in pieces]),
        linear=np.concatenate(linear) if linear else None,
        numbers=np.concatenate([piece.numbers for piece in pieces]),
        n_drawn=sum(piece.n_drawn for piece in pieces),
        first_failure=next((piece.first_failure for piece in pieces if piece.first_failure), None),
    )
