"""A scikit-learn model at its data: in other processes, in threads, and with refits that fail, stop early or draw."""

from __future__ import annotations

import pathlib
import pickle
import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from tests import elsewhere

import orthoboot as ob
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ConstantDataWarning, InfluenceError
from orthoboot.functionals.evaluation import Convergence
from orthoboot.models.sklearn.refitting import random_parameters, random_states
from orthoboot.plans import key_from, plan_for

N_ROWS = 120
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N_ROWS, 3)) * [1.0, 2.0, 0.5]
NUMBERS = X @ [1.0, -0.5, 2.0] + RNG.standard_normal(N_ROWS)
LABELS = (NUMBERS + RNG.logistic(size=N_ROWS) > 0).astype(int)
NEW = X[:4]


def perceptron(kind: Any = MLPRegressor, **options: Any) -> Any:
    settings = {"activation": "tanh", "alpha": 5.0, "solver": "lbfgs", "max_iter": 2000, "random_state": 0}
    return kind(hidden_layer_sizes=(3,), **(settings | options))


NETWORK = perceptron()
NETWORKS = {
    "network": (NETWORK, NUMBERS),
    "network pipeline": (make_pipeline(StandardScaler(), NETWORK), NUMBERS),
    "network of the paper": (ob.NeuralRegressor(3, epochs=3, batch_size=60, protocol="paper", random_state=0), NUMBERS),
}
CASES = {
    "ridge pipeline": (make_pipeline(StandardScaler(), Ridge(2.0)), NUMBERS),
    "lasso": (Lasso(0.1), NUMBERS),
    "logistic": (LogisticRegression(C=0.5), LABELS),
    "forest": (RandomForestRegressor(3), NUMBERS),
    **(NETWORKS if find_spec("torch") else {}),
}
every_case = pytest.mark.parametrize("case", CASES)


def statistic(case: str) -> Any:
    return ob.from_sklearn(CASES[case][0], NEW)


def data_of(case: str) -> Any:
    return read((X, CASES[case][1]), paired=True)


def resampled(n_resamples: int = 3) -> Resamples:
    return plan_for([N_ROWS]).resamples(key_from(5), range(n_resamples))


def numbers(prepared: Any, resamples: Resamples) -> list[Any]:
    """Return all that a run asks of a model at its data, as numbers."""
    evaluation = prepared.evaluate(resamples)
    known = [] if prepared._known_solution is None else prepared.influence()
    counts = [evaluation.converged.sum(), evaluation.succeeded.sum(), len(prepared.findings())]
    return [prepared.estimate, evaluation.values, *known, np.array(counts, dtype=float)]


def tolerance(case: str) -> float:
    """Return how far apart equal fits may be: those of networks end where a search is good enough."""
    return 1e-5 if case in NETWORKS else elsewhere.ROUNDING


# Elsewhere


def test_a_fresh_process_gives_the_same_numbers(tmp_path: pathlib.Path) -> None:
    cases = [case for case in CASES if case != "forest"]
    prepared = [statistic(case).prepared(data_of(case)) for case in cases]
    elsewhere.check_in_fresh_process(prepared, resampled(), tmp_path, tolerance=[tolerance(case) for case in cases])


@every_case
def test_what_was_found_is_pickled_with_it(case: str) -> None:
    prepared, resamples = statistic(case).prepared(data_of(case)), resampled(2)
    expected = numbers(prepared, resamples)
    again = pickle.loads(pickle.dumps(prepared))
    assert vars(again).keys() == vars(prepared).keys()
    elsewhere.check_equal(expected, numbers(again, resamples), tolerance(case))


@every_case
def test_threads_give_what_one_gives(case: str) -> None:
    """Where they share an object, and where each prepares its own."""
    functional, data = statistic(case), data_of(case)

    def used(prepared: Any, resamples: Resamples) -> list[Any]:
        # The fit of a forest to the data is its own in each of them, as the user asked; its refits are not.
        return numbers(prepared, resamples)[1 if case == "forest" else 0 :]

    used(functional.prepared(data), resampled(2))  # some packages bring filters of their own when they are imported
    before = list(warnings.filters)
    elsewhere.check_in_threads(lambda: functional.prepared(data), resampled(2), used=used, tolerance=tolerance(case))
    # Forests write the filters again for every tree, and in several threads leave other ones behind, also without us.
    assert warnings.filters == before or case == "forest"


def test_a_random_fit_is_found_by_one_thread_for_all() -> None:
    prepared = statistic("forest").at(data_of("forest"))
    estimates = elsewhere.in_threads(lambda number: prepared.estimate)
    assert all(np.array_equal(estimate, prepared.estimate) for estimate in estimates)
    assert len({id(model) for model in elsewhere.in_threads(lambda number: prepared.fitted)}) == 1


# Refits that draw numbers


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_a_forest_without_a_random_state_gives_the_same_replicates_in_the_same_run() -> None:
    first, second, other = (
        ob.bootstrap((X, NUMBERS), statistic("forest"), paired=True, n_resamples=20, rng=rng).bootstrap_distribution
        for rng in (0, 0, 1)
    )
    # But for rounding: a replicate that differs from the estimate by that alone is set to it, and the estimate is that
    # of another forest in each run.
    np.testing.assert_allclose(first, second, rtol=1e-14)
    assert not np.allclose(first, other)


@pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")
def test_refits_of_a_prediction_interval_are_those_of_the_run_too() -> None:
    first, second = (
        ob.PredictionIntervalRegressor(RandomForestRegressor(3), n_resamples=3, rng=0).fit(X, NUMBERS).estimators_
        for _ in range(2)
    )
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_a_refit_that_draws_depends_on_its_number_and_not_on_the_order() -> None:
    prepared, resamples = statistic("forest").prepared(data_of("forest")), resampled()
    backwards = [prepared.values(resamples.one(b))[0] for b in (2, 1, 0)]
    np.testing.assert_array_equal(prepared.values(resamples), backwards[::-1])


def test_equal_rows_with_other_numbers_of_their_own_differ() -> None:
    """Whole rows as they are: all that is left to vary is what the forest draws."""
    prepared = statistic("forest").prepared(data_of("forest"))
    plan, weights = plan_for([N_ROWS]), np.ones((1, N_ROWS))
    drawn = [plan.resamples(key_from(5), [number]) for number in (0, 1)]
    for one in drawn:
        vars(one)["_drawn"] = (weights,)
    assert not np.array_equal(*(prepared.values(one) for one in drawn))


def test_every_part_that_draws_gets_a_number_of_its_own() -> None:
    forests = VotingRegressor([("first", RandomForestRegressor(2)), ("second", RandomForestRegressor(2))])
    assert random_parameters(forests) == ["first__random_state", "second__random_state"]
    states = random_states(random_parameters(forests), 2**56 - 1)
    assert len(set(states.values())) == 2
    assert all(0 <= state < 2**31 for state in states.values())
    assert states == random_states(random_parameters(forests), 2**56 - 1)


@pytest.mark.parametrize(
    ("estimator", "names"),
    [
        (Ridge(), []),
        (RandomForestRegressor(random_state=0), []),
        (make_pipeline(PCA(2), Ridge()), ["pca__random_state"]),
        (make_pipeline(StandardScaler(), LogisticRegression()), []),
        (perceptron(random_state=None), ["random_state"]),
    ],
    ids=str,
)
def test_what_has_one_solution_needs_no_number(estimator: Any, names: list[str]) -> None:
    assert random_parameters(estimator) == names


@pytest.mark.parametrize("last", [Ridge(), NETWORK], ids=["refitted", "continued"])
def test_a_step_that_draws_is_seeded_too(last: Any) -> None:
    drawing = make_pipeline(PCA(2, svd_solver="randomized", n_oversamples=1, iterated_power=0), last)
    wide = np.random.default_rng(1).standard_normal((N_ROWS, 30))
    data = read((wide, NUMBERS), paired=True)
    prepared = ob.from_sklearn(drawing, wide[:3]).prepared(data)
    np.testing.assert_array_equal(prepared.values(resampled(2)), prepared.values(resampled(2)))
    assert drawing[0].random_state is None


# Refits that fail, and refits that stop early


class Counting(RegressorMixin, BaseEstimator):
    """The mean of the response; counts its fits, and refuses every other one."""

    fits = 0

    def fit(self, X: Any, y: Any) -> Counting:
        type(self).fits += 1
        if type(self).fits % 2 == 0:
            raise ArithmeticError("an even one")
        self.mean_ = np.mean(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.mean_)


def test_a_refit_that_fails_costs_the_others_nothing() -> None:
    prepared = ob.from_sklearn(Counting(), "mean_").prepared(read((X, NUMBERS), paired=True))
    before = Counting.fits
    evaluation = prepared.evaluate(resampled(6))
    assert Counting.fits - before == 6
    assert evaluation.succeeded.tolist() == [False, True] * 3
    assert evaluation.failures[0] == ("ArithmeticError: an even one", True, False)
    assert np.isfinite(evaluation.values[evaluation.succeeded]).all()


def test_networks_that_keep_their_classes_are_refitted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from orthoboot.models.torch.fit import NetworkFit

    labels = np.zeros(N_ROWS, dtype=int)
    labels[:2] = 1
    model = perceptron(MLPClassifier, alpha=20.0)
    prepared = ob.from_sklearn(model, NEW).prepared(read((X, labels), paired=True))
    refits, batches = NetworkFit.refits, []

    def counted(self: Any, weights: Any, **options: Any) -> Any:
        batches.append(len(weights))
        return refits(self, weights, **options)

    _ = prepared.solution
    monkeypatch.setattr(NetworkFit, "refits", counted)
    lost = np.flatnonzero(~resampled(100).weights[0][:, :2].any(axis=1))
    resamples = plan_for([N_ROWS]).resamples(key_from(5), [*range(11), int(lost[-1])])
    has_both = resamples.weights[0][:, :2].any(axis=1)
    evaluation = prepared.evaluate(resamples)
    assert evaluation.succeeded.tolist() == has_both.tolist()
    assert 0 < sum(batches) == has_both.sum() < 12
    alone = [prepared.values(resamples.one(b))[0] for b in np.flatnonzero(has_both)]
    np.testing.assert_allclose(evaluation.values[has_both], alone, rtol=1e-6)


def test_fits_that_stop_early_are_flagged_and_counted_with_the_own_one() -> None:
    stopped = perceptron(solver="adam", max_iter=2, early_stopping=True)
    prepared = ob.from_sklearn(stopped, NEW).prepared(read((X, NUMBERS), paired=True))
    evaluation = prepared.evaluate(resampled())
    assert not evaluation.converged.any()
    (alone,), (with_refits,) = prepared.findings(), prepared.findings(Convergence(3, 3))
    assert "did not converge in 1 of 1 fits" in str(alone)
    assert "did not converge in 4 of 4 fits" in str(with_refits)
    assert prepared.evaluate(resampled()).converged.tolist() == evaluation.converged.tolist()
    assert [str(finding) for finding in prepared.findings()] == [str(alone)]


# One centre for all differences


ITERATIVE = {
    "lasso": (make_pipeline(StandardScaler(), Lasso(0.1, tol=1e-3)), NUMBERS, {"lasso__tol": 1e-12}),
    "logistic": (LogisticRegression(), LABELS, {"tol": 1e-12, "max_iter": 10_000}),
    "poisson": (PoissonRegressor(), LABELS, {"tol": 1e-12, "max_iter": 10_000}),
}


@pytest.mark.parametrize("case", ITERATIVE)
def test_second_differences_do_not_see_where_the_estimators_own_fit_stopped(case: str) -> None:
    estimator, y, tight = ITERATIVE[case]
    exact = clone(estimator).set_params(**tight)
    # The bias by second differences, and ABC by differences along its tilt; both divide by squares of small steps.
    for options in ({"estimator": "jackknife"}, {"method": "abc"}):
        own, converged = (
            ob.bootstrap((X[:60], y[:60]), ob.from_sklearn(model, NEW[:1]), paired=True, rng=0, **options)
            for model in (estimator, exact)
        )
        # Fits at these tolerances are within a tenth of a standard error of the solution, as may the ends be.
        slack = 0.1 * converged.standard_error
        assert np.all(np.abs(own.bias - converged.bias) < slack)
        assert np.all(np.abs(own.confidence_interval.low - converged.confidence_interval.low) < slack)
        assert np.all(np.abs(own.confidence_interval.high - converged.confidence_interval.high) < slack)


def test_the_centre_is_found_as_on_every_resample() -> None:
    prepared = ob.from_sklearn(LogisticRegression(), NEW).prepared(read((X, LABELS), paired=True))
    own = prepared.values(Resamples((np.ones((1, N_ROWS)),)))[0]
    np.testing.assert_array_equal(prepared.centre, own)
    assert np.any(prepared.centre != prepared.estimate)


# Exact fits, and columns far from zero


@pytest.mark.parametrize("offset", [0.0, 1e9])
@pytest.mark.parametrize("response", ["exact", "constant"])
@pytest.mark.parametrize("estimator", [LinearRegression(), PoissonRegressor(alpha=0), Ridge()], ids=repr)
def test_a_fit_without_residuals_is_constant_data(estimator: Any, response: str, offset: float) -> None:
    if (isinstance(estimator, Ridge) and response == "exact") or (isinstance(estimator, PoissonRegressor) and offset):
        pytest.skip("a penalty pulls at what is not zero, and lbfgs does not get through such columns")
    eta = 1 + X @ [0.3, -0.2, 0.1]
    y = np.full(N_ROWS, 0.1) if response == "constant" else np.exp(eta) if not hasattr(estimator, "copy_X") else eta
    with pytest.warns(ConstantDataWarning, match="does not vary between resamples"):
        result = ob.bootstrap((X + offset, y), ob.from_sklearn(estimator), paired=True, rng=0)
    assert result.n_resamples == 10
    assert not result.standard_error.any()


@pytest.mark.parametrize("estimator", [LinearRegression(), Ridge()], ids=repr)
@pytest.mark.parametrize("target", ["coef_", "rows"])
@pytest.mark.parametrize("offset", [1e7, 1e9])
def test_columns_far_from_zero_have_the_same_answer(estimator: Any, target: str, offset: float) -> None:
    def found(shift: float) -> Any:
        model = ob.from_sklearn(estimator, target if target == "coef_" else NEW + shift)
        return ob.bootstrap((X + shift, NUMBERS), model, paired=True, rng=0)

    near, far = found(0.0), found(offset)
    # Beside the offset the columns keep 2e-16 times 1e9 of their deviations.
    np.testing.assert_allclose(far.standard_error, near.standard_error, rtol=1e-5)
    assert far.n_resamples == 10


def test_columns_that_are_the_same_stay_a_reason_for_no_influence_function() -> None:
    twice = np.column_stack([X, X[:, 0]])
    prepared = ob.from_sklearn(LinearRegression()).prepared(read((twice, NUMBERS), paired=True))
    with pytest.raises(InfluenceError, match="the Hessian is singular"):
        prepared.influence()


# By weights or by rows


COUNTING = {
    "leaves": DecisionTreeRegressor(min_samples_leaf=5, random_state=0),
    "share of rows in a leaf": DecisionTreeRegressor(min_samples_leaf=0.05, random_state=0),
    "splits": DecisionTreeRegressor(min_samples_split=20, random_state=0),
    "inner resamples": RandomForestRegressor(3, random_state=0),
    "subsamples": GradientBoostingRegressor(n_estimators=5, subsample=0.5, random_state=0),
    "voter": VotingRegressor([("tree", DecisionTreeRegressor(min_samples_leaf=5, random_state=0))]),
    "step": make_pipeline(StandardScaler(), DecisionTreeRegressor(min_samples_leaf=5, random_state=0)),
}


@pytest.mark.parametrize("case", COUNTING)
def test_a_model_that_counts_rows_is_refitted_to_rows(case: str) -> None:
    model = ob.from_sklearn(COUNTING[case], NEW)
    resamples = plan_for([N_ROWS]).resamples(key_from(0), [0])
    (rows,) = resamples.indices(0)
    found = model.prepared(read((X, NUMBERS), paired=True)).values(resamples)[0]
    np.testing.assert_array_equal(found, clone(COUNTING[case]).fit(X[rows], NUMBERS[rows]).predict(NEW))
    assert not model.fractional


def test_boosting_by_histograms_is_refitted_to_rows() -> None:
    # Weights take it many times as long, and its leaves of twenty rows count rows.
    assert not ob.from_sklearn(HistGradientBoostingRegressor(), NEW).fractional


@pytest.mark.parametrize("estimator", [DecisionTreeRegressor(), GradientBoostingRegressor(), Ridge()], ids=repr)
def test_a_model_that_counts_no_rows_is_refitted_by_weights(estimator: Any) -> None:
    assert ob.from_sklearn(estimator, NEW).fractional


@pytest.mark.parametrize("options", [{}, {"with_mean": False}, {"with_std": False}], ids=repr)
@pytest.mark.parametrize("estimator", [Ridge(), PoissonRegressor()], ids=repr)
def test_predictions_of_scaled_columns_are_differentiated_without_predicting(
    estimator: Any, options: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ob.from_sklearn(make_pipeline(StandardScaler(**options), estimator), NEW)
    point = model.prepared(read((X, LABELS), paired=True)).solution.point
    by_differences = point.jacobian(lambda fitted: fitted.predict(NEW))
    monkeypatch.setattr(type(estimator), "predict", lambda *arguments: pytest.fail("it was asked for a prediction"))
    found = point.prediction_jacobian(NEW)
    # Differences of fourth order have ten digits or so.
    np.testing.assert_allclose(found, by_differences, rtol=1e-7, atol=1e-9 * np.abs(found).max())
