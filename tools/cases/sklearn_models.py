"""Models and pipelines of scikit-learn, every kind of target, and what falls back to the standard bootstrap."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import (
    BayesianRidge,
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
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeRegressor

import orthoboot as ob
from tools.cases.base import paired_answer

N_ROWS = 300
BOTH = ("coef_", "intercept_")


def _responses() -> tuple[Any, dict[str, Any]]:
    """Return four columns, the last without effect, and a response of each kind."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, 4)) * [1.0, 2.0, 0.5, 1.0] + [0.0, 1.0, -1.0, 3.0]
    eta = (X - X.mean(axis=0)) @ [1.0, -0.3, 1.0, 0.0]
    gamma = rng.gamma(4.0, np.exp(eta / 2) / 4)
    scores = np.column_stack([eta, 0.3 - eta, X[:, 1] / 2])
    return X, {
        "number": 2 * eta + 1 + rng.standard_t(5, size=N_ROWS),
        "count": rng.poisson(np.exp(0.5 + eta / 2)),
        "positive": gamma,
        "zeros": np.where(rng.random(N_ROWS) < 0.3, 0.0, gamma),
        "class": (rng.random(N_ROWS) < 1 / (1 + np.exp(-eta))).astype(int),
        "classes": np.argmax(scores + rng.gumbel(size=(N_ROWS, 3)), axis=1),
    }


X, RESPONSES = _responses()
RARE = np.append(np.ones(3, dtype=int), np.zeros(57, dtype=int))


def scaled(last: Any, **options: Any) -> Any:
    """Return a pipeline that standardises first."""
    return make_pipeline(StandardScaler(**options), last)


def _model(model: Any, response: str, target: Any = BOTH, **options: Any) -> ob.Result:
    return paired_answer((X, RESPONSES[response]), ob.from_sklearn(model, target), **options)


def _first(model: Any, y: Any = RESPONSES["number"], target: Any = BOTH, **options: Any) -> ob.Result:
    """Return the answer for the first sixty rows, for models that are slow or fail."""
    return paired_answer((X[:60], y[:60]), ob.from_sklearn(model, target), **options)


def _frame(estimator: Any, target: Any) -> ob.Result:
    import pandas as pd

    frame = pd.DataFrame(X, columns=["age", "dose", "height", "weight"])
    return paired_answer((frame, pd.Series(RESPONSES["number"])), ob.from_sklearn(estimator, target))


def _named_classes() -> ob.Result:
    import pandas as pd

    frame = pd.DataFrame(X[:, :2], columns=["age", "dose"])
    labels = pd.DataFrame({"answer": np.array(["no", "perhaps", "yes"])[RESPONSES["classes"]]})
    return paired_answer((frame, labels), ob.from_sklearn(LogisticRegression(), "coef_"))


BY_COLUMN = make_column_transformer((StandardScaler(), [0, 1, 2, 3]))

CASES = {
    "LinearRegression": lambda: _model(LinearRegression(), "number"),
    "Ridge": lambda: _model(Ridge(alpha=30.0), "number"),
    "Lasso": lambda: _model(Lasso(alpha=0.35), "number"),
    "ElasticNet": lambda: _model(ElasticNet(alpha=0.4, l1_ratio=0.9), "number"),
    "LogisticRegression": lambda: _model(LogisticRegression(C=0.1), "class"),
    "LogisticRegression, no penalty": lambda: _model(LogisticRegression(C=np.inf), "class"),
    "LogisticRegression, multinomial": lambda: _model(LogisticRegression(C=0.1), "classes"),
    "LogisticRegression, multinomial, no penalty": lambda: _model(LogisticRegression(C=np.inf), "classes"),
    "PoissonRegressor": lambda: _model(PoissonRegressor(alpha=0.2), "count"),
    "GammaRegressor": lambda: _model(GammaRegressor(alpha=0.2), "positive"),
    "TweedieRegressor": lambda: _model(TweedieRegressor(power=1.5, alpha=0.2), "zeros"),
    "HuberRegressor": lambda: _model(HuberRegressor(alpha=3.0), "number", (*BOTH, "scale_")),
    "Pipeline": lambda: _model(scaled(Ridge(alpha=30.0)), "number"),
    "Ridge without intercept": lambda: _model(Ridge(alpha=30.0, fit_intercept=False), "number", "coef_"),
    "positive Lasso": lambda: _model(Lasso(alpha=0.3, positive=True), "number"),
    "weighted classes": lambda: _model(LogisticRegression(class_weight={0: 1.0, 1: 3.0}), "class"),
    "liblinear": lambda: _model(
        LogisticRegression(solver="liblinear", C=0.01, intercept_scaling=2.0, tol=1e-8), "class"
    ),
    "Tweedie, power 0": lambda: _model(TweedieRegressor(power=0, alpha=0.2), "number"),
    "Tweedie, power 0, log": lambda: _model(TweedieRegressor(power=0, link="log", alpha=0.2), "positive"),
    "Tweedie, power 3": lambda: _model(TweedieRegressor(power=3, alpha=0.2), "positive"),
    "Huber without intercept": lambda: _model(HuberRegressor(fit_intercept=False), "number", ("coef_", "scale_")),
    "predictions": lambda: _model(Ridge(alpha=30.0), "number", X[:3]),
    "probability": lambda: _model(LogisticRegression(), "class", X[:3]),
    "probabilities": lambda: _model(LogisticRegression(), "classes", X[:2]),
    "a function": lambda: _model(LogisticRegression(), "class", lambda model: model.coef_[0, 0] / model.coef_[0, 1]),
    "a dict": lambda: _model(
        PoissonRegressor(), "count", lambda model: {"mean": model.predict(X).mean(), "first": model.coef_[0]}
    ),
    "scaled prediction": lambda: _model(scaled(Ridge(alpha=300.0)), "number", X[:3]),
    "scaled only": lambda: _model(scaled(LogisticRegression(C=0.1), with_mean=False), "class"),
    "centred only": lambda: _model(scaled(Ridge(alpha=30.0), with_std=False), "number"),
    "scaled products": lambda: _model(
        make_pipeline(PolynomialFeatures(2, include_bias=False), StandardScaler(), Ridge(alpha=30.0)), "number"
    ),
    "scaled classes": lambda: _model(scaled(LogisticRegression(C=0.1)), "classes"),
    "scaled Huber": lambda: _model(scaled(HuberRegressor(alpha=3.0)), "number", (*BOTH, "scale_")),
    "scaled lasso": lambda: _model(make_pipeline(FunctionTransformer(), StandardScaler(), Lasso(alpha=0.3)), "number"),
    "components": lambda: _model(make_pipeline(StandardScaler(), PCA(3), Ridge()), "number", X[:2]),
    "column transformer": lambda: _model(make_pipeline(BY_COLUMN, Ridge(30.0)), "number"),
    "loose tolerance": lambda: _model(LogisticRegression(tol=1.0), "class"),
    "near a kink": lambda: _model(Lasso(0.16), "number", "coef_"),
    "jackknife": lambda: _model(Ridge(alpha=30.0), "number", estimator="jackknife", n_resamples=0),
    "abc": lambda: _model(Ridge(alpha=30.0), "number", method="abc"),
    "standard": lambda: _model(scaled(LogisticRegression()), "class", estimator="standard", n_resamples=20),
    "cheap": lambda: _model(scaled(Ridge()), "number", estimator="cheap"),
    "groups": lambda: _model(scaled(Ridge()), "number", groups=np.arange(N_ROWS) // 5),
    "strata": lambda: _model(LogisticRegression(), "class", strata=RESPONSES["class"]),
    "extended": lambda: _model(scaled(LogisticRegression()), "class").extend(5),
    "frame": lambda: _frame(scaled(Ridge()), BOTH),
    "frame, by name": lambda: _frame(
        make_pipeline(make_column_transformer((StandardScaler(), ["dose"])), LinearRegression()), "coef_"
    ),
    "frame, classes": _named_classes,
    "tree": lambda: _first(DecisionTreeRegressor(max_depth=2, random_state=0), target=X[:2], n_resamples=20),
    "forest": lambda: _first(RandomForestRegressor(3, random_state=0), target=X[:2], n_resamples=20),
    "neighbours": lambda: _first(KNeighborsRegressor(), target=X[:2], n_resamples=20),
    "neighbours, cheap": lambda: _first(KNeighborsRegressor(), target=X[:2], estimator="cheap"),
    "BayesianRidge": lambda: _first(BayesianRidge(), n_resamples=20),
    "BayesianRidge, jackknife engine": lambda: _first(BayesianRidge(), influence="jackknife"),
    "positive least squares": lambda: _first(LinearRegression(positive=True), n_resamples=20),
    "balanced classes": lambda: _first(LogisticRegression(class_weight="balanced"), RESPONSES["class"], n_resamples=20),
    "transformed target": lambda: _first(TransformedTargetRegressor(Ridge()), target=X[:2], n_resamples=20),
    "collinear columns": lambda: paired_answer(
        (np.column_stack([X, X[:, 0]]), RESPONSES["number"]), ob.from_sklearn(LinearRegression()), n_resamples=20
    ),
    "no parameter": lambda: _model(LogisticRegression(), "class", "n_iter_", n_resamples=20),
    "missing class": lambda: _first(LogisticRegression(), RARE, estimator="standard", n_resamples=40),
    "no fit": lambda: _model(GammaRegressor(), "number"),
    "no attribute": lambda: _model(scaled(Ridge()), "number", "coefs"),
    "no instance": lambda: _model(Ridge, "number"),
    "no probabilities": lambda: _model(LinearSVC(), "class", X[:2]),
    "other columns": lambda: _model(Ridge(), "number", X[:2, :3]),
    "not paired": lambda: ob.bootstrap((X, RESPONSES["number"]), ob.from_sklearn(Ridge()), rng=0),
    "check_influence": partial(
        ob.check_influence, ob.from_sklearn(scaled(Ridge())), (X, RESPONSES["number"]), paired=True
    ),
}
