"""Many small systems at once have the solutions of each of them alone."""

from __future__ import annotations

import numpy as np

from orthoboot.solvers.side_by_side import positive_solutions, solutions

RNG = np.random.default_rng(15)


def test_solutions_are_those_of_numpy_and_nan_where_a_matrix_is_not_positive_definite() -> None:
    roots = RNG.normal(size=(50, 6, 6))
    matrices, right = roots @ roots.transpose(0, 2, 1), RNG.normal(size=(50, 6))
    matrices[7] -= 20 * np.eye(6)
    matrices[8, :, 5] = matrices[8, 5] = matrices[8, 4]
    matrices[8, 5, 5] = matrices[8, 4, 4]
    matrices[9, 2, 2] = np.nan
    found = positive_solutions(matrices, right)
    broken = np.isin(np.arange(50), [7, 8, 9])
    assert np.isnan(found[broken]).all()
    expected = np.linalg.solve(matrices[~broken], right[~broken][..., np.newaxis])[..., 0]
    np.testing.assert_allclose(found[~broken], expected, rtol=1e-8)


def test_general_solutions_are_those_of_numpy_and_nan_where_there_is_none() -> None:
    matrices, right = RNG.normal(size=(8, 4, 4)), RNG.normal(size=(8, 4))
    expected = np.linalg.solve(matrices, right[..., np.newaxis])[..., 0]
    np.testing.assert_allclose(solutions(matrices, right), expected, rtol=1e-12)
    matrices[2, :, 1], matrices[3, 0, 0], right[4, 0] = 0.0, np.nan, np.inf
    broken = np.isin(np.arange(8), [2, 3, 4])
    found = solutions(matrices, right)
    assert np.isnan(found[broken]).all()
    np.testing.assert_allclose(found[~broken], expected[~broken], rtol=1e-12)
