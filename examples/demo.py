"""Ten refits against a thousand: the correlation of two skewed variables."""

from __future__ import annotations

import time

import numpy as np
from scipy import stats

import orthoboot as ob


def main() -> None:
    """Print our answer from 10 replicates beside scipy's from 1,000 and from 9,999."""
    rng = np.random.default_rng(2024)
    pairs = np.exp(rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], size=1000))

    start = time.perf_counter()
    result = ob.bootstrap(pairs, ob.correlation, rng=1)
    seconds = time.perf_counter() - start
    print(result)

    print("\nThe same standard error from five seeds, and the time of one run:")
    ours = [ob.bootstrap(pairs, ob.correlation, rng=seed).standard_error for seed in range(5)]
    print(f"  orthoboot, 10 replicates  {_listed(ours)}  {1000 * seconds:8.1f} ms")
    for n_resamples in (10, 1000):
        errors, seconds = _scipy_standard_errors(pairs, n_resamples)
        print(f"  scipy, {n_resamples:5,} replicates  {_listed(errors)}  {1000 * seconds:8.1f} ms")


def _scipy_standard_errors(pairs: np.ndarray, n_resamples: int) -> tuple[list[float], float]:
    def correlation(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
        return stats.pearsonr(x, y, axis=axis).statistic

    errors = []
    start = time.perf_counter()
    for seed in range(5):
        answer = stats.bootstrap(
            (pairs[:, 0], pairs[:, 1]), correlation, paired=True, n_resamples=n_resamples, method="percentile", rng=seed
        )
        errors.append(float(answer.standard_error))
    return errors, (time.perf_counter() - start) / 5


def _listed(errors: list[float]) -> str:
    return "  ".join(f"{error:.4f}" for error in errors)


if __name__ == "__main__":
    main()
