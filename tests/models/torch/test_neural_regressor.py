"""The two-layer network: its derivatives, its two protocols, scikit-learn's own checks, and what is refused."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import orthoboot as ob
from orthoboot.errors import ArgumentError, FitError, MissingDependencyError

torch = pytest.importorskip("torch")

from orthoboot.models.torch.network import NetworkLoss  # noqa: E402
from orthoboot.models.torch.two_layer import two_layer_loss  # noqa: E402
from orthoboot.models.torch.two_layer_numpy import TwoLayers  # noqa: E402


def wavy_data(n: int = 150, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) * [1.0, 20.0, 0.1] + [0.0, 50.0, 3.0]
    return X, 10 + 5 * np.tanh(2 * X[:, 0]) + X[:, 1] / 10 + rng.standard_normal(n)


X, Y = wavy_data()
NEW, _ = wavy_data(6, seed=1)
SMALL = ob.NeuralRegressor(4, epochs=20, random_state=0)
PAPER = clone(SMALL).set_params(protocol="paper", learning_rate=0.01)


# Derivatives in closed form, against automatic differentiation


def loss_and_point(units: int = 5) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(3)
    loss = two_layer_loss(units, rng.standard_normal((40, 3)), rng.standard_normal(40), 0.03)
    return loss, rng.standard_normal(loss.network.size), rng.integers(0, 4, 40).astype(float)


@pytest.mark.parametrize("matrix", ["hessian", "gauss_newton"])
@pytest.mark.parametrize("units", [1, 5])
def test_matrices_are_those_of_automatic_differentiation(matrix: str, units: int) -> None:
    loss, point, weights = loss_and_point(units)
    found = getattr(loss, matrix)(point, weights)
    np.testing.assert_allclose(found, getattr(NetworkLoss, matrix)(loss, point, weights), rtol=0, atol=1e-12)


def test_the_rows_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    loss, point, weights = loss_and_point()
    whole = loss.hessian(point, weights)
    monkeypatch.setattr("orthoboot.models.torch.two_layer._NUMBERS_AT_ONCE", 7 * len(point))
    np.testing.assert_allclose(loss.hessian(point, weights), whole, rtol=0, atol=1e-13)


def test_gradients_are_those_of_automatic_differentiation() -> None:
    loss, point, weights = loss_and_point()
    np.testing.assert_allclose(loss.scores(point), NetworkLoss.scores(loss, point), rtol=0, atol=1e-12)
    points, several = np.stack([point, -point / 2]), np.stack([weights, np.ones(40)])
    for found, expected in zip(
        loss.values_and_gradients(points, several),
        NetworkLoss.values_and_gradients(loss, points, several),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_outputs_and_their_derivatives_are_the_module_s() -> None:
    loss, point, _ = loss_and_point()
    layers = TwoLayers.of(point, 3)
    np.testing.assert_array_equal(layers.point, point)
    np.testing.assert_allclose(
        layers.outputs(loss.X.numpy()), loss.network.outputs([point], loss.X)[0, :, 0], atol=1e-13
    )
    expected = loss.network.output_jacobian(point, loss.X)[:, 0]
    np.testing.assert_allclose(layers.jacobian(loss.X.numpy()), expected, rtol=0, atol=1e-13)


# The fit


@pytest.fixture(scope="module")
def fitted() -> Any:
    """The small network fitted to the data; not to be changed."""
    return clone(SMALL).fit(X, Y)


def test_the_polished_fit_is_a_minimum_of_the_stated_loss(fitted: Any) -> None:
    rows, response = (X - X.mean(axis=0)) / X.std(axis=0), (Y - Y.mean()) / Y.std()

    def stated(point: Any) -> Any:
        hidden, bias, output, last = torch.split(point, [12, 4, 4, 1])
        outputs = torch.tanh(torch.tensor(rows) @ hidden.view(4, 3).T + bias) @ output + last
        return ((outputs - torch.tensor(response)) ** 2).mean() + 0.005 * (point**2).sum()

    at = torch.tensor(fitted.parameters_)
    assert fitted.loss_ == pytest.approx(float(stated(at)), rel=1e-12)
    assert float(torch.func.grad(stated)(at).abs().max()) < 1e-5
    assert float(torch.linalg.eigvalsh(torch.func.jacrev(torch.func.grad(stated))(at)).min()) > 0


def test_adam_stops_above_the_minimum_to_which_its_fit_is_polished(fitted: Any) -> None:
    trained = clone(PAPER).set_params(learning_rate=1e-3).fit(X, Y)
    assert fitted.loss_ < trained.loss_ < 1.5


def test_predictions_do_not_depend_on_units_of_measurement_but_for_those_of_y(fitted: Any) -> None:
    scaled = clone(SMALL).fit(X * [100.0, 1.0, 0.01] + 7.0, 1000 * Y - 5).predict(NEW * [100.0, 1.0, 0.01] + 7.0)
    np.testing.assert_allclose(scaled, 1000 * fitted.predict(NEW) - 5, rtol=1e-5)


@pytest.mark.parametrize("unit", [1e300, 1e-300])
def test_columns_whose_squares_overflow_or_vanish_are_no_constants(fitted: Any, unit: float) -> None:
    expected = fitted.predict(NEW)
    np.testing.assert_allclose(clone(SMALL).fit(unit * X, Y).predict(unit * NEW), expected, rtol=1e-5)
    np.testing.assert_allclose(clone(SMALL).fit(X, unit * Y).predict(NEW), unit * expected, rtol=1e-5)


def test_a_response_of_true_and_false_is_one_of_zeros_and_ones() -> None:
    above = Y.mean() < Y
    expected = clone(SMALL).fit(X, above.astype(float)).predict(NEW)
    np.testing.assert_array_equal(clone(SMALL).fit(X, above).predict(NEW), expected)


def test_without_standardising_the_data_are_taken_as_they_are() -> None:
    model = clone(SMALL).set_params(standardize=False).fit(X, Y)
    assert not model.x_mean_.any()
    assert (model.y_mean_, model.y_scale_) == (0.0, 1.0)
    expected = np.tanh(NEW @ model.hidden_weights_.T + model.hidden_bias_) @ model.output_weights_ + model.output_bias_
    np.testing.assert_allclose(model.predict(NEW), expected)


def test_it_learns(fitted: Any) -> None:
    assert fitted.score(*wavy_data(500, seed=2)) > 0.85
    assert clone(PAPER).set_params(epochs=100).fit(X, Y).score(*wavy_data(500, seed=2)) > 0.8


def test_constant_columns_and_a_constant_response_are_no_trouble() -> None:
    constant = np.column_stack([X, np.full(len(X), 0.1)])
    model = clone(SMALL).fit(constant, Y)
    assert model.x_scale_[3] == 1
    np.testing.assert_allclose(
        model.predict(constant), clone(SMALL).fit(constant[:, [0, 1, 2, 3]], Y).predict(constant)
    )
    np.testing.assert_allclose(clone(SMALL).fit(X, np.full(len(X), 0.1)).predict(NEW), 0.1)
    raw = clone(SMALL).set_params(standardize=False)
    assert np.ptp(raw.fit(X, np.full(len(X), 0.5)).predict(NEW)) < 0.01


@pytest.mark.parametrize("model", [SMALL, PAPER], ids=["polished", "paper"])
def test_the_seed_decides(model: Any) -> None:
    def parameters(random_state: Any) -> Any:
        return clone(model).set_params(random_state=random_state).fit(X, Y).parameters_

    first = parameters(0)
    np.testing.assert_array_equal(first, parameters(0))
    np.testing.assert_array_equal(parameters(np.random.RandomState(3)), parameters(np.random.RandomState(3)))
    assert np.abs(first - parameters(1)).max() > 0.01


def test_torch_s_own_random_numbers_are_left_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    clone(PAPER).fit(X, Y)
    assert torch.equal(torch.rand(3), expected)


def test_the_attributes_are_plain_arrays_of_the_stated_shapes() -> None:
    model = clone(SMALL).fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y)
    assert model.hidden_weights_.shape == (4, 3)
    assert model.hidden_bias_.shape == model.output_weights_.shape == (4,)
    assert model.parameters_.shape == (model.n_parameters_,) == (21,)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert not any(isinstance(value, torch.Tensor) for value in vars(model).values())


def test_a_pickled_network_predicts_where_torch_is_not_installed(fitted: Any) -> None:
    program = (
        "import sys, pickle\n"
        "fitted, rows = pickle.load(sys.stdin.buffer); print(fitted.predict(rows).tolist(), 'torch' in sys.modules)\n"
        "sys.modules['torch'] = None\n"
        "try: fitted.fit(rows, rows[:, 0])\n"
        "except Exception as error: print(error)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], input=pickle.dumps((fitted, NEW)), capture_output=True, check=True
    )
    predicted, message = run.stdout.decode().splitlines()
    numbers, _, imported = predicted.rpartition(" ")
    np.testing.assert_allclose(json.loads(numbers), fitted.predict(NEW), rtol=1e-12)
    assert imported == "False"
    assert message == "`NeuralRegressor.fit` needs PyTorch; install it with `pip install 'orthoboot[torch]'`."


def test_the_name_is_listed_and_imports_no_torch() -> None:
    program = (
        "import sys, orthoboot as ob; ob.NeuralRegressor(); print('NeuralRegressor' in dir(ob), 'torch' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "True False\n"


def test_without_scikit_learn_the_extra_is_named() -> None:
    program = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import orthoboot as ob\n"
        "try: ob.NeuralRegressor\n"
        "except Exception as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "`NeuralRegressor` needs scikit-learn; install it with `pip install 'orthoboot[sklearn]'`.\n"


# scikit-learn's own checks


# Batches of one length, since each length costs a recording of its steps.
@parametrize_with_checks(
    [
        ob.NeuralRegressor(5, epochs=10, batch_size=200),
        ob.NeuralRegressor(5, epochs=60, batch_size=100, learning_rate=0.01, protocol="paper"),
    ]
)
def test_scikit_learn_s_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_s_checks_pass_with_the_defaults() -> None:
    check_estimator(ob.NeuralRegressor())


# What is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden_units": 0}, "`hidden_units`.*0"),
        ({"epochs": 2.5}, "`epochs`.*2.5"),
        ({"batch_size": -1}, "`batch_size`.*-1"),
        ({"protocol": "Paper"}, "`protocol`.*'polished'.*'paper'"),
        ({"weight_decay": -0.1}, "`weight_decay` must be a finite number not below 0; got -0.1"),
        ({"standardize": "no"}, "`standardize` must be True or False; got 'no'"),
        ({"learning_rate": 0}, "`learning_rate` must be a positive number; got 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        clone(SMALL).set_params(**options).fit(X, Y)


@pytest.mark.parametrize(
    ("rows", "response", "message"),
    [
        (np.where(X[3, 1] == X, np.nan, X), Y, "Input X contains NaN"),
        (X, np.where(Y[3] == Y, np.inf, Y), "Input y contains infinity"),
        (X[:1], Y[:1], "1 sample"),
        (X[:, 0], Y, "Expected 2D array"),
        (X, Y[:-1], "inconsistent numbers of samples"),
        (X, np.column_stack([Y, Y]), "y should be a 1d array"),
        (X, None, "requires y to be passed"),
    ],
)
def test_data_that_cannot_be_fitted_are_refused(rows: Any, response: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        clone(SMALL).fit(rows, response)


@pytest.mark.parametrize("protocol", ["polished", "paper"])
@pytest.mark.filterwarnings("ignore:overflow")
def test_a_training_that_diverges_says_what_to_do(protocol: str) -> None:
    model = clone(SMALL).set_params(protocol=protocol, standardize=False)
    with pytest.raises(FitError, match="diverged.*standardize=True.*Lower `learning_rate`, 0.001 now"):
        model.fit(X, 1e300 * Y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_new_rows_must_have_the_columns_of_the_fit() -> None:
    with pytest.raises(ValueError, match="X has 2 features, but NeuralRegressor is expecting 3"):
        clone(SMALL).fit(X, Y).predict(NEW[:, :2])


def test_missing_torch_is_told_before_anything_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingDependencyError, match="orthoboot\\[torch\\]"):
        clone(SMALL).fit(X, Y)


@pytest.mark.parametrize("size", [0.0, 1e-8, 1e3])
def test_losses_of_any_size_have_a_minimum(size: float) -> None:
    """Where the response is far smaller than what a random network puts out, its losses fall by orders of magnitude."""
    model = ob.NeuralRegressor(5, standardize=False, epochs=2, random_state=0).fit(X, size * Y)
    assert model.loss_ <= (np.mean((size * Y) ** 2) * (1 + 1e-12) or 1e-15)
