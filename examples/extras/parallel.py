"""`orthoboot[parallel]`: a function of one's own in two processes, with the numbers of one."""

import numpy as np

import orthoboot as ob


def spread(rows: np.ndarray) -> float:
    """Return a statistic that the library does not know."""
    return float(np.ptp(rows) / np.median(rows))


if __name__ == "__main__":
    x = np.random.default_rng(0).exponential(size=200)
    alone, together = (
        ob.bootstrap(x, spread, estimator="standard", n_resamples=40, n_jobs=n, rng=0).standard_error for n in (1, 2)
    )
    assert alone == together
    print(f"{alone:.4f} by one process and by two")
