"""What the library says to a call: numbers, warnings, or an error of its own."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import orthoboot as ob
from orthoboot import errors
from tools.fuzz.cases import Case

LIBRARY_ERRORS = tuple(
    one
    for one in vars(errors).values()
    if isinstance(one, type) and issubclass(one, Exception) and not issubclass(one, Warning)
)

OUT_OF_RANGE = "is out of the range of floating-point numbers"
"""How a `DataError` says that a statistic of the data is no floating-point number; no class says so."""

Numbers = dict[str, np.ndarray]


def flat(value: Any) -> np.ndarray:
    """Return a number, an array or a dict of these as one array."""
    if isinstance(value, dict):
        return np.concatenate([flat(part) for part in value.values()])
    return np.atleast_1d(np.asarray(value, dtype=np.float64)).ravel()


@dataclass(frozen=True)
class Outcome:
    """What came of a call: a result or an error, and the warnings that were shown."""

    result: Any
    error: Exception | None
    shown: tuple[warnings.WarningMessage, ...]

    @property
    def refused(self) -> bool:
        """Return whether the library refused with an error of its own."""
        return isinstance(self.error, LIBRARY_ERRORS)

    @cached_property
    def numbers(self) -> Numbers:
        """Return the numbers of the answer by name, each with one entry for every output."""
        found = self.result
        return {
            "estimate": flat(found.estimate),
            "bias": flat(found.bias),
            "standard error": flat(found.standard_error),
            "low end": flat(found.confidence_interval.low),
            "high end": flat(found.confidence_interval.high),
        }

    @cached_property
    def simulation_errors(self) -> Numbers:
        """Return the simulation errors by name."""
        error = self.result.simulation_error
        return {f"simulation error of {name}": flat(value) for name, value in error._asdict().items()}

    @property
    def told(self) -> tuple[tuple[type, str], ...]:
        """Return the warnings of the answer as pairs of class and text."""
        return tuple((type(warning), str(warning)) for warning in self.result.warnings)

    def warns(self, *classes: type[Warning]) -> bool:
        """Return whether the answer has a warning of one of these classes."""
        return any(isinstance(warning, classes) for warning in self.result.warnings)

    @property
    def out_of_range(self) -> bool:
        """Return whether an error or a warning says that the numbers are too large, too small or too close together.

        A warning is known by its class, and one that says which numbers are right all the same excuses nothing.
        """
        if self.error is not None:
            return isinstance(self.error, errors.DataError) and OUT_OF_RANGE in str(self.error)
        return any(issubclass(kind, errors.DigitsWarning) and "are right" not in text for kind, text in self.told)

    def __str__(self) -> str:
        if self.error is not None:
            return f"{type(self.error).__name__}: {self.error}"
        return ", ".join(f"{name} {_shown(value)}" for name, value in self.numbers.items())


def _shown(value: np.ndarray) -> str:
    return f"{value[0]!r}" if len(value) == 1 else np.array2string(value[:6], precision=17)


def outcome(call: Callable[[], Any]) -> Outcome:
    """Return what comes of a call, whatever it is."""
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        try:
            return Outcome(call(), None, tuple(shown))
        except Exception as error:
            return Outcome(None, error, tuple(shown))


def answer(case: Case, data: Any = None, **changes: Any) -> Outcome:
    """Return what `bootstrap` says to the case, with other data or arguments where they are given."""
    given = case.data if data is None else data
    return outcome(lambda: ob.bootstrap(given, case.statistic, **case.arguments(**changes)))
