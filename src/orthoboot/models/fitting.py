"""Shared code of all model fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from threading import RLock
from typing import Any, Self, TypeVar, overload

import numpy as np

from orthoboot.autodiff.process_state import TORCH_STATE
from orthoboot.functionals.evaluation import Evaluation, Failure
from orthoboot.typing import BoolArray, FloatArray

PROTOCOLS = ("polished", "paper")
"""How networks are refitted: from the minimum to the minimum, or by training from scratch."""

DENSE_PARAMETERS = 5_000
"""Up to so many parameters a matrix of all pairs of them is held: two hundred megabytes."""

Value = TypeVar("Value")
Refitted = TypeVar("Refitted")


class found_once(cached_property[Value]):  # noqa: N801 - a decorator, as the one it is made of
    """A cached property, computed once under a lock.

    With that of `functools` every thread that comes before the first one is done computes its own: two fits of an
    estimator that draws random numbers, of which one would be lost. Each instance has a lock of its own, so that an
    estimator may use others in threads while it is fitted.
    """

    def lock_of(self, instance: object) -> AbstractContextManager[Any]:
        """Return the lock that is held while the value is computed."""
        lock: AbstractContextManager[Any] = vars(instance).setdefault("_lock", _InstanceLock())
        return lock

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Value: ...

    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> Self | Value:
        """Return the value that is kept in the instance, computed under the lock where it is not there yet."""
        if instance is None:
            return self
        assert self.attrname is not None
        with self.lock_of(instance):
            kept = vars(instance)
            if self.attrname not in kept:
                kept[self.attrname] = self.func(instance)
            found: Value = kept[self.attrname]
            return found


class found_with_torch(found_once[Value]):  # noqa: N801 - a decorator
    """A cached property, computed once under the lock of torch's state."""

    def lock_of(self, instance: object) -> AbstractContextManager[Any]:
        """Return the lock of torch's state."""
        return TORCH_STATE


class _InstanceLock:
    """A lock that can be pickled and copied with its instance; a copy gets a new lock."""

    def __init__(self) -> None:
        self._lock = RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *exception: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[_InstanceLock], tuple[()]]:
        return _InstanceLock, ()


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
