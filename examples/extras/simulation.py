"""`orthoboot[simulation]`: the input uncertainty of a model of SimPy."""

import numpy as np
import simpy

import orthoboot as ob

rng = np.random.default_rng(0)
inputs = {"gap": rng.exponential(1.0, 100), "service": rng.exponential(0.7, 80)}


def mean_wait(draw):
    """Return the mean wait of ten patients of one doctor."""
    environment = simpy.Environment()
    doctor, waits = simpy.Resource(environment, 1), []

    def patient():
        start = environment.now
        with doctor.request() as turn:
            yield turn
            waits.append(environment.now - start)
            yield environment.timeout(draw.service())

    def arrivals():
        for _ in range(10):
            yield environment.timeout(draw.gap())
            environment.process(patient())

    environment.process(arrivals())
    environment.run()
    return sum(waits) / len(waits)


print(ob.input_uncertainty(mean_wait, inputs, n_runs=500, rng=0))
