"""The orthogonal estimator with a control beside the linear part: its formulas, written out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import orthoboot as ob
from orthoboot.controls.base import ControlValues, SimulatedLaw, without_groups
from orthoboot.estimators import ESTIMATORS, estimator_error, moments_of
from orthoboot.estimators.moments import deleted_moments, moments_by_draws
from orthoboot.estimators.simulation_error import jackknife_spread
from orthoboot.replicates import Replicates

ORTHOGONAL = ESTIMATORS["orthogonal"]
V, W = 1.0, 1.1


def sample(size=12, seed=0, cubic=0.05):
    """Replicates of L + L**2 / 4 + noise, and the control L + L**2 / 4, of mean zero."""
    rng = np.random.default_rng(seed)
    linear = rng.standard_normal((size, 1))
    curve = (linear**2 - 1) / 4
    values = 3.0 + 0.25 + linear + curve + cubic * rng.standard_normal((size, 1))
    replicates = Replicates(np.array([3.0]), values, linear, np.array([V]), np.arange(size))
    return replicates, ControlValues(linear + curve, np.array([0.25]), np.array([W]), lambda: np.array([[W]]))


def centred_square(values):
    return float(((values - values.mean()) ** 2).sum())


def test_the_share_is_that_of_the_odds_of_two_normal_laws():
    replicates, control = sample(cubic=0.4)
    by_control = centred_square(replicates.values - control.values)
    by_linear = centred_square(replicates.values - replicates.linear)
    expected = 1 / (1 + (by_control / by_linear) ** (11 / 2))
    assert 0.01 < expected < 0.999
    assert moments_of(replicates, control).control_share[0] == pytest.approx(expected, rel=1e-10)


def test_a_limited_control_counts_no_more_than_without_any_one_replicate():
    """The farthest replicate sets the limits, and a control that happens to follow it alone is no nearer."""
    replicates, control = sample()
    noise = np.where(np.arange(12) == 3, 50.0, np.tile([1.0, -1.0], 6))[:, None]
    far = replace(replicates, values=replicates.values + np.where(np.arange(12) == 3, 40.0, 0.0)[:, None])
    lucky = replace(control, values=replicates.linear + noise)
    least = 1.0
    for keep in (np.delete(np.arange(12), b) for b in range(12)):
        without = moments_of(far.select(keep), replace(lucky, values=lucky.values[keep]))
        least = min(least, without.control_share[0])
    limited = moments_of(far, replace(lucky, is_limited=np.array([True])))
    assert moments_of(far, lucky).control_share[0] > 0.99
    assert limited.control_share[0] == pytest.approx(least, rel=1e-9)
    assert least < 1e-3


@pytest.mark.parametrize(
    ("by_control", "by_linear", "share"), [(0.0, 0.0, 1), (0.0, 2.0, 1), (2.0, 0.0, 0), (2.0, 2.0, 0.5)]
)
def test_the_share_where_a_control_leaves_nothing(by_control, by_linear, share):
    whole = moments_of(*sample())
    linear = replace(whole.by_linear, residual=np.array([by_linear]))
    assert replace(whole, residual=np.array([by_control]), by_linear=linear).control_share[0] == share


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize("size", [2, 3, 5])
def test_an_exact_control_is_not_left_aside_for_rounding(size):
    """Where all replicates happen to be equal, what the control leaves is rounding and L leaves exactly nothing."""
    x = np.array([0.0, 0, 0, 1, 1, 1])
    for seed in range(40):
        result = ob.bootstrap(x, ob.variance, n_resamples=size, rng=seed)
        assert result.standard_error == pytest.approx(0.0537914353674, rel=1e-6)


def test_the_variance_is_the_mixture_of_both():
    replicates, control = sample(cubic=0.4)
    whole = moments_of(replicates, control, 20.0)
    share, alone = whole.control_share, replace(whole, by_linear=None)
    expected = share * ORTHOGONAL.variance(alone) + (1 - share) * ORTHOGONAL.variance(whole.by_linear)
    np.testing.assert_allclose(ORTHOGONAL.variance(whole), expected, rtol=1e-12)


def expected_weight(whole, order, left, m, *, rough=False):
    """Return w and s**2 of the bias, as the estimator has them."""
    size = len(left)
    rho = min(float(whole.curvature[0]), 1.0)
    variance = ORTHOGONAL.variance(replace(whole, by_linear=None))[0]
    further = np.hypot(0.6 * (1 + 8 / size) * rho**1.5, rough * rho**0.5 / 2) * np.sqrt(variance)
    shown = float(left.var(ddof=1))
    expected = rho**order * float(whole.control_variance[0])
    noise = (shown + max(expected - shown, 0.0) * 20 / (20 + size)) / size
    return max(further**2 / (further**2 + noise), 1 - 4 * noise / m**2), noise


@pytest.mark.parametrize("known", [0.25, 0.24, 0.2, -1.0])
def test_the_bias_is_between_the_one_that_is_known_and_the_simulated_one(known):
    """Near it, as far as a third order may be large; far from it, nearly the simulated one."""
    replicates, control = sample()
    whole = moments_of(replicates, replace(control, mean=np.array([known])))
    left = replicates.values - whole.slope * control.values
    m = float(left.mean()) - 3.0 - known
    weight, _ = expected_weight(whole, 2, left, m)
    share = whole.control_share[0]
    expected = share * (known + weight * m) + (1 - share) * ORTHOGONAL.bias(whole.by_linear)[0]
    assert ORTHOGONAL.bias(whole)[0] == pytest.approx(expected, rel=1e-9)


def test_a_bias_is_not_believed_where_the_control_explains_little():
    replicates, control = sample(cubic=3.0)
    alone = replace(moments_of(replicates, control), by_linear=None)
    rest = replicates.values - alone.slope * control.values
    assert ORTHOGONAL.bias(alone)[0] == pytest.approx(float(rest.mean()) - 3.0, rel=1e-9)


def by_linear_part(size=12, cubic=0.05, known_bias=0.25):
    """Return the sums with the linear part as the control, and the replicates less it."""
    replicates, _ = sample(size, cubic=cubic)
    informed = replace(replicates, second_order_bias=np.array([known_bias]))
    return moments_of(informed, None, 20.0), replicates.values - 3.0 - replicates.linear, replicates.linear


def test_the_curvature_is_what_the_replicates_show_or_what_is_known():
    whole, residuals, _ = by_linear_part(known_bias=0.01)
    assert whole.curvature[0] == pytest.approx(centred_square(residuals) / 11 / V, rel=1e-12)
    # Where a statistic bends in one direction the variance of second order is twice the square of its mean.
    assert by_linear_part(known_bias=3.0)[0].curvature[0] == pytest.approx(2 * 3.0**2 / V, rel=1e-12)
    replicates, control = sample()
    of_control = moments_of(replicates, replace(control, second_order=np.array([7.0])))
    assert of_control.curvature[0] == of_control.by_linear.curvature[0] == pytest.approx(7.0 / V)


def test_the_mean_of_the_linear_part_is_no_curvature():
    """Under moving blocks the linear part has a mean, which a known bias contains."""
    informed = replace(sample()[0], second_order_bias=np.array([3.0]))
    assert moments_of(informed, None, 20.0, np.array([2.0])).second_order[0] == pytest.approx(2 * (3.0 - 2.0) ** 2)


def test_a_control_that_is_left_aside_does_not_change_the_doubt():
    replicates, control = sample()
    informed = replace(replicates, second_order_bias=np.array([3.0]))
    law = SimulatedLaw(np.zeros((40, 1)), np.zeros((40, 1)), np.zeros((2, 1)), np.ones((2, 1)))
    useless = replace(control, values=1e6 * control.values, law=law)
    whole, alone = moments_of(informed, useless, 20.0), moments_of(informed, None, 20.0)
    assert whole.control_share[0] < 1e-12
    assert ORTHOGONAL.doubt(whole)[0] == pytest.approx(ORTHOGONAL.doubt(alone)[0], rel=1e-9)


def test_the_least_error_is_the_noise_of_a_cubic_remainder():
    """Regressed on the cubic by numpy."""
    whole, residuals, linear = by_linear_part()
    z, left = ((each - each.mean()) / np.sqrt(V) for each in (linear, residuals))
    cubes = z**3 - 3 * z
    (cubic,), (squares,), *_ = np.linalg.lstsq(cubes, left[:, 0], rcond=None)
    rest = squares / (12 - 2)
    expected = 2 * whole.slope * V / ORTHOGONAL.variance(whole) * (1 - whole.shrinkage)
    of_products = (20 * 42 + float(((z * cubes) ** 2).sum())) / (20 + 12)
    expected *= np.sqrt((of_products * max(cubic**2 - rest / float((cubes**2).sum()), 0) + rest) / 12)
    np.testing.assert_allclose(ORTHOGONAL.least_error(whole), expected, rtol=1e-9)


def test_the_jackknife_is_trusted_where_the_control_knows_the_third_order():
    replicates, control = sample()
    knows = replace(control, slope_doubt=np.array([0.1]))
    useless = replace(knows, values=1e6 * control.values)
    inflation = [ORTHOGONAL.error_inflation(moments_of(replicates, each))[0] for each in (control, knows, useless)]
    np.testing.assert_allclose(inflation, [1 + 2 / 12, 1.0, 1 + 2 / 12], rtol=1e-6)


def test_errors_hold_where_the_remainder_is_a_cubic_of_the_control():
    """The variance of ten replicates ``L + c (L**3 - 3 L)``: over 2,000 samples, whose rate has an error of a third.

    By the jackknife alone one in eight is off by more than three errors.
    """
    rng, size, cubic = np.random.default_rng(26), 10, 0.01
    off, reported, jackknife = np.empty((3, 2000))
    for i in range(2000):
        linear = rng.standard_normal((size, 1))
        values = linear + cubic * (linear**3 - 3 * linear)
        replicates = Replicates(np.zeros(1), values, linear, np.ones(1), np.arange(size))
        sums = moments_of(replicates)
        off[i] = np.log(ORTHOGONAL.variance(sums)[0] / (1 + 6 * cubic**2))
        reported[i] = estimator_error(ORTHOGONAL, replicates).log_variance[0]
        deleted = np.log(ORTHOGONAL.variance(deleted_moments(sums)))
        jackknife[i] = (ORTHOGONAL.error_inflation(sums) * jackknife_spread(deleted))[0]
    assert np.mean(np.abs(off) > 3 * jackknife) > 0.08
    assert np.mean(np.abs(off) > 3 * reported) <= 0.01
    assert 0.7 <= reported.mean() / np.sqrt(np.mean(off**2)) <= 1.4


@pytest.mark.parametrize("known_bias", [0.0, 0.25, 3.0])
def test_a_slope_that_is_off_by_the_next_order_counts_as_error(known_bias):
    whole, residuals, linear = by_linear_part(known_bias=known_bias)
    rho = max(centred_square(residuals) / 11, 2 * known_bias**2) / V
    tau = 0.7 * min(rho / (1 + 3 * rho), 3 * np.sqrt(centred_square(residuals) / 11 / V))
    # The slope is one plus the raw excess, of which the prior leaves B/(B + k).
    raw = (residuals - residuals.mean()).T @ linear / centred_square(linear)
    kept = float((whole.slope - 1)[0] / raw[0, 0])
    assert ORTHOGONAL.doubt(whole)[0] == pytest.approx(2 * tau * np.sqrt(1 - kept), rel=1e-9)


def test_a_known_bias_is_uncertain_to_third_order():
    """The posterior variance of the bias is ``w s**2``, less ``w**2`` times the noise that replicates show."""
    weights = []
    for known_bias in (0.01, 0.15, 3.0):
        whole, residuals, linear = by_linear_part(known_bias=known_bias)
        left = residuals + (1 - whole.slope) * linear
        m, shown = float(left.mean()) - known_bias, left.var(ddof=1) / 12
        for rough in (False, True):
            weight, noise = expected_weight(whole, 1, left, m, rough=rough)
            doubt = ORTHOGONAL.bias_doubt(replace(whole, bias_is_rough=rough))[0]
            assert doubt == pytest.approx(np.sqrt(weight * noise - weight**2 * shown), rel=1e-9)
            weights.append(weight)
    smooth, rough = weights[::2], weights[1::2]
    assert smooth == sorted(smooth)
    assert 0 < smooth[0] < 0.1 < 0.5 < smooth[-1]
    # There may be a kink too, and then the replicates count for more, if they do not contradict what is known anyway.
    assert rough[0] > 2 * smooth[0]
    assert (np.array(rough) >= smooth).all()
    assert ORTHOGONAL.bias_doubt(by_linear_part(known_bias=np.nan)[0])[0] == 0


def test_few_replicates_that_show_no_remainder_are_not_believed():
    """Where ten happen to follow the linear part, their mean says little of a bias of third order."""
    whole, _, _ = by_linear_part(known_bias=0.25)
    follows = replace(whole, residual=1e-12 * whole.residual, cross=0 * whole.cross)
    assert ORTHOGONAL.bias_doubt(follows)[0] == pytest.approx(ORTHOGONAL.bias_doubt(whole)[0], rel=0.1)
    assert abs(ORTHOGONAL.bias(follows)[0] - 0.25) < abs(follows.simulated_bias[0] - 0.25) / 2


def test_replicates_that_are_their_control_say_everything():
    whole = moments_of(*sample(cubic=0.0))
    alone = replace(whole, by_linear=None)
    assert ORTHOGONAL.bias(alone)[0] == pytest.approx(alone.simulated_bias[0], rel=1e-12)
    assert ORTHOGONAL.bias_doubt(alone)[0] == 0


def test_a_surrogate_is_expected_to_leave_nothing_more_than_it_shows():
    replicates, control = sample(cubic=1e-3)
    law = SimulatedLaw(np.zeros((40, 1)), np.zeros((40, 1)), np.zeros((2, 1)), np.ones((2, 1)))
    whole = moments_of(replicates, replace(control, law=law), 20.0)
    left = replicates.values - whole.slope * control.values
    assert ORTHOGONAL.bias(whole)[0] == pytest.approx(float(left.mean()) - 3.0, rel=1e-5)
    assert ORTHOGONAL.bias_doubt(whole)[0] < left.std(ddof=1) / np.sqrt(12)


def in_groups(rng):
    """Return 120 rows of two columns that share a part within twelve groups, and the groups."""
    group = np.repeat(np.arange(12), 10)
    return rng.standard_normal((120, 2)) + rng.standard_normal((12, 1))[group], group


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize("units", ["groups", "strata", None])
@pytest.mark.parametrize(
    "statistic", [ob.variance, ob.variance.replace(ddof=1), ob.covariance, ob.covariance_matrix], ids=lambda it: it.name
)
def test_the_bias_of_a_quadratic_function_is_exact_where_the_number_of_rows_is_fixed(statistic, units):
    rows, group = in_groups(np.random.default_rng(1))
    options = {} if units is None else {units: group}
    result = ob.bootstrap(rows, statistic, n_resamples=10, rng=0, **options)
    plain = ob.bootstrap(rows, statistic, n_resamples=100_000, rng=1, estimator="standard", **options)
    np.testing.assert_array_equal(result.simulation_error.bias, 0)
    # At most four numbers: one in four thousand sets of them is off by more than four standard deviations.
    assert (np.abs(result.bias - plain.bias) < 4 * plain.simulation_error.bias).all()


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
@pytest.mark.parametrize(
    ("statistic", "options"),
    [
        (ob.variance, {"groups": np.minimum(np.repeat(np.arange(12), 10), 10)}),
        (ob.variance, {"block_length": 5}),
        (ob.variance, {"influence": "jackknife", "control": "linear"}),
        (ob.covariance_factor, {}),
        (ob.std, {}),
    ],
    ids=["unequal groups", "blocks", "jackknife", "factor", "std"],
)
def test_other_biases_are_not(statistic, options):
    rows, _ = in_groups(np.random.default_rng(1))
    result = ob.bootstrap(rows, statistic, n_resamples=10, rng=0, **options)
    assert np.max(result.simulation_error.bias) > 1e-6


def test_a_bias_that_is_known_to_every_order_is_not_corrected():
    whole = replace(by_linear_part(known_bias=0.15)[0], bias_is_exact=True)
    assert ORTHOGONAL.bias(whole)[0] == pytest.approx(0.15, rel=1e-12)
    assert ORTHOGONAL.bias_doubt(whole)[0] == 0


def test_the_doubt_of_a_slope_falls_as_one_over_b_in_the_end():
    doubts = [ORTHOGONAL.doubt(moments_of(sample(size, cubic=0.3)[0], None, 20.0))[0] for size in (400, 4000)]
    assert doubts[0] / doubts[1] == pytest.approx(10, rel=0.3)


def test_what_shrinkage_does_to_the_variance_counts_as_error_of_a_surrogate():
    replicates, control = sample(cubic=0.3)
    law = SimulatedLaw(np.zeros((40, 1)), np.zeros((40, 1)), np.zeros((2, 1)), np.ones((2, 1)))
    alone = replace(moments_of(replicates, replace(control, law=law), 20.0), by_linear=None)
    P, C = (each[:, 0] - each.mean() for each in (replicates.values, control.values))
    raw = (P @ C) / (C @ C)
    unshrunk = raw**2 * W + centred_square(P - raw * C) / 11
    expected = abs(np.log(unshrunk / ORTHOGONAL.variance(alone)[0]))
    assert ORTHOGONAL.doubt(alone)[0] == pytest.approx(expected, rel=1e-9)


def test_deleted_moments_are_those_without_one():
    replicates, control = sample(7)
    deleted = deleted_moments(moments_of(replicates, control))
    for b in range(7):
        kept = np.delete(np.arange(7), b)
        rest = moments_of(replicates.select(kept), replace(control, values=control.values[kept]))
        np.testing.assert_allclose(ORTHOGONAL.variance(deleted)[b], ORTHOGONAL.variance(rest), rtol=1e-9)
        np.testing.assert_allclose(ORTHOGONAL.bias(deleted)[b], ORTHOGONAL.bias(rest), atol=1e-10)


def test_moments_by_draws_are_those_of_a_control_with_other_moments():
    """C is counted from its mean, so that another mean moves its values."""
    replicates, control = sample()
    law = SimulatedLaw(np.zeros((40, 1)), np.zeros((40, 1)), np.array([[0.2], [0.3]]), np.array([[1.0], [1.3]]))
    control = replace(control, law=law)
    whole = moments_of(replicates, control)
    found = moments_by_draws(whole, control)
    for group in range(2):
        mean, variance = law.means_without[group], law.variances_without[group]
        other = replace(control, values=control.values + control.mean - mean, mean=mean, variance=variance)
        expected = moments_of(replicates, other)
        np.testing.assert_allclose(ORTHOGONAL.variance(found)[group], ORTHOGONAL.variance(expected), rtol=1e-9)
        np.testing.assert_allclose(ORTHOGONAL.bias(found)[group], ORTHOGONAL.bias(expected), rtol=1e-9)
    with_draws, without = (
        estimator_error(ORTHOGONAL, replicates, None, each) for each in (control, replace(control, law=None))
    )
    assert with_draws.log_variance[0] > without.log_variance[0]


def test_every_draw_is_left_out_once():
    kept = np.array(without_groups(53))
    np.testing.assert_array_equal((~kept).sum(axis=0), 1)
    assert set((~kept).sum(axis=1)) == {2, 3}
