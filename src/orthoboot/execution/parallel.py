"""Tasks in threads, in processes or on a cluster, through joblib."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4
from warnings import WarningMessage

import numpy as np
from numpy.typing import NDArray

from orthoboot.errors import ArgumentError, MissingDependencyError, WorkerError
from orthoboot.warning_scopes import filtered, show_again, user_filters

_PER_ROUND = 4
"""Calls for each job between two times at which the work so far is kept, in backends that give nothing back earlier."""

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")


def effective_jobs(n_jobs: int | None) -> int:
    """Return the number of jobs: by default one, or what `joblib.parallel_config` sets."""
    if n_jobs is None:
        # `joblib.parallel_config` can only be in force where joblib has been imported.
        return _joblib().effective_n_jobs(None) if "joblib" in sys.modules else 1
    return 1 if n_jobs == 1 else int(_joblib().effective_n_jobs(n_jobs))


def parallel(
    work: Callable[[Task], Outcome], tasks: Sequence[Task], *, n_jobs: int | None, in_threads: bool
) -> Iterator[tuple[Task, Outcome]]:
    """Yield each task with its outcome as it finishes; see `Execution.completed`.

    A backend that the user has chosen with `joblib.parallel_config` is taken; without one, threads or processes as
    `in_threads` says, each with one thread for linear algebra.
    """
    joblib = _joblib()
    backend = _chosen_backend(joblib)
    shares_memory = in_threads if backend is None else bool(getattr(backend, "supports_sharedmem", False))
    call = _within(work) if shares_memory else _sent(work)
    numbered = [joblib.delayed(call.function)(*call.arguments, number, task) for number, task in enumerate(tasks)]
    prefer = "threads" if shares_memory else "processes"
    with _one_thread_each(shares_memory):
        jobs = min(effective_jobs(n_jobs), len(tasks))
        try:
            for done in _completed(joblib, numbered, jobs, prefer):
                show_again(done.warnings, _SHOWN)
                yield tasks[done.number], done.outcome
        except BrokenExecutor as error:
            raise WorkerError(
                "a worker process died: memory ran out, or the statistic ended it. Use fewer jobs; with `checkpoint`, "
                "what is done is kept."
            ) from error


class Done(NamedTuple):
    """The outcome of a numbered task, with the warnings it issued in another process."""

    number: int
    outcome: Any
    warnings: list[WarningMessage]


class _Call(NamedTuple):
    """A function to call with a task and its number."""

    function: Callable[..., Done]
    arguments: tuple[Any, ...]


def _within(work: Callable[[Any], Any]) -> _Call:
    return _Call(lambda number, task: Done(number, work(task), []), ())


def _sent(work: Callable[[Any], Any]) -> _Call:
    """Return the call for other processes, with the function pickled to one array of bytes.

    A large one is sent once: joblib shares it between the processes of a machine through a file, and Dask scatters it.
    """
    pickled = np.frombuffer(_pickled(work), dtype=np.uint8)
    return _Call(_in_other_process, (pickled, uuid4().hex, os.getpid(), user_filters()))


def _pickled(work: Callable[[Any], Any]) -> bytes:
    cloudpickle = _cloudpickle()
    try:
        pickled: bytes = cloudpickle.dumps(work)
    except Exception as error:  # whatever an object of the user's raises when it is pickled
        raise ArgumentError(
            "`n_jobs` needs a function and data that can be sent to other processes; pickling them raised "
            f"{type(error).__name__}: {error}. Use n_jobs=1, or threads with `joblib.parallel_config('threading')`."
        ) from error
    return pickled


_received: dict[str, Callable[[Any], Any]] = {}
"""In a process that works for others: what it was sent last, by its name, so that it is unpickled once."""

_RECEIVING = threading.Lock()

_SHOWN: dict[str, dict[Any, Any]] = {}
"""In the process of the user: the warnings of others that were shown, by file, as each module keeps its own."""


def _in_other_process(
    pickled: NDArray[np.uint8], name: str, parent: int, filters: list[Any], number: int, task: Any
) -> Done:
    """Return the outcome of a task with the warnings it issued, to be shown in the user's process."""
    if os.getpid() != parent:
        leave_interrupts()
    work = _unpickled(pickled, name)
    # An estimator that has jobs of its own does its work here: the cores are taken.
    with filtered(filters) as caught, _joblib().parallel_config("sequential"):
        outcome = work(task)
    return Done(number, outcome, caught)


def _unpickled(pickled: NDArray[np.uint8], name: str) -> Callable[[Any], Any]:
    """Return the function sent under this name, unpickled once for all tasks."""
    with _RECEIVING:
        if name not in _received:
            _received.clear()
            _received[name] = _cloudpickle().loads(pickled.tobytes())
        return _received[name]


def _chosen_backend(joblib: Any) -> Any | None:
    """Return the backend set by `joblib.parallel_config`, or None."""
    get_active = joblib.parallel.get_active_backend
    for_threads, for_processes = (get_active(prefer=prefer)[0] for prefer in ("threads", "processes"))
    # Where nobody has chosen, joblib gives each wish its own.
    return for_threads if type(for_threads) is type(for_processes) else None


def _one_thread_each(shares_memory: bool) -> AbstractContextManager[Any]:
    """Limit linear algebra to one thread per worker thread; joblib does so for worker processes."""
    if not shares_memory:
        return nullcontext()
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:  # then the libraries decide, which costs time and no digits
        return nullcontext()
    limits: AbstractContextManager[Any] = threadpool_limits(1)
    return limits


def _completed(joblib: Any, calls: list[Any], jobs: int, prefer: str) -> Iterator[Done]:
    """Yield what calls give, as they are done; in rounds, where a backend gives nothing back before the end."""
    backend, _ = joblib.parallel.get_active_backend(prefer=prefer)
    if getattr(backend, "supports_return_generator", False):
        yield from joblib.Parallel(n_jobs=jobs, prefer=prefer, return_as="generator_unordered")(calls)
        return
    for start in range(0, len(calls), _PER_ROUND * jobs):
        yield from joblib.Parallel(n_jobs=jobs, prefer=prefer)(calls[start : start + _PER_ROUND * jobs])


def leave_interrupts() -> None:
    """Ignore Ctrl-C in this worker: the main process ends it, without a traceback from each worker."""
    if threading.current_thread() is threading.main_thread():  # elsewhere, as in a worker of Dask's, it cannot be set
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _cloudpickle() -> Any:
    """Return cloudpickle, which can pickle functions defined in notebooks and in other functions."""
    return _installed("cloudpickle")


def _joblib() -> Any:
    return _installed("joblib")


def _installed(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingDependencyError(
            f'`n_jobs` other than 1 needs {package}; install it with `pip install "orthoboot[parallel]"`.'
        ) from error
