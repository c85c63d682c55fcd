"""Warnings of other libraries, silenced while these work for us."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class _Silence:
    """Silences all warnings from when the first thread comes in until the last one has left."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._filters = warnings.catch_warnings()

    def enter(self) -> None:
        with self._lock:
            if not self._inside:
                self._filters = warnings.catch_warnings()
                self._filters.__enter__()
                warnings.simplefilter("ignore")
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._filters.__exit__(None, None, None)


_SILENCE = _Silence()


@contextmanager
def silenced() -> Iterator[None]:
    """Silence all warnings, from several threads at once too.

    `warnings.catch_warnings` exchanges the filters of the whole process. Of two threads inside it, the one that leaves
    first would bring the warnings back for the other, and the other one leave the silence behind for good.
    """
    _SILENCE.enter()
    try:
        yield
    finally:
        _SILENCE.leave()
