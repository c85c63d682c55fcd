"""Losses of linear predictors: their derivatives, and where they have no minimum."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from orthoboot.errors import FitError
from orthoboot.functionals.regression.row_losses import (
    FamilyLoss,
    HuberLoss,
    LossFunction,
    MultinomialLoss,
    RowLosses,
    TweedieLoss,
)
from orthoboot.models.linear_loss import PenalisedLoss
from orthoboot.typing import FloatArray

RNG = np.random.default_rng(0)
N_ROWS = 40
POSITIVE = RNG.gamma(2.0, size=N_ROWS)
LABELS = RNG.integers(0, 3, size=N_ROWS).astype(float)
ETA, MEANS = RNG.normal(size=(N_ROWS, 1)), RNG.uniform(0.5, 2.0, size=(N_ROWS, 1))

LOSSES = {
    "squares": (FamilyLoss("gaussian", "identity"), POSITIVE, ETA),
    "logistic": (FamilyLoss("binomial", "logit"), np.minimum(LABELS, 1), ETA),
    "multinomial": (MultinomialLoss(), LABELS, RNG.normal(size=(N_ROWS, 3))),
    "huber": (HuberLoss(1.35), 3 * ETA[:, 0], np.column_stack([ETA[::-1], MEANS])),
    **{f"tweedie {p}, log": (TweedieLoss(p, log_link=True), POSITIVE, ETA) for p in (-1.0, 0.0, 1.0, 1.5, 2.0, 3.0)},
    **{f"tweedie {p}": (TweedieLoss(p, log_link=False), POSITIVE, MEANS) for p in (-1.0, 0.0, 1.0, 1.5, 2.0, 3.0)},
}


@pytest.mark.parametrize("name", LOSSES)
def test_slopes_and_curvatures_are_derivatives(name: str) -> None:
    loss, response, predictors = LOSSES[name]
    found, step = loss(response, predictors), 1e-5
    for k, direction in enumerate(np.eye(predictors.shape[1])):
        ahead, behind = (loss(response, predictors + sign * step * direction) for sign in (1, -1))
        np.testing.assert_allclose(found.slope[:, k], (ahead.value - behind.value) / (2 * step), rtol=1e-6, atol=1e-8)
        curvature = (ahead.slope - behind.slope) / (2 * step)
        np.testing.assert_allclose(found.curvature[:, k], curvature, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("loss", "predictors"),
    [(TweedieLoss(1.0, log_link=False), [[-0.5]]), (HuberLoss(1.35), [[0.0, -1.0]]), (HuberLoss(1.35), [[0.0, 0.0]])],
)
def test_impossible_predictors_lose_infinitely(loss: LossFunction, predictors: list[list[float]]) -> None:
    assert loss(np.ones(1), np.array(predictors)).value == np.inf


def ridge() -> PenalisedLoss:
    X = RNG.normal(size=(N_ROWS, 2))
    return PenalisedLoss(
        row_loss=FamilyLoss("gaussian", "identity"),
        response=POSITIVE,
        designs=(X,),
        quadratic=0.5 * np.eye(2),
        linear=np.zeros(2),
        names=("a", "b"),
        factors=np.ones(N_ROWS),
        free=np.ones(2, dtype=bool),
    )


def test_the_minimum_of_a_quadratic_loss_solves_the_normal_equations() -> None:
    loss, weights = ridge(), RNG.uniform(size=N_ROWS)
    (X,), shares = loss.designs, weights / weights.sum()
    expected = np.linalg.solve((X.T * shares) @ X + loss.quadratic, (X.T * shares) @ POSITIVE)
    np.testing.assert_allclose(loss.minimum(np.zeros(2), weights), expected, rtol=1e-12)
    np.testing.assert_allclose(loss.scores(expected).T @ shares, 0, atol=1e-14)


def test_held_parameters_stay_where_they_are() -> None:
    loss = dataclasses.replace(ridge(), free=np.array([True, False]))
    theta = loss.minimum(np.array([0.0, 7.0]), np.ones(N_ROWS))
    assert theta[1] == 7.0
    assert abs(loss.at(theta, np.ones(N_ROWS)).gradient[0]) < 1e-12


def test_a_change_of_sign_under_a_linear_penalty_is_no_minimum() -> None:
    loss, ones = ridge(), np.ones(N_ROWS)
    signs = np.sign(loss.minimum(np.zeros(2), ones))
    with pytest.raises(FitError, match="^a, b changed sign between the fit and the minimum"):
        dataclasses.replace(loss, linear=-1e-3 * signs).minimum(-signs, ones)


@pytest.mark.parametrize("size", [1e-3, 1e3])  # the parameters overflow, or the gradient does
def test_least_squares_that_overflow_blame_neither_newton_nor_classes(size: float) -> None:
    (X,) = ridge().designs
    loss = dataclasses.replace(
        ridge(), response=1.7e308 * np.sign(X[:, 0]), quadratic=np.zeros((2, 2)), designs=(size * X,)
    )
    with pytest.raises(FitError, match="^least squares overflowed: the columns or the response are too large; scale"):
        loss.minimum(np.zeros(2), np.ones(N_ROWS))


def test_separable_classes_have_no_minimum() -> None:
    X = np.linspace(-1, 1, N_ROWS)[:, np.newaxis]
    loss = dataclasses.replace(
        ridge(),
        row_loss=FamilyLoss("binomial", "logit"),
        response=(X[:, 0] > 0).astype(float),
        designs=(X,),
        quadratic=np.zeros((1, 1)),
        linear=np.zeros(1),
        names=("a",),
        free=np.ones(1, dtype=bool),
    )
    with pytest.raises(FitError, match="classes are separable|Hessian is singular"):
        loss.minimum(np.zeros(1), np.ones(N_ROWS))


def test_collinear_columns_are_named() -> None:
    loss = ridge()
    doubled = dataclasses.replace(loss, designs=(loss.designs[0][:, [0, 0]],), quadratic=np.zeros((2, 2)))
    with pytest.raises(FitError, match=r"the Hessian is singular.*(?:0\.71 a - 0\.71 b|0\.71 b - 0\.71 a)"):
        doubled.minimum(np.zeros(2), np.ones(N_ROWS))


def test_a_step_computes_the_losses_of_the_rows_once() -> None:
    """Four steps reach rounding from nearby, and one more evaluation looks at where they end."""
    calls: list[int] = []

    class Counted(FamilyLoss):
        def __call__(self, response: FloatArray, predictors: FloatArray) -> RowLosses:
            calls.append(len(response))
            return super().__call__(response, predictors)

    loss = dataclasses.replace(ridge(), row_loss=Counted("poisson", "log"))
    theta = loss.minimum(np.zeros(2), np.ones(N_ROWS))
    calls.clear()
    again = loss.minimum(theta + 1e-3, np.ones(N_ROWS))
    assert len(calls) <= 5
    np.testing.assert_allclose(again, theta, rtol=1e-14)
