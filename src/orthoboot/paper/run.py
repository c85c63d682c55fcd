"""Run the missing parts of an experiment in parallel, and store each as it finishes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoboot.errors import InterruptedWarning, MissingDependencyError, OrthobootWarning, WorkerError
from orthoboot.execution.execution import Execution
from orthoboot.execution.progress import ProgressBar
from orthoboot.paper.experiment import Arrays, Experiment, Settings, seed_of
from orthoboot.paper.store import Part, Store, code_digest, parts_of


class Interrupted(KeyboardInterrupt):
    """Ctrl-C; says how much of the experiment is kept."""


def outcomes(experiment: Experiment, settings: Settings, store: Store, *, jobs: int = 1) -> dict[str, Arrays]:
    """Return the outcomes of all repetitions of all cases; stored ones are not computed again.

    A repetition that fails does not stop the others: what failed first is raised when they are done and kept.
    """
    parts = list(parts_of(experiment, settings))
    kept = {part: store.load(part) for part in parts}
    found = {part: arrays for part, arrays in kept.items() if arrays is not None}
    missing = [part for part in parts if part not in found]
    failures: list[Exception] = []
    with ProgressBar(_repetitions(missing), unit="repetition", title=experiment.name) as bar:
        try:
            work = _Repetitions(experiment, settings, code_digest())
            for part, outcome in Execution(max(min(jobs, len(missing)), 1)).completed(work, missing, in_threads=False):
                if isinstance(outcome, Exception):
                    failures.append(outcome)
                else:
                    store.save(part, outcome)
                    found[part] = outcome
                bar.advance(len(part.repetitions))
        except WorkerError as error:
            raise WorkerError(f"{error} What is finished is kept.") from error
        except KeyboardInterrupt:
            # What the store holds, not `found`: the interrupt may come between the two.
            stored = [part for part in parts if store.load(part) is not None]
            done = f"{_repetitions(stored):,} of {_repetitions(parts):,} repetitions of {experiment.name}"
            raise Interrupted(f"{done} are kept in {store.folder}") from None
    if failures:
        raise failures[0]
    names = dict.fromkeys(part.case.name for part in parts)
    return {name: _joined([found[part] for part in parts if part.case.name == name]) for name in names}


def _repetitions(parts: Sequence[Part]) -> int:
    return sum(len(part.repetitions) for part in parts)


def _joined(pieces: Sequence[Arrays]) -> Arrays:
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


@dataclass(frozen=True)
class _Repetitions:
    """The work on one part of an experiment, for any process.

    Attributes
    ----------
    code
        The digest of the code that makes the numbers, which must be the same in every process.
    """

    experiment: Experiment
    settings: Settings
    code: str

    def __call__(self, part: Part) -> Arrays | Exception:
        """Return the outcomes of the repetitions of a part, or the exception of one of them."""
        if code_digest() != self.code:
            raise WorkerError("the source of orthoboot was changed during the run. Start it again.")
        # One thread each: the processes share the cores, and sums of one thread have the same rounding everywhere.
        with warnings.catch_warnings(), _threadpool_limits():
            # Two replicates, medians, heavy tails: what the library warns of is what the experiments are about.
            warnings.simplefilter("ignore", OrthobootWarning)
            # But after Ctrl-C `bootstrap` answers from the replicates done so far, which must not be kept for it.
            warnings.simplefilter("error", InterruptedWarning)
            each: list[Arrays] = []
            for number in part.repetitions:
                seed = seed_of(self.settings, part.experiment, part.case.name, number)
                try:
                    each.append(self.experiment.repetition(part.case.name, seed, self.settings))
                except InterruptedWarning:
                    raise KeyboardInterrupt from None
                except Exception as error:  # of whatever kind: it must not cost the other parts
                    place = f"{part.experiment}, {part.case.name}, repetition {number}, seed {self.settings.seed}"
                    error.add_note(place)
                    return error
        return {name: np.stack([np.asarray(one[name], dtype=np.float64) for one in each]) for name in each[0]}


def _threadpool_limits() -> Any:
    try:
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        raise MissingDependencyError(
            'the reproduction of the paper needs threadpoolctl; install it with `pip install "orthoboot[paper]"`.'
        ) from error
    return threadpool_limits(1)
