"""Memory is that of the data and of one batch, whatever the number of replicates."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import resource
import numpy as np, orthoboot as ob
x = np.random.default_rng(0).standard_normal(1_000_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
result = ob.bootstrap(x, ob.variance, n_resamples=1000, rng=0)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert result.n_resamples == 1000
print((after - before) / 1024)
"""


def test_a_thousand_replicates_of_a_million_rows_stay_below_200_megabytes():
    """Peak resident memory beyond the interpreter, the libraries and the data."""
    printed = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
    assert float(printed) < 200
