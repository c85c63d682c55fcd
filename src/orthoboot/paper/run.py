"""Compute what is not there yet, on as many processes as asked for, and keep each part as it is done."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from orthoboot.errors import InterruptedWarning, MissingDependencyError, OrthobootWarning
from orthoboot.execution.progress import ProgressBar
from orthoboot.paper.experiment import Arrays, Experiment, Settings, seed_of
from orthoboot.paper.store import Part, Store, parts_of


def outcomes(experiment: Experiment, settings: Settings, store: Store, *, jobs: int = 1) -> dict[str, Arrays]:
    """Return what all repetitions of all cases gave; those that the store has are not computed again."""
    found: dict[Part, Arrays] = {}
    missing: list[Part] = []
    parts = list(parts_of(experiment, settings))
    for part in parts:
        kept = store.load(part)
        if kept is None:
            missing.append(part)
        else:
            found[part] = kept
    n_missing = sum(len(part.repetitions) for part in missing)
    with ProgressBar(n_missing, unit="repetition", title=experiment.name) as bar:
        for part, arrays in _computed(experiment, missing, settings, jobs):
            store.save(part, arrays)
            found[part] = arrays
            bar.advance(len(part.repetitions))
    return {case.name: _joined([found[part] for part in parts if part.case == case]) for case in _cases(parts)}


def _cases(parts: Sequence[Part]) -> list[Any]:
    return list(dict.fromkeys(part.case for part in parts))


def _joined(pieces: Sequence[Arrays]) -> Arrays:
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def _computed(
    experiment: Experiment, parts: Sequence[Part], settings: Settings, jobs: int
) -> Iterator[tuple[Part, Arrays]]:
    """Yield each part with its outcome, in the order in which they are done."""
    if not parts:
        return
    joblib = _installed("joblib")
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1, initializer=_leave_interrupts):
        parallel = joblib.Parallel(n_jobs=min(jobs, len(parts)), return_as="generator_unordered", batch_size=1)
        yield from parallel(joblib.delayed(_outcome)(experiment, part, settings) for part in parts)


def _leave_interrupts() -> None:
    """Let Ctrl-C end the command, which ends its processes: these would each print what they were doing."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _outcome(experiment: Experiment, part: Part, settings: Settings) -> tuple[Part, Arrays]:
    # One thread each: the processes share the cores, and sums of one thread have the same rounding everywhere. joblib
    # limits the processes that it starts, but with one job it starts none.
    with warnings.catch_warnings(), _installed("threadpoolctl").threadpool_limits(1):
        # Two replicates, medians, heavy tails: what the library warns of is what the experiments are about.
        warnings.simplefilter("ignore", OrthobootWarning)
        # But after Ctrl-C `bootstrap` answers from the replicates done so far, which must not be kept for the answer.
        warnings.simplefilter("error", InterruptedWarning)
        try:
            each = [
                experiment.repetition(part.case.name, seed_of(settings, part.experiment, part.case.name, r), settings)
                for r in part.repetitions
            ]
        except InterruptedWarning:
            raise KeyboardInterrupt from None
    return part, {name: np.stack([np.asarray(one[name], dtype=np.float64) for one in each]) for name in each[0]}


def _installed(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingDependencyError(
            f'the reproduction of the paper needs {package}; install it with `pip install "orthoboot[paper]"`.'
        ) from error
