"""What every linear solver promises, for every row of the registry, and what each says when it cannot."""

from __future__ import annotations

import numpy as np
import pytest
from tests import elsewhere
from tests.registry import SOLVERS, SolverRow

from orthoboot.errors import ArgumentError, FitError
from orthoboot.solvers import (
    LU,
    Cholesky,
    ConjugateGradients,
    DenseOperator,
    ProductOperator,
    linear_solver,
)
from orthoboot.typing import FloatArray

P = 12
every_solver = pytest.mark.parametrize("row", SOLVERS, ids=lambda row: row.id)
symmetric_solvers = pytest.mark.parametrize("row", [row for row in SOLVERS if not row.general], ids=lambda row: row.id)
undamped = pytest.mark.parametrize("row", [row for row in SOLVERS if not row.solver.damping], ids=lambda row: row.id)
direct = pytest.mark.parametrize("solver", [Cholesky(), LU()], ids=lambda solver: solver.name)


def positive(rng: np.random.Generator) -> FloatArray:
    """A symmetric matrix with eigenvalues from 1 to 10, so that errors are at most ten times residuals."""
    basis = np.linalg.qr(rng.normal(size=(P, P)))[0]
    return basis @ np.diag(np.linspace(1.0, 10.0, P)) @ basis.T


def damped(row: SolverRow, matrix: FloatArray) -> FloatArray:
    return matrix + row.solver.damping * np.eye(len(matrix))


@every_solver
@pytest.mark.parametrize("shape", [(P,), (P, 3), (P, 1)])
def test_the_solution_solves_the_damped_system(row, shape):
    rng = np.random.default_rng(0)
    matrix, rhs = positive(rng), rng.normal(size=shape)
    solution = row.solver.factor(DenseOperator(matrix)).solve(rhs)
    assert solution.shape == shape
    np.testing.assert_allclose(solution, np.linalg.solve(damped(row, matrix), rhs), rtol=0, atol=1e-10)


@every_solver
def test_threads_may_solve_with_the_same_factors_at_once(row):
    rng = np.random.default_rng(9)
    factor, rhs = row.solver.factor(DenseOperator(positive(rng))), rng.normal(size=(P, 3))
    expected = factor.solve(rhs)
    for solutions in elsewhere.in_threads(lambda number: [factor.solve(rhs) for _ in range(50)]):
        np.testing.assert_allclose(solutions, np.stack([expected] * 50), rtol=0, atol=1e-12)


@every_solver
def test_a_matrix_known_by_products_gives_the_same(row):
    rng = np.random.default_rng(1)
    matrix, rhs = positive(rng), rng.normal(size=P)
    by_products = row.solver.factor(ProductOperator(lambda vector: matrix @ vector, P))
    by_numbers = row.solver.factor(DenseOperator(matrix))
    np.testing.assert_allclose(by_products.solve(rhs), by_numbers.solve(rhs), rtol=0, atol=1e-12)


@every_solver
def test_the_transposed_system_is_solved(row):
    rng = np.random.default_rng(2)
    matrix, rhs = positive(rng), rng.normal(size=(P, 2))
    if row.general:
        matrix = matrix + np.triu(rng.normal(size=(P, P)))
    solution = row.solver.factor(DenseOperator(matrix)).solve_transposed(rhs)
    np.testing.assert_allclose(solution, np.linalg.solve(damped(row, matrix).T, rhs), rtol=0, atol=1e-9)


@every_solver
def test_nothing_on_the_right_gives_nothing(row):
    factor = row.solver.factor(DenseOperator(positive(np.random.default_rng(3))))
    np.testing.assert_array_equal(factor.solve(np.zeros(P)), np.zeros(P))


@direct
def test_the_units_of_the_unknowns_do_not_matter(solver):
    rng = np.random.default_rng(4)
    matrix, truth = positive(rng), rng.normal(size=P)
    units = np.logspace(-8, 8, P)
    scaled = matrix * units * units[:, np.newaxis]
    solution = solver.factor(DenseOperator(scaled)).solve(scaled @ (truth / units))
    np.testing.assert_allclose(solution * units, truth, rtol=0, atol=1e-9)


@undamped
def test_a_singular_matrix_is_refused_with_the_parameters_to_blame(row):
    rng = np.random.default_rng(5)
    columns = rng.normal(size=(40, 4))
    columns[:, 3] = 2 * columns[:, 1]
    operator = DenseOperator(columns.T @ columns / 40, names=("a", "b", "c", "d"))
    # The right-hand side is outside the range, or conjugate gradients would give the shortest solution.
    with pytest.raises(FitError, match=r"the Hessian is singular.* along 0\.89 b - 0\.45 d,.*collinear.*penalty"):
        row.solver.factor(operator).solve(np.array([0.0, 2.0, 0.0, -1.0]))


@undamped
def test_an_unknown_that_does_not_enter_is_named(row):
    operator = DenseOperator(np.diag([1.0, 0.0, 2.0]))
    with pytest.raises(FitError, match=r"singular: its smallest eigenvalue is 0 of its largest, along theta\[1\],"):
        row.solver.factor(operator).solve(np.array([0.0, 1.0, 0.0]))


@symmetric_solvers
def test_an_indefinite_matrix_is_no_minimum(row):
    operator = DenseOperator(np.diag([1.0, 2.0, -3.0]))
    with pytest.raises(FitError, match=r"indefinite: .* along theta\[2\],.*no minimum.*init"):
        row.solver.factor(operator).solve(np.array([0.0, 0.0, 1.0]))


def test_lu_solves_an_indefinite_system():
    solution = LU().factor(DenseOperator(np.diag([1.0, -4.0]))).solve(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(solution, [1.0, -0.5])


def test_damping_makes_a_singular_system_solvable():
    flat = DenseOperator(np.diag([1.0, 0.0]))
    for solver in (Cholesky(damping=0.25), LU(damping=0.25), ConjugateGradients(damping=0.25)):
        np.testing.assert_allclose(solver.factor(flat).solve(np.array([5.0, 1.0])), [4.0, 4.0], rtol=1e-9)


@direct
def test_a_matrix_of_zeros_is_singular(solver):
    with pytest.raises(FitError, match="without curvature"):
        solver.factor(DenseOperator(np.zeros((1, 1))))


@direct
def test_a_matrix_that_is_not_finite_says_where(solver):
    with pytest.raises(FitError, match=r"not finite at \(theta\[0\], theta\[1\]\)"):
        solver.factor(DenseOperator(np.array([[1.0, np.nan], [np.nan, 1.0]])))


def test_conjugate_gradients_say_how_far_they_got():
    operator = DenseOperator(np.diag(np.logspace(0, 6, P)))
    with pytest.raises(FitError, match=r"after 3 iterations .* residual is .* `tolerance` is 1e-10.*damping"):
        ConjugateGradients(max_iterations=3).factor(operator).solve(np.ones(P))


def test_conjugate_gradients_need_no_more_products_than_unknowns():
    matrix, calls = positive(np.random.default_rng(6)), []

    def product(vector: FloatArray) -> FloatArray:
        calls.append(vector)
        return matrix @ vector

    ConjugateGradients().factor(ProductOperator(product, P)).solve(np.ones(P))
    assert len(calls) <= P


def test_solvers_are_found_by_name_or_are_given():
    given = ConjugateGradients(damping=1e-3)
    assert linear_solver(given) is given
    assert linear_solver("lu") == LU()
    with pytest.raises(ArgumentError, match="`solver` must be one of 'cholesky', 'lu', 'cg'; got 'choleski'. Did you"):
        linear_solver("choleski")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"damping": -1.0}, "`damping` must be a finite number not below 0; got -1.0"),
        ({"damping": "small"}, "`damping`"),
        ({"damping": np.nan}, "`damping`"),
        ({"tolerance": 0.0}, r"`tolerance` must lie in \(0, 1\)"),
        ({"max_iterations": 0}, "`max_iterations` must be a whole number of at least 1"),
    ],
)
def test_options_keep_their_rules(options, message):
    with pytest.raises(ArgumentError, match=message):
        ConjugateGradients(**options)
