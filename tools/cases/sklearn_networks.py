"""Networks with a scikit-learn interface: perceptrons and `NeuralRegressor` in both protocols."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch  # noqa: F401 - without it these models have another influence function, or none
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import orthoboot as ob
from tools.cases.base import paired_answer

N_ROWS = 200
NEW = np.array([[0.0, 0.0], [1.0, 0.5], [-1.0, 1.0]])
UNITS, SHIFT = np.array([3.0, 0.5]), np.array([1.0, -2.0])


def _responses() -> tuple[Any, dict[str, Any]]:
    """Return two columns with a smooth effect, and a response of each kind."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, 2))
    f = 2 * np.tanh(1.5 * X[:, 0]) - 1.5 * np.tanh(X[:, 1] - 0.5)
    scores = np.column_stack([f, -f, X[:, 1]])
    return X, {
        "number": f + 0.2 * rng.standard_normal(N_ROWS),
        "class": np.where(f + rng.logistic(size=N_ROWS) > 0, 7, 3),
        "classes": np.argmax(scores + rng.gumbel(size=(N_ROWS, 3)), axis=1),
    }


X, RESPONSES = _responses()
NEURAL = ob.NeuralRegressor(4, epochs=20, weight_decay=1e-3, random_state=0)
RAW = clone(NEURAL).set_params(standardize=False)
PAPER = clone(NEURAL).set_params(protocol="paper", learning_rate=0.01)


def perceptron(kind: Any, activation: str, alpha: float, units: tuple[int, ...] = (3,), **options: Any) -> Any:
    """Return a small network that scikit-learn fits to the end."""
    settings = {"solver": "lbfgs", "max_iter": 5000, "max_fun": 50_000, "tol": 1e-9, "random_state": 0}
    return kind(hidden_layer_sizes=units, activation=activation, alpha=alpha, **(settings | options))


def _network(model: Any, response: str = "number", target: Any = NEW, **options: Any) -> ob.Result:
    return paired_answer((X, RESPONSES[response]), ob.from_sklearn(model, target), **options)


def _scaled(estimator: Any, response: str = "number") -> ob.Result:
    model = ob.from_sklearn(make_pipeline(StandardScaler(), estimator), NEW * UNITS + SHIFT)
    return paired_answer((X * UNITS + SHIFT, RESPONSES[response]), model)


def _fit(estimator: Any, response: Any = RESPONSES["number"]) -> dict[str, Any]:
    """Return what a fitted two-layer network is."""
    model = clone(estimator).fit(X, response)
    return {"estimate": model.predict(NEW), "parameters": model.parameters_, "loss": model.loss_}


CASES = {
    "regressor": lambda: _network(perceptron(MLPRegressor, "tanh", 5.0)),
    "regressor, logistic units": lambda: _network(perceptron(MLPRegressor, "logistic", 1.0)),
    "regressor, rectified units": lambda: _network(perceptron(MLPRegressor, "relu", 5.0, random_state=1)),
    "regressor, identity": lambda: _network(perceptron(MLPRegressor, "identity", 1.0, (2,))),
    "regressor, two layers": lambda: _network(perceptron(MLPRegressor, "tanh", 1.0, (3, 2))),
    "regressor, function": lambda: _network(
        perceptron(MLPRegressor, "tanh", 5.0), target=lambda model: model.predict(NEW)[0]
    ),
    "regressor, stopped early": lambda: _network(perceptron(MLPRegressor, "logistic", 1.0, max_iter=5)),
    "regressor, no influence": lambda: _network(
        perceptron(MLPRegressor, "tanh", 5.0, solver="adam", early_stopping=True, max_iter=3)
    ),
    "regressor, components": lambda: _network(make_pipeline(PCA(2), perceptron(MLPRegressor, "tanh", 5.0))),
    "two classes": lambda: _network(perceptron(MLPClassifier, "tanh", 5.0), "class"),
    "three classes": lambda: _network(perceptron(MLPClassifier, "logistic", 20.0), "classes"),
    "scaled regressor": lambda: _scaled(perceptron(MLPRegressor, "tanh", 5.0)),
    "scaled classes": lambda: _scaled(perceptron(MLPClassifier, "tanh", 20.0), "classes"),
    "NeuralRegressor": lambda: _network(NEURAL),
    "NeuralRegressor, raw": lambda: _network(RAW),
    "NeuralRegressor, scaled": lambda: _scaled(RAW),
    "NeuralRegressor, parameters": lambda: _network(NEURAL, target=("hidden_bias_", "output_bias_")),
    "NeuralRegressor, standard": lambda: _network(NEURAL, estimator="standard"),
    "NeuralRegressor, jackknife": lambda: _network(NEURAL, estimator="jackknife", n_resamples=0),
    "NeuralRegressor, paper": lambda: _network(PAPER),
    "NeuralRegressor, paper, raw": lambda: _network(clone(PAPER).set_params(standardize=False)),
    "NeuralRegressor, paper, batches": lambda: _network(PAPER, batch=3),
    "NeuralRegressor, no target": lambda: _network(NEURAL, target="x_mean_"),
    "fit": lambda: _fit(NEURAL),
    "fit, raw": lambda: _fit(RAW),
    "fit, paper": lambda: _fit(PAPER),
    "fit, another seed": lambda: _fit(clone(NEURAL).set_params(random_state=3)),
    "fit, constant": lambda: _fit(NEURAL, np.ones(N_ROWS)),
    "fit, diverges": lambda: _fit(clone(RAW).set_params(protocol="paper"), 1e300 * RESPONSES["number"]),
    "fit, refused": lambda: _fit(clone(NEURAL).set_params(hidden_units=0)),
}
