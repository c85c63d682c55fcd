"""Weighted cross products, block by block and strip by strip."""

import numpy as np
import pytest

from orthoboot.solvers.cross_products import CrossProducts


@pytest.mark.parametrize(
    ("n", "d", "k"), [(5, 1, 0), (3, 2, 2), (1000, 30, 1), (1000, 48, 0), (9000, 100, 1), (40, 200, 1)]
)
def test_cross_products_by_blocks_are_cross_products(n, d, k):
    rng = np.random.default_rng(83)
    columns, others = rng.normal(size=(n, d)), rng.normal(size=(n, k))
    weights = rng.poisson(1.0, size=n) - 0.25  # curvatures of a loss may be negative
    weights[::3] = 0.0
    expected = columns.T @ (weights[:, np.newaxis] * np.column_stack([columns, others]))
    # The rounding of a sum of n products of normal numbers, several times over.
    np.testing.assert_allclose(CrossProducts(columns, *others.T)(weights), expected, rtol=0, atol=1e-14 * n)


@pytest.mark.parametrize("d", [3, 50])
def test_cross_products_of_no_rows_are_zero(d):
    assert not CrossProducts(np.ones((100, d)))(np.zeros(100)).any()
