"""Constrained optima: their values, their influence functions, and what is said where they do not exist."""

from __future__ import annotations

import importlib.util
import pathlib
import pickle
import re
import warnings

import numpy as np
import pytest
from tests import elsewhere
from tests.written_functions import beyond_the_ball, off_the_plane, squared_distance

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import (
    ArgumentError,
    DataError,
    FailedReplicatesWarning,
    FitError,
    FitWarning,
    MissingDependencyError,
    OrthobootWarning,
    StatisticError,
)
from orthoboot.optimisation.constrained_search import METHODS
from orthoboot.optimisation.kkt_factor import kkt_factor

pytestmark = pytest.mark.usefixtures("jax")

ROWS = np.random.default_rng(1).normal([2.0, 0.3, -2.0], 1.0, size=(15, 3))
MEAN = ROWS.mean(axis=0)


def nearest(**options):
    return ob.minimize(squared_distance, 3, **{"library": "jax", **options})


def influence(functional, rows):
    return functional.prepared(read(rows)).influence()[0]


def slopes_towards_rows(functional, rows, distance=1e-5):
    """Central differences of the statistic as the weights move towards each row."""
    n, prepared = len(rows), functional.prepared(read(rows))
    ahead, behind = (
        prepared.values(Resamples(((1 - d) * np.ones((n, n)) + d * n * np.eye(n),))) for d in (distance, -distance)
    )
    return (ahead - behind) / (2 * distance)


def assert_is_the_derivative(functional, rows):
    slopes = slopes_towards_rows(functional, rows)
    # Central differences err by distance**2 = 1e-10 in curvature and eps / distance = 2e-11 in rounding.
    np.testing.assert_allclose(influence(functional, rows), slopes, rtol=0, atol=1e-7 * np.abs(slopes).max())


# The paper's problem, ``appendix: constrained optimization``


class PaperProblem:
    """min x'Bx subject to Ax = b, b the mean of ten rows: d = 100 equations in p = 200 variables."""

    def __init__(self):
        rng = np.random.default_rng(2024)
        d, p, n = 100, 200, 10
        self.A = rng.standard_normal((d, p))
        factor = rng.standard_normal((p, p))
        self.B = factor @ factor.T / p + np.eye(p)
        direction = rng.standard_normal(d)
        self.rows = direction / np.linalg.norm(direction) + rng.standard_normal((n, d))
        self.mean, self.deviations = self.rows.mean(axis=0), self.rows - self.rows.mean(axis=0)
        toward = np.linalg.solve(self.B, self.A.T)
        self.value_matrix = np.linalg.inv(self.A @ toward)
        self.solution_matrix = toward @ self.value_matrix
        self.functional = ob.minimize(
            lambda x, xi: x @ self.B @ x, p, equality=lambda x, xi: self.A @ x - xi, output="both", library="jax"
        )


@pytest.fixture(scope="module")
def paper(jax):
    return PaperProblem()


def test_the_paper_s_problem_has_its_explicit_solution(paper):
    found = paper.functional(paper.rows)
    solution, value = paper.solution_matrix @ paper.mean, paper.mean @ paper.value_matrix @ paper.mean
    np.testing.assert_allclose(found["solution"], solution, rtol=0, atol=1e-12 * np.abs(solution).max())
    assert found["value"] == pytest.approx(value, rel=1e-12)


def test_the_kkt_route_gives_the_influence_of_the_paper_s_explicit_solution(paper):
    found = influence(paper.functional, paper.rows)
    of_solution = paper.deviations @ paper.solution_matrix.T
    of_value = 2 * paper.deviations @ paper.value_matrix @ paper.mean
    np.testing.assert_allclose(found[:, :-1], of_solution, rtol=0, atol=1e-8 * np.abs(of_solution).max())
    np.testing.assert_allclose(found[:, -1], of_value, rtol=0, atol=1e-8 * np.abs(of_value).max())


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_the_bias_of_the_paper_s_value_is_the_trace_that_is_known(paper):
    covariance = paper.deviations.T @ paper.deviations / len(paper.rows) ** 2
    exact = np.trace(paper.value_matrix @ covariance)
    value = paper.functional.replace(output="value")
    assert ob.bootstrap(paper.rows, value, estimator="jackknife").bias == pytest.approx(exact, rel=1e-10)
    simulated = ob.bootstrap(paper.rows, value, n_resamples=200, estimator="paper", rng=3)
    # Four simulation errors: 1 in 16,000 seeds.
    assert abs(simulated.bias - exact) < 4 * simulated.simulation_error.bias
    assert simulated.simulation_error.bias < 0.1 * exact
    assert simulated.debiased == pytest.approx(simulated.estimate - simulated.bias)


def test_the_solution_of_the_paper_s_problem_is_linear_in_the_mean(paper):
    """So it has no bias: see `docs/errata.md`."""
    weights = np.random.default_rng(4).multinomial(10, np.full(10, 0.1), size=3).astype(float)
    values = paper.functional.replace(output="solution").prepared(read(paper.rows)).values(Resamples((weights,)))
    linear = weights @ paper.rows / 10 @ paper.solution_matrix.T
    np.testing.assert_allclose(values, linear, rtol=0, atol=1e-12 * np.abs(linear).max())


# Inequalities


def moments(returns):
    return np.hstack([returns, (returns[:, :, np.newaxis] * returns[:, np.newaxis]).reshape(len(returns), -1)])


def portfolio(n_assets):
    """The best mean less variance of a portfolio that is fully invested, without short sales."""

    def loss(x, xi):
        mean, second = xi[:n_assets], xi[n_assets:].reshape(n_assets, n_assets)
        return x @ second @ x / 2 - (mean @ x) ** 2 / 2 - mean @ x / 10

    return ob.minimize(
        loss,
        np.full(n_assets, 1 / n_assets),
        equality=lambda x, xi: x.sum() - 1,
        inequality=lambda x, xi: -x,
        parameters=moments,
        output="both",
        library="jax",
    )


RETURNS = np.random.default_rng(3).normal(np.linspace(0.05, 0.3, 5), 0.2, size=(40, 5))
PORTFOLIO = portfolio(5)


def test_a_portfolio_without_short_sales_leaves_assets_out_and_keeps_the_budget():
    found = PORTFOLIO(RETURNS)
    assert 0 < np.sum(found["solution"] == 0) < 4
    assert np.all(found["solution"] >= 0)
    assert found["solution"].sum() == pytest.approx(1, abs=1e-14)
    assert found["value"] < PORTFOLIO.objective(np.full(5, 0.2), moments(RETURNS).mean(axis=0))


def test_the_influence_of_a_portfolio_is_its_derivative():
    assert_is_the_derivative(PORTFOLIO, RETURNS)


def test_what_a_bound_holds_has_no_influence_at_all():
    found = PORTFOLIO(RETURNS)["solution"]
    assert np.all(influence(PORTFOLIO, RETURNS)[:, :-1][:, found == 0] == 0)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_the_same_portfolio(method):
    found, other = PORTFOLIO.replace(method=method)(RETURNS), PORTFOLIO(RETURNS)
    np.testing.assert_allclose(found["solution"], other["solution"], rtol=0, atol=1e-13)


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1.0, 1e8])
@pytest.mark.parametrize("start", [0.0, 50.0])
def test_the_nearest_point_of_a_box_is_clipped_on_every_scale(scale, start):
    box = ob.minimize(
        squared_distance, [start * scale] * 3, inequality=lambda x, xi: [x - scale, -scale - x], library="jax"
    )
    np.testing.assert_allclose(box(ROWS * scale), np.clip(MEAN, -1, 1) * scale, rtol=1e-14, atol=0)
    expected = (ROWS - MEAN) * scale * (np.abs(MEAN) < 1)
    np.testing.assert_allclose(influence(box, ROWS * scale), expected, rtol=0, atol=1e-13 * scale)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_the_units_of_the_objective_do_not_matter(scale):
    def loss(x, xi):
        return scale * squared_distance(x, xi)

    scaled = ob.minimize(loss, 3, equality=lambda x, xi: x.sum() - 1, inequality=lambda x, xi: -x, library="jax")
    plain = nearest(equality=lambda x, xi: x.sum() - 1, inequality=lambda x, xi: -x)
    np.testing.assert_allclose(scaled(ROWS), plain(ROWS), rtol=1e-13, atol=0)
    np.testing.assert_allclose(influence(scaled, ROWS), influence(plain, ROWS), rtol=0, atol=1e-12)


def test_every_variable_may_have_its_own_units():
    units = np.array([1e8, 1.0, 1e-8])

    def loss(x, xi):
        return ((x / units - xi) ** 2).sum() + (x / units - xi)[0] ** 4

    scaled = ob.minimize(loss, 3, inequality=lambda x, xi: [x - units, -units - x], library="jax")
    np.testing.assert_allclose(scaled(ROWS), np.clip(MEAN, -1, 1) * units, rtol=1e-14, atol=0)
    free = ob.minimize(loss, 3, library="jax")
    np.testing.assert_allclose(free(ROWS), MEAN * units, rtol=1e-14, atol=0)
    np.testing.assert_allclose(influence(free, ROWS) / units, ROWS - MEAN, rtol=0, atol=1e-13)


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_the_nearest_point_of_a_ball_has_its_closed_form(library, torch):
    ball = nearest(inequality=lambda x, xi: (x**2).sum() - 1, output="both", library=library)
    length = np.linalg.norm(MEAN)
    unit = MEAN / length
    found = ball(ROWS)
    np.testing.assert_allclose(found["solution"], unit, rtol=1e-14)
    assert found["value"] == pytest.approx((length - 1) ** 2, rel=1e-14)
    deviations = ROWS - MEAN
    tangential = (deviations - np.outer(deviations @ unit, unit)) / length
    expected = np.column_stack([tangential, 2 * (length - 1) * deviations @ unit])
    np.testing.assert_allclose(influence(ball, ROWS), expected, rtol=0, atol=1e-12)


def test_the_vertex_of_a_linear_programme_moves_with_its_constraints():
    A = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 3.0]])
    cost = np.array([-1.0, -2.0, -3.0])
    programme = ob.minimize(
        lambda x, xi: (x * cost).sum(), 3, inequality=lambda x, xi: [A @ x - xi, -x], output="both", library="jax"
    )
    rows = ROWS + np.array([2, 4, 11])
    inverse = np.linalg.inv(A)
    np.testing.assert_allclose(programme(rows)["solution"], inverse @ rows.mean(axis=0), rtol=1e-13)
    expected = (ROWS - MEAN) @ np.column_stack([inverse.T, inverse.T @ cost])
    np.testing.assert_allclose(influence(programme, rows), expected, rtol=0, atol=1e-13)


def test_a_curved_objective_under_a_curved_constraint():
    banana = ob.minimize(
        lambda x, xi: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2 + x[0] * xi[0] / 10,
        [-1.2, 1.0],
        inequality=lambda x, xi: (x**2).sum() - 1 + xi[1] / 10,
        output="both",
        library="jax",
    )
    assert abs(np.sum(banana(ROWS)["solution"] ** 2) - 1 + MEAN[1] / 10) < 1e-14
    assert_is_the_derivative(banana, ROWS)


def test_the_curvature_of_the_value_is_that_of_its_differences(iid_covariance):
    """The closed form for the value alone, and fourth-order differences for both outputs."""
    value, both = (
        PORTFOLIO.replace(output=output).prepared(read(RETURNS)).second_order_bias(iid_covariance) for output in OUTPUTS
    )
    assert value[0] == pytest.approx(both[-1], rel=1e-6)


OUTPUTS = ("value", "both")


# Resamples


def test_a_resample_on_which_other_constraints_bind_is_solved_as_if_alone():
    weights = np.random.default_rng(5).multinomial(40, np.full(40, 1 / 40), size=40).astype(float)
    values = PORTFOLIO.prepared(read(RETURNS)).values(Resamples((weights,)))
    held = {tuple(np.flatnonzero(value == 0)) for value in values}
    assert len(held) > 1
    for value, counts in zip(values, weights, strict=True):
        alone = PORTFOLIO(np.repeat(RETURNS, counts.astype(int), axis=0))
        np.testing.assert_allclose(value, [*alone["solution"], alone["value"]], rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_the_value_s_standard_error_and_bias_are_those_of_the_standard_bootstrap():
    value = PORTFOLIO.replace(output="value")
    ours = ob.bootstrap(RETURNS, value, n_resamples=40, rng=1)
    standard = ob.bootstrap(RETURNS, value, estimator="standard", n_resamples=600, rng=2)
    for name in ("standard_error", "bias"):
        difference = getattr(ours, name) - getattr(standard, name)
        errors = [getattr(result.simulation_error, name) for result in (ours, standard)]
        # Four simulation errors: 1 in 16,000 seeds.
        assert abs(difference) < 4 * np.hypot(*errors)
    assert ours.influence_source == "derivative of the KKT conditions of `minimize`"


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_the_batch_does_not_matter():
    runs = [ob.bootstrap(RETURNS, PORTFOLIO, n_resamples=7, batch=batch, rng=1) for batch in (1, 3, 7)]
    for run in runs[1:]:
        for part in ("solution", "value"):
            np.testing.assert_array_equal(run.bootstrap_distribution[part], runs[0].bootstrap_distribution[part])


def test_a_curvature_that_turns_with_the_resample_is_seen_though_the_solution_stays():
    rows = np.random.default_rng(0).normal(0.2, 1.0, size=(40, 1))
    bowl = ob.minimize(
        lambda x, xi: (xi * x**2).sum() / 2, [0.1], inequality=lambda x, xi: x - 1, output="value", library="jax"
    )
    with pytest.warns(OrthobootWarning):
        result = ob.bootstrap(rows, bowl, estimator="standard", n_resamples=300, rng=0)
    resamples = result.run.resamples(range(300))
    # Where the mean of the resample is negative, x = 0 is a maximum of xi x^2 and no minimum.
    assert result.n_failed == np.sum(resamples.weights[0] @ rows[:, 0] < 0) > 0


def test_a_system_that_is_the_same_for_all_resamples_is_known_to_be(paper):
    assert paper.functional.prepared(read(paper.rows)).solved._start.system.constant
    curved = ob.minimize(lambda x, xi: ((x - xi) ** 4).sum() + (x**2).sum(), 1, library="jax")
    assert not curved.prepared(read(np.array([[1.0], [2.0]]))).solved._start.system.constant


def test_a_resample_without_a_feasible_point_is_a_failed_replicate():
    """x lies between the share of ones and 0.3; a resample with a larger share has no such x."""
    rows = np.repeat([0.0, 1.0], [15, 5])
    squeezed = ob.minimize(
        lambda x, xi: (x**2).sum(), 1, inequality=lambda x, xi: [xi - x, x - 0.3], output="value", library="jax"
    )
    with pytest.warns(OrthobootWarning) as caught:
        result = ob.bootstrap(rows, squeezed, n_resamples=20, rng=0)
    assert 0 < result.n_failed < 10
    failed = [str(warning.message) for warning in caught if warning.category is FailedReplicatesWarning]
    assert "FitError: the constraints cannot all be satisfied" in failed[0]


def test_a_resample_on_which_the_objective_has_no_value_is_a_failed_replicate():
    import jax.numpy as jnp

    rows = np.repeat([-1.0, 1.0], [8, 12])
    rooted = ob.minimize(lambda x, xi: ((x - jnp.sqrt(xi)) ** 2).sum(), 1)
    with pytest.warns(OrthobootWarning) as caught:
        result = ob.bootstrap(rows, rooted, n_resamples=30, rng=0)
    assert 0 < result.n_failed < 15
    failed = [str(warning.message) for warning in caught if warning.category is FailedReplicatesWarning]
    assert "FitError: the functions or their slopes are not finite at x = " in failed[0]


# In other processes and threads


def counts(n_resamples):
    return Resamples((np.random.default_rng(6).multinomial(15, np.full(15, 1 / 15), size=n_resamples).astype(float),))


def test_an_optimum_is_pickled_without_what_is_compiled():
    prepared = written("jax")[0].prepared(read(ROWS))
    prepared.values(counts(1))
    solved = pickle.loads(pickle.dumps(prepared)).solved
    assert "programs" not in vars(solved.problem.lagrangian)
    assert "factor" in vars(solved.optimum.system)
    assert solved.optimum.system.problem.lagrangian is solved.problem.lagrangian


def written(library):
    return [
        ob.minimize(squared_distance, 3, inequality=beyond_the_ball, output="both", library=library),
        ob.minimize(squared_distance, 3, equality=off_the_plane, inequality=beyond_the_ball, library=library),
    ]


def test_an_optimum_goes_on_in_a_fresh_process_and_functions_without_a_name_go_along(torch, tmp_path):
    named = [statistic.prepared(read(ROWS)) for library in ("jax", "torch") for statistic in written(library)]
    unnamed = [PORTFOLIO.prepared(read(RETURNS[:15]))]
    elsewhere.check_in_fresh_process(named, counts(3), tmp_path, unnamed=unnamed)


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_threads_give_what_one_gives(library, torch):
    for statistic in written(library):
        elsewhere.check_in_threads(lambda statistic=statistic: statistic.prepared(read(ROWS)), counts(3))


# Names and options


def test_variables_give_the_outputs_their_names():
    def found(functional, rows):
        return functional.prepared(read(rows)).output.names

    assert found(nearest(), ROWS) == ("minimize[0]", "minimize[1]", "minimize[2]")
    assert found(nearest(output="value", name="distance"), ROWS) == ("distance",)
    named = PORTFOLIO.replace(variables=tuple(f"asset {letter}" for letter in "abcde"))
    assert found(named.replace(output="solution"), RETURNS) == named.variables
    assert found(named, RETURNS) == (*(f"solution[{name}]" for name in named.variables), "value")


def test_the_start_may_be_a_function_of_the_parameter():
    np.testing.assert_allclose(ob.minimize(squared_distance, lambda xi: 2 * xi, library="jax")(ROWS), MEAN, rtol=1e-14)


def test_paired_arrays_are_columns_of_the_parameter():
    found = ob.minimize(squared_distance, 3, library="jax")(ROWS[:, :2], ROWS[:, 2])
    np.testing.assert_allclose(found, MEAN, rtol=1e-14)


def test_two_rows_are_enough():
    np.testing.assert_allclose(nearest()(ROWS[:2]), ROWS[:2].mean(axis=0), rtol=1e-14)


def test_a_bound_on_a_variable_is_solved_exactly():
    matrix = np.array([[2.0, 1.0, 1.0, 3.0], [1.0, 5.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0], [3.0, 0.0, 0.0, 0.0]])
    factor = kkt_factor(matrix, ("a", "b", "c", "d"), 2)
    for rhs in (np.arange(1.0, 5.0), np.arange(8.0).reshape(4, 2)):
        solution = factor.solve(rhs)
        np.testing.assert_allclose(matrix @ solution, rhs, rtol=0, atol=1e-14 * np.abs(rhs).max())
        np.testing.assert_array_equal(solution[0], rhs[3] / 3)


# Doubts


def findings(functional, rows=ROWS):
    found = functional.prepared(read(rows)).findings()
    assert all(isinstance(warning, FitWarning) for warning in found)
    return [str(warning) for warning in found]


def test_a_regular_optimum_gives_no_warning():
    assert findings(nearest(inequality=lambda x, xi: [x - 1, -1 - x])) == []


def test_an_inequality_that_binds_by_chance_is_named():
    touching = nearest(inequality=lambda x, xi: [x[0] - 100, x[0] - MEAN[0]])
    (text,) = findings(touching)
    assert text.startswith("inequality[1] bind(s) with a multiplier of zero: strict complementarity fails")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ob.bootstrap(ROWS, touching, rng=0)
    assert text in [str(warning.message) for warning in caught]


@pytest.mark.parametrize(
    ("constraints", "dependent", "others"),
    [
        ({"equality": lambda x, xi: [x[0] + x[1] - 1, 2 * x[0] + 2 * x[1] - 2]}, "equality[1]", "equality[0]"),
        ({"inequality": lambda x, xi: [x[1] - 9, x[0] - 1, 2 * x[0] - 2]}, "inequality[", "inequality["),
    ],
)
def test_dependent_constraints_are_named_and_do_no_harm(constraints, dependent, others):
    functional = nearest(**constraints)
    (text,) = findings(functional)
    assert "gradients of the binding constraints are dependent: " + dependent in text
    assert f"the others ({others}" in text
    assert_is_the_derivative(functional, ROWS)


def test_a_vertex_with_a_constraint_too_many_is_solved():
    vertex = ob.minimize(
        lambda x, xi: x.sum(), 2, inequality=lambda x, xi: [xi[:2] - x, xi[0] + xi[1] - x.sum()], library="jax"
    )
    np.testing.assert_allclose(vertex(ROWS), MEAN[:2], rtol=1e-13)
    assert any("dependent" in text for text in findings(vertex))
    assert_is_the_derivative(vertex, ROWS)


def test_the_example_of_the_guide_runs(capsys):
    guide = (pathlib.Path(__file__).parents[3] / "docs" / "guide.md").read_text()
    section = guide.partition("## A constrained optimum")[2].partition("\n## ")[0]
    (program,) = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
    names = {}
    exec(program, names)
    assert "solution[3]" in capsys.readouterr().out
    # The least value on the data is below the truth on average.
    assert names["result"].bias["value"] < 0


# What is refused


def refused(error, functional, rows=ROWS):
    with pytest.raises(error) as caught:
        functional.prepared(read(rows))
    return str(caught.value)


def test_an_infeasible_problem_says_which_constraint_is_violated_and_by_how_much():
    text = refused(FitError, nearest(inequality=lambda x, xi: [x[1] - 1, x[0] - 1, 2 - x[0]]))
    assert "the constraints cannot all be satisfied: at the best point found, x = [1.5, " in text
    assert "2 constraints are violated, most of all inequality[" in text
    assert "by 0.5. Inequalities are kept where they are not above zero" in text
    text = refused(FitError, nearest(equality=lambda x, xi: [x[0] - xi[0], x[0] - xi[0] - 2]))
    assert "most of all equality[" in text
    assert "by 1. Relax" in text
    text = refused(FitError, nearest(equality=lambda x, xi: x[0] ** 2 + 1))
    assert "1 constraint is violated, equality[0], by 1." in text


@pytest.mark.parametrize(
    "problem",
    [
        ob.minimize(lambda x, xi: (x * xi).sum(), 3, inequality=lambda x, xi: x - 1, library="jax"),
        ob.minimize(lambda x, xi: -((x - xi) ** 2).sum(), 3, library="jax"),
        ob.minimize(lambda x, xi: -((x - xi) ** 2).sum(), 3, equality=lambda x, xi: x.sum() - 1, library="jax"),
    ],
    ids=["linear", "concave", "concave on a plane"],
)
def test_an_unbounded_problem_says_so(problem):
    assert "the objective is unbounded below under the constraints" in refused(FitError, problem)


def test_the_start_of_an_unbounded_search_is_the_users():
    text = refused(FitError, ob.minimize(lambda x, xi: (x * xi).sum(), 3, library="jax"))
    assert "from 0 at the start it fell to -" in text


def test_a_lowest_value_at_infinity_is_not_an_optimum():
    import jax.numpy as jnp

    text = refused(FitError, ob.minimize(lambda x, xi: jnp.exp(x - xi).sum(), 3))
    assert "no optimum was found: Newton's method on the KKT conditions did not converge" in text
    assert "its minimum at infinity" in text


def test_an_objective_with_a_corner_is_not_smooth_enough():
    text = refused(FitError, ob.minimize(lambda x, xi: abs(x - xi).sum(), 3, library="jax"))
    assert "functions that are not smooth" in text


def test_a_solution_that_is_not_unique_names_the_free_direction():
    text = refused(FitError, ob.minimize(lambda x, xi: (x[0] - xi[0]) ** 2, 2, library="jax"))
    assert "the KKT matrix is singular" in text
    assert "along x[1]" in text
    assert "the solution is not unique" in text
    assert text.endswith("or drop redundant constraints.")


def test_a_maximum_is_not_taken_for_a_minimum():
    text = refused(
        FitError,
        ob.minimize(
            lambda x, xi: (x * xi).sum(),
            lambda xi: xi / np.linalg.norm(xi),
            equality=lambda x, xi: (x**2).sum() - 1,
            library="jax",
        ),
    )
    assert "the point is not a strict minimum" in text
    assert "start from another `init`" in text


def test_the_other_end_of_the_same_circle_is_found_from_elsewhere():
    circle = ob.minimize(
        lambda x, xi: (x * xi).sum(), [1.0, 0.0, 0.0], equality=lambda x, xi: (x**2).sum() - 1, library="jax"
    )
    np.testing.assert_allclose(circle(ROWS), -MEAN / np.linalg.norm(MEAN), rtol=1e-13)


@pytest.mark.parametrize("library", ["jax", "torch"])
@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"objective": lambda x, xi: (x - xi) ** 2},
            "`objective` must return one floating-point number; got shape (3,)",
        ),
        ({"objective": lambda x, xi: None}, "`objective` must return one floating-point number; got None"),
        ({"objective": lambda x: x.sum()}, "`objective` must return a value at `init`; it raised TypeError"),
        ({"objective": lambda x, xi: ((x - xi) ** 2 / x).sum()}, "`objective` must be finite at `init`; got inf"),
        ({"objective": lambda x, xi: (x**2).sum()}, "must depend on the data"),
        (
            {"objective": lambda x, xi: ((x - xi) ** 2).sum() + (x**2).sum() ** 0.5},
            "finite first and second derivatives",
        ),
        ({"inequality": lambda x, xi: x <= 1.0}, "Write `x - 1.0` rather than `x <= 1.0`"),
        ({"inequality": lambda x, xi: x[:, None] - xi}, "`inequality` must return one number per constraint"),
        ({"equality": lambda x, xi: []}, "`equality` must return one number per constraint"),
        ({"equality": lambda x, xi: None}, "`equality` must return the left-hand sides of `... = 0`"),
        ({"equality": lambda x, xi: x[:2] - xi}, "`equality` must return a value at `init`; it raised"),
        ({"inequality": lambda x, xi: 1 / x}, "`inequality` must be finite at `init`; got inf"),
        ({"parameters": lambda x: 1 / 0}, "`parameters` raised ZeroDivisionError: division by zero. It was"),
        ({"parameters": lambda x: x[:4]}, "`parameters` must return shape (15, p)"),
        ({"parameters": lambda x: [["a"] * 15]}, "`parameters` must return real numbers"),
    ],
)
def test_functions_that_are_not_as_they_must_be_are_told_apart(library, options, text, torch):
    functional = nearest(library=library).replace(**options)
    assert text in refused(StatisticError, functional)


def test_a_function_that_leaves_its_package_is_told_so():
    functional = ob.minimize(lambda x, xi: squared_distance(x, xi) * float(xi[0]), 3, library="jax")
    assert "and no `float`, `.item()` or numpy, between" in refused(StatisticError, functional)


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_a_branch_on_the_numbers_is_allowed(library, torch):
    def loss(x, xi):
        return squared_distance(x, xi) if xi.sum() < 9 else x.sum()

    np.testing.assert_allclose(ob.minimize(loss, 3, library=library)(ROWS), MEAN, rtol=1e-14)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"objective": 3.0}, "`objective` must be a function of x and xi; got float"),
        ({"equality": 3.0}, "`equality` must be a function of x and xi; got float"),
        ({"parameters": "mean"}, "`parameters` must be a function of the data"),
        ({"init": 0}, "`init` must be a whole number of at least 1"),
        ({"init": True}, "`init` must be a whole number of at least 1"),
        ({"init": 0.5}, "`init` must be a vector of finite numbers"),
        ({"init": [0.0, np.nan]}, "`init` must be a vector of finite numbers"),
        ({"init": [[0.0, 1.0]]}, "`init` must be a vector of finite numbers"),
        ({"init": "zeros"}, "`init` must be a vector of finite numbers"),
        ({"output": "solutions"}, "`output` must be one of 'solution', 'value', 'both'; got 'solutions'. Did you mean"),
        ({"method": "slsqp"}, "`method` must be one of 'SLSQP', 'trust-constr'"),
        ({"library": "numpy"}, "`library` must be one of 'jax', 'torch'"),
    ],
)
def test_arguments_are_checked_when_the_statistic_is_made(arguments, text):
    with pytest.raises(ArgumentError) as caught:
        ob.minimize(**{"objective": squared_distance, "init": 3, **arguments})
    assert text in str(caught.value)


def test_options_that_are_replaced_are_checked_too():
    with pytest.raises(ArgumentError, match="`output` must be one of"):
        nearest().replace(output="argmin")


def test_a_start_that_a_function_gives_is_checked_too():
    text = refused(ArgumentError, ob.minimize(squared_distance, lambda xi: "zeros", library="jax"))
    assert "`init` must be a vector of finite numbers" in text


def test_names_must_be_as_many_as_variables():
    assert "`variables` must have one name for each of the 3" in refused(ArgumentError, nearest(variables=["a", "b"]))


def test_a_number_that_has_changed_since_is_not_mistaken():
    shrinkage = 1.0

    def shrunk(x, xi):
        return squared_distance(x, xi) + shrinkage * (x**2).sum()

    statistic = ob.minimize(shrunk, 3, library="jax")
    np.testing.assert_allclose(statistic(ROWS), MEAN / 2)
    shrinkage = 3.0
    np.testing.assert_allclose(statistic(ROWS), MEAN / 4)


def test_functions_written_anew_are_compiled_once():
    def solved():
        statistic = ob.minimize(lambda x, xi: 7.5 * ((x - xi) ** 2).sum(), 3, library="jax")
        return statistic.prepared(read(ROWS)).solved.problem.lagrangian.programs

    assert solved() is solved()


@pytest.mark.filterwarnings("ignore::orthoboot.errors.ConstantDataWarning")  # flows do not move with the costs
def test_an_equality_that_follows_from_the_others_does_no_harm():
    """A transport problem: what leaves the sources is what arrives, so that one balance is redundant."""
    costs = np.random.default_rng(0).normal([1.0, 2.0, 3.0, 2.0, 1.0, 1.5], 0.3, size=(50, 6))

    def balances(x, xi):
        flows = x.reshape(2, 3)
        return [flows.sum(1) - np.array([3.0, 4.0]), flows.sum(0) - np.array([2.0, 2.0, 3.0])]

    transport = ob.minimize(
        lambda x, xi: (x * xi).sum(), np.ones(6), equality=balances, inequality=lambda x, xi: -x, library="jax"
    )
    with pytest.warns(FitWarning, match=r"equality\[4\] follow.*; the solution and its influence .* do not depend"):
        result = ob.bootstrap(costs, transport.replace(output="both"), rng=0)
    np.testing.assert_allclose(result.estimate["solution"], [2.0, 1.0, 0.0, 0.0, 1.0, 3.0], atol=1e-12)
    assert result.standard_error["value"] == pytest.approx((costs @ result.estimate["solution"]).std() / np.sqrt(50))


def test_independent_samples_are_refused():
    with pytest.raises(DataError, match="takes one sample, whose mean is the problem's parameter; got 2"):
        ob.bootstrap((ROWS, ROWS[:9]), nearest())


def test_the_function_that_makes_the_statistic_is_not_one():
    with pytest.raises(ArgumentError, match=r"write `ob\.minimize\(objective, init\)`"):
        ob.bootstrap(ROWS, ob.minimize)


def test_without_its_package_the_extra_is_named(monkeypatch):
    from orthoboot.autodiff import selection

    monkeypatch.setattr(selection, "find_spec", lambda name: None)
    selection.autodiff.cache_clear()
    with pytest.raises(MissingDependencyError, match=r'pip install "orthoboot\[jax\]"'):
        nearest()(ROWS)
    monkeypatch.undo()
    assert importlib.util.find_spec("jax") is not None


def test_it_prints_its_arguments_by_their_names():
    shown = repr(ob.minimize(np.subtract, np.ones(2), inequality=lambda x, xi: x, output="value"))
    assert shown == "ConstrainedOptimum(objective=subtract, init=array([1., 1.]), inequality=<lambda>, output='value')"
