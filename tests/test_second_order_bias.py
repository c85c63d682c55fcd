"""The infinitesimal jackknife's bias under every plan, against simulation."""

from __future__ import annotations

import itertools
import json
import pathlib
import subprocess

import numpy as np
import pytest

import orthoboot as ob

RNG = np.random.default_rng(7)
X = RNG.gamma(2.0, size=240)
GROUPS = np.repeat(np.arange(60), RNG.permutation(np.repeat([1, 2, 5, 8], 15)))
X = X[: len(GROUPS)] if len(GROUPS) <= 240 else np.resize(X, len(GROUPS))
# Rows of a group are alike, and large groups have large values: the mean over drawn groups is biased.
X = X + 0.5 * np.bincount(GROUPS)[GROUPS]

PLANS = {
    "rows": {},
    "strata": {"strata": GROUPS % 3},
    "groups": {"groups": GROUPS},
    "circular": {"block_length": 6},
    "moving": {"block_length": 6, "block_kind": "moving"},
    "stationary": {"block_length": 6, "block_kind": "stationary"},
}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("statistic", [ob.mean, ob.variance, ob.std], ids=lambda f: f.name)
def test_it_is_what_simulation_finds(plan, statistic):
    exact = ob.bootstrap(X, statistic, estimator="jackknife", **PLANS[plan])
    simulated = ob.bootstrap(X, statistic, n_resamples=4000, rng=1, **PLANS[plan])
    # Four simulation errors, and 5% of a standard error squared for what is of third order.
    slack = 4 * simulated.simulation_error.bias + 0.05 * exact.variance / abs(exact.estimate) + 1e-12
    assert abs(exact.bias - simulated.bias) < slack


def test_groups_of_unequal_size_bias_a_mean():
    exact = ob.bootstrap(X, ob.mean, estimator="jackknife", groups=GROUPS)
    assert abs(exact.bias) > 0.01 * exact.standard_error


# By second differences, for functions with weights

STRATA = np.array([0, 0, 1, 1, 1, 2])
ROWS = np.random.default_rng(3).normal((1.0, 2.0), 1.0, size=(6, 2))


def quadratic(rows, weights):
    """Return a quadratic function of means."""
    x, y = np.average(rows, axis=0, weights=weights)
    return x**2 - 3 * x * y + y


def stratified_counts():
    """Return the counts of every stratified resample of the six rows, all equally likely."""
    pools = [np.flatnonzero(stratum == STRATA) for stratum in STRATA]
    return [np.bincount(rows, minlength=6) for rows in itertools.product(*pools)]


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_within_strata_it_is_exact_for_a_quadratic_statistic():
    drawn = stratified_counts()
    assert len(drawn) == 2**2 * 3**3
    exact = np.mean([quadratic(ROWS, counts) for counts in drawn]) - quadratic(ROWS, np.ones(6))
    found = ob.bootstrap(ROWS, quadratic, strata=STRATA, estimator="jackknife")
    # Second differences over a step of 1e-3 leave a millionth times the value's last digit.
    assert found.bias == pytest.approx(exact, abs=1e-8 * abs(found.estimate))
    assert abs(exact) > 0.01
    by_rows = ob.bootstrap(ROWS, quadratic, estimator="jackknife")
    assert abs(by_rows.bias - exact) > 0.1 * abs(exact)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_over_groups_it_is_exact_for_a_quadratic_of_totals():
    """The counts of groups are multinomial, and totals are linear in them; means of unequal groups are not."""

    def product_of_totals(rows, weights):
        return np.prod(weights @ rows)

    drawn = [np.bincount(groups, minlength=3)[STRATA] for groups in itertools.product(range(3), repeat=3)]
    exact = np.mean([product_of_totals(ROWS, counts) for counts in drawn]) - product_of_totals(ROWS, np.ones(6))
    found = ob.bootstrap(ROWS, product_of_totals, groups=STRATA, estimator="jackknife")
    assert found.bias == pytest.approx(exact, abs=1e-8 * abs(found.estimate))


def weighted_variance(x, weights):
    return np.average((x - np.average(x, weights=weights)) ** 2, weights=weights)


def weighted_std(x, weights):
    return np.sqrt(weighted_variance(x, weights))


def weighted_gini(x, weights):
    shares = weights / weights.sum()
    return shares @ np.abs(x[:, np.newaxis] - x) @ shares / (2 * shares @ x)


@pytest.mark.parametrize("plan", ["rows", "strata", "groups"])
@pytest.mark.parametrize(
    ("weighted", "closed"),
    [(weighted_variance, ob.variance), (weighted_std, ob.std), (weighted_gini, ob.gini)],
    ids=["variance", "std", "gini"],
)
def test_second_differences_are_the_closed_form_under_every_plan(plan, weighted, closed):
    options = {"estimator": "jackknife", **PLANS[plan]}
    exact, found = ob.bootstrap(X, closed, **options), ob.bootstrap(X, weighted, **options)
    assert found.bias == pytest.approx(exact.bias, rel=1e-4)
    assert found.variance == pytest.approx(exact.variance, rel=1e-6)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.SmallSampleWarning")
def test_strata_of_many_sizes_and_a_second_sample_add_up():
    strata = np.repeat(np.arange(8), [1, 2, 3, 50, 70, 10, 1, 103])
    options = {"estimator": "jackknife", "strata": (strata, None)}

    def weighted_ratio(x, y, weights):
        return weighted_variance(x, weights[0]) / weighted_variance(y, weights[1]) - 1

    found = ob.bootstrap((X[:240], X[:90]), weighted_ratio, **options)
    exact = ob.bootstrap((X[:240], X[:90]), ob.relative_difference(ob.variance), **options)
    assert found.estimate == pytest.approx(exact.estimate, rel=1e-12)
    assert found.bias == pytest.approx(exact.bias, rel=1e-4)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_a_stratum_of_one_row_costs_no_evaluation():
    calls = []

    def counted(rows, weights):
        calls.append(1)
        return quadratic(rows, weights)

    ob.bootstrap(ROWS, counted, strata=STRATA, estimator="jackknife", influence=np.zeros((6, 1)) + ROWS[:, :1])
    with_six, calls[:] = len(calls), []
    ob.bootstrap(ROWS, counted, strata=np.zeros(6), estimator="jackknife", influence=np.zeros((6, 1)) + ROWS[:, :1])
    assert len(calls) - with_six == 2


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_a_kink_within_strata_has_no_second_order_bias():
    x = np.random.default_rng(3).normal(size=16)

    def distance_of_mean(x, weights):
        return abs(np.average(x - x.mean(), weights=weights))

    with pytest.warns(ob.errors.MissingBiasWarning, match="without a kink at the data"):
        result = ob.bootstrap(x, distance_of_mean, estimator="jackknife", strata=np.arange(16) % 2, influence=x)
    assert result.bias == 0


@pytest.mark.parametrize("plan", ["rows", "strata", "groups"])
def test_a_bias_by_differences_is_the_jackknifes_alone(plan):
    """The replicates know it not: read by another estimator they are those of a run with that one."""
    options = {"n_resamples": 20, "rng": 0, **PLANS[plan]}
    switched = ob.bootstrap(X, weighted_std, estimator="jackknife", **options).with_estimator("orthogonal")
    assert switched.bias == ob.bootstrap(X, weighted_std, **options).bias


# R's boot::abc.ci, whose bias is by second differences within strata

STORED = pathlib.Path(__file__).parent / "r" / "abc_strata.json"


def city_ratio(rows, weights):
    return np.divide(*(weights @ rows))


def check_against_abc(ends, city):
    options = {"estimator": "jackknife", "method": "abc", "strata": np.repeat([0, 1], [4, 6])}
    result = ob.bootstrap(city, city_ratio, **options)
    found = [*result.interval(0.9), *result.interval(0.95)]
    # R's differences over 1e-4 leave a relative 1e-8 of what they are of, and the rounding of second ones as much.
    np.testing.assert_allclose(found, ends, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_abc_within_strata_is_that_of_r(city):
    check_against_abc(json.loads(STORED.read_text())["ends"], city)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_abc_within_strata_is_that_of_r_live(city, rscript, data_folder):
    command = [rscript, str(STORED.with_suffix(".R")), str(data_folder / "city.csv")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    check_against_abc(json.loads(printed)["ends"], city)
