"""Print the reported simulation error of the standard error beside the truth: its distance from very many replicates.

python -m benchmarks.simulation_error [--seeds 300] [--data-seed 0]
"""

from __future__ import annotations

import argparse

import numpy as np
from benchmarks.cases import Case, double_exponential, exponential, exponential_pair, lognormal_pair

import orthoboot as ob

CASES = [
    Case("std of double exponential, n=200", double_exponential(200), ob.std),
    Case("std of double exponential, n=1000", double_exponential(1000), ob.std),
    Case("correlation of lognormal, n=200", lognormal_pair(200), ob.correlation),
    Case("correlation of lognormal, n=1000", lognormal_pair(1000), ob.correlation),
    Case("ratio of exponentials, n=200", exponential_pair(200), ob.ratio),
    Case("skewness of exponential, n=200", exponential(200), ob.skewness),
]
SIZES = (10, 20)


def reported_and_true(case: Case, size: int, n_seeds: int, data_seed: int = 0) -> tuple[float, float]:
    """Return the mean reported simulation error of the standard error, and the root mean square over seeds of the true.

    The true one is the distance from the standard error of very many replicates, and not from the mean over seeds: a
    slope that is shrunk towards one moves all seeds alike.
    """
    data = case.generate(np.random.default_rng(data_seed))
    many = ob.bootstrap(data, case.statistic, n_resamples=int(2e7 / len(data)), method="normal", rng=10**6)
    results = [ob.bootstrap(data, case.statistic, n_resamples=size, rng=seed) for seed in range(n_seeds)]
    reported = [result.simulation_error.standard_error for result in results]
    errors = np.array([result.standard_error for result in results]) - many.standard_error
    return float(np.mean(reported)), float(np.sqrt(np.mean(errors**2)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=300)
    parser.add_argument("--data-seed", type=int, default=0)
    options = parser.parse_args()
    print("| case | B | mean reported | root mean square of the true | ratio |")
    print("| --- | --- | --- | --- | --- |")
    for case in CASES:
        for size in SIZES:
            reported, true = reported_and_true(case, size, options.seeds, options.data_seed)
            print(f"| {case.name} | {size} | {reported:.3g} | {true:.3g} | {reported / true:.2f} |", flush=True)


if __name__ == "__main__":
    main()
