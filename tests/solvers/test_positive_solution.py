"""Systems with a small positive definite matrix."""

import numpy as np
import pytest

from orthoboot.solvers.positive_solution import positive_solution


@pytest.mark.parametrize("k", [None, 1, 4])
def test_the_solution_of_a_positive_matrix_is_that_of_numpy(k):
    rng = np.random.default_rng(86)
    rows, right = rng.normal(size=(30, 6)), rng.normal(size=6 if k is None else (6, k))
    found = positive_solution(rows.T @ rows, right, least_condition=1e-10)
    np.testing.assert_allclose(found, np.linalg.solve(rows.T @ rows, right), rtol=1e-12)


@pytest.mark.parametrize("diagonal", [[1.0, 1e-12], [1.0, 0.0], [1.0, -1.0], [1.0, np.nan]])
def test_a_matrix_without_a_solution_has_none(diagonal):
    assert positive_solution(np.diag(diagonal), np.ones(2), least_condition=1e-10) is None
