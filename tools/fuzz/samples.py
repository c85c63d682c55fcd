"""Random numbers of every kind that users have: ties, constants, outliers, offsets, and scales from 1e-300 to 1e300."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Samples = tuple[np.ndarray, ...]
Draw = Callable[[np.random.Generator, int], Samples]
"""Takes a generator and a number of rows, and returns one array for each argument of a statistic."""

LARGEST = 1e300


def number_of_rows(rng: np.random.Generator, most: int) -> int:
    """Return a number of rows: small ones most of the time, rarely one alone, and rarely very many."""
    limits = [(1, 2), (2, 10), (10, 60), (60, 500), (500, 5_000), (5_000, 100_000)]
    low, high = limits[rng.choice(len(limits), p=[0.02, 0.2, 0.58, 0.17, 0.025, 0.005])]
    return min(int(np.exp(rng.uniform(np.log(low), np.log(high)))), most)


def _outlier(rng: np.random.Generator, size: Any) -> np.ndarray:
    values = rng.standard_normal(size)
    values[rng.integers(len(values))] *= 10.0 ** rng.uniform(1, 8)
    return values


def _mostly_zero(rng: np.random.Generator, size: Any) -> np.ndarray:
    return rng.exponential(size=size) * (rng.random(size) < 0.2)


SHAPES: dict[str, Callable[[np.random.Generator, Any], np.ndarray]] = {
    "normal": lambda rng, size: rng.standard_normal(size),
    "exponential": lambda rng, size: rng.exponential(size=size),
    "lognormal": lambda rng, size: rng.lognormal(0, rng.uniform(0.5, 3), size),
    "heavy tails": lambda rng, size: rng.standard_t(rng.uniform(0.8, 3), size),
    "ties": lambda rng, size: rng.integers(-3, 4, size).astype(float),
    "counts": lambda rng, size: rng.poisson(rng.uniform(0.1, 20), size).astype(float),
    "two values": lambda rng, size: rng.integers(0, 2, size).astype(float),
    "tenths": lambda rng, size: rng.integers(1, 8, size) / 10,
    "constant": lambda rng, size: np.full(size, float(rng.choice([0.0, 1.0, 0.1, -7.3]))),
    "outlier": _outlier,
    "mostly zero": _mostly_zero,
}
_SHAPE_NAMES = list(SHAPES)
_SHAPE_ODDS = [0.28, 0.15, 0.1, 0.08, 0.1, 0.07, 0.05, 0.05, 0.03, 0.05, 0.04]


def values(rng: np.random.Generator, size: Any) -> np.ndarray:
    """Return numbers of a random shape, with neither offset nor scale."""
    return SHAPES[rng.choice(_SHAPE_NAMES, p=_SHAPE_ODDS)](rng, size)


def _offset(rng: np.random.Generator) -> float:
    kind = rng.random()
    if kind < 0.7:
        return 0.0
    return float(10.0 ** rng.uniform(-1, 4)) if kind < 0.92 else float(10.0 ** rng.uniform(4, 14))


def _scale(rng: np.random.Generator) -> float:
    kind = rng.random()
    if kind < 0.55:
        return 1.0
    return float(10.0 ** (rng.uniform(-8, 8) if kind < 0.85 else rng.uniform(-300, 300)))


def placed(rng: np.random.Generator, array: np.ndarray, *, positive: bool = False) -> np.ndarray:
    """Return the numbers with a random offset and scale, within the range of float64; centred now and then."""
    centred = rng.random() < 0.05 and not positive
    # The mean of centred numbers is what rounding leaves of zero.
    shifted = array - array.mean(axis=0) if centred else (np.abs(array) if positive else array) + _offset(rng)
    largest = np.abs(shifted).max(initial=0.0)
    scale = min(_scale(rng), LARGEST / max(largest, 1.0))
    return shifted * scale


def _columns(rng: np.random.Generator) -> tuple[int, ...]:
    shapes: list[tuple[int, ...]] = [(), (1,), (2,), (3,), (2, 2)]
    return shapes[rng.choice(len(shapes), p=[0.62, 0.06, 0.14, 0.14, 0.04])]


def column(rng: np.random.Generator, n: int) -> Samples:
    """Return one column of numbers."""
    return (placed(rng, values(rng, n)),)


def progression(rng: np.random.Generator, n: int) -> Samples:
    """Return whole numbers at equal distances, as a range holds them."""
    return ((rng.integers(-100, 100) + rng.integers(1, 5) * np.arange(n)).astype(float),)


def columns(rng: np.random.Generator, n: int) -> Samples:
    """Return one array of one or more columns."""
    return (placed(rng, values(rng, (n, *_columns(rng)))),)


def table(rng: np.random.Generator, n: int) -> Samples:
    """Return a table of two to four columns that depend on each other, one by one of another shape."""
    parts = [values(rng, n) for _ in range(rng.integers(2, 5))]
    parts = [part + rng.uniform(-1, 1) * parts[0] * (i > 0) for i, part in enumerate(parts)]
    return (placed(rng, np.column_stack(parts)),)


def positive_columns(rng: np.random.Generator, n: int) -> Samples:
    """Return one array of numbers that are not negative."""
    return (placed(rng, values(rng, (n, *_columns(rng))), positive=True),)


def categories(rng: np.random.Generator, n: int) -> Samples:
    """Return one column of labels."""
    return (placed(rng, rng.integers(0, rng.integers(1, 9), n).astype(float)),)


def _pair(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    first, noise = values(rng, n), values(rng, n)
    return first, first * rng.uniform(-1, 1) + noise


def pair(rng: np.random.Generator, n: int) -> Samples:
    """Return two columns, in one array or in two."""
    both = placed(rng, np.column_stack(_pair(rng, n)))
    return (both,) if rng.random() < 0.5 else (both[:, 0].copy(), both[:, 1].copy())


def predictions(rng: np.random.Generator, n: int) -> Samples:
    """Return observed values and predictions of them."""
    observed = values(rng, n)
    both = placed(rng, np.column_stack([observed, observed + rng.uniform(0.01, 2) * values(rng, n)]))
    return both[:, 0].copy(), both[:, 1].copy()


def two_predictions(rng: np.random.Generator, n: int) -> Samples:
    """Return observed values and two predictions of them."""
    observed = values(rng, n)
    noisy = [observed + rng.uniform(0.01, 2) * values(rng, n) for _ in range(2)]
    together = placed(rng, np.column_stack([observed, *noisy]))
    return tuple(column.copy() for column in together.T)


def two_samples(rng: np.random.Generator, n: int) -> Samples:
    """Return two independent samples with the same columns."""
    other = max(int(n * rng.uniform(0.5, 1.5)), 1)
    shape = _columns(rng)
    both = placed(rng, values(rng, (n + other, *shape)))
    return both[:n].copy(), both[n:].copy()


def two_tables(rng: np.random.Generator, n: int) -> Samples:
    """Return two independent tables of two columns."""
    other = max(int(n * rng.uniform(0.5, 1.5)), 1)
    both = placed(rng, np.column_stack(_pair(rng, n + other)))
    return both[:n].copy(), both[n:].copy()


def _labels(rng: np.random.Generator, n: int) -> np.ndarray:
    return (rng.random(n) < rng.choice([0.5, 0.2, 0.05])).astype(float)


def labels(rng: np.random.Generator, n: int) -> Samples:
    """Return observed classes and predicted ones."""
    observed = _labels(rng, n)
    return observed, np.abs(observed - (rng.random(n) < rng.choice([0.0, 0.1, 0.4])))


def probabilities(rng: np.random.Generator, n: int) -> Samples:
    """Return observed classes and predicted probabilities, which may have ties and be certain."""
    observed = _labels(rng, n)
    chances = np.clip(0.3 + 0.4 * observed + rng.normal(0, rng.choice([0.05, 0.3]), n), 0.0, 1.0)
    return observed, np.round(chances, 1) if rng.random() < 0.4 else chances


def scores(rng: np.random.Generator, n: int) -> Samples:
    """Return observed classes and scores of any scale."""
    observed = _labels(rng, n)
    return observed, placed(rng, observed * rng.uniform(0, 2) + values(rng, n))


def regression(rng: np.random.Generator, n: int) -> Samples:
    """Return predictors and a response."""
    X = rng.standard_normal((n, int(rng.integers(1, 4)))) * 10.0 ** rng.uniform(-2, 2)
    return X, placed(rng, X.sum(axis=1) / np.abs(X).max() + values(rng, n))


def _linear_predictor(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.uniform(-1, 1, (n, int(rng.integers(1, 3))))
    return X, 0.5 + X.sum(axis=1) / 2


def classes(rng: np.random.Generator, n: int) -> Samples:
    """Return predictors and a response of zeros and ones."""
    X, eta = _linear_predictor(rng, n)
    return X, (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)


def events(rng: np.random.Generator, n: int) -> Samples:
    """Return predictors and numbers of events."""
    X, eta = _linear_predictor(rng, n)
    return X, rng.poisson(np.exp(eta)).astype(float)
