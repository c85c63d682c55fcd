"""Surrogates as controls: what they do for the answer, and what wrong ones do not do to it."""

from __future__ import annotations

import copy
import functools
import pickle
from dataclasses import replace

import numpy as np
import pytest

import orthoboot as ob
from orthoboot.controls.surrogate import _extremes, _sides
from orthoboot.functionals.surrogate import Surrogate
from orthoboot.warning_scopes import silenced

linear_model = pytest.importorskip("sklearn.linear_model")

RNG = np.random.default_rng(8)
X = RNG.standard_normal((200, 3))
Y = (RNG.random(200) < 1 / (1 + np.exp(-X.sum(axis=1) / 2))).astype(float)
MODEL = ob.from_sklearn(linear_model.LogisticRegression(C=np.inf, tol=1e-8), target="coef_")


def result_of(statistic=MODEL, n_resamples=10, **options):
    with silenced():
        return ob.bootstrap((X, Y), statistic, paired=True, n_resamples=n_resamples, rng=0, **options)


@pytest.fixture(scope="module")
def many():
    """4000 plain refits of the same model."""
    return result_of(ob.logistic_regression.replace(intercept=True), 4000, estimator="standard")


def test_ten_refits_and_two_probes_are_worth_thousands(many):
    result = result_of()
    assert (result.control, result.run.control.probes.contradicted.any()) == ("surrogate", False)
    np.testing.assert_allclose(result.control_share, 1)
    # Of 4000 refits and of 8000 draws, of which the linear part explains most: four standard errors.
    relative = np.ravel(result.standard_error)[:3] / np.ravel(many.standard_error)[1:] - 1
    assert np.abs(relative).max() < 4 * np.sqrt(1 / 8000 + 1 / 16000)
    assert np.ravel(result.equivalent_resamples).min() > 2000


def test_percentile_ends_are_those_of_thousands_of_refits(many):
    result = result_of(method="percentile")
    plain = many.interval(method="percentile")
    for end, other in zip(result.confidence_interval, plain, strict=True):
        apart = (np.ravel(end)[:3] - np.ravel(other)[1:]) / np.ravel(many.standard_error)[1:]
        # A quantile of 4000 replicates has an error of .05 standard errors, one of 8000 draws of .035.
        assert np.abs(apart).max() < 4 * np.hypot(0.05, 0.035)


def test_more_replicates_go_on_from_the_same_draws():
    np.testing.assert_allclose(result_of().extend(5).variance, result_of(n_resamples=15).variance, rtol=1e-9)


def test_draws_that_cost_next_to_nothing_are_more():
    """Two thousand are asked for: of 30 rows, whose tails are heavy, they know the variance to a twentieth."""
    model = ob.from_sklearn(linear_model.LinearRegression(), target="coef_")
    rng = np.random.default_rng(3)

    def n_draws(n, d):
        X = rng.standard_normal((n, d))
        with silenced():
            result = ob.bootstrap((X, X.sum(axis=1) + rng.standard_normal(n)), model, paired=True, rng=0)
        return len(result.run.control.draws.linear)

    assert n_draws(30, 3) == 8000
    assert 2000 < n_draws(1000, 10) < 8000
    assert n_draws(2000, 20) == 2000


def test_jobs_and_a_checkpoint_change_nothing(tmp_path):
    alone = result_of()
    for options in ({"n_jobs": 2}, {"checkpoint": tmp_path / "run.ob"}, {"checkpoint": tmp_path / "run.ob"}):
        other = result_of(**options)
        np.testing.assert_allclose(other.variance, alone.variance, rtol=1e-9)
        assert list(map(str, other.warnings)) == list(map(str, alone.warnings))


def test_it_survives_pickle():
    result = result_of()
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_allclose(again.extend(2).variance, result.extend(2).variance, rtol=1e-9)


def test_the_unit_of_the_response_does_not_matter():
    ridge = ob.from_sklearn(linear_model.LinearRegression(), target="coef_")
    y = X @ [1.0, 2.0, 3.0] + RNG.standard_normal(200)
    with silenced():
        plain, scaled = (
            ob.bootstrap((X, scale * y), ridge, paired=True, rng=0, control="surrogate") for scale in (1.0, 1e100)
        )
    np.testing.assert_allclose(scaled.standard_error, 1e100 * plain.standard_error, rtol=1e-6)
    np.testing.assert_allclose(plain.r_squared, 1, rtol=1e-9)


class Wrong(Surrogate):
    """A surrogate that something is done to, by the number of the resample."""

    def __init__(self, of, estimate, change):
        self.of, self.estimate, self.change = of, estimate, change

    def values(self, resamples):
        changes = self.of.values(resamples) - self.estimate
        seeds = resamples.seeds(7)
        return self.estimate + np.array(
            [self.change(row, np.random.default_rng(seed)) for row, seed in zip(changes, seeds, strict=True)]
        )

    def values_at(self, weights):
        raise NotImplementedError

    @property
    def work(self):
        return self.of.work


WRONG = {
    "times 3": lambda s, rng: 3 * s,
    "times 0.3": lambda s, rng: 0.3 * s,
    "noise": lambda s, rng: 4 * rng.standard_normal(s.shape),
    "explosions": lambda s, rng: np.where(rng.random() < 0.002, 50.0, s),
}


@functools.cache
def by_the_linear_part(n_resamples):
    return result_of(n_resamples=n_resamples, control="linear")


def misled(change, n_resamples=400):
    """Replicates by the linear part, and the same with a wrong surrogate."""
    linear = by_the_linear_part(n_resamples)
    prepared = copy.copy(linear.run.prepared)
    vars(prepared)["surrogate"] = Wrong(prepared.surrogate, prepared.estimate, change)
    run = replace(linear.run, prepared=prepared, control_request="surrogate", control_is_found=False).with_control()
    return linear, replace(linear, run=run)


@pytest.mark.parametrize(
    "name",
    ["times 3", "explosions", *(pytest.param(name, marks=pytest.mark.slow) for name in ("times 0.3", "noise"))],
)
def test_a_wrong_surrogate_does_no_harm(name, many):
    """The RMSE of the variance over forty runs of ten, within a tenth and its own error of that by the linear part."""
    linear, wrong = misled(WRONG[name])
    assert wrong.run.control is not None
    truth = np.ravel(many.variance)[1:]

    def error(result):
        with silenced():
            parts = [result.with_estimator("orthogonal", slice(start, start + 10)) for start in range(0, 400, 10)]
        return np.sqrt(np.mean([(np.ravel(part.variance)[:3] / truth - 1) ** 2 for part in parts]))

    assert error(wrong) < error(linear) * (1.1 + 3 / np.sqrt(2 * 40))


def test_a_contradicted_surrogate_goes_no_farther_than_the_refits():
    """Its draws are limited by what the replicates show, not by what it says of them itself."""
    _, wrong = misled(lambda s, rng: np.where(rng.random() < 0.1, 50.0, s), 20)
    control, replicates = wrong._estimation.control_values, wrong.replicates
    remainders = replicates.values - replicates.estimate - replicates.linear
    excess = control.law.control - control.law.linear
    assert wrong.run.control.probes.contradicted[1].all()
    np.testing.assert_array_less(excess.max(axis=0), 1.5 * remainders.max(axis=0) + 1e-12)
    assert (np.ravel(wrong.simulation_error.bias) < 0.5 * np.ravel(wrong.standard_error)).all()


def test_the_probes_widen_the_limits_and_what_limits_do_counts_as_error():
    _, wrong = misled(lambda s, rng: np.where(rng.random() < 0.1, 50.0, s), 20)
    control, estimation = wrong.run.control, wrong._estimation
    linear = np.zeros((20, control.draws.linear.shape[1]))
    seen = replace(
        control, probes=control.probes._replace(remainders=np.array([[-7.0], [9.0]]) * np.ones_like(linear[0]))
    )
    limits = seen._limits(linear)
    np.testing.assert_array_equal(limits[1], 9.0)
    np.testing.assert_array_equal(limits[0][control.probes.contradicted[0]], -7.0)
    law = estimation.control_values.law
    assert (law.limited_log_variance > 0).all()
    assert (estimation.error.log_variance_by_draws >= wrong.control_share.ravel() * law.limited_log_variance).all()


def test_two_draws_are_probed_even_where_one_has_both_extremes():
    assert _extremes(np.array([[0.0, 1.0], [-5.0, 5.0], [-1.0, 2.0]])) == [1, 2]
    assert _extremes(np.array([[0.0, 1.0], [-5.0, 0.5], [-1.0, 2.0]])) == [1, 2]


def test_one_that_is_the_linear_part_is_not_used():
    """The projection of a mean far from the bound is the mean itself."""
    jax = pytest.importorskip("jax")
    rows = np.random.default_rng(1).normal([1.0, 2.0], 0.3, size=(60, 2))
    nearest = ob.minimize(lambda x, mean: ((x - mean) ** 2).sum(), jax.numpy.ones(2), inequality=lambda x, mean: -x)
    with silenced():
        assert ob.bootstrap(rows, nearest, rng=0).control == "linear"


def test_an_output_with_a_heavy_tail_is_probed_at_its_own_extremes():
    """Explosions of the first output stay hidden where a true extreme of the second is farther out."""
    excess = np.random.default_rng(0).standard_normal((2000, 2))
    assert _sides(excess, excess) == ([int(excess.min(axis=1).argmin())], [int(excess.max(axis=1).argmax())])
    excess[7, 1], excess[100:110, 0] = 300.0, 50.0
    below, above = _sides(excess, excess)
    assert 7 in above
    assert set(above) & set(range(100, 110))
    assert len(below) == len(above) == 3


def test_a_tolerance_that_the_draws_do_not_allow_ends_the_run():
    with pytest.warns(ob.errors.ToleranceWarning, match="draws of the surrogate"):
        result = ob.bootstrap((X, Y), MODEL, paired=True, tol=0.003, max_resamples=500, rng=0)
    assert result.n_resamples < 100


def test_draws_without_a_value_count_as_their_linear_part():
    _, wrong = misled(lambda s, rng: np.where(rng.random() < 0.03, np.nan, s), 10)
    draws = wrong.run.control.draws
    missing = (draws.surrogate == draws.linear).all(axis=1)
    assert missing.mean() == pytest.approx(0.03, abs=0.01)  # five standard errors of 8000 draws
    assert np.isfinite(wrong.variance).all()


def test_one_that_has_too_often_no_value_is_refused():
    with pytest.raises(ob.errors.ArgumentError, match="has nothing to add"):
        misled(lambda s, rng: np.where(rng.random() < 0.2, np.nan, s), 10)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_few_draws_that_carry_the_variance_are_told(seed):
    """Of classes that resamples nearly separate; reported errors of the standard error are half of the true ones."""
    rng = np.random.default_rng([seed, 2])
    wide = rng.standard_normal((100, 6))

    def warned(size):
        labels = (rng.random(100) < 1 / (1 + np.exp(-size * wide.sum(axis=1)))).astype(float)
        with silenced():
            result = ob.bootstrap(
                (wide, labels), ob.logistic_regression, n_resamples=10, rng=0, paired=True, control="surrogate"
            )
        return any("the farthest of" in str(each) for each in result.warnings)

    assert warned(1.5)
    assert not warned(0.2)


def test_one_without_values_is_given_up_after_a_hundred_draws():
    drawn = []

    def mostly_nothing(s, rng):
        drawn.append(1)
        return np.where(rng.random() < 0.5, np.nan, s)

    with pytest.raises(ob.errors.ArgumentError, match="has nothing to add"):
        misled(mostly_nothing, 10)
    assert len(drawn) == 100


def test_explosions_are_found_by_the_probes():
    _, wrong = misled(WRONG["explosions"], 10)
    assert wrong.run.control.probes.contradicted.any()
    assert "contradicted by a probe" in wrong.run.control.description


def test_catalogue_models_are_refitted_in_batches_and_need_none():
    assert result_of(ob.logistic_regression).control == "linear"
    assert result_of(ob.logistic_regression, control="surrogate").control == "surrogate"
