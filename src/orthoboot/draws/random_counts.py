"""Random counts and integers as a function of (key, stream, replicate, row) alone.

No number depends on a shared stream, so resamples come out the same in batches, in threads and on other machines. The
layout of the counter is in `orthoboot.draws.numpy_kernels`; `orthoboot.draws.numba_kernels` gives the same bits faster.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orthoboot.draws import numpy_kernels
from orthoboot.draws.numpy_kernels import RESTART, ROWS_PER_BLOCK, THROW
from orthoboot.draws.poisson import inversion
from orthoboot.errors import ArgumentError
from orthoboot.typing import FloatArray, IntArray, Key

__all__ = [
    "MAX_ROWS",
    "RESTART",
    "THROW",
    "checked_rows",
    "is_whole_number",
    "key_from",
    "multinomial_counts",
    "poisson_counts",
    "uniform_integers",
]

MAX_ROWS = (1 << 32) - 1
"""Integers are drawn from 32 random bits."""


class _Backend(Protocol):
    """The interface of the numpy and numba kernels."""

    def poisson_counts(
        self,
        k0: int,
        k1: int,
        stream: int,
        replicate: int,
        attempt: int,
        table: NDArray[np.uint8],
        survival: FloatArray,
        start: int,
        out: FloatArray,
    ) -> int: ...

    def multinomial_counts(
        self,
        k0: int,
        k1: int,
        stream: int,
        replicate: int,
        table: NDArray[np.uint8],
        survival: FloatArray,
        out: FloatArray,
    ) -> None: ...

    def uniform_integers(
        self, k0: int, k1: int, stream: int, replicate: int, purpose: int, bounds: NDArray[np.uint64], out: IntArray
    ) -> None: ...


class _Choice:
    """The numpy kernels until their run time reaches the cost of loading the compiled ones, then those.

    Most runs draw so few rows that importing numba would take longer than all their draws.
    """

    _LOADING_COST = 100_000_000
    """How many rows plain numpy draws in the time that numba and its cached kernels take to load."""
    _CALL_COST = 6_000
    """What a call costs beyond its rows, in rows."""

    def __init__(self) -> None:
        self._backend: _Backend = numpy_kernels
        self._left = self._LOADING_COST

    def backend(self, rows: int) -> _Backend:
        if self._left > 0:
            self._left -= rows + self._CALL_COST
            if self._left <= 0:
                self._backend = fastest_kernels()
        return self._backend


def fastest_kernels() -> _Backend:
    """Return the compiled kernels where numba is installed, loads and compiles, else those of numpy."""
    try:
        from orthoboot.draws import numba_kernels
    except (ImportError, OSError):  # both kernels give the same bits, so the run goes on
        return numpy_kernels
    return numba_kernels


_choice = _Choice()


def is_whole_number(value: Any) -> bool:
    """Return whether `value` is an integer of Python or numpy; booleans are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def checked_rows(n: int) -> int:
    """Return `n` if it is a valid number of rows, else raise an `ArgumentError`."""
    if not is_whole_number(n) or not 1 <= n <= MAX_ROWS:
        raise ArgumentError(f"a sample must have a whole number of rows from 1 to 2**32 - 1 = {MAX_ROWS}; got {n!r}.")
    return int(n)


def key_from(rng: Any = None) -> Key:
    """Return the two words that seed a run.

    Parameters
    ----------
    rng
        None for fresh entropy; a whole number from 0 or a `numpy.random.SeedSequence`, the same key each time; or a
        `numpy.random.Generator`, which is advanced, so that the next call gives another key.

    Examples
    --------
    >>> key_from(7) == key_from(np.random.SeedSequence(7))
    True
    """
    if isinstance(rng, np.random.Generator):
        first, second = rng.integers(0, 2**64 - 1, size=2, dtype=np.uint64, endpoint=True).tolist()
    else:
        first, second = _seed_sequence(rng).generate_state(2, np.uint64).tolist()
    return first, second


def _seed_sequence(rng: Any) -> np.random.SeedSequence:
    if isinstance(rng, np.random.SeedSequence):
        return rng
    if rng is None:
        return np.random.SeedSequence()
    if is_whole_number(rng) and rng >= 0:
        return np.random.SeedSequence(int(rng))
    raise ArgumentError(
        "`rng` must be None, a whole number from 0, a numpy.random.SeedSequence or a numpy.random.Generator; got "
        f"{rng!r} of type {type(rng).__name__}. {_advice(rng)}"
    )


def _advice(rng: Any) -> str:
    if isinstance(rng, np.random.RandomState):
        return "The legacy generator cannot be used; write `np.random.default_rng(seed)`."
    if isinstance(rng, np.random.BitGenerator):
        return "Wrap it: `np.random.Generator(bit_generator)`."
    return "For a reproducible run write `rng=0`."


def multinomial_counts(key: Key, stream: int, replicate: int, n: int, *, out: FloatArray | None = None) -> FloatArray:
    """Return how often each of `n` rows is among `n` uniform draws, shape ``(n,)``.

    Exactly multinomial, to the precision of a double: Poisson counts at rate ``(n - 6 sqrt(n)) / n``, drawn anew in the
    rare case that their sum N exceeds n, and ``n - N`` rows thrown uniformly. Given N, Poisson counts are N uniform
    throws, so both parts together are n of them.

    Parameters
    ----------
    key
        The seed of the run.
    stream
        The number of the sample.
    replicate
        The number of the resample.
    n
        Rows, at most ``2**32 - 1``.
    out
        Where to write the counts, contiguous float64 of shape ``(n,)``; a new array without it.

    Examples
    --------
    >>> counts = multinomial_counts((1, 2), 0, 0, 1000)
    >>> counts.shape, float(counts.sum())
    ((1000,), 1000.0)
    """
    checked_rows(n)
    counts = np.empty(n) if out is None else out
    _choice.backend(n).multinomial_counts(*key, stream, replicate, *inversion(n), counts)
    return counts


def poisson_counts(
    key: Key, stream: int, replicate: int, n: int, *, start: int, stop: int, attempt: int = 0
) -> FloatArray:
    """Return the Poisson part of the counts of the rows from `start` to `stop` of `n`, shape ``(stop - start,)``.

    A part of the data needs only its global row numbers: the parts' counts are those of the whole. Where their sum N
    over all rows exceeds n, all parts move on to the next `attempt`; otherwise the ``n - N`` missing draws are
    ``uniform_integers(key, stream, replicate, bounds)`` with every bound n.
    """
    table, survival = inversion(n)
    if survival.size == 0:
        return np.zeros(stop - start)
    first = start - start % ROWS_PER_BLOCK
    counts = np.empty(stop - first)
    backend = _choice.backend(counts.size)
    backend.poisson_counts(*key, stream, replicate, attempt, table, survival, first, counts)
    return counts[start - first :]


def uniform_integers(key: Key, stream: int, replicate: int, bounds: ArrayLike, *, purpose: int = THROW) -> IntArray:
    """Return integers, each exactly uniform on ``0 .. bound - 1``.

    Parameters
    ----------
    key, stream, replicate
        As for `multinomial_counts`.
    bounds
        One bound from 1 to ``2**32 - 1`` per integer, shape ``(size,)``.
    purpose
        `THROW` or `RESTART`: integers with different purposes are independent.

    Examples
    --------
    >>> uniform_integers((1, 2), 0, 0, [1, 1, 1])
    array([0, 0, 0])
    """
    limits = np.ascontiguousarray(bounds, dtype=np.uint64)
    if limits.size and not 1 <= limits.min() <= limits.max() <= MAX_ROWS:
        raise ArgumentError(f"`bounds` must lie from 1 to 2**32 - 1; got {limits.min()} to {limits.max()}.")
    integers = np.empty(limits.size, dtype=np.int64)
    _choice.backend(limits.size).uniform_integers(*key, stream, replicate, purpose, limits, integers)
    return integers
