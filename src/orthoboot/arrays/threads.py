"""Kernels that release the interpreter's lock, run on all processors at once.

A pool of Python threads and not numba's own: the layer that numba always has crashes where several threads call it.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any

import numpy as np

_LIMITS = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
"""What limits the threads of a process; joblib and others set these in the processes they start."""


class _Line:
    """Tasks that stand in line; each goes to the first thread that is free."""

    def __init__(self, tasks: Sequence[Callable[[], None]]) -> None:
        self._waiting = deque(enumerate(tasks))
        self._errors: dict[int, BaseException] = {}

    def work_off(self) -> None:
        """Run one task after the other until none is left, whether they fail or not; none after an interrupt."""
        while self._waiting:
            try:
                number, task = self._waiting.popleft()
            except IndexError:  # another thread took the last one
                return
            try:
                task()
            except BaseException as error:  # raised again in the calling thread
                self._errors[number] = error
                if not isinstance(error, Exception):
                    self._waiting.clear()

    def check(self) -> None:
        """Raise what the first of the tasks that failed has raised, whichever thread had it."""
        if self._errors:
            raise self._errors[min(self._errors)]


def _work_off(line: _Line, treatment: Any) -> None:
    """Run tasks in another thread, where numpy treats what overflows as the caller has it."""
    with np.errstate(**treatment):
        line.work_off()


class _Pool:
    """The threads of this process, made when they are first needed."""

    def __init__(self) -> None:
        self._executor: ThreadPoolExecutor | None = None
        self._in_use = threading.Lock()

    def run(self, tasks: Sequence[Callable[[], None]]) -> None:
        """Run the tasks, some of them in the calling thread; all of them there while another call has the pool."""
        helpers = min(len(tasks), processors()) - 1 if len(tasks) > 1 else 0
        if not helpers or not self._in_use.acquire(blocking=False):
            run_here(tasks)
            return
        try:
            self._run_at_once(tasks, helpers)
        finally:
            self._in_use.release()

    def _run_at_once(self, tasks: Sequence[Callable[[], None]], helpers: int) -> None:
        line = _Line(tasks)
        futures: list[Future[None]] = []
        with suppress(RuntimeError):  # no thread can be started, as while the interpreter ends
            futures.extend(self._started().submit(_work_off, line, np.geterr()) for _ in range(helpers))
        try:
            line.work_off()
        finally:
            # The tasks write to memory of the caller, who must not go on before they are done.
            wait(futures)
        line.check()

    def _started(self) -> ThreadPoolExecutor:
        if self._executor is None:
            # The calling thread works too.
            self._executor = ThreadPoolExecutor(max(processors() - 1, 1), thread_name_prefix="orthoboot")
        return self._executor


def run_here(tasks: Sequence[Callable[[], None]]) -> None:
    """Run tasks one after the other."""
    for task in tasks:
        task()


def run_tasks(tasks: Sequence[Callable[[], None]]) -> None:
    """Run tasks that are independent of each other, at once where the processors are free."""
    _pool.run(tasks)


def processors() -> int:
    """Return how many threads may run at once: the processors of this process, or fewer where that is asked for."""
    limits = [int(text) for text in map(os.environ.get, _LIMITS) if text and text.isdecimal() and int(text) > 0]
    return min(_processors_of_process(), *limits) if limits else _processors_of_process()


def _processors_of_process() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # pragma: no cover - only where processes cannot be bound to processors


def _start_anew() -> None:
    global _pool
    _pool = _Pool()


_pool = _Pool()
if hasattr(os, "register_at_fork"):
    # Threads do not survive a fork, and a lock may be held at that moment.
    os.register_at_fork(after_in_child=_start_anew)
