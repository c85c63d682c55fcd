from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special

from orthoboot.optimisation.lbfgs import lbfgs_minima
from orthoboot.optimisation.newton import newton_minimum
from orthoboot.solvers import Cholesky, DenseOperator

RNG = np.random.default_rng(20)
ROOT = RNG.normal(size=(6, 6))
MATRIX = ROOT @ ROOT.T + 0.1 * np.eye(6)
CENTRES = RNG.normal(size=(4, 6))


def quadratic(x, problems):
    """Each row by itself, so that its bits do not depend on the others."""
    slopes = np.array([np.sum(MATRIX * row, axis=1) for row in x - CENTRES[problems]])
    return np.sum((x - CENTRES[problems]) * slopes, axis=1) / 2, slopes


def rosenbrock(x, problems):
    lift, rest = x[:, 1:] - x[:, :-1] ** 2, 1 - x[:, :-1]
    gradients = np.zeros_like(x)
    gradients[:, :-1] = -400 * x[:, :-1] * lift - 2 * rest
    gradients[:, 1:] += 200 * lift
    return np.sum(100 * lift**2 + rest**2, axis=1), gradients


def scipy_minimum(function, start, problem):
    def single(x):
        values, gradients = function(x[np.newaxis], np.array([problem]))
        return values[0], gradients[0]

    options = {"ftol": 0.0, "gtol": 1e-10, "maxiter": 5000, "maxfun": 10_000, "maxcor": 20}
    return optimize.minimize(single, start, jac=True, method="L-BFGS-B", options=options)


def assert_equal_bits(found, others, rows):
    for name in ("points", "values", "decrements", "iterations", "converged"):
        np.testing.assert_array_equal(getattr(found, name)[rows], getattr(others, name))


class Logistic:
    """Logistic regression at bootstrap weights, one row of weights for each problem.

    With numpy's own sums, since those of BLAS may depend on where an array lies.
    """

    n, size, n_resamples = 400, 6, 20

    def __init__(self):
        rng = np.random.default_rng(21)
        self.x = rng.normal(size=(self.n, self.size))
        self.y = rng.uniform(size=self.n) < special.expit(self.x @ np.linspace(-1, 1, self.size))
        counts = rng.multinomial(self.n, np.full(self.n, 1 / self.n), size=self.n_resamples)
        self.weights = np.vstack([np.ones(self.n), counts]) / self.n

    def value(self, theta, problem):
        eta = np.sum(self.x * theta, axis=1)
        return float(np.sum(self.weights[problem] * (np.logaddexp(0, eta) - self.y * eta)))

    def gradient(self, theta, problem):
        slopes = self.weights[problem] * (special.expit(np.sum(self.x * theta, axis=1)) - self.y)
        return np.sum(slopes[:, np.newaxis] * self.x, axis=0)

    def hessian(self, theta, problem):
        mean = special.expit(self.x @ theta)
        return self.x.T @ ((self.weights[problem] * mean * (1 - mean))[:, np.newaxis] * self.x)

    def newton(self, problem):
        def step(theta, gradient):
            return -np.linalg.solve(self.hessian(theta, problem), gradient)

        found = newton_minimum(
            lambda theta: self.value(theta, problem),
            lambda theta: self.gradient(theta, problem),
            step,
            np.zeros(self.size),
            tolerance=0.0,
        )
        assert found.converged
        return found.point

    def __call__(self, thetas, problems):
        pairs = list(zip(thetas, problems, strict=True))
        return np.array([self.value(*pair) for pair in pairs]), np.array([self.gradient(*pair) for pair in pairs])


class Network:
    """Least squares with a penalty for a network of one layer of tanh units, at bootstrap weights."""

    n, n_inputs, width, decay, n_resamples = 150, 2, 4, 1e-3, 6
    size = (n_inputs + 2) * width

    def __init__(self):
        rng = np.random.default_rng(22)
        self.x = np.column_stack([rng.normal(size=(self.n, self.n_inputs)), np.ones(self.n)])
        self.y = np.sin(2 * self.x[:, 0]) + self.x[:, 0] * self.x[:, 1] / 2 + 0.1 * rng.normal(size=self.n)
        counts = rng.multinomial(self.n, np.full(self.n, 1 / self.n), size=self.n_resamples)
        self.weights = np.vstack([np.ones(self.n), counts]) / self.n
        self.start = rng.normal(size=self.size)

    def single(self, theta, problem):
        inner, outer = theta[: -self.width].reshape(-1, self.width), theta[-self.width :]
        hidden = np.tanh(self.x @ inner)
        residuals = hidden @ outer - self.y
        weighted = self.weights[problem] * residuals
        inner_gradient = self.x.T @ (weighted[:, np.newaxis] * outer * (1 - hidden**2))
        gradient = np.concatenate([inner_gradient.reshape(-1), hidden.T @ weighted]) + self.decay * theta
        return (weighted @ residuals + self.decay * theta @ theta) / 2, gradient

    def hessian(self, theta, problem, step=1e-5):
        ends = [[self.single(theta + sign * step * unit, problem)[1] for unit in np.eye(self.size)] for sign in (1, -1)]
        hessian = (np.array(ends[0]) - np.array(ends[1])) / (2 * step)
        return (hessian + hessian.T) / 2

    def __call__(self, thetas, problems):
        values, gradients = zip(*map(self.single, thetas, problems), strict=True)
        return np.array(values), np.array(gradients)


@pytest.fixture(scope="module")
def logistic():
    return Logistic()


@pytest.fixture(scope="module")
def network():
    return Network()


def factor_of(hessian):
    return Cholesky().factor(DenseOperator(hessian))


# Where it ends


def test_one_step_with_the_exact_hessian_ends_a_quadratic_function():
    found = lbfgs_minima(quadratic, np.zeros((4, 6)), precondition=factor_of(MATRIX).solve, tolerance=1e-20)
    assert found.converged.all()
    assert (found.iterations <= 2).all()
    np.testing.assert_allclose(found.points, CENTRES, rtol=1e-11)


def test_a_quadratic_function_of_six_variables_needs_few_steps_without_a_hessian():
    found = lbfgs_minima(quadratic, np.zeros((4, 6)), tolerance=1e-20)
    assert found.converged.all()
    assert (found.iterations <= 40).all()
    np.testing.assert_allclose(found.points, CENTRES, atol=1e-8)


@pytest.mark.parametrize("size", [2, 5, 20])
def test_curved_valleys_are_followed_as_fast_as_scipy_does(size):
    start = np.random.default_rng(size).uniform(0, 2, size=(5, size))
    found = lbfgs_minima(rosenbrock, start, tolerance=1e-20)
    theirs = [scipy_minimum(rosenbrock, row, 0) for row in start]
    assert found.converged.all()
    np.testing.assert_allclose(found.points, [result.x for result in theirs], atol=1e-7)
    assert found.iterations.sum() <= 1.3 * sum(result.nit for result in theirs)


def test_bootstrap_refits_of_a_logistic_regression_agree_with_newton_in_few_steps(logistic):
    theta_hat = logistic.newton(0)
    resamples = np.arange(1, 1 + logistic.n_resamples)
    found = lbfgs_minima(
        lambda thetas, problems: logistic(thetas, resamples[problems]),
        np.tile(theta_hat, (logistic.n_resamples, 1)),
        precondition=factor_of(logistic.hessian(theta_hat, 0)).solve,
        tolerance=1e-20,
    )
    assert found.converged.all()
    assert found.iterations.max() <= 12
    np.testing.assert_allclose(found.points, [logistic.newton(b) for b in resamples], atol=1e-8)


def test_refits_of_a_network_end_where_scipy_ends_in_fewer_steps(network):
    fit = lbfgs_minima(network, network.start[np.newaxis], tolerance=1e-18)
    assert fit.converged.all()
    resamples = np.arange(1, 1 + network.n_resamples)
    found = lbfgs_minima(
        lambda thetas, problems: network(thetas, resamples[problems]),
        np.repeat(fit.points, network.n_resamples, axis=0),
        precondition=factor_of(network.hessian(fit.points[0], 0)).solve,
        tolerance=1e-18,
    )
    theirs = [scipy_minimum(network, fit.points[0], b) for b in resamples]
    assert found.converged.all()
    np.testing.assert_allclose(found.values, [result.fun for result in theirs], rtol=1e-10)
    assert found.iterations.sum() <= 0.5 * sum(result.nit for result in theirs)


def test_the_decrement_is_about_twice_what_is_left_to_fall(logistic):
    theta_hat = logistic.newton(0)
    found = lbfgs_minima(
        logistic,
        np.tile(theta_hat, (1 + logistic.n_resamples, 1)),
        precondition=factor_of(logistic.hessian(theta_hat, 0)).solve,
        tolerance=1e-5,
    )
    left = [
        value - logistic.value(logistic.newton(b), b) for b, value in enumerate(found.values) if found.iterations[b] > 0
    ]
    assert len(left) == logistic.n_resamples
    np.testing.assert_allclose(found.decrements[found.iterations > 0] / 2, left, rtol=0.5)


# Hard ground


def test_functions_without_convexity_at_the_start_are_left_downhill():
    """cos(x) + x**2 / 20 curves downwards at the start; the pair of the first step has to be left out."""

    def wave(x, problems):
        return np.sum(np.cos(x) + x**2 / 20, axis=1), -np.sin(x) + x / 10

    found = lbfgs_minima(wave, np.array([[0.1], [-0.3]]), precondition=lambda column: column, tolerance=1e-24)
    assert found.converged.all()
    root = optimize.brentq(lambda x: -np.sin(x) + x / 10, 2, 4, xtol=1e-14)
    np.testing.assert_allclose(np.abs(found.points), root, rtol=1e-11)


@pytest.mark.parametrize(("value", "slope"), [(np.inf, 0.0), (np.nan, np.nan), (-np.inf, 1.0), (0.0, np.nan)])
def test_steps_beyond_a_wall_are_shortened(value, slope):
    """The function has its minimum at 1, and no value below zero; the whole first step from 3 leads to -3."""
    trials = []

    def function(x, problems):
        trials.extend(x[:, 0])
        values = np.where(x > 0, x - np.log(np.abs(x)), value)
        return values[:, 0], np.where(x > 0, 1 - 1 / x, slope)

    found = lbfgs_minima(function, np.array([[3.0], [0.2]]), precondition=lambda column: 9 * column, tolerance=1e-24)
    assert found.converged.all()
    assert min(trials) < 0
    np.testing.assert_allclose(found.points, 1.0, rtol=1e-11)


@pytest.mark.parametrize("precondition", [None, lambda column: column])
@pytest.mark.parametrize("power", [1, 2, 3])
def test_a_function_without_a_lower_bound_does_not_converge_and_does_not_stop_the_others(power, precondition):
    def function(x, problems):
        endless = problems[:, np.newaxis] == 0
        values = np.where(endless, -(x**power), (x - 2) ** 2)
        return values[:, 0], np.where(endless, -power * x ** (power - 1), 2 * (x - 2))

    found = lbfgs_minima(function, np.ones((2, 1)), precondition=precondition, tolerance=1e-20, max_iterations=200)
    assert found.converged.tolist() == [False, True]
    assert found.values[0] < -100
    assert found.points[1] == pytest.approx(2, rel=1e-9)


def test_a_start_at_the_minimum_stays_there():
    start = np.vstack([CENTRES[0], CENTRES[1] + 1])
    found = lbfgs_minima(quadratic, start, tolerance=1e-20)
    assert found.converged.all()
    assert found.iterations[0] == 0
    assert found.decrements[0] == 0
    np.testing.assert_array_equal(found.points[0], start[0])
    np.testing.assert_allclose(found.points[1], CENTRES[1], atol=1e-8)


@pytest.mark.parametrize("precondition", [None, factor_of(MATRIX[:3, :3]).solve])
@pytest.mark.parametrize("slope", [0.0, 1.0, np.nan])
def test_a_start_where_the_function_is_not_finite_stays_there_and_does_not_count_as_convergence(slope, precondition):
    def function(x, problems):
        undefined = problems == 0
        return np.where(undefined, np.inf, np.sum(x**2, axis=1)), np.where(undefined[:, np.newaxis], slope, 2 * x)

    found = lbfgs_minima(function, np.ones((2, 3)), precondition=precondition, tolerance=1e-20)
    assert found.converged.tolist() == [False, True]
    assert np.isnan(found.decrements[0])
    np.testing.assert_array_equal(found.points[0], np.ones(3))


def test_a_preconditioner_that_leads_uphill_does_not_count_as_convergence():
    found = lbfgs_minima(quadratic, np.zeros((4, 6)), precondition=np.negative, tolerance=1e-20)
    assert not found.converged.any()
    np.testing.assert_array_equal(found.points, np.zeros((4, 6)))


def test_a_wrong_gradient_does_not_count_as_convergence():
    def wrong(x, problems):
        values, gradients = quadratic(x, problems)
        return values, -gradients

    found = lbfgs_minima(wrong, np.zeros((4, 6)), tolerance=1e-20)
    assert not found.converged.any()
    assert not found.iterations.any()


def test_a_search_that_finds_no_step_forgets_what_it_learned_and_goes_on():
    """After some steps a wall comes up in one direction, and the next one tried is along the bare gradient."""
    gradients_so_far, asked, refused = [], [], []

    def precondition(column):
        asked.append(column[:, 0])
        return column / 1000

    def function(x, problems):
        values, gradients = rosenbrock(x, problems)
        gradients_so_far.append(gradients[0])
        if len(gradients_so_far) == 11 or (refused and asked[-1] is refused[-1]):
            refused.append(asked[-1])
            return np.full(1, np.inf), gradients
        return values, gradients

    found = lbfgs_minima(function, np.array([[-1.2, 1.0]]), precondition=precondition, tolerance=1e-20)
    assert len(refused) > 1
    refused_at = next(position for position, column in enumerate(asked) if column is refused[0])
    assert any(np.array_equal(asked[refused_at + 1], each) for each in gradients_so_far)
    assert not any(np.array_equal(refused[0], each) for each in gradients_so_far)
    assert found.converged.all()
    np.testing.assert_allclose(found.points, 1.0, atol=1e-8)


def test_the_steps_are_limited():
    found = lbfgs_minima(rosenbrock, np.array([[-1.2, 1.0], [1.0, 1.0]]), tolerance=1e-20, max_iterations=3)
    assert found.converged.tolist() == [False, True]
    assert found.iterations.tolist() == [3, 0]
    values, _ = rosenbrock(found.points, np.arange(2))
    np.testing.assert_array_equal(found.values, values)
    assert found.values[0] < rosenbrock(np.array([[-1.2, 1.0]]), None)[0][0]


# Rounding


def test_zero_tolerance_stops_at_rounding(logistic):
    found = lbfgs_minima(logistic, np.zeros((1, logistic.size)), tolerance=0.0)
    assert found.converged.all()
    assert found.iterations[0] < 100
    np.testing.assert_allclose(found.points[0], logistic.newton(0), rtol=1e-12)


def test_the_gradient_judges_a_step_where_the_value_is_noise():
    """The last digits of the value, 1e-7 beside decrements of 1e-24, go up and down at random."""

    def noisy(x, problems):
        values, gradients = quadratic(x, problems)
        return 1e3 + values + 1e-7 * np.cos(1e12 * x[:, 0]), gradients

    solve = factor_of(MATRIX + np.eye(6)).solve
    found, still = (
        lbfgs_minima(function, np.zeros((4, 6)), precondition=solve, tolerance=1e-24) for function in (noisy, quadratic)
    )
    assert found.converged.all()
    assert (found.iterations <= still.iterations + 10).all()
    np.testing.assert_allclose(found.points, CENTRES, atol=1e-10)


@pytest.mark.parametrize("distance", [1e-7, 1e-9, 1e-11])
def test_a_start_so_near_the_minimum_that_no_value_tells_has_converged(distance):
    """Without a Hessian the first step is of length one, and only the slopes say how far to go back."""

    def raised(x, problems):
        values, gradients = quadratic(x, problems % 4)
        return 0.1 + values, gradients

    starts = np.tile(CENTRES, (50, 1)) + distance * np.random.default_rng(25).normal(size=(200, 6))
    found = lbfgs_minima(raised, starts, tolerance=1e-20)
    assert found.converged.all()
    np.testing.assert_allclose(found.points, np.tile(CENTRES, (50, 1)), atol=1e-8)


# Independence of the batch


def test_the_bits_of_a_search_do_not_depend_on_the_others(logistic):
    theta_hat = logistic.newton(0)
    start = np.tile(theta_hat, (1 + logistic.n_resamples, 1))
    solve = factor_of(logistic.hessian(theta_hat, 0)).solve
    for options in ({"precondition": solve, "tolerance": 1e-20}, {"tolerance": 0.0, "memory": 3}):
        found = lbfgs_minima(logistic, start, **options)
        for rows in ([4], [0, 7, 20], list(range(5, 18))):
            others = lbfgs_minima(lambda x, b, rows=rows: logistic(x, np.array(rows)[b]), start[rows], **options)
            assert_equal_bits(found, others, rows)


def test_the_bits_do_not_depend_on_the_others_where_solving_for_many_columns_rounds_otherwise():
    """As BLAS does for a thousand variables."""

    def precondition(columns):
        return columns * (1 + 1e-15 * columns.shape[1])

    found = lbfgs_minima(quadratic, np.zeros((4, 6)), precondition=precondition, tolerance=1e-20)
    others = lbfgs_minima(
        lambda x, b: quadratic(x, b + 2), np.zeros((1, 6)), precondition=precondition, tolerance=1e-20
    )
    assert_equal_bits(found, others, [2])


def test_long_rows_are_summed_the_same_wherever_they_lie():
    """Beyond 8,192 numbers `einsum` would split the sums of a row by where it lies in the batch."""
    centres = np.random.default_rng(24).normal(size=(3, 9001))

    def function(x, problems):
        shift = x - centres[problems]
        return np.cosh(shift).mean(axis=1), np.sinh(shift) / 9001

    found = lbfgs_minima(function, np.zeros((3, 9001)), tolerance=1e-16)
    assert found.converged.all()
    others = lbfgs_minima(lambda x, b: function(x, b + 2), np.zeros((1, 9001)), tolerance=1e-16)
    assert_equal_bits(found, others, [2])


def test_searches_that_have_ended_are_not_evaluated_again():
    calls = []

    def function(x, problems):
        calls.append(problems.tolist())
        return rosenbrock(x, problems)

    found = lbfgs_minima(function, np.array([[1.0, 1.0], [-1.2, 1.0], [1.1, 1.1]]), tolerance=1e-20)
    assert found.converged.all()
    assert calls[0] == [0, 1, 2]
    assert not any(0 in call for call in calls[1:])
    assert calls[-1] == [int(np.argmax(found.iterations))]


def test_an_empty_batch_has_no_minima():
    found = lbfgs_minima(rosenbrock, np.empty((0, 2)), precondition=lambda column: column, tolerance=1e-20)
    assert found.points.shape == (0, 2)
    assert found.converged.shape == (0,)
