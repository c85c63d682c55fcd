"""The families and links of generalised linear models, with the loss of a row and its derivatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from orthoboot.typing import BoolArray, FloatArray

Curve = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""A function of the linear predictor with its first three derivatives, each of shape ``(n,)``."""

_AT_THE_EDGE = 1e-8
"""Fitted probabilities, or means as a share of their own mean, this close to the edge have left the data behind."""


_FINITE_END = 2.0
"""Larger than the linear predictors at which links end, smaller than those of probabilities at the edge."""


@dataclass(frozen=True)
class MeanLink:
    """The linear predictor as a function of the mean, and the mean as a curve in the linear predictor."""

    predictor: Callable[[FloatArray], FloatArray]
    mean: Callable[[FloatArray], Curve]


@dataclass(frozen=True)
class ProbabilityLink:
    """The same for a probability, given by its logarithm and that of its complement: neither rounds to one.

    Attributes
    ----------
    predictor
        The linear predictor as a function of the probability.
    log_probability, log_complement
        Curves in the linear predictor.
    """

    predictor: Callable[[FloatArray], FloatArray]
    log_probability: Callable[[FloatArray], Curve]
    log_complement: Callable[[FloatArray], Curve]


def _identity(eta: FloatArray) -> Curve:
    zeros = np.zeros_like(eta)
    return eta, np.ones_like(eta), zeros, zeros


def _exponential(eta: FloatArray) -> Curve:
    mean = np.exp(eta)
    return mean, mean, mean, mean


def _reciprocal(eta: FloatArray) -> Curve:
    mean = 1 / eta
    return mean, -(mean**2), 2 * mean**3, -6 * mean**4


def _reciprocal_root(eta: FloatArray) -> Curve:
    mean = 1 / np.sqrt(eta)
    return mean, -(mean**3) / 2, 3 * mean**5 / 4, -15 * mean**7 / 8


MEAN_LINKS = {
    "identity": MeanLink(np.array, _identity),
    "log": MeanLink(np.log, _exponential),
    "inverse": MeanLink(np.reciprocal, _reciprocal),
    "inverse_squared": MeanLink(lambda mean: mean**-2.0, _reciprocal_root),
}


def _mirrored(curve: Callable[[FloatArray], Curve]) -> Callable[[FloatArray], Curve]:
    """Return the curve of ``-eta``: the complement under a link that is symmetric."""

    def mirrored(eta: FloatArray) -> Curve:
        value, slope, curvature, third = curve(-eta)
        return value, -slope, curvature, -third

    return mirrored


def _logit(probability: FloatArray) -> FloatArray:
    return scipy.special.logit(probability)


def _probit(probability: FloatArray) -> FloatArray:
    return scipy.special.ndtri(probability)


def _log_logistic(eta: FloatArray) -> Curve:
    complement, probability = scipy.special.expit(-eta), scipy.special.expit(eta)
    curvature = -complement * probability
    return scipy.special.log_expit(eta), complement, curvature, curvature * (complement - probability)


def _log_normal_probability(eta: FloatArray) -> Curve:
    value = scipy.special.log_ndtr(eta)
    slope = np.exp(-(eta**2) / 2 - value) / np.sqrt(2 * np.pi)
    curvature = -slope * (eta + slope)
    return value, slope, curvature, -curvature * (eta + slope) - slope * (1 + curvature)


def _log_of_gumbel(eta: FloatArray) -> Curve:
    """Return the logarithm of ``1 - exp(-exp(eta))``."""
    hazard = np.exp(eta)
    # exp(eta) / (exp(exp(eta)) - 1), which tends to one for a small hazard and to zero for a large one.
    slope = 1 / scipy.special.exprel(hazard)
    growth = 1 - hazard - slope
    curvature = slope * growth
    return np.log(-np.expm1(-hazard)), slope, curvature, curvature * growth - slope * (hazard + curvature)


def _minus_exponential(eta: FloatArray) -> Curve:
    hazard = np.exp(eta)
    return -hazard, -hazard, -hazard, -hazard


def _log_of_remainder(eta: FloatArray) -> Curve:
    """Return the logarithm of ``1 - exp(eta)``."""
    odds = 1 / np.expm1(-eta)
    curvature = -odds * (1 + odds)
    return np.log(-np.expm1(eta)), -odds, curvature, curvature * (1 + 2 * odds)


def _logarithm(eta: FloatArray) -> Curve:
    return np.log(eta), 1 / eta, -1 / eta**2, 2 / eta**3


def _logarithm_of_complement(eta: FloatArray) -> Curve:
    value, slope, curvature, third = _logarithm(1 - eta)
    return value, -slope, curvature, -third


PROBABILITY_LINKS = {
    "logit": ProbabilityLink(_logit, _log_logistic, _mirrored(_log_logistic)),
    "probit": ProbabilityLink(_probit, _log_normal_probability, _mirrored(_log_normal_probability)),
    "cloglog": ProbabilityLink(lambda p: np.log(-np.log1p(-p)), _log_of_gumbel, _minus_exponential),
    "log": ProbabilityLink(np.log, _identity, _log_of_remainder),
    "identity": ProbabilityLink(np.array, _logarithm, _logarithm_of_complement),
}


@dataclass(frozen=True)
class PredictorLosses:
    """The losses of rows at their linear predictors, with derivatives, each of shape ``(n,)``.

    Attributes
    ----------
    value
        Minus the log-likelihood without its dispersion, less what no predictor changes; infinite where the link gives
        no mean of the family.
    slope, curvature
        Its first two derivatives.
    information
        The expected curvature, which is never negative (Fisher).
    """

    value: FloatArray
    slope: FloatArray
    curvature: FloatArray
    information: FloatArray


@dataclass(frozen=True)
class ResponseProblem:
    """Why responses cannot be fitted: the rule, the rows that break it, and what to do."""

    rule: str
    broken: BoolArray
    advice: str


class Family(ABC):
    """A distribution of the response given its mean, up to a dispersion that does not enter."""

    name: ClassVar[str]
    links: ClassVar[tuple[str, ...]]
    """Those that make sense for it, the canonical one first."""

    @abstractmethod
    def losses(self, response: FloatArray, eta: FloatArray, link: str) -> PredictorLosses:
        """Return the losses of these responses at linear predictors `eta`."""

    @abstractmethod
    def third_derivative(self, response: FloatArray, eta: FloatArray, link: str) -> FloatArray:
        """Return the third derivative of these losses by `eta`, shape ``(n,)``."""

    @abstractmethod
    def response_problem(self, response: FloatArray) -> ResponseProblem | None:
        """Return the problem with responses out of range, or None."""

    @abstractmethod
    def first_predictor(self, response: FloatArray, link: str, typical: float) -> FloatArray:
        """Return linear predictors near the responses, where the link is defined, shape ``(n,)``.

        `typical` is the mean response of all rows, where these are some of them.
        """

    @abstractmethod
    def predictor_of(self, mean: FloatArray, link: str) -> FloatArray:
        """Return the linear predictors of given means; NaN where the link has none."""

    def degeneracy(self, response: FloatArray) -> str | None:
        """Return why these responses have no finite fit, or None."""
        return None

    def degeneracy_of_equal(self, n_rows: int, response: float) -> str | None:
        """Return why so many rows with the same response have no finite fit, or None."""
        return None

    def at_the_edge(self, response: FloatArray, eta: FloatArray, link: str, typical: float) -> BoolArray:
        """Return which rows have a fitted mean at the end of its range, where coefficients are infinite.

        `typical` is the mean response of all rows, where these are some of them.
        """
        return np.zeros(np.shape(eta), dtype=np.bool_)


class PowerFamily(Family):
    r"""A family whose variance is a power of the mean, :math:`V(\mu) = \mu^k`.

    The loss is half the deviance; by the chain rule its slope is :math:`(\mu - y) \mu' / V`.
    """

    power: ClassVar[int]

    @abstractmethod
    def half_deviance(self, response: FloatArray, mean: FloatArray) -> FloatArray:
        """Return half the deviance of each row."""

    def losses(self, response: FloatArray, eta: FloatArray, link: str) -> PredictorLosses:
        """Return half the deviance and its derivatives."""
        with np.errstate(all="ignore"):
            mean, by_eta, by_eta_twice, _ = MEAN_LINKS[link].mean(eta)
            variance = mean**self.power
            information = by_eta**2 / variance
            excess = (mean - response) / variance
            variance_slope = self.power * mean ** (self.power - 1) if self.power else 0.0
            curvature = information + excess * (by_eta_twice - by_eta**2 * variance_slope / variance)
            value = self.half_deviance(response, mean)
            possible = np.isfinite(value) & ((mean > 0) | (self.power == 0))
            return PredictorLosses(np.where(possible, value, np.inf), excess * by_eta, curvature, information)

    def third_derivative(self, response: FloatArray, eta: FloatArray, link: str) -> FloatArray:
        r"""Return :math:`\mu'' r + 2 \mu' r' + (\mu - y) r''` with :math:`r = \mu'/V`."""
        with np.errstate(all="ignore"):
            mean, first, second, third = MEAN_LINKS[link].mean(eta)
            k, relative, variance = self.power, (first / mean if self.power else 0.0), mean**self.power
            slope = second - k * relative * first
            curvature = third - 3 * k * relative * second + k * (k + 1) * relative**2 * first
            total = second * first + 2 * first * slope + (mean - response) * curvature
            return np.asarray(total / variance)

    def first_predictor(self, response: FloatArray, link: str, typical: float) -> FloatArray:
        """Return the predictors whose means are the responses themselves."""
        return self.predictor_of(self.possible_mean(response, typical), link)

    def predictor_of(self, mean: FloatArray, link: str) -> FloatArray:
        """Return the link of the means."""
        with np.errstate(all="ignore"):
            return MEAN_LINKS[link].predictor(mean)

    def possible_mean(self, response: FloatArray, typical: float) -> FloatArray:
        """Return means near the responses that the family can have."""
        return response

    def response_problem(self, response: FloatArray) -> ResponseProblem | None:
        """Return which responses are not positive."""
        return ResponseProblem(
            "positive responses", response <= 0, "Drop such rows, or choose a family that has zeros."
        )


class Gaussian(PowerFamily):
    """Variance that does not depend on the mean: least squares."""

    name = "gaussian"
    links = ("identity", "log", "inverse")
    power = 0

    def half_deviance(self, response: FloatArray, mean: FloatArray) -> FloatArray:
        """Return half the squared residual."""
        return (response - mean) ** 2 / 2

    def response_problem(self, response: FloatArray) -> ResponseProblem | None:
        """Return None: any number is valid."""
        return None


class Poisson(PowerFamily):
    """Variance equal to the mean: counts."""

    name = "poisson"
    links = ("log", "identity")
    power = 1

    def half_deviance(self, response: FloatArray, mean: FloatArray) -> FloatArray:
        """Return ``y log(y / mean) - y + mean``."""
        return np.where(response > 0, response * _excess((mean - response) / response), mean)

    def possible_mean(self, response: FloatArray, typical: float) -> FloatArray:
        """Return the responses, moved off zero."""
        moved: FloatArray = response + 0.1 * typical
        return moved

    def response_problem(self, response: FloatArray) -> ResponseProblem | None:
        """Return which counts are negative."""
        return ResponseProblem(
            "counts, which are not negative", response < 0, "Choose another family for such responses."
        )

    def degeneracy(self, response: FloatArray) -> str | None:
        """Return a reason if all counts are zero, else None."""
        return None if response.any() else self.degeneracy_of_equal(len(response), 0.0)

    def degeneracy_of_equal(self, n_rows: int, response: float) -> str | None:
        """Return a reason if all counts are zero, else None."""
        return f"all {n_rows} counts are zero, and so would be the fitted mean" if response == 0 else None

    def at_the_edge(self, response: FloatArray, eta: FloatArray, link: str, typical: float) -> BoolArray:
        """Return which zeros have a fitted mean that is nearly zero."""
        mean = MEAN_LINKS[link].mean(eta)[0]
        empty: BoolArray = (response == 0) & (mean < _AT_THE_EDGE * typical)
        return empty


class Gamma(PowerFamily):
    """Variance that grows with the square of the mean: a constant coefficient of variation."""

    name = "gamma"
    links = ("inverse", "log", "identity")
    power = 2

    def half_deviance(self, response: FloatArray, mean: FloatArray) -> FloatArray:
        """Return ``y / mean - 1 - log(y / mean)``."""
        return _excess((response - mean) / mean)


class InverseGaussian(PowerFamily):
    """Variance that grows with the cube of the mean."""

    name = "inverse_gaussian"
    links = ("inverse_squared", "inverse", "log", "identity")
    power = 3

    def half_deviance(self, response: FloatArray, mean: FloatArray) -> FloatArray:
        """Return ``(y - mean)**2 / (2 y mean**2)``."""
        return (response / mean - 1) ** 2 / (2 * response)


def _excess(relative: FloatArray) -> FloatArray:
    """Return ``x - log(1 + x)``: unlike a difference of logarithms it keeps its digits for large responses."""
    difference: FloatArray = relative - np.log1p(relative)
    return difference


class Binomial(Family):
    """Zeros and ones, or proportions with their numbers of trials as case weights."""

    name = "binomial"
    links = ("logit", "probit", "cloglog", "log", "identity")

    def losses(self, response: FloatArray, eta: FloatArray, link: str) -> PredictorLosses:
        """Return minus the log-likelihood, ``-y log(p) - (1 - y) log(1 - p)``, and its derivatives."""
        if link == "logit":
            return _logistic_losses(response, eta)
        with np.errstate(all="ignore"):
            ones, zeros = self._curves(eta, link)
            value, slope, curvature = (
                _mixture(response, one, zero) for one, zero in zip(ones[:3], zeros[:3], strict=True)
            )
            information = np.exp(ones[0]) * ones[1] ** 2 + np.exp(zeros[0]) * zeros[1] ** 2
            # A row of one class does not feel the other's logarithm, so what the link allows is looked at separately.
            possible = (ones[0] <= 0) & (zeros[0] <= 0)
            return PredictorLosses(np.where(possible, value, np.inf), slope, curvature, information)

    def third_derivative(self, response: FloatArray, eta: FloatArray, link: str) -> FloatArray:
        """Return the third derivative of minus the log-likelihood."""
        with np.errstate(all="ignore"):
            (*_, one), (*_, zero) = self._curves(eta, link)
            return _mixture(response, one, zero)

    def _curves(self, eta: FloatArray, link: str) -> tuple[Curve, Curve]:
        return PROBABILITY_LINKS[link].log_probability(eta), PROBABILITY_LINKS[link].log_complement(eta)

    def first_predictor(self, response: FloatArray, link: str, typical: float) -> FloatArray:
        """Return the predictors of the responses, each half way to one half."""
        return self.predictor_of((response + 0.5) / 2, link)

    def predictor_of(self, mean: FloatArray, link: str) -> FloatArray:
        """Return the link of the probabilities."""
        return PROBABILITY_LINKS[link].predictor(mean)

    def response_problem(self, response: FloatArray) -> ResponseProblem | None:
        """Return which responses are no proportions."""
        advice = (
            "Label the two classes 0 and 1; for numbers of successes pass proportions, and the numbers of trials as a "
            "third array."
        )
        return ResponseProblem("responses in [0, 1]", (response < 0) | (response > 1), advice)

    def degeneracy(self, response: FloatArray) -> str | None:
        """Return a reason if there is only one class, else None."""
        if response.any() and not (response == 1).all():
            return None
        return self.degeneracy_of_equal(len(response), response[0])

    def degeneracy_of_equal(self, n_rows: int, response: float) -> str | None:
        """Return a reason if there is only one class, else None."""
        if response not in (0, 1):
            return None
        return f"all {n_rows} responses are {response:g}, one class only, and both are needed"

    def at_the_edge(self, response: FloatArray, eta: FloatArray, link: str, typical: float) -> BoolArray:
        """Return which rows are fitted by a probability that is nearly zero or nearly one."""
        with np.errstate(all="ignore"):
            (log_one, *_), (log_zero, *_) = self._curves(eta, link)
        certain: BoolArray = np.minimum(log_one, log_zero) < np.log(_AT_THE_EDGE)
        # Where a link ends at a finite predictor, as the log at zero, a probability of one is no sign of infinity.
        return certain & (np.abs(eta) > _FINITE_END)


def _logistic_losses(response: FloatArray, eta: FloatArray) -> PredictorLosses:
    """Return the losses for the logit link, the common case, with a single exponential per row."""
    tail = np.exp(-np.abs(eta))
    larger = 1 / (1 + tail)
    smaller = tail * larger
    positive = eta >= 0
    probability, complement = np.where(positive, larger, smaller), np.where(positive, smaller, larger)
    value = np.log1p(tail) + np.where(positive, (1 - response) * eta, -response * eta)
    curvature = larger * smaller
    return PredictorLosses(value, (1 - response) * probability - response * complement, curvature, curvature)


def _mixture(response: FloatArray, one: FloatArray, zero: FloatArray) -> FloatArray:
    """Return ``-y one - (1 - y) zero``."""
    return -_times(response, one) - _times(1 - response, zero)


def _times(share: FloatArray, values: FloatArray) -> FloatArray:
    """Return the product, defined as zero where the share is zero even if the other factor is infinite."""
    return np.where(share == 0, 0.0, share * values)


FAMILIES: Mapping[str, Family] = {
    family.name: family for family in (Gaussian(), Poisson(), Gamma(), Binomial(), InverseGaussian())
}
