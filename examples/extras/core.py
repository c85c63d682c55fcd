"""Without any extra: numpy and scipy alone."""

import numpy as np

import orthoboot as ob

x = np.random.default_rng(0).exponential(size=200)
print(ob.bootstrap(x, ob.variance, rng=0))
print(ob.bootstrap(x, lambda rows: np.ptp(rows), estimator="standard", n_resamples=50, rng=0).confidence_interval)
