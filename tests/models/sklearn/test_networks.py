"""Networks with a scikit-learn interface: their influence functions, their refits, and what is refused."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from tests import agreement, rounding

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import (
    ArgumentError,
    FailedReplicatesWarning,
    FallbackWarning,
    FitWarning,
)
from orthoboot.plans import key_from, plan_for

pytest.importorskip("torch")

N_ROWS = 1000
NEW = np.array([[0.0, 0.0], [1.0, 0.5], [-1.0, 1.0]])
UNITS, SHIFT = np.array([3.0, 0.5]), np.array([1.0, -2.0])


def responses(n: int = N_ROWS) -> tuple[Any, dict[str, Any]]:
    """Return two columns with a smooth effect, and a response of each kind."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2))
    f = 2 * np.tanh(1.5 * X[:, 0]) - 1.5 * np.tanh(X[:, 1] - 0.5)
    scores = np.column_stack([f, -f, X[:, 1]])
    return X, {
        "number": f + 0.2 * rng.standard_normal(n),
        "class": np.where(f + rng.logistic(size=n) > 0, 7, 3),
        "classes": np.argmax(scores + rng.gumbel(size=(n, 3)), axis=1),
    }


X, RESPONSES = responses()


def perceptron(kind: Any, activation: str, alpha: float, units: tuple[int, ...] = (3,)) -> Any:
    return kind(
        hidden_layer_sizes=units,
        activation=activation,
        alpha=alpha,
        solver="lbfgs",
        max_iter=5000,
        max_fun=50_000,
        tol=1e-9,
        random_state=0,
    )


@dataclass(frozen=True)
class Case:
    """A network, and the response that it is for."""

    id: str
    estimator: Any
    response: str
    scaled: bool = False
    tolerance: float = 1e-6
    """Of the influence, relative to the largest. Gradients are rounded by 1e-16, which moves a minimum whose curvature
    is 3e-5 or more by 4e-12, and a difference quotient of step 1e-3 by 1e-8; the slopes are of size 1e-2."""

    @property
    def data(self) -> tuple[Any, Any]:
        return (X * UNITS + SHIFT if self.scaled else X), RESPONSES[self.response]

    @property
    def rows(self) -> Any:
        return NEW * UNITS + SHIFT if self.scaled else NEW

    @property
    def model(self) -> Any:
        return ob.from_sklearn(self.estimator, self.rows)


NEURAL = ob.NeuralRegressor(4, epochs=20, weight_decay=1e-3, random_state=0)
RAW = clone(NEURAL).set_params(standardize=False)
SMOOTH = [
    Case("regressor", perceptron(MLPRegressor, "tanh", 5.0), "number"),
    Case("regressor, logistic units", perceptron(MLPRegressor, "logistic", 1.0), "number"),
    Case("two classes", perceptron(MLPClassifier, "tanh", 5.0), "class"),
    Case("three classes", perceptron(MLPClassifier, "logistic", 20.0), "classes"),
    Case("NeuralRegressor", NEURAL, "number"),
]
OTHERS = [
    # Its two units may be turned into one another, so that the exact Hessian is singular and the Gauss-Newton matrix
    # takes its place; what that leaves out is as large as the penalty, 1e-3 beside a curvature of 1.5.
    Case("identity", perceptron(MLPRegressor, "identity", 1.0, (2,)), "number", tolerance=1e-3 / 1.5),
    Case("two layers", perceptron(MLPRegressor, "tanh", 1.0, (3, 2)), "number"),
    Case("raw NeuralRegressor", RAW, "number"),
]
SCALED = [
    Case("scaled regressor", make_pipeline(StandardScaler(), perceptron(MLPRegressor, "tanh", 5.0)), "number", True),
    Case("scaled classes", make_pipeline(StandardScaler(), perceptron(MLPClassifier, "tanh", 20.0)), "classes", True),
    Case("scaled NeuralRegressor", make_pipeline(StandardScaler(), RAW), "number", True),
]


def by_case(cases: list[Case]) -> Any:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.id)


def resampled(n_resamples: int, n: int = N_ROWS) -> Resamples:
    return plan_for([n]).resamples(key_from(5), range(n_resamples))


# Influence functions


@by_case([*SMOOTH, *OTHERS, *SCALED])
def test_the_influence_function_is_the_derivative_of_the_refits_by_the_weights(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A search ends a hundred-thousandth of a standard error from the minimum, which is much beside these small steps;
    # here it ends where rounding does not let it go on.
    monkeypatch.setattr("orthoboot.models.torch.fit._PRECISION", 0.0)
    prepared = case.model.prepared(read(case.data, paired=True))
    (influence,) = prepared.influence()
    direction = np.random.default_rng(1).standard_normal(N_ROWS)
    direction -= direction.mean()
    step = 2e-3

    def slope(length: float) -> Any:
        plus, minus = prepared.values(Resamples((np.stack([1 + length * direction, 1 - length * direction]),)))
        return (plus - minus) / (2 * length)

    # Two steps by Richardson: what is left is of the order of step**4, and rounding.
    found = (4 * slope(step / 2) - slope(step)) / 3
    predicted = direction @ influence / N_ROWS
    assert np.abs(found - predicted).max() < case.tolerance * np.abs(predicted).max()


@by_case(SMOOTH)
def test_ten_refits_do_on_well_conditioned_data(case: Case) -> None:
    result = ob.bootstrap(case.data, case.model, paired=True, n_resamples=20, rng=0)
    assert np.min(result.r_squared) > 0.9
    assert not [warning for warning in result.warnings if isinstance(warning, FitWarning)]


def test_functions_of_the_model_are_targets_too() -> None:
    data = (X, RESPONSES["number"])
    estimator = SMOOTH[0].estimator
    by_rows = ob.bootstrap(data, ob.from_sklearn(estimator, NEW), paired=True, rng=0)
    by_function = ob.bootstrap(data, ob.from_sklearn(estimator, lambda model: model.predict(NEW)), paired=True, rng=0)
    np.testing.assert_allclose(by_function.standard_error, by_rows.standard_error, rtol=1e-5)


def test_the_parameters_of_the_two_layer_network_are_targets() -> None:
    model = ob.from_sklearn(NEURAL, ("hidden_bias_", "output_bias_"))
    result = ob.bootstrap((X, RESPONSES["number"]), model, paired=True, rng=0)
    assert result.estimate["hidden_bias_"].shape == (4,)
    assert (result.r_squared["output_bias_"]) > 0.5


@pytest.mark.parametrize(
    ("estimator", "source"),
    [
        (SMOOTH[0].estimator, "implicit function theorem for `MLPRegressor`"),
        (perceptron(MLPRegressor, "relu", 5.0), "`MLPRegressor`; held fixed: the rows at which each unit is zero"),
        (NEURAL, "`NeuralRegressor`; held fixed: the means and scales by which X and y are standardised"),
        (RAW, "implicit function theorem for `NeuralRegressor`"),
        (clone(RAW).set_params(protocol="paper"), "for `NeuralRegressor`, at the end of the training"),
    ],
)
def test_what_is_held_fixed_is_said(estimator: Any, source: str) -> None:
    prepared = ob.from_sklearn(estimator, NEW).at(read((X, RESPONSES["number"]), paired=True))
    assert prepared.influence_source.endswith(source)


def test_a_network_with_kinks_has_an_influence_function_between_them() -> None:
    case = Case("relu", perceptron(MLPRegressor, "relu", 5.0).set_params(random_state=1), "number")
    result = ob.bootstrap(case.data, case.model, paired=True, n_resamples=10, rng=0)
    assert np.median(result.r_squared) > 0.5


# Refits


@by_case([*SMOOTH[:4], SCALED[0]])
def test_a_refit_is_scikit_learn_s_own_fit_to_the_drawn_rows(case: Case) -> None:
    prepared, resamples = case.model.prepared(read(case.data, paired=True)), resampled(2)
    start = prepared.solution.model
    for b, refit in enumerate(prepared.refits(resamples)):
        rows = resamples.indices(b)[0]
        again = pickle.loads(pickle.dumps(start))
        (again[-1] if case.scaled else again).set_params(warm_start=True, tol=1e-12)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a tolerance that lbfgs cannot reach
            again.fit(case.data[0][rows], case.data[1][rows])
        predict = "predict" if case.response == "number" else "predict_proba"
        found, expected, before = (getattr(each, predict)(case.rows) for each in (refit.model, again, start))
        # Its search stops where the loss falls by less than 2e-9 a step, which is some thousandth of a standard error.
        assert np.abs(found - expected).max() < 0.02 * np.abs(expected - before).max()


def test_a_refit_of_the_two_layer_network_is_the_minimum_on_the_drawn_rows() -> None:
    from orthoboot.models.torch.fit import CurvatureOptions, polished

    prepared = ob.from_sklearn(NEURAL, NEW).prepared(read((X, RESPONSES["number"]), paired=True))
    resamples, base = resampled(2), prepared.solution.model
    for b, refit in enumerate(prepared.refits(resamples)):
        model = refit.model
        rows = resamples.indices(b)[0]
        loss = base.loss_on(X[rows], RESPONSES["number"][rows])
        at = base.y_mean_ + base.y_scale_ * model.layers.outputs(base.standardized(NEW))
        fit = polished(loss, base.parameters_, CurvatureOptions())
        np.testing.assert_allclose(model.predict(NEW), at)
        np.testing.assert_allclose(model.parameters_, fit.point, atol=2e-3)
        np.testing.assert_allclose(at, clone_at(base, fit.point).predict(NEW), atol=1e-4)


def clone_at(model: Any, point: Any) -> Any:
    return pickle.loads(pickle.dumps(model)).place(point)


@by_case([SMOOTH[0], SMOOTH[4], SCALED[0]])
def test_a_replicate_depends_on_its_batch_by_rounding_alone(case: Case) -> None:
    prepared, resamples = case.model.prepared(read(case.data, paired=True)), resampled(3)
    together = prepared.values(resamples)
    alone = np.concatenate([prepared.values(resamples.one(b)) for b in range(3)])
    standard_errors = np.sqrt(np.square(prepared.influence()[0]).sum(axis=0)) / N_ROWS
    np.testing.assert_allclose(together, alone, rtol=0, atol=rounding.SEARCH * standard_errors.min())


def test_trainings_from_scratch_depend_on_their_batch_by_rounding_alone_too() -> None:
    data, resamples = read((X, RESPONSES["number"]), paired=True), resampled(3)
    network = clone(NEURAL).set_params(protocol="paper", epochs=3)
    prepared = ob.from_sklearn(network, NEW).prepared(data)
    together = prepared.values(resamples)
    # The 17 parameters are of size one or so, and a prediction adds up what they move.
    tolerance = 17 * rounding.trained(3 * -(-N_ROWS // network.batch_size), network.learning_rate)
    np.testing.assert_allclose(together[1:2], prepared.values(resamples.one(1)), rtol=0, atol=tolerance)
    assert np.abs(together[0] - together[1]).min() > 0


def test_the_protocols_say_which_weights_they_take() -> None:
    assert ob.from_sklearn(NEURAL, NEW).fractional
    assert not ob.from_sklearn(clone(NEURAL).set_params(protocol="paper"), NEW).fractional
    assert ob.from_sklearn(make_pipeline(PolynomialFeatures(), StandardScaler(), RAW), NEW).fractional


def test_a_data_frame_keeps_its_columns() -> None:
    frame, rows = pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame(NEW, columns=["a", "b"])
    named = ob.bootstrap((frame, RESPONSES["number"]), ob.from_sklearn(NEURAL, rows), paired=True, rng=0)
    plain = ob.bootstrap((X, RESPONSES["number"]), ob.from_sklearn(NEURAL, NEW), paired=True, rng=0)
    # Refits end within their own tolerance, by the rounding of a table that lies otherwise in memory.
    np.testing.assert_allclose(named.standard_error, plain.standard_error, rtol=1e-6)


# Prediction intervals


SOME = slice(0, 120)
PAPER = clone(NEURAL).set_params(protocol="paper", learning_rate=0.01)


@pytest.mark.parametrize("variance_estimator", ["orthogonal", "paper", "standard", "cheap", "jackknife"])
@pytest.mark.parametrize("base", [NEURAL, PAPER], ids=["polished", "paper"])
@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_prediction_intervals_of_a_network(base: Any, variance_estimator: str) -> None:
    model = ob.PredictionIntervalRegressor(base, variance_estimator=variance_estimator, rng=0)
    model.fit(X[SOME], RESPONSES["number"][SOME])
    points, intervals = model.predict_interval(NEW)
    np.testing.assert_array_equal(points, clone(base).fit(X[SOME], RESPONSES["number"][SOME]).predict(NEW))
    # The noise has a standard deviation of 0.2, the response one of 2.
    widths = intervals[:, 1] - intervals[:, 0]
    assert ((widths > 4 * 0.15) & (widths < 4 * 2)).all()
    again = pickle.loads(pickle.dumps(model)).predict_interval(NEW)
    np.testing.assert_array_equal(again[1], intervals)


def test_orthogonal_intervals_vary_less_over_seeds_than_standard_ones() -> None:
    models = [
        ob.PredictionIntervalRegressor(NEURAL, rng=seed).fit(X[SOME], RESPONSES["number"][SOME]) for seed in range(8)
    ]

    def spread(variance_estimator: str) -> float:
        widths = [model.with_variance_estimator(variance_estimator).model_std(NEW) for model in models]
        return float(np.mean(np.std(np.log(widths), axis=0)))

    assert spread("orthogonal") < 0.7 * spread("standard")


# What is refused, and what is said


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"early_stopping": True, "solver": "adam"}, "with `early_stopping=True`"),
        ({"loss": "poisson"}, "with `loss='poisson'`"),
        ({"hidden_layer_sizes": (100, 60)}, "more than 5,000 parameters, and it has 6,4.*`from_torch`"),
    ],
)
@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_what_has_no_influence_function_falls_back_and_says_why(options: dict[str, Any], reason: str) -> None:
    estimator = SMOOTH[0].estimator
    model = ob.from_sklearn(clone(estimator).set_params(max_iter=3, **options), NEW)
    data = (X[SOME], np.abs(RESPONSES["number"][SOME]))
    with pytest.warns(FallbackWarning, match=reason):
        ob.bootstrap(data, model, paired=True, n_resamples=2, rng=0)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.FewReplicatesWarning")
@pytest.mark.filterwarnings("ignore::orthoboot.errors.LargeBiasWarning")
def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orthoboot.models.sklearn.networks.find_spec", lambda name: None)
    data = (X[SOME], RESPONSES["number"][SOME])
    with pytest.warns(FallbackWarning, match="`MLPRegressor` without PyTorch: install it with `pip install 'orthob"):
        ob.bootstrap(data, SMOOTH[0].model, paired=True, n_resamples=2, rng=0)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_a_fit_that_stopped_early_is_measured_in_standard_errors() -> None:
    estimator = clone(SMOOTH[1].estimator).set_params(max_iter=5)
    with pytest.warns(FitWarning, match="stopped .* standard errors from its solution"):
        ob.bootstrap((X, RESPONSES["number"]), ob.from_sklearn(estimator, NEW), paired=True, rng=0)


def test_a_start_that_is_left_to_chance_is_told() -> None:
    model = ob.from_sklearn(clone(NEURAL).set_params(random_state=None), NEW)
    with pytest.warns(FitWarning, match="`random_state` of `NeuralRegressor` is None.*may end at another minimum"):
        ob.bootstrap((X, RESPONSES["number"]), model, paired=True, rng=0)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_only_chance_in_the_network_itself_is_told() -> None:
    model = ob.from_sklearn(make_pipeline(PCA(2), SMOOTH[0].estimator), NEW)
    result = ob.bootstrap((X[SOME], RESPONSES["number"][SOME]), model, paired=True, n_resamples=5, rng=0)
    assert not [warning for warning in result.warnings if "random_state" in str(warning)]
    stopped = perceptron(MLPRegressor, "tanh", 5.0).set_params(solver="adam", early_stopping=True, random_state=None)
    model = ob.from_sklearn(stopped.set_params(max_iter=3), NEW)
    with pytest.warns(FitWarning, match="`random_state` of `MLPRegressor` is None, so refits vary at random"):
        ob.bootstrap((X[SOME], RESPONSES["number"][SOME]), model, paired=True, n_resamples=5, rng=0)


@pytest.mark.parametrize(
    ("estimator", "name", "parameters"),
    [
        (SMOOTH[0].estimator, "loss_", "'coefs_', 'intercepts_'"),
        (NEURAL, "x_mean_", "'parameters_', 'hidden_weights_'"),
    ],
)
def test_what_refits_do_not_move_is_no_target(estimator: Any, name: str, parameters: str) -> None:
    data = (X[SOME], RESPONSES["number"][SOME])
    with pytest.raises(ArgumentError, match=f"got '{name}', and refits move {parameters}.* alone"):
        ob.bootstrap(data, ob.from_sklearn(estimator, name), paired=True, rng=0)


@by_case([SMOOTH[0], SMOOTH[4]])
def test_a_refit_has_no_trace_of_the_training_on_all_rows(case: Case) -> None:
    prepared = case.model.prepared(read(case.data, paired=True))
    assert prepared.fitted.loss_ > 0
    assert not hasattr(prepared.refits(resampled(1))[0].model, "loss_")


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_a_resample_without_a_class_is_a_failed_replicate() -> None:
    rows = np.r_[np.flatnonzero(RESPONSES["classes"] != 2)[:60], np.flatnonzero(RESPONSES["classes"] == 2)[:2]]
    model = ob.from_sklearn(perceptron(MLPClassifier, "tanh", 5.0, (2,)), NEW)
    with pytest.warns(FailedReplicatesWarning, match="2 of the 3 classes"):
        ob.bootstrap((X[rows], RESPONSES["classes"][rows]), model, paired=True, n_resamples=30, rng=0)


def test_a_training_that_diverges_on_a_resample_is_a_failed_replicate() -> None:
    statistic = ob.from_sklearn(clone(RAW).set_params(protocol="paper", epochs=1), NEW)
    prepared = statistic.prepared(read((X, RESPONSES["number"]), paired=True))
    prepared.solution.model.learning_rate = 1e308
    for failure in prepared.evaluate(resampled(2)).failures:
        assert failure is not None
        assert "diverged on a resample" in failure.reason


def test_layers_are_chosen_by_a_function() -> None:
    with pytest.raises(ArgumentError, match=r"'coefs_' is a list of 2 arrays.*`lambda model: model.coefs_\[0\]`"):
        ob.bootstrap((X, RESPONSES["number"]), ob.from_sklearn(SMOOTH[0].estimator, "coefs_"), paired=True, rng=0)


# Against the standard bootstrap


@pytest.mark.slow
def test_the_standard_error_is_that_of_two_thousand_refits() -> None:
    apart = {}
    for case in SMOOTH:
        few = ob.bootstrap(case.data, case.model, paired=True, n_resamples=200, rng=1)
        many = ob.bootstrap(case.data, case.model, paired=True, n_resamples=2000, estimator="standard", rng=2)
        apart[f"{case.id}, r_squared {np.min(few.r_squared):.3f}"] = agreement.distances(few, many)
    agreement.check(apart)
