"""Third derivatives of the losses of rows, against differences of their second ones."""

from __future__ import annotations

import numpy as np
import pytest

from orthoboot.functionals.regression.families import FAMILIES
from orthoboot.functionals.regression.row_losses import FamilyLoss, HuberLoss, MultinomialLoss, TweedieLoss

RNG = np.random.default_rng(11)
STEP = 1e-3

LINKS = [(name, link) for name, family in FAMILIES.items() for link in family.links]


def differences(loss, response, predictors, direction):
    """Return the derivative of the curvatures along a direction, to the fourth order of the step."""

    def change(step):
        ahead, behind = predictors + step * direction, predictors - step * direction
        return loss(response, ahead).curvature - loss(response, behind).curvature

    return (8 * change(STEP) - change(2 * STEP)) / (12 * STEP)


def check(loss, response, predictors):
    n, q = predictors.shape
    root = RNG.normal(size=(n, q, q))
    spread = root @ root.transpose(0, 2, 1)
    by_differences = [differences(loss, response, predictors, direction) for direction in np.eye(q)]
    expected = np.einsum("cjab,jbc->ja", by_differences, spread)
    found = loss.slope_bend(response, predictors, spread)
    # What the step leaves is its fourth power, times a derivative of seventh order of up to a hundred thousand.
    scale = np.abs(loss(response, predictors).curvature).max() * np.abs(spread).max()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * scale)


@pytest.mark.parametrize(("family", "link"), LINKS)
def test_those_of_a_family_are_the_slopes_of_its_curvatures(family, link):
    eta = RNG.uniform(0.3, 0.8, size=(40, 1))
    if family == "binomial":
        response = RNG.uniform(size=40)
        response[:10], response[10:20] = 0, 1
        eta = -eta if link == "log" else eta
    else:
        response = RNG.gamma(2.0, size=40)
    check(FamilyLoss(family, link), response, eta)


def test_rows_of_one_class_do_not_feel_the_other():
    # At probability one the logarithm of its complement has no derivative.
    assert FAMILIES["binomial"].third_derivative(np.ones(1), np.ones(1), "identity")[0] == -2


@pytest.mark.parametrize("log_link", [True, False])
@pytest.mark.parametrize("power", [0.0, 1.0, 1.5, 2.0, 3.0])
def test_those_of_tweedie_losses_are_the_slopes_of_their_curvatures(power, log_link):
    check(TweedieLoss(power, log_link), RNG.gamma(2.0, size=40), RNG.uniform(0.5, 2.0, size=(40, 1)))


def test_those_of_several_classes_are_the_slopes_of_their_curvatures():
    check(MultinomialLoss(), RNG.integers(0, 4, size=40).astype(float), RNG.normal(size=(40, 4)))


def test_a_loss_with_a_kink_in_its_slope_has_none():
    assert HuberLoss(1.35).slope_bend(np.ones(3), np.ones((3, 2)), np.ones((3, 2, 2))) is None
