"""Prediction intervals of regressors: every estimator of the variance, both noises, levels, frames, failures."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import HuberRegressor, Lasso, LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import orthoboot as ob
from tools.cases.intervals import ESTIMATORS


def _linear_data(n: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) * [1.0, 3.0, 0.5] + [0.0, 5.0, -1.0]
    return X, 1.0 + X @ [1.0, -0.5, 2.0] + rng.standard_normal(n)


X, Y = _linear_data(80)
NEW, _ = _linear_data(5, seed=1)
SCALED = make_pipeline(StandardScaler(), Ridge(2.0))
PROJECTED = make_pipeline(PCA(1), LinearRegression())


class Fragile(RegressorMixin, BaseEstimator):
    """The mean of the response; it refuses rows without the one whose first column is largest."""

    def fit(self, X: Any, y: Any) -> Fragile:
        """Keep the mean."""
        if X[:, 0].max() < 2.0:
            raise ArithmeticError("the row is missing")
        self.mean_ = np.mean(y)
        return self

    def predict(self, X: Any) -> Any:
        """Return the mean for every row."""
        return np.full(len(X), self.mean_)


def _seen(model: Any, new: Any = NEW) -> dict[str, Any]:
    """Return all that a fitted regressor says of new rows, at the level of 95% unless it has its own."""
    points, intervals = model.predict_interval(new)
    return {
        "estimate": points,
        "standard_error": model.model_std(new),
        "low": intervals[:, 0],
        "high": intervals[:, 1],
        "std": model.predict(new, return_std=True)[1],
        "std_error": model.simulation_error(new),
        "variance_reduction": model.variance_reduction(new),
        "noise_variance": model.noise_variance_,
        "n_failed": model.n_failed_,
        "variance_estimator": model.variance_estimator_,
    }


def _fit(estimator: Any, X: Any = X, y: Any = Y, new: Any = NEW, **options: Any) -> dict[str, Any]:
    model = ob.PredictionIntervalRegressor(estimator, **({"n_resamples": 5, "rng": 0} | options))
    return _seen(model.fit(X, y), new)


def _derived(name: str, **options: Any) -> dict[str, Any]:
    """Return what another estimator says of the same refits."""
    model = ob.PredictionIntervalRegressor(SCALED, n_resamples=6, rng=0).fit(X, Y)
    return _seen(model.with_variance_estimator(name, **options))


def _frame() -> dict[str, Any]:
    import pandas as pd

    rows, new = (pd.DataFrame(part, columns=["a", "b", "c"]) for part in (X, NEW))
    model = ob.PredictionIntervalRegressor(SCALED, rng=0).fit(rows, pd.Series(Y))
    frame = model.predict_interval(new, [0.5, 0.9], as_frame=True)
    return {"estimate": frame["prediction"], "ends": frame, "columns": ", ".join(frame.columns)}


def _network(protocol: str, **options: Any) -> dict[str, Any]:
    import torch  # noqa: F401 - a missing package is told here

    base = ob.NeuralRegressor(4, epochs=20, weight_decay=1e-3, random_state=0, protocol=protocol)
    return _fit(base.set_params(learning_rate=0.01), **options)


MODELS: dict[str, Any] = {
    "Ridge": Ridge(2.0),
    "scaled Ridge": SCALED,
    "LinearRegression": LinearRegression(),
    "Huber": HuberRegressor(),
    "Lasso": Lasso(0.01),
    "neighbours": KNeighborsRegressor(),
    "tree": DecisionTreeRegressor(random_state=0),
}

CASES = (
    {
        f"{model}, {estimator}": partial(_fit, regressor, variance_estimator=estimator)
        for model, regressor in MODELS.items()
        for estimator in ESTIMATORS
    }
    | {
        f"network, {protocol}, {estimator}": partial(_network, protocol, variance_estimator=estimator)
        for protocol in ("polished", "paper")
        for estimator in ESTIMATORS
    }
    | {
        f"derived, {name}, {size} refits": partial(_derived, name, refits=slice(size))
        for name in ESTIMATORS
        for size in (2, 6)
    }
    | {
        "out-of-bag noise": lambda: _fit(Ridge(2.0), noise="out-of-bag"),
        "out-of-bag noise, derived": lambda: _derived("paper", noise="out-of-bag"),
        "twenty refits": lambda: _fit(SCALED, n_resamples=20),
        "two refits": lambda: _fit(SCALED, n_resamples=2),
        "another seed": lambda: _fit(SCALED, rng=7),
        "another level": lambda: _fit(SCALED, confidence_level=0.5),
        "levels of a frame": _frame,
        "boosting": lambda: _fit(GradientBoostingRegressor(n_estimators=5, random_state=0)),
        "weak influence": lambda: _fit(PROJECTED, X[:, :2] / [1.0, 3.0], n_resamples=20, new=NEW[:, :2]),
        "stopped early": lambda: _fit(HuberRegressor(max_iter=4)),
        "few rows": lambda: _fit(Ridge(), X[:9], Y[:9]),
        "constant response": lambda: _fit(Ridge(), y=np.full(80, 0.1), variance_estimator="standard"),
        "failures": lambda: _fit(Fragile(), n_resamples=12, variance_estimator="standard"),
        "no regressor": lambda: _fit(LogisticRegression()),
        "no fit": lambda: _fit(PoissonRegressor()),
        "one refit, refused": lambda: _fit(Ridge(), n_resamples=1),
        "level, refused": lambda: _fit(Ridge(), confidence_level=95),
        "NaN, refused": lambda: _fit(Ridge(), np.where(X[3, 1] == X, np.nan, X)),
        "not fitted": lambda: _seen(ob.PredictionIntervalRegressor(clone(SCALED))),
    }
)
