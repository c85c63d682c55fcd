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


@pytest.mark.parametrize("target", ["coef_", "intercept_", X[:2]], ids=["coef_", "intercept_", "rows"])
@pytest.mark.parametrize("wrapped", WRAPPED)
@pytest.mark.parametrize("name", EXACT)
def test_of_quadratic_losses_it_is_the_refit(name: str, wrapped: str, target: Any) -> None:
    model, y = EXACT[name]
    assert worst(prepared(WRAPPED[wrapped](model), y, target)) < 1e-8


@pytest.mark.parametrize("target", ["coef_", ("intercept_", "coef_"), X[:2]], ids=["coef_", "both", "rows"])
@pytest.mark.parametrize("wrapped", WRAPPED)
@pytest.mark.parametrize("name", CLOSE)
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
