"""Seconds of neighbouring calls, in one process: what is timed, how it is warmed up, and the pairs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmarks.side_by_side import Pairs

from orthoboot.draws.kernels import fastest_kernels, kernels_for

Stopwatch = Callable[[], float]
"""Does its work and returns the seconds of it."""

SECONDS_PER_ROUND = 0.2
MOST_PER_ROUND = 20
"""Pairs that are shorter are timed several times in a round, up to this often."""

_ROWS_UNTIL_COMPILED = 1_000_000_000
"""Beyond the number of drawn rows after which the library loads its compiled kernels."""


def timed(call: Callable[[], object]) -> Stopwatch:
    """Return a stopwatch of a call."""

    def seconds() -> float:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    return seconds


def extrapolated(call: Callable[[int], object], few: int, many: int, wanted: int) -> Stopwatch:
    """Return a stopwatch that times a call of `few` and of `many` replicates and draws the line to those `wanted`."""

    def seconds() -> float:
        at_few, each = _line(call, few, many)
        return at_few + each * (wanted - few)

    return seconds


def one_more(call: Callable[[int], object], few: int, many: int) -> Stopwatch:
    """Return a stopwatch of one replicate more, by the slope of that line."""
    return lambda: _line(call, few, many)[1]


def _line(call: Callable[[int], object], few: int, many: int) -> tuple[float, float]:
    """Return the seconds of a call of `few` replicates and the slope from there to `many`."""
    at_few, at_many = timed(lambda: call(few))(), timed(lambda: call(many))()
    # Where calls are so short that noise turns the line around, it is as good as level.
    return at_few, max(at_many - at_few, 1e-9) / (many - few)


def paired(name: str, first: Stopwatch, second: Stopwatch, n_rounds: int) -> Pairs:
    """Return the seconds of both in turn, the order changing from pair to pair; both are called once to be warm."""
    first()
    second()
    seconds = max(timed(first)() + timed(second)(), 1e-9)
    per_round = max(min(int(SECONDS_PER_ROUND / seconds), MOST_PER_ROUND), 1)
    pairs = Pairs(name)
    for number in range(n_rounds * per_round):
        if number % 2:
            later, earlier = second(), first()
        else:
            earlier, later = first(), second()
        pairs.seconds.append((earlier, later))
    return pairs


def warm_up() -> None:
    """Have the library load its compiled kernels, as a process has that has been at work for a while."""
    kernels_for(_ROWS_UNTIL_COMPILED)


def is_compiled() -> bool:
    """Return whether the library has compiled kernels here."""
    return fastest_kernels().__name__.endswith("numba_kernels")


@contextmanager
def blas_threads(number: int = 1) -> Iterator[None]:
    """Give BLAS so many threads where threadpoolctl is installed; one, unless asked otherwise.

    The peers that call it are single-threaded, and threads that wait for each other on a machine with other work would
    make their times, and our ratio to them, a matter of luck.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        yield
        return
    with threadpool_limits(number, user_api="blas"):
        yield
