"""Print what a row of a resample costs: drawn, added, and both in one pass, beside scipy's bootstrap.

python -m benchmarks.kernels
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from orthoboot.arrays import threads as pool
from orthoboot.draws import kernels, numpy_kernels, random_counts

WORK = ((100, 10_000), (1_000, 10_000), (10_000, 1_000), (100_000, 100), (1_000_000, 10), (10_000_000, 10))
"""Rows and resamples."""

SCIPY_ROWS = 1_000_000
"""More rows than these take scipy too much memory."""

KEY = (1, 2)


Clock = Callable[[], float]


def nanoseconds(
    work: Callable[[], Any], n: int, n_resamples: int, runs: int = 7, clock: Clock = time.process_time
) -> float:
    """Return the best time of some runs, per row and resample; of the processor, so that others do not add to it."""
    work()
    times = []
    for _ in range(runs):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times) / n / n_resamples * 1e9


def random_numbers(n: int, n_resamples: int) -> Callable[[], Any]:
    """Return the drawing of the random words of Poisson counts, and no more."""
    import numba

    from orthoboot.draws.compiled import numba_pointers, numba_words

    store_words, pointer = numba_words.store_words, numba_pointers.pointer

    @numba.njit
    def draw(blocks, number, words):  # type: ignore[no-untyped-def]
        zero = np.uint64(0)
        for replicate in range(number):
            for begin in range(0, blocks, 512):
                needed = min(blocks - begin, 512)
                store_words((zero, zero, zero), zero, zero, 0, np.uint64(512 * replicate), needed, pointer(words))

    return partial(draw, -(-n // numpy_kernels.ROWS_PER_BLOCK), n_resamples, numba_words.memory_for_words(512))


def summing(chosen: Any, threads: int, columns: np.ndarray, n_resamples: int) -> Callable[[], Any]:
    """Return the drawing and adding of all features with some kernels on so many threads."""

    def work() -> None:
        choice = kernels.Choice()
        choice._kernels, choice._left = chosen, 0
        kernels._choice, kernels.processors = choice, lambda: threads  # type: ignore[assignment]
        pool.processors = lambda: threads  # those that there are, too: stretches go to any of them
        random_counts.multinomial_sums(KEY, 0, range(n_resamples), columns.T)

    return work


def scipy_bootstrap(x: np.ndarray, n_resamples: int) -> None:
    stats.bootstrap((x,), np.var, n_resamples=n_resamples, method="percentile", vectorized=True, rng=1)


def costs(n: int, n_resamples: int) -> dict[str, float]:
    """Return the nanoseconds per row and resample of everything that is compared."""
    columns = np.random.default_rng(0).normal(size=(5, n))
    compiled = kernels.fastest_kernels()
    cost = partial(nanoseconds, n=n, n_resamples=n_resamples)
    found = {
        "random numbers": cost(random_numbers(n, n_resamples)),
        "reading": nanoseconds(columns[:2].sum, n, 1),
        "p = 1": cost(summing(compiled, 1, columns[:1], n_resamples)),
        "p = 2": cost(summing(compiled, 1, columns[:2], n_resamples)),
        "p = 5": cost(summing(compiled, 1, columns, n_resamples)),
        "numpy": cost(summing(numpy_kernels, 1, columns[:2], n_resamples)),
    }
    found["speed-up"] = speed_up(compiled, columns[:2], n_resamples)
    if n <= SCIPY_ROWS:
        found["scipy"] = cost(partial(scipy_bootstrap, columns[0], n_resamples))
    return found


def speed_up(compiled: Any, columns: np.ndarray, n_resamples: int) -> float:
    """Return how many times faster two threads are than one, by the clock on the wall."""
    one, two = (
        nanoseconds(summing(compiled, threads, columns, n_resamples), 1, 1, 15, time.perf_counter) for threads in (1, 2)
    )
    return one / two


def main() -> None:
    names = ("random numbers", "reading", "p = 1", "p = 2", "p = 5", "numpy", "scipy")
    ratios = ("p = 2 / limit", "two threads", "numpy / scipy", "scipy / p = 2")
    print("| n | B | " + " | ".join((*names, *ratios)) + " |")
    print("| --- | --- |" + " --- |" * (len(names) + len(ratios)))
    for n, n_resamples in WORK:
        found = costs(n, n_resamples)
        both, scipy = found["p = 2"], found.get("scipy", np.nan)
        limit = found["random numbers"] + found["reading"]
        compared = (both / limit, found["speed-up"], found["numpy"] / scipy, scipy / both)
        shown = [f"{found.get(name, np.nan):.2f}" for name in names] + [f"{ratio:.1f}" for ratio in compared]
        print(f"| {n:,} | {n_resamples:,} | " + " | ".join(shown) + " |", flush=True)


if __name__ == "__main__":
    main()
