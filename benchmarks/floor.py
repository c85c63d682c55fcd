"""The least that replicates can cost: the random numbers that they take, and reading the data once for each."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
from benchmarks.stopwatch import Stopwatch, timed

from orthoboot.draws.numpy_kernels import ROWS_PER_BLOCK
from orthoboot.typing import FloatArray

REPLICATES_PER_THREAD = 10

Kernel = Callable[[FloatArray, int], tuple[int, float]]
"""Takes the data and the number of the replicate."""


@cache
def kernel() -> Kernel | None:
    """Return the compiled loop, in the library's own generator; None where the two cannot be had apart.

    Each block of rows costs one call of the generator, whose words are only joined, not looked up; and the data are
    added up once.
    """
    try:
        import numba

        from orthoboot.draws.compiled.numba_words import philox
    except ImportError:
        return None

    @numba.njit(nogil=True, fastmath=True)
    def run(x, replicate):
        joined = np.uint64(0)
        nothing, number = np.uint64(0), np.uint64(replicate)
        for block in range(x.size // ROWS_PER_BLOCK):
            words = philox(np.uint64(block), number, nothing, nothing, nothing, nothing)
            joined ^= words[0] ^ words[1] ^ words[2] ^ words[3]
        total = 0.0
        for row in range(x.size):
            total += x[row]
        return joined, total

    return run


def stopwatch(run: Kernel, x: FloatArray, n_threads: int) -> Stopwatch:
    """Return a stopwatch of one replicate, where each thread makes some of them."""
    pool = ThreadPoolExecutor(n_threads)
    n_replicates = REPLICATES_PER_THREAD * n_threads

    def part(thread: int) -> None:
        for replicate in range(thread, n_replicates, n_threads):
            run(x, replicate)

    together = timed(lambda: list(pool.map(part, range(n_threads))))
    return lambda: together() / n_replicates
