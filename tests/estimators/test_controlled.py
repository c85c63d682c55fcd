"""The orthogonal estimator with a control beside the linear part: its formulas, written out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orthoboot.controls.base import ControlValues, SimulatedLaw, without_groups
from orthoboot.estimators import ESTIMATORS, estimator_error, moments_of
from orthoboot.estimators.moments import deleted_moments, moments_by_draws
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


@pytest.mark.parametrize(
    ("by_control", "by_linear", "share"), [(0.0, 0.0, 1), (0.0, 2.0, 1), (2.0, 0.0, 0), (2.0, 2.0, 0.5)]
)
def test_the_share_where_a_control_leaves_nothing(by_control, by_linear, share):
    whole = moments_of(*sample())
    linear = replace(whole.by_linear, residual=np.array([by_linear]))
    assert replace(whole, residual=np.array([by_control]), by_linear=linear).control_share[0] == share


def test_the_answer_is_the_mixture_of_both():
    replicates, control = sample(cubic=0.4)
    whole = moments_of(replicates, control, 20.0)
    share, alone = whole.control_share, replace(whole, by_linear=None)
    for of in (ORTHOGONAL.variance, ORTHOGONAL.bias):
        np.testing.assert_allclose(of(whole), share * of(alone) + (1 - share) * of(whole.by_linear), rtol=1e-12)


@pytest.mark.parametrize("known", [0.25, 0.24, 0.2, -1.0])
def test_the_bias_is_shrunk_towards_the_one_that_is_known(known):
    """Within two standard errors of it, it is the one that is known; far from it, nearly the simulated one."""
    replicates, control = sample()
    whole = moments_of(replicates, replace(control, mean=np.array([known])))
    alone = replace(whole, by_linear=None)
    rest = replicates.values - alone.slope * control.values
    m = float(rest.mean()) - 3.0 - known
    t = np.sqrt(12) * m / float(rest.std(ddof=1))
    weight = max(0.0, 1 - 4 / t**2)
    assert ORTHOGONAL.bias(alone)[0] == pytest.approx(known + weight * m, rel=1e-9)
    assert ORTHOGONAL.bias_doubt(alone)[0] == pytest.approx((1 - weight) * abs(m), rel=1e-9)


def test_a_bias_is_not_believed_where_the_control_explains_little():
    replicates, control = sample(cubic=3.0)
    alone = replace(moments_of(replicates, control), by_linear=None)
    rest = replicates.values - alone.slope * control.values
    assert ORTHOGONAL.bias(alone)[0] == pytest.approx(float(rest.mean()) - 3.0, rel=1e-9)


def test_what_shrinkage_does_to_the_variance_counts_as_error():
    replicates, control = sample(cubic=0.3)
    whole = moments_of(replicates, control)
    alone = replace(whole, by_linear=None, prior=20.0)
    P, C = (each[:, 0] - each.mean() for each in (replicates.values, control.values))
    raw = (P @ C) / (C @ C)
    unshrunk = raw**2 * W + centred_square(P - raw * C) / 11
    expected = abs(np.log(unshrunk / ORTHOGONAL.variance(alone)[0]))
    assert ORTHOGONAL.doubt(alone)[0] == pytest.approx(expected / 2, rel=1e-9)
    assert ORTHOGONAL.doubt(replace(alone, prior=5.0))[0] == 0


def test_deleted_moments_are_those_without_one():
    replicates, control = sample(7)
    deleted = deleted_moments(replicates, None, control)
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
