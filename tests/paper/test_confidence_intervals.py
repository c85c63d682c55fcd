"""The experiment on confidence intervals."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats

import orthoboot as ob
from orthoboot.paper.ci import problems as ci
from orthoboot.paper.ci.experiment import ConfidenceIntervals
from orthoboot.paper.ci.report import _pulls
from orthoboot.paper.experiment import Settings, seed_of
from orthoboot.paper.published import INTERVALS
from tests import literal

SETTINGS = Settings(quick=True)
Z = stats.norm.ppf(0.975)


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ob.errors.OrthobootWarning)
        yield


def parts(case):
    """The data and the seed of the resamples of the first repetition."""
    of_data, of_resamples = seed_of(SETTINGS, "ci", case, 0).spawn(2)
    return ci.PROBLEMS[case].generate(np.random.default_rng(of_data)), of_resamples


def test_the_intervals_are_those_of_the_formulas_on_the_same_replicates():
    data, seed = parts("folded-normal")
    result = ob.bootstrap(data, ob.variance, n_resamples=10, rng=seed)
    P, phi = result.bootstrap_distribution, result.estimate
    influence = (data - data.mean()) ** 2 - data.var()
    V = np.sum(influence**2) / len(data) ** 2
    outcome = ConfidenceIntervals().repetition("folded-normal", seed_of(SETTINGS, "ci", "folded-normal", 0), SETTINGS)
    widths = dict(zip(ci.ROWS, outcome["width"], strict=True))
    for B in (2, 5, 10):
        D, L = (P - result.linear_distribution)[:B], result.linear_distribution[:B]
        S2 = V + D.var() + 2 * np.mean((D - D.mean()) * (L - L.mean()))
        assert widths["standard, B", B] == pytest.approx(2 * Z * P[:B].std())
        assert widths["standard", B] == pytest.approx(2 * Z * P[:B].std(ddof=1))
        cheap = np.sqrt(np.mean((P[:B] - phi) ** 2))
        assert widths["cheap", B] == pytest.approx(2 * stats.t.ppf(0.975, B) * cheap)
        assert widths["paper", B] == pytest.approx(2 * Z * np.sqrt(S2))
    assert widths["jackknife", None] == pytest.approx(2 * Z * np.sqrt(V))


def test_the_papers_row_is_the_literal_algorithm():
    data, seed = parts("double-exponential")
    small = data[:30]
    result = ob.bootstrap(small, ob.variance, n_resamples=5, rng=seed, estimator="paper")
    numbers = result.run.plan.resamples(result.run.key, range(5))
    resamples = [numbers.indices(b) for b in range(5)]
    mean, variance = small.mean(), small.var()
    low, high = literal.confidence_interval([small], np.var, [lambda x: (x - mean) ** 2 - variance], resamples, Z)
    assert result.confidence_interval == pytest.approx((low, high), rel=1e-11)


@pytest.mark.parametrize("case", ["folded-normal", "double-exponential", "lognormal"])
def test_the_true_values_are_those_of_a_large_sample(case):
    problem, rng = ci.PROBLEMS[case], np.random.default_rng(0)
    values = [problem.statistic(problem.generate(rng)) for _ in range(400)]
    # Odds of 1 in 16,000 for each; the correlation of lognormals has a bias of about -0.006 at 1000 rows.
    allowance = 4 * np.std(values) / np.sqrt(len(values)) + (0.01 if case == "lognormal" else 0.0)
    assert np.mean(values) == pytest.approx(problem.truth, abs=allowance)


def test_the_first_coefficient_is_the_one_that_is_looked_at():
    X, y = ci.PROBLEMS["regression"].generate(np.random.default_rng(0))
    assert (X.shape, y.shape) == ((5000, 50), (5000,))
    some, of_some = X[:200], y[:200]
    result = ob.bootstrap((some, of_some), ci.PROBLEMS["regression"].statistic, paired=True, n_resamples=5, rng=0)
    whole = ob.bootstrap((some, of_some), ob.linear_regression, paired=True, n_resamples=5, rng=0)
    assert result.standard_error == pytest.approx(whole.standard_error[0])


def test_a_report_has_the_papers_figures_beside_ours():
    rng = np.random.default_rng(0)
    found = {
        case: {"covered": np.ones((50, len(ci.ROWS))), "width": 0.1 + rng.random((50, len(ci.ROWS)))}
        for case in ci.PROBLEMS
    }
    found["lognormal"]["width"][:3, ci.ROWS.index(("abc", 5))] = np.nan
    report = ConfidenceIntervals().report(found, SETTINGS)
    assert [table.name for table in report.tables] == [*(f"ci-{case}" for case in ci.PROBLEMS), "ci-deviations"]
    assert "3 of ABC (ours) at B = 5 of 50 intervals each have no ends" in report.paragraphs[-1]
    printed = [[cell.printed for cell in row[2:]] for row in report.tables[3].rows]
    assert printed[0] == list(INTERVALS["standard", 2][3])
    assert printed[1] == [None] * 3, "the paper has no divisor B - 1"
    assert printed[-1] == ["0.942", "1.679", "0.150"]


def test_the_papers_coverage_has_the_error_of_what_it_prints():
    widths = np.random.default_rng(0).random((50, len(ci.ROWS)))
    found = {case: {"covered": np.zeros_like(widths), "width": widths} for case in ci.PROBLEMS}
    coverage = ConfidenceIntervals().report(found, SETTINGS).tables[0].rows[2][2]
    assert coverage.printed == "0.956"
    assert coverage.printed_error == pytest.approx(np.sqrt(0.956 * 0.044 / 1000), rel=0.03)
    assert coverage.error == pytest.approx(np.sqrt((2 / 54) * (52 / 54) / 50))


def test_the_influence_on_a_deviation_gives_its_error():
    samples = np.random.default_rng(0).exponential(size=(2000, 500))
    deviations = samples.std(axis=1, ddof=1)
    claimed = np.mean([_pulls(sample).std() / np.sqrt(500) for sample in samples])
    # The spread of 2000 is known to 1.6%; the formula is for large samples, and 500 exponentials are a few percent off.
    assert claimed == pytest.approx(deviations.std(), rel=0.12)


def test_the_difference_of_two_deviations_has_the_error_of_pairs():
    rng = np.random.default_rng(0)
    common = 1 + rng.random((400, 1))
    widths = common + 0.01 * rng.standard_normal((400, len(ci.ROWS)))
    found = {case: {"covered": np.ones_like(widths), "width": widths} for case in ci.PROBLEMS}
    table = ConfidenceIntervals().report(found, SETTINGS).tables[-1]
    assert table.name == "ci-deviations"
    assert [row[1] for row in table.rows] == [2, 5, 10] * 4
    ours, paper = (widths[:, ci.ROWS.index((method, 5))] for method in ("orthogonal", "paper"))
    difference = table.rows[1][-1]
    assert difference.value == pytest.approx(ours.std(ddof=1) - paper.std(ddof=1))
    # Each deviation alone has an error of 0.2 / sqrt(400) or so; what they have in common cancels.
    assert 0 < difference.error < 0.1 * common.std() / np.sqrt(400)
