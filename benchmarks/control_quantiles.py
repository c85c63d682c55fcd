"""Simulation error of the ends of the 95% percentile interval: plain quantiles against control quantiles.

For each statistic and one data set, the root mean squared error of the lower and the upper end over 200 seeds, in
standard deviations of phi over resamples, against the bootstrap with 200,000 replicates. Run it as
``python benchmarks/control_quantiles.py``; it takes one to two minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from orthoboot.intervals.laws.control import ControlDistribution
from orthoboot.intervals.laws.replicated import EmpiricalDistribution
from orthoboot.intervals.laws.saddlepoint import LinearDistribution
from orthoboot.plans.base import Draws
from orthoboot.typing import FloatArray

ENDS = np.array([0.025, 0.975])
EXHAUSTIVE = 200_000
SEEDS = 200
PLAIN = (200, 1000)
CONTROL = (10, 25, 100, 1000)
BATCH = 5000


@dataclass(frozen=True)
class Case:
    """A statistic as a function of means of features, on one data set."""

    title: str
    features: FloatArray
    statistic: Callable[[FloatArray], FloatArray]
    influence: FloatArray

    @property
    def estimate(self) -> float:
        """Return phi_hat."""
        return float(self.statistic(self.features.mean(axis=0)[np.newaxis])[0])

    def law(self) -> LinearDistribution:
        """Return the law of the linear part."""
        n = len(self.influence)
        return LinearDistribution([Draws(n, self.influence / n)])

    def replicates(self, rng: np.random.Generator, size: int) -> tuple[FloatArray, FloatArray]:
        """Return phi_b and linear_b."""
        batches = [self._batch(rng, min(BATCH, size - start)) for start in range(0, size, BATCH)]
        return np.concatenate([b[0] for b in batches]), np.concatenate([b[1] for b in batches])

    def _batch(self, rng: np.random.Generator, size: int) -> tuple[FloatArray, FloatArray]:
        n = len(self.features)
        weights = rng.multinomial(n, np.full(n, 1 / n), size=size) / n
        return self.statistic(weights @ self.features), weights @ self.influence


def variance(n: int, rng: np.random.Generator) -> Case:
    x = rng.laplace(size=n)
    influence = (x - x.mean()) ** 2 - x.var()
    return Case(
        f"variance, double exponential, n={n}", np.stack([x, x * x], 1), lambda m: m[:, 1] - m[:, 0] ** 2, influence
    )


def correlation(n: int, rng: np.random.Generator) -> Case:
    first, second = rng.normal(size=(2, n))
    x, y = np.exp(first), np.exp(0.5 * first + 0.75**0.5 * second)

    def statistic(m: FloatArray) -> FloatArray:
        a, b, aa, bb, ab = m.T
        return (ab - a * b) / np.sqrt((aa - a * a) * (bb - b * b))

    u, v = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    influence = u * v - np.mean(u * v) * (u**2 + v**2) / 2
    return Case(f"correlation, lognormal, n={n}", np.stack([x, y, x * x, y * y, x * y], 1), statistic, influence)


def ratio(n: int, rng: np.random.Generator) -> Case:
    x, y = rng.exponential(size=(2, n))
    influence = (x - x.mean() / y.mean() * y) / y.mean()
    return Case(f"ratio of means, exponential, n={n}", np.stack([x, y], 1), lambda m: m[:, 0] / m[:, 1], influence)


def mean(n: int, rng: np.random.Generator) -> Case:
    x = rng.exponential(size=n)
    return Case(f"mean, exponential, n={n}", x[:, np.newaxis], lambda m: m[:, 0], x - x.mean())


def errors(case: Case) -> list[FloatArray]:
    """Return the RMSE of both ends for each way of `PLAIN` and `CONTROL`."""
    phi, _ = case.replicates(np.random.default_rng(0), EXHAUSTIVE)
    expected, law = np.quantile(phi, ENDS), case.law()

    def rmse(size: int, *, control: bool) -> FloatArray:
        ends = []
        for seed in range(SEEDS):
            values, linear = case.replicates(np.random.default_rng([seed, size]), size)
            distribution = (
                ControlDistribution(case.estimate, values, linear, law) if control else EmpiricalDistribution(values)
            )
            ends.append(distribution.quantile(ENDS))
        return np.sqrt(np.mean((np.array(ends) - expected) ** 2, axis=0)) / phi.std()

    return [rmse(size, control=False) for size in PLAIN] + [rmse(size, control=True) for size in CONTROL]


def main() -> None:
    rng = np.random.default_rng(2024)
    cases = [variance(200, rng), correlation(200, rng), correlation(1000, rng), ratio(50, rng), mean(20, rng)]
    titles = [f"plain {size}" for size in PLAIN] + [f"control {size}" for size in CONTROL]
    print(f"{'RMSE of the lower / upper end, in sd of phi':<44}" + "".join(f"{title:>16}" for title in titles))
    for case in cases:
        cells = "".join(f"{f'{low:.3f} / {high:.3f}':>16}" for low, high in errors(case))
        print(f"{case.title:<44}{cells}", flush=True)


if __name__ == "__main__":
    main()
