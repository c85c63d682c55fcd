"""`orthoboot[bench]`: ours beside those that it is measured against."""

import arch.bootstrap
import foostrap
import numpy as np
import resample.bootstrap

import orthoboot as ob

x = np.random.default_rng(0).exponential(size=200)
print(f"orthoboot {ob.bootstrap(x, ob.mean, rng=0).standard_error:.4f}")
print(f"arch      {arch.bootstrap.IIDBootstrap(x, seed=0).cov(np.mean, 500)[0, 0] ** 0.5:.4f}")
print(f"resample  {resample.bootstrap.variance(np.mean, x, size=500, random_state=0) ** 0.5:.4f}")
print(f"foostrap  {foostrap.__name__}")
