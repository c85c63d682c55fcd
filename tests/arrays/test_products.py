from __future__ import annotations

import numpy as np
import pytest

from orthoboot.arrays import products


@pytest.mark.parametrize(
    ("b", "m", "p"), [(1, 1, 1), (3, 1000, 7), (5, 300, 90), (70, 2, 40), (0, 5, 3), (3, 0, 2), (2, 4, 0)]
)
def test_a_product_in_slices_is_the_product(b, m, p, monkeypatch):
    monkeypatch.setattr(products, "_MULTIPLICATIONS", 400)
    monkeypatch.setattr(products, "_ROWS", 16)
    rng = np.random.default_rng(1)
    left, right = rng.normal(size=(b, m)), rng.normal(size=(m, p))
    np.testing.assert_allclose(products.product_in_one_thread(left, right), left @ right, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", [(1, 5, 3), (8, 200, 15), (21, 3000, 40), (3, 20, 700), (9, 4, 0)])
def test_a_product_of_rows_that_are_computed_alike(shape):
    b, m, p = shape
    rng = np.random.default_rng(2)
    left, right = rng.standard_normal((b, m)), rng.standard_normal((m, p))
    product = products.product_alike(left, right)
    np.testing.assert_allclose(product, left @ right, rtol=0, atol=1e-12 * m)
    order = rng.permutation(b)
    np.testing.assert_array_equal(products.product_alike(left[order], right), product[order])
    np.testing.assert_array_equal(np.vstack([products.product_alike(row[np.newaxis], right) for row in left]), product)
