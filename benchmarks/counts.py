"""Print what a resample of n rows costs: our counts, compiled and plain, beside numpy's integers and bincount.

python -m benchmarks.counts
"""

from __future__ import annotations

import timeit
from collections.abc import Callable

import numpy as np

from orthoboot.draws import numpy_kernels
from orthoboot.draws.kernels import fastest_kernels
from orthoboot.draws.poisson import inversion

SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
KEY = (1, 2)


def nanoseconds_per_row(draw: Callable[[], object], n: int) -> float:
    """Return the best of five runs, each of about twenty million rows."""
    number = max(20_000_000 // (n + 5_000), 3)
    draw()
    return min(timeit.repeat(draw, number=number, repeat=5)) / number / n * 1e9


def main() -> None:
    compiled = fastest_kernels()
    rng = np.random.default_rng(0)
    print("| n | compiled | plain numpy | integers + bincount | ratio to compiled |")
    print("| --- | --- | --- | --- | --- |")
    for n in SIZES:
        out = np.empty(n)
        table, survival = inversion(n)
        costs = [
            nanoseconds_per_row(lambda: compiled.multinomial_counts(*KEY, 0, 0, table, survival, out), n),  # noqa: B023
            nanoseconds_per_row(lambda: numpy_kernels.multinomial_counts(*KEY, 0, 0, table, survival, out), n),  # noqa: B023
            nanoseconds_per_row(lambda: np.bincount(rng.integers(0, n, n), minlength=n), n),  # noqa: B023
        ]
        print(f"| {n:,} | " + " | ".join(f"{cost:.2f}" for cost in costs) + f" | {costs[2] / costs[0]:.1f} |")


if __name__ == "__main__":
    main()
