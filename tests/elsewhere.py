"""Prepared statistics used elsewhere: in a process that has never seen them, and in several threads at once."""

from __future__ import annotations

import pathlib
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest

from orthoboot.draws.resamples import Resamples

REPOSITORY = pathlib.Path(__file__).parents[1]
N_THREADS = 8

ROUNDING = 1e-9
"""What rounding may change, relative to the largest number."""

PROGRAM = """
import pathlib, pickle, sys
folder = pathlib.Path(sys.argv[1])
named, unnamed, resamples = (pickle.loads((folder / name).read_bytes()) for name in ("named", "unnamed", "resamples"))
prepared = named + unnamed
found = [(one.estimate, one.values(resamples), one.influence(), one.output, one.influence_source) for one in prepared]
(folder / "found").write_bytes(pickle.dumps(found))
"""


def check_in_fresh_process(
    named: list[Any],
    resamples: Resamples,
    folder: pathlib.Path,
    *,
    unnamed: list[Any] | None = None,
    tolerance: float | list[float] = ROUNDING,
) -> None:
    """Check that statistics, used here and then pickled, give the same numbers in a process of their own.

    One process for all of them, since to start it takes longer than they do. Functions of the user's are pickled by
    their names, and those that have none, as lambdas, by their value. The tolerance is one, or one for each statistic.
    """
    unnamed = unnamed or []
    prepared = named + unnamed
    tolerances = tolerance if isinstance(tolerance, list) else [tolerance] * len(prepared)
    expected = [(one.estimate, one.values(resamples), one.influence()) for one in prepared]
    by_value = pytest.importorskip("cloudpickle").dumps if unnamed else pickle.dumps
    (folder / "named").write_bytes(pickle.dumps(named))
    (folder / "unnamed").write_bytes(by_value(unnamed))
    (folder / "resamples").write_bytes(pickle.dumps(resamples))
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    run = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found = pickle.loads((folder / "found").read_bytes())
    for one, here, there, own in zip(prepared, expected, found, tolerances, strict=True):
        check_equal(here, there[:3], own)
        assert there[3:] == (one.output, one.influence_source)


def _used(prepared: Any, resamples: Resamples) -> tuple[Any, ...]:
    return prepared.estimate, prepared.values(resamples), prepared.influence()


def in_threads(task: Callable[[int], Any]) -> list[Any]:
    """Return what a task gives in each of eight threads, which all start at once and get their numbers."""
    start = Barrier(N_THREADS)

    def started(number: int) -> Any:
        start.wait()
        return task(number)

    with ThreadPoolExecutor(N_THREADS) as pool:
        return list(pool.map(started, range(N_THREADS)))


def check_in_threads(
    prepare: Callable[[], Any],
    resamples: Resamples,
    *,
    used: Callable[[Any, Resamples], Sequence[Any]] = _used,
    tolerance: float = ROUNDING,
) -> None:
    """Check that threads which prepare a statistic at once, or share one, get what one thread gets.

    Numbers that `used` returns are compared, and their shapes.
    """
    expected, shared = used(prepare(), resamples), prepare()
    for pair in in_threads(
        lambda number: [used(one, resamples) for one in (prepare(), shared)[:: 1 if number % 2 else -1]]
    ):
        for found in pair:
            check_equal(expected, found, tolerance)


def check_equal(expected: Sequence[Any], found: Sequence[Any], tolerance: float = ROUNDING) -> None:
    """Check that numbers are equal but for what linear algebra rounds otherwise where an array lies elsewhere."""
    for mine, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(other, mine, rtol=0, atol=tolerance * np.abs(mine).max())
