"""ABC intervals of statistics with and without kinks: how often the long step is taken, and how far the ends are off.

For 20 seeds, six distributions and three sizes: the share of samples on which the curvature comes from the long step,
and the mean and the largest distance of the 95% ends from those of BCa with 4,000 standard replicates, in standard
errors, with the rule and without. Run it as ``python -m benchmarks.abc_kinks``; it takes about five minutes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np

import orthoboot as ob
from orthoboot.intervals import abc
from orthoboot.typing import FloatArray

SEEDS = range(1000, 1020)
SIZES = (15, 30, 100)
DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "t3": lambda rng, n: rng.standard_t(3, n),
    "gamma": lambda rng, n: rng.gamma(2.0, size=n),
    "uniform": lambda rng, n: rng.random(n),
}


def deviation_from_median(x: FloatArray, weights: FloatArray) -> float:
    """Return the mean absolute deviation from the interpolated median, which has a kink where that is a row."""
    order = np.argsort(x)
    ends = np.cumsum(weights[order])
    median = np.interp(0.5, np.maximum.accumulate((ends - weights[order] / 2) / ends[-1]), x[order])
    return float(np.average(np.abs(x - median), weights=weights))


STATISTICS: dict[str, Any] = {
    "variance": ob.variance,
    "skewness": ob.skewness,
    "trimmed_mean(0.1)": ob.trimmed_mean(0.1),
    "trimmed_mean(0.25)": ob.trimmed_mean(0.25),
    "deviation from median": deviation_from_median,
}


def distances(x: FloatArray, statistic: Any, seed: int) -> tuple[float, float]:
    """Return how far the ABC ends are from those of BCa, in standard errors, with the rule and without."""
    bca = ob.bootstrap(x, statistic, estimator="standard", method="bca", n_resamples=4000, rng=seed)
    result = ob.bootstrap(x, statistic, estimator="jackknife", method="normal")
    found = []
    for threshold in (abc._KINK, np.inf):
        with mock.patch.object(abc, "_KINK", threshold):
            ends = np.array(result.interval(method="abc"))
        found.append(float(np.abs(ends - np.array(bca.confidence_interval)).max() / bca.standard_error))
    return found[0], found[1]


def main() -> None:
    """Print one line for each statistic."""
    warnings.simplefilter("ignore")
    print("| statistic | long step | with the rule | without |\n| --- | --- | --- | --- |")
    for name, statistic in STATISTICS.items():
        rows = [
            distances(draw(np.random.default_rng([seed, n, number]), n), statistic, seed)
            for seed in SEEDS
            for number, draw in enumerate(DISTRIBUTIONS.values())
            for n in SIZES
        ]
        ruled, plain = np.array(rows).T
        taken = np.mean((ruled != plain) & ~(np.isnan(ruled) & np.isnan(plain)))
        shown = [f"{np.nanmean(one):.2f}, at most {np.nanmax(one):.1f}" for one in (ruled, plain)]
        print(f"| {name} | {taken:.0%} | {shown[0]} | {shown[1]} |")


if __name__ == "__main__":
    main()
