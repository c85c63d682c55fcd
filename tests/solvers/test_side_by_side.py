"""Many small systems at once have the solutions of each of them alone."""

from __future__ import annotations

import numpy as np

from orthoboot.solvers.side_by_side import positive_solutions

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
