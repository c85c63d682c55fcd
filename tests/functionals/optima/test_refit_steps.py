"""The first Newton steps of M-estimators stand for their refits, in both libraries."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.written_functions import (
    normal_equations,
    ridge_penalty,
    square_and_second,
    squares,
    squares_and_fourth_powers,
)

import orthoboot as ob
from orthoboot.controls import selection
from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.functionals.optima import refit_steps
from orthoboot.functionals.optima.refit_steps import RefitSteps
from orthoboot.optimisation.first_steps import ends_of_first_steps
from orthoboot.typing import FloatArray
from orthoboot.warning_scopes import silenced

N = 80
RNG = np.random.default_rng(70)
X = RNG.normal(size=(N, 3))
NUMBERS = X @ [1.0, -2.0, 0.5] + RNG.standard_t(4, size=N)
CLASSES = (RNG.random(N) < 1 / (1 + np.exp(-X @ [0.8, -0.5, 0.3]))).astype(float)
COUNTS = RNG.poisson(np.exp(X @ [0.4, -0.3, 0.2])).astype(float)
WEIGHTS = RNG.multinomial(N, np.full(N, 1 / N), size=30).astype(float)

Loss = Callable[[Any, Any, Any], Any]


def logistic(library: str) -> Loss:
    softplus = import_module("jax.nn" if library == "jax" else "torch.nn.functional").softplus
    return lambda theta, X, y: softplus(X @ theta) - y * (X @ theta)


def poisson(library: str) -> Loss:
    exp = import_module("jax.numpy" if library == "jax" else library).exp
    return lambda theta, X, y: exp(X @ theta) - y * (X @ theta)


def score(library: str) -> Loss:
    """The derivative of the logistic loss by the parameters."""
    sigmoid = import_module("jax.nn" if library == "jax" else library).sigmoid
    return lambda theta, X, y: X * (sigmoid(X @ theta) - y)[:, None]


def prepared(y: FloatArray, library: str, columns: FloatArray = X, **options: Any) -> Any:
    functional = ob.m_estimator(init=columns.shape[1], library=library, **options)
    return functional.prepared(read((columns, y), paired=True))


def relative_errors(at: Any, weights: FloatArray = WEIGHTS) -> FloatArray:
    """Return the differences from the refits, in standard deviations of each output."""
    resamples = Resamples((weights,))
    refits, steps = at.values(resamples), at.surrogate.values(resamples)
    assert steps.shape == refits.shape
    return np.asarray((steps - refits) / refits.std(axis=0))


QUADRATIC: dict[str, dict[str, Any]] = {
    "loss": {"loss": squares},
    "penalised": {"loss": squares, "penalty": ridge_penalty},
    "equations": {"psi": normal_equations},
    "penalised equations": {"psi": normal_equations, "penalty": ridge_penalty},
    "targets": {"loss": squares, "penalty": ridge_penalty, "target": square_and_second},
}


@pytest.mark.parametrize("name", QUADRATIC)
def test_of_quadratic_losses_one_step_is_the_refit(library: str, name: str) -> None:
    at = prepared(NUMBERS, library, **QUADRATIC[name])
    shares = WEIGHTS / N
    ends = ends_of_first_steps(
        lambda points, numbers: at.conditions.steps(points, shares[numbers]), at.fit, len(shares), n_steps=1, most=1
    )
    expected = at.values(Resamples((WEIGHTS,)))
    np.testing.assert_allclose(at.target.values(ends), expected, rtol=1e-9, atol=1e-11)
    assert np.abs(relative_errors(at)).max() < 1e-9


@pytest.mark.parametrize(
    "options",
    [
        lambda library: {"loss": logistic(library), "y": CLASSES},
        lambda library: {"loss": poisson(library), "y": COUNTS},
        lambda library: {"loss": logistic(library), "y": CLASSES, "penalty": ridge_penalty},
        lambda library: {"loss": logistic(library), "y": CLASSES, "target": square_and_second},
        lambda library: {"psi": score(library), "y": CLASSES},
        lambda library: {"loss": squares_and_fourth_powers, "y": NUMBERS},
    ],
    ids=["logistic", "poisson", "penalised", "targets", "equations", "fourth powers"],
)
def test_of_other_losses_it_is_close_to_the_refit(library: str, options: Callable[[str], dict[str, Any]]) -> None:
    errors = relative_errors(prepared(library=library, **options(library)))
    assert np.sqrt(np.mean(errors**2)) < 0.005


def test_rows_of_weight_zero_are_rows_left_out(library: str) -> None:
    weights = WEIGHTS[:4]
    at = prepared(CLASSES, library, loss=logistic(library), penalty=ridge_penalty)
    found = at.surrogate.values(Resamples((weights,)))
    for own, value in zip(weights, found, strict=True):
        drawn = np.repeat(np.arange(N), own.astype(int))
        alone = prepared(CLASSES[drawn], library, X[drawn], loss=logistic(library), penalty=ridge_penalty)
        np.testing.assert_allclose(value, alone.estimate, rtol=1e-4, atol=1e-5)


def test_weights_count_by_their_ratios(library: str) -> None:
    """The penalty is not resampled: it stands beside the weighted mean of the losses, not their sum."""
    surrogate = prepared(CLASSES, library, loss=logistic(library), penalty=ridge_penalty).surrogate
    plain, tripled = (surrogate.values_at((factor * WEIGHTS[:5],)) for factor in (1.0, 3.0))
    np.testing.assert_allclose(tripled, plain, rtol=1e-10)


def test_few_hessians_are_held_at_once(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    surrogate = prepared(NUMBERS, library, loss=squares_and_fourth_powers).surrogate
    together = surrogate.values(Resamples((WEIGHTS,)))
    monkeypatch.setattr(refit_steps, "_HESSIANS_AT_ONCE", 7 * 3**2)
    np.testing.assert_allclose(surrogate.values(Resamples((WEIGHTS,))), together, rtol=1e-12)
    assert surrogate.values_at((WEIGHTS[:0],)).shape == (0, 3)


def test_a_resample_without_a_fit_has_no_value(library: str) -> None:
    weights = np.tile(WEIGHTS[0], (3, 1))
    weights[1] = np.where((X[:, 0] > 0) == CLASSES, WEIGHTS[0], 0.0)  # the first column tells the classes
    weights[2] = 0.0
    weights[2, :2] = N / 2
    found = prepared(CLASSES, library, loss=logistic(library)).surrogate.values(Resamples((weights,)))
    np.testing.assert_array_equal(np.isfinite(found).all(axis=1), [True, False, False])


def test_a_target_that_raises_has_no_value_there(torch: Any) -> None:
    """Torch runs it anew for every resample."""
    first = prepared(CLASSES, "torch", loss=logistic("torch")).surrogate.values(Resamples((WEIGHTS,)))[:, 0]
    largest = np.sort(first)[-3]

    def target(theta: Any) -> Any:
        if theta[0].detach() > largest:
            raise ValueError("too large")
        return theta[0]

    found = prepared(CLASSES, "torch", loss=logistic("torch"), target=target).surrogate.values(Resamples((WEIGHTS,)))
    np.testing.assert_array_equal(np.isfinite(found[:, 0]), first <= largest)


def test_there_is_none_where_steps_hold_no_hessian(library: str) -> None:
    assert prepared(NUMBERS, library, loss=squares, solver="cg").surrogate is None


def test_there_is_none_where_the_loss_takes_one_point_at_a_time(library: str) -> None:
    def bent(theta: Any, X: Any, y: Any) -> Any:
        return squares(theta, X, y) if theta[0] > -100 else squares(theta, X, y) ** 2

    at = prepared(NUMBERS, library, loss=bent)
    assert at.surrogate is None
    with silenced():
        assert ob.bootstrap((X, NUMBERS), at.functional, paired=True, n_resamples=2, rng=0).control == "linear"
    with pytest.raises(ob.errors.ArgumentError, match="has no surrogate"):
        ob.bootstrap((X, NUMBERS), at.functional, paired=True, rng=0, control="surrogate")


def test_it_survives_pickle_without_what_is_compiled(library: str) -> None:
    at = prepared(NUMBERS, library, loss=squares_and_fourth_powers, target=square_and_second)
    expected = at.surrogate.values(Resamples((WEIGHTS,)))
    for copied in (pickle.loads(pickle.dumps(at.surrogate)), pickle.loads(pickle.dumps(at)).surrogate):
        assert "conditions" not in vars(copied.at)
        np.testing.assert_allclose(copied.values(Resamples((WEIGHTS,))), expected, rtol=1e-12)


# As a control


def result_of(functional: Any, y: FloatArray = CLASSES, **options: Any) -> Any:
    with silenced():
        return ob.bootstrap((X, y), functional, paired=True, **{"n_resamples": 10, "rng": 0, **options})


def test_refits_go_one_by_one_so_that_it_is_the_default(library: str) -> None:
    functional = ob.m_estimator(logistic(library), init=3, penalty=ridge_penalty)
    result = result_of(functional)
    assert (result.control, result.run.control.probes.contradicted.any()) == ("surrogate", False)
    assert 2000 <= len(result.run.control.draws.linear) <= 8000
    assert np.min(result.r_squared) > 0.9999
    assert result_of(functional, control="linear").control == "linear"


def test_jobs_pickle_and_more_replicates_change_nothing(library: str) -> None:
    functional = ob.m_estimator(squares_and_fourth_powers, init=3, library=library)
    alone = result_of(functional, NUMBERS)
    np.testing.assert_array_equal(result_of(functional, NUMBERS).variance, alone.variance)
    np.testing.assert_allclose(result_of(functional, NUMBERS, n_jobs=2).variance, alone.variance, rtol=1e-9)
    more, at_once = pickle.loads(pickle.dumps(alone)).extend(2), result_of(functional, NUMBERS, n_resamples=12)
    np.testing.assert_allclose(more.variance, at_once.variance, rtol=1e-9)


def test_a_draw_that_costs_as_much_as_a_refit_is_not_worth_it() -> None:
    """A refit of 1,000 rows and ten parameters takes as long as ten draws; of 5,000 and twenty as one."""

    def draws(n: int, p: int) -> float:
        at = SimpleNamespace(conditions=SimpleNamespace(arrays=(np.zeros((n, p)),)), fit=np.zeros(p))
        return selection._MOST_WORK / RefitSteps(at).work  # type: ignore[arg-type]

    assert draws(200, 5) > selection._DRAWS
    assert selection._FEWEST_DRAWS < draws(1000, 10) < selection._DRAWS
    assert draws(5000, 20) < selection._FEWEST_DRAWS


@pytest.mark.parametrize("seed", [401, pytest.param(402, marks=pytest.mark.slow)])
def test_ten_refits_beat_those_with_the_linear_part(jax: Any, seed: int) -> None:
    """Against 5,000 refits of the same model, which the catalogue makes together; the data chose nothing."""
    generator = np.random.default_rng(seed)
    columns = generator.standard_normal((100, 4))
    y = (generator.random(100) < 1 / (1 + np.exp(-columns.sum(axis=1) / 2))).astype(float)
    options = {"paired": True, "rng": seed}
    with silenced():
        truth = ob.bootstrap(
            (columns, y), ob.logistic_regression, n_resamples=5000, estimator="standard", **options
        ).variance
        functional = ob.m_estimator(logistic("jax"), init=4)
        errors = {}
        for control in ("linear", "surrogate"):
            result = ob.bootstrap((columns, y), functional, n_resamples=60, control=control, **options)
            parts = [result.with_estimator("orthogonal", slice(start, start + 10)) for start in range(0, 60, 10)]
            errors[control] = np.sqrt(np.mean([(part.variance / truth - 1) ** 2 for part in parts]))
    # The truth has an error of .02, and 2000 draws leave about as much.
    assert errors["surrogate"] < 0.05
    assert errors["surrogate"] < 0.5 * errors["linear"]


def test_a_small_network_keeps_the_linear_part(jax: Any) -> None:
    """Newton steps leave the region where its loss is convex: too many find no minimum, which a few draws show."""
    tanh = jax.numpy.tanh

    def network(theta: Any, X: Any, y: Any) -> Any:
        return (y - tanh(X[:, :2] @ theta[:4].reshape(2, 2) + theta[4:6]) @ theta[6:8] - theta[8]) ** 2

    generator = np.random.default_rng(1)
    y = np.sin(X[:, 0]) + X[:, 1] ** 2 / 2 + 0.3 * generator.standard_normal(N)
    functional = ob.m_estimator(
        network,
        init=generator.standard_normal(9),
        penalty=lambda theta: 0.01 * (theta**2).sum(),
        target=lambda theta: tanh(theta[4:6]) @ theta[6:8] + theta[8],
    )
    assert result_of(functional, y).control == "linear"


def test_a_traced_loss_that_cannot_be_vectorised_keeps_the_linear_part():
    jax = pytest.importorskip("jax")

    @jax.custom_jvp
    def softplus(u):
        return jax.pure_callback(lambda v: np.logaddexp(0, np.asarray(v)), jax.ShapeDtypeStruct(u.shape, u.dtype), u)

    softplus.defjvp(lambda primals, tangents: (softplus(*primals), jax.nn.sigmoid(primals[0]) * tangents[0]))
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] + rng.normal(size=40) > 0).astype(float)
    statistic = ob.m_estimator(lambda t, X, y: softplus(X @ t) - y * (X @ t), init=2, penalty=lambda t: 0.01 * t @ t)
    result = ob.bootstrap((X, y), statistic, paired=True, n_resamples=5, rng=0)
    assert result.control == "linear"
