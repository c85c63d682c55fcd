"""Outcomes of a statistic on resamples: values and failures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from orthoboot.draws.resamples import Resamples
from orthoboot.errors import StatisticError
from orthoboot.typing import BoolArray, FloatArray


class Failure(NamedTuple):
    """The reason why a statistic failed on a resample.

    Attributes
    ----------
    reason
        In words, without a full stop: a sentence goes on after it.
    raised
        Whether the statistic raised; otherwise its value was not finite.
    ends_run
        Whether the statistic broke its own rules, such as a value of another shape: no resample can be trusted then.
    """

    reason: str
    raised: bool = True
    ends_run: bool = False

    @staticmethod
    def of(error: Exception) -> Failure:
        """Return the failure that an exception describes; a wrong shape of the value ends the run."""
        if isinstance(error, StatisticError):
            return Failure(str(error), ends_run=True)
        try:
            words = str(error)
        except Exception:  # an exception of the user's whose own text fails
            words = "(no message)"
        return Failure(f"{type(error).__name__}: {words}".rstrip("."))


class Convergence(NamedTuple):
    """How many fits were made for the replicates, and how many of them did not converge."""

    fits: int = 0
    unconverged: int = 0


NO_FITS = Convergence()


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The outcome of B resamples.

    Attributes
    ----------
    values
        phi_b, shape ``(B, k)``; NaN where there is none.
    failures
        For each resample why there is no value, or None.
    converged
        Whether the fit behind each value converged, shape ``(B,)``; True where nothing is fitted.
    """

    values: FloatArray
    failures: tuple[Failure | None, ...]
    converged: BoolArray

    def __len__(self) -> int:
        return len(self.values)

    @property
    def has_failures(self) -> bool:
        """Return whether a resample has no value."""
        return self.failures.count(None) < len(self.failures)

    @property
    def first_failure(self) -> Failure | None:
        """Return the reason of the first failure."""
        return next((failure for failure in self.failures if failure is not None), None)

    @property
    def succeeded(self) -> BoolArray:
        """Return which resamples have a value, shape ``(B,)``."""
        return np.array([failure is None for failure in self.failures], dtype=bool)

    @staticmethod
    def of(
        values: FloatArray,
        failures: Sequence[Failure | None] = (),
        converged: BoolArray | None = None,
        *,
        undefined: str = "",
    ) -> Evaluation:
        """Return the outcome of resamples; a value that is not finite is a failure.

        Parameters
        ----------
        values
            Shape ``(B, k)``; NaN for those that failed.
        failures
            Why they failed, or None, one for each; empty where none did.
        converged
            Shape ``(B,)``; None where all fits did, or nothing is fitted.
        undefined
            When the statistic has no value, in words, where it knows.
        """
        reasons = tuple(failures) or (None,) * len(values)
        finite = np.isfinite(values)
        if not finite.all():
            reasons = tuple(
                reason if reason is not None or is_finite.all() else _not_finite(value, undefined)
                for reason, value, is_finite in zip(reasons, values, finite, strict=True)
            )
        return Evaluation(values, reasons, np.ones(len(values), dtype=bool) if converged is None else converged)

    @staticmethod
    def failed(failures: Sequence[Failure], n_outputs: int) -> Evaluation:
        """Return the outcome of resamples that all failed."""
        values = np.full((len(failures), n_outputs), np.nan)
        return Evaluation(values, tuple(failures), np.ones(len(failures), dtype=bool))

    @staticmethod
    def joined(pieces: Iterable[Evaluation]) -> Evaluation:
        """Return the outcomes of several batches as one."""
        parts = list(pieces)
        return Evaluation(
            np.concatenate([part.values for part in parts]),
            tuple(failure for part in parts for failure in part.failures),
            np.concatenate([part.converged for part in parts]),
        )

    def ordered_by(self, numbers: Sequence[int]) -> Evaluation:
        """Return the outcomes in the order of their `numbers`."""
        order = np.argsort(numbers, kind="stable")
        failures = tuple(self.failures[place] for place in order.tolist())
        return Evaluation(self.values[order], failures, self.converged[order])


def _not_finite(value: FloatArray, undefined: str) -> Failure:
    reason = undefined or f"the statistic was {value.tolist()}, which is not finite"
    return Failure(reason, raised=False)


def evaluated_together(
    values: Callable[[Resamples], FloatArray], resamples: Resamples, n_outputs: int, undefined: str = ""
) -> Evaluation:
    """Return the outcome of a function of many resamples at once.

    Where it raises, the batch is halved until the resample that is to blame stands alone: what the others give is
    known after a few calls.
    """
    try:
        return Evaluation.of(values(resamples), undefined=undefined)
    except Exception as error:  # any exception of the user's function is a failed replicate, counted and reported
        failure = Failure.of(error)
        if failure.ends_run or len(resamples) == 1:
            return Evaluation.failed([failure] * len(resamples), n_outputs)
    middle = len(resamples) // 2
    halves = (resamples.some(range(middle)), resamples.some(range(middle, len(resamples))))
    return Evaluation.joined(evaluated_together(values, half, n_outputs, undefined) for half in halves)


def evaluated_one_by_one(
    value: Callable[[Resamples], FloatArray], resamples: Resamples, n_outputs: int, undefined: str = ""
) -> Evaluation:
    """Return the outcome of a function of one resample at a time; each is evaluated exactly once."""
    values = np.full((len(resamples), n_outputs), np.nan)
    failures: list[Failure | None] = [None] * len(resamples)
    for b in range(len(resamples)):
        try:
            values[b] = value(resamples.one(b))
        except Exception as error:  # any exception of the user's function is a failed replicate, counted and reported
            failures[b] = Failure.of(error)
    return Evaluation.of(values, failures, undefined=undefined)
