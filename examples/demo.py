"""Ten replicates against a thousand: how much more does a visitor of the new page spend."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy import stats

import orthoboot as ob

SEEDS = range(5)


def main() -> None:
    """Print our answer, and the standard errors of ten replicates and five seeds beside scipy's."""
    rng = np.random.default_rng(2024)
    new = rng.lognormal(0.10, 1.0, size=4000)
    old = rng.lognormal(0.00, 1.0, size=6000)

    print(ob.bootstrap((new, old), ob.relative_difference(ob.mean), rng=2))

    print("\nThe standard error from five seeds, and the time of one run:")
    _show("orthoboot, 10 replicates", lambda seed: _ours(new, old, seed))
    for n_resamples in (10, 1000):
        _show(f"scipy, {n_resamples:,} replicates", lambda seed, n=n_resamples: _scipy(new, old, n, seed))


def _ours(new: np.ndarray, old: np.ndarray, seed: int) -> float:
    return ob.bootstrap((new, old), ob.relative_difference(ob.mean), n_resamples=10, rng=seed).standard_error


def _scipy(new: np.ndarray, old: np.ndarray, n_resamples: int, seed: int) -> float:
    def lift(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
        return np.mean(x, axis=axis) / np.mean(y, axis=axis) - 1

    answer = stats.bootstrap((new, old), lift, n_resamples=n_resamples, method="percentile", random_state=seed)
    return float(answer.standard_error)


def _show(title: str, standard_error: Callable[[int], float]) -> None:
    start = time.perf_counter()
    errors = [standard_error(seed) for seed in SEEDS]
    milliseconds = 1000 * (time.perf_counter() - start) / len(errors)
    print(f"  {title:26}" + "".join(f"{error:9.5f}" for error in errors) + f"{milliseconds:10.1f} ms")


if __name__ == "__main__":
    main()
