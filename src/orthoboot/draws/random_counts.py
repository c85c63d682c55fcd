"""Random counts and integers as a function of (key, stream, replicate, row) alone.

No number depends on a shared stream, so resamples come out the same in batches, in threads and on other machines. The
layout of the counter is in `orthoboot.draws.numpy_kernels`; `orthoboot.draws.compiled` gives the same bits faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from orthoboot.draws.kernels import Kernels, for_stretches, kernels_for
from orthoboot.draws.numpy_kernels import RESTART, THROW
from orthoboot.draws.poisson import inversion, throw_capacity
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
    "multinomial_sums",
    "poisson_counts",
    "thrown_rows",
    "uniform_integers",
    "weighted_sums",
]

MAX_ROWS = (1 << 32) - 1
"""Integers are drawn from 32 random bits."""


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


def multinomial_counts(key: Key, stream: int, replicates: Sequence[int], n: int) -> FloatArray:
    """Return how often each of `n` rows is among `n` uniform draws, shape ``(B, n)``.

    Exactly multinomial, to the precision of a double: Poisson counts at a rate just below 1, drawn anew in the
    rare case that their sum N exceeds n, and ``n - N`` rows thrown uniformly. Given N, Poisson counts are N uniform
    throws, so both parts together are n of them.

    Parameters
    ----------
    key
        The seed of the run.
    stream
        The number of the sample.
    replicates
        The numbers of the B resamples.
    n
        Rows, at most ``2**32 - 1``.

    Examples
    --------
    >>> counts = multinomial_counts((1, 2), 0, range(3), 1000)
    >>> counts.shape, counts.sum(axis=1).tolist()
    ((3, 1000), [1000.0, 1000.0, 1000.0])
    """
    law = inversion(checked_rows(n))
    counts = np.empty((len(replicates), n))

    def draw(backend: Kernels, first: int, places: slice) -> None:
        backend.multinomial_counts(*key, stream, first, law, counts[places])

    for_stretches(replicates, n, draw)
    return counts


def multinomial_sums(key: Key, stream: int, replicates: Sequence[int], values: FloatArray) -> FloatArray:
    """Return ``multinomial_counts @ values``, shape ``(B, p)``, without an array of counts.

    The order of summation is that of `orthoboot.draws.summation`, whatever the batch and the number of threads. With
    more than 8192 rows the sum over the Poisson counts and that over the thrown rows are added at the end.

    Parameters
    ----------
    key, stream, replicates
        As for `multinomial_counts`.
    values
        Of the rows, shape ``(n, p)``; fastest with the columns one after the other in memory.

    Examples
    --------
    >>> values = np.arange(1000.0)[:, np.newaxis]
    >>> counts = multinomial_counts((1, 2), 0, range(3), 1000)
    >>> bool(np.all(multinomial_sums((1, 2), 0, range(3), values) == counts @ values))
    True
    """
    law = inversion(checked_rows(len(values)))
    columns, sums = np.ascontiguousarray(values.T), np.empty((len(replicates), values.shape[1]))

    def draw(backend: Kernels, first: int, places: slice) -> None:
        backend.multinomial_sums(*key, stream, first, law, columns, sums[places])

    for_stretches(replicates, len(values), draw)
    return sums


def weighted_sums(weights: FloatArray, values: FloatArray) -> FloatArray:
    """Return ``weights @ values``, shape ``(B, p)``, in the order of `orthoboot.draws.summation`.

    A general matrix product rounds a row differently when the batch has another size or the machine more threads; a
    replicate must not depend on either to the last bit.

    Parameters
    ----------
    weights
        Shape ``(B, n)``.
    values
        Shape ``(n, p)``; fastest with the columns one after the other in memory.
    """
    rows, columns = (np.ascontiguousarray(part, dtype=np.float64) for part in (weights, np.asarray(values).T))
    sums = np.empty((len(rows), len(columns)))

    def add(backend: Kernels, first: int, places: slice) -> None:
        backend.weighted_sums(rows[places], columns, sums[places])

    for_stretches(range(len(rows)), len(values), add)
    return sums


def poisson_counts(
    key: Key, stream: int, replicate: int, n: int, *, start: int, stop: int, attempt: int = 0
) -> FloatArray:
    """Return the Poisson part of the counts of the rows from `start` to `stop` of `n`, shape ``(stop - start,)``.

    A part of the data needs only its global row numbers: the parts' counts are those of the whole. Where their sum N
    over all rows exceeds n, all parts move on to the next `attempt`; otherwise the ``n - N`` missing draws are
    `thrown_rows`.
    """
    counts = np.empty(stop - start)
    kernels_for(counts.size).poisson_counts(*key, stream, replicate, attempt, inversion(n), n, start, counts)
    return counts


def thrown_rows(key: Key, stream: int, replicate: int, n: int, number: int) -> IntArray:
    """Return the rows of `n` that a resample adds to its Poisson counts, in the order of the throws."""
    rows: IntArray = uniform_integers(key, stream, [replicate], np.full(number, n), capacity=throw_capacity(n))[0]
    return rows


def uniform_integers(
    key: Key,
    stream: int,
    replicates: Sequence[int],
    bounds: ArrayLike,
    *,
    capacity: int | None = None,
    purpose: int = THROW,
) -> IntArray:
    """Return integers, each exactly uniform on ``0 .. bound - 1``, shape ``(B, size)``.

    Parameters
    ----------
    key, stream, replicates
        As for `multinomial_counts`.
    bounds
        One bound from 1 to ``2**32 - 1`` per integer, shape ``(size,)``.
    capacity
        The most integers that any resample of this sample is expected to need, the same for all of them; `size` by
        default.
    purpose
        `THROW` or `RESTART`: integers with different purposes are independent.

    Examples
    --------
    >>> uniform_integers((1, 2), 0, [0], [1, 1, 1])
    array([[0, 0, 0]])
    """
    limits = np.ascontiguousarray(bounds, dtype=np.uint64)
    if limits.size and not 1 <= limits.min() <= limits.max() <= MAX_ROWS:
        raise ArgumentError(f"`bounds` must lie from 1 to 2**32 - 1; got {limits.min()} to {limits.max()}.")
    integers = np.empty((len(replicates), limits.size), dtype=np.int64)
    room = limits.size if capacity is None else capacity

    def draw(backend: Kernels, first: int, places: slice) -> None:
        backend.uniform_integers(*key, stream, first, purpose, room, limits, integers[places])

    for_stretches(replicates, limits.size, draw)
    return integers
