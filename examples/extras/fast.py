"""`orthoboot[fast]`: sums over resamples compiled by numba."""

import time

import numba
import numpy as np

import orthoboot as ob

x = np.random.default_rng(0).exponential(size=1_000_000)
start = time.perf_counter()
result = ob.bootstrap(x, ob.variance, rng=0)
print(
    f"{result.estimate:.4f} ± {result.standard_error:.4f} in {time.perf_counter() - start:.2f} s, {numba.__version__}"
)
