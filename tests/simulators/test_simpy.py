"""A model written in SimPy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.simulators.queues import INPUTS, mean_wait

import orthoboot as ob

simpy = pytest.importorskip("simpy")
CUSTOMERS = 64


def clinic(draw):
    """The mean wait of the customers of one server, as a process of events."""
    environment = simpy.Environment()
    server = simpy.Resource(environment, capacity=1)
    waits = []

    def customer():
        came = environment.now
        with server.request() as request:
            yield request
            waits.append(environment.now - came)
            yield environment.timeout(draw.service())

    def arrivals():
        for _ in range(CUSTOMERS):
            environment.process(customer())
            yield environment.timeout(draw.arrival())

    environment.process(arrivals())
    environment.run()
    return np.mean(waits)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.FewRunsWarning")
def test_a_model_in_simpy_is_the_queue_of_the_recursion():
    events = ob.input_uncertainty(clinic, INPUTS, n_runs=300, rng=0)
    arrays = ob.input_uncertainty(mean_wait, INPUTS, horizon=CUSTOMERS, n_runs=300, rng=0)
    outputs = [result.estimation.records.runs.outputs for result in (events, arrays)]
    np.testing.assert_allclose(*outputs, rtol=1e-9, atol=1e-12)
    assert events.input_error == pytest.approx(arrays.input_error, rel=1e-6)
    assert events.regime == arrays.regime
