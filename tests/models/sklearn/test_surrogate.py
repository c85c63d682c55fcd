"""The surrogates of scikit-learn's linear models stand for their refits, scaled columns included."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.influence import finite_difference_bias
from orthoboot.plans import PlanCovariance
from orthoboot.warning_scopes import silenced

RNG = np.random.default_rng(41)
N = 150
X = RNG.standard_normal((N, 3)) * [1.0, 3.0, 0.1] + [0.0, 5.0, 1.0]
ETA = (X - X.mean(axis=0)) / X.std(axis=0) @ [0.5, -0.6, 0.4]
CLASSES = (RNG.random(N) < 1 / (1 + np.exp(-ETA))).astype(float)
LABELS = np.where(ETA + RNG.logistic(size=N) > 0.8, 2, CLASSES)
COUNTS = RNG.poisson(np.exp(ETA)).astype(float)
NUMBERS = ETA + RNG.standard_normal(N)
TIMES = RNG.gamma(2.0, np.exp(ETA))
RESAMPLES = Resamples((RNG.multinomial(N, np.full(N, 1 / N), size=12).astype(float),))

EXACT = {
    "least squares": (LinearRegression(), NUMBERS),
    "ridge": (Ridge(alpha=3.0), NUMBERS),
    "lasso": (Lasso(alpha=0.01, tol=1e-10), NUMBERS),
    "elastic net": (ElasticNet(alpha=0.01, tol=1e-10), NUMBERS),
}
CLOSE = {
    "logistic": (LogisticRegression(), CLASSES),
    "weighted classes": (LogisticRegression(class_weight={0: 1.0, 1: 2.0}), CLASSES),
    "three classes": (LogisticRegression(C=2.0), LABELS),
    "poisson": (PoissonRegressor(alpha=0.1), COUNTS),
    "gamma": (GammaRegressor(alpha=0.1), TIMES),
    "tweedie": (TweedieRegressor(power=1.5, alpha=0.1), TIMES),
    "huber": (HuberRegressor(), NUMBERS),
}
WRAPPED = {
    "alone": lambda model: model,
    "scaled": lambda model: make_pipeline(StandardScaler(), model),
    "divided": lambda model: make_pipeline(StandardScaler(with_mean=False), model),
    "centred": lambda model: make_pipeline(
        PolynomialFeatures(1, include_bias=False), StandardScaler(with_std=False), model
    ),
}


def prepared(model: Any, y: Any, target: Any) -> Any:
    return ob.from_sklearn(model, target).prepared(read((X, y), paired=True))


def worst(at: Any) -> float:
    """Return the largest difference from the refits, in standard deviations of each output."""
    refits, steps = at.values(RESAMPLES), at.surrogate.values(RESAMPLES)
    assert refits.shape == steps.shape
    return float(np.max(np.abs(steps - refits) / np.where(refits.std(axis=0) > 1e-9, refits.std(axis=0), 1.0)))


def every_model(models: Any, targets: dict[str, Any]) -> Any:
    """Return all models in all wrappings with all targets: each two of these together, and all three where slow."""
    cases = [
        pytest.param(
            name, wrapped, targets[target],
            id=f"{name}-{wrapped}-{target}", marks=() if (i + j + k) % 3 == 0 else pytest.mark.slow,
        )
        for i, name in enumerate(models) for j, wrapped in enumerate(WRAPPED) for k, target in enumerate(targets)
    ]  # fmt: skip
    return pytest.mark.parametrize(("name", "wrapped", "target"), cases)


@every_model(EXACT, {"coef_": "coef_", "intercept_": "intercept_", "rows": X[:2]})
def test_of_quadratic_losses_it_is_the_refit(name: str, wrapped: str, target: Any) -> None:
    model, y = EXACT[name]
    assert worst(prepared(WRAPPED[wrapped](model), y, target)) < 1e-8


@every_model(CLOSE, {"coef_": "coef_", "both": ("intercept_", "coef_"), "rows": X[:2]})
def test_of_other_losses_it_is_close_to_the_refit(name: str, wrapped: str, target: Any) -> None:
    model, y = CLOSE[name]
    assert worst(prepared(WRAPPED[wrapped](model), y, target)) < 0.03


def test_it_can_be_pickled() -> None:
    at = prepared(make_pipeline(StandardScaler(), LogisticRegression()), CLASSES, "coef_")
    copied = pickle.loads(pickle.dumps(at.surrogate))
    np.testing.assert_array_equal(copied.values(RESAMPLES), at.surrogate.values(RESAMPLES))


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (RandomForestRegressor(n_estimators=2), X[:2]),
        (Ridge(), lambda model: model.coef_[0]),
        (LogisticRegression(), "n_iter_"),
        (make_pipeline(StandardScaler(), Ridge(fit_intercept=False)), "coef_"),
        (make_pipeline(StandardScaler(), LogisticRegression(solver="liblinear")), "coef_"),
    ],
    ids=["another model", "a function", "another attribute", "centred without intercept", "penalised intercept"],
)
def test_there_is_none_where_steps_would_not_be_cheap_or_not_those_of_the_refit(model: Any, target: Any) -> None:
    assert prepared(model, CLASSES, target).surrogate is None


def test_an_exact_fit_needs_none() -> None:
    assert prepared(LinearRegression(), X @ [1.0, 2.0, 3.0], "coef_").surrogate is None


def test_the_kink_of_hubers_loss_does_not_keep_its_surrogate_from_use() -> None:
    model = ob.from_sklearn(HuberRegressor(tol=1e-8), "coef_")
    with silenced():
        result = ob.bootstrap((X, NUMBERS), model, paired=True, n_resamples=10, rng=0)
    assert (result.control, result.run.control.probes.contradicted.any()) == ("surrogate", False)
    assert np.min(result.r_squared) > 0.99


# The bias of second order

FEW = 40
UNEQUAL = np.repeat(np.arange(20), np.tile([1, 3], 10))
FEW_PLANS = {"rows": {}, "strata": {"strata": np.arange(FEW) % 3}, "groups": {"groups": np.arange(FEW) // 2}}
HAVE_BIAS = [
    *(("rows", name) for name in ("least squares", "weighted classes", "three classes", "poisson", "gamma", "tweedie")),
    *((plan, name) for plan in FEW_PLANS for name in ("ridge", "logistic")),
]


def bias_of(run: Any) -> Any:
    return run.prepared.second_order_bias(PlanCovariance(run.plan))


def bias_by_differences(run: Any) -> Any:
    with silenced():
        return finite_difference_bias(run.prepared, run.execution, plan=run.plan)


def run_of(estimator: Any, y: Any, target: Any = "coef_", **options: Any) -> Any:
    """Return the run for few rows, since differences take two refits for each."""
    model = ob.from_sklearn(estimator, target)
    with silenced():
        return ob.bootstrap(
            (X[:FEW], y[:FEW]), model, n_resamples=5, rng=0, paired=True, control="linear", **options
        ).run


@pytest.mark.parametrize(("plan", "name"), HAVE_BIAS)
def test_the_bias_of_coefficients_is_that_of_second_differences(plan, name):
    run = run_of(*{**EXACT, **CLOSE}[name], **FEW_PLANS[plan])
    expected = bias_by_differences(run)
    # Second differences leave the square of their step times the fourth derivative.
    np.testing.assert_allclose(bias_of(run), expected, rtol=1e-4, atol=3e-5 * np.sqrt(run.linear_variance).max())


@pytest.mark.parametrize("name", ["lasso", "elastic net", "huber"])
def test_a_kink_leaves_the_bias_to_second_differences(name):
    assert bias_of(run_of(*{**EXACT, **CLOSE}[name])) is None


def test_targets_that_are_not_linear_in_the_coefficients_leave_it_too():
    assert bias_of(run_of(*CLOSE["logistic"], target=X[:2])) is None
    assert bias_of(run_of(make_pipeline(StandardScaler(), LogisticRegression()), CLASSES)) is None


def test_groups_of_unequal_size_leave_it_where_there_is_a_penalty():
    assert bias_of(run_of(*CLOSE["logistic"], groups=UNEQUAL)) is None
    free = run_of(LinearRegression(), NUMBERS, groups=UNEQUAL)
    np.testing.assert_allclose(bias_of(free), bias_by_differences(free), rtol=1e-4)
