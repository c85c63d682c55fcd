"""Losses of rows as functions of their linear predictors, with derivatives: many rows at once, each for itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import scipy

from orthoboot.functionals.regression.families import FAMILIES
from orthoboot.typing import FloatArray


class RowLosses(NamedTuple):
    """The loss of each row at its q predictors, with derivatives.

    `value` has shape ``(n,)``, `slope` ``(n, q)`` and `curvature` ``(n, q, q)``; a value is infinite where the
    predictors are not possible.
    """

    value: FloatArray
    slope: FloatArray
    curvature: FloatArray


class LossFunction(ABC):
    """A loss of rows as a function of their predictors.

    Attributes
    ----------
    linear_in_response
        Whether its slope is linear in the response, a number.
    """

    linear_in_response: ClassVar[bool] = False

    @property
    def is_quadratic(self) -> bool:
        """Return whether it is quadratic in the predictors, so that its minimum solves linear equations."""
        return False

    @abstractmethod
    def __call__(self, response: FloatArray, predictors: FloatArray) -> RowLosses:
        """Return the losses of responses ``(n,)`` at predictors ``(n, q)``."""

    def slope_bend(self, response: FloatArray, predictors: FloatArray, spread: FloatArray) -> FloatArray | None:
        """Return ``sum_bc l'''_abc S_bc`` for covariances S of the predictors, shape ``(n, q)``.

        Twice the mean change of second order of the slopes where the predictors vary by S. None where there is no third
        derivative.

        Parameters
        ----------
        spread
            S for each row, shape ``(n, q, q)``.
        """
        return None


@dataclass(frozen=True)
class FamilyLoss(LossFunction):
    """Minus the log-likelihood of a family of `glm`, with one predictor per row."""

    family: str
    link: str
    linear_in_response = True

    @property
    def is_quadratic(self) -> bool:
        """Return whether these are squares."""
        return (self.family, self.link) == ("gaussian", "identity")

    def __call__(self, response: FloatArray, predictors: FloatArray) -> RowLosses:
        """Return the losses that the catalogue's own regressions minimise."""
        losses = FAMILIES[self.family].losses(response, predictors[:, 0], self.link)
        return _of_one_predictor(losses.value, losses.slope, losses.curvature)

    def slope_bend(self, response: FloatArray, predictors: FloatArray, spread: FloatArray) -> FloatArray:
        """Return the third derivatives times the variances of the predictors."""
        third = FAMILIES[self.family].third_derivative(response, predictors[:, 0], self.link)
        return third[:, np.newaxis] * spread[:, 0]


@dataclass(frozen=True)
class TweedieLoss(LossFunction):
    r"""Half the Tweedie deviance of a power p, but for what does not depend on the mean :math:`\mu`.

    .. math:: \ell'(\mu) = \mu^{1-p} - y \mu^{-p},

    so that p = 1 is Poisson's and p = 2 the gamma distribution's.
    """

    power: float
    log_link: bool
    linear_in_response = True

    @property
    def is_quadratic(self) -> bool:
        """Return whether these are squares: those of the power 0."""
        return not self.power and not self.log_link

    def __call__(self, response: FloatArray, predictors: FloatArray) -> RowLosses:
        """Return the losses at the logarithms of the means, or at the means."""
        at = self._at_logarithms if self.log_link else self._at_means
        with np.errstate(all="ignore"):  # far from the minimum numbers overflow, and the value says so
            value, slope, curvature = at(response, predictors[:, 0])
        return _of_one_predictor(np.where(np.isnan(value), np.inf, value), slope, curvature)

    def slope_bend(self, response: FloatArray, predictors: FloatArray, spread: FloatArray) -> FloatArray:
        """Return the third derivatives times the variances of the predictors."""
        with np.errstate(all="ignore"):
            third = self._third_derivative(response, predictors[:, 0])
        return third[:, np.newaxis] * spread[:, 0]

    def _third_derivative(self, y: FloatArray, predictor: FloatArray) -> FloatArray:
        upper, lower = 2 - self.power, 1 - self.power
        if self.log_link:
            return upper**2 * np.exp(upper * predictor) - lower**2 * y * np.exp(lower * predictor)
        if not self.power:
            return np.zeros_like(predictor)
        return -self.power * predictor ** (-self.power - 2) * (lower * predictor + (self.power + 1) * y)

    def _at_logarithms(self, y: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        upper, lower = 2 - self.power, 1 - self.power
        own, crossed = np.exp(upper * eta), y * np.exp(lower * eta)
        value = (own / upper if upper else eta) - (crossed / lower if lower else y * eta)
        return value, own - crossed, upper * own - lower * crossed

    def _at_means(self, y: FloatArray, mean: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        if not self.power:  # least squares, where means below zero are possible too
            return (mean - y) ** 2 / 2, mean - y, np.ones_like(mean)
        upper, lower = 2 - self.power, 1 - self.power
        own = mean**upper / upper if upper else np.log(mean)
        crossed = mean**lower / lower if lower else np.log(mean)
        slope = mean**lower - y * mean**-self.power
        curvature = lower * mean**-self.power + self.power * y * mean ** (-self.power - 1)
        return np.where(mean > 0, own - y * crossed, np.inf), slope, curvature


@dataclass(frozen=True)
class MultinomialLoss(LossFunction):
    """Minus the logarithm of the probability of a row's class, one predictor for each class.

    The response is the number of the class.
    """

    def __call__(self, response: FloatArray, predictors: FloatArray) -> RowLosses:
        """Return the losses at the logits of the classes."""
        rows, own = np.arange(len(response)), response.astype(np.intp)
        probabilities = scipy.special.softmax(predictors, axis=1)
        slope = probabilities.copy()
        slope[rows, own] -= 1
        curvature = -probabilities[:, :, np.newaxis] * probabilities[:, np.newaxis, :]
        diagonal = np.arange(predictors.shape[1])
        curvature[:, diagonal, diagonal] += probabilities
        return RowLosses(scipy.special.logsumexp(predictors, axis=1) - predictors[rows, own], slope, curvature)

    def slope_bend(self, response: FloatArray, predictors: FloatArray, spread: FloatArray) -> FloatArray:
        r"""Return :math:`p_a (S_{aa} - 2 (Sp)_a + 2 p'Sp - \sum_b p_b S_{bb})`, p the probabilities."""
        p = scipy.special.softmax(predictors, axis=1)
        variances = np.einsum("jaa->ja", spread)
        along = np.einsum("jab,jb->ja", spread, p)
        common = 2 * (along * p).sum(axis=1) - (variances * p).sum(axis=1)
        bend: FloatArray = p * (variances - 2 * along + common[:, np.newaxis])
        return bend


@dataclass(frozen=True)
class HuberLoss(LossFunction):
    r"""Huber's loss with a scale to be estimated: the predictors are the mean and the scale :math:`\sigma`.

    .. math:: \sigma + \sigma H_\epsilon(z), \quad z = (y - \mu)/\sigma, \quad H_\epsilon(z) = z^2
              \text{ for } |z| \le \epsilon, \text{ else } 2\epsilon|z| - \epsilon^2.
    """

    epsilon: float

    def __call__(self, response: FloatArray, predictors: FloatArray) -> RowLosses:
        """Return the losses; they are infinite where the scale is not positive."""
        mean, given_scale = predictors.T
        possible = given_scale > 0
        scale = np.where(possible, given_scale, 1.0)
        z = (response - mean) / scale
        clipped = np.clip(z, -self.epsilon, self.epsilon)
        value = np.where(possible, scale * (1 + clipped * (2 * z - clipped)), np.inf)
        slope = np.stack([-2 * clipped, 1 - clipped**2], axis=1)
        direction = np.stack([np.ones_like(z), z], axis=1) * (np.abs(z) <= self.epsilon)[:, np.newaxis]
        curvature = direction[:, :, np.newaxis] * direction[:, np.newaxis, :] * (2 / scale)[:, np.newaxis, np.newaxis]
        return RowLosses(value, slope, curvature)


def _of_one_predictor(value: FloatArray, slope: FloatArray, curvature: FloatArray) -> RowLosses:
    return RowLosses(value, slope[:, np.newaxis], curvature[:, np.newaxis, np.newaxis])
