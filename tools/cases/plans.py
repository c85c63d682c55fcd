"""Every way to draw rows, each with an entry of the catalogue and with a plain function."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import orthoboot as ob
from tools.cases.base import COLUMN, LABELS, PAIRED, TABLE, TWO_SAMPLES, answer

_RNG = np.random.default_rng(10)
MANY = _RNG.exponential(size=3000)
SERIES = np.cumsum(_RNG.standard_normal(120)) * 0.1 + _RNG.standard_normal(120)
CLUSTERS = _RNG.integers(0, 90, size=300)
SPLIT = (np.arange(40) % 3, np.arange(30) % 4)
WORDS = np.array(["low", "middle", "high"])[np.arange(60) % 3]

PLANS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "iid, few rows": (COLUMN[:40], ob.variance, {}),
    "iid": (MANY[:150], ob.variance, {}),
    "iid, many rows": (MANY, ob.variance, {}),
    "iid, columns": (TABLE, ob.variance, {}),
    "strata": (COLUMN, ob.variance, {"strata": LABELS}),
    "strata, one": (COLUMN, ob.variance, {"strata": np.zeros(60)}),
    "strata, words": (COLUMN, ob.variance, {"strata": WORDS}),
    "strata, many rows": (MANY, ob.variance, {"strata": np.arange(3000) % 7}),
    "groups": (COLUMN, ob.variance, {"groups": np.arange(60) // 4}),
    "groups, uneven": (COLUMN, ob.variance, {"groups": LABELS}),
    "groups, many": (MANY[:300], ob.variance, {"groups": CLUSTERS}),
    "groups, words": (COLUMN, ob.mean, {"groups": np.array([f"g{i % 12}" for i in range(60)])}),
    "moving blocks": (SERIES, ob.variance, {"block_length": 7, "block_kind": "moving"}),
    "moving blocks, none cut": (SERIES, ob.variance, {"block_length": 6, "block_kind": "moving"}),
    "circular blocks": (SERIES, ob.variance, {"block_length": 7, "block_kind": "circular"}),
    "circular blocks, none cut": (SERIES, ob.variance, {"block_length": 6, "block_kind": "circular"}),
    "circular blocks, long": (SERIES[:20], ob.variance, {"block_length": 19}),
    "stationary blocks": (SERIES, ob.variance, {"block_length": 3, "block_kind": "stationary"}),
    "stationary blocks, long": (SERIES[:20], ob.variance, {"block_length": 19, "block_kind": "stationary"}),
    "two samples": (TWO_SAMPLES, ob.difference(ob.variance), {}),
    "two samples, strata": (TWO_SAMPLES, ob.difference(ob.mean), {"strata": SPLIT}),
    "two samples, groups": (TWO_SAMPLES, ob.difference(ob.mean), {"groups": (np.arange(40) // 3, np.arange(30) // 2)}),
    "two samples, blocks": (TWO_SAMPLES, ob.relative_difference(ob.mean), {"block_length": (4, 5)}),
    "paired": (PAIRED, ob.correlation, {"paired": True}),
    "paired, strata": (PAIRED, ob.correlation, {"paired": True, "strata": LABELS}),
    "paired, groups": (PAIRED, ob.correlation, {"paired": True, "groups": np.arange(60) // 4}),
    "paired, moving blocks": (PAIRED, ob.ratio, {"paired": True, "block_length": 5, "block_kind": "moving"}),
    "paired, stationary blocks": (PAIRED, ob.ratio, {"paired": True, "block_length": 5, "block_kind": "stationary"}),
}

ASKED: dict[str, dict[str, Any]] = {
    "orthogonal": {},
    "paper": {"estimator": "paper"},
    "standard": {"estimator": "standard", "n_resamples": 30},
    "jackknife": {"estimator": "jackknife", "n_resamples": 0},
    "abc": {"method": "abc"},
    "percentile": {"method": "percentile", "n_resamples": 25},
    "bca": {"method": "bca", "n_resamples": 25},
}


def spread(*samples: Any) -> Any:
    """Return a statistic of any number of samples, as a user writes it."""
    return sum(np.std(sample) for sample in samples) / np.mean(samples[0])


CASES = {
    f"{plan}, {name}": partial(answer, data, statistic, **(options | asked))
    for plan, (data, statistic, options) in PLANS.items()
    for name, asked in ASKED.items()
} | {
    f"{plan}, plain function": partial(answer, data, spread, **options)
    for plan, (data, _, options) in PLANS.items()
    # The jackknife of a plain function costs an evaluation a row.
    if len(data) <= 300
}
