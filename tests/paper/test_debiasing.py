"""The experiments on debiasing and on the influence function of constrained problems."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import optimize

import orthoboot as ob
from orthoboot.paper.debias.experiment import Debiasing
from orthoboot.paper.debias.problems import METHODS, PROBLEMS
from orthoboot.paper.debias.quadratic_program import QuadraticProgram, quadratic_program
from orthoboot.paper.debias.report import MEASURES
from orthoboot.paper.experiment import Settings, seed_of
from orthoboot.paper.influence import simplex_projection
from orthoboot.paper.influence.experiment import InfluenceFunctions
from orthoboot.paper.influence.report import TITLES
from orthoboot.paper.published import DEBIASING

SETTINGS = Settings(quick=True)
RMSE, BIAS = MEASURES


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ob.errors.OrthobootWarning)
        yield


@pytest.mark.parametrize("case", ["ellipsoidal", "polynomial", "entropy"])
def test_the_errors_are_those_of_the_formulas_on_the_same_replicates(case):
    seed = seed_of(SETTINGS, "debias", case, 0)
    outcome = Debiasing().repetition(case, seed, SETTINGS)
    of_data, of_resamples = seed_of(SETTINGS, "debias", case, 0).spawn(2)
    problem = PROBLEMS[case]
    data, truth = problem.generate(np.random.default_rng(of_data), 0)
    result = ob.bootstrap(data, problem.statistic(0), n_resamples=100, rng=of_resamples)
    P, L, phi = result.bootstrap_distribution, result.linear_distribution, result.estimate
    for time, B in [(0, 2), (3, 5), (9, 10)]:
        group = slice(10 * time, 10 * time + B)
        standard, paper = 2 * phi - P[group].mean(), 2 * phi - (P - L)[group].mean()
        assert outcome["standard"][time, B - 2] == pytest.approx(standard - truth, abs=1e-12)
        assert outcome["paper"][time, B - 2] == pytest.approx(paper - truth, abs=1e-12)
    assert outcome["naive"] == phi - truth


def test_the_bias_of_the_naive_estimates_is_that_of_theory():
    errors = {
        case: [problem.statistic(0)(data) - truth for data, truth in _draws(problem, 200)]
        for case, problem in PROBLEMS.items()
        if case in ("ellipsoidal", "entropy")
    }
    # E ||mean||^2 - 1 = 25/100. Odds of 1 in 16,000.
    ellipsoidal = errors["ellipsoidal"]
    assert np.mean(ellipsoidal) == pytest.approx(0.25, abs=4 * np.std(ellipsoidal) / np.sqrt(200))
    # Miller's -(d - 1)/(2n) is -0.0495; rare categories make it smaller by up to a tenth.
    entropy = errors["entropy"]
    assert np.mean(entropy) == pytest.approx(-0.0495, abs=0.005 + 4 * np.std(entropy) / np.sqrt(200))


def _draws(problem, n):
    rng = np.random.default_rng(1)
    return [problem.generate(rng, 0) for _ in range(n)]


def test_the_standard_bootstrap_of_the_ellipsoid_has_the_error_of_theory():
    """The RMSE of 8.5 at B = 2 where the paper prints 7.23: by the moments of a Gaussian mean, and by simulation."""
    d, n, B = 25, 100, 2
    # e = 2 phi - mean_b(phi_b) - 1: the error of phi itself, and B independent errors of replicates about their mean.
    # The variance of ||m||^2 for m of mean mu and covariance I/n is 4 |mu|^2/n + 2d/n^2. For the data |mu|^2 = 1, for
    # the replicates |mu|^2 = 1 + d/n on average, the sample's; with 1 for both it would be 8.2.
    of_data, of_replicates = (4 * length / n + 2 * d / n**2 for length in (1, 1 + d / n))
    bias = d / n - d * (n - 1) / n**2
    expected = np.sqrt(1000 * (of_data + of_replicates / B + bias**2))
    assert expected == pytest.approx(8.5, abs=0.05)

    rng, size = np.random.default_rng(0), 10_000
    errors = np.empty(size)
    for r in range(size):
        x = 0.2 + rng.standard_normal((n, d))
        means = rng.multinomial(n, np.full(n, 1 / n), size=B) @ x / n
        errors[r] = 2 * np.sum(x.mean(axis=0) ** 2) - np.mean(np.sum(means**2, axis=1)) - 1
    # Odds of 1 in 16,000: neither 7.23 nor 8.2 would pass. Theory leaves out the spread of the sample covariance, 0.04.
    assert np.sqrt(1000 * np.mean(errors**2)) == pytest.approx(
        expected, abs=0.04 + 4 * RMSE.error(errors[:, np.newaxis])
    )


def test_sums_are_in_units_of_a_thousand_data_sets():
    errors = np.array([[3.0, -1.0], [-4.0, 1.0]])
    np.testing.assert_allclose(RMSE.sums(errors), np.sqrt([12500, 1000]))
    np.testing.assert_allclose(BIAS.sums(errors), [3500, 1000])


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
def test_the_error_of_a_sum_is_its_spread_over_simulations(measure):
    rng = np.random.default_rng(0)
    # Data sets differ, and the ten bootstraps of one differ less.
    samples = rng.standard_normal((1000, 100, 1)) + 0.3 * rng.standard_normal((1000, 100, 10))
    medians = [np.median(measure.sums(errors)) for errors in samples]
    claimed = np.mean([measure.error(errors) for errors in samples])
    # The spread of 1000 is known to 2.2%, and the median of ten moves a little more than their mean.
    assert claimed == pytest.approx(np.std(medians), rel=0.1)


def test_a_report_has_the_papers_figures_and_both_figures_can_be_drawn():
    figure = pytest.importorskip("matplotlib.figure")
    rng = np.random.default_rng(0)
    found = {
        case: {"naive": rng.normal(size=30), **{m: rng.normal(size=(30, 10, 9)) for m in METHODS}} for case in PROBLEMS
    }
    report = Debiasing().report(found, SETTINGS)
    assert [table.name for table in report.tables] == [
        *(f"debias-{case}" for case in PROBLEMS),
        "debias-medians",
    ]
    table = report.tables[0]
    by_row = {(row[0], row[1]): row for row in table.rows}
    assert by_row["standard", 2][2].printed == "7.23"
    assert by_row["orthogonal (paper's)", 10][5].printed == "166.5"
    assert by_row["orthogonal (ours)", 2][2].printed is None
    assert by_row["standard", 3][2].printed is None
    assert by_row["naive", ""][2].printed == DEBIASING["naive", None][0][0] == "10.30"
    medians = {tuple(row[:3]): row for row in report.tables[-1].rows}
    assert len(medians) == 4 * (3 * 3 + 1), "the sizes that the paper prints, and the naive estimate"
    errors = np.median(np.abs(found["entropy"]["standard"][:, :, 3]), axis=1)
    of_entropy = medians["Entropy", "standard", 5][3]
    assert of_entropy.value == pytest.approx(np.sqrt(1000 * np.mean(errors**2)))
    assert of_entropy.printed == "0.862"
    assert [drawn.name for drawn in report.figures] == ["debias-rmse", "debias-bias"]
    for drawn in report.figures:
        canvas = figure.Figure()
        drawn.draw(canvas)
        assert [panel.get_title() for panel in canvas.axes] == [p.title for p in PROBLEMS.values()]


# Constrained problems


def test_the_value_of_the_quadratic_program_is_its_minimum():
    rng = np.random.default_rng(0)
    program = QuadraticProgram(rng.standard_normal((2, 4)), np.diag(rng.uniform(1, 2, 4)))
    b = rng.standard_normal(2)
    found = optimize.minimize(
        lambda x: x @ program.Q @ x,
        np.zeros(4),
        constraints={"type": "eq", "fun": lambda x: program.A @ x - b},
        options={"ftol": 1e-12},
    )
    assert program.minimal_value(b) == pytest.approx(found.fun, rel=1e-8)


def test_the_naive_errors_over_draws_of_the_problem_are_those_that_the_report_tells():
    sums = []
    for seed in range(30):
        M = quadratic_program(seed).curvature
        # Of ten observations b of mean b* on the sphere: bias tr(M)/10, variance 4 b*'M^2 b*/10 + 2 tr(M^2)/100.
        bias, spread = np.trace(M) / 10, np.sum(M**2)
        sums.append((np.sqrt(1000 * (bias**2 + 4 * spread / 100 / 10 + 2 * spread / 100)), 1000 * bias))
    # Thirty draws: the mean is known to a fifth of the deviation, and the deviation to a seventh.
    assert np.mean(sums, axis=0) == pytest.approx([4.83, 149.1], rel=0.015)
    assert np.std(sums, axis=0) == pytest.approx([0.13, 3.9], rel=0.5)


@pytest.mark.usefixtures("jax")
def test_the_implicit_influence_function_is_the_explicit_one():
    experiment = InfluenceFunctions()
    for case in TITLES:
        outcome = experiment.repetition(case, seed_of(SETTINGS, "influence", case, 0), SETTINGS)
        assert outcome["difference"] < 1e-12
    quadratic = experiment.repetition("quadratic", seed_of(SETTINGS, "influence", "quadratic", 1), SETTINGS)
    np.testing.assert_allclose(quadratic["implicit"], quadratic["explicit"], atol=1e-12)


def test_the_explicit_influence_of_the_simplex_is_the_derivative():
    rows = simplex_projection.simplex_rows(np.random.default_rng(3))
    centre, step = rows.mean(axis=0), 1e-6
    shares = simplex_projection.nearest_shares(centre)
    assert 0 < np.sum(shares > 0) < len(shares), "some inequalities bind and some do not"

    def outputs(point):
        nearest = simplex_projection.nearest_shares(point)
        return np.append(nearest, np.sum((nearest - point) ** 2) / 2)

    for row, found in zip(rows[:5], simplex_projection.explicit_influence(rows), strict=False):
        moved = [outputs(centre + sign * step * (row - centre)) for sign in (1, -1)]
        np.testing.assert_allclose(found, (moved[0] - moved[1]) / (2 * step), atol=1e-8)


@pytest.mark.usefixtures("jax")
def test_debiasing_the_minimal_value_takes_away_most_of_its_bias():
    experiment = Debiasing()
    outcomes = [
        experiment.repetition("optimisation", seed_of(SETTINGS, "debias", "optimisation", r), SETTINGS)
        for r in range(8)
    ]
    naive = np.mean([outcome["naive"] for outcome in outcomes])
    program = quadratic_program(0)
    # tr(M)/n, by eight data sets: odds of 1 in 16,000.
    spread = np.sqrt((0.4 / program.n_constraints * 10 + 2) * np.sum(program.curvature**2) / 100)
    assert naive == pytest.approx(np.trace(program.curvature) / 10, abs=4 * spread / np.sqrt(8))
    assert abs(np.mean([outcome["paper"][:, -1] for outcome in outcomes])) < naive / 3


def test_the_influence_report_draws_its_figure():
    figure = pytest.importorskip("matplotlib.figure")
    rng = np.random.default_rng(0)
    found = {
        "quadratic": {
            "difference": np.full(5, 1e-15),
            "implicit": rng.normal(size=(5, 9)),
            "explicit": rng.normal(size=(5, 9)),
        },
        "simplex": {"difference": np.full(5, 2e-15)},
    }
    report = InfluenceFunctions().report(found, SETTINGS)
    assert report.tables[0].rows[1][1:] == [5, 2e-15, ""]
    canvas = figure.Figure()
    report.figures[0].draw(canvas)
    assert [panel.get_ylabel() for panel in canvas.axes] == ["RMSE", "BIAS"]
