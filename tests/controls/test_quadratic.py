"""The quadratic part of functions of means: exact moments by enumeration, and what it does for the answer."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest

import orthoboot as ob
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ArgumentError
from orthoboot.warning_scopes import silenced

RNG = np.random.default_rng(3)
ROWS = RNG.gamma(2.0, size=(6, 2))
STRATA = [0, 0, 0, 1, 1, 1]
GROUPS = [0, 1, 1, 2, 2, 2]


def bag_counts(size):
    """All counts of `size` draws from as many units, with their probabilities."""
    for counts in itertools.product(range(size + 1), repeat=size):
        if sum(counts) == size:
            yield counts, math.factorial(size) / math.prod(map(math.factorial, counts)) / size**size


def all_resamples(plan):
    """Every resample of six rows under a plan, with its probability."""
    if plan == "strata":
        pairs = itertools.product(bag_counts(3), repeat=2)
        return [((*first, *second), p * q) for (first, p), (second, q) in pairs]
    if plan == "groups":
        return [([counts[group] for group in GROUPS], p) for counts, p in bag_counts(3)]
    return list(bag_counts(6))


OPTIONS = {"rows": {}, "strata": {"strata": STRATA}, "groups": {"groups": GROUPS}}
STATISTICS = {
    "ratio": ob.ratio,
    "variance": ob.variance,
    "correlation": ob.correlation,
    "skewness": ob.skewness,
    "user": ob.function_of_means(lambda x: x, lambda m: np.exp(m[0] / 4) * m[1]),
}


def result_of(statistic, rows=ROWS, **options):
    with silenced():
        return ob.bootstrap(rows, statistic, n_resamples=4, rng=0, control="quadratic", **options)


@pytest.mark.parametrize("plan", OPTIONS)
@pytest.mark.parametrize("statistic", STATISTICS)
def test_the_moments_are_those_of_all_resamples(statistic, plan):
    run = result_of(STATISTICS[statistic], **OPTIONS[plan]).run
    counts, probabilities = map(np.array, zip(*all_resamples(plan), strict=True))
    resamples = Resamples((counts.astype(float),))
    found = run.control.on(resamples, run.linear(resamples), np.zeros((len(resamples), len(run.estimate))))
    scale = np.sqrt(found.variance)
    np.testing.assert_allclose(probabilities @ (found.values / scale), 0, atol=1e-9)
    exact = (probabilities[:, None] * found.values).T @ found.values
    np.testing.assert_allclose(found.covariance(), exact, rtol=1e-7, atol=1e-9 * float(scale.max()) ** 2)
    np.testing.assert_allclose(found.variance, np.diag(exact), rtol=1e-7)
    np.testing.assert_allclose(found.mean, run.second_order_bias, rtol=1e-6)


@pytest.mark.parametrize("plan", ["rows", "strata"])
def test_a_variance_is_its_quadratic_part(plan):
    """It is quadratic in two means, so that nothing is left to simulate but rounding."""
    result = result_of(ob.variance, **OPTIONS[plan])
    counts, probabilities = map(np.array, zip(*all_resamples(plan), strict=True))
    values = result.run.prepared.values(Resamples((counts.astype(float),)))
    mean = probabilities @ values
    np.testing.assert_allclose(result.variance, probabilities @ (values - mean) ** 2, rtol=1e-9)
    np.testing.assert_allclose(result.bias, mean - result.estimate, rtol=1e-9)
    np.testing.assert_allclose(result.r_squared, 1, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-100, 1e-3, 1e150])
def test_units_do_not_matter(scale):
    ours, theirs = (result_of(ob.std, rows) for rows in (ROWS, scale * ROWS))
    for name in ("bias", "standard_error"):
        np.testing.assert_allclose(getattr(theirs, name) / scale, getattr(ours, name), rtol=1e-6)
    np.testing.assert_allclose(theirs.r_squared, ours.r_squared, rtol=1e-6)


def test_constant_columns_do_not_disturb():
    rows = np.column_stack([ROWS[:, 0], np.full(6, 3.0)])
    both, alone = result_of(ob.variance, rows), result_of(ob.variance, ROWS[:, 0])
    np.testing.assert_allclose(both.variance, [alone.variance, 0], rtol=1e-9)


def lognormal_pairs(seed, n):
    return np.exp(np.random.default_rng(seed).multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], size=n))


def test_it_comes_nearer_than_the_linear_part():
    """Relative errors of ten replicates over 200 seeds, with a margin of four standard errors of their ratio."""
    data = lognormal_pairs(5, 200)
    truth = ob.bootstrap(data, ob.correlation, n_resamples=20_000, rng=1).variance
    errors = {}
    for control in ("linear", "quadratic"):
        with silenced():
            many = ob.bootstrap(data, ob.correlation, n_resamples=2000, rng=2, control=control)
            parts = [many.with_estimator("orthogonal", slice(start, start + 10)) for start in range(0, 2000, 10)]
        errors[control] = np.sqrt(np.mean([(part.variance / truth - 1) ** 2 for part in parts]))
    assert errors["quadratic"] < errors["linear"] * (1 - 4 / np.sqrt(2 * 200))


def test_the_error_of_the_bias_falls_with_the_third_power_of_n():
    """The simulation variance of mean(P - L - Q), beyond the paper's theorem, which has the second power for L."""
    sizes, variances = (50, 200, 800), []
    for n in sizes:
        runs = [
            ob.bootstrap(np.random.default_rng([n, seed]).exponential(size=(n, 2)), ob.ratio, n_resamples=5, rng=0).run
            for seed in range(20)
        ]
        variances.append(np.mean([remainder_variance(run) for run in runs]))
    slope = np.polyfit(np.log(sizes), np.log(variances), 1)[0]
    assert slope == pytest.approx(-3, abs=0.2)


def remainder_variance(run):
    resamples = run.resamples(range(1000))
    values = run.prepared.values(resamples)
    control = run.control.on(resamples, run.linear(resamples), values - run.estimate)
    return float(np.var(values - control.values))


def test_the_third_order_has_its_closed_form():
    """For the exponential of a mean all derivatives are equal, and delta_3 is half of the variance of the mean."""
    x = RNG.gamma(2.0, size=40)
    control = result_of(ob.function_of_means(lambda x: x[:, None], lambda m: np.exp(m[0])), x).run.control
    np.testing.assert_allclose(control.third, x.var() / 80, rtol=1e-3)


@pytest.mark.parametrize("statistic", [ob.mean, ob.variance])
def test_what_has_no_third_order_has_none(statistic):
    np.testing.assert_array_equal(result_of(statistic, ROWS[:, 0]).run.control.third, 0)


SKEWED = np.random.default_rng(4).gamma(1.0, size=(40, 2))
NORMAL = np.random.default_rng(4).multivariate_normal([5, 3], [[1, 0.5], [0.5, 1]], size=40)


@pytest.mark.parametrize(
    ("statistic", "data"), [(ob.ratio, SKEWED), (ob.std, SKEWED), (ob.correlation, NORMAL)], ids=["ratio", "std", "r"]
)
def test_the_slope_on_it_is_one_to_third_order(statistic, data):
    """Without the part of third order that moves with L the slopes are 1.04 to 1.15."""
    with silenced():
        result = ob.bootstrap(data, statistic, n_resamples=20_000, rng=0, control="quadratic", method="normal")
    np.testing.assert_allclose(result.slope, 1, atol=0.015)


def test_auto_takes_it_where_it_is_cheap():
    with silenced():
        small = ob.bootstrap(ROWS[:, 0], ob.std, n_resamples=10, rng=0)
        median = ob.bootstrap(np.arange(30.0), ob.median, n_resamples=30, rng=0)
        large = ob.bootstrap(np.random.default_rng(0).exponential(size=2_000_000), ob.std, n_resamples=3, rng=0)
        given = ob.bootstrap(ROWS[:, 0], ob.mean, influence=lambda x: x - x.mean(), n_resamples=5, rng=0)
    assert small.run.control.name == "quadratic"
    assert median.run.control is None
    assert large.run.control is None
    assert given.run.control is None


@pytest.mark.parametrize(("statistic", "data"), [(ob.mean, ROWS), (ob.mae, (ROWS[:, 0], ROWS[:, 1]))])
def test_a_linear_statistic_needs_none(statistic, data):
    options = {"n_resamples": 10, "rng": 0, "paired": isinstance(data, tuple)}
    with silenced():
        automatic = ob.bootstrap(data, statistic, **options)
        asked = ob.bootstrap(data, statistic, control="quadratic", **options)
    assert automatic.control == "linear"
    assert asked.control == "quadratic"
    for name in ("bias", "standard_error", "confidence_interval"):
        np.testing.assert_allclose(getattr(automatic, name), getattr(asked, name), rtol=1e-9, atol=1e-12)


def test_the_paper_and_the_others_do_not_use_it():
    for estimator in ("paper", "standard", "cheap"):
        with silenced():
            numbers = [
                ob.bootstrap(ROWS[:, 0], ob.std, n_resamples=8, rng=0, estimator=estimator, control=control).variance
                for control in ("linear", "auto")
            ]
        assert numbers[0] == numbers[1]


def test_another_estimator_finds_the_control_that_was_asked_for():
    with silenced():
        first = ob.bootstrap(ROWS[:, 0], ob.std, n_resamples=8, rng=0, estimator="standard", control="linear")
        direct = ob.bootstrap(ROWS[:, 0], ob.std, n_resamples=8, rng=0)
        paper = ob.bootstrap(ROWS[:, 0], ob.std, n_resamples=8, rng=0, estimator="paper")
        assert first.with_estimator("orthogonal").run.control is None
        assert paper.with_estimator("orthogonal").variance == direct.variance


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"control": "cubic"}, "`control` must be"),
        ({"control": "quadratic", "block_length": 3}, "drawn independently"),
        ({"control": "quadratic", "influence": "jackknife"}, "own influence function"),
        ({"control": "surrogate"}, "fitted models"),
        ({"control": "quadratic", "estimator": "paper"}, "is for estimator"),
    ],
)
def test_what_is_not_possible_is_refused(options, words):
    with pytest.raises(ArgumentError, match=words):
        ob.bootstrap(RNG.gamma(2.0, size=30), ob.std, rng=0, **options)


def test_outputs_that_different_controls_know_keep_their_covariance():
    """A mean is linear, so that its control counts a half; a variance is quadratic, and its control counts all."""
    both = ob.function_of_means(lambda x: np.column_stack([x, x**2]), lambda m: np.stack([m[0], m[1] - m[0] ** 2]))
    x = np.random.default_rng(1).exponential(size=60)
    with silenced():
        result = ob.bootstrap(x, both, n_resamples=20, rng=0)
        many = ob.bootstrap(x, both, n_resamples=20_000, rng=1, estimator="standard")
    found, truth = (each.covariance[0, 1] / np.sqrt(np.prod(np.diag(each.covariance))) for each in (result, many))
    # The standard error of a correlation r of 20,000 is (1 - r**2) / 141; of ours a few hundredths.
    assert found == pytest.approx(truth, abs=0.05)
    np.testing.assert_allclose(np.diag(result.covariance), result.variance, rtol=1e-12)
    assert np.linalg.eigvalsh(result.covariance).min() > 0


def test_a_result_survives_pickle():
    result = result_of(ob.ratio)
    again = pickle.loads(pickle.dumps(result))
    with silenced():
        assert again.extend(3).variance == result.extend(3).variance
    np.testing.assert_array_equal(again.covariance, result.covariance)


def test_no_bias_is_believed_where_nothing_varies_to_that_order():
    """A correlation of one has no derivative, and resamples without the far row are far below it."""
    rows = np.random.default_rng(0).standard_normal((50, 2))
    rows[3] = 1e12
    with silenced():
        result = ob.bootstrap(rows, ob.correlation, n_resamples=30, rng=0)
    assert result.bias == pytest.approx(np.mean(result.bootstrap_distribution) - 1, rel=1e-9)


def test_a_median_has_none():
    with pytest.raises(ArgumentError, match="smooth functions of means"):
        ob.bootstrap(ROWS[:, 0], ob.median, rng=0, control="quadratic")
