"""Values that R's package boot printed, and the exact bootstrap by enumeration.

City, bigcity, aircondit and gravity are data sets of boot 1.3-28.1, run with R 4.2.2. The exact bootstrap weights all
distinct resamples (92,378 for city, 1,352,078 for aircondit) by their multinomial probability.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples

# ratio <- function(d, w) sum(d$x * w)/sum(d$u * w); empinf(data = city, statistic = ratio)
CITY_INFLUENCE = [
    -1.04367815,
    -0.58417763,
    -0.37092459,
    -0.18958996,
    0.03164142,
    0.10544878,
    0.09236345,
    0.20365074,
    1.02178280,
    0.73381132,
]


@pytest.fixture(scope="module")
def city_jackknife(city):
    return ob.bootstrap(city, ob.ratio, estimator="jackknife", method="abc", confidence_level=0.9)


def test_city_estimate(city_jackknife):
    assert city_jackknife.estimate == 1.5203125


def test_city_influence_is_the_limit_of_the_difference_that_r_prints(city):
    """R's empinf takes a one-sided difference with epsilon 0.001/n; so taken, our ratio gives its digits."""
    n = len(city)
    epsilon = 0.001 / n
    weights = np.full((n, n), (1 - epsilon)) + epsilon * n * np.eye(n)
    data = read(city)
    one_sided = (ob.ratio.at(data).values(Resamples((weights,)))[:, 0] - ob.ratio(city)) / epsilon
    np.testing.assert_allclose(one_sided, CITY_INFLUENCE, atol=5e-9)
    # The closed form is its limit: the difference is half the second derivative times epsilon.
    exact = ob.ratio.at(data).influence()[0][:, 0]
    np.testing.assert_allclose(exact, CITY_INFLUENCE, atol=2e-4)
    assert (one_sided**2).sum() / n**2 == pytest.approx(0.03248701, abs=5e-9)


def test_city_infinitesimal_jackknife(city_jackknife):
    # R's 0.1802415 is from the one-sided differences above, which move it by 2e-6.
    assert city_jackknife.standard_error == pytest.approx(0.1802415, abs=3e-6)
    assert city_jackknife.jackknife_variance == pytest.approx(0.03248701, abs=1e-6)


def test_city_delete_one_jackknife(city):
    result = ob.bootstrap(city, lambda d: d[:, 0].mean() / d[:, 1].mean(), influence="jackknife", rng=0)
    n = len(city)
    assert np.sqrt((result.influence**2).sum() / (n * (n - 1))) == pytest.approx(0.1947909936, abs=1e-10)
    leave_one_out = np.array([np.delete(city, j, axis=0).mean(axis=0) for j in range(n)])
    bias = (n - 1) * ((leave_one_out[:, 0] / leave_one_out[:, 1]).mean() - result.estimate)
    assert bias == pytest.approx(0.0382872154, abs=1e-10)


def test_city_third_cumulant_of_the_linear_part(city):
    result = ob.bootstrap(city, ob.ratio, rng=0)
    scale = 6 * result.jackknife_variance**1.5
    exact = scale * result.run.acceleration[0]
    assert exact == pytest.approx(7.7603339627878049e-05, rel=1e-10)  # k3.linear in tests/r/control.R
    # R's 7.831452e-05 is the cubes of its one-sided differences, which nearly cancel.
    one_sided = np.array(CITY_INFLUENCE)[:, None]
    assert (one_sided**3).sum() / len(city) ** 3 == pytest.approx(7.831452e-05, rel=1e-6)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_the_acceleration_has_no_units(scale):
    x = np.random.default_rng(0).exponential(size=40)
    plain, scaled = (ob.bootstrap(factor * x, ob.std, n_resamples=5, rng=0) for factor in (1.0, scale))
    np.testing.assert_allclose(scaled.run.acceleration, plain.run.acceleration, rtol=1e-9)


def test_city_abc_with_the_jackknife_bias_gives_the_digits_of_r(city_jackknife):
    np.testing.assert_allclose(city_jackknife.confidence_interval, (1.293672, 1.948801), atol=5e-7)
    np.testing.assert_allclose(city_jackknife.interval(0.95), (1.261824, 2.078085), atol=5e-7)


def test_bigcity_abc_gives_the_digits_of_r(load):
    result = ob.bootstrap(load("bigcity"), ob.correlation, estimator="jackknife", method="abc")
    np.testing.assert_allclose(result.interval(0.9), (0.95815, 0.99173), atol=5e-6)
    np.testing.assert_allclose(result.interval(0.95), (0.94937, 0.99307), atol=5e-6)


def test_aircondit_mean(load):
    result = ob.bootstrap(load("aircondit"), ob.mean, estimator="jackknife", method="abc", confidence_level=0.9)
    assert result.estimate == pytest.approx(108.0833333, abs=5e-8)
    assert result.standard_error == pytest.approx(37.65255236, abs=5e-9)
    assert result.bias == pytest.approx(0, abs=1e-9)
    a = result.run.acceleration[0]
    assert a == pytest.approx(0.0937980739, abs=5e-11)
    # abc.ci(aircondit$hours, function(y, w) sum(y * w), conf = 0.9, eps = 0.1/12): 63.57491257 201.5466915. With R's
    # default eps = 0.001/12 the second differences of a linear statistic are rounding alone, divided by eps^2.
    np.testing.assert_allclose(result.confidence_interval, (63.57491257, 201.5466915), atol=5e-8)
    np.testing.assert_allclose(result.confidence_interval, (63.574914, 201.546696), atol=5e-6)


@pytest.fixture(scope="module")
def gravity(load):
    rows = load("gravity")
    return rows[rows[:, 1] == 7, 0], rows[rows[:, 1] == 8, 0]


def test_gravity_difference_of_means(gravity):
    result = ob.bootstrap(gravity, ob.difference(ob.mean), estimator="jackknife", method="abc")
    assert result.estimate == pytest.approx(-2.8462, abs=5e-5)
    pooled = (13 * ob.variance(gravity[0]) + 13 * ob.variance(gravity[1])) / 24
    assert pooled == pytest.approx(16.8462, abs=5e-5)
    # The statistic is linear, so bias and curvature vanish and the end is sigma w/(1 - a w)^2 from the estimate, in
    # closed form. abc.ci(grav1, mean.diff, strata = grav1$series, eps = 0.1/26): -6.707564558 -0.3939311591. With R's
    # default eps = 0.001/26 rounding shows (its example marks the digits as not comparable across machines).
    sigma = result.standard_error
    a = result.run.acceleration[0]
    for end, z in zip(result.confidence_interval, (-1.959963984540054, 1.959963984540054), strict=True):
        w = a + z
        assert end == pytest.approx(result.estimate + sigma * w / (1 - a * w) ** 2, abs=1e-8)
    np.testing.assert_allclose(result.confidence_interval, (-6.707564558, -0.3939311591), atol=1e-8)
    np.testing.assert_allclose(result.confidence_interval, (-6.70758, -0.39394), atol=2e-5)


@pytest.mark.parametrize("estimator", ["standard", "paper", "orthogonal"])
def test_gravity_by_simulation(gravity, estimator):
    """R's stratified bootstrap with R = 999 printed bias 0.0075 and se 1.5528: Monte Carlo values themselves."""
    result = ob.bootstrap(gravity, ob.difference(ob.mean), estimator=estimator, n_resamples=2000, rng=1)
    # se: sd of R's is 1.5528/sqrt(2 * 999) = 0.035, ours at most 0.025; three of both together.
    assert abs(result.standard_error - 1.5528) < 3 * np.hypot(0.035, result.simulation_error.standard_error)
    assert abs(result.bias - 0.0075) < 3 * np.hypot(1.55 / np.sqrt(999), result.simulation_error.bias)


@pytest.mark.parametrize("estimator", ["standard", "paper", "orthogonal"])
def test_city_against_the_exact_bootstrap(city, estimator):
    result = ob.bootstrap(city, ob.ratio, estimator=estimator, n_resamples=2000, rng=0)
    # Three reported simulation errors: odds of failure below 1 in 300 for each line.
    assert abs(result.bias - 0.0394736000) < 3 * result.simulation_error.bias
    assert abs(result.standard_error - 0.2214980530) < 3 * result.simulation_error.standard_error


@pytest.mark.parametrize("estimator", ["standard", "paper", "orthogonal"])
def test_aircondit_against_the_exact_bootstrap(load, estimator):
    result = ob.bootstrap(load("aircondit"), ob.mean, estimator=estimator, n_resamples=2000, rng=0)
    assert abs(result.bias) <= 3 * result.simulation_error.bias + 1e-12
    assert abs(result.standard_error - 37.65255236) <= 3 * result.simulation_error.standard_error + 1e-8


def test_city_abc_with_the_simulated_bias_is_within_its_simulation_error(city, city_jackknife):
    """The simulated bias estimates the exact bootstrap's, so ABC at that bias is what the ends must be near."""
    result = ob.bootstrap(city, ob.ratio, method="abc", confidence_level=0.9, n_resamples=2000, rng=0)
    exact = dataclasses.replace(city_jackknife.replicates, second_order_bias=np.array([0.0394736000]))
    expected = dataclasses.replace(city_jackknife, replicates=exact).confidence_interval
    for end, reference, error in zip(result.confidence_interval, expected, result.simulation_error[2:], strict=True):
        assert abs(end - reference) < 3 * error


@pytest.mark.parametrize(
    ("name", "level", "method", "expected"),
    [
        ("city", 0.9, "percentile", (1.285714, 1.968045)),
        ("city", 0.9, "bca", (1.282633, 1.956720)),
        ("city", 0.95, "bca", (1.246787, 2.088825)),
        ("aircondit", 0.9, "percentile", (53.333333, 175.916667)),
        ("aircondit", 0.9, "bca", (62.833333, 202.25)),
    ],
)
@pytest.mark.parametrize("estimator", ["standard", "orthogonal"])
def test_percentile_and_bca_approach_the_exact_bootstrap(city, load, name, level, method, expected, estimator):
    data, statistic = (city, ob.ratio) if name == "city" else (load("aircondit"), ob.mean)
    # The reference took the acceleration from the delete-one jackknife.
    result = ob.bootstrap(
        data,
        statistic,
        method=method,
        confidence_level=level,
        estimator=estimator,
        influence="jackknife",
        n_resamples=5000,
        rng=0,
    )
    # The saddlepoint is a continuous approximation of a discrete law: it may be off by 1.5% of a standard error.
    slack = 0.015 * result.standard_error if estimator == "orthogonal" else 0.0
    for end, reference, error in zip(result.confidence_interval, expected, result.simulation_error[2:], strict=True):
        assert abs(end - reference) < 3.5 * error + slack
