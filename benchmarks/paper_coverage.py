"""Print how often 95% intervals hold the truth on the paper's problems: the default, and what it was before.

    python -m benchmarks.paper_coverage [--data-sets 1000] [--first-seed 0] [--folder FOLDER] [--cases NAME ...]

Before controls of higher order the default was the normal interval of ten replicates beside their linear part. BCa of
2000 ordinary replicates stands beside both, but for the regression, where it takes half a minute. Every data set gets
all of them. Finished parts are kept in the folder, if one is given, and not computed again.
"""

from __future__ import annotations

import argparse
import pathlib
import warnings
from functools import partial

import numpy as np
from benchmarks.kept import PART, part

import orthoboot as ob
from orthoboot.paper.ci.problems import PROBLEMS, Problem

COLUMNS = ("before", "default", "BCa, 2000")


def ends(name: str, seed: int) -> np.ndarray:
    """Return both ends of each of `COLUMNS` for the data set of a seed, ``(columns, 2)``; NaN where one is left out."""
    problem = PROBLEMS[name]
    data = problem.generate(np.random.default_rng([seed, 14]))
    calls = [
        {"n_resamples": 10, "control": "linear", "method": "normal", "rng": seed},
        {"rng": seed},
        {"n_resamples": 2000, "estimator": "standard", "method": "bca", "rng": 10**6 + seed},
    ]
    asked = calls[:2] if name == "regression" else calls
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [ob.bootstrap(data, problem.statistic, paired=problem.paired, **options) for options in asked]
    missing = [(np.nan, np.nan)] * (len(calls) - len(asked))
    return np.array([*(result.confidence_interval for result in found), *missing], dtype=float)


def row(problem: Problem, found: np.ndarray) -> str:
    """Return a line of the table: coverages, the difference with its error, and the width over that of before."""
    low, high = np.moveaxis(found, -1, 0)
    holds = ((low <= problem.truth) & (problem.truth <= high)).astype(float)
    difference = holds[:, 1] - holds[:, 0]
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    before, default, ordinary = holds.mean(axis=0)
    widths = np.mean(high - low, axis=0)
    shown = "" if np.isnan(low[:, 2]).all() else f"{ordinary:.3f}"
    return (
        f"| {problem.title} | {len(found)} | {before:.3f} | {default:.3f} | {difference.mean():+.3f} ± {error:.3f} "
        f"| {shown} | {widths[1] / widths[0]:.2f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-sets", type=int, default=1000)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--cases", nargs="*", choices=PROBLEMS, default=list(PROBLEMS))
    options = parser.parse_args()
    if options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
    print("| problem | data sets | before | default | difference | BCa, 2000 | width over before |")
    print("| --- " * 7 + "|")
    starts = range(options.first_seed, options.first_seed + options.data_sets, PART)
    for name in options.cases:
        parts = [part(name, options.folder, start, partial(ends, name)) for start in starts]
        print(row(PROBLEMS[name], np.concatenate(parts)), flush=True)


if __name__ == "__main__":
    main()
