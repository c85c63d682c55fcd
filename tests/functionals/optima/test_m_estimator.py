"""M-estimators against closed forms in both libraries, and what they say of bad input."""

from __future__ import annotations

import pathlib
import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from sklearn.linear_model import Ridge
from tests import elsewhere
from tests.written_functions import (
    PENALTY,
    normal_equations,
    ridge_penalty,
    square_and_second,
    squares,
    squares_and_fourth_powers,
)

import orthoboot as ob
from orthoboot.autodiff import selection
from orthoboot.data import Data, read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import (
    ArgumentError,
    DataError,
    FailedReplicatesWarning,
    FitError,
    FitWarning,
    InfluenceError,
    MissingDependencyError,
    StatisticError,
)
from orthoboot.optimisation.newton_fit import NewtonFit
from orthoboot.solvers import Cholesky, ConjugateGradients
from orthoboot.typing import FloatArray

jnp = pytest.importorskip("jax.numpy")
nn = pytest.importorskip("jax.nn")

N, THRESHOLD = 80, 0.8
NEW_ROWS = np.array([[1.0, 0.5, -1.0], [0.0, 2.0, 1.0]])


def design() -> FloatArray:
    return np.random.default_rng(0).normal(size=(N, 3))


def counts(n_resamples: int) -> Resamples:
    return Resamples((np.random.default_rng(5).multinomial(N, np.full(N, 1 / N), size=n_resamples).astype(float),))


@cache
def linear_data() -> Data:
    X = design()
    return read((X, X @ [1.0, -2.0, 0.5] + np.random.default_rng(1).standard_t(4, size=N)), paired=True)


@cache
def class_data() -> Data:
    X = design()
    chances = 1 / (1 + np.exp(-X @ [0.8, -0.5, 0.3]))
    return read((X, np.random.default_rng(2).random(N) < chances), paired=True)


@cache
def count_data() -> Data:
    X = design() / 2
    return read((X, np.random.default_rng(3).poisson(np.exp(X @ [0.8, -0.5, 0.3]))), paired=True)


def logistic(theta: Any, X: Any, y: Any) -> Any:
    return nn.softplus(X @ theta) - y * (X @ theta)


def huber(theta: Any, X: Any, y: Any) -> Any:
    size = jnp.abs(y - X @ theta)
    return jnp.where(size < THRESHOLD, size**2 / 2, THRESHOLD * (size - THRESHOLD / 2))


def poisson(theta: Any, X: Any, y: Any) -> Any:
    return jnp.exp(X @ theta) - y * (X @ theta)


def torch_logistic(theta: Any, X: Any, y: Any) -> Any:
    import torch

    return torch.nn.functional.softplus(X @ theta) - y * (X @ theta)


def torch_huber(theta: Any, X: Any, y: Any) -> Any:
    import torch

    return torch.nn.functional.huber_loss(X @ theta, y, reduction="none", delta=THRESHOLD)


def torch_poisson(theta: Any, X: Any, y: Any) -> Any:
    import torch

    return torch.exp(X @ theta) - y * (X @ theta)


def least_squares_fit(X: FloatArray, y: FloatArray) -> FloatArray:
    return np.linalg.lstsq(X, y, rcond=None)[0]


def ridge_fit(X: FloatArray, y: FloatArray) -> FloatArray:
    return Ridge(alpha=PENALTY * len(y), fit_intercept=False, solver="cholesky").fit(X, y).coef_


def logistic_fit(X: FloatArray, y: FloatArray) -> FloatArray:
    return sm.Logit(y, X).fit(disp=0, tol=1e-14, method="newton").params


def huber_fit(X: FloatArray, y: FloatArray) -> FloatArray:
    """Iteratively reweighted least squares, as statsmodels' RLM, with the scale held at one."""
    theta = least_squares_fit(X, y)
    for _ in range(500):
        weights = np.minimum(1.0, THRESHOLD / np.abs(y - X @ theta))
        theta = np.linalg.solve((X.T * weights) @ X, (X.T * weights) @ y)
    return theta


def poisson_fit(X: FloatArray, y: FloatArray) -> FloatArray:
    return sm.GLM(y, X, sm.families.Poisson()).fit(tol=1e-14, tol_criterion="params").params


@dataclass(frozen=True)
class Case:
    """A model: its loss in jax and torch, others' fit, and the two ingredients of its influence in closed form.

    The loss is a function of ``X theta``; `slope` and `curvature` are its derivatives by that.
    """

    name: str
    data: Callable[[], Data]
    jax: Callable[..., Any]
    torch: Callable[..., Any]
    fit: Callable[[FloatArray, FloatArray], FloatArray]
    slope: Callable[[FloatArray, FloatArray], FloatArray]
    curvature: Callable[[FloatArray, FloatArray], FloatArray]
    ridge: float = 0.0

    @cache  # noqa: B019 - the cases live as long as the module
    def functional(self, library: str = "jax", **options: Any) -> Any:
        penalty = ridge_penalty if self.ridge else None
        return ob.m_estimator(getattr(self, library), init=3, penalty=penalty, library=library, **options)

    @cache  # noqa: B019 - likewise
    def prepared(self, library: str = "jax", **options: Any) -> Any:
        return self.functional(library, **options).prepared(self.data())

    def influence(self, theta: FloatArray) -> FloatArray:
        X, y = self.data().arrays
        gradients = X * self.slope(X @ theta, y)[:, np.newaxis] + self.ridge * theta
        hessian = (X.T * self.curvature(X @ theta, y)) @ X / len(X) + self.ridge * np.eye(3)
        return -np.linalg.solve(hessian, gradients.T).T


def _chance(eta: FloatArray) -> FloatArray:
    return 1 / (1 + np.exp(-eta))


CASES = [
    Case("linear", linear_data, squares, squares, least_squares_fit, lambda e, y: e - y, lambda e, y: np.ones_like(e)),
    Case("ridge", linear_data, squares, squares, ridge_fit, lambda e, y: e - y, lambda e, y: np.ones_like(e), PENALTY),
    Case(
        "logistic",
        class_data,
        logistic,
        torch_logistic,
        logistic_fit,
        lambda e, y: _chance(e) - y,
        lambda e, y: _chance(e) * _chance(-e),
    ),
    Case(
        "huber",
        linear_data,
        huber,
        torch_huber,
        huber_fit,
        lambda e, y: np.clip(e - y, -THRESHOLD, THRESHOLD),
        lambda e, y: np.abs(e - y) < THRESHOLD,
    ),
    Case(
        "poisson", count_data, poisson, torch_poisson, poisson_fit, lambda e, y: np.exp(e) - y, lambda e, y: np.exp(e)
    ),
]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
_, RIDGE, LOGISTIC, _, _ = CASES


@pytest.fixture(params=["jax", "torch"])
def library(request: pytest.FixtureRequest) -> str:
    pytest.importorskip(request.param)
    return request.param


# The fit and its influence


@every_case
def test_the_fit_is_that_of_others(case, library):
    data = case.data()
    np.testing.assert_allclose(case.prepared(library).estimate, case.fit(*data.arrays), rtol=1e-10, atol=1e-12)


@every_case
def test_the_influence_is_the_closed_form(case, library):
    prepared = case.prepared(library)
    (influence,) = prepared.influence()
    expected = case.influence(prepared.estimate)
    np.testing.assert_allclose(influence, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


@every_case
def test_the_influence_is_the_derivative_in_a_random_direction(case, library):
    prepared = case.prepared(library)
    direction = np.random.default_rng(4).normal(size=N)
    direction -= direction.mean()
    step = 1e-5
    ahead, behind = prepared.values(Resamples((1 + np.array([[step], [-step]]) * direction,)))
    slope = prepared.influence()[0].T @ direction / N
    # The error of the differences: step**2 of truncation, and rounding of the fits over the step.
    np.testing.assert_allclose((ahead - behind) / (2 * step), slope, rtol=0, atol=1e-8 * max(1, np.abs(slope).max()))


@every_case
def test_the_libraries_agree_on_replicates(case):
    pytest.importorskip("torch")
    values = [case.prepared(library).values(counts(4)) for library in ("jax", "torch")]
    np.testing.assert_allclose(*values, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("case", [RIDGE, LOGISTIC], ids=lambda case: case.name)
@pytest.mark.parametrize("solver", ["lu", "cg"])
def test_every_solver_gives_the_influence_of_cholesky(case, solver):
    (expected,), (influence,) = (case.prepared(solver=one).influence() for one in ("cholesky", solver))
    np.testing.assert_allclose(influence, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def test_estimating_equations_give_what_their_loss_gives():
    def psi(theta: Any, X: Any, y: Any) -> Any:
        return X * (nn.sigmoid(X @ theta) - y)[:, None]

    data = class_data()
    for penalty in (None, ridge_penalty):
        by_loss = ob.m_estimator(logistic, init=3, penalty=penalty).prepared(data)
        by_psi = ob.m_estimator(psi=psi, init=3, penalty=penalty).prepared(data)
        np.testing.assert_allclose(by_psi.estimate, by_loss.estimate, rtol=1e-12)
        np.testing.assert_allclose(by_psi.influence()[0], by_loss.influence()[0], rtol=0, atol=1e-12)
        weights = Resamples((np.random.default_rng(6).exponential(size=(3, N)),))
        np.testing.assert_allclose(by_psi.values(weights), by_loss.values(weights), rtol=1e-11)


def test_equations_that_are_no_gradient_are_solved():
    """Two-stage moments: theta[0] is the mean, theta[1] the variance around it; the derivative is triangular."""

    def psi(theta: Any, x: Any) -> Any:
        return jnp.stack([x - theta[0], (x - theta[0]) ** 2 - theta[1]], axis=1)

    data = read(np.random.default_rng(7).gamma(2.0, size=50))
    moments = ob.m_estimator(psi=psi, init=[0.0, 1.0]).prepared(data)
    expected = np.column_stack([f.prepared(data).influence()[0] for f in (ob.mean, ob.variance)])
    np.testing.assert_allclose(moments.influence()[0], expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(moments.estimate, [data.arrays[0].mean(), data.arrays[0].var()], rtol=1e-13)


@pytest.mark.parametrize("init", [3, [5.0, 5.0, -5.0], lambda X, y: X.T @ y / len(y)], ids=["zeros", "far", "function"])
def test_the_start_does_not_matter(init):
    data = class_data()
    np.testing.assert_allclose(
        ob.m_estimator(logistic, init=init).prepared(data).estimate, logistic_fit(*data.arrays), rtol=1e-11
    )


@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_the_units_of_columns_and_losses_do_not_matter(unit):
    X, y = class_data().arrays
    units = np.array([1.0, unit, 1.0])
    plain, scaled = read((X, y), paired=True), read((X * units, y), paired=True)
    functional = ob.m_estimator(logistic, init=3)
    fit, of_columns = functional.prepared(plain), functional.prepared(scaled)
    of_losses = ob.m_estimator(lambda theta, X, y: unit * logistic(theta, X, y), init=3).prepared(plain)
    for other in (of_columns.estimate * units, of_losses.estimate):
        np.testing.assert_allclose(other, fit.estimate, rtol=1e-9)
    (expected,) = fit.influence()
    for other in (of_columns.influence()[0] * units, of_losses.influence()[0]):
        np.testing.assert_allclose(other, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_a_perfect_fit_has_no_influence():
    X = design()
    data = read((X, X @ [1.0, 2.0, 3.0]), paired=True)
    prepared = ob.m_estimator(squares, init=3).prepared(data)
    np.testing.assert_allclose(prepared.estimate, [1.0, 2.0, 3.0], rtol=1e-14)
    assert np.abs(prepared.influence()[0]).max() < 1e-13


def test_two_rows_are_enough_for_a_mean():
    assert ob.m_estimator(lambda theta, x: (x - theta[0]) ** 2, init=1)([1.0, 4.0]) == pytest.approx([2.5], rel=1e-14)


def test_hundreds_of_parameters_are_fitted_by_products():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(700, 520))
    data = read((X, X[:, 0] + rng.normal(size=700)), paired=True)
    functional = ob.m_estimator(squares, init=520, penalty=ridge_penalty, target=lambda t: t[:2], solver="cg")
    by_products = functional.prepared(data)
    hessian = X.T @ X / 700 + PENALTY * np.eye(520)
    theta = np.linalg.solve(hessian, X.T @ data.arrays[1] / 700)
    np.testing.assert_allclose(by_products.estimate, theta[:2], rtol=1e-10)
    gradients = X * (X @ theta - data.arrays[1])[:, np.newaxis] + PENALTY * theta
    expected = -np.linalg.solve(hessian, gradients.T)[:2].T
    np.testing.assert_allclose(by_products.influence()[0], expected, rtol=0, atol=1e-7 * np.abs(expected).max())


# Targets


def test_a_prediction_has_the_influence_of_its_coefficients():
    data = class_data()
    coefficients = ob.m_estimator(logistic, init=3)
    chances = coefficients.replace(target=lambda theta: nn.sigmoid(NEW_ROWS @ theta))
    fit, predictions = coefficients.prepared(data), chances.prepared(data)
    fitted = _chance(NEW_ROWS @ fit.estimate)
    np.testing.assert_allclose(predictions.estimate, fitted, rtol=1e-13)
    expected = fit.influence()[0] @ (NEW_ROWS.T * fitted * (1 - fitted))
    np.testing.assert_allclose(predictions.influence()[0], expected, rtol=0, atol=1e-13)


def test_targets_may_be_numbers_arrays_lists_or_dicts(library):
    X, y = linear_data().arrays

    def both(theta: Any) -> Any:
        return {"slope": theta[0], "risk": ((3.0 - 2.0 * theta) ** 2).mean(), "rest": theta[1:]}

    functional = ob.m_estimator(squares, init=3, library=library, target=both, name="fit")
    value, theta = functional(X, y), least_squares_fit(X, y)
    assert value["slope"] == pytest.approx(theta[0], rel=1e-13)
    assert value["risk"] == pytest.approx(np.mean((3 - 2 * theta) ** 2), rel=1e-13)
    assert functional.prepared(linear_data()).output.names == ("slope", "risk", "rest[0]", "rest[1]")
    assert isinstance(functional.replace(target=lambda t: t[0])(X, y), float)
    np.testing.assert_allclose(functional.replace(target=lambda t: [t[0], t[2]])(X, y), theta[[0, 2]], rtol=1e-13)


def test_parameters_are_named_after_the_columns():
    X, y = linear_data().arrays
    frame = pd.DataFrame(X, columns=["age", "dose", "sex"])
    functional = ob.m_estimator(squares, init=3)
    assert functional.prepared(read((frame, y), paired=True)).output.names == ("age", "dose", "sex")
    assert functional.prepared(linear_data()).output.names == ("theta[0]", "theta[1]", "theta[2]")


# Through bootstrap


def test_the_standard_error_is_that_of_the_standard_bootstrap():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(300, 2))
    y = (rng.random(300) < _chance(X @ [1.0, -0.5])).astype(float)
    functional = ob.m_estimator(logistic, init=2)
    orthogonal = ob.bootstrap((X, y), functional, paired=True, rng=0)
    standard = ob.bootstrap((X, y), functional, paired=True, estimator="standard", n_resamples=400, rng=1)
    assert orthogonal.n_resamples == 10
    assert np.all(orthogonal.r_squared > 0.9)
    # Both are simulated: four standard deviations of the difference are exceeded once in 8,000 seeds and outputs.
    error = np.hypot(orthogonal.simulation_error.standard_error, standard.simulation_error.standard_error)
    assert np.all(np.abs(orthogonal.standard_error - standard.standard_error) < 4 * error)
    assert not orthogonal.warnings


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_a_resample_without_a_fit_is_a_failed_replicate(solver):
    rng = np.random.default_rng(10)
    # One resample in seven has neither of the two rows that the last column tells apart.
    X = np.column_stack([np.ones(40), np.arange(40) < 2])
    y = X @ [1.0, 2.0] + rng.normal(size=40)
    with pytest.warns(FailedReplicatesWarning, match=r"FitError: the Hessian is singular.*theta\[1\]"):
        result = ob.bootstrap(
            (X, y), ob.m_estimator(squares, init=2, solver=solver), paired=True, n_resamples=30, rng=0
        )
    assert 0 < result.n_failed < 15


def test_a_resample_whose_classes_are_separated_has_no_fit():
    data = class_data()
    X, y = data.arrays
    weights = np.where((X[:, 0] > 0) == y, 1.0, 0.0)
    with pytest.raises(FitError, match=r"no fit: .*theta\[0\] = \d.*do not shrink.*separates.*penalty"):
        ob.m_estimator(logistic, init=3).prepared(data).values(Resamples((weights[np.newaxis],)))


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_resamples_without_a_fit_are_those_of_the_regression(solver):
    """Written as a difference the loss cancels far out, and its gradient rounds to zero as at a minimum."""
    x = np.linspace(-1.0, 1.0, 40)
    y = x > 0
    y[[17, 25]] = True, False

    def loss(theta: Any, x: Any, y: Any) -> Any:
        return jnp.logaddexp(0.0, theta[0] + theta[1] * x) - y * (theta[0] + theta[1] * x)

    results = []
    for functional in (ob.m_estimator(loss, init=2, solver=solver), ob.logistic_regression.replace(intercept=True)):
        with pytest.warns(FailedReplicatesWarning):
            results.append(ob.bootstrap((x, y), functional, paired=True, estimator="standard", n_resamples=40, rng=0))
    assert results[0].n_failed == results[1].n_failed > 5
    np.testing.assert_allclose(*(result.bootstrap_distribution for result in results), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("solver", [Cholesky(), ConjugateGradients()], ids=lambda solver: solver.name)
def test_newton_goes_downhill_from_where_the_loss_is_not_convex(solver):
    """Cauchy's loss bends down farther than one from its centre, where Newton's own step would go uphill."""
    data = read(np.random.default_rng(13).normal(size=40))
    functional = ob.m_estimator(lambda theta, x: jnp.log1p((x - theta[0]) ** 2), init=1, solver=solver)
    prepared = functional.prepared(data)
    conditions = prepared.conditions
    weights = np.ones(40) / 40
    assert conditions.operator(np.array([6.0]), weights, by_products=False).matrix() < 0
    found = NewtonFit(conditions, solver, weights).from_nearby(np.array([6.0]), 1.0)
    x = data.arrays[0]
    assert found == pytest.approx(prepared.estimate, rel=1e-12)
    assert np.mean((x - found) / (1 + (x - found) ** 2)) == pytest.approx(0.0, abs=1e-15)


def test_a_refit_that_fails_nearby_is_sought_from_afar(monkeypatch):
    prepared = ob.m_estimator(logistic, init=3).prepared(class_data())
    weights = Resamples((np.random.default_rng(11).exponential(size=(1, N)),))
    expected = prepared.values(weights)
    nearby, calls = NewtonFit.from_nearby, []

    def failing_once(self: NewtonFit, *arguments: Any) -> FloatArray:
        calls.append(arguments)
        if len(calls) == 1:
            raise FitError("not this time")
        return nearby(self, *arguments)

    monkeypatch.setattr(NewtonFit, "from_nearby", failing_once)
    np.testing.assert_allclose(prepared.values(weights), expected, rtol=1e-12)
    assert len(calls) == 2


def test_the_same_loss_written_anew_compiles_no_second_time():
    data, threshold = linear_data(), 0.8

    def fit(threshold: float, **options: Any) -> Any:
        return ob.m_estimator(lambda t, X, y: jnp.logaddexp(squares(t, X, y), threshold), init=3, **options)

    programs = fit(threshold).prepared(data).conditions.programs
    others = read((data.arrays[0] ** 2, data.arrays[1]), paired=True)
    assert fit(threshold, target=lambda theta: theta[0] ** 2).prepared(data).conditions.programs is programs
    assert fit(threshold).prepared(others).conditions.programs is programs
    assert fit(threshold + 1e-12).prepared(data).conditions.programs is not programs


def test_numbers_that_the_functions_name_may_change(library):
    x, number = [1.0, 4.0], {"loss": 1.0, "penalty": 0.0, "target": 1.0}
    functional = ob.m_estimator(
        lambda theta, x: (number["loss"] * x - theta[0]) ** 2,
        init=1,
        penalty=lambda theta: number["penalty"] * theta[0] ** 2,
        target=lambda theta: number["target"] * theta[0],
        library=library,
    )
    assert functional(x) == pytest.approx(2.5, rel=1e-14)
    number["loss"] = 3.0
    assert functional(x) == pytest.approx(7.5, rel=1e-14)
    number["penalty"] = 1.0
    assert functional.replace(name="ridge")(x) == pytest.approx(3.75, rel=1e-14)
    number["target"] = 2.0
    assert functional(x) == pytest.approx(7.5, rel=1e-14)


def test_a_loss_may_be_an_object_without_a_hash():
    class Loss:
        __hash__ = None

        def __call__(self, theta: Any, x: Any) -> Any:
            return (x - theta[0]) ** 2

    assert ob.m_estimator(Loss(), init=1, library="jax")([1.0, 4.0]) == pytest.approx([2.5], rel=1e-14)


def test_the_example_of_the_guide_runs(capsys):
    guide = (pathlib.Path(__file__).parents[3] / "docs" / "guide.md").read_text()
    (program,) = [
        block for block in re.findall(r"```python\n(.*?)```", guide, flags=re.DOTALL) if "m_estimator" in block
    ]
    exec(program, {})
    assert "Orthogonal bootstrap of m_estimator: 500 rows, 10 resamples" in capsys.readouterr().out


# In other processes and threads


def test_a_fit_is_pickled_without_what_is_compiled(library):
    prepared = ob.m_estimator(squares, init=3, library=library).prepared(linear_data())
    prepared.influence()
    kept = vars(pickle.loads(pickle.dumps(prepared)))
    assert {"fit", "estimate", "factor", "linearization", "target"} <= set(kept)
    assert "conditions" not in kept


def named_in(library):
    return [
        ob.m_estimator(squares_and_fourth_powers, init=3, library=library),
        ob.m_estimator(squares_and_fourth_powers, init=3, target=square_and_second, library=library),
        ob.m_estimator(squares, init=3, penalty=ridge_penalty, solver="cg", library=library),
        ob.m_estimator(psi=normal_equations, init=3, penalty=ridge_penalty, library=library),
    ]


def test_a_fit_goes_on_in_a_fresh_process_and_functions_without_a_name_go_along(torch, tmp_path):
    named = [statistic.prepared(linear_data()) for library in ("jax", "torch") for statistic in named_in(library)]
    power = 2.0
    functional = ob.m_estimator(
        lambda theta, x: jnp.logaddexp(x - theta[0], theta[0] - x) ** power,
        init=lambda x: [x.mean()],
        target=lambda theta: theta[0] ** power,
    )
    unnamed = [functional.prepared(read(linear_data().arrays[1]))]
    elsewhere.check_in_fresh_process(named, counts(2), tmp_path, unnamed=unnamed)


@pytest.mark.parametrize(
    "options",
    [{"loss": squares_and_fourth_powers}, {"loss": squares, "solver": "cg"}, {"psi": normal_equations}],
    ids=["loss", "products", "equations"],
)
def test_threads_give_what_one_gives(library, options):
    functional = ob.m_estimator(**options, init=3, target=square_and_second, library=library)
    elsewhere.check_in_threads(lambda: functional.prepared(linear_data()), counts(3))


# What a careful user should know


def test_damping_is_reported():
    data = linear_data()
    functional = ob.m_estimator(squares, init=3, solver=Cholesky(damping=1e-3))
    (finding,) = functional.prepared(data).findings()
    assert isinstance(finding, FitWarning)
    assert "damping of 0.001" in str(finding)
    assert functional.replace(solver="cholesky").prepared(data).findings() == ()


def shifted(monkeypatch: pytest.MonkeyPatch, errors: float) -> Any:
    """An M-estimator whose fit is moved by `errors` standard errors of its first coefficient."""
    functional = ob.m_estimator(logistic, init=3)
    fit = functional.prepared(class_data())
    (influence,) = fit.influence()
    moved = fit.estimate + errors * influence[:, 0].std() / np.sqrt(N) * np.array([1.0, 0.0, 0.0])
    monkeypatch.setattr(type(fit), "fit", moved)
    return functional.prepared(class_data())


def test_a_fit_that_is_not_quite_the_minimum_is_reported(monkeypatch):
    prepared = shifted(monkeypatch, 0.01)
    (finding,) = prepared.findings()
    assert "0.01 standard errors from the solution" in str(finding)
    assert np.abs(prepared.influence()[0].mean(axis=0)).max() < 1e-12


def test_a_fit_that_is_far_from_the_minimum_is_refused(monkeypatch):
    prepared = shifted(monkeypatch, 1.0)
    with pytest.raises(FitError, match="one more step would move it by .* standard errors"):
        prepared.influence()


# Bad input


def test_collinear_columns_are_named():
    X, y = linear_data().arrays
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "twice_a": 2 * X[:, 0]})
    functional = ob.m_estimator(squares, init=3)
    with pytest.raises(FitError, match=r"singular.*0\.89 a - 0\.45 twice_a.*collinear.*`penalty`.*`damping`"):
        ob.bootstrap((frame, y), functional, paired=True)
    assert np.isfinite(functional.replace(penalty=ridge_penalty)(frame, y)).all()
    assert np.isfinite(functional.replace(solver=Cholesky(damping=1e-3))(frame, y)).all()


@pytest.mark.parametrize(
    ("loss", "init", "message"),
    [
        (lambda t, X, y: squares(t[:3], X, y), 4, r"singular.* along theta\[3\],.*not identified"),
        (lambda t, X, y: jnp.abs(y - X @ t), 3, "`m_estimator` has no fit.*without curvature.*absolute.*Huber"),
        (lambda t, X, y: t[0] * y, 1, r"singular.* along theta\[0\], .*without lower bound, as a linear one"),
        (lambda t, X, y: (y - t[0].item()) ** 2, 1, r"singular.*`float\(\)`, `int\(\)` or `.item\(\)` inside the loss"),
        (lambda t, X, y: (y - t[0] * t[1]) ** 2, 2, "indefinite.*no minimum.*not convex.*better `init`"),
        (lambda t, X, y: -((y - X @ t) ** 2), 3, "indefinite.*no minimum.*not convex"),
        (lambda t, X, y: jnp.exp(-t[0]) + 0 * y, 1, "no fit: .*do not shrink.*infinity"),
        (lambda t, X, y: squares(t, X, y) + 9 * jnp.abs(t[2]), 3, "did not converge: .*kinks.*smooth"),
    ],
    ids=["unidentified", "absolute values", "linear", "item", "saddle", "no lower bound", "infinitely far", "kink"],
)
def test_a_loss_without_a_minimum_of_its_own_is_refused(loss, init, message):
    with pytest.raises(FitError, match=message):
        ob.bootstrap(linear_data().arrays, ob.m_estimator(loss, init=init), paired=True)


def test_a_saddle_is_a_root_of_its_equations():
    """The first parameter minimises and the second maximises, as a Lagrange multiplier does."""
    data = read(np.random.default_rng(12).normal(size=30))
    saddle = ob.m_estimator(psi=lambda t, x: jnp.stack([t[0] - x, x - t[1]], axis=1), init=2).prepared(data)
    expected = np.repeat(ob.mean.prepared(data).influence()[0], 2, axis=1)
    np.testing.assert_allclose(saddle.influence()[0], expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"loss": lambda t, X, y: squares(t, X, y).mean()}, StatisticError, r"one number per row.*got \(\).*Leave out"),
        ({"loss": lambda t, X, y: squares(t, X, y[:, None])}, StatisticError, r"got \(80, 80\).*`y\[:, 0\]`"),
        ({"loss": lambda t, X, y: X * t}, StatisticError, r"got \(80, 3\).*Sum over"),
        ({"loss": lambda t, X, y: jnp.log(X @ t)}, StatisticError, "finite at `init`.*in 80 row.* first in row 0"),
        ({"loss": lambda t, X, y: None}, InfluenceError, r"`loss` must return .*; got None: is a `return` missing\?$"),
        ({"penalty": lambda t: None}, InfluenceError, r"`penalty` must return .*; got None: is a `return` missing\?$"),
        ({"loss": lambda t, X, y: (y - float(t[0])) ** 2}, StatisticError, r"`loss` raised Conc.*without `float\(\)`"),
        (
            {"penalty": lambda t: jnp.asarray(t.tolist()[0]) ** 2},
            StatisticError,
            r"`loss` or `penalty` raised Conc.*`.tolist\(\)` on the way from the parameters",
        ),
        (
            {"loss": None, "psi": lambda t, X, y: X * float(t[0])},
            StatisticError,
            r"`psi` raised Conc.*without `float\(\)`",
        ),
        ({"init": 4}, StatisticError, r"`loss` raised TypeError.*shape \(4,\), \(80, 3\), \(80,\)"),
        ({"loss": lambda t, X, y: np.exp(t[0]) * y}, StatisticError, "one library, jax or torch"),
        ({"loss": lambda t, X, y: (squares(t, X, y), y)}, StatisticError, "one array of jax; got tuple"),
        ({"loss": lambda t, X, y: np.square(X @ t - y)}, InfluenceError, "`loss` must return arrays of jax"),
        ({"penalty": lambda t: np.exp(t).sum()}, InfluenceError, "`penalty` must return arrays of jax"),
        ({"target": lambda t: np.exp(t[0]) * t}, StatisticError, "`target` raised InfluenceError.*`jax.numpy`"),
        ({"loss": None, "psi": squares}, StatisticError, r"`psi` must return shape \(80, 3\).*got \(80,\)"),
        ({"penalty": lambda t: t}, StatisticError, r"`penalty` must return one finite number.*\[0.0, 0.0, 0.0\]"),
        ({"init": lambda X, y: np.ones((2, 2))}, ArgumentError, r"`init` must give finite numbers of shape \(p,\)"),
        ({"init": [np.inf]}, ArgumentError, "`init` must give finite numbers"),
        ({"init": ["start"]}, ArgumentError, "`init` must hold numbers"),
        ({"target": lambda t: 3.0}, InfluenceError, "`target` must return arrays of jax"),
        ({"target": lambda t: t[0] > 0}, InfluenceError, "`target` must return floating-point numbers"),
        ({"target": lambda t: jnp.sign(t[0])}, StatisticError, "`target` must depend smoothly"),
        ({"target": lambda t: jnp.sqrt(t[0] - t[0])}, StatisticError, "`target` must be differentiable at the fit"),
    ],
)
def test_functions_that_return_the_wrong_thing_are_explained(options, error, message):
    functional = ob.m_estimator(**{"loss": squares, "init": 3, "library": "jax", **options})
    with pytest.raises(error, match=message):
        ob.bootstrap(linear_data().arrays, functional, paired=True)


def _changing(theta: Any, X: Any, y: Any) -> Any:
    y *= 2
    return squares(theta, X, y)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"loss": _changing}, StatisticError, r"`loss` raised.* changed a sample in place.*`x = x.clone\(\)`"),
        (
            {"loss": lambda t, X, y: y * y.new_tensor(np.exp(t.numpy())).sum()},
            StatisticError,
            r"`loss` raised RuntimeError.*shape \(3,\), \(80, 3\), \(80,\), and must be written in.* one library",
        ),
        ({"penalty": lambda t: np.square(t.numpy()).sum()}, InfluenceError, "`penalty` must return arrays of torch"),
        ({"target": lambda t: t * float(t.numpy()[0])}, StatisticError, "`target` raised RuntimeError"),
        ({"loss": lambda t, X, y: (y - X.float() @ t) ** 2}, StatisticError, r"dtype.*double precision.*`.double\(\)`"),
        (
            {"penalty": lambda t: (t * 0).sum() + float(t.detach()[0]) ** 2},
            FitError,
            r"did not converge.*`float\(\)`, `int\(\)` or `.item\(\)` hide",
        ),
    ],
    ids=["in place", "loss in numpy", "penalty in numpy", "target in numpy", "single precision", "float"],
)
def test_functions_that_torch_cannot_differentiate_are_explained(options, error, message):
    pytest.importorskip("torch")
    functional = ob.m_estimator(**{"loss": squares, "init": 3, "library": "torch", **options})
    with pytest.raises(error, match=message):
        ob.bootstrap(linear_data().arrays, functional, paired=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": None}, "either `loss`, to minimise, or `psi`.*got neither"),
        ({"psi": squares}, "either `loss`, to minimise, or `psi`.*got both"),
        ({"loss": "squares"}, "`loss` must be a function; got 'squares'"),
        ({"target": 0}, "`target` must be a function; got 0"),
        ({"init": None}, "`init` must be an array.*got None"),
        ({"init": 0.5}, r"got 0.5. For one parameter that starts at 0.5 write `init=\[0.5\]`"),
        ({"init": True}, "`init` must be an array.*got True"),
        ({"init": 0}, "`init` must be a whole number of at least 1"),
        ({"init": [[1.0]]}, "`init` must be an array"),
        ({"solver": "qr"}, "`solver` must be one of 'cholesky', 'lu', 'cg'; got 'qr'"),
        ({"loss": None, "psi": squares, "solver": "cg"}, '`solver` must be "lu" for `psi`'),
        ({"library": "numpy"}, '`library` must be "jax" or "torch"; got \'numpy\''),
    ],
)
def test_arguments_keep_their_rules(options, message):
    with pytest.raises(ArgumentError, match=message):
        ob.m_estimator(**{"loss": squares, "init": 3, **options})


def test_independent_samples_are_refused():
    X, y = linear_data().arrays
    with pytest.raises(DataError, match="2 independent samples.*`paired=True`"):
        ob.bootstrap((X, y), ob.m_estimator(squares, init=3))


def test_without_a_library_the_message_names_the_extra(monkeypatch):
    monkeypatch.setattr(selection, "find_spec", lambda name: None)
    monkeypatch.setattr(selection, "autodiff", selection.autodiff.__wrapped__)
    with pytest.raises(MissingDependencyError, match=r'"jax" is not installed.*orthoboot\[jax\]'):
        ob.m_estimator(squares, init=3, library="jax")(*linear_data().arrays)
