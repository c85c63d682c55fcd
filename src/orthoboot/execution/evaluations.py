"""A statistic at many weights, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from orthoboot.draws.resamples import Resamples
from orthoboot.execution.checkpoint import Checkpoint
from orthoboot.execution.execution import Execution, batches
from orthoboot.execution.progress import ProgressBar
from orthoboot.functionals.base import Prepared
from orthoboot.functionals.evaluation import Evaluation
from orthoboot.typing import FloatArray

_WEIGHTS_AT_ONCE = 1 << 21
_ONE_BY_ONE = 32
"""Of statistics that take one at a time: so many share what a task costs, and the progress bar still moves."""


class WeightsSource(Protocol):
    """A numbered sequence of weights, from a plan or from an influence engine."""

    def resamples(self, numbers: Sequence[int]) -> Resamples:
        """Return the weights with these numbers."""


@dataclass(frozen=True, eq=False)
class _Evaluator:
    """The statistic at numbered weights: a pure function of the numbers."""

    prepared: Prepared[Any]
    source: WeightsSource

    def __call__(self, numbers: Sequence[int]) -> Evaluation:
        return self.prepared.evaluate(self.source.resamples(numbers))


def evaluations(
    prepared: Prepared[Any], source: WeightsSource, n: int, execution: Execution, section: str, bar: ProgressBar
) -> Evaluation:
    """Return the statistic at the weights 0 to `n` - 1 of a source; failures are recorded, not raised.

    Parameters
    ----------
    section
        What the checkpoint calls these evaluations.
    bar
        Counts them.
    """
    at_once = _batch_size(prepared, execution)
    with execution.checkpoint.opened():
        done, known = execution.checkpoint.known(section, range(n))
        missing = sorted(set(range(n)) - set(done))
        tasks = batches(missing, execution.task_size(len(missing), at_once))
        found = {} if known is None else {done[0]: (done, known)}
        bar.advance(len(done))
        in_threads = prepared.functional.releases_gil
        for numbers, evaluation in execution.completed(_Evaluator(prepared, source), tasks, in_threads=in_threads):
            execution.checkpoint.add(section, numbers, evaluation)
            found[numbers[0]] = (list(numbers), evaluation)
            bar.advance(len(numbers))
    return _in_order(list(found.values()))


@dataclass(frozen=True, eq=False)
class _Given:
    """Weights that are at hand, one ``(B, n_i)`` array per sample."""

    weights: tuple[FloatArray, ...]

    def resamples(self, numbers: Sequence[int]) -> Resamples:
        """Return the weights with these numbers."""
        return Resamples(tuple(part[list(numbers)] for part in self.weights))


def trial_evaluations(prepared: Prepared[Any], weights: tuple[FloatArray, ...], execution: Execution) -> Evaluation:
    """Return the statistic at a few weights, shared among the jobs; neither counted nor kept in a checkpoint.

    Parameters
    ----------
    weights
        One ``(B, n_i)`` array per sample.
    """
    unrecorded = replace(execution, checkpoint=Checkpoint())
    n = len(weights[0])
    return evaluations(prepared, _Given(weights), n, unrecorded, "trial", ProgressBar(n, shown=False))


def _batch_size(prepared: Prepared[Any], execution: Execution) -> int:
    """Return how many weights to hold at once; one, if evaluations may be slow and are checkpointed."""
    in_memory = max(_WEIGHTS_AT_ONCE // sum(prepared.data.sizes), 1)
    if prepared.functional.batched:
        return in_memory
    return 1 if execution.checkpoint.path is not None else min(in_memory, _ONE_BY_ONE)


def _in_order(pieces: list[tuple[list[int], Evaluation]]) -> Evaluation:
    whole = Evaluation.joined(evaluation for _, evaluation in pieces)
    return whole.ordered_by([number for numbers, _ in pieces for number in numbers])
