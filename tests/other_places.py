"""A statistic at its data in a fresh process, and in many threads at once."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

_N_THREADS = 8

_PROGRAM = """
import pickle, sys, warnings
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what torch and scikit-learn say of their own imports
    found = []
    for prepared, resamples in pickle.load(sys.stdin.buffer):
        evaluation = prepared.evaluate(resamples)
        found.append((prepared.estimate, evaluation.values, evaluation.converged, prepared.output.names))
    pickle.dump(found, sys.stdout.buffer)
"""


def in_fresh_process(
    statistics: Sequence[tuple[Any, Any]], dumps: Callable[[Any], bytes] = pickle.dumps
) -> list[tuple[Any, ...]]:
    """Return what pickled statistics at their data give on resamples in a process that has not seen them.

    For each pair of these the estimate, the values, which fits converged and the names.
    """
    run = subprocess.run([sys.executable, "-c", _PROGRAM], input=dumps(statistics), capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()
    found: list[tuple[Any, ...]] = pickle.loads(run.stdout)
    return found


def assert_given_alike(found: tuple[Any, ...], prepared: Any, resamples: Any) -> None:
    """Raise unless a statistic at its data gives here what it gave in another process."""
    estimate, values, converged, names = found
    expected = prepared.evaluate(resamples)
    np.testing.assert_array_equal(estimate, prepared.estimate)
    np.testing.assert_array_equal(values, expected.values)
    np.testing.assert_array_equal(converged, expected.converged)
    assert names == prepared.output.names


def at_once(function: Callable[[], Any]) -> list[Any]:
    """Return what a function gives in each of eight threads that start together."""
    start = threading.Barrier(_N_THREADS)

    def call() -> Any:
        start.wait()
        return function()

    with ThreadPoolExecutor(_N_THREADS) as pool:
        return [future.result() for future in [pool.submit(call) for _ in range(_N_THREADS)]]
