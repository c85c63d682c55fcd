"""Threads that share a statistic of any kind, or one result, get what one thread gets."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests import elsewhere

import orthoboot as ob

pytestmark = pytest.mark.filterwarnings("ignore::orthoboot.errors.OrthobootWarning")

N_ROWS = 60
RNG = np.random.default_rng(1)
X = RNG.gamma(2.0, size=N_ROWS)
TABLE = RNG.gamma(2.0, size=(N_ROWS, 3))
Y = TABLE @ [1.0, -0.5, 0.2] + RNG.normal(size=N_ROWS)
EVENTS = (RNG.random(N_ROWS) < 0.5).astype(float)
ROUNDS = int(os.environ.get("ORTHOBOOT_THREAD_ROUNDS", "1"))
"""How often each attack is made; more of them attack harder."""


class Kind(NamedTuple):
    """Data, and what makes a statistic that nobody has used yet.

    Attributes
    ----------
    tolerance
        How far the numbers may differ in units of the largest: linear algebra and solvers round otherwise where arrays
        lie elsewhere.
    """

    data: Any
    make: Callable[[], Any]
    options: dict[str, Any] = {}  # noqa: RUF012 - never changed
    tolerance: float = 1e-9


def of_rows(x):
    return x.mean() / x.std()


def of_weights(x, weights):
    mean = np.average(x, weights=weights)
    return mean / np.sqrt(np.average((x - mean) ** 2, weights=weights))


def of_batches(x, axis):
    return x.mean(axis=axis) / x.std(axis=axis)


def in_jax():
    jnp = pytest.importorskip("jax.numpy")

    def statistic(x, weights):
        mean = weights @ x / weights.sum()
        return mean / jnp.sqrt(weights @ (x - mean) ** 2 / weights.sum())

    return statistic


def in_torch():
    torch = pytest.importorskip("torch")

    def statistic(x, weights):
        mean = weights @ x / weights.sum()
        return mean / torch.sqrt(weights @ (x - mean) ** 2 / weights.sum())

    return statistic


def logistic_in_jax(**options):
    jax = pytest.importorskip("jax")
    return ob.m_estimator(lambda t, X, y: jax.nn.softplus(X @ t) - y * (X @ t), 3, library="jax", **options)


def logistic_in_torch(**options):
    torch = pytest.importorskip("torch")
    return ob.m_estimator(
        lambda t, X, y: torch.nn.functional.softplus(X @ t) - y * (X @ t), 3, library="torch", **options
    )


def smallest_variance(library: str):
    pytest.importorskip(library)
    return ob.minimize(
        lambda shares, mean: (shares**2).sum() - (mean * shares).sum(),
        [1 / 3] * 3,
        equality=lambda shares, mean: shares.sum() - 1,
        library=library,
    )


def portfolio():
    cp = pytest.importorskip("cvxpy")
    pytest.importorskip("diffcp")
    mean, shares = cp.Parameter(3), cp.Variable(3)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(shares) - mean @ shares), [cp.sum(shares) == 1, shares >= -5])
    return ob.from_cvxpy(problem, {mean: ob.mean}, shares)


def of_sklearn(name: str, **options):
    linear_model = pytest.importorskip("sklearn.linear_model")
    return ob.from_sklearn(getattr(linear_model, name)(**options))


def pipeline():
    pytest.importorskip("sklearn")
    from sklearn.linear_model import Lasso
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return ob.from_sklearn(make_pipeline(StandardScaler(), Lasso(0.05)), TABLE[:2])


def tree():
    pytest.importorskip("sklearn")
    from sklearn.tree import DecisionTreeRegressor

    return ob.from_sklearn(DecisionTreeRegressor(max_depth=3, random_state=0), TABLE[:2])


def of_statsmodels(kind: str):
    sm = pytest.importorskip("statsmodels.api")
    model = {
        "OLS": lambda: sm.OLS(Y, sm.add_constant(TABLE)),
        "Logit": lambda: sm.Logit(EVENTS, sm.add_constant(TABLE)),
        "RLM": lambda: sm.RLM(Y, sm.add_constant(TABLE)),
    }[kind]()
    return ob.from_statsmodels(model.fit(disp=0) if kind == "Logit" else model.fit())


def of_module():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1)).double()
    return ob.from_torch(module, torch.nn.MSELoss(), TABLE, Y[:, np.newaxis], target=TABLE[:2], weight_decay=0.1)


STANDARD = {"estimator": "standard", "n_resamples": 4}
PAIRED = {"paired": True}
KINDS: dict[str, Kind] = {
    "catalogue": Kind(X, lambda: ob.variance),
    "catalogue, quantile": Kind(X, lambda: ob.quantile(0.3)),
    "catalogue, difference": Kind((X, X[:30]), lambda: ob.difference(ob.gini)),
    "catalogue, compose": Kind(X, lambda: ob.compose(np.log, ob.variance)),
    "catalogue, regression": Kind((TABLE, EVENTS), lambda: ob.logistic_regression, PAIRED),
    "rows": Kind(X, lambda: of_rows),
    "weights": Kind(X, lambda: of_weights),
    "batches": Kind(X, lambda: of_batches),
    "jax": Kind(X, in_jax),
    "torch": Kind(X, in_torch),
    "m_estimator, jax": Kind((TABLE, EVENTS), logistic_in_jax, PAIRED),
    "m_estimator, torch": Kind((TABLE, EVENTS), logistic_in_torch, PAIRED),
    "m_estimator, torch, cg": Kind((TABLE, EVENTS), lambda: logistic_in_torch(solver="cg"), PAIRED, 1e-6),
    "minimize, jax": Kind(TABLE, lambda: smallest_variance("jax")),
    "minimize, torch": Kind(TABLE, lambda: smallest_variance("torch")),
    "cvxpy": Kind(TABLE, portfolio, {}, 1e-5),
    "sklearn, closed form": Kind((TABLE, Y), lambda: of_sklearn("Ridge"), PAIRED),
    "sklearn, iterative": Kind((TABLE, EVENTS), lambda: of_sklearn("LogisticRegression"), PAIRED, 1e-6),
    "sklearn, pipeline": Kind((TABLE, Y), pipeline, PAIRED, 1e-6),
    "sklearn, refits": Kind((TABLE, Y), tree, {**PAIRED, **STANDARD}),
    "statsmodels, OLS": Kind(None, lambda: of_statsmodels("OLS"), PAIRED),
    "statsmodels, Logit": Kind(None, lambda: of_statsmodels("Logit"), PAIRED),
    "statsmodels, RLM": Kind(None, lambda: of_statsmodels("RLM"), PAIRED, 1e-6),
    "from_torch": Kind(None, of_module, PAIRED, 1e-5),
}


@pytest.fixture(autouse=True)
def hurried_threads() -> Iterator[None]:
    """Let threads take turns five hundred times as often as they do by themselves."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def data_for(kind: Kind, statistic: Any, number: int) -> Any:
    """Return the data of one thread: its own rows, where the statistic is not bound to those that it was fitted to.

    Threads that all compute the same would not notice that they get each other's numbers.
    """
    if kind.data is None:
        return statistic.data
    parts = kind.data if isinstance(kind.data, tuple) else (kind.data,)
    # As many rows for all, since jax compiles for each shape.
    others = tuple(part[np.maximum(np.arange(len(part)), number)] for part in parts)
    return others if isinstance(kind.data, tuple) else others[0]


def bootstrapped(kind: Kind, statistic: Any, number: int = 0) -> ob.Result:
    """Return the result of one thread, with a seed of its own."""
    data = data_for(kind, statistic, number)
    return ob.bootstrap(data, statistic, rng=number, **{"n_resamples": 3, **kind.options})


def numbers(result: ob.Result) -> list[Any]:
    """Return whatever may go wrong: value, replicates, influence, covariance, interval and the count of failures."""
    replicates, influence = result.replicates, result.run.influence or ()
    return [
        replicates.estimate,
        replicates.values,
        result.covariance,
        result.bias,
        result.equivalent_resamples,
        *result.confidence_interval,
        *result.simulation_error,
        np.array([result.n_failed, result.n_resamples]),
        *influence,
    ]


def asked(result: ob.Result, number: int) -> list[Any]:
    """Return what more can be asked of one result; each thread asks for as many replicates as its number says."""
    longer = result.extend(1 + number)
    other = result.with_estimator("cheap" if result.estimator == "standard" else "standard")
    low, high = result.interval(0.8 + number / 100, method="normal")
    return [*numbers(result), *numbers(longer), *numbers(other), low, high, result.summary() != ""]


def check_same(expected: list[Any], found: list[Any], tolerance: float) -> None:
    assert len(found) == len(expected)
    for mine, other in zip(expected, found, strict=True):
        mine, other = np.asarray(mine, dtype=float), np.asarray(other, dtype=float)
        assert mine.shape == other.shape
        largest = np.abs(mine[np.isfinite(mine)]).max(initial=0.0)
        np.testing.assert_allclose(other, mine, rtol=0, atol=tolerance * largest)


@pytest.mark.parametrize("name", KINDS)
def test_threads_that_share_a_statistic_get_what_one_gets(name: str) -> None:
    kind = KINDS[name]
    alone = kind.make()
    expected = [numbers(bootstrapped(kind, alone, number)) for number in range(elsewhere.N_THREADS)]
    for _ in range(ROUNDS):
        shared = kind.make()
        found = elsewhere.in_threads(lambda number: numbers(bootstrapped(kind, shared, number)))  # noqa: B023
        for mine, other in zip(expected, found, strict=True):
            check_same(mine, other, kind.tolerance)


@pytest.mark.parametrize("name", KINDS)
def test_threads_that_share_a_result_get_what_one_gets(name: str) -> None:
    kind = KINDS[name]
    alone = bootstrapped(kind, kind.make())
    expected = [asked(alone, number) for number in range(elsewhere.N_THREADS)]
    for _ in range(ROUNDS):
        shared = bootstrapped(kind, kind.make())
        found = elsewhere.in_threads(lambda number: asked(shared, number))  # noqa: B023
        for mine, other in zip(expected, found, strict=True):
            check_same(mine, other, kind.tolerance)


@pytest.mark.parametrize("name", ["Ridge", "DecisionTreeRegressor"])
def test_threads_that_share_a_prediction_regressor_get_what_one_gets(name: str) -> None:
    pytest.importorskip("sklearn")
    from sklearn.linear_model import Ridge
    from sklearn.tree import DecisionTreeRegressor

    estimator = {"Ridge": Ridge(), "DecisionTreeRegressor": DecisionTreeRegressor(max_depth=3, random_state=0)}[name]

    def predicted(model: Any, number: int) -> list[Any]:
        rows = TABLE[number : number + 5]
        prediction, error = model.predict(rows, return_std=True)
        return [prediction, error, *model.predict_interval(rows), model.model_std(rows)]

    def fitted() -> Any:
        return ob.PredictionIntervalRegressor(estimator, n_resamples=5, rng=0).fit(TABLE, Y)

    alone = fitted()
    expected = [predicted(alone, number) for number in range(elsewhere.N_THREADS)]
    for _ in range(ROUNDS):
        shared = fitted()
        for task in (lambda number: predicted(shared, number), lambda number: predicted(fitted(), number)):  # noqa: B023
            for mine, other in zip(expected, elsewhere.in_threads(task), strict=True):
                check_same(mine, other, 1e-9)
