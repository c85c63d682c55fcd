"""Every engine against closed forms, and the rule that chooses among them."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from tests.registry import ENGINES, EngineRow

import orthoboot as ob
from orthoboot.data import read
from orthoboot.execution.execution import Execution
from orthoboot.functionals.user.callables import as_functional
from orthoboot.influence import ENGINES as KNOWN
from orthoboot.influence import finite_difference_bias
from orthoboot.plans import plan_for

RNG = np.random.default_rng(11)
PAIRS = RNG.gamma(3.0, size=(60, 2)) @ [[1.0, 0.5], [0.0, 1.0]]
SAMPLES = (RNG.gamma(2.0, size=35), RNG.gamma(3.0, size=50))

every_engine = pytest.mark.parametrize("row", ENGINES, ids=lambda row: row.name)


def test_every_engine_has_a_row():
    assert {row.name for row in ENGINES} == set(KNOWN)


@every_engine
@pytest.mark.parametrize("statistic", [ob.mean, ob.variance, ob.correlation, ob.ratio], ids=lambda f: f.name)
def test_an_engine_agrees_with_the_closed_form(row: EngineRow, statistic):
    data = read(PAIRS)
    (found,) = KNOWN[row.name](statistic.prepared(data), Execution()).values
    (exact,) = statistic.at(data).influence()
    assert np.abs(found - exact).max() < row.tolerance * np.abs(exact).max()


@every_engine
def test_an_engine_gives_one_centred_array_per_sample(row: EngineRow):
    data = read(SAMPLES)
    statistic = ob.relative_difference(ob.variance)
    found, exact = KNOWN[row.name](statistic.prepared(data), Execution()).values, statistic.at(data).influence()
    for part, closed, n in zip(found, exact, (35, 50), strict=True):
        assert part.shape == (n, 1)
        assert abs(part.mean()) < 1e-12 * np.abs(part).max()
        assert np.abs(part - closed).max() < row.tolerance * np.abs(closed).max()


@every_engine
def test_an_engine_does_not_feel_the_order_of_the_rows(row: EngineRow):
    order = np.random.default_rng(0).permutation(60)
    (found,), (moved,) = (
        KNOWN[row.name](ob.correlation.prepared(read(rows)), Execution()).values for rows in (PAIRS, PAIRS[order])
    )
    np.testing.assert_allclose(moved, found[order], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("statistic", [ob.variance, ob.ratio, ob.correlation], ids=lambda f: f.name)
def test_second_differences_are_the_closed_form_of_the_bias(statistic):
    data = read(PAIRS)
    exact = statistic.at(data).second_order_bias(lambda parts: sum(p.T @ p / len(p) ** 2 for p in parts))
    np.testing.assert_allclose(finite_difference_bias(statistic.prepared(data), Execution()), exact, rtol=1e-5)


def variance_of(x):
    """Return the plug-in variance, quadratic in the shares of the rows, without weights."""
    return float(np.mean((x - x.mean()) ** 2))


def weighted_variance(x, weights):
    mean = np.average(x, weights=weights)
    return float(np.average((x - mean) ** 2, weights=weights))


# Leaving out a row loses no digits of a quadratic; second differences over a step of 1e-4 lose half of them.
FUNCTIONS = {"jackknife": (variance_of, 1e-10), "finite-difference": (weighted_variance, 1e-5)}


@every_engine
def test_an_engine_finds_the_bias_of_a_quadratic_on_the_way(row: EngineRow):
    function, tolerance = FUNCTIONS[row.name]
    x = PAIRS[:, 0]
    found = KNOWN[row.name](as_functional(function, read(x)).prepared(read(x)), Execution())
    assert found.second_order_bias == pytest.approx(-np.var(x) / len(x), rel=tolerance)


@every_engine
@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_the_bias_that_an_engine_finds_takes_noise_away(row: EngineRow):
    """The ratio over these seeds is about one half; over forty its own error is about a tenth."""
    function, x = FUNCTIONS[row.name][0], PAIRS[:, 0]
    errors = {}
    for control in ("linear", "auto"):
        runs = (
            ob.bootstrap(x, function, influence=row.name, n_resamples=10, rng=seed, control=control, method="normal")
            for seed in range(40)
        )
        errors[control] = np.sqrt(np.mean([(run.bias + np.var(x) / len(x)) ** 2 for run in runs]))
    assert errors["auto"] < 0.8 * errors["linear"]


@every_engine
@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_the_bias_that_an_engine_finds_has_the_units_of_the_statistic(row: EngineRow, scale):
    data = read(scale * PAIRS[:, 0])
    bias = KNOWN[row.name](ob.std.prepared(data), Execution()).second_order_bias
    exact = KNOWN[row.name](ob.std.prepared(read(PAIRS[:, 0])), Execution()).second_order_bias
    np.testing.assert_allclose(bias / scale, exact, rtol=1e-3)


def second_order_bias(rows, function, engine="jackknife", **plan):
    """Return what an engine says of the bias of a user's function."""
    data = read(rows)
    prepared = as_functional(function, data).prepared(data)
    return KNOWN[engine](prepared, Execution(), plan_for(data.sizes, **plan)).second_order_bias


def test_the_bias_of_two_samples_is_that_of_both():
    first, second = SAMPLES
    found = second_order_bias(SAMPLES, lambda a, b: variance_of(a) - variance_of(b))
    assert found == pytest.approx(-np.var(first) / len(first) + np.var(second) / len(second), rel=1e-9)


@every_engine
def test_an_output_of_one_of_two_samples_has_its_bias(row: EngineRow):
    def both(a, b, weights=None):
        own = (np.ones(len(a)), np.ones(len(b))) if weights is None else weights
        return np.array([weighted_variance(a, own[0]), weighted_variance(b, own[1])])

    function = both if row.name == "finite-difference" else lambda a, b: both(a, b)
    expected = [-np.var(sample) / len(sample) for sample in SAMPLES]
    np.testing.assert_allclose(second_order_bias(SAMPLES, function, row.name), expected, rtol=1e-5)


def test_the_bias_over_groups_is_exact_for_a_quadratic():
    """Groups of equal size: the variance of their means has the bias ``-var/G``."""
    means = np.random.default_rng(5).normal(size=12)
    rows, groups = np.repeat(means, 3), np.repeat(np.arange(12), 3)
    assert second_order_bias(rows, variance_of, groups=groups) == pytest.approx(-np.var(means) / 12, rel=1e-9)


def test_the_bias_over_unequal_groups_is_that_of_the_catalogue():
    """To leading order in 1/G, so that an eighth apart is what 40 groups of 1 to 8 rows may be."""
    rows, groups = panel()
    exact = ob.bootstrap(rows, ob.variance, groups=groups, estimator="jackknife")
    found = second_order_bias(rows, variance_of, groups=groups)
    assert found == pytest.approx(exact.bias, rel=1 / 8)


@pytest.mark.parametrize("function", [np.var, np.std], ids=["variance", "std"])
def test_a_divisor_of_n_less_one_has_the_bias_of_the_catalogue(function):
    """Leaving out a row changes the divisor too; of order ``1/n`` that is taken out, and ``1/n**2`` is left."""
    x = PAIRS[:, 0]
    known = {np.var: ob.variance, np.std: ob.std}[function].replace(ddof=1)
    exact = ob.bootstrap(x, known, estimator="jackknife")
    found = second_order_bias(x, lambda x: float(function(x, ddof=1)))
    assert found == pytest.approx(exact.bias, abs=3 / len(x) * abs(exact.bias))


def test_what_falls_with_the_root_of_n_has_no_known_bias():
    assert np.isnan(second_order_bias(PAIRS[:, 0], lambda x: float(x.std() / np.sqrt(len(x))))).all()


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_an_untrusted_output_leaves_the_others_their_bias():
    x = np.random.default_rng(1).normal(size=31)
    found = second_order_bias(x, lambda x: np.array([variance_of(x), np.sort(x)[15]]))
    assert found[0] == pytest.approx(-np.var(x) / 31, rel=1e-9)
    assert np.isnan(found[1])
    # What is not known is simulated.
    both = ob.bootstrap(x, lambda x: np.array([variance_of(x), np.sort(x)[15]]), n_resamples=30, rng=0)
    alone = ob.bootstrap(x, lambda x: float(np.sort(x)[15]), n_resamples=30, rng=0, control="linear")
    assert both.bias[1] == pytest.approx(alone.bias, rel=1e-9)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_a_small_kink_does_not_make_the_bias_too_sure():
    """A kink at the median leaves a false bias of tenths of a standard error, and the reported error allows for it.

    With the error of third order alone a fifth to a half of such runs were beyond three, and one in twenty without an
    engine's bias.
    """

    def deviation(x):
        return float(np.abs(x - np.median(x)).mean())

    beyond = []
    for data_seed in range(4):
        x = np.random.default_rng([11, 50, data_seed]).exponential(size=50)
        truth = ob.bootstrap(x, deviation, n_resamples=20_000, rng=0, estimator="standard")
        for seed in range(15):
            run = ob.bootstrap(x, deviation, n_resamples=10, rng=seed, method="normal")
            error = np.hypot(run.simulation_error.bias, truth.simulation_error.bias)
            beyond.append(abs(run.bias - truth.bias) > 3 * error)
    assert np.mean(beyond) <= 0.1


@every_engine
def test_within_strata_an_engine_has_no_bias(row: EngineRow):
    data = read(PAIRS[:, 0])
    plan = plan_for(data.sizes, strata=np.arange(60) % 2)
    assert KNOWN[row.name](ob.variance.prepared(data), Execution(), plan).second_order_bias is None


def test_the_jackknife_trusts_few_biases_of_medians():
    """Leaving out a row of an odd number moves the median by half a gap to one side: n/4 times their difference."""
    samples = np.random.default_rng(1).normal(size=(40, 31))
    found = [second_order_bias(x, lambda x: float(np.sort(x)[len(x) // 2])) for x in samples]
    assert np.mean(np.isfinite(found)) < 0.3  # about a tenth; 40 samples are off by .15 in one case of a thousand


@every_engine
@pytest.mark.parametrize("offset", [1e4, 1e5, 1e6, 1e12])
def test_no_engine_takes_rounding_for_a_bias(row: EngineRow, offset):
    """The geometric mean of rows far from zero is their mean, whose bias is zero."""
    x = offset + np.random.default_rng(2).exponential(size=400)

    def geometric_mean(x, weights=None):
        return float(np.exp(np.average(np.log(x), weights=weights)))

    function = geometric_mean if row.name == "finite-difference" else lambda x: geometric_mean(x)
    found = second_order_bias(x, function, row.name)
    assert np.isnan(found).all() or np.abs(found) < 0.05 * x.std() / 20


def deviation_from_median(x, weights):
    """Return the mean absolute deviation from the median, interpolated: it has a kink where this is a row."""
    order = np.argsort(x)
    ends = np.cumsum(weights[order])
    median = np.interp(0.5, (ends - weights[order] / 2) / ends[-1], x[order])
    return np.average(np.abs(x - median), weights=weights)


@pytest.mark.parametrize("method", ["normal", "abc"])
def test_a_kink_has_no_second_order_bias(method):
    """Second differences over short steps said 70 standard errors."""
    x = np.random.default_rng(3).normal(size=15)
    with pytest.warns(ob.errors.MissingBiasWarning, match="without a kink at the data"):
        result = ob.bootstrap(x, deviation_from_median, estimator="jackknife", method=method)
    low, high = result.confidence_interval
    assert result.bias == 0
    assert abs((low + high) / 2 - result.estimate) < result.standard_error


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_a_large_second_order_bias_is_no_kink():
    x = np.random.default_rng(3).normal(size=15)
    result = ob.bootstrap(x, lambda x, weights: np.exp(5 * np.average(x, weights=weights)), estimator="jackknife")
    assert result.bias == pytest.approx(result.estimate * 25 * x.var() / 30, rel=1e-4)
    assert result.bias > 0.1 * result.standard_error


def weighted_ratio(d, weights):
    x, y = weights @ d
    return x / y


def test_a_weights_aware_function_is_differentiated():
    result = ob.bootstrap(PAIRS, weighted_ratio, rng=0, estimator="paper")
    closed = ob.bootstrap(PAIRS, ob.ratio, rng=0, estimator="paper")
    assert (
        result.influence_source
        == "finite-difference, 120 evaluations (automatic for a weights-aware function of 60 rows)"
    )
    np.testing.assert_allclose(result.influence, closed.influence, rtol=1e-6, atol=1e-9)
    assert result.standard_error == pytest.approx(closed.standard_error, rel=1e-6)
    assert result.estimate == pytest.approx(closed.estimate, rel=1e-13)


def test_a_plain_function_is_jackknifed():
    result = ob.bootstrap(PAIRS, lambda d: d[:, 0].mean() / d[:, 1].mean(), rng=0)
    assert result.influence_source == "jackknife, 60 evaluations (automatic for a plain function of 60 rows)"
    leave_one_out = [np.delete(PAIRS, j, axis=0).mean(axis=0) for j in range(60)]
    expected = 59 * (result.estimate - np.array([x / y for x, y in leave_one_out]))
    np.testing.assert_allclose(result.influence, expected - expected.mean(), rtol=1e-9, atol=1e-12)


def test_the_catalogue_brings_its_own():
    assert ob.bootstrap(PAIRS, ob.ratio, rng=0).influence_source == "closed form of `ratio`"
    assert ob.bootstrap(PAIRS[:, 0], np.var, rng=0).influence_source == "closed form of `variance`"


def test_many_rows_of_a_weights_aware_function_fall_back():
    x = np.ones((1001, 2)) + np.random.default_rng(0).random((1001, 2))
    with pytest.warns(ob.errors.FallbackWarning, match="jackknife would take 1,001 evaluations, more than the 1,000"):
        result = ob.bootstrap(x, weighted_ratio, n_resamples=20, rng=0)
    assert result.estimator == "standard"


@pytest.mark.parametrize(
    ("rows", "options", "source", "evaluations"),
    [
        (500, {}, "finite-difference", 1000),
        (501, {}, "jackknife", 501),
        (1000, {}, "jackknife", 1000),
        (1001, {}, "none", 0),
        (1001, {"n_resamples": 2002}, "finite-difference", 2002),
        (1001, {"estimator": "jackknife"}, "finite-difference", 2002),
    ],
)
def test_no_engine_costs_more_than_the_replicates_it_replaces(rows, options, source, evaluations):
    x = 1 + np.random.default_rng(0).random((rows, 2))
    calls = []

    def counted(x, weights):
        calls.append(1)
        return weighted_ratio(x, weights)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = ob.bootstrap(x, counted, rng=0, **options)
    assert result.influence_source.startswith(source)
    # Besides: on the data, in another order, and on half of them, by weights and by rows. For so many rows the
    # jackknife has no second-order bias.
    assert len(calls) == evaluations + result.n_resamples + 4


def test_an_engine_that_fails_leaves_the_standard_bootstrap():
    def needs_whole_counts(x, weights):
        if (weights != np.round(weights)).any():
            raise TypeError("whole counts only")
        return float(weights @ x)

    with pytest.warns(ob.errors.FallbackWarning, match="since the statistic raised TypeError: whole counts only"):
        result = ob.bootstrap(PAIRS[:, 0], needs_whole_counts, n_resamples=50, rng=0)
    assert result.estimator == "standard"


def test_standard_and_cheap_do_not_pay_for_an_influence_function():
    calls = []

    def statistic(x):
        calls.append(1)
        return x.mean()

    ob.bootstrap(PAIRS[:, 0], statistic, estimator="standard", n_resamples=30, rng=0)
    assert len(calls) == 32  # besides on the data, and on the rows in another order
    calls.clear()
    ob.bootstrap(PAIRS[:, 0], statistic, estimator="cheap", n_resamples=5, rng=0)
    assert len(calls) == 7


def test_an_influence_function_of_the_samples():
    options = {"estimator": "paper", "rng": 0}
    result = ob.bootstrap(PAIRS[:, 0], ob.variance, influence=lambda x: (x - x.mean()) ** 2 - x.var(), **options)
    assert result.influence_source == "given by the user"
    assert result.standard_error == pytest.approx(ob.bootstrap(PAIRS[:, 0], ob.variance, **options).standard_error)


def test_a_vector_of_outputs_is_differentiated_at_once():
    def both(d, weights):
        return weights @ d / weights.sum()

    functional = as_functional(both, read(PAIRS))
    (found,) = KNOWN["finite-difference"](functional.prepared(read(PAIRS)), Execution()).values
    np.testing.assert_allclose(found, PAIRS - PAIRS.mean(axis=0), atol=1e-8)


# What is drawn is left out


def panel(seed=3):
    generator = np.random.default_rng(seed)
    groups = np.repeat(np.arange(40), generator.integers(1, 9, 40))
    return generator.normal(size=len(groups)) + 2 * generator.normal(size=40)[groups], groups


def test_groups_are_left_out_where_groups_are_drawn():
    """A mean of group means does not change much without one row of a group, but without the group."""
    x, groups = panel()
    rows = np.column_stack([groups, x])

    def mean_of_means(rows):
        return float(np.mean([rows[rows[:, 0] == g, 1].mean() for g in np.unique(rows[:, 0])]))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = pd.DataFrame({"g": groups, "x": x})
        result = ob.bootstrap(
            frame, lambda d: mean_of_means(d[["g", "x"]].to_numpy()), groups="g", estimator="jackknife", rng=0
        )
    means = np.array([x[groups == g].mean() for g in range(40)])
    assert result.influence_source.startswith("jackknife, groups left out, 40 evaluations")
    # Of a mean of 40 values the jackknife's influence values are exact.
    assert result.standard_error == pytest.approx(means.std() / np.sqrt(40), rel=1e-9)
    assert mean_of_means(rows) == pytest.approx(means.mean())


def test_groups_left_out_agree_with_the_closed_form():
    x, groups = panel()
    options = {"groups": groups, "estimator": "jackknife", "rng": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact, left_out = (ob.bootstrap(x, f, **options).standard_error for f in (ob.mean, lambda x: x.mean()))
    # A mean of groups of unequal size is a quotient; leaving one of 40 out differs from its derivative by about 1/40.
    assert left_out == pytest.approx(exact, rel=0.05)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.MissingBiasWarning")
@pytest.mark.parametrize("options", [{"estimator": "jackknife"}, {"method": "bca"}])
def test_groups_and_not_rows_limit_the_jackknife_over_groups(options):
    groups = np.repeat(np.arange(25), 200)
    x = np.random.default_rng(3).normal(size=5000) + groups / 10
    calls = []

    def counted(x):
        calls.append(1)
        return x.mean()

    result = ob.bootstrap(x, counted, groups=groups, rng=0, **options)
    assert result.influence_source.startswith("jackknife, groups left out, 25 evaluations")
    assert len(calls) < 100
    closed = ob.bootstrap(x, ob.mean, groups=groups, estimator="jackknife")
    assert np.sqrt(result.jackknife_variance) == pytest.approx(closed.standard_error, rel=0.05)
