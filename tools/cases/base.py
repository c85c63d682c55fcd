"""The data that most cases share, and the bootstrap with everything written down that has a default."""

from __future__ import annotations

from typing import Any

import numpy as np

import orthoboot as ob

N_ROWS = 60


def _pairs(seed: int, n: int = N_ROWS) -> Any:
    x, noise = np.random.default_rng(seed).exponential(size=(2, n))
    return np.column_stack([x, x + noise])


COLUMN = np.random.default_rng(1).exponential(size=N_ROWS)
TABLE = np.random.default_rng(2).gamma(2.0, size=(N_ROWS, 3))
PAIRS = _pairs(4)
PAIRED = tuple(PAIRS.T)
TWO_SAMPLES = (np.random.default_rng(5).exponential(2.0, size=40), np.random.default_rng(6).gamma(2.0, size=30))
LABELS = np.repeat([0, 1, 2, 3], [3, 7, 15, 35])[np.random.default_rng(7).permutation(N_ROWS)]


def answer(data: Any, statistic: Any, **options: Any) -> ob.Result:
    """Return the bootstrap of a statistic, ten replicates and the normal interval unless `options` say otherwise.

    Defaults may change from release to release; what is asked for in so many words may not.
    """
    return ob.bootstrap(data, statistic, **{"n_resamples": 10, "method": "normal", "rng": 0, **options})


def paired_answer(data: Any, statistic: Any, **options: Any) -> ob.Result:
    """Return the same of data whose rows belong together."""
    return answer(data, statistic, paired=True, **options)
