from __future__ import annotations

import numpy as np
import pytest

from orthoboot.errors import FitError
from orthoboot.optimisation.newton import newton_minimum

RNG = np.random.default_rng(20)
ROOT = RNG.normal(size=(3, 3))
MATRIX = ROOT @ ROOT.T + np.eye(3)
CENTRE = np.array([1.0, -2.0, 3.0])


def quadratic(x):
    return float((x - CENTRE) @ MATRIX @ (x - CENTRE) / 2)


def quadratic_step(x, gradient):
    return -np.linalg.solve(MATRIX, gradient)


def rosenbrock(x):
    return float(100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2)


def rosenbrock_gradient(x):
    return np.array([-400 * x[0] * (x[1] - x[0] ** 2) - 2 * (1 - x[0]), 200 * (x[1] - x[0] ** 2)])


def rosenbrock_step(x, gradient):
    hessian = np.array([[1200 * x[0] ** 2 - 400 * x[1] + 2, -400 * x[0]], [-400 * x[0], 200.0]])
    eigenvalues, vectors = np.linalg.eigh(hessian)
    return -vectors @ ((vectors.T @ gradient) / np.abs(eigenvalues))


def test_a_minimum_of_zero_is_reached_although_no_value_is_left_to_compare_with():
    # The gradient is never exactly zero, as if it were rounding of larger numbers.
    target = np.array([1.0, -2.0])
    found = newton_minimum(
        lambda x: float(np.sum((x - target) ** 2)),
        lambda x: 2 * (x - target) + 3e-16,
        lambda x, gradient: -gradient / 2,
        np.array([5.0, 5.0]),
        tolerance=0.0,
    )
    assert found.converged
    assert found.iterations < 10
    np.testing.assert_allclose(found.point, target, rtol=1e-15)


def test_one_step_ends_a_quadratic_function():
    found = newton_minimum(quadratic, lambda x: MATRIX @ (x - CENTRE), quadratic_step, np.zeros(3), tolerance=1e-20)
    np.testing.assert_allclose(found.point, CENTRE, rtol=1e-14)
    assert found.converged
    assert found.iterations <= 2


def test_a_curved_valley_is_followed_to_its_end():
    found = newton_minimum(rosenbrock, rosenbrock_gradient, rosenbrock_step, np.array([-1.2, 1.0]), tolerance=1e-24)
    np.testing.assert_allclose(found.point, [1.0, 1.0], rtol=1e-12)
    assert found.converged


def test_whole_steps_that_overshoot_are_shortened():
    """Newton's own step for log(cosh) diverges from beyond 1.09."""
    path = []

    def value(x):
        path.append(float(x[0]))
        return float(np.logaddexp(x, -x)[0])

    found = newton_minimum(value, np.tanh, lambda x, g: -g * np.cosh(x) ** 2, np.array([3.0]), tolerance=1e-20)
    assert found.converged
    assert abs(found.point[0]) < 1e-14
    assert min(path) < -50


def test_points_where_the_function_is_not_defined_are_avoided():
    """x - log(x) has its minimum at 1; from 3 the whole Newton step leads to -3."""
    with np.errstate(invalid="ignore"):
        found = newton_minimum(
            lambda x: float((x - np.log(x))[0]),
            lambda x: 1 - 1 / x,
            lambda x, gradient: -gradient * x**2,
            np.array([3.0]),
            tolerance=1e-24,
        )
    assert found.converged
    np.testing.assert_allclose(found.point, 1.0, rtol=1e-14)


def test_a_large_constant_in_the_value_costs_no_digits():
    """From 1e12 on the value cannot see what the last steps gain; the gradient can."""
    found = newton_minimum(
        lambda x: 1e12 + float(np.cosh(x - 1)[0]),
        lambda x: np.sinh(x - 1),
        lambda x, gradient: -gradient / np.cosh(x - 1),
        np.array([1.9]),
        tolerance=1e-28,
    )
    assert found.converged
    np.testing.assert_allclose(found.point, 1.0, rtol=1e-14)


def test_zero_tolerance_stops_at_rounding():
    found = newton_minimum(
        lambda x: 1 + quadratic(x), lambda x: MATRIX @ (x - CENTRE), quadratic_step, np.zeros(3), tolerance=0.0
    )
    assert found.converged
    assert found.iterations < 20
    np.testing.assert_allclose(found.point, CENTRE, rtol=1e-14)


def test_a_gradient_that_is_noise_ends_the_search():
    """The last bits of the gradient never vanish here, and never tell where to go."""

    def noisy_gradient(x):
        return MATRIX @ (x - CENTRE) + 1e-10 * np.where(np.cos(1e12 * x) > 0, 1.0, -1.0)

    found = newton_minimum(lambda x: 1 + quadratic(x), noisy_gradient, quadratic_step, np.zeros(3), tolerance=0.0)
    assert found.converged
    assert found.decrement > 0
    np.testing.assert_allclose(found.point, CENTRE, rtol=1e-9)


def test_a_last_step_that_is_too_long_is_not_taken():
    found = newton_minimum(
        lambda x: 1 + float(x @ x), lambda x: 2 * x, lambda x, g: -np.ones(1), np.array([1e-9]), tolerance=1e-8
    )
    assert found.converged
    assert found.point == [1e-9]


def test_a_function_without_a_minimum_does_not_converge():
    found = newton_minimum(
        lambda x: float(np.exp(-x)[0]),
        lambda x: -np.exp(-x),
        lambda x, gradient: np.ones(1),
        np.zeros(1),
        tolerance=1e-30,
        max_iterations=20,
    )
    assert not found.converged
    assert found.iterations == 20
    assert found.point[0] == 20


def test_a_step_uphill_does_not_count_as_convergence():
    found = newton_minimum(quadratic, lambda x: MATRIX @ (x - CENTRE), lambda x, g: g, np.zeros(3), tolerance=1e-20)
    assert not found.converged
    np.testing.assert_array_equal(found.point, np.zeros(3))


def test_a_wrong_gradient_does_not_count_as_convergence():
    found = newton_minimum(quadratic, lambda x: -MATRIX @ (x - CENTRE), quadratic_step, np.zeros(3), tolerance=1e-20)
    assert not found.converged


def test_a_start_at_infinity_is_refused():
    with pytest.raises(FitError, match="finite at the start of the search; it is inf"):
        newton_minimum(lambda x: np.inf, np.sin, quadratic_step, np.zeros(3), tolerance=1e-20)
