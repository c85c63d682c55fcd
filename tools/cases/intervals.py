"""Every estimator with every interval, few replicates and many: the answer, or the words of the refusal."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import orthoboot as ob
from tools.cases.base import COLUMN, PAIRS, TABLE, answer

ESTIMATORS = ("orthogonal", "paper", "standard", "cheap", "jackknife")
METHODS = ("normal", "t", "abc", "percentile", "basic", "bca")
STATISTICS: dict[str, tuple[Any, Any, tuple[int, ...]]] = {
    "variance": (COLUMN, ob.variance, (25, 250)),
    "variance, four replicates": (COLUMN, ob.variance, (4,)),
    "correlation": (PAIRS, ob.correlation, (25,)),
    "skewness of columns": (TABLE, ob.skewness, (250,)),
    "median": (COLUMN, ob.median, (250,)),
}
SIDES = ("two-sided", "less", "greater")

CASES = {
    f"{name}, {estimator}, {method}, B = {B}": partial(
        answer, data, statistic, estimator=estimator, method=method, n_resamples=B
    )
    for name, (data, statistic, sizes) in STATISTICS.items()
    for B, estimator, method in product(sizes, ESTIMATORS, METHODS)
} | {
    f"ratio, {method}, {side}, {level:g}": partial(
        answer, PAIRS, ob.ratio, method=method, alternative=side, confidence_level=level, n_resamples=25
    )
    for method, side, level in product(METHODS, SIDES, (0.8, 0.99))
}
