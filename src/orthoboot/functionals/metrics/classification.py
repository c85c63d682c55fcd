"""Metrics for two classes, from predicted labels or predicted probabilities."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from orthoboot.arguments import is_real
from orthoboot.arrays.passes import Ranges
from orthoboot.data import Data
from orthoboot.errors import ArgumentError, DataError, OrthobootWarning, SmallSampleWarning
from orthoboot.functionals.feature_means import FeatureMeans
from orthoboot.functionals.formula import PreparedFormula
from orthoboot.functionals.metrics.base import MeanLoss, Metric
from orthoboot.functionals.pairs.association import QuotientOfMeans, pairs_of
from orthoboot.typing import FloatArray

_LISTED_LABELS = 5
_MANY_LABELS = 20
"""More different ones are no labels but scores."""
_FEW_ROWS = 10
_SMALLEST_PROBABILITY = float(np.finfo(np.float64).eps)


def check_positive(positive: Any) -> None:
    """Raise unless the label of the positive class is a finite number."""
    if not is_real(positive) or not np.isfinite(positive):
        raise ArgumentError(f"`positive` must be the number that labels the positive class; got {positive!r}.")


def two_classes(name: str, labels: FloatArray, found: Ranges) -> tuple[float, float]:
    """Return the two labels, 0 and 1 where one of these is missing; raise unless there are two.

    Parameters
    ----------
    labels
        Those at hand, of some rows or of all.
    found
        The ranges of the labels of all rows.
    """
    low, high = float(found.low.min()), float(found.high.max())
    known = (0.0, 1.0) if {low, high} <= {0.0, 1.0} else (low, high)
    if known[0] == known[1] or not np.all((labels == known[0]) | (labels == known[1])):
        different = np.unique([*np.unique(labels), low, high])
        written = ", ".join(f"{label:g}" for label in different[:_LISTED_LABELS])
        more = ", ..." if len(different) > _LISTED_LABELS else ""
        raise DataError(
            f"`{name}` takes two classes, labelled 0 and 1 or with two other numbers; got {len(different)} different "
            f"label(s): {written}{more}. {_cure(different)} turn probabilities into labels with a threshold, for "
            "example `p > 0.5`."
        )
    return known


def _cure(different: FloatArray) -> str:
    if len(different) > _MANY_LABELS:
        return "These look like scores. The labels come first and the scores second; where labels are predicted,"
    return f"Compare one class with the rest, for example `labels == {different[-1]:g}`;"


def positive_rows(name: str, labels: FloatArray, positive: float | None, found: Ranges) -> FloatArray:
    """Return 1 for the rows of the positive class and 0 for the others, shape as `labels`.

    Where `positive` is None the positive class is 1 among zeros and ones, else the larger label. `found` are the ranges
    of the labels of all rows.
    """
    known = two_classes(name, labels, found)
    chosen = known[1] if positive is None else positive
    if chosen not in known:
        raise DataError(
            f"`{name}` has `positive={chosen:g}`, but the labels are {known[0]:g} and {known[1]:g}. Name one of them, "
            f"for example `{name}.replace(positive={known[1]:g})`."
        )
    return np.where(labels == chosen, 1.0, 0.0)


def _check_labels(at: PreparedFormula[Any], columns: slice) -> None:
    """Raise unless the labels in some columns are those of two classes."""
    if at.data.is_in_pieces:
        _ = at.derived  # whose features check the labels, block by block
        return
    found = Ranges(*(ends[columns] for ends in at.data.ranges))
    two_classes(at.functional.name, pairs_of(at.data)[:, columns], found)


def column_range(data: Data, column: int) -> Ranges:
    """Return the range of one column of all rows."""
    return Ranges(*(ends[column : column + 1] for ends in data.ranges))


def _first_row(probabilities: FloatArray, value: float) -> str:
    """Return in words where a number is first."""
    return f" in row {int(np.argmax(probabilities == value))} (counted from 0)"


def few_rows(name: str, n_rows: int, which: str) -> tuple[OrthobootWarning, ...]:
    """Return a warning if a statistic depends on too few rows."""
    if n_rows >= _FEW_ROWS:
        return ()
    return (
        SmallSampleWarning(
            f"`{name}` rests on {n_rows} row(s) that {which}; so few say little about that class, and the interval is "
            "too short. Treat the answer as a rough guide, or collect more such rows."
        ),
    )


@dataclass(frozen=True)
class Accuracy(MeanLoss):
    r"""The share of labels that are predicted correctly, as scikit-learn's ``accuracy_score(y, p)``.

    .. math:: \phi = \tfrac1n \sum_j 1\{y_j = p_j\}, \qquad I_j = 1\{y_j = p_j\} - \phi.

    A linear statistic: ``eq:taylor`` ends after the first term.

    Examples
    --------
    >>> from orthoboot.functionals import accuracy
    >>> accuracy([0, 1, 1, 0], [0, 1, 0, 0])
    0.75
    """

    name = "accuracy"
    limits = (0.0, 1.0)

    def check(self, at: PreparedFormula[FeatureMeans]) -> None:
        """Raise unless the rows are pairs of labels of two classes."""
        super().check(at)
        _check_labels(at, slice(None))

    def features(self, data: Data) -> FloatArray:
        """Return which predictions are correct."""
        pairs = self.pairs(data)
        two_classes(self.name, pairs, data.ranges)
        observed, predicted = pairs.T
        return np.where(observed == predicted, 1.0, 0.0)[:, np.newaxis]


@dataclass(frozen=True)
class _ShareOfPositives(Metric, QuotientOfMeans):
    """A ratio of two numbers of rows that concern the positive class.

    Where the second is zero scikit-learn says 0 and warns; here the data are refused, and a resample counts as a
    failed replicate.
    """

    positive: float = 1.0
    divisor: ClassVar[str]
    """Which rows the denominator counts."""

    def __post_init__(self) -> None:
        check_positive(self.positive)

    @property
    def undefined(self) -> str:  # type: ignore[override]
        """Return when the statistic is undefined: where the denominator is zero."""
        return f"no rows of the resample {self.divisor}; with these rows as a stratum of their own some always remain"

    @abstractmethod
    def counts(self, observed: FloatArray, predicted: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what a row adds to the numerator and to the denominator, each of shape ``(n,)``."""

    def check(self, at: PreparedFormula[FeatureMeans]) -> None:
        """Raise unless the rows are pairs of labels of which enough are positive."""
        super().check(at)
        _check_labels(at, slice(None))
        if not at.derived.centre[1]:
            raise DataError(
                f"`{self.name}` divides by the number of rows that {self.divisor}, which must not be zero; got none "
                f"with the label {self.positive:g} among {at.data.sizes[0]} rows. The observed labels come first; "
                f"another positive class is set with `{self.name}.replace(positive=...)`."
            )

    def findings(self, at: PreparedFormula[Any]) -> tuple[OrthobootWarning, ...]:
        """Return a warning if few rows are in the denominator."""
        return few_rows(self.name, at.derived.n_nonzero(1), self.divisor)

    def features(self, data: Data) -> FloatArray:
        """Return the two counts."""
        observed, predicted = positive_rows(self.name, self.pairs(data), self.positive, data.ranges).T
        return np.stack(self.counts(observed, predicted)).T


@dataclass(frozen=True)
class Precision(_ShareOfPositives):
    r"""The share of the rows predicted positive that are positive, as scikit-learn's ``precision_score(y, p)``.

    .. math:: \phi = \frac{TP}{TP + FP}, \qquad
              I_j = \frac{1\{p_j = 1\}}{\pi_p} \left(1\{y_j = 1\} - \phi\right),

    :math:`\pi_p` the share of rows predicted positive. If there are none, scikit-learn returns 0 and warns; here such
    data raise an error, and such a resample counts as a failed replicate. The chain rule for a function of means,
    ``subsection:biascorrection``.

    Parameters
    ----------
    positive
        The label of the positive class.

    Examples
    --------
    >>> from orthoboot.functionals import precision
    >>> precision([0, 1, 1, 0], [1, 1, 0, 0])
    0.5
    """

    name = "precision"
    limits = (0.0, 1.0)
    divisor = "are predicted positive"

    def counts(self, observed: FloatArray, predicted: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the true positives and the predicted ones."""
        return observed * predicted, predicted


@dataclass(frozen=True)
class Recall(_ShareOfPositives):
    r"""The share of the positive rows that are predicted positive, as scikit-learn's ``recall_score(y, p)``.

    .. math:: \phi = \frac{TP}{TP + FN}, \qquad
              I_j = \frac{1\{y_j = 1\}}{\pi_y} \left(1\{p_j = 1\} - \phi\right),

    :math:`\pi_y` the share of positive rows. If there are none, scikit-learn returns 0 and warns; here such data raise
    an error, and such a resample counts as a failed replicate. The chain rule for a function of means,
    ``subsection:biascorrection``.

    Parameters
    ----------
    positive
        The label of the positive class; the recall of the other class is the specificity.

    Examples
    --------
    >>> from orthoboot.functionals import recall
    >>> y, p = [0, 1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 0]
    >>> recall(y, p), recall.replace(positive=0)(y, p)
    (0.5, 0.75)
    """

    name = "recall"
    limits = (0.0, 1.0)
    divisor = "are positive"

    def counts(self, observed: FloatArray, predicted: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the true positives and the positives."""
        return observed * predicted, observed


@dataclass(frozen=True)
class F1(_ShareOfPositives):
    r"""The harmonic mean of precision and recall, as scikit-learn's ``f1_score(y, p)``.

    .. math:: \phi = \frac{2\,TP}{2\,TP + FP + FN}, \qquad
              I_j = \frac{2 \cdot 1\{y_j = p_j = 1\} - \phi\,(1\{y_j = 1\} + 1\{p_j = 1\})}{\pi_y + \pi_p},

    :math:`\pi_y` and :math:`\pi_p` the shares of rows that are positive and that are predicted positive. If both are
    zero, scikit-learn returns 0 and warns; here such data raise an error, and such a resample counts as a failed
    replicate. The chain rule for a function of means, ``subsection:biascorrection``.

    Parameters
    ----------
    positive
        The label of the positive class.

    Examples
    --------
    >>> from orthoboot.functionals import f1
    >>> f1([0, 1, 1, 0], [1, 1, 0, 0])
    0.5
    """

    name = "f1"
    limits = (0.0, 1.0)
    divisor = "are positive or predicted so"

    def counts(self, observed: FloatArray, predicted: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return twice the true positives, and the positives with the predicted ones."""
        return 2 * observed * predicted, observed + predicted


@dataclass(frozen=True)
class _ProbabilityLoss(MeanLoss):
    """The mean loss of predicted probabilities of the positive class."""

    positive: float | None = None

    def __post_init__(self) -> None:
        if self.positive is not None:
            check_positive(self.positive)

    @abstractmethod
    def loss(self, outcome: FloatArray, probability: FloatArray) -> FloatArray:
        """Return the loss of each row, shape ``(n,)``, for outcomes 0 and 1."""

    def check(self, at: PreparedFormula[FeatureMeans]) -> None:
        """Raise unless the rows are labels of two classes with probabilities."""
        super().check(at)
        _check_labels(at, slice(1))
        (_, low), (_, high) = at.data.ranges
        if low < 0 or high > 1:
            found = low if low < 0 else high
            first = "" if at.data.is_in_pieces else _first_row(self.pairs(at.data)[:, 1], found)
            raise DataError(
                f"`{self.name}` takes probabilities in [0, 1] as second column; got {found:g}{first}"
                ". The labels come first; pass for example `model.predict_proba(X)[:, 1]`, not scores."
            )

    def features(self, data: Data) -> FloatArray:
        """Return the losses."""
        labels, probabilities = self.pairs(data).T
        outcomes = positive_rows(self.name, labels, self.positive, column_range(data, 0))
        return self.loss(outcomes, probabilities)[:, np.newaxis]


@dataclass(frozen=True)
class LogLoss(_ProbabilityLoss):
    r"""The mean negative log-likelihood of labels y under probabilities p, as scikit-learn's ``log_loss(y, p)``.

    .. math:: \phi = \tfrac1n \sum_j \ell_j, \qquad \ell_j = -y_j \log p_j - (1 - y_j) \log(1 - p_j), \qquad
              I_j = \ell_j - \phi.

    As in scikit-learn, the probability of the observed class is first clipped to :math:`[\epsilon, 1 - \epsilon]`,
    :math:`\epsilon = 2^{-52}` the spacing of floats at one: a prediction that is certain and wrong costs 36 rather than
    infinity. A linear statistic: ``eq:taylor`` ends after the first term.

    Parameters
    ----------
    positive
        The label whose probability is p; by default 1, or the larger of two other labels.

    Examples
    --------
    >>> from orthoboot.functionals import log_loss
    >>> round(log_loss([0, 1, 1], [0.5, 0.5, 0.5]), 6)
    0.693147
    """

    name = "log_loss"
    limits = (0.0, math.inf)

    def loss(self, outcome: FloatArray, probability: FloatArray) -> FloatArray:
        """Return minus the logarithm of the probability of what happened."""
        likelihood = np.where(outcome == 1, probability, 1 - probability)
        surprise: FloatArray = -np.log(np.clip(likelihood, _SMALLEST_PROBABILITY, 1 - _SMALLEST_PROBABILITY))
        return surprise


@dataclass(frozen=True)
class Brier(_ProbabilityLoss):
    r"""The mean squared error of probabilities p of labels y, as scikit-learn's ``brier_score_loss(y, p)``.

    .. math:: \phi = \tfrac1n \sum_j (y_j - p_j)^2, \qquad I_j = (y_j - p_j)^2 - \phi.

    A linear statistic: ``eq:taylor`` ends after the first term.

    Parameters
    ----------
    positive
        The label whose probability is p; by default 1, or the larger of two other labels.

    Examples
    --------
    >>> from orthoboot.functionals import brier
    >>> brier([0, 1, 1], [0.5, 0.5, 0.5])
    0.25
    """

    name = "brier"
    limits = (0.0, 1.0)

    def loss(self, outcome: FloatArray, probability: FloatArray) -> FloatArray:
        """Return the squared difference."""
        squared: FloatArray = np.square(outcome - probability)
        return squared


accuracy = Accuracy()
precision = Precision()
recall = Recall()
f1 = F1()
log_loss = LogLoss()
brier = Brier()
