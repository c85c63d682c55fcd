"""The natural scale of a statistic."""

from __future__ import annotations

import numpy as np
import pytest

import orthoboot as ob
from orthoboot.intervals.scale import NaturalScale

INF = np.inf
RANGES = {
    "correlation": (-1.0, 1.0, 0.8),
    "share": (0.0, 1.0, 0.97),
    "positive": (0.0, INF, 3.0),
    "at most one": (-INF, 1.0, 0.5),
    "none": (-INF, INF, 2.0),
}


def scale_of(low, high, estimate):
    return NaturalScale(np.array([low]), np.array([high]), np.array([estimate]))


@pytest.mark.parametrize("limits", RANGES.values(), ids=RANGES)
def test_it_is_tangent_to_the_plain_scale_and_goes_there_and_back(limits):
    low, high, estimate = limits
    scale = scale_of(*limits)
    assert scale.forward(np.array([estimate])) == pytest.approx([estimate], rel=1e-12)
    step = 1e-6
    ahead, behind = (scale.forward(np.array([estimate + sign * step])) for sign in (1, -1))
    assert (ahead - behind) / (2 * step) == pytest.approx([1.0], rel=1e-6)
    values = np.linspace(max(low, estimate - 2) + 1e-2, min(high, estimate + 2) - 1e-2, 9)[:, np.newaxis]
    np.testing.assert_allclose(scale.back(scale.forward(values)), values, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("limits", RANGES.values(), ids=RANGES)
def test_whatever_comes_back_is_within_the_range_and_in_order(limits):
    low, high, estimate = limits
    found = scale_of(*limits).back(np.linspace(estimate - 100, estimate + 100, 401)[:, np.newaxis])
    assert (found >= low).all()
    assert (found <= high).all()
    assert (np.diff(found, axis=0) >= 0).all()


def test_a_correlation_has_fishers_z():
    scale = scale_of(-1.0, 1.0, 0.6)
    changes = scale.forward(np.array([[0.2], [0.9]])) - 0.6
    expected = (np.arctanh([[0.2], [0.9]]) - np.arctanh(0.6)) * (1 - 0.36)
    np.testing.assert_allclose(changes, expected, rtol=1e-12)


@pytest.mark.parametrize("estimate", [1.0, 1.5, 0.0])
def test_an_estimate_at_a_limit_or_beyond_stays_on_the_plain_scale(estimate):
    values = np.array([[0.1], [0.7], [2.0]])
    np.testing.assert_array_equal(scale_of(0.0, 1.0, estimate).forward(values), values)
    np.testing.assert_array_equal(scale_of(0.0, 1.0, estimate).back(values), values)


def test_replicates_at_a_limit_are_finite():
    assert np.isfinite(scale_of(0.0, 1.0, 0.9).forward(np.array([[0.0], [1.0]]))).all()


@pytest.mark.parametrize("method", ["percentile", "bca", "auto"])
@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_no_end_of_a_few_replicates_leaves_the_range(method):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((25, 1))
    pairs = np.hstack([x, x + 0.15 * rng.standard_normal((25, 1))])
    labels = np.repeat([0.0, 1.0], 15)
    scores = labels + 0.5 * rng.standard_normal(30)
    for seed in range(20):
        for data, statistic, options in (
            (pairs, ob.correlation, {}),
            ((labels, scores), ob.roc_auc, {"paired": True}),
        ):
            result = ob.bootstrap(data, statistic, n_resamples=10, method=method, rng=seed, **options)
            low, high = result.interval(0.99)
            assert low < result.estimate < high <= 1


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_the_limits_hold_in_other_units():
    """A variance of tiny numbers is divided by its unit, and so are its limits."""
    x = 1e-90 * np.random.default_rng(1).exponential(size=12)
    result = ob.bootstrap(x, ob.variance, n_resamples=10, method="percentile", rng=0)
    assert result.confidence_interval.low >= 0
    limits = result.run.in_units.prepared.limits
    assert limits[0] == 0
    assert limits[1] == np.inf


def coefficient(x):
    return float(np.corrcoef(x.T)[0, 1])


def test_a_transform_of_the_user_is_the_scale_of_the_normal_interval():
    pairs = np.random.default_rng(0).multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=60)
    result = ob.bootstrap(pairs, coefficient, method="normal", transform="fisher", rng=0)
    z, slope = np.arctanh(result.estimate), 1 / (1 - result.estimate**2)
    half = 1.959963984540054 * slope * result.standard_error
    assert result.confidence_interval == pytest.approx((np.tanh(z - half), np.tanh(z + half)), rel=1e-10)
    plain = ob.bootstrap(pairs, coefficient, method="normal", rng=0)
    assert plain.confidence_interval.high > result.confidence_interval.high
    errors, others = result.simulation_error, plain.simulation_error
    assert errors.high < others.high
    assert errors.low > others.low


def test_a_transform_may_be_limits():
    x = np.random.default_rng(0).exponential(size=50)
    by_name, by_limits = (
        ob.bootstrap(x, ob.mean, method="normal", transform=transform, rng=0).confidence_interval
        for transform in ("log", (0, np.inf))
    )
    assert by_name == by_limits
    shifted = ob.bootstrap(x + 7, ob.mean, method="normal", transform=(7, np.inf), rng=0).confidence_interval
    assert np.array(shifted) - 7 == pytest.approx(by_name, rel=1e-9)


@pytest.mark.parametrize("broken", ["lgo", 3, (1, 0), (0, 1, 2), (None, 1), (0, 0)])
def test_other_transforms_are_refused(broken):
    with pytest.raises(ob.errors.ArgumentError, match="`transform` must be"):
        ob.bootstrap(np.arange(20.0), ob.mean, transform=broken)


def test_a_statistic_beyond_the_limits_is_refused():
    with pytest.raises(ob.errors.ArgumentError, match="`transform` is for values between 0 and 1, and `mean` is 9.5"):
        ob.bootstrap(np.arange(20.0), ob.mean, transform="logit")
