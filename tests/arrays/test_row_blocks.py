"""Products of many rows and a small matrix, block by block."""

import numpy as np
import pytest

from orthoboot.arrays import row_blocks
from orthoboot.arrays.row_blocks import blocks_of, parts_of, products_with_themselves, rows_of_a_product, rows_times
from orthoboot.arrays.threads import run_here


def test_a_product_of_rows_by_blocks_is_a_product():
    rng = np.random.default_rng(83)
    rows, matrix = rng.normal(size=(9000, 100)), rng.normal(size=(100, 101))
    np.testing.assert_allclose(rows_times(rows, matrix), rows @ matrix, rtol=0, atol=1e-11)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (31, 3), (5000, 7), (9000, 100)])
def test_products_of_columns_by_blocks_are_products(n, d):
    columns = np.random.default_rng(87).normal(size=(n, d))
    np.testing.assert_allclose(products_with_themselves(columns), columns.T @ columns, rtol=0, atol=1e-13 * n)


@pytest.mark.parametrize("d", [1, 20, 60])
def test_products_have_the_same_bits_with_threads_and_without(d, monkeypatch):
    rng = np.random.default_rng(88)
    rows, matrix = rng.normal(size=(100_001 // d, d)), rng.normal(size=(d, d))
    found = rows_times(rows, matrix), products_with_themselves(rows)
    monkeypatch.setattr(row_blocks, "run_tasks", run_here)
    for one, other in zip(found, (rows_times(rows, matrix), products_with_themselves(rows)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("n", "d", "rows"), [(1, 1, 1), (100_000, 3, 32), (100_000, 3, 700), (50, 4000, 32)])
def test_parts_are_all_rows_in_their_order(n, d, rows):
    parts = parts_of(n, d, rows)
    assert np.concatenate([np.arange(n)[part] for part in parts]).tolist() == list(range(n))
    assert all((part.stop - part.start) % rows == 0 for part in parts)


def test_blocks_are_filled_with_zeros():
    blocks = blocks_of(np.arange(10.0).reshape(5, 2), 3)
    assert blocks.tolist() == [[[0, 1], [2, 3], [4, 5]], [[6, 7], [8, 9], [0, 0]]]
    assert np.shares_memory(blocks_of(matrix := np.ones((6, 2)), 3), matrix)


@pytest.mark.parametrize("size", [1, 100, 90**2, 91**2, 10**6])
def test_products_of_few_numbers_stay_below_what_starts_threads(size):
    """Up to 90 columns."""
    assert (rows_of_a_product(size) * size <= 1 << 18) == (size <= 90**2)
