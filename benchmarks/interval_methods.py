"""Print how often 95% intervals of every kind hold the truth, and how wide they are.

    python -m benchmarks.interval_methods [--data-sets 500] [--first-seed 9000] [--folder FOLDER] [--cases NAME ...]

The cases are those of `benchmarks.coverage` and the paper's three statistics of a thousand rows. Studentized
intervals are of a thousand replicates and "before" is the normal interval of ten beside their linear part; all others
are of one run of the default.
Where a statistic has a range, "natural" intervals are made on the scale of a logarithm for each of its limits. Widths
are medians over data sets, in those of BCa. Finished parts are kept in the folder, if one is given.
"""

from __future__ import annotations

import argparse
import pathlib
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from benchmarks.coverage import CASES, Case
from benchmarks.kept import PART, part

import orthoboot as ob
from orthoboot.intervals.normal import NaturalNormal
from orthoboot.intervals.scale import NaturalScale
from orthoboot.paper.ci.problems import PROBLEMS
from orthoboot.result import Result

MANY = 1000
"""Replicates of studentized intervals."""

_BOTH = (0.025, 0.975)


def _paper_cases() -> list[Case]:
    """Return the paper's statistics of a thousand rows."""
    names = ("folded-normal", "double-exponential", "lognormal")
    return [
        Case(each.title, each.generate, each.statistic, each.truth, {}) for each in map(PROBLEMS.get, names) if each
    ]


def natural_studentized(result: Result) -> tuple[float, float]:
    """Return the studentized interval on the natural scale of the first output."""
    estimation = result._estimation
    run, estimate = estimation.run, estimation.estimate[:1]
    scale = NaturalScale(*(np.broadcast_to(limit, estimation.estimate.shape)[:1] for limit in run.limits), estimate)
    values = estimation.replicates.values[:, :1]
    own = np.sqrt(estimation.resample_variances.values[:, :1])
    # The slope of the scale at each replicate: a standard error there is so many times as large.
    inside = np.clip(values, scale._nearest_low, scale._nearest_high)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = (1 / (inside - scale.low) + 1 / (scale.high - inside)) / scale._slope
        roots = own * np.where(scale.is_curved, slopes, 1.0)
        t = (scale.forward(values) - estimate) / roots
    kept = t[np.isfinite(t) & (own > 0)]
    if not len(kept):
        return np.nan, np.nan
    quantiles = (np.quantile(kept, 1 - each, method="weibull") for each in _BOTH)
    spread = np.sqrt(run.linear_variance[:1])
    low, high = (scale.back(estimate - quantile * spread) for quantile in quantiles)
    return float(low[0]), float(high[0])


def _natural_normal(result: Result) -> tuple[float, float]:
    ends = NaturalNormal().ends(result._estimation, _BOTH)
    return float(ends.low[0]), float(ends.high[0])


def _by(method: str) -> Callable[[Result], tuple[Any, Any]]:
    return lambda result: result.interval(method=method)


def _bca(result: Result) -> tuple[Any, Any]:
    """Return BCa, which the default mostly is."""
    return result.confidence_interval if result.interval_method == "bca" else result.interval(method="bca")


OF_MANY: dict[str, Callable[[Result], tuple[Any, Any]]] = {
    "studentized": _by("studentized"),
    "studentized, natural": natural_studentized,
}
"""Methods that need a thousand replicates."""

OF_DEFAULT: dict[str, Callable[[Result], tuple[Any, Any]]] = {
    "default": lambda result: result.confidence_interval,
    "BCa": _bca,
    "ABC": _by("abc"),
    "normal": _by("normal"),
    "normal, natural": _natural_normal,
}
COLUMNS = (*OF_DEFAULT, "before", *OF_MANY)
WIDER = "wider of BCa and normal, natural"
"""A column that follows from others: at each end the one that is farther out."""


def _ends(make: Callable[[Result], tuple[Any, Any]], result: Result) -> tuple[float, float]:
    """Return both ends of the first output; NaN where the method is not for the statistic."""
    try:
        low, high = make(result)
    except (ob.errors.ArgumentError, ob.errors.ReplicationError):
        return np.nan, np.nan
    return float(np.ravel(low)[0]), float(np.ravel(high)[0])


def ends(case: Case, seed: int) -> np.ndarray:
    """Return both ends of each of `COLUMNS` for the data set of a seed, shape ``(columns, 2)``."""
    data, options = case.data(np.random.default_rng([seed, 17]))
    call = partial(ob.bootstrap, data, case.statistic, rng=seed, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result, many = call(), call(n_resamples=MANY, method="normal")
        before = call(n_resamples=10, control="linear", method="normal")
        return np.array(
            [
                *(_ends(make, result) for make in OF_DEFAULT.values()),
                _ends(_by("normal"), before),
                *(_ends(make, many) for make in OF_MANY.values()),
            ]
        )


def with_wider(found: np.ndarray) -> np.ndarray:
    """Return the ends ``(data sets, columns, 2)`` with those of `WIDER` as the last column."""
    both = found[:, [COLUMNS.index("BCa"), COLUMNS.index("normal, natural")]]
    wider = np.stack([both[..., 0].min(axis=1), both[..., 1].max(axis=1)], axis=-1)
    return np.concatenate([found, wider[:, np.newaxis]], axis=1)


def row(case: Case, found: np.ndarray) -> str:
    """Return a line of the table: of each method its coverage and its width in BCa's."""
    low, high = np.moveaxis(with_wider(found), -1, 0)
    holds = (low <= case.truth) & (case.truth <= high)
    bca = np.nanmedian((high - low)[:, COLUMNS.index("BCa")])
    cells = []
    for number in range(len(COLUMNS) + 1):
        width = high[:, number] - low[:, number]
        is_missing = np.isnan(width).mean() > 0.5
        cells.append("" if is_missing else f"{holds[:, number].mean():.3f} ({np.nanmedian(width) / bca:.2f})")
    return f"| {case.name} | {len(found)} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-sets", type=int, default=500)
    parser.add_argument("--first-seed", type=int, default=9000)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--cases", nargs="*", default=[""])
    options = parser.parse_args()
    if options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
    print("| case | data sets | " + " | ".join((*COLUMNS, WIDER)) + " |")
    print("| --- " * (len(COLUMNS) + 3) + "|", flush=True)
    starts = range(options.first_seed, options.first_seed + options.data_sets, PART)
    for case in (*_paper_cases(), *CASES):
        if any(each in case.name for each in options.cases):
            found = [part(case.name, options.folder, start, partial(ends, case)) for start in starts]
            print(row(case, np.concatenate(found)), flush=True)


if __name__ == "__main__":
    main()
