"""A progress bar, shown on terminals only."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from orthoboot.errors import MissingDependencyError

_PATIENCE = 2.0
"""Seconds of work before a bar appears."""
_PAUSE = 0.5
"""Seconds between two notes beside the bar."""


class ProgressBar:
    """A bar that counts replicates, or the rows of an influence engine.

    Parameters
    ----------
    total
        How many are to come.
    unit
        What is counted.
    title
        What stands before the bar.
    shown
        True shows it at once, False never; None shows it on a terminal, after two seconds, where tqdm is installed.
    """

    def __init__(self, total: int, *, unit: str = "replicate", title: str = "", shown: bool | None = None) -> None:
        wanted = sys.stderr.isatty() if shown is None else shown
        self._shown = wanted and importlib.util.find_spec("tqdm") is not None
        if shown and not self._shown:
            raise MissingDependencyError(
                '`progress=True` needs tqdm; install it with `pip install "orthoboot[cli]"` or `pip install tqdm`.'
            )
        self._delay = 0.0 if shown else _PATIENCE
        self._total, self._unit, self._title = total, unit, title
        self._bar: Any = None
        self._next_note = 0.0

    def __enter__(self) -> Self:
        if self._shown:
            from tqdm import tqdm

            self._bar = tqdm(
                total=self._total, unit=self._unit, desc=self._title or None, delay=self._delay, leave=False
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def advance(self, n: int, note: Callable[[], str] | None = None) -> None:
        """Advance by `n`; `note` returns a short status, called now and then."""
        if self._bar is None:
            return
        now = time.monotonic()
        if note is not None and now >= self._next_note:
            self._bar.set_postfix_str(note(), refresh=False)
            # What it takes to find the words must not slow the work down.
            self._next_note = now + max(_PAUSE, 20 * (time.monotonic() - now))
        self._bar.update(n)
