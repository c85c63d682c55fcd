"""Two trees timed in turn: the table's numbers, and a run of one tree against itself."""

from __future__ import annotations

import pathlib

import pytest
from benchmarks.side_by_side import Pairs, measured, row

import orthoboot as ob

SOURCE = pathlib.Path(ob.__file__).parents[1]


def test_the_ratio_is_the_median_over_pairs_and_not_the_ratio_of_medians():
    pairs = Pairs("call", [(1.0, 2.0), (2.0, 2.0), (10.0, 5.0)])
    assert pairs.medians == (2.0, 2.0)
    assert pairs.ratios == (0.75, 1.0, 1.5)
    assert row(pairs) == "| call | 2000.00 | 2000.00 | 1.000 | 0.750 to 1.500 | 3 |"
    assert Pairs("call", [(2.0, 3.0)]).ratios == (1.5, 1.5, 1.5)


@pytest.mark.parametrize("clock", ["wall", "processor"])
def test_a_tree_is_timed_against_itself(clock):
    (pairs,) = measured(SOURCE, SOURCE, n_rounds=1, clock=clock, pattern="variance, n = 1,000, B = 10")
    assert isinstance(pairs, Pairs)
    assert min(pairs.medians) > 0


def test_a_folder_without_the_library_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="must be the folder `src` of a tree; it holds no orthoboot"):
        next(measured(SOURCE, tmp_path))
