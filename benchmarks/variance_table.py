"""Print the relative RMSE of each estimator's variance against the bootstrap's own.

For each case and data set 6,000 replicates are simulated once. Their variance is the truth; consecutive runs of B of
them are the small bootstraps, so that all estimators see the same draws.

    python -m benchmarks.variance_table [--data-sets 8] [--replicates 6000]
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from benchmarks.cases import CASES, Case

import orthoboot as ob
from orthoboot.estimators import ESTIMATORS
from orthoboot.estimators.estimation import Estimation

ESTIMATOR_NAMES = ("standard", "paper", "orthogonal")
SIZES = (5, 10, 25)


def relative_errors(case: Case, seed: int, n_replicates: int) -> dict[tuple[str, int], np.ndarray]:
    """Return ``variance / truth - 1`` of every small bootstrap, for each estimator and size."""
    data = case.generate(np.random.default_rng([seed, 1]))
    influence = "auto" if case.influence is None else case.influence
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = ob.bootstrap(
            data, case.statistic, n_resamples=n_replicates, influence=influence, paired=case.paired, rng=seed
        )
    truth = float(np.var(result.bootstrap_distribution, ddof=1))
    errors = {}
    for size in SIZES:
        runs = [
            result.replicates.select(slice(start, start + size)) for start in range(0, n_replicates - size + 1, size)
        ]
        for name in ESTIMATOR_NAMES:
            variances = [Estimation(result.run, run, ESTIMATORS[name]).variance[0] for run in runs]
            errors[name, size] = np.array(variances) / truth - 1
    return errors


def rmse(case: Case, n_data_sets: int, n_replicates: int) -> dict[tuple[str, int], float]:
    """Return the RMSE over data sets and small bootstraps, for each estimator and size."""
    runs = [relative_errors(case, seed, n_replicates) for seed in range(n_data_sets)]
    return {key: float(np.sqrt(np.mean(np.concatenate([run[key] for run in runs]) ** 2))) for key in runs[0]}


def verdict(case: Case, errors: dict[tuple[str, int], float]) -> str:
    """Return what the row shows: at least as good as the paper's, or near the standard bootstrap when misled."""
    if case.is_right:
        return "yes" if all(errors["orthogonal", size] <= errors["paper", size] for size in SIZES) else "NO"
    ratios = [errors["orthogonal", size] / errors["standard", size] for size in SIZES if size >= 10]
    return f"{max(ratios):.2f} x standard"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-sets", type=int, default=8)
    parser.add_argument("--replicates", type=int, default=6000)
    options = parser.parse_args()
    print(f"Relative RMSE of the variance, B = {' / '.join(map(str, SIZES))}")
    print("| case | " + " | ".join(ESTIMATOR_NAMES) + " | orthogonal at least as good |")
    print("| --- " * (len(ESTIMATOR_NAMES) + 2) + "|")
    for case in CASES:
        errors = rmse(case, options.data_sets, options.replicates)
        cells = [" / ".join(f"{errors[name, size]:.3g}" for size in SIZES) for name in ESTIMATOR_NAMES]
        print(f"| {case.name} | " + " | ".join(cells) + f" | {verdict(case, errors)} |", flush=True)


if __name__ == "__main__":
    main()
