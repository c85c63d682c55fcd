"""Errors and warnings of the library, and tools to show, silence and record warnings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock, get_ident
from typing import Any, cast


class ArgumentError(ValueError):
    """An argument is invalid; nothing has been simulated."""


class DataError(ValueError):
    """The data cannot be used: empty, not numeric, not finite, or of the wrong shape."""


class InfluenceError(ValueError):
    """The influence function that was asked for or given cannot be used."""


class StatisticError(RuntimeError):
    """The statistic raised, or returned something other than numbers."""


class ReplicationError(RuntimeError):
    """Too many replicates failed."""


class FitError(RuntimeError):
    """A fit did not converge or has no unique solution: on the data an error, on a resample a failed replicate."""


class MissingDependencyError(RuntimeError):
    """An optional package is needed; the message names the extra that installs it."""


class WorkerError(RuntimeError):
    """A worker process died, or runs different code."""


class CheckpointError(RuntimeError):
    """A checkpoint cannot be used: damaged, from another run or version, or in use."""


class OrthobootWarning(UserWarning):
    """Base class of all warnings of the library."""


class FewReplicatesWarning(OrthobootWarning):
    """Too few replicates to judge the influence function or the simulation error."""


class SmallSampleWarning(OrthobootWarning):
    """A sample has too few rows for any bootstrap to be reliable."""


class ConstantDataWarning(OrthobootWarning):
    """The statistic does not vary: every row has the same influence."""


class NonSmoothWarning(OrthobootWarning):
    """The statistic is not smooth, so the linear part explains less of it."""


class DominantRowWarning(OrthobootWarning):
    """One row carries nearly all of the variance."""


class WeakInfluenceWarning(OrthobootWarning):
    """The linear part explains less than half of the variance between replicates."""


class SlopeWarning(OrthobootWarning):
    """The replicates contradict the scale of the influence function."""


class InfluenceMismatchWarning(OrthobootWarning):
    """An influence function contradicts the statistic, or the statistic changes when its weights are rescaled."""


class FitWarning(OrthobootWarning):
    """A fit was found, but something about it weakens its influence function."""


class FallbackWarning(OrthobootWarning):
    """No influence function was found, so the standard bootstrap was used."""


class FailedReplicatesWarning(OrthobootWarning):
    """Some replicates raised or were not finite and were left out."""


class ToleranceWarning(OrthobootWarning):
    """`max_resamples` was reached before the simulation error fell below `tol`."""


class InterruptedWarning(OrthobootWarning):
    """The run was interrupted; the result uses the replicates done so far."""


class IntervalWarning(OrthobootWarning):
    """The interval method has no answer for an output; its ends are NaN."""


class EqualReplicatesWarning(OrthobootWarning):
    """All replicates are equal although the influence function says that the statistic varies."""


class LargeBiasWarning(OrthobootWarning):
    """The bias is large compared with the standard error: resamples differ systematically from the data."""


class MissingBiasWarning(OrthobootWarning):
    """The second-order bias was not available and was taken as zero."""


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, without its full stop."""
    return next(iter(str(error).strip().splitlines()), "").rstrip(".")


def emit(warning: OrthobootWarning) -> None:
    """Show `warning` at the line of user code that called the library."""
    depth, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "orthoboot":
        depth, frame = depth + 1, frame.f_back
    warnings.warn(warning, stacklevel=depth)


class WarningScope:
    """Routes warnings to a handler of the thread that issues them, while any thread is inside.

    `warnings.catch_warnings` exchanges the filters of the whole process. Of two threads inside it, the one that leaves
    first would bring the warnings back for the other, and the other one leave its own filters behind for good. Here
    the first thread in exchanges them and the last one out brings them back.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._handlers: list[tuple[int, Callable[[warnings.WarningMessage], None]]] = []
        self._before = warnings.catch_warnings()
        self._filters: list[Any] = []

    @property
    def filters_outside(self) -> list[Any]:
        """Return the warning filters of the process outside of this scope."""
        with self._lock:
            return list(self._filters if self._handlers else warnings.filters)

    @contextmanager
    def handled(
        self, handle: Callable[[warnings.WarningMessage], None], filters: Sequence[Any] | None = None
    ) -> Iterator[None]:
        """Call `handle` with each warning of this thread that passes `filters`, those of the first thread in.

        Without `filters` all warnings pass. Those of threads that are not inside go to the last handler: most likely
        the call that it stands for has started them.
        """
        entry = (get_ident(), handle)
        with self._lock:
            if not self._handlers:
                self._exchange(filters)
            self._handlers.append(entry)
        try:
            yield
        finally:
            with self._lock:
                self._handlers.remove(entry)
                if not self._handlers:
                    self._before.__exit__(None, None, None)

    def _exchange(self, filters: Sequence[Any] | None) -> None:
        self._filters = list(warnings.filters)
        self._before = warnings.catch_warnings()
        self._before.__enter__()
        if filters is None:
            warnings.simplefilter("always")
        else:
            cast(list[Any], warnings.filters)[:] = filters
        warnings.showwarning = self._show

    def _show(
        self, message: Any, category: type[Warning], filename: str, lineno: int, file: Any = None, line: Any = None
    ) -> None:
        with self._lock:
            own = [handle for thread, handle in self._handlers if thread == get_ident()]
            handlers = own or [handle for _, handle in self._handlers]
        if handlers:
            handlers[-1](warnings.WarningMessage(message, category, filename, lineno, file, line))


SCOPE = WarningScope()
"""Of all that is silenced or recorded in this process."""


@contextmanager
def silenced() -> Iterator[None]:
    """Silence the warnings of this thread; other threads may do so, or record theirs, at the same time."""
    with SCOPE.handled(lambda warning: None):
        yield


@contextmanager
def recorded() -> Iterator[list[warnings.WarningMessage]]:
    """Record the warnings of this thread in the list that is returned, whatever the filters say."""
    caught: list[warnings.WarningMessage] = []
    with SCOPE.handled(caught.append):
        yield caught


def show_again(caught: Iterable[warnings.WarningMessage], shown: dict[str, dict[Any, Any]] | None = None) -> None:
    """Issue recorded warnings again under the current filters; `shown` holds the registry of each file."""
    for warning in caught:
        registry = None if shown is None else shown.setdefault(warning.filename, {})
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno, registry=registry)
