"""Compute what is not there yet, on as many processes as asked for, and keep each part as it is done."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor
from importlib import import_module
from typing import Any

import numpy as np

from orthoboot.errors import InterruptedWarning, MissingDependencyError, OrthobootWarning, WorkerError
from orthoboot.execution.progress import ProgressBar
from orthoboot.paper.experiment import Arrays, Experiment, Settings, seed_of
from orthoboot.paper.store import Part, Store, code_digest, parts_of


class Interrupted(KeyboardInterrupt):
    """Ctrl-C; says how much of the experiment is kept."""


def outcomes(experiment: Experiment, settings: Settings, store: Store, *, jobs: int = 1) -> dict[str, Arrays]:
    """Return what all repetitions of all cases gave; those that the store has are not computed again.

    A repetition that fails does not stop the others: what failed first is raised when they are done and kept.
    """
    parts = list(parts_of(experiment, settings))
    kept = {part: store.load(part) for part in parts}
    found = {part: arrays for part, arrays in kept.items() if arrays is not None}
    missing = [part for part in parts if part not in found]
    failures: list[Exception] = []
    with ProgressBar(_repetitions(missing), unit="repetition", title=experiment.name) as bar:
        try:
            for part, outcome in _computed(experiment, missing, settings, jobs):
                if isinstance(outcome, Exception):
                    failures.append(outcome)
                else:
                    store.save(part, outcome)
                    found[part] = outcome
                bar.advance(len(part.repetitions))
        except KeyboardInterrupt:
            done = f"{_repetitions(list(found)):,} of {_repetitions(parts):,} repetitions of {experiment.name}"
            raise Interrupted(f"{done} are kept in {store.folder}") from None
    if failures:
        raise failures[0]
    names = dict.fromkeys(part.case.name for part in parts)
    return {name: _joined([found[part] for part in parts if part.case.name == name]) for name in names}


def _repetitions(parts: Sequence[Part]) -> int:
    return sum(len(part.repetitions) for part in parts)


def _joined(pieces: Sequence[Arrays]) -> Arrays:
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def _computed(
    experiment: Experiment, parts: Sequence[Part], settings: Settings, jobs: int
) -> Iterator[tuple[Part, Arrays | Exception]]:
    """Yield each part with its outcome, or with what it raised, in the order in which they are done."""
    if not parts:
        return
    joblib = _installed("joblib")
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1, initializer=_leave_interrupts):
        parallel = joblib.Parallel(n_jobs=min(jobs, len(parts)), return_as="generator_unordered", batch_size=1)
        tasks = (joblib.delayed(_outcome)(experiment, part, settings, code_digest()) for part in parts)
        try:
            yield from parallel(tasks)
        except BrokenExecutor as error:
            raise WorkerError(
                "a process that was computing has ended, as one does that the system takes for too large. What is "
                f"finished is kept. Try again with fewer than {jobs} `--jobs`."
            ) from error


def _leave_interrupts() -> None:
    """Let Ctrl-C end the command, which ends its processes: these would each print what they were doing."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _outcome(experiment: Experiment, part: Part, settings: Settings, code: str) -> tuple[Part, Arrays | Exception]:
    if code_digest() != code:
        raise WorkerError("the source of orthoboot was changed during the run. Start it again.")
    # One thread each: the processes share the cores, and sums of one thread have the same rounding everywhere. joblib
    # limits the processes that it starts, but with one job it starts none.
    with warnings.catch_warnings(), _installed("threadpoolctl").threadpool_limits(1):
        # Two replicates, medians, heavy tails: what the library warns of is what the experiments are about.
        warnings.simplefilter("ignore", OrthobootWarning)
        # But after Ctrl-C `bootstrap` answers from the replicates done so far, which must not be kept for the answer.
        warnings.simplefilter("error", InterruptedWarning)
        each: list[Arrays] = []
        for number in part.repetitions:
            seed = seed_of(settings, part.experiment, part.case.name, number)
            try:
                each.append(experiment.repetition(part.case.name, seed, settings))
            except InterruptedWarning:
                raise KeyboardInterrupt from None
            except Exception as error:  # of whatever kind: it must not cost the other parts
                error.add_note(f"{part.experiment}, {part.case.name}, repetition {number}, seed {settings.seed}")
                return part, error
    return part, {name: np.stack([np.asarray(one[name], dtype=np.float64) for one in each]) for name in each[0]}


def _installed(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingDependencyError(
            f'the reproduction of the paper needs {package}; install it with `pip install "orthoboot[paper]"`.'
        ) from error
