"""Simulation: the loop over resamples, which returns `Replicates`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from orthoboot.errors import ReplicationError, StatisticError
from orthoboot.execution.execution import batches
from orthoboot.execution.progress import ProgressBar
from orthoboot.functionals.evaluation import Convergence, Evaluation
from orthoboot.influence import Design, InfluenceFunction, regression_fit
from orthoboot.run import ReplicateBatch, Run
from orthoboot.typing import FloatArray, IntArray

_ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""A relative difference that summing in another order makes."""

_SAME_LINEAR = 1e-9
"""Linear parts closer than this, in standard deviations, are the same, as those of the same rows by differences are."""

_SECTION = "replicates"
"""What a checkpoint calls them."""

Note = Callable[["Replicates"], str]
"""Says in a few words how far a run has come, for the progress bar."""


@dataclass(frozen=True, eq=False)
class Replicates:
    """The values of the statistic and its linear part on the resamples that did not fail.

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
    failures
        Why the others have no value, in words, by their numbers.
    n_unconverged
        How many of the fits behind the values did not converge.
    left_out
        Numbers that an interrupted run has passed over: other jobs were at them.
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
    failures: Mapping[int, str] = field(default_factory=dict)
    n_unconverged: int = 0
    left_out: tuple[int, ...] = ()
    interrupted: bool = False
    second_order_bias: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_empty(self) -> bool:
        """Return whether nothing was drawn, and nothing is known beyond the run."""
        return not (self.n_drawn or self.left_out or self.interrupted) and self.second_order_bias is None

    @property
    def n_failed(self) -> int:
        """Return how many replicates raised or were not finite."""
        return len(self.failures)

    @property
    def n_drawn(self) -> int:
        """Return how many resamples were drawn, failed ones included."""
        return len(self.values) + len(self.failures)

    @property
    def first_failure(self) -> str | None:
        """Return the reason of the first failed replicate."""
        return self.failures[min(self.failures)] if self.failures else None

    @property
    def convergence(self) -> Convergence:
        """Return how many fits gave a value, and how many of them did not converge."""
        return Convergence(len(self.values), self.n_unconverged)

    @property
    def last_number(self) -> int:
        """Return the largest number that was drawn, of a failed replicate too; -1 where there is none."""
        return max(int(self.numbers.max(initial=-1)), max(self.failures, default=-1))

    def next_numbers(self, n: int) -> Sequence[int]:
        """Return the numbers of the `n` replicates to draw next: first those skipped, then new ones."""
        start = max(self.n_drawn + len(self.left_out), self.last_number + 1)
        new = range(start, start + n)
        # Consecutive numbers are drawn together, and a range is known to be such.
        return [*self.left_out, *new][:n] if self.left_out else new

    def among(self, keep: slice) -> Replicates:
        """Return some of the replicates that did not fail, as if only these had been drawn."""
        chosen = self.select(keep)
        if len(chosen) == len(self):
            return self
        return replace(chosen, failures={}, n_unconverged=0, interrupted=False)

    def select(self, keep: IntArray | slice) -> Replicates:
        """Return the replicates at the positions `keep`."""
        linear = None if self.linear is None else self.linear[keep]
        return replace(self, values=self.values[keep], linear=linear, numbers=self.numbers[keep])

    def divided_by(self, unit: FloatArray, run: Run) -> Replicates:
        """Return the replicates divided by a unit for each output, shape ``(k,)``; `run` must be divided already."""
        bias = self.second_order_bias
        return replace(
            self,
            estimate=self.estimate / unit,
            values=self.values / unit,
            linear=None if self.linear is None else self.linear / unit,
            linear_variance=run.linear_variance,
            second_order_bias=None if bias is None else bias / unit,
        )

    def settled(self, run: Run) -> Replicates:
        """Return the replicates with outputs, and linear parts, that vary by rounding alone made constant.

        Whether all of a few replicates are equal decides about the slope, so that rounding must not.
        """
        if len(self) < 2:
            return self
        values = self.values if run.data.has_few_digits else _equal_but_for_rounding(self.values)
        linear = self.linear
        if linear is not None and self.linear_variance is not None:
            linear = _equal_but_for_rounding(linear, _SAME_LINEAR * np.sqrt(self.linear_variance))
        unchanged = values is self.values and linear is self.linear
        return self if unchanged else replace(self, values=values, linear=linear)


def _equal_but_for_rounding(values: FloatArray, least: FloatArray | float = 0.0) -> FloatArray:
    """Return `values` ``(B, k)``, the first one throughout in columns that vary by rounding alone, or by no more."""
    low, high = values.min(axis=0), values.max(axis=0)
    spread = high - low
    rounding = (spread > 0) & (spread <= np.maximum(_ROUNDING * np.maximum(high, -low), least))
    return np.where(rounding, values[:1], values) if rounding.any() else values


def no_replicates(run: Run) -> Replicates:
    """Return an empty `Replicates`."""
    k = len(run.estimate)
    return Replicates(
        estimate=run.estimate,
        values=np.empty((0, k)),
        linear=None if run.influence is None else np.empty((0, k)),
        linear_variance=run.linear_variance,
        numbers=np.empty(0, dtype=np.int64),
    )


def extended(run: Run, replicates: Replicates, n_resamples: int, note: Note | None = None) -> Replicates:
    """Return `replicates` with `n_resamples` more.

    Replicate b depends on the seed and b alone, so twice ten more are the same as twenty. Ctrl-C ends the loop and
    keeps what is done.

    Parameters
    ----------
    note
        What the progress bar says of the replicates so far.
    """
    n_requested = replicates.n_drawn + n_resamples
    numbers = replicates.next_numbers(n_resamples)
    collected = _Collected(run, replicates, n_requested)
    checkpoint, execution = run.execution.checkpoint, run.execution
    interrupted = False
    with checkpoint.opened(), ProgressBar(n_resamples, shown=execution.progress) as bar:
        try:
            done, known = checkpoint.known(_SECTION, numbers)
            if known is not None:
                collected.add(done, ReplicateBatch(known, _linear(run, done)))
                bar.advance(len(done))
            finished = set(done)
            missing = [number for number in numbers if number not in finished] if done else numbers
            tasks = batches(missing, execution.task_size(len(missing), run.batch_size))
            for some, batch in execution.completed(run.simulated, tasks, in_threads=run.functional.releases_gil):
                collected.add(some, batch)
                checkpoint.add(_SECTION, some, batch.evaluation)
                bar.advance(len(some), None if note is None else lambda: note(collected.joined()))
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        collected.check_failures(collected.n_drawn)
    joined = collected.joined()
    left_out = _left_out(chain(replicates.left_out, numbers[len(replicates.left_out) :]), joined)
    # Mostly both are so already, and a copy takes longer than to see that.
    if (joined.interrupted, joined.left_out) == (interrupted, left_out):
        return joined
    return replace(joined, interrupted=interrupted, left_out=left_out)


def _left_out(numbers: Iterable[int], replicates: Replicates) -> tuple[int, ...]:
    """Return the numbers that were skipped: not drawn, although later ones were."""
    last = replicates.last_number
    if replicates.n_drawn == last + 1:
        return ()
    drawn = {*replicates.numbers.tolist(), *replicates.failures}
    return tuple(number for number in numbers if number < last and number not in drawn)


class _Collected:
    """The batches of a run, collected in any order."""

    def __init__(self, run: Run, start: Replicates, n_requested: int) -> None:
        self._run, self._n_requested = run, n_requested
        # A start that holds nothing is the first batch's, which need not be copied to be joined with it.
        self._pieces = [] if start.is_empty else [start]
        self._start = start

    @property
    def n_drawn(self) -> int:
        return sum(piece.n_drawn for piece in self._pieces)

    def add(self, numbers: Sequence[int], batch: ReplicateBatch) -> None:
        replicates = _of_batch(self._run, numbers, batch)
        self._pieces.append(replicates)
        if replicates.n_failed:
            self.check_failures(self._n_requested)

    def check_failures(self, n_requested: int) -> None:
        n_failed = sum(piece.n_failed for piece in self._pieces)
        if 2 * n_failed > n_requested:
            cause = self.joined().first_failure
            raise ReplicationError(
                f"more than half of the replicates failed: {n_failed} of the {self.n_drawn} drawn so far. The first "
                f"failure was: {cause}. Make the statistic defined on resamples, in which rows repeat and some are "
                "missing."
            )

    def joined(self) -> Replicates:
        """Return all batches as one, ordered by replicate number."""
        pieces = self._pieces or [self._start]
        if len(pieces) == 1:
            return pieces[0]
        linear = [piece.linear for piece in pieces if piece.linear is not None]
        numbers = np.concatenate([piece.numbers for piece in pieces])
        joined = replace(
            pieces[0],
            values=np.concatenate([piece.values for piece in pieces]),
            linear=np.concatenate(linear) if linear else None,
            numbers=numbers,
            failures={n: why for piece in pieces for n, why in piece.failures.items()},
            n_unconverged=sum(piece.n_unconverged for piece in pieces),
        )
        in_order = bool((numbers[1:] > numbers[:-1]).all())
        return joined if in_order else joined.select(np.argsort(numbers))


def relinearized(run: Run, replicates: Replicates) -> Replicates:
    """Return `replicates` with the linear part of another influence function.

    The resamples are drawn again, from their numbers; the statistic is not evaluated again.
    """
    linear = _linear(run, replicates.numbers.tolist()) if len(replicates) else no_replicates(run).linear
    return replace(replicates, linear=linear, linear_variance=run.linear_variance)


def _linear(run: Run, numbers: Sequence[int]) -> FloatArray | None:
    """Return the linear part of the resamples with these numbers, which are drawn for it."""
    parts = [run.linear(run.resamples(some)) for some in batches(numbers, run.sums_batch)]
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if known else None


def regressed(run: Run, design: Design, n_resamples: int) -> tuple[Run, Replicates]:
    """Return the run with an influence function fitted to a first round of replicates, and these replicates.

    The linear part of each is from the fit to the others; replicates that come later have the whole fit's.
    """
    drawn = extended(run, no_replicates(run), n_resamples)
    if drawn.interrupted and len(drawn) < design.least_resamples:
        raise KeyboardInterrupt
    design.check(len(drawn), f"{len(drawn):,} that did not fail, of {drawn.n_drawn:,}")
    fit = regression_fit(design, run.key, drawn.numbers, drawn.values)
    source = f"regression on {design.description}, from {len(drawn):,} replicates (as asked)"
    fitted = run.with_influence(InfluenceFunction(fit.influence, source))
    return fitted, replace(drawn, linear=fit.linear, linear_variance=fitted.linear_variance)


def _of_batch(run: Run, numbers: Sequence[int], batch: ReplicateBatch) -> Replicates:
    evaluation = batch.evaluation
    if evaluation.has_failures:
        return _without_failures(run, numbers, batch)
    return Replicates(
        estimate=run.estimate,
        values=_without_rounding(run, evaluation.values),
        linear=batch.linear,
        linear_variance=run.linear_variance,
        numbers=_as_array(numbers),
        n_unconverged=len(evaluation) - int(np.count_nonzero(evaluation.converged)),
    )


def _without_failures(run: Run, numbers: Sequence[int], batch: ReplicateBatch) -> Replicates:
    """Return the replicates of a batch that did not fail, and why the others did."""
    evaluation = batch.evaluation
    _check_rules(evaluation)
    kept, failures = evaluation.succeeded, zip(numbers, evaluation.failures, strict=True)
    some = Evaluation.of(evaluation.values[kept], converged=evaluation.converged[kept])
    left = [number for number, is_kept in zip(numbers, kept.tolist(), strict=True) if is_kept]
    return replace(
        _of_batch(run, left, ReplicateBatch(some, None if batch.linear is None else batch.linear[kept])),
        failures={number: failure.reason for number, failure in failures if failure is not None},
    )


def _as_array(numbers: Sequence[int]) -> IntArray:
    if isinstance(numbers, range):  # numpy reads its numbers one by one
        return np.arange(numbers.start, numbers.stop, numbers.step, dtype=np.int64)
    return np.asarray(numbers, dtype=np.int64)


def _check_rules(evaluation: Evaluation) -> None:
    """Raise if the statistic returned an invalid value on a resample, so that no value is reliable."""
    for failure in evaluation.failures:
        if failure is not None and failure.ends_run:
            raise StatisticError(failure.reason)


def _without_rounding(run: Run, values: FloatArray) -> FloatArray:
    """Return `values`, set to the estimate where they differ by rounding alone.

    Where the rows themselves differ in their last digits only, such a difference is no rounding.
    """
    rounded = (np.abs(values - run.estimate) <= _ROUNDING * np.abs(run.estimate)) & (values != run.estimate)
    if not rounded.any() or run.data.has_few_digits:
        return values
    return np.where(rounded, run.estimate, values)
