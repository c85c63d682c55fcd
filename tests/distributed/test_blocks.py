"""Blocks are cut at the same rows, however the rows come."""

from __future__ import annotations

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from orthoboot.distributed.blocks import block_rows, cut, paired
from orthoboot.errors import DataError


@hypothesis.given(lengths=st.lists(st.integers(0, 9)), rows=st.integers(1, 5))
def test_the_same_rows_in_pieces_of_the_same_length(lengths, rows):
    whole = np.arange(sum(lengths))
    arrays = np.split(whole, np.cumsum(lengths)[:-1]) if lengths else []
    pieces = [piece.tolist() for piece in cut(iter(arrays), rows)]
    assert pieces == [whole[start : start + rows].tolist() for start in range(0, len(whole), rows)]


@pytest.mark.parametrize(("width", "rows"), [(1, 2**16), (64, 2**16), (65, 2**15), (128, 2**15), (10**6, 2**13)])
def test_wide_rows_come_in_short_blocks(width, rows):
    assert block_rows(width) == rows


def test_tables_that_end_at_different_rows_are_refused_with_the_place():
    with pytest.raises(DataError, match="got 1 and 0 rows in the third file"):
        list(paired([iter([np.ones(3)]), iter([np.ones(2)])], 2, "the third file"))
