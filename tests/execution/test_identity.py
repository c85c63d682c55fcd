"""What tells runs apart is the same in every process, and whatever a statistic holds can be looked at."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from orthoboot.execution.identity import _digest

OF_SETS = """
from orthoboot.execution.identity import _digest

def statistic(x, kind="mean"):
    return x.mean() if kind in {"mean", "average", "expectation"} else x[0]

print(_digest([statistic, {"one", "two", "three"}, frozenset(["four", "five"])]))
"""


def test_sets_count_by_their_entries_in_whatever_order_a_process_has_them():
    digests = {
        subprocess.run(
            [sys.executable, "-c", OF_SETS],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1
    assert _digest({"one"}) != _digest({"two"})


def test_a_tensor_that_is_trained_counts_by_its_numbers():
    torch = pytest.importorskip("torch")
    one, same, other = (torch.nn.Parameter(torch.full((2,), value)) for value in (1.0, 1.0, 2.0))
    assert _digest(one) == _digest(same) != _digest(other)
