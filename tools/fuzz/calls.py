"""Random plans, estimators, intervals and all else that `bootstrap` takes besides data and a statistic."""

from __future__ import annotations

from typing import Any

import numpy as np

from tools.fuzz.catalogue import Row

ESTIMATORS = {"orthogonal": 0.5, "jackknife": 0.13, "paper": 0.13, "standard": 0.12, "cheap": 0.12}
METHODS = {"normal": 0.45, "t": 0.17, "abc": 0.19, "percentile": 0.07, "basic": 0.04, "bca": 0.08}
ALTERNATIVES = {"two-sided": 0.7, "less": 0.15, "greater": 0.15}
PLANS = {"iid": 0.6, "strata": 0.13, "groups": 0.13, "block_length": 0.14}
FROM_QUANTILES = ("percentile", "basic", "bca")


def _one_of(rng: np.random.Generator, odds: dict[str, float]) -> str:
    return str(rng.choice(list(odds), p=list(odds.values())))


def _labels(rng: np.random.Generator, n: int) -> Any:
    """Return labels of the rows: few or many, numbers or words."""
    numbers = rng.integers(0, max(int(n ** rng.uniform(0, 1)), 1), n)
    return numbers if rng.random() < 0.7 else np.array([f"label {number}" for number in numbers])


def plan(rng: np.random.Generator, sizes: tuple[int, ...]) -> dict[str, Any]:
    """Return the arguments that say how the samples are resampled, none for independent rows."""
    kind = _one_of(rng, PLANS)
    if kind == "iid":
        return {}
    if kind == "block_length":
        length = int(rng.integers(1, max(min(sizes) // 2, 1) + 1))
        return {"block_length": length, "block_kind": str(rng.choice(["circular", "moving", "stationary"]))}
    entries = tuple(_labels(rng, n) for n in sizes)
    return {kind: entries[0] if len(entries) == 1 else entries}


def _n_resamples(rng: np.random.Generator, estimator: str, method: str) -> int | None:
    if estimator in ("standard", "cheap") and method in FROM_QUANTILES:
        return int(rng.integers(200, 260))
    # The default of "standard" is a thousand: too slow for every case, and no other than a few.
    if rng.random() < 0.5 and estimator != "standard":
        return None
    least = 5 if method in FROM_QUANTILES else 2
    return int(rng.integers(least, 40))


def _confidence_level(rng: np.random.Generator) -> float:
    kind = rng.random()
    if kind < 0.45:
        return 0.95
    return float(rng.uniform(0.5, 0.99)) if kind < 0.8 else 1 - float(10.0 ** -rng.uniform(2, 10))


def _influence(rng: np.random.Generator, n: int) -> dict[str, Any]:
    if n > 200 or rng.random() < 0.9:
        return {}
    return {"influence": str(rng.choice(["jackknife", "finite-difference"]))}


def options(rng: np.random.Generator, row: Row, sizes: tuple[int, ...]) -> dict[str, Any]:
    """Return the other arguments, most of them such that the call is valid."""
    estimator = _one_of(rng, ESTIMATORS)
    method = _one_of(rng, METHODS)
    if (estimator == "jackknife" and method in FROM_QUANTILES) or (method == "abc" and row.row_function):
        method = "normal"
    drawn: dict[str, Any] = {
        "estimator": estimator,
        "method": method,
        "alternative": _one_of(rng, ALTERNATIVES),
        "confidence_level": _confidence_level(rng),
        "rng": int(rng.integers(2**31)),
    }
    n_resamples = _n_resamples(rng, estimator, method)
    if n_resamples is not None:
        drawn["n_resamples"] = n_resamples
    if rng.random() < 0.3:
        drawn["batch"] = int(rng.integers(1, 50))
    if rng.random() < 0.04 and estimator not in ("jackknife", "standard"):
        drawn |= {"tol": float(10.0 ** -rng.uniform(1, 2)), "max_resamples": 60}
    return drawn | _influence(rng, max(sizes))
