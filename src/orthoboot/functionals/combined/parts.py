"""Shared functions of statistics made of statistics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from orthoboot.errors import ArgumentError
from orthoboot.functionals.base import Functional
from orthoboot.functionals.user.recognition import recognized

Known = TypeVar("Known")


def all_known(parts: Iterable[Known | None]) -> list[Known] | None:
    """Return the parts as a list, or None if one of them is None."""
    known = []
    for part in parts:
        if part is None:
            return None
        known.append(part)
    return known


def catalogued(f: Any, argument: str) -> Functional:
    """Return `f` if it is a statistic of the catalogue, else raise an error that names `argument`."""
    functional = recognized(f)
    if functional is None:
        raise ArgumentError(
            f"`{argument}` must be a statistic of the catalogue, such as `mean` or `quantile(0.9)`; got "
            f"{getattr(f, '__name__', type(f).__name__)!r}. For your own function of means use `function_of_means`."
        )
    return functional
