"""Errors and warnings of the library."""

from __future__ import annotations

import sys
import warnings


class ArgumentError(ValueError):
    """An argument is invalid; nothing has been simulated."""


class DataError(ValueError):
    """The data cannot be used: empty, not numeric, not finite, or of the wrong shape."""


class InfluenceError(ValueError):
    """The requested or given influence function cannot be used."""


class StatisticError(RuntimeError):
    """The statistic raised, or returned something other than numbers."""


class ModelError(RuntimeError):
    """A simulation model raised, returned something other than finite numbers, or is not a function of its draws."""


class ReplicationError(RuntimeError):
    """Too many replicates failed."""


class FitError(RuntimeError):
    """A fit to the data did not converge or has no unique solution. On a resample the replicate fails instead."""


class MissingDependencyError(RuntimeError):
    """An optional package is missing; the message names the extra that installs it."""


class WorkerError(RuntimeError):
    """A worker process died, or runs different code."""


class ClusterError(RuntimeError):
    """The cluster that reads the data cannot be reached, or has lost its workers."""


class CheckpointError(RuntimeError):
    """A checkpoint cannot be used: damaged, from another run or version, or in use."""


class OrthobootWarning(UserWarning):
    """Base class of all warnings of the library."""


class FewReplicatesWarning(OrthobootWarning):
    """Too few replicates to judge the influence function or the simulation error."""


class FewRunsWarning(OrthobootWarning):
    """Too few simulation runs to estimate the influence of the inputs, or to trust its error."""


class IgnoredInputWarning(OrthobootWarning):
    """The output of a simulation model does not change with the draws of an input."""


class SmallSampleWarning(OrthobootWarning):
    """A sample has too few rows for any bootstrap to be reliable."""


class RepeatedRowsWarning(OrthobootWarning):
    """The data contain copies of rows, so that rows left out of a resample may have copies in it."""


class ConstantDataWarning(OrthobootWarning):
    """The statistic does not vary: every row has the same influence."""


class NonSmoothWarning(OrthobootWarning):
    """The statistic is not smooth, so the linear part explains less of it."""


class DominantRowWarning(OrthobootWarning):
    """One row or group contributes nearly all of the variance, or one group holds many of the rows."""


class WeakInfluenceWarning(OrthobootWarning):
    """The linear part explains less than half of the variance between replicates."""


class SlopeWarning(OrthobootWarning):
    """The replicates contradict the scale of the influence function."""


class InfluenceMismatchWarning(OrthobootWarning):
    """An influence function contradicts the statistic, or the statistic changes when its weights are rescaled."""


class FitWarning(OrthobootWarning):
    """The fit succeeded, but its influence function may be inaccurate."""


class UnweightedRowsWarning(OrthobootWarning):
    """A target reads an array with as many rows as the data, and does not weight it by the resample."""


class FallbackWarning(OrthobootWarning):
    """No influence function was found, so the standard bootstrap was used."""


class FailedReplicatesWarning(OrthobootWarning):
    """Some replicates raised or were not finite and were left out."""


class ToleranceWarning(OrthobootWarning):
    """The simulation error did not fall below `tol`: `max_resamples` was reached, or more replicates do not help."""


class InterruptedWarning(OrthobootWarning):
    """The run was interrupted; the result uses the replicates and checks done so far."""


class IntervalWarning(OrthobootWarning):
    """An end of the interval does not exist at this level, or is the most extreme replicate or resample."""


class EqualReplicatesWarning(OrthobootWarning):
    """All replicates of an output are equal: too few to show its variation, or it is constant."""


class MergedGroupsWarning(OrthobootWarning):
    """The statistic reads the labels of groups, and merges a group that is drawn twice into one."""


class GroupValuesWarning(OrthobootWarning):
    """The statistic reads the labels of groups as values, but copies of a group get new labels."""


class RepeatedLabelsWarning(OrthobootWarning):
    """The statistic aligns rows by their index, and mixes up rows that were drawn twice."""


class LargeBiasWarning(OrthobootWarning):
    """The bias is large compared with the standard error: resamples differ systematically from the data."""


class DigitsWarning(OrthobootWarning):
    """Digits were lost: numbers are too large, too small or too close together for floating-point arithmetic."""


class RowOrderWarning(OrthobootWarning):
    """The statistic depends on the order of the rows, which resampling does not preserve."""


class MissingBiasWarning(OrthobootWarning):
    """The second-order bias was not available and was set to zero."""


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, without its full stop."""
    return next(iter(str(error).strip().splitlines()), "").rstrip(".")


def in_words(error: Exception) -> str:
    """Return the message of an error of the library; for other errors also the type."""
    is_ours = type(error).__module__ == __name__
    return str(error) if is_ours or isinstance(error, OSError) else f"{type(error).__name__}: {error}"


def emit(warning: OrthobootWarning) -> None:
    """Show `warning` at the line of user code that called the library."""
    depth, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "orthoboot":
        depth, frame = depth + 1, frame.f_back
    warnings.warn(warning, stacklevel=depth)
