"""The brute force that input uncertainty is measured from."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.simulation_models import mean_wait, queue_case, reference, simulate


@pytest.fixture
def brute_force():
    pytest.importorskip("numba")
    from benchmarks import queue_brute_force

    return queue_brute_force


def test_the_compiled_queue_is_that_of_the_models(brute_force):
    arrival, service = np.array([[0.5]]), np.array([[0.8]])
    mean, variance = brute_force.moments_at(arrival, service, 7, 3, np.uint64(0))[0]
    assert mean == pytest.approx(mean_wait(np.full((1, 7), 0.5), np.full((1, 7), 0.8))[0])
    assert variance == pytest.approx(0, abs=1e-12)


def test_the_compiled_queue_draws_rows_evenly_and_each_on_its_own(brute_force):
    case = queue_case(10, 100)
    data = case.data(3)
    plain, _ = simulate(case, data, 40_000, np.random.default_rng(0))
    tiled = [np.tile(data[name], (100, 1)) for name in ("arrival", "service")]
    means, variances = brute_force.moments_at(*tiled, 10, 4_000, np.uint64(5)).T
    for found, expected, spread in (
        (means, plain.mean(), plain.std()),
        (variances, plain.var(), ((plain - plain.mean()) ** 2).std()),
    ):
        error = np.hypot(found.std() / 10, spread / np.sqrt(len(plain)))
        # Beyond four errors with odds of one in ten thousand.
        assert abs(found.mean() - expected) < 4 * error


def test_a_bootstrap_of_plain_runs_has_the_variance_of_the_reference(brute_force):
    case = queue_case(10, 100)
    data = case.data(3)
    found = brute_force.queue_bootstrap(data["arrival"], data["service"], 10, seed=1)
    expected = reference(case, data, 0, resamples=500, runs=50, base=50_000, precision=np.inf)
    assert abs(found.variance - expected.variance) < 4 * np.hypot(found.error, expected.error)
    assert found.estimate == pytest.approx(expected.estimate, abs=0.02)
