"""Models of scikit-learn: what they refit, their influence functions, and what is refused."""

from __future__ import annotations

import re
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingRegressor, RandomForestRegressor, VotingRegressor
from sklearn.linear_model import (
    BayesianRidge,
    ElasticNet,
    GammaRegressor,
    HuberRegressor,
    Lasso,
    LassoCV,
    LassoLars,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDRegressor,
    TweedieRegressor,
)
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeRegressor
from tests import agreement

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import (
    ArgumentError,
    DataError,
    FailedReplicatesWarning,
    FallbackWarning,
    FitError,
    FitWarning,
    InfluenceError,
    MissingDependencyError,
    StatisticError,
)
from orthoboot.models.sklearn.pipeline import last_step

N_ROWS = 1000
BOTH = ("coef_", "intercept_")


def responses(n: int = N_ROWS) -> tuple[Any, dict[str, Any]]:
    """Return four columns, the last without effect, and a response of each kind."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4)) * [1.0, 2.0, 0.5, 1.0] + [0.0, 1.0, -1.0, 3.0]
    eta = (X - X.mean(axis=0)) @ [1.0, -0.3, 1.0, 0.0]
    gamma = rng.gamma(4.0, np.exp(eta / 2) / 4)
    scores = np.column_stack([eta, 0.3 - eta, X[:, 1] / 2])
    return X, {
        "number": 2 * eta + 1 + rng.standard_t(5, size=n),
        "count": rng.poisson(np.exp(0.5 + eta / 2)),
        "positive": gamma,
        "zeros": np.where(rng.random(n) < 0.3, 0.0, gamma),
        "class": (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int),
        "classes": np.argmax(scores + rng.gumbel(size=(n, 3)), axis=1),
    }


X, RESPONSES = responses()


@dataclass(frozen=True)
class Case:
    """An estimator, and the response that it is for."""

    id: str
    estimator: Any
    response: str
    target: Any = BOTH

    @property
    def model(self) -> ob.Functional:
        return ob.from_sklearn(self.estimator, self.target)

    @property
    def data(self) -> tuple[Any, Any]:
        return X, RESPONSES[self.response]


LISTED = [
    Case("LinearRegression", LinearRegression(), "number"),
    Case("Ridge", Ridge(alpha=30.0), "number"),
    Case("Lasso", Lasso(alpha=0.35), "number"),
    Case("ElasticNet", ElasticNet(alpha=0.4, l1_ratio=0.9), "number"),
    Case("LogisticRegression", LogisticRegression(C=0.1), "class"),
    Case("LogisticRegression, no penalty", LogisticRegression(C=np.inf), "class"),
    Case("LogisticRegression, multinomial", LogisticRegression(C=0.1), "classes"),
    Case("LogisticRegression, multinomial, no penalty", LogisticRegression(C=np.inf), "classes"),
    Case("PoissonRegressor", PoissonRegressor(alpha=0.2), "count"),
    Case("GammaRegressor", GammaRegressor(alpha=0.2), "positive"),
    Case("TweedieRegressor", TweedieRegressor(power=1.5, alpha=0.2), "zeros"),
    Case("HuberRegressor", HuberRegressor(alpha=3.0), "number", (*BOTH, "scale_")),
    Case("Pipeline", make_pipeline(StandardScaler(), Ridge(alpha=30.0)), "number"),
]
VARIANTS = [
    Case("Ridge without intercept", Ridge(alpha=30.0, fit_intercept=False), "number", "coef_"),
    Case("positive Lasso", Lasso(alpha=0.3, positive=True), "number"),
    Case("weighted classes", LogisticRegression(class_weight={0: 1.0, 1: 3.0}), "class"),
    Case("liblinear", LogisticRegression(solver="liblinear", C=0.01, intercept_scaling=2.0, tol=1e-8), "class"),
    Case("Tweedie, power 0", TweedieRegressor(power=0, alpha=0.2), "number"),
    Case("Tweedie, power 0, log", TweedieRegressor(power=0, link="log", alpha=0.2), "positive"),
    Case("Tweedie, power 3", TweedieRegressor(power=3, alpha=0.2), "positive"),
    Case("Huber without intercept", HuberRegressor(fit_intercept=False), "number", ("coef_", "scale_")),
    Case("predictions", Ridge(alpha=30.0), "number", X[:3]),
    Case("probability", LogisticRegression(), "class", X[:3]),
    Case("probabilities", LogisticRegression(), "classes", X[:2]),
    Case("a function", LogisticRegression(), "class", lambda model: model.coef_[0, 0] / model.coef_[0, 1]),
    Case(
        "a dict", PoissonRegressor(), "count", lambda model: {"mean": model.predict(X).mean(), "first": model.coef_[0]}
    ),
    Case("scaled prediction", make_pipeline(StandardScaler(), Ridge(alpha=300.0)), "number", X[:3]),
    Case("scaled only", make_pipeline(StandardScaler(with_mean=False), LogisticRegression(C=0.1)), "class"),
    Case("centred only", make_pipeline(StandardScaler(with_std=False), Ridge(alpha=30.0)), "number"),
    Case(
        "scaled products",
        make_pipeline(PolynomialFeatures(2, include_bias=False), StandardScaler(), Ridge(alpha=30.0)),
        "number",
    ),
    Case("scaled classes", make_pipeline(StandardScaler(), LogisticRegression(C=0.1)), "classes"),
    Case("scaled Huber", make_pipeline(StandardScaler(), HuberRegressor(alpha=3.0)), "number", (*BOTH, "scale_")),
    Case("scaled lasso", make_pipeline(FunctionTransformer(), StandardScaler(), Lasso(alpha=0.3)), "number"),
]

every_listed = pytest.mark.parametrize("case", LISTED, ids=lambda case: case.id)
every_case = pytest.mark.parametrize("case", LISTED + VARIANTS, ids=lambda case: case.id)


def flat(value: Any) -> Any:
    parts = value.values() if isinstance(value, dict) else [value]
    return np.concatenate([np.ravel(part) for part in parts])


# The influence function


@every_case
def test_the_influence_is_the_derivative_of_refits_by_the_weights(case: Case) -> None:
    prepared = case.model.prepared(read(case.data, paired=True))
    (influence,) = prepared.influence()
    step, directions = 2e-4, np.random.default_rng(1).standard_normal((2, N_ROWS))
    directions -= directions.mean(axis=1, keepdims=True)
    ahead, behind = (prepared.values(Resamples((1 + d * directions,))) for d in (step, -step))
    slopes = (ahead - behind) / (2 * step)
    predicted = directions @ influence / N_ROWS
    # The truncation of a central difference is of the order of the squared step.
    np.testing.assert_allclose(predicted, slopes, rtol=0, atol=1e-6 * np.abs(slopes).max())
    assert np.all(np.abs(influence.mean(axis=0)) <= 1e-12 * np.abs(influence).max())
    assert np.abs(slopes).max() > 0


@every_case
def test_the_derivative_of_predictions_is_that_of_differences(case: Case) -> None:
    solution = case.model.prepared(read(case.data, paired=True)).solution
    if hasattr(last_step(solution.model), "classes_"):
        pytest.skip("probabilities of classes take differences")
    differences = solution.point.jacobian(lambda model: model.predict(X[:4]))
    # Differences leave out coefficients that the penalty holds at zero.
    found = np.where(solution.point.spread > 0, solution.point.prediction_jacobian(X[:4]), 0.0)
    np.testing.assert_allclose(found, differences, rtol=0, atol=1e-6 * np.abs(found).max())


@pytest.mark.filterwarnings("ignore::orthoboot.errors.ConstantDataWarning")  # coefficients that stay at zero
@every_listed
def test_the_linear_part_explains_the_replicates(case: Case) -> None:
    result = ob.bootstrap(case.data, case.model, paired=True, n_resamples=20, rng=0, control="linear", method="normal")
    assert flat(result.r_squared).min() > 0.9
    assert result.influence_source.startswith("implicit function theorem")


@pytest.mark.parametrize("intercept", [False, True])
def test_without_a_penalty_the_influence_is_that_of_the_catalogue(intercept: bool) -> None:
    pairs = [
        (LinearRegression(fit_intercept=intercept), ob.linear_regression, "number"),
        (LogisticRegression(C=np.inf, fit_intercept=intercept), ob.logistic_regression, "class"),
        (PoissonRegressor(alpha=0, fit_intercept=intercept), ob.glm("poisson"), "count"),
        (GammaRegressor(alpha=0, fit_intercept=intercept), ob.glm("gamma", "log"), "positive"),
    ]
    for estimator, entry, response in pairs:
        data = read((X, RESPONSES[response]), paired=True)
        target = ("intercept_", "coef_") if intercept else "coef_"
        (expected,) = entry.replace(intercept=intercept).prepared(data).influence()
        (influence,) = ob.from_sklearn(estimator, target).prepared(data).influence()
        np.testing.assert_allclose(influence, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def test_predictions_of_least_squares_do_not_depend_on_scaling() -> None:
    data = read((X, RESPONSES["number"]), paired=True)
    (plain,) = ob.from_sklearn(LinearRegression(), X[:5]).prepared(data).influence()
    (scaled,) = ob.from_sklearn(make_pipeline(StandardScaler(), LinearRegression()), X[:5]).prepared(data).influence()
    np.testing.assert_allclose(scaled, plain, rtol=0, atol=1e-8 * np.abs(plain).max())


def test_a_loose_tolerance_is_made_up_for_and_told() -> None:
    data = read((X, RESPONSES["class"]), paired=True)
    loose, tight = (ob.from_sklearn(LogisticRegression(tol=tol, max_iter=500)).prepared(data) for tol in (1.0, 1e-10))
    np.testing.assert_allclose(loose.influence()[0], tight.influence()[0], rtol=1e-9, atol=1e-9)
    assert tight.findings() == ()
    (finding,) = loose.findings()
    assert re.search(r"stopped [\d.e+]+ standard errors from its solution", str(finding))


@pytest.mark.parametrize(("alpha", "where"), [(0.16, "entering"), (0.12, "leaving")])
def test_a_coefficient_that_is_near_to_a_kink_is_told(alpha: float, where: str) -> None:
    model = ob.from_sklearn(Lasso(alpha), lambda fitted: fitted.coef_[0])
    with pytest.warns(FitWarning, match=rf"coef_\[3\] near to {where}: there the fit has a kink"):
        result = ob.bootstrap((X, RESPONSES["number"]), model, paired=True, rng=0)
    assert "held fixed: the set of coefficients that are not zero" in result.influence_source


@pytest.mark.parametrize("named", [False, True])
def test_a_pipeline_of_one_step_is_that_step(named: bool) -> None:
    rng = np.random.default_rng(0)
    rows, response = rng.standard_normal((60, 2)), rng.standard_normal(60)
    data = (pd.DataFrame(rows, columns=["a", "b"]) if named else rows, response)
    alone, piped = (
        ob.bootstrap(data, ob.from_sklearn(estimator), paired=True, rng=0).to_frame()
        for estimator in (Ridge(), make_pipeline(Ridge()))
    )
    pd.testing.assert_frame_equal(piped, alone)


def test_what_is_held_fixed_in_a_pipeline_is_said() -> None:
    entering = make_pipeline(PolynomialFeatures(2), PCA(3), StandardScaler(), Ridge())
    held = make_pipeline(PolynomialFeatures(2), StandardScaler(), PCA(3), Ridge())
    data = read((X, RESPONSES["number"]), paired=True)
    sources = [ob.from_sklearn(estimator).at(data).influence_source for estimator in (entering, held)]
    theorem = "implicit function theorem for `Ridge`; held fixed:"
    assert sources == [f"{theorem} PCA", f"{theorem} StandardScaler, PCA"]


# The refits


@every_case
def test_a_replicate_is_a_tight_fit_of_scikit_learn_to_the_drawn_rows(case: Case) -> None:
    data = read(case.data, paired=True)
    weights = np.random.default_rng(2).multinomial(N_ROWS, np.full(N_ROWS, 1 / N_ROWS)).astype(float)
    drawn = read(data.take((np.repeat(np.arange(N_ROWS), weights.astype(int)),)), paired=True)
    options = case.estimator.get_params()
    tight = {key: 1e-10 for key in options if key.endswith("tol")} | {
        key: 10_000 for key in options if "max_iter" in key
    }
    expected = ob.from_sklearn(clone(case.estimator).set_params(**tight), case.target).prepared(drawn).estimate
    values = case.model.prepared(data).values(Resamples((weights[np.newaxis],)))[0]
    # L-BFGS ends where the loss has no digits left, at half of the digits of the parameters.
    np.testing.assert_allclose(values, expected, rtol=0, atol=5e-6 * np.abs(expected).max())


def test_weights_are_used_only_where_every_step_that_learns_takes_them() -> None:
    weighted = [Ridge(), make_pipeline(PolynomialFeatures(), StandardScaler(), Ridge()), DecisionTreeRegressor()]
    whole = [KNeighborsRegressor(), make_pipeline(PCA(2), Ridge()), LogisticRegression(class_weight="balanced")]
    assert [ob.from_sklearn(estimator).fractional for estimator in weighted + whole] == [True] * 3 + [False] * 3


def test_drawn_rows_and_weights_give_the_same_replicates() -> None:
    by_rows = make_column_transformer((StandardScaler(), [0, 1, 2, 3]))
    data = (X, RESPONSES["number"])
    rows, weights = (
        ob.bootstrap(data, ob.from_sklearn(make_pipeline(scaler, Ridge(30.0))), paired=True, rng=3)
        for scaler in (by_rows, StandardScaler())
    )
    np.testing.assert_allclose(rows.bootstrap_distribution, weights.bootstrap_distribution, rtol=1e-9)
    assert "held fixed: ColumnTransformer" in rows.influence_source


def test_the_estimator_is_never_changed_and_its_own_fit_is_the_estimate() -> None:
    estimator = LogisticRegression(C=0.3).fit(X[:50], RESPONSES["class"][:50])
    before = estimator.coef_.copy()
    result = ob.bootstrap((X, RESPONSES["class"]), ob.from_sklearn(estimator), paired=True, rng=0)
    np.testing.assert_array_equal(estimator.coef_, before)
    assert not estimator.warm_start
    np.testing.assert_array_equal(result.estimate, clone(estimator).fit(X, RESPONSES["class"]).coef_)


def test_unconverged_refits_are_one_finding() -> None:
    from sklearn.neural_network import MLPRegressor

    network = MLPRegressor(hidden_layer_sizes=(2,), max_iter=2, early_stopping=True, random_state=0)
    with pytest.warns(FitWarning, match="did not converge in 6 of 6 fits") as caught:
        ob.bootstrap(
            (X[:60], RESPONSES["number"][:60]),
            ob.from_sklearn(network, X[:1]),
            paired=True,
            estimator="cheap",
            n_resamples=5,
            rng=0,
        )
    assert sum("converge" in str(warning.message) for warning in caught) == 1


# Names


def test_frames_name_the_coefficients_and_stay_frames() -> None:
    frame = pd.DataFrame(X, columns=["age", "dose", "height", "weight"])
    data = (frame, pd.Series(RESPONSES["number"]))
    assert ob.from_sklearn(Ridge()).prepared(read(data, paired=True)).output.names == tuple(frame.columns)
    both = ob.from_sklearn(make_pipeline(StandardScaler(), Ridge()), BOTH).prepared(read(data, paired=True)).output
    assert both.names == ("coef_[age]", "coef_[dose]", "coef_[height]", "coef_[weight]", "intercept_")
    by_name = make_pipeline(make_column_transformer((StandardScaler(), ["dose"])), LinearRegression())
    result = ob.bootstrap(data, ob.from_sklearn(by_name), paired=True, rng=0)
    assert result.to_frame().index.tolist() == ["standardscaler__dose"]


def test_classes_name_the_outputs() -> None:
    frame = pd.DataFrame(X[:, :2], columns=["age", "dose"])
    labels = pd.DataFrame({"answer": np.array(["no", "perhaps", "yes"])[RESPONSES["classes"]]})
    data = read((frame, labels), paired=True)
    names = ob.from_sklearn(LogisticRegression(), "coef_").prepared(data).output.names
    assert names == ("no, age", "no, dose", "perhaps, age", "perhaps, dose", "yes, age", "yes, dose")
    names = ob.from_sklearn(LogisticRegression(), "intercept_").prepared(data).output.names
    assert names == ("no", "perhaps", "yes")
    rows = ob.from_sklearn(LogisticRegression(), frame[:1]).prepared(data).output.names
    assert rows == ("probability[0, no]", "probability[0, perhaps]", "probability[0, yes]")


# No influence function


@pytest.mark.parametrize(
    ("estimator", "why"),
    [
        (
            DecisionTreeRegressor(max_depth=2),
            "`DecisionTreeRegressor`: its fit is not a smooth function of the weights",
        ),
        (KNeighborsRegressor(), "`KNeighborsRegressor`: its fit is not a smooth function"),
        (BayesianRidge(), r'`BayesianRidge`; use estimator="standard" or "cheap", or influence="jackknife"'),
        (LinearRegression(positive=True), "`LinearRegression` with `positive=True`"),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.filterwarnings("ignore::orthoboot.errors.FitWarning")
def test_other_estimators_fall_back_to_the_standard_bootstrap_and_say_why(estimator: Any, why: str) -> None:
    data = (X[:80], RESPONSES["number"][:80])
    with pytest.warns(FallbackWarning, match=f"no influence function is known for {why}"):
        result = ob.bootstrap(data, ob.from_sklearn(estimator, X[:2]), paired=True, n_resamples=20, rng=0)
    assert result.influence is None
    assert np.all(result.standard_error > 0)


def test_options_without_a_known_influence_are_named() -> None:
    cases = {
        "with an l1 penalty": LogisticRegression(solver="liblinear", l1_ratio=1.0),
        "with `class_weight='balanced'`": LogisticRegression(class_weight="balanced"),
    }
    data = (X[:200], RESPONSES["class"][:200])
    for why, estimator in cases.items():
        with pytest.warns(FallbackWarning, match=why):
            ob.bootstrap(data, ob.from_sklearn(estimator), paired=True, n_resamples=20, rng=0)


def test_collinear_columns_have_no_influence_function() -> None:
    doubled = np.column_stack([X, X[:, 0]])
    with pytest.warns(FallbackWarning, match=r"Hessian is singular.*coef_\[4\].*collinear"):
        ob.bootstrap(
            (doubled, RESPONSES["number"]), ob.from_sklearn(LinearRegression()), paired=True, n_resamples=20, rng=0
        )


@pytest.mark.parametrize(
    ("estimator", "y", "why"),
    [
        (LogisticRegression(C=np.inf), (X[:, 0] > 0).astype(int), "classes are separable|Hessian is singular"),
        (Lasso(alpha=1e3, fit_intercept=False), RESPONSES["number"], "sets all parameters to zero"),
    ],
    ids=["separated classes", "all coefficients zero"],
)
@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_a_fit_without_a_solution_to_move_has_no_influence_function(estimator: Any, y: Any, why: str) -> None:
    result = ob.bootstrap((X, y), ob.from_sklearn(estimator), paired=True, n_resamples=20, rng=0)
    assert result.influence is None
    assert re.search(why, result.influence_source)


def test_an_attribute_that_is_no_parameter_has_no_influence_function() -> None:
    with pytest.warns(FallbackWarning, match="no influence function is known for the attribute 'n_iter_'"):
        ob.bootstrap(
            (X, RESPONSES["class"]),
            ob.from_sklearn(LogisticRegression(), "n_iter_"),
            paired=True,
            n_resamples=20,
            rng=0,
        )


def test_random_refits_are_told() -> None:
    forest, fixed = (RandomForestRegressor(3, random_state=seed) for seed in (None, 0))
    data = read((X[:50], RESPONSES["number"][:50]), paired=True)
    (finding,) = ob.from_sklearn(forest, X[:1]).prepared(data).findings()
    assert "`random_state` of `RandomForestRegressor` is None" in str(finding)
    assert "the estimate changes from run to run" in str(finding)
    assert ob.from_sklearn(fixed, X[:1]).prepared(data).findings() == ()
    classes = read((X, RESPONSES["class"]), paired=True)
    assert ob.from_sklearn(LogisticRegression()).prepared(classes).findings() == ()


# Bad input


def run(model: Any, target: Any = "coef_", data: Any = None, **options: Any) -> ob.Result:
    data = (X, RESPONSES["number"]) if data is None else data
    return ob.bootstrap(data, ob.from_sklearn(model, target), **{"paired": True, "rng": 0} | options)


def test_a_class_is_no_estimator() -> None:
    with pytest.raises(ArgumentError, match=r"must be an instance; got the class Ridge. Write `Ridge\(\)`"):
        run(Ridge)
    with pytest.raises(ArgumentError, match="must be a scikit-learn estimator.*got 'ridge'"):
        run("ridge")


@pytest.mark.parametrize("target", [None, 3, Ridge])
def test_a_target_must_be_of_one_of_the_kinds(target: Any) -> None:
    with pytest.raises(ArgumentError, match="`target` must be the name of an attribute"):
        run(Ridge(), target)


def test_an_attribute_must_exist_after_the_fit() -> None:
    with pytest.raises(ArgumentError, match="attribute that `Ridge` has after `fit`; got 'coefs', and it has 'coef_'"):
        run(make_pipeline(StandardScaler(), Ridge()), "coefs")


def test_what_a_target_raises_is_told() -> None:
    with pytest.raises(
        StatisticError, match="`target` must return a value of the fitted `Ridge`; it raised IndexError"
    ):
        run(Ridge(), lambda model: model.coef_[17])


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ((X, RESPONSES["number"]), {"paired": False}, "with `paired=True`.*got 2 independent samples"),
        (X, {"paired": False}, r"takes the data `\(X, y\)`.*got 1 array"),
        ((X, X[:, :2]), {}, r"y with one number or label per row, shape \(1000,\); got shape \(1000, 2\)"),
        ((X[:, 0], X[:, 1]), {}, r"X with rows and columns; got shape \(1000,\)"),
    ],
)
def test_the_data_must_be_pairs_of_rows_and_responses(data: Any, options: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        run(Ridge(), data=data, **options)


def test_new_rows_must_have_the_columns_of_the_data() -> None:
    with pytest.raises(ArgumentError, match=r"rows with the 4 column\(s\) of X, shape \(m, 4\); got \(2, 3\)"):
        run(Ridge(), X[:2, :3])
    with pytest.raises(ArgumentError, match=r"got \(4,\). For one row write"):
        run(Ridge(), X[0])
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ArgumentError, match=r"the columns of X, 'a', 'b', 'c', 'd', in this order; got 'a', 'c', 'b'"):
        run(Ridge(), frame[["a", "c", "b", "d"]], (frame, RESPONSES["number"]))


def test_new_rows_need_probabilities_of_a_classifier() -> None:
    with pytest.raises(ArgumentError, match="classifier with `predict_proba`; `LinearSVC` has none"):
        run(LinearSVC(), X[:2], (X[:100], RESPONSES["class"][:100]))


def test_an_estimator_that_does_not_fit_the_data_is_an_error() -> None:
    with pytest.raises(FitError, match="`GammaRegressor` could not be fitted to the data: ValueError: Some value"):
        run(GammaRegressor())


def test_a_resample_without_a_class_is_a_failed_replicate() -> None:
    y = np.zeros(40)
    y[:2] = 1
    with pytest.warns(FailedReplicatesWarning, match="resample with 1 of the 2 classes.*`strata=y`"):
        result = run(LogisticRegression(), data=(X[:40], y), n_resamples=40, estimator="standard")
    # Two rows are both missed with odds exp(-2): five or so of forty.
    assert 1 <= result.n_failed <= 15


def test_a_resample_without_a_category_is_a_failed_replicate() -> None:
    frame = pd.DataFrame({"kind": ["rare"] + ["a", "b"] * 20, "x": X[:41, 0]})
    encoded = make_pipeline(make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough"), Ridge())
    with pytest.warns(FailedReplicatesWarning, match="another shape on a resample, which lacks a category"):
        result = run(encoded, data=(frame, RESPONSES["number"][:41]), n_resamples=20, estimator="standard")
    assert 1 <= result.n_failed < 10


def test_without_scikit_learn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'orthoboot\[sklearn\]'"):
        ob.from_sklearn(Ridge())


@pytest.mark.parametrize(
    ("estimator", "is_told"),
    [
        (TransformedTargetRegressor(Ridge()), False),
        (VotingRegressor([("ridge", Ridge()), ("lasso", Lasso())]), False),
        (BaggingRegressor(Ridge(), n_estimators=2), True),
        (RidgeClassifier(), False),
        (LassoCV(), False),
        (LassoLars(), False),
        (LassoLars(jitter=0.1), True),
        (SGDRegressor(), True),
    ],
    ids=["transformed", "voting", "bagging", "ridge classifier", "chosen penalty", "path", "jittered path", "descent"],
)
def test_a_solver_that_draws_numbers_on_the_way_to_one_solution_is_no_chance(estimator: Any, is_told: bool) -> None:
    y = RESPONSES["class" if is_classifier(estimator) else "number"]
    target = "coef_" if hasattr(estimator, "alpha") else X[:2]
    prepared = ob.from_sklearn(estimator, target).prepared(read((X, y), paired=True))
    found = [str(finding) for finding in prepared.findings()]
    assert any("vary at random" in text for text in found) == is_told


@pytest.mark.parametrize(
    ("voters", "is_smooth"),
    [([Ridge(), LinearRegression()], True), ([Ridge(), DecisionTreeRegressor(random_state=0)], False)],
    ids=["linear", "tree"],
)
def test_a_vote_is_as_smooth_as_those_that_vote(voters: list[Any], is_smooth: bool) -> None:
    vote = VotingRegressor([(f"voter {place}", voter) for place, voter in enumerate(voters)])
    prepared = ob.from_sklearn(vote, X[:2]).prepared(read((X, RESPONSES["number"]), paired=True))
    with pytest.raises(InfluenceError, match="no influence function is known for `VotingRegressor`") as raised:
        prepared.influence()
    assert ("is not a smooth function" in str(raised.value)) == (not is_smooth)
    assert ("jackknife" in str(raised.value)) == is_smooth


LABELS = np.where(RESPONSES["class"] > 0, "yes", "no")
TEXTS = {
    "array": LABELS,
    "objects": LABELS.astype(object),
    "list": LABELS.tolist(),
    "series": pd.Series(LABELS),
    "categories": pd.Series(LABELS, dtype="category"),
    "frame": pd.DataFrame({"y": LABELS}),
}


@pytest.fixture(scope="module")
def with_numbers() -> Any:
    """The regression of labels that are numbers."""
    return run(LogisticRegression(), data=(X, RESPONSES["class"]))


@pytest.mark.parametrize("container", TEXTS)
def test_labels_may_be_text_in_any_container(container: str, with_numbers: Any) -> None:
    labelled = run(LogisticRegression(), data=(X, TEXTS[container]))
    np.testing.assert_array_equal(labelled.standard_error, with_numbers.standard_error)
    assert ob.check_influence(ob.from_sklearn(LogisticRegression()), (X, TEXTS[container]), paired=True).passed


def test_the_fallback_is_told_before_the_first_refit() -> None:
    told: list[int] = []

    class Counted(BayesianRidge):  # type: ignore[misc]
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            told.append(len(shown))
            return super().fit(X, y, sample_weight)

    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        run(Counted(), data=(X[:50], RESPONSES["number"][:50]), n_resamples=5)
    assert told[0] == 0  # the fit to the data
    assert set(told[1:]) == {1}
    assert len(shown) == len({str(warning.message) for warning in shown})  # each once
    assert "instead of estimator='orthogonal'; influence function: none" in str(shown[0].message)


# Against the standard bootstrap


@pytest.mark.slow
def test_the_standard_error_is_that_of_two_thousand_refits() -> None:
    apart = {}
    for case in LISTED:
        # Two hundred, since at twenty the simulation error of the orthogonal bootstrap is itself too rough to judge by.
        few = ob.bootstrap(case.data, case.model, paired=True, n_resamples=200, rng=1)
        many = ob.bootstrap(case.data, case.model, paired=True, n_resamples=2000, estimator="standard", rng=2)
        apart[f"{case.id}, r_squared {flat(few.r_squared).min():.3f}"] = agreement.distances(few, many)
    agreement.check(apart)
