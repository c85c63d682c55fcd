"""Which kernels draw: those of numpy at first, the compiled ones once that pays, on all processors where that pays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from orthoboot.arrays.threads import processors, run_tasks
from orthoboot.draws import numpy_kernels
from orthoboot.draws.poisson import Inversion
from orthoboot.typing import FloatArray, IntArray

_WORTH_A_THREAD = 250_000
"""Rows that are drawn in a third of a millisecond, several times what it takes to wake a thread."""


_STRETCHES_OF_A_THREAD, _FEWEST_OF_A_STRETCH = 4, 16
"""So that no thread waits long for another which the system has held up; and resamples that make one more worth it."""


class Kernels(Protocol):
    """The interface of the numpy and numba kernels; `first` is the number of the first of consecutive resamples."""

    def poisson_counts(
        self,
        k0: int,
        k1: int,
        stream: int,
        replicate: int,
        attempt: int,
        law: Inversion,
        n: int,
        start: int,
        out: FloatArray,
    ) -> None:
        """Write the Poisson counts of the rows from `start` of `n` into `out`."""

    def poisson_sums(
        self,
        k0: int,
        k1: int,
        stream: int,
        first: int,
        attempt: int,
        law: Inversion,
        n: int,
        start: int,
        columns: FloatArray,
        totals: IntArray,
        out: FloatArray,
    ) -> None:
        """Add the Poisson counts of the rows from `start` of `n` to `totals`, and their sums of values to `out`."""

    def multinomial_counts(self, k0: int, k1: int, stream: int, first: int, law: Inversion, out: FloatArray) -> None:
        """Write how often each row is among n uniform draws into `out`, shape ``(B, n)``."""

    def multinomial_sums(
        self, k0: int, k1: int, stream: int, first: int, law: Inversion, columns: FloatArray, out: FloatArray
    ) -> None:
        """Write the sums over n uniform draws of rows, with values ``(p, n)``, into `out`, shape ``(B, p)``."""

    def weighted_sums(self, weights: FloatArray, columns: FloatArray, out: FloatArray) -> None:
        """Write ``weights @ columns.T`` into `out`, shape ``(B, p)``."""

    def uniform_integers(
        self,
        k0: int,
        k1: int,
        stream: int,
        first: int,
        purpose: int,
        capacity: int,
        bounds: NDArray[np.uint64],
        out: IntArray,
    ) -> None:
        """Write one integer below each bound into `out`, shape ``(B, size)``."""


class Choice:
    """The numpy kernels until their run time reaches the cost of loading the compiled ones, then those.

    Most runs draw so few rows that importing numba would take longer than all their draws.
    """

    _LOADING_COST = 50_000_000
    """How many rows plain numpy draws and adds in the time that numba and its cached kernels take to load."""
    _CALL_COST = 10_000
    """What a call costs beyond its rows, in rows."""

    def __init__(self) -> None:
        self._kernels: Kernels = numpy_kernels
        self._left = self._LOADING_COST

    def kernels(self, rows: int) -> Kernels:
        """Return the kernels that are to draw so many rows."""
        if self._left > 0:
            self._left -= rows + self._CALL_COST
            if self._left <= 0:
                self._kernels = fastest_kernels()
        return self._kernels


def fastest_kernels() -> Kernels:
    """Return the compiled kernels where numba is installed, loads and compiles, else those of numpy."""
    try:
        from orthoboot.draws.compiled import numba_kernels
    except (ImportError, OSError):  # both kernels give the same bits, so the run goes on
        return numpy_kernels
    return numba_kernels


_choice = Choice()


def kernels_for(rows: int) -> Kernels:
    """Return the kernels that are to draw so many rows."""
    return _choice.kernels(rows)


def for_stretches(
    replicates: Sequence[int],
    rows: int,
    task: Callable[[Kernels, int, slice], None],
    *,
    most_of_a_thread: int = _STRETCHES_OF_A_THREAD,
) -> None:
    """Call `task` for all resamples, each of so many rows, with the first number and the places of consecutive ones.

    On several processors where that pays; the many small steps of numpy would only wait for each other.

    Parameters
    ----------
    most_of_a_thread
        Stretches for each thread, at most; 0 for a single one, where the rows are shared out among the threads already.
    """
    work = len(replicates) * rows
    kernels = kernels_for(work)
    threads = 1 if kernels is numpy_kernels or not most_of_a_thread else processors()
    # The values are read anew in every stretch, so that short ones do not pay.
    most = max(min(most_of_a_thread * threads, len(replicates) // _FEWEST_OF_A_STRETCH), threads)
    parts = min(most, max(work // _WORTH_A_THREAD, 1))
    longest = max(-(-len(replicates) // parts), 1)
    run_tasks([partial(task, kernels, int(replicates[part.start]), part) for part in _stretches(replicates, longest)])


def _stretches(numbers: Sequence[int], longest: int) -> Iterator[slice]:
    """Give the places of consecutive numbers, in slices of at most `longest`.

    Examples
    --------
    >>> list(_stretches([3, 4, 5, 9], 2))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    consecutive = isinstance(numbers, range) and numbers.step == 1
    breaks = [] if consecutive else (np.flatnonzero(np.diff(np.asarray(numbers)) != 1) + 1).tolist()
    for start, stop in pairwise([0, *breaks, len(numbers)]):
        for first in range(start, stop, longest):
            yield slice(first, min(first + longest, stop))
