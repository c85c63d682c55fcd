from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial.hermite_e import hermeval, hermevander
from scipy.special import ndtr, ndtri

from orthoboot.errors import ArgumentError
from orthoboot.estimators import prior_replicates
from orthoboot.intervals.laws.control import ControlDistribution
from orthoboot.intervals.laws.replicated import bca_levels
from orthoboot.intervals.laws.saddlepoint import LinearDistribution
from orthoboot.plans.base import Draws

ENDS = np.array([0.025, 0.975])


class Ratio:
    """The ratio mean(x) / mean(u) with its influence function and the law of its linear part."""

    def __init__(self, x, u):
        self.x, self.u = x, u
        self.estimate = x.mean() / u.mean()
        self.influence = (x - self.estimate * u) / u.mean()
        self.law = LinearDistribution([Draws(len(x), self.influence / len(x))])

    def replicates(self, rng, size):
        """phi_b and linear_b of `size` resamples."""
        n = len(self.x)
        weights = rng.multinomial(n, np.full(n, 1 / n), size=size).astype(float)
        return (weights @ self.x) / (weights @ self.u), weights @ self.influence / n

    def control(self, rng, size):
        return ControlDistribution(self.estimate, *self.replicates(rng, size), self.law)


@pytest.fixture(scope="module")
def ratio():
    rng = np.random.default_rng(1)
    return Ratio(rng.exponential(size=50), rng.exponential(size=50))


@pytest.fixture(scope="module")
def exhaustive(ratio):
    """phi over 400,000 resamples."""
    return ratio.replicates(np.random.default_rng(2), 400_000)[0]


@pytest.mark.parametrize("size", [5, 6, 10, 25, 100, 1000])
def test_a_linear_statistic_has_the_quantiles_of_its_linear_part(size, ratio):
    linear = ratio.replicates(np.random.default_rng(size), size)[1]
    phi = ControlDistribution(3.0, 3.0 + linear, linear, ratio.law)
    p = np.array([1e-12, 1e-6, 0.005, 0.025, 0.5, 0.975, 0.995, 1 - 1e-6, 1 - 1e-12])
    np.testing.assert_allclose(phi.quantile(p), 3.0 + ratio.law.quantile(p), rtol=1e-12)


def test_a_linear_statistic_has_the_cdf_of_its_linear_part(ratio):
    linear = ratio.replicates(np.random.default_rng(3), 10)[1]
    phi = ControlDistribution(3.0, 3.0 + linear, linear, ratio.law)
    x = np.array([-0.4, -0.1, 0.0, 0.2])
    # The law is straight between scores 1/16 apart: 1/16**2 / 8 of a curvature of about 0.1.
    np.testing.assert_allclose(phi.cdf(3.0 + x), ratio.law.cdf(x), atol=1e-4)


def test_the_mean_of_the_linear_law_does_not_matter(ratio):
    values, linear = ratio.replicates(np.random.default_rng(4), 12)
    shifted = LinearDistribution([Draws(50, (ratio.influence + 7.0) / 50)])
    expected = ControlDistribution(ratio.estimate, values, linear, ratio.law).quantile(ENDS)
    np.testing.assert_allclose(ControlDistribution(ratio.estimate, values, linear, shifted).quantile(ENDS), expected)


@settings(max_examples=25, deadline=None)
@given(shift=st.floats(-50, 50), scale=st.floats(0.01, 50), size=st.sampled_from([5, 10, 21, 50]))
def test_quantiles_move_and_stretch_with_phi(shift, scale, size, ratio):
    values, linear = ratio.replicates(np.random.default_rng(5), size)
    law = LinearDistribution([Draws(50, scale * ratio.influence / 50)])
    moved = ControlDistribution(shift + scale * ratio.estimate, shift + scale * values, scale * linear, law)
    expected = shift + scale * ControlDistribution(ratio.estimate, values, linear, ratio.law).quantile(ENDS)
    np.testing.assert_allclose(moved.quantile(ENDS), expected, rtol=1e-6, atol=1e-6 * scale)


@pytest.mark.parametrize("size", [9, 10, 64, 441])
def test_the_opposite_statistic_has_the_opposite_quantiles(size, ratio):
    values, linear = ratio.replicates(np.random.default_rng(6), size)
    law = LinearDistribution([Draws(50, -ratio.influence / 50)])
    opposite = ControlDistribution(-ratio.estimate, -values, -linear, law)
    expected = ControlDistribution(ratio.estimate, values, linear, ratio.law).quantile(ENDS)
    np.testing.assert_allclose(-opposite.quantile(1 - ENDS), expected, rtol=1e-9)


def test_the_order_of_the_replicates_does_not_matter(ratio):
    values, linear = ratio.replicates(np.random.default_rng(7), 40)
    order = np.random.default_rng(8).permutation(40)
    shuffled = ControlDistribution(ratio.estimate, values[order], linear[order], ratio.law)
    expected = ControlDistribution(ratio.estimate, values, linear, ratio.law).quantile(ENDS)
    np.testing.assert_allclose(shuffled.quantile(ENDS), expected, rtol=1e-9)


@pytest.mark.parametrize("size", [2000, 10_000])
def test_with_many_replicates_the_quantiles_tend_to_those_of_the_bootstrap(size, ratio, exhaustive):
    for p, end in zip(ENDS, ratio.control(np.random.default_rng(9), size).quantile(ENDS), strict=True):
        # Four standard errors of the plain bootstrap's quantile with as many replicates: odds of failure 1e-4 per end
        # if the control were useless, and it is not.
        assert np.mean(exhaustive < end) == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / size))


def test_with_many_replicates_residuals_may_spread_as_the_linear_part_grows(ratio):
    def replicates(rng, size):
        linear = ratio.replicates(rng, size)[1]
        spread = 0.3 * np.exp(linear / ratio.law.variance**0.5)
        return linear * (1 + spread * rng.normal(size=size)), linear

    exhaustive = replicates(np.random.default_rng(19), 400_000)[0]
    ends = ControlDistribution(0.0, *replicates(np.random.default_rng(20), 5000), ratio.law).quantile(ENDS)
    for p, end in zip(ENDS, ends, strict=True):
        # Four standard errors of the plain quantile, as above; one spread for all would miss by five.
        assert np.mean(exhaustive < end) == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / 5000))


def test_a_useless_influence_function_does_no_harm_with_many_replicates(ratio, exhaustive):
    values, _ = ratio.replicates(np.random.default_rng(10), 5000)
    noise = 3 * np.random.default_rng(11).permutation(ratio.replicates(np.random.default_rng(12), 5000)[1])
    law = LinearDistribution([Draws(50, 3 * ratio.influence / 50)])
    for p, end in zip(ENDS, ControlDistribution(ratio.estimate, values, noise, law).quantile(ENDS), strict=True):
        # Five standard errors of the plain quantile: one more than above, since the neighbourhoods of 70 replicates
        # smear what the curve cannot explain (odds of failure below 1e-4).
        assert np.mean(exhaustive < end) == pytest.approx(p, abs=5 * np.sqrt(p * (1 - p) / 5000))


def literal_points(phi, per_residual):
    """Equally probable values of phi: those of L in turn with the residuals of the replicates that are nearest."""
    scale, size = float(phi.distribution.scale), len(phi.values)
    window = min(size, max(20, 2 * (int(size**0.5) // 2)))
    order = np.argsort(phi.linear)
    z = phi.linear[order] / scale
    residuals = (phi.values[order] - phi.estimate) / scale - z
    basis = hermevander(z, 3)
    centred, changes = z - z.mean(), z + residuals - (z + residuals).mean()
    rest = changes - centred
    sums = (changes @ changes, rest @ rest, rest @ centred, centred @ centred)
    prior = prior_replicates(size, *(np.array([each]) for each in sums))[0]
    gram = basis.T @ basis + np.diag([0.0, prior, 4.0, 30.0])
    coefficients = np.linalg.solve(gram, basis.T @ residuals)
    used = np.trace(np.linalg.solve(gram, basis.T @ basis))
    remainder = (residuals - basis @ coefficients) * np.sqrt(size / (size - used))
    p = (np.arange(per_residual * window) + 0.5) / (per_residual * window)
    law = (phi.distribution.quantile(p) - phi.distribution.mean) / scale
    first = np.clip(np.searchsorted(z, law) - window // 2, 0, size - window)
    taken = remainder[first + np.arange(len(law)) % window]
    return phi.estimate + scale * (law + hermeval(law, coefficients) + taken)


@pytest.mark.parametrize("size", [5, 6, 10, 20, 21, 25, 50, 399, 1000])
def test_quantiles_are_those_of_points_with_the_residuals_of_their_neighbours_in_turn(size, ratio):
    phi = ratio.control(np.random.default_rng([21, size]), size)
    p = np.array([0.025, 0.2, 0.5, 0.8, 0.975])
    points = literal_points(phi, 2**15)
    # Where L passes a replicate, the points of the residuals that come and go are off by one in 2**15, so that each of
    # these has a probability of up to that too much: 2**-15 / 0.058 = 5e-4 standard deviations in the tail of 0.025.
    # G is straight between scores 1/16 apart, which costs 5e-4 of its curvature; its turning back is not followed.
    np.testing.assert_allclose(phi.quantile(p), np.quantile(points, p), atol=2e-3 * float(phi.distribution.scale))


@pytest.mark.parametrize("size", [5, 10, 100, 1000])
def test_quantiles_keep_moving_and_the_cdf_keeps_its_digits_far_out(size, ratio):
    phi = ratio.control(np.random.default_rng([22, size]), size)
    tails = np.array([1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2])
    low, high = phi.quantile(tails), phi.quantile(1 - tails)
    assert np.all(np.diff(low) > 0)
    assert np.all(np.diff(high) < 0)
    # Far out the law is straight between scores 1/4 apart, which costs up to 1/4**2 / 8 of its curvature, times a score
    # of 7 for the logarithm of the tail.
    np.testing.assert_allclose(phi.cdf(low), tails, rtol=0.1)


def test_at_the_level_0_999_a_thousand_replicates_are_near_four_hundred_thousand(ratio, exhaustive):
    ends = [ratio.control(np.random.default_rng([23, seed]), 1000).quantile([0.0005, 0.9995]) for seed in range(5)]
    low, high = np.median(ends, axis=0)
    # Ordinary replicates would have their extremes here, which leave 0.001 beyond them, give or take as much. The
    # neighbourhoods smear the tail that is cut off by zero: it has two to three times its probability.
    assert 0.00025 < np.mean(exhaustive < low) < 0.002
    assert 0.00025 < np.mean(exhaustive > high) < 0.001


def test_sets_of_replicates_and_outputs_are_answered_one_by_one(ratio):
    """A linear, a curved and a constant output of 30 and of 12 replicates, in two sets."""
    constant = np.zeros(50)
    influence = np.stack([ratio.influence, 2 * ratio.influence, constant], axis=1)
    law = LinearDistribution([Draws(50, influence / 50)])
    estimate = np.array([1.0, ratio.estimate, 3.0])
    for size in (30, 12):
        values, linear = ratio.replicates(np.random.default_rng([24, size]), 2 * size)
        changes = np.stack([linear, values - ratio.estimate, values - ratio.estimate], axis=1)
        values, linear = (estimate + changes).reshape(size, 2, 3), np.stack([linear, 2 * linear, 0 * linear], 1)
        linear = linear.reshape(size, 2, 3)
        together = ControlDistribution(estimate, values, linear, law)
        for i, j in np.ndindex(2, 3):
            one = LinearDistribution([Draws(50, influence[:, j] / 50)])
            alone = ControlDistribution(estimate[j], values[:, i, j], linear[:, i, j], one)
            levels = ENDS[:, np.newaxis, np.newaxis]
            np.testing.assert_allclose(together.quantile(levels)[:, i, j], alone.quantile(ENDS), rtol=1e-9)
            np.testing.assert_allclose(together.cdf(estimate)[i, j], alone.cdf(estimate[j]), rtol=1e-9)


def rmse(ends, exhaustive):
    """Root mean squared error of both ends, in standard deviations of phi."""
    return np.sqrt(np.mean((ends - np.quantile(exhaustive, ENDS)) ** 2, axis=0)) / exhaustive.std()


def test_ten_replicates_beat_fifty_plain_ones_on_a_ratio(ratio, exhaustive):
    rng = np.random.default_rng(13)
    few = np.array([ratio.control(rng, 10).quantile(ENDS) for _ in range(60)])
    plain = np.array([np.quantile(ratio.replicates(rng, 50)[0], ENDS) for _ in range(60)])
    # The sums of both RMSEs are about 0.45 and 0.75. Their ratio of 0.6 has a standard error of about
    # 0.6 sqrt(1/60) = 0.08 (odds of failure below 1e-5).
    assert rmse(few, exhaustive).sum() < rmse(plain, exhaustive).sum()


@pytest.mark.parametrize("factor", [0.3, 3.0])
def test_a_mis_scaled_influence_function_is_found_out_by_25_replicates(factor, ratio, exhaustive):
    rng = np.random.default_rng(14)
    law = LinearDistribution([Draws(50, factor * ratio.influence / 50)])

    def ends(size):
        values, linear = ratio.replicates(rng, size)
        return ControlDistribution(ratio.estimate, values, factor * linear, law).quantile(ENDS)

    error = rmse(np.array([ends(25) for _ in range(60)]), exhaustive)
    # Believed, the factor would move the ends by 1.4 or 4 standard deviations. The plain ends of 25 replicates have
    # an RMSE of 0.29 and 0.61, these about 0.11 and 0.19.
    plain = rmse(np.array([np.quantile(ratio.replicates(rng, 25)[0], ENDS) for _ in range(60)]), exhaustive)
    assert error.sum() < plain.sum()


@pytest.mark.parametrize("size", [5, 10, 25, 400])
def test_the_cdf_is_the_inverse_of_the_quantile(size, ratio):
    phi = ratio.control(np.random.default_rng(15), size)
    p = np.array([0.001, 0.025, 0.3, 0.975])
    # The quantiles move the nodes that are nearest to them: a difference of second order in their distance.
    np.testing.assert_allclose(phi.cdf(phi.quantile(p)), p, atol=5e-5)


@pytest.mark.parametrize("size", [5, 17, 30, 500])
def test_quantiles_are_monotone_and_finite(size, ratio):
    quantiles = ratio.control(np.random.default_rng(16), size).quantile(np.linspace(0, 1, 2001))
    assert np.all(np.isfinite(quantiles))
    assert np.all(np.diff(quantiles) >= 0)


def test_bca_levels_are_those_of_its_own_median_bias(ratio):
    phi = ratio.control(np.random.default_rng(17), 30)
    levels = ndtr(2 * ndtri(phi.cdf(ratio.estimate)) + ndtri(ENDS))
    np.testing.assert_allclose(bca_levels(phi, ratio.estimate, 0.0, ENDS), levels, rtol=1e-12)


def test_a_statistic_without_a_linear_part_has_the_law_of_its_residuals():
    values = np.array([1.0, 2.0, 4.0, 4.5, 7.0, 8.0])
    constant = LinearDistribution([Draws(6, np.zeros(6))])
    phi = ControlDistribution(4.0, values, np.zeros(6), constant)
    # The curve is a constant, for which one degree of freedom goes.
    deviations = np.sqrt(6 / 5) * (values - values.mean())
    middles = (np.arange(6) + 0.5) / 6
    np.testing.assert_allclose(phi.quantile(middles), values.mean() + deviations, rtol=1e-9)


def test_many_residuals_without_a_linear_part_all_count():
    values = np.random.default_rng(25).permutation(np.arange(200.0))
    constant = LinearDistribution([Draws(6, np.zeros(6))])
    phi = ControlDistribution(100.0, values, np.zeros(200), constant)
    # A neighbourhood of 20 would be of any 20 of them, whose quartile has a standard error of 20.
    np.testing.assert_allclose(phi.quantile([0.25, 0.5, 0.75]), [49.5, 99.5, 149.5], atol=8)


def test_a_constant_statistic_is_a_point_mass():
    constant = LinearDistribution([Draws(6, np.zeros(6))])
    phi = ControlDistribution(4.0, np.full(8, 4.0), np.zeros(8), constant)
    np.testing.assert_array_equal(phi.quantile([0.0, 0.2, 1.0]), 4.0)
    assert phi.cdf(4.0) == 0.5


def test_fewer_than_five_replicates_are_refused(ratio):
    with pytest.raises(ArgumentError, match=r"control quantiles needs at least 5 replicates; got 3\."):
        ratio.control(np.random.default_rng(18), 3)


# library(boot)
# u <- city$u; x <- city$x
# L <- (x - mean(x) / mean(u) * u) / mean(u); R <- 999; t0 <- mean(x) / mean(u)
# alpha <- c(0.025, 0.05, 0.5, 0.95, 0.975)
# state <- 1; row <- integer(10 * R)
# for (i in seq_along(row)) {state <- (16807 * state) %% 2147483647; row[i] <- floor(10 * state / 2147483647) + 1}
# row <- matrix(row, R, 10, byrow = TRUE)
# t <- apply(row, 1, function(i) sum(x[i]) / sum(u[i])); tL <- t0 + rowMeans(matrix(L[row], R)); dL <- t - tL
# # The rest are the lines of boot::control, which cannot be given resamples:
# dist.q <- saddle.distn((t0 + L) / 10, alpha = (1:R) / (R + 1), t0 = c(t0, sqrt(sum(L^2)) / 10))$quantiles[, 2]
# cat(sort(dL[order(tL)] + dist.q)[(R + 1) * alpha])
R_ALPHAS = np.array([0.025, 0.05, 0.5, 0.95, 0.975])
R_QUANTILES = np.array([1.257741, 1.284365, 1.519898, 1.956471, 2.084614])


def minimal_standard_rows(count):
    """Row numbers from the generator of Park and Miller (1988), which R and Python both compute exactly."""
    state, rows = 1, np.empty(count, dtype=np.int64)
    for i in range(count):
        state = 16807 * state % 2147483647
        rows[i] = 10 * state // 2147483647
    return rows


def check_against_control(phi, alphas, quantiles):
    """Our probabilities at R's quantiles must be R's levels, up to the simulation error of either."""
    # Neither is worse than the plain quantile of R = 999 replicates, whose level has standard error
    # sqrt(alpha (1 - alpha) / 999); they share the replicates, so three of these are never used up in practice.
    assert np.all(np.abs(phi.cdf(quantiles) - alphas) < 3 * np.sqrt(alphas * (1 - alphas) / 999))


def test_quantiles_agree_with_R_control_on_the_same_replicates(city):
    ratio = Ratio(*city.T)
    rows = minimal_standard_rows(9990).reshape(999, 10)
    values, linear = ratio.x[rows].sum(axis=1) / ratio.u[rows].sum(axis=1), ratio.influence[rows].mean(axis=1)
    check_against_control(ControlDistribution(ratio.estimate, values, linear, ratio.law), R_ALPHAS, R_QUANTILES)


R_SCRIPT = """
set.seed(1)
out <- boot(city, function(d, w) sum(d$x * w) / sum(d$u * w), R = 999, stype = "w")
reg <- (city$x - out$t0 * city$u) / mean(city$u)
con <- control(out, L = reg, alpha = c(0.025, 0.05, 0.5, 0.95, 0.975))
cat(out$t, con$tL - out$t0, con$quantiles[, 2])
"""


def test_quantiles_agree_with_control_of_the_R_that_is_installed(city, r_numbers):
    values, linear, quantiles = np.split(r_numbers(R_SCRIPT), [999, 1998])
    ratio = Ratio(*city.T)
    check_against_control(ControlDistribution(ratio.estimate, values, linear, ratio.law), R_ALPHAS, quantiles)


def test_what_rounding_leaves_of_a_constant_linear_part_is_no_linear_part():
    """Of 0.25 in every resample, as the variance of an indicator within strata of its values."""
    law = LinearDistribution([Draws(10, np.zeros((10, 1)))])
    linear = np.full((10, 1), -1.25e-16) * (1 + 1e-16 * np.arange(10)[:, np.newaxis])
    phi = ControlDistribution(np.array([0.25]), np.full((10, 1), 0.25), linear, law)
    np.testing.assert_array_equal(phi.quantile(np.array([[0.025], [0.975]])), 0.25)
