"""Memory is that of the data and of one batch, whatever the number of replicates, and is freed with the result."""

from __future__ import annotations

import gc
import subprocess
import sys
import warnings
import weakref

import pytest

import orthoboot as ob
from tests.registry import FUNCTIONALS, FunctionalRow

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


@pytest.mark.parametrize("row", FUNCTIONALS, ids=lambda row: row.id)
def test_a_result_that_nobody_holds_frees_its_data_at_once(row: FunctionalRow) -> None:
    """Without the garbage collector, which comes when it likes: large data would pile up call by call."""
    data = row.data()
    samples = data.arrays[0] if len(data.arrays) == 1 else data.arrays
    paired = len(data.arrays) > 1 and len(data.sizes) == 1
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = ob.bootstrap(samples, row.functional, paired=paired, n_resamples=5, rng=0)
            str(result.interval(0.9, method="normal"))
            str(result.extend(2).with_estimator("standard"))
        # Not the array itself: jax lets go of arrays when it likes.
        held = weakref.ref(result.run.data)
        assert held() is not None
        del result
        assert held() is None
    finally:
        gc.enable()
