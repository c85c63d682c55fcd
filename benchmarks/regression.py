"""Print what all coefficients of a regression cost: ten of our replicates beside 200 refits by scikit-learn.

python -m benchmarks.regression
"""

from __future__ import annotations

import timeit
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LinearRegression

import orthoboot as ob
from orthoboot.typing import FloatArray

N_ROWS, N_COLUMNS = 5_000, 50
N_REPLICATES, N_REFITS = 10, 200


@dataclass(frozen=True)
class Times:
    """Seconds for the same question, answered in two ways."""

    ours: float
    refits: float

    @property
    def ratio(self) -> float:
        """Return how many times faster ours is."""
        return self.refits / self.ours


def regression_data() -> tuple[FloatArray, FloatArray]:
    """Return lognormal columns and a response with noise, as in the paper's linear regression."""
    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(N_ROWS, N_COLUMNS))
    return X, X.sum(axis=1) + 10 * rng.normal(size=N_ROWS)


def measured() -> Times:
    """Return the best of five runs of ours, and of two of the refits."""
    X, y = regression_data()

    def ours() -> None:
        ob.bootstrap((X, y), ob.linear_regression, paired=True, n_resamples=N_REPLICATES, rng=0)

    def refits() -> None:
        rng = np.random.default_rng(0)
        for _ in range(N_REFITS):
            rows = rng.integers(0, N_ROWS, size=N_ROWS)
            LinearRegression(fit_intercept=False).fit(X[rows], y[rows])

    ours()
    return Times(min(timeit.repeat(ours, number=1, repeat=5)), min(timeit.repeat(refits, number=1, repeat=2)))


def main() -> None:
    times = measured()
    print(f"| n = {N_ROWS:,}, d = {N_COLUMNS} | seconds |")
    print("| --- | --- |")
    print(f"| orthoboot, all coefficients, B = {N_REPLICATES} | {times.ours:.3f} |")
    print(f"| scikit-learn, {N_REFITS} refits | {times.refits:.2f} |")
    print(f"| ratio | {times.ratio:.0f} |")


if __name__ == "__main__":
    main()
