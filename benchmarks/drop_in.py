"""Print what scipy's and arch's bootstrap cost, and what their replacements cost for the same call.

    python -m benchmarks.drop_in [--rounds 5]

Calls alternate between the two, so that whatever else the machine does slows both. Each time is the median over rounds
and, in brackets, the least; the ends of the intervals are compared in units of the standard error. scipy gets the
`batch` that it needs for resamples of 100,000 rows to fit in memory.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.stats import pearsonr

from orthoboot import arch_compat, scipy_compat

_WARM_UP = 8
"""Calls that are not timed: the compiled kernels are loaded, in half a second, once the first few have shown a need."""


class Contest(NamedTuple):
    """The same call of two libraries; each returns the ends of an interval and a standard error."""

    name: str
    theirs: Callable[[], Any]
    ours: Callable[[], Any]


def correlation(x: Any, y: Any, axis: int = -1) -> Any:
    return pearsonr(x, y, axis=axis)[0]


def difference(x: Any, y: Any, axis: int = -1) -> Any:
    return np.mean(x, axis=axis) - np.mean(y, axis=axis)


def _of_scipy(name: str, data: tuple[Any, ...], statistic: Any, batch: int | None = None, **options: Any) -> Contest:
    def call(bootstrap: Callable[..., Any], **own: Any) -> Any:
        result = bootstrap(data, statistic, rng=0, **own, **options)
        return [*result.confidence_interval, result.standard_error]

    return Contest(name, lambda: call(stats.bootstrap, batch=batch), lambda: call(scipy_compat.bootstrap))


def _of_arch(name: str, x: Any, function: Any, method: str) -> Iterator[Contest]:
    try:
        from arch.bootstrap import IIDBootstrap
    except ImportError:
        return

    def call(kind: Any) -> Any:
        resampler = kind(x, seed=0)
        ends = resampler.conf_int(function, 1000, method=method)
        return [*ends.ravel(), float(np.sqrt(resampler.var(function, 1000)[0]))]

    yield Contest(name, lambda: call(IIDBootstrap), lambda: call(arch_compat.IIDBootstrap))


def contests() -> Iterator[Contest]:
    rng = np.random.default_rng(0)
    x, large = rng.exponential(size=1000), rng.exponential(size=100_000)
    y = x + rng.normal(size=1000)
    yield _of_scipy("scipy: np.mean, n = 1,000, BCa", (x,), np.mean)
    yield _of_scipy("scipy: np.median, n = 1,000, BCa", (x,), np.median)
    yield _of_scipy("scipy: difference of means, n = 1,000 each, BCa", (x, y), difference)
    yield _of_scipy("scipy: pearsonr, paired, n = 1,000, BCa", (x, y), correlation, paired=True)
    few = {"n_resamples": 999, "method": "percentile"}
    yield _of_scipy("scipy: np.std, n = 100,000, percentile, 999 resamples", (large,), np.std, batch=40, **few)
    yield _of_scipy("scipy: np.max, n = 1,000, percentile (not known)", (x,), np.max, method="percentile")
    yield from _of_arch("arch: x.std() / x.mean(), n = 1,000, basic, 1000 resamples", x, _spread, "basic")
    yield from _of_arch("arch: x.mean(), n = 1,000, bca, 1000 resamples", x, np.mean, "bca")


def _spread(x: Any) -> Any:
    return x.std() / x.mean()


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = call()
    return time.perf_counter() - start, found


def _shown(seconds: list[float]) -> str:
    return f"{median(seconds):.3f} s ({min(seconds):.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print("| call | theirs | ours | times as fast | largest difference, standard errors |")
    print("| --- | --- | --- | --- | --- |")
    for contest in contests():
        for _ in range(_WARM_UP):
            contest.ours()
        pairs = [(_timed(contest.theirs), _timed(contest.ours)) for _ in range(rounds)]
        theirs, ours = ([pair[side][0] for pair in pairs] for side in (0, 1))
        (_, expected), (_, found) = pairs[0]
        apart = np.abs(np.subtract(found, expected)).max() / expected[-1]
        ratios = f"{median(theirs) / median(ours):.1f} ({min(theirs) / min(ours):.1f})"
        print(f"| {contest.name} | {_shown(theirs)} | {_shown(ours)} | {ratios} | {apart:.3f} |", flush=True)


if __name__ == "__main__":
    main()
