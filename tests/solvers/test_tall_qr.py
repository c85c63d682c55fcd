"""The factorisation of many rows: its factors, and what is solved with them."""

import numpy as np
import pytest

from orthoboot.solvers.tall_qr import QRFactors, _qr_by_cholesky, tall_qr, tall_triangle


@pytest.mark.parametrize(
    ("n", "d"), [(7, 7), (100, 1), (20_000, 3), (700, 20), (400, 60), (326, 50), (170, 50), (480, 50)]
)
def test_the_factorisation_by_blocks_is_a_factorisation(n, d):
    matrix = np.random.default_rng(82).normal(size=(n, d))
    q, r = tall_qr(matrix)
    np.testing.assert_allclose(q @ r, matrix, rtol=0, atol=1e-13)
    np.testing.assert_allclose(q.T @ q, np.eye(d), rtol=0, atol=1e-13)
    np.testing.assert_array_equal(r, np.triu(r))


@pytest.mark.parametrize(("n", "d"), [(2, 5), (100, 1), (20_000, 3), (480, 50)])
def test_the_triangle_alone_is_that_of_the_factorisation(n, d):
    """Up to the signs of its rows."""
    matrix = np.random.default_rng(84).normal(size=(n, d))
    triangle = tall_triangle(matrix)
    assert triangle.shape == (min(n, d), d)
    np.testing.assert_allclose(triangle.T @ triangle, matrix.T @ matrix, rtol=0, atol=1e-13 * n)


@pytest.mark.parametrize(("n", "d"), [(300, 1), (1000, 9), (3001, 50)])
def test_factors_by_cholesky_are_as_good_as_others(n: int, d: int) -> None:
    columns = np.random.default_rng(7).lognormal(size=(n, d))
    columns /= np.sqrt((columns**2).sum(axis=0))
    found = _qr_by_cholesky(columns)
    assert found is not None
    for orthonormal, triangle in (found, tall_qr(columns)):
        np.testing.assert_allclose(orthonormal @ triangle, columns, rtol=0, atol=2 * d * np.finfo(float).eps)
        np.testing.assert_allclose(orthonormal.T @ orthonormal, np.eye(d), rtol=0, atol=1e-14)
        np.testing.assert_array_equal(triangle, np.triu(triangle))


def test_nearly_dependent_columns_are_not_factorised_by_cholesky() -> None:
    columns = np.random.default_rng(8).normal(size=(1000, 3)) / np.sqrt(1000)
    columns[:, 2] = columns[:, 0] + 0.01 * columns[:, 2]
    assert _qr_by_cholesky(columns) is None


@pytest.mark.parametrize("d", [1, 20, 95])
def test_coefficients_and_the_inverse_solve_the_triangle(d):
    factor = QRFactors.of(np.random.default_rng(85).normal(size=(200, d)))
    rotated = np.arange(1.0, d + 1)
    np.testing.assert_allclose(factor.triangle @ (factor.scales * factor.coefficients(rotated)), rotated, rtol=1e-12)
    np.testing.assert_allclose(factor.triangle @ factor.inverse_triangle, np.eye(d), rtol=0, atol=1e-12)


def test_scales_of_a_factorisation_do_not_overflow():
    factor = QRFactors.of(np.array([[1e200, 1e-200], [1e200, 0.0], [0.0, 0.0]]))
    np.testing.assert_allclose(factor.scales, [np.sqrt(2) * 1e200, 1e-200])
