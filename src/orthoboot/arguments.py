"""Checks of single arguments, with messages that name the argument, the rule and the remedy."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

from orthoboot.errors import ArgumentError

_ALTERNATIVES = ("two-sided", "less", "greater")

_TRANSFORMS = {"log": (0.0, math.inf), "logit": (0.0, 1.0), "fisher": (-1.0, 1.0)}
"""The range of the statistic for each named transform."""


def checked_confidence_level(level: Any) -> float:
    """Return `level` if it lies strictly between 0 and 1."""
    if not is_real(level) or not 0 < float(level) < 1:
        hint = f" For {level:g}% use {float(level) / 100:g}." if _is_percentage(level) else ""
        raise ArgumentError(f"`confidence_level` must lie in (0, 1); got {level!r}.{hint}")
    return float(level)


def _is_percentage(level: Any) -> bool:
    return is_real(level) and 1 < float(level) < 100


def is_real(value: Any) -> bool:
    """Return whether `value` is a real number; booleans are not."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def checked_count(name: str, value: Any, *, least: int, reason: str = "") -> int:
    """Return `value` if it is a whole number of at least `least`; `reason` completes the message if it is not."""
    if not is_real(value) or not isinstance(value, Integral) or int(value) < least:
        rule = " ".join(filter(None, (f"a whole number of at least {least}", reason)))
        raise ArgumentError(f"`{name}` must be {rule}; got {value!r}.")
    return int(value)


def too_few_replicates(asker: str, least: int, got: str, advice: str = "") -> str:
    """Return the message that `asker` needs more replicates than it got, with `advice`."""
    what, _, condition = asker.partition(" with ")
    needs = f"{what} needs at least {least:,} replicates{f' with {condition}' if condition else ''}"
    return f"{needs}; {got}." + (f" {advice}" if advice else "")


def checked_jobs(value: Any) -> int | None:
    """Return the number of jobs as joblib takes it: None, positive, or negative to count from the number of cores."""
    if value is None:
        return None
    if not is_real(value) or not isinstance(value, Integral) or value == 0:
        raise ArgumentError(
            f"`n_jobs` must be a whole number other than 0, -1 for one job per core, or None; got {value!r}."
        )
    return int(value)


def checked_nonnegative(name: str, value: Any) -> float:
    """Return `value` if it is a finite, nonnegative number."""
    if not is_real(value) or not 0 <= float(value) < np.inf:
        raise ArgumentError(f"`{name}` must be a finite number not below 0; got {value!r}.")
    return float(value)


def checked_positive(name: str, value: Any) -> float:
    """Return `value` if it is a finite number above zero."""
    if not is_real(value) or not 0 < float(value) < np.inf:
        raise ArgumentError(f"`{name}` must be a positive number; got {value!r}.")
    return float(value)


def checked_tolerance(value: Any) -> float:
    """Return `value` if it is a positive number below one."""
    if not is_real(value) or not 0 < float(value) < 1:
        raise ArgumentError(
            f"`tol` must lie in (0, 1): the relative simulation error of the standard error to reach; got {value!r}. "
            "For one percent use 0.01."
        )
    return float(value)


def checked_flag(name: str, value: Any) -> bool:
    """Return `value` if it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentError(f"`{name}` must be True or False; got {value!r}.")
    return bool(value)


def checked_name(argument: str, value: Any, known: Iterable[str]) -> str:
    """Return `value` if it is one of `known`; otherwise raise an error that lists them and suggests the closest."""
    names = list(known)
    if isinstance(value, str) and value in names:
        return value
    close = difflib.get_close_matches(str(value).lower(), names, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ArgumentError(f"`{argument}` must be one of {', '.join(map(repr, names))}; got {value!r}.{hint}")


def checked_alternative(value: Any) -> str:
    """Return `value` if it is one of scipy's names for `alternative`."""
    return checked_name("alternative", value, _ALTERNATIVES)


def checked_transform(transform: Any) -> tuple[float, float] | None:
    """Return the range of the statistic for a transform, or None."""
    if transform is None:
        return None
    if isinstance(transform, str):
        return _TRANSFORMS[checked_name("transform", transform, _TRANSFORMS)]
    is_pair = isinstance(transform, (tuple, list)) and len(transform) == 2 and all(map(is_real, transform))
    if not is_pair or not float(transform[0]) < float(transform[1]):
        raise ArgumentError(
            '`transform` must be "log", "logit", "fisher", or the limits of the statistic as a pair (low, high), '
            f"infinite where there is none; got {transform!r}."
        )
    return float(transform[0]), float(transform[1])
