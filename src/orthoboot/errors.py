"""Every error and warning the library raises, so that users can catch one kind; and who hears of warnings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class ArgumentError(ValueError):
    """An argument breaks its rule; nothing has been simulated."""


class DataError(ValueError):
    """The data cannot be used: empty, not numeric, not finite, or of the wrong shape."""


class InfluenceError(ValueError):
    """The influence function that was asked for or given cannot be used."""


class StatisticError(RuntimeError):
    """The statistic raised, or returned something that is no number."""


class ReplicationError(RuntimeError):
    """Too many replicates failed for an answer."""


class FitError(RuntimeError):
    """A fit did not converge or has no unique solution: on the data an error, on a resample a failed replicate."""


class MissingDependencyError(RuntimeError):
    """An optional package is needed; the message names the extra that installs it."""


class WorkerError(RuntimeError):
    """A process that was to do a part of the work ended, or runs other code than this one."""


class CheckpointError(RuntimeError):
    """A checkpoint cannot be used: damaged, of another run or version, or in use."""


class OrthobootWarning(UserWarning):
    """Base class of all warnings, to silence or to escalate them together."""


class FewReplicatesWarning(OrthobootWarning):
    """Too few replicates to judge the influence function or the simulation error."""


class SmallSampleWarning(OrthobootWarning):
    """A sample has so few rows that no bootstrap can be trusted."""


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
    """An influence function contradicts the statistic, or the statistic the rule for weights."""


class FitWarning(OrthobootWarning):
    """A fit was found, but something about it weakens its influence function."""


class FallbackWarning(OrthobootWarning):
    """No influence function was found, so the standard bootstrap was used."""


class FailedReplicatesWarning(OrthobootWarning):
    """Some replicates raised or were not finite and were left out."""


class ToleranceWarning(OrthobootWarning):
    """`max_resamples` was reached before the simulation error fell below `tol`."""


class InterruptedWarning(OrthobootWarning):
    """The run was interrupted; the result rests on the replicates done so far."""


class IntervalWarning(OrthobootWarning):
    """The interval method has no answer for an output; its ends are NaN."""


class EqualReplicatesWarning(OrthobootWarning):
    """All replicates are equal although the influence function says that the statistic varies."""


class LargeBiasWarning(OrthobootWarning):
    """The bias is so large beside the standard error that the resamples cannot stand for the data."""


class MissingBiasWarning(OrthobootWarning):
    """The second-order bias was not available and was taken as zero."""


def emit(warning: OrthobootWarning) -> None:
    """Show `warning` at the line of the user's that called the library, however deep we are in it."""
    depth, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "orthoboot":
        depth, frame = depth + 1, frame.f_back
    warnings.warn(warning, stacklevel=depth)


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
