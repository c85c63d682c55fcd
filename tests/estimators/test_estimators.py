"""Identities that hold for every draw, and the simulation error against brute force."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import orthoboot as ob
from orthoboot.estimators import (
    ESTIMATORS,
    Sample,
    estimator_error,
    jackknife_spread,
    moments_of,
    prior_replicates,
    r_squared,
    slope,
    slope_t,
)
from orthoboot.estimators.moments import deleted_moments
from orthoboot.estimators.simulation_error import student_factor, tail_factor
from orthoboot.replicates import Replicates


def linear_covariance(k, seed=0):
    """The covariance of the linear part of `replicates`."""
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((k, k)) + 2 * np.eye(k)
    return factor @ factor.T


def replicates(size=8, k=1, noise=0.3, scale=1.0, seed=0):
    """Replicates with a linear part of covariance V and a remainder of its own."""
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((k, k)) + 2 * np.eye(k)
    linear = rng.standard_normal((size, k)) @ factor.T
    values = 5.0 + linear + noise * (rng.standard_normal((size, k)) + 0.3 * (linear**2 - 1))
    return Replicates(
        estimate=np.full(k, 5.0),
        values=values,
        linear=scale * linear,
        linear_variance=scale**2 * (factor**2).sum(axis=1),
        numbers=np.arange(size),
    )


@pytest.fixture(params=sorted(ESTIMATORS))
def estimator(request):
    return ESTIMATORS[request.param]


# Contracts of every estimator


def test_shapes(estimator):
    sample = replicates(k=3)
    sums = moments_of(sample)
    assert estimator.bias(sums).shape == (3,)
    assert estimator.variance(sums).shape == (3,)
    assert estimator.covariance(Sample(sample, moments_of(sample), linear_covariance(3))).shape == (3, 3)


def test_the_diagonal_of_the_covariance_is_the_variance(estimator):
    sample = replicates(k=3)
    covariance = estimator.covariance(Sample(sample, moments_of(sample), linear_covariance(3)))
    np.testing.assert_allclose(np.diag(covariance), estimator.variance(moments_of(sample)), rtol=1e-12)


def test_covariance_is_symmetric(estimator):
    sample = replicates(k=3)
    covariance = estimator.covariance(Sample(sample, moments_of(sample), linear_covariance(3)))
    np.testing.assert_allclose(covariance, covariance.T, rtol=1e-13)


@pytest.mark.parametrize("name", ["standard", "cheap", "jackknife", "orthogonal"])
def test_covariance_is_positive_semi_definite(name):
    for seed in range(20):
        sample = replicates(size=5, k=4, noise=2.0, seed=seed)
        covariance = ESTIMATORS[name].covariance(Sample(sample, moments_of(sample), linear_covariance(4, seed)))
        assert np.linalg.eigvalsh(covariance).min() > -1e-12


def test_another_unit_scales_the_answer(estimator):
    """phi in millimetres instead of metres: bias times 1000, variance times a million."""
    sample = replicates()
    scaled = Replicates(
        estimate=1000 * sample.estimate,
        values=1000 * sample.values,
        linear=1000 * sample.linear,
        linear_variance=1e6 * sample.linear_variance,
        numbers=sample.numbers,
    )
    np.testing.assert_allclose(estimator.bias(moments_of(scaled)), 1000 * estimator.bias(moments_of(sample)), rtol=1e-9)
    np.testing.assert_allclose(
        estimator.variance(moments_of(scaled)), 1e6 * estimator.variance(moments_of(sample)), rtol=1e-9
    )


def test_deleted_moments_are_the_moments_without_one(estimator):
    sample = replicates(size=7, k=2)
    deleted = deleted_moments(moments_of(sample))
    # What is not simulated is the same whichever replicate is left out, and comes as one row.
    variance, bias = (np.broadcast_to(of(deleted), (7, 2)) for of in (estimator.variance, estimator.bias))
    for b in range(7):
        rest = moments_of(sample.select(np.delete(np.arange(7), b)))
        np.testing.assert_allclose(variance[b], estimator.variance(rest), rtol=1e-10)
        np.testing.assert_allclose(bias[b], estimator.bias(rest), atol=1e-12)


# Identities


@pytest.mark.parametrize("size", [2, 3, 5, 10, 100])
@pytest.mark.parametrize("name", ["paper", "orthogonal"])
def test_a_linear_statistic_is_answered_exactly_at_every_size(name, size):
    sample = replicates(size=size, noise=0.0)
    sums = moments_of(sample)
    np.testing.assert_allclose(ESTIMATORS[name].bias(sums), 0, atol=1e-14)
    np.testing.assert_allclose(ESTIMATORS[name].variance(sums), sample.linear_variance, rtol=1e-13)
    np.testing.assert_allclose(r_squared(sums), 1, rtol=1e-13)
    np.testing.assert_allclose(slope(sums), 1, rtol=1e-13)


@pytest.mark.parametrize("size", [2, 5, 10, 50])
@pytest.mark.parametrize("estimator_name", ["paper", "orthogonal"])
def test_the_mean_has_no_simulation_error(estimator_name, size):
    x = np.random.default_rng(3).gamma(2.0, size=200)
    with pytest.warns(ob.errors.FewReplicatesWarning) if size < 5 else contextlib.nullcontext():
        result = ob.bootstrap(x, ob.mean, estimator=estimator_name, n_resamples=size, rng=size)
    assert result.debiased == pytest.approx(result.estimate, rel=1e-13)
    assert result.variance == pytest.approx(x.var() / 200, rel=1e-12)
    assert result.r_squared == pytest.approx(1, rel=1e-12)


def test_the_paper_is_v_plus_the_difference_of_sample_variances():
    """S2 = V + (B - 1)/B (s2(P) - s2(L)), an identity for every draw."""
    sample = replicates(size=9)
    s2 = np.var(sample.values, axis=0, ddof=1) - np.var(sample.linear, axis=0, ddof=1)
    expected = sample.linear_variance + 8 / 9 * s2
    np.testing.assert_allclose(ESTIMATORS["paper"].variance(moments_of(sample)), expected, rtol=1e-12)


def test_orthogonal_is_its_formula_on_phi_itself():
    """The formula of the docstring, written with P and L instead of the residuals that the code uses."""
    sample = replicates(size=12, noise=1.0, seed=4)
    P, L, V = sample.values[:, 0], sample.linear[:, 0], sample.linear_variance[0]
    Pc, Lc = P - P.mean(), L - L.mean()
    raw = (Pc @ Lc) / (Lc @ Lc)
    spread = np.sqrt(((Pc - raw * Lc) ** 2).sum() / 10 / (Lc @ Lc))
    t = (raw - 1) / spread
    k = 5 * min(1, (3 / abs(t)) ** 2) * min(1, P.var(ddof=1) / (P - L).var(ddof=1)) ** 2
    beta = (Pc @ Lc + k * V) / (Lc @ Lc + k * V)
    sums = moments_of(sample)
    assert slope_t(12, sums.residual, sums.cross, sums.control)[0] == pytest.approx(t, rel=1e-10)
    assert prior_replicates(12, sums.total, sums.residual, sums.cross, sums.control)[0] == pytest.approx(k, rel=1e-10)
    assert slope(sums)[0] == pytest.approx(beta, rel=1e-12)
    variance = beta**2 * V + ((Pc - beta * Lc) ** 2).sum() / 11
    assert ESTIMATORS["orthogonal"].variance(sums)[0] == pytest.approx(variance, rel=1e-12)
    assert ESTIMATORS["orthogonal"].bias(sums)[0] == pytest.approx((P - beta * L).mean() - 5.0, rel=1e-10)


@pytest.mark.parametrize("scale", [0.3, 3.0, -1.0])
def test_orthogonal_finds_the_scale_of_a_mis_scaled_influence(scale):
    sample = replicates(size=400, noise=0.1, scale=scale)
    assert slope(moments_of(sample))[0] == pytest.approx(1 / scale, rel=0.1)
    truth = ESTIMATORS["orthogonal"].variance(moments_of(replicates(size=400, noise=0.1)))
    np.testing.assert_allclose(ESTIMATORS["orthogonal"].variance(moments_of(sample)), truth, rtol=0.05)


def test_orthogonal_tends_to_the_bootstrap_variance():
    sample = replicates(size=200_000, noise=0.5)
    # sd of the sample variance at B = 200,000 is 0.3%; the estimators differ by their control of it.
    np.testing.assert_allclose(
        ESTIMATORS["orthogonal"].variance(moments_of(sample)), np.var(sample.values, axis=0, ddof=1), rtol=0.015
    )


def test_cheap_is_the_mean_square_about_the_estimate():
    sample = replicates(size=4)
    expected = ((sample.values - 5.0) ** 2).mean(axis=0)
    np.testing.assert_allclose(ESTIMATORS["cheap"].variance(moments_of(sample)), expected, rtol=1e-12)


def test_standard_ignores_the_influence():
    sample = replicates(size=6)
    np.testing.assert_allclose(
        ESTIMATORS["standard"].variance(moments_of(sample)), np.var(sample.values, axis=0, ddof=1)
    )
    np.testing.assert_allclose(ESTIMATORS["standard"].bias(moments_of(sample)), sample.values.mean(axis=0) - 5.0)


# The simulation error


@pytest.mark.parametrize("name", [name for name, estimator in ESTIMATORS.items() if estimator.simulates])
def test_the_simulation_error_is_a_delete_one_jackknife(name):
    estimator = ESTIMATORS[name]
    sample = replicates(size=9, k=2)
    rest = [moments_of(sample.select(np.delete(np.arange(9), b))) for b in range(9)]
    biases = np.array([estimator.bias(sums) for sums in rest])
    logs = np.log([estimator.variance(sums) for sums in rest])
    error = estimator_error(estimator, sample)
    # By Student's t, so that three of them hold what three of a normal law do.
    factor = stats.t(8).isf(stats.norm.sf(3)) / 3
    np.testing.assert_allclose(
        error.bias, factor * np.sqrt(8 / 9 * ((biases - biases.mean(axis=0)) ** 2).sum(axis=0)), rtol=1e-9
    )
    expected = np.sqrt(8 / 9 * ((logs - logs.mean(axis=0)) ** 2).sum(axis=0))
    # "orthogonal" knows that few replicates show too little, and doubts its slope: `test_controlled`.
    inflation, doubt = (1 + 2 / 9 if name == "orthogonal" else 1.0), estimator.doubt(moments_of(sample))
    assert doubt.any() == (name == "orthogonal")
    jackknife = np.maximum(inflation * expected, estimator.least_error(moments_of(sample)))
    np.testing.assert_allclose(error.log_variance, np.hypot(jackknife, doubt), rtol=1e-9)


def test_a_spread_that_few_replicates_carry_is_that_of_so_few():
    """Of 2,000: all alike, those of squares of normal numbers, and where thirty or two carry it."""
    alike = np.resize([1.0, -1.0], 2000)
    squares = np.random.default_rng(0).standard_normal(2000) ** 2
    thirty, two = (np.where(np.arange(2000) < carrying, alike, 0.0) for carrying in (30, 2))
    expected = student_factor([30, 10]) / student_factor(2000 / 15)
    found = tail_factor(np.column_stack([alike, squares, thirty, two, 0 * alike]), 15.0)
    np.testing.assert_allclose(found[[0, 4]], 1, rtol=1e-12)
    np.testing.assert_allclose(found[1], 1, rtol=0.02)
    np.testing.assert_allclose(found[2:4], expected, rtol=1e-12)
    # Ten replicates cannot show who carries it, and the estimators know what they miss.
    assert tail_factor(squares[:10, np.newaxis], 15.0) == 1


def test_errors_of_many_replicates_know_how_few_carry_them():
    """Of 300 replicates three are far: the jackknife spreads by Student's t of ten, over that of 100 and of 20."""
    sample = replicates(size=300, noise=0.01)
    values = sample.values + np.where(np.arange(300) < 3, [30.0, -30.0, 30.0] + [0.0] * 297, 0.0)[:, np.newaxis]
    sample, estimator = replace(sample, values=values), ESTIMATORS["standard"]
    rest = [moments_of(sample.select(np.delete(np.arange(300), b))) for b in range(300)]
    biases, logs = (np.array([each(sums) for sums in rest]) for each in (estimator.bias, estimator.variance))
    of_ten, error = student_factor(10), estimator_error(estimator, sample)
    expected = student_factor(300) * of_ten / student_factor(100) * jackknife_spread(biases)
    np.testing.assert_allclose(error.bias, expected, rtol=1e-9)
    expected = of_ten / student_factor(20) * jackknife_spread(np.log(logs))
    np.testing.assert_allclose(error.log_variance, expected, rtol=1e-9)


def test_a_spread_beyond_the_range_of_numbers_is_infinite_without_a_word():
    far = np.array([[1e200], [-1e200], [0.0]])
    assert jackknife_spread(far) == np.inf
    for one in (far, np.array([[1e308], [-1e308], [0.0]]), np.array([[np.inf], [1.0], [2.0]])):
        tail_factor(one, 3.0)


def test_standard_replicates_are_worth_themselves():
    """For normal replicates the formula 1 + 2/relvar gives back B, up to its own noise (sd about 6% at B = 2000)."""
    rng = np.random.default_rng(0)
    sample = Replicates(
        estimate=np.zeros(1),
        values=rng.standard_normal((2000, 1)),
        linear=None,
        linear_variance=None,
        numbers=np.arange(2000),
    )
    assert estimator_error(ESTIMATORS["standard"], sample).equivalent_resamples[0] == pytest.approx(2000, rel=0.25)


def test_too_few_replicates_leave_the_simulation_error_unknown():
    error = estimator_error(ESTIMATORS["orthogonal"], replicates(size=2))
    assert np.isnan(error.bias).all()
    assert np.isnan(error.log_variance).all()


def test_nothing_simulated_has_no_error():
    error = estimator_error(ESTIMATORS["jackknife"], replicates(size=2))
    assert (error.bias == 0).all()
    assert np.isinf(error.equivalent_resamples).all()


def equal_but_one(scale=1.0):
    """Eight replicates, seven of them equal to the estimate."""
    values = np.zeros((8, 1))
    values[4] = scale
    return Replicates(estimate=np.zeros(1), values=values, linear=None, linear_variance=None, numbers=np.arange(8))


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_variance_that_rests_on_one_replicate_has_an_unknown_error_in_every_unit(scale):
    error = estimator_error(ESTIMATORS["standard"], equal_but_one(scale))
    assert np.isnan(error.log_variance).all()
    assert np.isnan(error.equivalent_resamples).all()


def test_equal_replicates_of_what_varies_are_no_certainty():
    rng = np.random.default_rng(0)
    linear = rng.standard_normal((6, 1))
    sample = Replicates(
        estimate=np.zeros(1),
        values=np.zeros((6, 1)),
        linear=linear,
        linear_variance=np.ones(1),
        numbers=np.arange(6),
    )
    assert np.isnan(estimator_error(ESTIMATORS["orthogonal"], sample).log_variance).all()
    assert r_squared(moments_of(sample))[0] == 0


@pytest.mark.parametrize("name", ["standard", "cheap"])
def test_what_needs_no_influence_does_not_depend_on_it(name):
    """Equal replicates have variance zero exactly, whatever a huge influence function says."""
    linear = 1e9 * np.random.default_rng(0).standard_normal((5, 1))
    sample = Replicates(
        estimate=np.full(1, 0.1),
        values=np.full((5, 1), 0.1),
        linear=linear,
        linear_variance=np.ones(1),
        numbers=np.arange(5),
    )
    assert ESTIMATORS[name].variance(moments_of(sample))[0] == 0
    assert ESTIMATORS[name].bias(moments_of(sample))[0] == 0


@pytest.mark.parametrize("scale", [2.0, 2.0001, 0.5, -1.0])
@pytest.mark.parametrize("size", [5, 10, 20])
def test_a_perfect_fit_with_the_wrong_scale_leaves_no_prior(scale, size):
    sample = replicates(size=size, noise=0.0, scale=scale)
    assert slope(moments_of(sample))[0] == pytest.approx(1 / scale, rel=1e-6)
    truth = replicates(size=size, noise=0.0).linear_variance[0]
    assert ESTIMATORS["orthogonal"].variance(moments_of(sample))[0] == pytest.approx(truth, rel=1e-6)
