"""Run tasks serially, in threads or in processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from orthoboot.execution.checkpoint import Checkpoint
from orthoboot.execution.parallel import effective_jobs, parallel

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")

_TASKS_PER_JOB = 4
"""Batches that each job gets at least, so that none waits long for the last one."""


@dataclass(frozen=True, eq=False)
class Execution:
    """How tasks are run; results do not depend on it.

    Attributes
    ----------
    n_jobs
        How many threads or processes; None for one, or for what `joblib.parallel_config` says.
    progress
        Whether to show a progress bar; None for long work on a terminal.
    checkpoint
        Where finished work is kept, if anywhere.
    """

    n_jobs: int | None = None
    progress: bool | None = None
    checkpoint: Checkpoint = field(default_factory=Checkpoint)

    def task_size(self, n: int, batch_size: int) -> int:
        """Return how many of `n` work items make a task: at most a batch, and enough tasks for every job."""
        jobs = effective_jobs(self.n_jobs)
        return batch_size if jobs == 1 else max(min(batch_size, -(-n // (_TASKS_PER_JOB * jobs))), 1)

    def completed(
        self, work: Callable[[Task], Outcome], tasks: Sequence[Task], *, in_threads: bool
    ) -> Iterator[tuple[Task, Outcome]]:
        """Yield each task with its outcome as it finishes.

        Parameters
        ----------
        work
            A pure function of a task; with processes it is sent to them once.
        tasks
            What is to be done.
        in_threads
            Whether the work is done in compiled code, so that threads share it without copies; otherwise processes.
        """
        if effective_jobs(self.n_jobs) == 1 or len(tasks) < 2:
            return ((task, work(task)) for task in tasks)
        return parallel(work, tasks, n_jobs=self.n_jobs, in_threads=in_threads)


def batches(numbers: Sequence[int], size: int) -> list[Sequence[int]]:
    """Return `numbers` in runs of `size`, the last one shorter."""
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]
