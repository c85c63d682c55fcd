"""What a command found, the same for all commands."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Output:
    """One number with its interval; what is not known is NaN.

    Attributes
    ----------
    name
        Of the column, the coefficient, the row.
    estimate, bias, standard_error, low, high
        What was found.
    bias_error, standard_error_error, low_error, high_error
        The simulation errors: what another seed would change.
    """

    name: str
    estimate: float
    bias: float
    standard_error: float
    low: float
    high: float
    bias_error: float = math.nan
    standard_error_error: float = math.nan
    low_error: float = math.nan
    high_error: float = math.nan


@dataclass(frozen=True)
class Answer:
    """The numbers of one call of the library, and what they rest on.

    Attributes
    ----------
    statistic
        What was computed.
    label
        Which rows, models or estimators it is about; empty where there is one answer.
    n_rows
        Of each sample.
    outputs
        The numbers.
    level, interval, estimator, n_resamples, n_failed, plan
        How they were found.
    warnings
        All that a careful reader should know.
    seconds
        How long it took.
    text
        All of it in words.
    details
        Numbers that only this command has.
    source
        The result of the library, for pictures and pages.
    interrupted
        Whether Ctrl-C ended it early.
    """

    statistic: str
    label: str
    n_rows: tuple[int, ...]
    outputs: tuple[Output, ...]
    level: float
    interval: str
    estimator: str
    n_resamples: int
    n_failed: int
    plan: str
    warnings: tuple[str, ...]
    seconds: float
    text: str
    details: Mapping[str, Any] = field(default_factory=dict)
    source: Any = None
    interrupted: bool = False


@dataclass(frozen=True)
class Publication:
    """All answers of a command.

    Attributes
    ----------
    command
        Its name.
    arguments
        As they were given, or by default.
    answers
        One or more.
    notes
        What was done to the rows before anything was computed.
    frame
        What tables are written of instead of the answers: the rows of a file with their predictions.
    typed
        The command as it was typed, for pages.
    """

    command: str
    arguments: Mapping[str, Any]
    answers: tuple[Answer, ...]
    notes: tuple[str, ...] = ()
    frame: Any = None
    typed: str = ""
