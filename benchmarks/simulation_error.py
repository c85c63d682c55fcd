"""Print the reported simulation error of the standard error beside the truth: its spread over seeds.

python -m benchmarks.simulation_error [--seeds 300]
"""

from __future__ import annotations

import argparse

import numpy as np
from benchmarks.cases import Case, double_exponential, exponential_pair, lognormal_pair

import orthoboot as ob

CASES = [
    Case("std of double exponential, n=200", double_exponential(200), ob.std),
    Case("std of double exponential, n=1000", double_exponential(1000), ob.std),
    Case("correlation of lognormal, n=200", lognormal_pair(200), ob.correlation),
    Case("correlation of lognormal, n=1000", lognormal_pair(1000), ob.correlation),
    Case("ratio of exponentials, n=200", exponential_pair(200), ob.ratio),
]
SIZES = (10, 20)


def reported_and_true(case: Case, size: int, n_seeds: int, data_seed: int = 0) -> tuple[float, float]:
    """Return the mean reported simulation error of the standard error, and its standard deviation over seeds."""
    data = case.generate(np.random.default_rng(data_seed))
    results = [ob.bootstrap(data, case.statistic, n_resamples=size, rng=seed) for seed in range(n_seeds)]
    reported = [result.simulation_error.standard_error for result in results]
    return float(np.mean(reported)), float(np.std([result.standard_error for result in results], ddof=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=300)
    n_seeds = parser.parse_args().seeds
    print("| case | B | mean reported | sd over seeds | ratio |")
    print("| --- | --- | --- | --- | --- |")
    for case in CASES:
        for size in SIZES:
            reported, true = reported_and_true(case, size, n_seeds)
            print(f"| {case.name} | {size} | {reported:.3g} | {true:.3g} | {reported / true:.2f} |")


if __name__ == "__main__":
    main()
