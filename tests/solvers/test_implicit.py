"""The implicit function theorem against solutions in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from tests.registry import SOLVERS

from orthoboot.solvers import LU, DenseOperator, FactoredMatrix, adjoints


def test_the_derivative_of_a_root_is_that_of_its_closed_form():
    # theta = exp(t) solves log(theta) - t = 0; the target theta**2 = exp(2 t) has the derivative 2 exp(2 t).
    t = 0.3
    theta = np.exp(t)
    adjoint = adjoints(LU().factor(DenseOperator([[1 / theta]])), np.array([[2 * theta]]))
    assert -adjoint[0, 0] * -1.0 == pytest.approx(2 * np.exp(2 * t), rel=1e-14)


@pytest.mark.parametrize("row", SOLVERS, ids=lambda row: row.id)
def test_adjoints_and_direct_derivatives_agree(row):
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 5))
    conditions = root @ root.T + np.eye(5)
    if row.general:
        conditions = conditions + np.triu(rng.normal(size=(5, 5)))
    target, towards = rng.normal(size=(2, 5)), rng.normal(size=(5, 7))
    derivative = -np.linalg.solve(conditions + row.solver.damping * np.eye(5), towards)
    adjoint = adjoints(row.solver.factor(DenseOperator(conditions)), target)
    assert adjoint.shape == (2, 5)
    np.testing.assert_allclose(-adjoint @ towards, target @ derivative, rtol=0, atol=1e-9)


def test_there_is_one_solve_for_each_output():
    class Counting(FactoredMatrix):
        solved = 0

        def solve(self, rhs):
            Counting.solved += rhs.shape[1]
            return rhs

    adjoints(Counting(), np.ones((3, 50)))
    assert Counting.solved == 3
