"""Print what the area under the ROC curve of a million rows costs, with its uncertainty and without.

python -m benchmarks.roc_auc
"""

from __future__ import annotations

import timeit
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score

import orthoboot as ob

N_ROWS = 1_000_000
N_REPLICATES = 10


@dataclass(frozen=True)
class Times:
    """Seconds for the bootstrap and for one evaluation."""

    ours: float
    one_evaluation: float

    @property
    def ratio(self) -> float:
        """Return how many evaluations the bootstrap costs."""
        return self.ours / self.one_evaluation


def measured() -> Times:
    """Return the best of three runs of each."""
    rng = np.random.default_rng(0)
    labels = (rng.random(N_ROWS) < 0.3).astype(float)
    scores = labels + rng.normal(size=N_ROWS)

    def ours() -> None:
        ob.bootstrap((labels, scores), ob.roc_auc, paired=True, n_resamples=N_REPLICATES, rng=0)

    def one_evaluation() -> None:
        roc_auc_score(labels, scores)

    return Times(*(min(timeit.repeat(run, number=1, repeat=3)) for run in (ours, one_evaluation)))


def main() -> None:
    times = measured()
    print(f"| n = {N_ROWS:,} | seconds |")
    print("| --- | --- |")
    print(f"| orthoboot, B = {N_REPLICATES} | {times.ours:.3f} |")
    print(f"| scikit-learn, one roc_auc_score | {times.one_evaluation:.3f} |")
    print(f"| ratio | {times.ratio:.1f} |")


if __name__ == "__main__":
    main()
