"""One cluster of dask for all tests of this folder: to start one takes longer than most of them."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="package")
def shared_cluster():
    """Two processes of one thread each. Workers may be killed, others come in their place; it must not be closed."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options, silence_logs=60) as running:
        yield running


@pytest.fixture
def cluster(shared_cluster):
    """A client of it, whom dask asks while the test runs and no longer: elsewhere it computes in this process."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(shared_cluster) as client:
        client.wait_for_workers(2)
        yield client
