"""The two-layer bootstrap of a queue by plain runs alone, compiled: a million runs take less than a second."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

RESAMPLES = 1_000
RUNS = 1_000
"""Of every resample: a million in all, and as many at the data."""


class QueueBootstrap(NamedTuple):
    """The mean wait at the data, its variance over resamples, and the Monte Carlo error of that."""

    estimate: float
    variance: float
    error: float

    def covers(self, truth: float) -> bool:
        """Return whether the normal interval of 95% has the truth in it."""
        return bool(abs(self.estimate - truth) <= 1.959964 * np.sqrt(max(self.variance, 0.0)))


def queue_bootstrap(
    arrival: np.ndarray, service: np.ndarray, draws: int, seed: int, resamples: int = RESAMPLES, runs: int = RUNS
) -> QueueBootstrap:
    """Return the bootstrap of the mean wait of `draws` customers: no control, no regression, no common random numbers.

    The variance is that between the means of resamples less what the runs within them have of it.
    """
    rng = np.random.default_rng([seed, 98])
    rows = [rng.integers(0, len(values), (resamples, len(values))) for values in (arrival, service)]
    words = _words(rng, 2)
    estimate = moments_at(arrival[np.newaxis], service[np.newaxis], draws, resamples * runs, words[0])[0, 0]
    means, noise = moments_at(arrival[rows[0]], service[rows[1]], draws, runs, words[1]).T
    terms = (means - means.mean()) ** 2 * resamples / (resamples - 1) - noise / runs
    return QueueBootstrap(float(estimate), float(terms.mean()), float(terms.std() / np.sqrt(resamples)))


def _words(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return places far apart in the sequence of random words."""
    return rng.integers(0, 1 << 64, count, dtype=np.uint64)


@numba.njit
def moments_at(arrival, service, draws, runs, word):
    """Return the mean and the variance of runs of `simulation_models.mean_wait` at each of B data sets, ``(B, 2)``.

    Parameters
    ----------
    arrival, service
        Shape ``(B, n)`` each.
    draws, runs
        Customers of a run, and runs at each of the data sets.
    word
        Where the random words begin.
    """
    found = np.empty((len(arrival), 2))
    counter = np.uint64(word)
    for b in range(len(arrival)):
        total = squares = 0.0
        for _ in range(runs):
            wait = waits = 0.0
            for _ in range(draws - 1):
                counter += np.uint64(1)
                upper, lower = _halves(counter)
                wait = max(wait + _drawn(service[b], lower) - _drawn(arrival[b], upper), 0.0)
                waits += wait
            total += waits / draws
            squares += (waits / draws) ** 2
        found[b] = total / runs, (squares - total**2 / runs) / (runs - 1)
    return found


@numba.njit
def _drawn(values, bits):
    """Return the value that 32 random bits choose, by their product with the number of values."""
    return values[(bits * np.uint64(values.size)) >> np.uint64(32)]


@numba.njit
def _halves(counter):
    """Return twice 32 random bits, from the counter's own: SplitMix64 (Steele, Lea and Flood 2014)."""
    word = counter * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    return word >> np.uint64(32), word & np.uint64(0xFFFFFFFF)
