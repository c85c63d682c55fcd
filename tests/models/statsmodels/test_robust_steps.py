"""The Newton steps of robust regressions stand for their refits, the scale included."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.models.statsmodels.robust_scales import (
    FixedScale,
    HuberScale,
    MedianScale,
    weighted_median,
    weighted_medians,
)
from orthoboot.typing import FloatArray
from orthoboot.warning_scopes import silenced

norms = sm.robust.norms
RNG = np.random.default_rng(61)
N = 120
X = sm.add_constant(RNG.standard_normal((N, 2)))
SYMMETRIC = X @ [1.0, 2.0, -1.0] + RNG.standard_t(3, size=N)
SKEWED = X @ [1.0, 2.0, -1.0] + RNG.exponential(size=N) ** 1.5
WEIGHTS = RNG.multinomial(N, np.full(N, 1 / N), size=40).astype(float)
RESAMPLES = Resamples((WEIGHTS,))


def huber_scale() -> Any:
    return sm.robust.scale.HuberScale(tol=1e-14, maxiter=500)


def functional_of(norm: Any, y: FloatArray = SYMMETRIC, scale: Any = "mad", target: Any = None) -> Any:
    return ob.from_statsmodels(sm.RLM(y, X, M=norm).fit(scale_est=scale, maxiter=2000, tol=1e-12), target)


def prepared(*arguments: Any, **options: Any) -> Any:
    functional = functional_of(*arguments, **options)
    return functional.prepared(read(functional.data, paired=True))


# Scales of many resamples


def test_medians_of_many_are_those_of_each() -> None:
    values = np.abs(RNG.standard_normal((40, N)))
    expected = [weighted_median(*pair) for pair in zip(values, WEIGHTS, strict=True)]
    np.testing.assert_array_equal(weighted_medians(values, WEIGHTS), expected)
    pairs = np.tile([1.0, 2.0, 5.0, 9.0], (2, 1))
    between = np.array([[1.0, 1.0, 1.0, 1.0], [2.0, 0.0, 1.0, 1.0]])
    np.testing.assert_array_equal(weighted_medians(pairs, between), [3.5, 3.0])


@pytest.mark.parametrize(
    "scale", [FixedScale(), MedianScale(), HuberScale(2.5, 0.9)], ids=lambda one: type(one).__name__
)
def test_scales_of_many_are_the_fixed_points_of_each(scale: Any) -> None:
    residuals = RNG.standard_t(3, size=(40, N))
    found = scale.of_many(residuals, WEIGHTS, 1.2)
    for own, weights, size in zip(residuals, WEIGHTS, found, strict=True):
        assert scale.updated(own, weights, size) == pytest.approx(size, rel=1e-4)


# Steps


@pytest.mark.parametrize("target", [None, X[:3]], ids=["coefficients", "predictions"])
@pytest.mark.parametrize(
    ("norm", "y", "scale", "bound"),
    [
        (norms.HuberT(), SYMMETRIC, "mad", 0.01),
        (norms.TukeyBiweight(), SYMMETRIC, "mad", 0.02),
        (norms.Hampel(), SYMMETRIC, "mad", 0.02),
        (norms.StudentT(), SYMMETRIC, "mad", 0.01),
        (norms.HuberT(), SYMMETRIC, huber_scale(), 0.002),
        (norms.HuberT(), SKEWED, "mad", 0.03),
        (norms.HuberT(), SKEWED, huber_scale(), 0.002),
    ],
    ids=["Huber", "biweight", "Hampel", "t", "Huber's scale", "skewed", "skewed, Huber's scale"],
)
def test_steps_end_near_the_refits(norm: Any, y: FloatArray, scale: Any, bound: float, target: Any) -> None:
    at = prepared(norm, y, scale, target)
    refits = at.values(RESAMPLES)
    steps = pickle.loads(pickle.dumps(at.surrogate)).values(RESAMPLES)
    assert steps.shape == refits.shape
    found = np.isfinite(steps).all(axis=1)
    assert found.mean() > 0.95
    assert np.sqrt(np.mean(((steps - refits)[found] / refits.std(axis=0)) ** 2)) < bound


def test_of_squares_one_step_is_the_refit_whatever_the_scale() -> None:
    at = prepared(norms.LeastSquares())
    np.testing.assert_allclose(at.surrogate.values(RESAMPLES), at.values(RESAMPLES), rtol=1e-10)


def test_the_scale_of_a_resample_counts() -> None:
    """With the scale held at that of all rows the steps miss the refits by ten times as much."""
    at = prepared(norms.HuberT(), SKEWED)
    refits, surrogate = at.values(RESAMPLES), at.surrogate
    held = type(surrogate)(**{**vars(surrogate), "scale": FixedScale()})
    errors = [np.sqrt(np.nanmean((steps.values(RESAMPLES) - refits) ** 2)) for steps in (surrogate, held)]
    assert errors[0] < 0.1 * errors[1]


def test_rows_of_weight_zero_are_rows_left_out() -> None:
    at = prepared(norms.HuberT())
    for weights, value in zip(WEIGHTS[:3], at.surrogate.values(RESAMPLES)[:3], strict=True):
        drawn = np.repeat(np.arange(N), weights.astype(int))
        alone = sm.RLM(SYMMETRIC[drawn], X[drawn], M=norms.HuberT()).fit(maxiter=2000, tol=1e-12)
        np.testing.assert_allclose(value, alone.params, atol=0.02 * alone.bse.max())


def test_a_resample_without_a_scale_has_no_value() -> None:
    weights = WEIGHTS[:2].copy()
    weights[1] = 0.0
    weights[1, :3] = N / 3  # three rows are fitted without error
    found = prepared(norms.HuberT()).surrogate.values(Resamples((weights,)))
    np.testing.assert_array_equal(np.isfinite(found).all(axis=1), [True, False])


def test_a_fixed_scale_is_kept() -> None:
    functional = ob.from_statsmodels(sm.RLM(SYMMETRIC, X).fit(start_scale=1.5, update_scale=False, tol=1e-12))
    at = functional.prepared(read(functional.data, paired=True))
    refits = at.values(RESAMPLES)
    assert np.max(np.abs(at.surrogate.values(RESAMPLES) - refits) / refits.std(axis=0)) < 1e-6


# As a control


def result_of(functional: Any, **options: Any) -> Any:
    with silenced():
        return ob.bootstrap(functional.data, functional, paired=True, **{"n_resamples": 10, "rng": 0, **options})


def test_refits_go_one_by_one_so_that_it_is_the_default() -> None:
    result = result_of(functional_of(norms.HuberT()))
    assert (result.control, result.run.control.probes.contradicted.any()) == ("surrogate", False)
    assert np.min(result.r_squared) > 0.999
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_allclose(again.extend(2).variance, result.extend(2).variance, rtol=1e-9)
    np.testing.assert_allclose(result_of(functional_of(norms.HuberT()), n_jobs=2).variance, result.variance, rtol=1e-9)


def errors_of(functional: Any, truth: FloatArray, n_runs: int) -> dict[str, float]:
    """Return the relative RMSE of the variance by runs of ten refits, with the linear part and with the surrogate."""
    found = {}
    for control in ("linear", "surrogate"):
        result = result_of(functional, n_resamples=10 * n_runs, control=control, rng=3)
        with silenced():
            parts = [result.with_estimator("orthogonal", slice(10 * run, 10 * run + 10)) for run in range(n_runs)]
        found[control] = float(np.sqrt(np.mean([(np.ravel(part.variance) / truth - 1) ** 2 for part in parts])))
    return found


def plain_variance(functional: Any, n_resamples: int) -> FloatArray:
    return np.ravel(result_of(functional, n_resamples=n_resamples, estimator="standard", rng=4).variance)


def test_where_a_norm_jumps_the_guard_holds_what_steps_say() -> None:
    """Trimmed means leave rows out all at once: steps end elsewhere than refits now and then, by several deviations.

    The RMSE over twenty runs of ten, within a tenth and its own error of that by the linear part.
    """
    functional = functional_of(norms.TrimmedMean(), SKEWED)
    errors = errors_of(functional, plain_variance(functional, 800), 20)
    assert errors["surrogate"] < errors["linear"] * (1.1 + 3 / np.sqrt(2 * 20))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [501, 502, 503])
def test_ten_refits_beat_those_with_the_linear_part(seed: int) -> None:
    """Against 5,000 refits; the data chose nothing."""
    generator = np.random.default_rng(seed)
    columns = sm.add_constant(generator.standard_normal((100, 3)))
    y = columns @ [1.0, 1.0, 0.0, -1.0] + generator.standard_t(3, size=100)
    functional = ob.from_statsmodels(sm.RLM(y, columns).fit(maxiter=2000, tol=1e-12))
    errors = errors_of(functional, plain_variance(functional, 5000), 10)
    # The truth has an error of .02, and 2000 draws leave about as much.
    assert errors["surrogate"] < 0.06
    assert errors["surrogate"] < 0.5 * errors["linear"]
