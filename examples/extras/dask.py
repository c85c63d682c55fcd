"""`orthoboot[dask]`: an array in pieces, by the threads of this process and by a cluster."""

import dask.array as da
import numpy as np
from distributed import Client

import orthoboot as ob

if __name__ == "__main__":
    x = da.from_array(np.random.default_rng(0).exponential(size=(100_000, 2)), chunks=(25_000, 2))
    print(ob.bootstrap(x, ob.correlation, rng=0))
    with Client(n_workers=1, threads_per_worker=2, dashboard_address=None):
        print(ob.bootstrap(x, ob.correlation, rng=0).confidence_interval)
