"""The Newton steps of many resamples at once against loops over rows, and against the refits that they stand for."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.functionals import glm, linear_regression, logistic_regression
from orthoboot.functionals.regression import newton_surrogate
from orthoboot.functionals.regression.newton_surrogate import CrossProductsOfMany, NewtonSurrogate
from orthoboot.functionals.regression.row_losses import (
    FamilyLoss,
    HuberLoss,
    LossFunction,
    MultinomialLoss,
    TweedieLoss,
)
from orthoboot.functionals.surrogate import LinearOutputs, Surrogate
from orthoboot.optimisation import first_steps
from orthoboot.typing import FloatArray

RNG = np.random.default_rng(14)
N = 60
X = RNG.uniform(-1.0, 1.0, size=(N, 3))
DESIGN = np.column_stack([np.ones(N), X])
ETA = 1.0 + X @ [0.4, -0.3, 0.2]
CLASSES = (RNG.random(N) < 1 / (1 + np.exp(-ETA / 2))).astype(float)
COUNTS = RNG.poisson(np.exp(ETA)).astype(float)
TIMES = RNG.gamma(4.0, 0.25 * ETA)
LABELS = RNG.integers(0, 3, N).astype(float)
ONES = np.ones((N, 1))
SCALED = (DESIGN, ONES)

LOSSES: dict[str, tuple[LossFunction, FloatArray, tuple[FloatArray, ...]]] = {
    "squares": (FamilyLoss("gaussian", "identity"), TIMES, (DESIGN,)),
    "logistic": (FamilyLoss("binomial", "logit"), CLASSES, (DESIGN,)),
    "probit": (FamilyLoss("binomial", "probit"), CLASSES, (DESIGN,)),
    "cloglog": (FamilyLoss("binomial", "cloglog"), CLASSES, (DESIGN,)),
    "poisson": (FamilyLoss("poisson", "log"), COUNTS, (DESIGN,)),
    "gamma": (FamilyLoss("gamma", "inverse"), TIMES, (DESIGN,)),
    "gamma, log": (FamilyLoss("gamma", "log"), TIMES, (DESIGN,)),
    "inverse gaussian": (FamilyLoss("inverse_gaussian", "log"), TIMES, (DESIGN,)),
    "tweedie": (TweedieLoss(1.5, log_link=True), TIMES, (DESIGN,)),
    "multinomial": (MultinomialLoss(), LABELS, (DESIGN,) * 3),
    "huber": (HuberLoss(1.35), TIMES, SCALED),
}


def draws(n: int, number: int, seed: int = 3) -> FloatArray:
    return np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=number).astype(float)


def surrogate_of(name: str, free: FloatArray | None = None, scales: Any = None) -> NewtonSurrogate:
    """Return a surrogate with a penalty in it, which starts where its loss has its minimum."""
    row_loss, response, designs = LOSSES[name]
    p = sum(design.shape[1] for design in designs)
    generator = np.random.default_rng(p)
    root = generator.normal(size=(p, p))
    start = np.concatenate([np.zeros(design.shape[1]) for design in designs])
    start[0] = 1.0
    if name == "huber":
        start[-1] = 1.0
    is_free = np.ones(p, dtype=bool) if free is None else free.astype(bool)
    unsettled = NewtonSurrogate(
        row_loss=row_loss,
        response=response,
        designs=designs,
        factors=generator.uniform(0.5, 2.0, N),
        quadratic=0.01 * root @ root.T + 0.01 * np.eye(p),
        linear=0.01 * generator.normal(size=p),
        free=is_free,
        start=start,
        outputs=LinearOutputs(np.eye(p), np.zeros(p)),
        penalised_scales=scales,
    )
    return replace(unsettled, start=minimum_of(unsettled))


def minimum_of(surrogate: NewtonSurrogate) -> FloatArray:
    """Return the fit of all rows by a search that takes no derivatives from anybody."""
    ends = np.cumsum([design.shape[1] for design in surrogate.designs])[:-1]
    scales = surrogate.penalised_scales or (lambda weights: np.ones((1, len(surrogate.start))))
    scale = scales(np.ones((1, N)))[0]

    def whole(part: FloatArray) -> FloatArray:
        theta = surrogate.start.copy()
        theta[surrogate.free] = part
        return theta

    def height(part: FloatArray) -> float:
        theta = whole(part)
        parts = zip(np.split(theta, ends), surrogate.designs, strict=True)
        predictors = np.stack([design @ own for own, design in parts], axis=1)
        losses = surrogate.row_loss(surrogate.response, predictors).value
        penalised = scale * theta
        penalty = penalised @ surrogate.quadratic @ penalised / 2 + surrogate.linear @ penalised
        return float(np.mean(surrogate.factors * losses) + penalty)

    return whole(optimize.minimize(height, surrogate.start[surrogate.free]).x)


def literal_steps(surrogate: NewtonSurrogate, weights: FloatArray, n_steps: int) -> FloatArray:
    """Return where Newton steps end, row after row and resample after resample."""
    return np.array([_literal_steps(surrogate, own, n_steps) for own in weights])


def _literal_steps(surrogate: NewtonSurrogate, weights: FloatArray, n_steps: int) -> FloatArray:
    theta, p = surrogate.start.copy(), len(surrogate.start)
    widths = [design.shape[1] for design in surrogate.designs]
    scales = np.ones(p) if surrogate.penalised_scales is None else surrogate.penalised_scales(weights[np.newaxis])[0]
    quadratic, linear = np.outer(scales, scales) * surrogate.quadratic, scales * surrogate.linear
    for _ in range(n_steps):
        gradient, hessian = quadratic @ theta + linear, quadratic.copy()
        for j in np.flatnonzero(weights):
            # The row of each predictor, with zeros at the places of the parameters of the others.
            rows = np.zeros((len(widths), p))
            for k, design in enumerate(surrogate.designs):
                start = sum(widths[:k])
                rows[k, start : start + widths[k]] = design[j]
            _, slope, curvature = surrogate.row_loss(surrogate.response[j : j + 1], (rows @ theta)[np.newaxis])
            share = weights[j] / weights.sum() * surrogate.factors[j]
            gradient += share * rows.T @ slope[0]
            hessian += share * rows.T @ curvature[0] @ rows
        free = surrogate.free
        theta[free] -= np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
    return theta


@pytest.fixture
def no_fourth_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_steps, "SHRINKING", np.inf)


@pytest.mark.usefixtures("no_fourth_step")
@pytest.mark.parametrize("name", LOSSES)
def test_steps_are_those_of_loops_over_the_rows(name: str) -> None:
    surrogate, weights = surrogate_of(name), draws(N, 8)
    assert surrogate.n_steps == (1 if name == "squares" else 3)
    expected = literal_steps(surrogate, weights, surrogate.n_steps)
    np.testing.assert_allclose(surrogate.values(Resamples((weights,))), expected, rtol=1e-9, atol=1e-11)


@pytest.mark.usefixtures("no_fourth_step")
@pytest.mark.parametrize("name", ["logistic", "huber", "multinomial"])
def test_parameters_that_are_not_free_stay_and_penalties_may_be_rescaled(name: str) -> None:
    free = np.ones(len(surrogate_of(name).start))
    free[1] = 0
    surrogate, weights = surrogate_of(name, free, partial(_scales, len(free))), draws(N, 8)
    values = surrogate.values(Resamples((weights,)))
    np.testing.assert_allclose(values, literal_steps(surrogate, weights, 3), rtol=1e-9, atol=1e-11)
    assert (values[:, 1] == surrogate.start[1]).all()


def _scales(p: int, weights: FloatArray) -> FloatArray:
    return 1 + weights[:, :p] / 10


def test_a_long_table_of_products_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = draws(N, 4)
    short = [CrossProductsOfMany(*pair)(weights) for pair in ((DESIGN, DESIGN), (DESIGN, ONES))]
    monkeypatch.setattr(newton_surrogate, "_LARGEST_TABLE", 1)
    long = [CrossProductsOfMany(*pair)(weights) for pair in ((DESIGN, DESIGN), (DESIGN, ONES))]
    for one, other in zip(short, long, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)


def data_of(family: str, n: int, d: int, seed: int) -> tuple[FloatArray, FloatArray]:
    generator = np.random.default_rng(seed)
    columns = generator.standard_normal((n, d))
    eta = columns @ generator.standard_normal(d) / np.sqrt(d)
    if family == "binomial":
        return columns, (generator.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
    return columns, generator.poisson(np.exp(eta / 2)).astype(float)


def at(statistic: Any, *arrays: Any) -> Any:
    return statistic.prepared(read(arrays, paired=True))


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_the_variance_of_two_thousand_draws_is_that_of_the_refits(family: str) -> None:
    errors = []
    for seed in range(3):
        prepared = at(glm(family), *data_of(family, 200, 5, seed))
        resamples = Resamples((draws(200, 2000, seed),))
        steps, refits = prepared.surrogate.values(resamples), prepared.values(resamples)
        errors.append(steps.var(axis=0) / refits.var(axis=0) - 1)
    # On the same draws: what the number of draws leaves open is the same for both. The issue asks for 0.02.
    assert np.sqrt(np.mean(np.square(errors))) < 0.002


def test_units_of_columns_do_not_matter() -> None:
    columns, response = data_of("binomial", 100, 3, 0)
    resamples, units = Resamples((draws(100, 20),)), np.array([1e-6, 1.0, 1e8])
    steps = at(logistic_regression, columns, response).surrogate.values(resamples)
    scaled = at(logistic_regression, columns * units, response).surrogate.values(resamples)
    np.testing.assert_allclose(scaled * units, steps, rtol=1e-10)


def test_case_weights_count_as_in_the_refits() -> None:
    columns, response = data_of("poisson", 150, 3, 1)
    prepared = at(glm("poisson", intercept=True), columns, response, RNG.uniform(0.5, 3.0, 150))
    resamples = Resamples((draws(150, 20),))
    refits = prepared.values(resamples)
    assert np.all(np.abs(prepared.surrogate.values(resamples) - refits) < 1e-3 * refits.std(axis=0))


def test_separated_resamples_have_no_value_and_the_others_do_not_feel_it() -> None:
    x = np.linspace(-1.0, 1.0, 40)
    response = (x > 0).astype(float)
    response[[3, 36]] = 1 - response[[3, 36]]
    prepared = at(logistic_regression.replace(intercept=True), x, response)
    weights = draws(40, 30)
    weights[:, 3] += 1
    weights[:5, [3, 36]] = 0  # separated
    weights[5:8] *= response == 1  # one class alone
    weights[8] = np.where(np.arange(40) == 20, 40.0, 0.0)  # one row alone
    surrogate = prepared.surrogate
    together = surrogate.values(Resamples((weights,)))
    failed = ~np.isfinite(together).all(axis=1)
    refits_fail = ~prepared.evaluate(Resamples((weights,))).succeeded
    assert refits_fail[:9].all()
    assert failed[:9].all()
    alone = np.vstack([surrogate.values(Resamples((one[np.newaxis],))) for one in weights])
    np.testing.assert_allclose(alone, together, rtol=1e-10)


def test_a_row_that_is_not_drawn_may_have_no_possible_mean() -> None:
    # The last row holds the slope near zero; without it the slope is so negative that the row's mean would be, too.
    x = np.append(np.linspace(-1.0, 1.0, N - 1), 40.0)
    response = np.append(np.round(10 - 3 * x[:-1]), 10.0)
    prepared = at(glm("poisson", "identity", intercept=True), x, response)
    weights = draws(N, 30)
    weights[:, -1] = 0
    refits = prepared.values(Resamples((weights,)))
    assert (refits @ [1.0, 40.0] < 0).all()
    np.testing.assert_allclose(prepared.surrogate.values(Resamples((weights,))), refits, rtol=0, atol=1e-3)


def test_it_can_be_pickled_and_many_draws_are_held_in_parts() -> None:
    surrogate = at(glm("poisson"), *data_of("poisson", 100, 2, 0)).surrogate
    weights = draws(100, 300)
    values = surrogate.values(Resamples((weights,)))
    copied = pickle.loads(pickle.dumps(surrogate))
    np.testing.assert_array_equal(copied.values(Resamples((weights,))), values)
    assert len(pickle.dumps(surrogate)) < 20_000

    class Counted(Surrogate):
        weights_at_once = 1000
        largest, work = 0, 1.0

        def values_at(self, weights: tuple[FloatArray, ...]) -> FloatArray:
            self.largest = max(self.largest, weights[0].size)
            return weights[0][:, :1]

    counted = Counted()
    np.testing.assert_array_equal(counted.values(Resamples((weights,))), weights[:, :1])
    assert counted.largest == 1000


def test_the_work_grows_with_rows_columns_and_steps() -> None:
    small, long, wide = (at(glm("poisson"), *data_of("poisson", *size, 0)).surrogate for size in SIZES)
    assert 9 * small.work < long.work < 11 * small.work
    assert wide.work > 2 * small.work
    assert at(glm("gaussian"), *data_of("poisson", *SIZES[0], 0)).surrogate.work == pytest.approx(small.work / 3)


SIZES = [(100, 2), (1000, 2), (100, 12)]


def test_least_squares_needs_none_and_an_exact_fit_has_none() -> None:
    columns, response = data_of("poisson", 50, 2, 0)
    assert at(linear_regression, columns, response).surrogate is None
    assert at(glm("gaussian"), columns, columns @ [1.0, 2.0]).surrogate is None
