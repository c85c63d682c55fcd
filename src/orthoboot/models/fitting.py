"""What fits of all kinds have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from threading import RLock
from typing import Any, Self, TypeVar, overload

import numpy as np

from orthoboot.errors import silenced
from orthoboot.functionals.evaluation import Evaluation, Failure
from orthoboot.typing import BoolArray, FloatArray

PROTOCOLS = ("polished", "paper")
"""How networks are refitted: from the minimum to the minimum, or by training from scratch."""

DENSE_PARAMETERS = 5_000
"""Up to so many parameters a matrix of all pairs of them is held: two hundred megabytes."""

ONE_AT_A_TIME = RLock()
"""Held by the thread that fits or calls a model: that changes what a process has only one of.

The filters of warnings, which scikit-learn changes in its fits; torch's number of threads, which decides the last
digits of its sums, and its random numbers; the parameters of a module, which are exchanged while it is called.
"""

Found = TypeVar("Found")
Refitted = TypeVar("Refitted")


class found_once(cached_property[Found]):  # noqa: N801 - a decorator, as the one it is made of
    """A cached property that one thread finds for all.

    With that of `functools` every thread that comes before the first one is done finds its own: two fits of an
    estimator that draws random numbers, of which one would be lost.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Found: ...

    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> Self | Found:
        """Return the value that is kept in the instance, found under the lock where it is not there yet."""
        if instance is None:
            return self
        assert self.attrname is not None
        with ONE_AT_A_TIME:
            kept = vars(instance)
            if self.attrname not in kept:
                kept[self.attrname] = self.func(instance)
            found: Found = kept[self.attrname]
            return found


def evaluated_refits(
    value: Callable[[Refitted], FloatArray],
    refits: Sequence[Refitted],
    converged: Sequence[bool] | BoolArray,
    n_outputs: int,
    undefined: str = "",
) -> Evaluation:
    """Return the outcome of refits, given the value ``(k,)`` of each; one that raises does not stop the others."""
    values = np.full((len(refits), n_outputs), np.nan)
    failures: list[Failure | None] = [None] * len(refits)
    for b, refit in enumerate(refits):
        try:
            values[b] = value(refit)
        except Exception as error:  # the target may be a function of the user's, which may raise anything
            failures[b] = Failure.of(error)
    return Evaluation.of(values, failures, np.asarray(converged, dtype=np.bool_), undefined=undefined)


@contextmanager
def quiet_refit() -> Iterator[None]:
    """Ignore all warnings: what a refit warns of, the fit to the data has told already."""
    with ONE_AT_A_TIME, silenced():
        yield
