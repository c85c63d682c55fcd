"""Products of all pairs of columns."""

import numpy as np
import pytest

from orthoboot.arrays.pairs import pair_columns, store_pairs, strips_of, symmetric


@pytest.mark.parametrize("d", [1, 2, 5])
def test_pairs_are_the_upper_triangle_row_by_row(d):
    columns = np.random.default_rng(89).normal(size=(d, 7))
    first, second = np.triu_indices(d)
    np.testing.assert_array_equal(pair_columns(columns), columns[first] * columns[second])


@pytest.mark.parametrize("d", [1, 2, 5])
def test_any_range_of_pairs_can_be_asked_for(d):
    columns = np.random.default_rng(90).normal(size=(d, 4))
    every = pair_columns(columns)
    for start in range(len(every)):
        for stop in range(start, len(every) + 1):
            out = np.full((stop - start, 4), np.nan)
            store_pairs(columns, strips_of(d, range(start, stop)), out)
            np.testing.assert_array_equal(out, every[start:stop])


def test_sums_of_pairs_are_symmetric_matrices():
    columns = np.random.default_rng(91).normal(size=(4, 50))
    sums = pair_columns(columns).sum(axis=1)
    np.testing.assert_allclose(symmetric(sums, 4), columns @ columns.T, rtol=1e-12, atol=1e-12)
    assert symmetric(np.stack([sums, sums]), 4).shape == (2, 4, 4)
