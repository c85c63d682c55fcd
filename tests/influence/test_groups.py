"""Influence values of groups that are drawn whole: left out or moved together, and never row by row."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import orthoboot as ob
from orthoboot.data import read
from orthoboot.execution.execution import Execution
from orthoboot.functionals.user.callables import as_functional
from orthoboot.influence import ENGINES
from orthoboot.plans import plan_for

pytestmark = pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")

N_GROUPS = 40
SIZES = {
    "equal": np.full(N_GROUPS, 8),
    "unequal": np.random.default_rng(1).permutation(np.repeat([2, 5, 8, 17], 10)),
}


def panel(sizes, seed=3):
    """Rows in groups that have something in common, in no order, and their labels."""
    generator = np.random.default_rng(seed)
    groups = generator.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return generator.gamma(2.0, size=len(groups)) + generator.gamma(2.0, size=len(sizes))[groups], groups


PANELS = {name: panel(sizes) for name, sizes in SIZES.items()}
every_panel = pytest.mark.parametrize("panel", PANELS.values(), ids=PANELS)


def plain_variance(x):
    return np.var(x, axis=None)


def weighted_mean(x, weights):
    return np.average(x, weights=weights)


def weighted_variance(x, weights):
    return np.average((x - np.average(x, weights=weights)) ** 2, weights=weights)


def found_by(engine, statistic, x, groups):
    """The influence values of an engine under groups, shape ``(n,)``."""
    data = read(x)
    functional = statistic if isinstance(statistic, ob.Functional) else as_functional(statistic, data)
    (values,) = ENGINES[engine](functional.prepared(data), Execution(), plan_for(data.sizes, groups=groups)).values
    return values[:, 0]


def group_totals(values, groups):
    return np.bincount(groups, values)


def closed_totals(statistic, x, groups):
    """The sums over groups of the closed form."""
    (values,) = statistic.at(read(x)).influence()
    return group_totals(values[:, 0], groups)


@every_panel
@pytest.mark.parametrize("engine", ENGINES)
def test_the_rows_of_a_group_share_a_value_and_the_values_have_mean_zero(engine, panel):
    x, groups = panel
    values = found_by(engine, weighted_variance, x, groups)
    assert all(np.ptp(values[groups == g]) == 0 for g in range(N_GROUPS))
    assert abs(values.mean()) < 1e-12 * np.abs(values).max()


def test_leaving_out_equal_groups_is_exact_for_a_mean():
    x, groups = PANELS["equal"]
    found = group_totals(found_by("jackknife", lambda x: x.mean(), x, groups), groups)
    exact = closed_totals(ob.mean, x, groups)
    np.testing.assert_allclose(found, exact, atol=1e-11 * np.abs(exact).max())


def test_leaving_out_unequal_groups_is_the_jackknife_of_a_quotient():
    """A mean over groups of unequal size is a sum over a size, which is not linear in the groups."""
    x, groups = PANELS["unequal"]
    found = group_totals(found_by("jackknife", lambda x: x.mean(), x, groups), groups)
    n, sizes = len(x), SIZES["unequal"]
    longer = closed_totals(ob.mean, x, groups) * n * (N_GROUPS - 1) / (N_GROUPS * (n - sizes))
    np.testing.assert_allclose(found, longer - longer.mean(), atol=1e-11 * np.abs(longer).max())


@every_panel
@pytest.mark.parametrize(
    ("weighted", "closed"), [(weighted_mean, ob.mean), (weighted_variance, ob.variance)], ids=["mean", "variance"]
)
def test_moving_groups_is_the_closed_form(weighted, closed, panel):
    x, groups = panel
    found, exact = (
        group_totals(found_by("finite-difference", weighted, x, groups), groups),
        closed_totals(closed, x, groups),
    )
    # Central differences over 1e-4 / sqrt(G) leave a relative 1e-8 or less, and as much rounding.
    np.testing.assert_allclose(found, exact, atol=1e-6 * np.abs(exact).max())


@every_panel
@pytest.mark.parametrize("engine", ENGINES)
def test_the_linear_variance_is_that_of_the_closed_form(engine, panel):
    x, groups = panel
    options = {"groups": groups, "estimator": "jackknife"}
    exact = ob.bootstrap(x, ob.variance, **options).variance
    found = ob.bootstrap(x, weighted_variance, influence=engine, **options).variance
    # Leaving out a group is a step of its share of the rows, which is also how far its value is off, and twice that its
    # square: three times the largest share.
    largest = np.bincount(groups).max() / len(x)
    assert found == pytest.approx(exact, rel=1e-6 if engine == "finite-difference" else 3 * largest)


def test_moving_groups_is_right_for_a_total_too():
    """Its resamples differ in their number of rows, which counts."""
    x, groups = PANELS["unequal"]
    totals = group_totals(x, groups)
    result = ob.bootstrap(x, lambda x, weights: weights @ x, groups=groups, estimator="jackknife", rng=0)
    assert result.variance == pytest.approx(((totals - totals.mean()) ** 2).sum(), rel=1e-6)


def brute_force_standard_error(x, groups, statistic, n_resamples, seed):
    """Draw groups with replacement, join their rows and evaluate."""
    generator = np.random.default_rng(seed)
    rows = [np.flatnonzero(groups == g) for g in range(N_GROUPS)]
    drawn = generator.integers(N_GROUPS, size=(n_resamples, N_GROUPS))
    return np.std([statistic(x[np.concatenate([rows[g] for g in one])]) for one in drawn], ddof=1)


@every_panel
@pytest.mark.parametrize("statistic", [plain_variance, weighted_variance], ids=["left out", "moved"])
def test_it_serves_as_well_as_a_bootstrap_of_groups_by_brute_force(statistic, panel):
    x, groups = panel
    brute = brute_force_standard_error(x, groups, plain_variance, n_resamples=4000, seed=5)
    result = ob.bootstrap(x, statistic, groups=groups, n_resamples=200, rng=0)
    assert result.r_squared > 0.7
    # 4000 replicates know a standard error to 1/sqrt(8000) = 1.1%, somewhat more for heavy tails: four of 1.5%, and
    # four of the run's own simulation error.
    slack = 0.06 * brute + 4 * result.simulation_error.standard_error
    assert abs(result.standard_error - brute) < slack
    # Without replicates what is beyond the first order is missing: its share of the variance is 1 - r_squared.
    assert np.sqrt(result.jackknife_variance) == pytest.approx(brute, rel=0.2)


def counted(function):
    calls = []

    def statistic(*arguments, **weights):
        calls.append(1)
        return function(*arguments, **weights)

    return statistic, calls


def test_a_dozen_groups_cost_a_dozen_evaluations():
    groups = np.arange(3000) % 12
    x = np.random.default_rng(0).normal(size=3000) + groups
    statistic, calls = counted(plain_variance)
    result = ob.bootstrap(x, lambda x: statistic(x), groups=groups, rng=0)
    assert result.influence_source == (
        "jackknife, groups left out, 12 evaluations (automatic for a plain function of 3,000 rows)"
    )
    assert (result.estimator, result.n_resamples) == ("orthogonal", 12)
    # As many replicates. Besides: on the data, on all rows twice for the bias, and on the rows in another order.
    assert len(calls) == 12 + 12 + 3


def test_a_dozen_groups_are_moved_up_and_down():
    groups = np.arange(3000) % 12
    x = np.random.default_rng(0).normal(size=3000) + groups
    statistic, calls = counted(weighted_variance)
    result = ob.bootstrap(x, lambda x, weights: statistic(x, weights), groups=groups, rng=0)
    assert result.influence_source == (
        "finite-difference, groups moved, 24 evaluations (automatic for a weights-aware function of 3,000 rows)"
    )
    # As many replicates. Besides: on the data, in another order, and on half of them, by weights and by rows.
    assert len(calls) == 24 + 24 + 4


def test_one_of_two_samples_may_have_groups():
    (x, groups), y = PANELS["unequal"], np.random.default_rng(2).gamma(2.0, size=30)
    options = {"groups": (groups, None), "estimator": "jackknife"}
    result = ob.bootstrap((x, y), lambda x, y: x.mean() - y.mean(), **options)
    assert result.influence_source.startswith("jackknife, groups left out, 70 evaluations")
    first = ob.bootstrap(x, lambda x: x.mean(), groups=groups, estimator="jackknife").variance
    second = ob.bootstrap(y, lambda y: y.mean(), estimator="jackknife").variance
    assert result.variance == pytest.approx(first + second, rel=1e-9)


def test_rows_that_are_each_a_group_are_rows():
    x = PANELS["equal"][0][:50]
    for engine in ENGINES:
        (rows,) = ENGINES[engine](as_functional(weighted_variance, read(x)).prepared(read(x)), Execution()).values
        np.testing.assert_array_equal(found_by(engine, weighted_variance, x, np.arange(50)), rows[:, 0])


def test_a_run_that_moved_groups_resumes(tmp_path):
    x, groups = PANELS["unequal"]
    options = {"groups": groups, "rng": 0, "checkpoint": tmp_path / "run"}
    first = ob.bootstrap(x, weighted_variance, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = ob.bootstrap(x, weighted_variance, **options)
    assert again.to_dict() == first.to_dict()
