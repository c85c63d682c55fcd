"""Checkpoints: the finished evaluations of a run in a file, to resume it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from types import MappingProxyType
from typing import Any

import numpy as np

from orthoboot.errors import CheckpointError
from orthoboot.execution.lock import FileLock
from orthoboot.execution.store import Arrays, load_arrays, save_arrays
from orthoboot.functionals.evaluation import Evaluation, Failure
from orthoboot.typing import FloatArray, IntArray, Key

_FORMAT = 3
"""The layout of the file and of the counter behind its resamples; another one is refused."""
_MARK = "orthoboot checkpoint"
_SHARE = 0.1
"""Of the time that writing may take: a run of many quick replicates does not write after each of them."""
_SAME = 1e-9
"""Relative distance up to which the statistic on the data counts as the same: other processors round otherwise."""

_DIFFERENCES = {
    "statistic": "the statistic, its options or its code",
    "data": "the data",
    "plan": "how the rows are drawn (`strata`, `groups`, `block_length`)",
    "model": "the model or its code",
    "inputs": "the data of the inputs",
    "horizon": "the horizon, or how the model takes its draws",
    "key": "the seed (`rng`)",
}
"""What makes a file that of another run."""


class Checkpoint:
    """The finished evaluations of a run, saved to a file if there is one.

    Parameters
    ----------
    path
        The file, or None to keep nothing.
    identity
        Digests of all that the numbers depend on, by name.
    estimate
        The statistic on the data, which another statistic would hardly share.
    key
        The seed of the run.
    """

    def __init__(
        self,
        path: Path | None = None,
        identity: Mapping[str, str] = MappingProxyType({}),
        estimate: FloatArray | None = None,
        key: Key = (0, 0),
    ) -> None:
        self.path = path
        self._identity = dict(identity)
        self._estimate = np.empty(0) if estimate is None else estimate
        self._key = key
        self._kept: dict[str, _Section] = {}
        self._mutex = RLock()
        self._depth = 0
        self._lock: FileLock | None = None
        self._next_write = 0.0
        self._is_written = True

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for another process, without the lock and the file's content."""
        return {"path": self.path, "identity": self._identity, "estimate": self._estimate, "key": self._key}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make one that is closed."""
        self.__init__(**state)  # type: ignore[misc]

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Lock the file during the work, and save what is finished when it ends, also by an error."""
        if self.path is None:
            yield
            return
        if not self._mutex.acquire(blocking=False):
            raise _in_use(self.path)
        try:
            if self._depth == 0:
                self._open(self.path)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if self._depth == 0:
                    self._close(self.path)
        finally:
            self._mutex.release()

    def known(self, section: str, numbers: Sequence[int]) -> tuple[list[int], Evaluation | None]:
        """Return which of `numbers` are finished, in their order, and their evaluations."""
        kept = self._kept.get(section)
        done = [] if kept is None else [number for number in numbers if number in kept.places]
        return (done, kept.chosen(done)) if kept is not None and done else ([], None)

    def add(self, section: str, numbers: Sequence[int], evaluation: Evaluation) -> None:
        """Store the evaluations with these numbers."""
        if self.path is None:
            return
        self._kept.setdefault(section, _Section()).add(numbers, evaluation)
        self._is_written = False
        started = time.monotonic()
        if started >= self._next_write:
            self._write(self.path)
            ended = time.monotonic()
            self._next_write = ended + (ended - started) * (1 / _SHARE - 1)

    def _open(self, path: Path) -> None:
        lock = FileLock(path)
        try:
            is_free = lock.acquire()
        except OSError as error:
            raise CheckpointError(
                f"`checkpoint` must be a file that can be locked and written; got {str(path)!r}: {error.strerror}."
            ) from error
        if not is_free:
            raise _in_use(path)
        try:
            self._kept = self._read(path)
        except BaseException:
            lock.release()
            raise
        self._lock = lock

    def _close(self, path: Path) -> None:
        try:
            if not self._is_written:
                self._write(path)
        finally:
            if self._lock is not None:
                self._lock.release()
                self._lock = None
            self._kept = {}

    def _read(self, path: Path) -> dict[str, _Section]:
        arrays = checked_arrays(path)
        if arrays is None:
            return {}
        self._check_same_run(path, arrays)
        names = {name.rpartition("/")[0] for name in arrays if "/" in name}
        return {name: _Section.of(arrays, name) for name in names}

    def _check_same_run(self, path: Path, arrays: Arrays) -> None:
        identity = json.loads(str(arrays["identity"]))
        different = [words for name, words in _DIFFERENCES.items() if identity.get(name) != self._identity.get(name)]
        estimate = arrays["estimate"]
        if not different and not (
            estimate.shape == self._estimate.shape and np.allclose(estimate, self._estimate, rtol=_SAME, atol=0)
        ):
            different = [
                "the value of the statistic on the data. If the statistic draws random numbers, fix its seed, for "
                "example with `random_state`"
            ]
        if different:
            raise CheckpointError(
                f"`checkpoint` {str(path)!r} belongs to another run. Different: {'; '.join(different)}. Use another "
                "file, or delete this one."
            )

    def _write(self, path: Path) -> None:
        header = {
            "mark": np.array(_MARK),
            "format": np.array(_FORMAT),
            "identity": np.array(json.dumps(self._identity)),
            "estimate": self._estimate,
            "key": np.array(self._key, dtype=np.uint64),
        }
        for name, section in self._kept.items():
            header |= {f"{name}/{part}": array for part, array in section.arrays().items()}
        self._is_written = True  # or tried: what could not be written is not tried again on the way out
        try:
            save_arrays(path, header)
        except OSError as error:
            raise CheckpointError(
                f"`checkpoint` {str(path)!r} could not be written: {error.strerror}. What was written before is kept."
            ) from error


def _in_use(path: Path) -> CheckpointError:
    return CheckpointError(f"`checkpoint` {str(path)!r} is in use by another process or thread. Use one file per run.")


def checked_arrays(path: Path) -> Arrays | None:
    """Return the arrays of a checkpoint, or None if there is no file; raise if it is invalid or unreadable."""
    try:
        arrays = load_arrays(path)
        exists = path.exists()
    except OSError as error:
        raise CheckpointError(f"`checkpoint` {str(path)!r} cannot be read: {error.strerror}.") from error
    if arrays is None and not exists:
        return None
    if arrays is None or str(arrays.get("mark")) != _MARK:
        raise CheckpointError(
            f"`checkpoint` {str(path)!r} is not a checkpoint of orthoboot, or is damaged; it was not changed. Use "
            "another file, or delete this one."
        )
    if int(arrays["format"]) != _FORMAT:
        raise CheckpointError(
            f"`checkpoint` {str(path)!r} has format {int(arrays['format'])}, of another version of orthoboot; this "
            f"one reads {_FORMAT}. Use another file, or delete this one."
        )
    return arrays


def stored_key(path: Path) -> Key | None:
    """Return the seed stored in a checkpoint, or None if there is no file."""
    arrays = checked_arrays(path)
    if arrays is None:
        return None
    first, second = arrays["key"].tolist()
    return first, second


class _Section:
    """Evaluations of one kind, such as replicates, by their numbers."""

    def __init__(self) -> None:
        self.places: dict[int, int] = {}
        self._pieces: list[Evaluation] = []

    def add(self, numbers: Sequence[int], evaluation: Evaluation) -> None:
        assert not self.places.keys() & set(numbers)
        for number in numbers:
            self.places[int(number)] = len(self.places)
        self._pieces.append(evaluation)

    @property
    def whole(self) -> Evaluation:
        if len(self._pieces) > 1:
            self._pieces = [Evaluation.joined(self._pieces)]
        return self._pieces[0]

    def chosen(self, numbers: Sequence[int]) -> Evaluation:
        places = [self.places[number] for number in numbers]
        whole = self.whole
        failures = tuple(whole.failures[place] for place in places)
        return Evaluation(whole.values[places], failures, whole.converged[places])

    def arrays(self) -> Arrays:
        whole = self.whole
        failed = [(place, failure) for place, failure in enumerate(whole.failures) if failure is not None]
        return {
            "numbers": np.array(list(self.places), dtype=np.int64),
            "values": whole.values,
            "converged": whole.converged,
            "failed": np.array([place for place, _ in failed], dtype=np.int64),
            "raised": np.array([failure.raised for _, failure in failed], dtype=bool),
            "reasons": np.array([failure.reason for _, failure in failed], dtype=np.str_),
        }

    @staticmethod
    def of(arrays: Arrays, name: str) -> _Section:
        numbers: IntArray = arrays[f"{name}/numbers"]
        failures: list[Failure | None] = [None] * len(numbers)
        failed = zip(*(arrays[f"{name}/{part}"].tolist() for part in ("failed", "reasons", "raised")), strict=True)
        for place, reason, raised in failed:
            failures[place] = Failure(reason, raised)
        section = _Section()
        evaluation = Evaluation(arrays[f"{name}/values"], tuple(failures), arrays[f"{name}/converged"])
        section.add(numbers.tolist(), evaluation)
        return section
