"""The area under the ROC curve, by one sort of the scores and a cumulative sum of the weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import DataError, OrthobootWarning
from orthoboot.functionals.base import Covariance
from orthoboot.functionals.formula import Formula, PreparedFormula
from orthoboot.functionals.metrics.classification import check_positive, column_range, few_rows, positive_rows
from orthoboot.functionals.output import Output, output_like
from orthoboot.functionals.pairs.association import check_pairs, pairs_of
from orthoboot.typing import FloatArray, Influence, IntArray

_LARGEST_TRACE = 50_000_000
"""Rows times different scores up to which the second-order bias is summed score by score: about a second."""
_SCORES_AT_ONCE = 16
"""Scores for which one covariance matrix is asked; a larger one holds more that is not needed."""


@dataclass(frozen=True)
class RankedScores:
    """Rows in increasing order of their scores, those of the same score side by side.

    Attributes
    ----------
    order
        The rows in that order, shape ``(n,)``.
    positive
        1 for the rows of the positive class, in that order, shape ``(n,)``.
    starts
        Where each different score begins, shape ``(g,)``.
    """

    order: IntArray
    positive: FloatArray
    starts: IntArray

    def masses(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weight of the positive and of the negative rows at each score, both of shape ``(g,)``."""
        ordered = weights[self.order]
        positives = ordered * self.positive
        negatives = ordered - positives
        if len(self.starts) == len(self.order):
            return positives, negatives
        return np.add.reduceat(positives, self.starts), np.add.reduceat(negatives, self.starts)

    def by_row(self, values: FloatArray) -> FloatArray:
        """Return values of the scores ``(g,)`` as values of the rows ``(n,)``, in the order of the data."""
        result = np.empty(len(self.order))
        result[self.order] = np.repeat(values, np.diff(self.starts, append=len(self.order)))
        return result


@dataclass(frozen=True)
class RocAuc(Formula[RankedScores]):
    r"""The area under the ROC curve of scores s for labels y, as scikit-learn's ``roc_auc_score(y, s)``.

    The probability that a positive row has a higher score than a negative one, ties counted one half:

    .. math:: \phi = \frac{A}{\pi (1 - \pi)}, \qquad
              A = \frac{1}{n^2} \sum_{i: y_i = 1} \sum_{j: y_j = 0}
                  \left(1\{s_i > s_j\} + \tfrac12 1\{s_i = s_j\}\right),

    :math:`\pi` the share of positive rows, which is random too when rows are drawn. With the placements
    :math:`V_i`, for a positive row the share of the negative ones below it and for a negative row the share of the
    positive ones above it, the derivatives of A and of :math:`\pi(1 - \pi)` add up to

    .. math:: I_i = \frac{V_i - \phi}{\pi} \text{ for positive rows}, \qquad
              I_j = \frac{V_j - \phi}{1 - \pi} \text{ for negative ones.}

    DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44: the variance :math:`\sum_j I_j^2 / n^2` is theirs with the
    divisors :math:`n_1` and :math:`n_0` in place of :math:`n_1 - 1` and :math:`n_0 - 1`. A resample with a single class
    has no area and counts as a failed replicate. The derivative is that of ``eq:taylor``.

    Parameters
    ----------
    positive
        The label of the positive class; by default 1, or the larger of two other labels.

    Examples
    --------
    >>> from orthoboot.functionals import roc_auc
    >>> roc_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """

    positive: float | None = None
    name = "roc_auc"
    limits = (0.0, 1.0)
    paired = True
    # Given how many rows of each class a resample has, these are drawn independently, and every pair is as likely.
    unbiased = True
    undefined = "the resample lost a class; more rows of it, or the labels as `strata`, keep both"

    def __post_init__(self) -> None:
        if self.positive is not None:
            check_positive(self.positive)

    def check(self, at: PreparedFormula[RankedScores]) -> None:
        """Raise unless the rows are pairs of labels and scores, with both classes among them."""
        check_pairs(self.name, at.data)
        labels = pairs_of(at.data)[:, 0]
        if labels.min() == labels.max():
            raise DataError(
                f"`{self.name}` needs both classes; got the label {labels[0]:g} in all {len(labels)} rows. The labels "
                "come first and the scores second."
            )
        positive_rows(self.name, labels, self.positive, column_range(at.data, 0))

    def findings(self, at: PreparedFormula[RankedScores]) -> tuple[OrthobootWarning, ...]:
        """Return a warning if a class has few rows."""
        positive = self._positive(at.data)
        smaller = 1.0 if positive.mean() <= 0.5 else 0.0
        which = "are positive" if smaller else "are negative"
        return few_rows(self.name, int(np.count_nonzero(positive == smaller)), which)

    def output(self, at: PreparedFormula[RankedScores]) -> Output:
        """Return a single number."""
        return output_like(0.0, self.name)

    def values(self, at: PreparedFormula[RankedScores], resamples: Resamples) -> FloatArray:
        """Return the area for the weighted rows, shape ``(B, 1)``; NaN where a class has no weight."""
        ranked = at.derived
        # One resample at a time: sums along a vector of its own have the same bits in every batch.
        return np.array([[_area(*ranked.masses(weights))] for weights in resamples.weights[0]])

    def influence(self, at: PreparedFormula[RankedScores]) -> Influence:
        """Return the placements less the area, over the share of the row's class."""
        ranked = at.derived
        positives, negatives = ranked.masses(np.ones(at.data.sizes[0]))
        phi_hat, positive = _area(positives, negatives), self._positive(at.data)
        share = positive.mean()
        below = ranked.by_row(_up_to_the_middle(negatives) / negatives.sum())
        above = 1 - ranked.by_row(_up_to_the_middle(positives) / positives.sum())
        influence = np.where(positive == 1, (below - phi_hat) / share, (above - phi_hat) / (1 - share))
        return (influence[:, np.newaxis],)

    def second_order_bias(self, at: PreparedFormula[RankedScores], covariance: Covariance) -> FloatArray | None:
        r"""Return the bias from rows drawn together, zero for rows drawn independently; None where it costs too much.

        .. math:: \frac{\sum_v \operatorname{Cov}(a_v, b_v)}{\pi (1 - \pi)}
                  - \operatorname{Cov}\left(\bar I, \frac{\bar y}{\pi} + \frac{1 - \bar y}{1 - \pi}\right),

        where :math:`b_v` is the mean number of negative rows with the score v, and :math:`a_v` that of positive rows
        above it, ties one half, less :math:`\phi` times that of all positive rows.
        """
        ranked = at.derived
        if len(ranked.starts) * at.data.sizes[0] > _LARGEST_TRACE:
            return None
        positive = self._positive(at.data)
        share = positive.mean()
        classes = np.where(positive == 1, 1 / share, 1 / (1 - share))
        quotients = covariance((np.column_stack([self.influence(at)[0], classes]),))[0, 1]
        trace = sum(_cross_trace(covariance((columns,))) for columns in self._paired_columns(at))
        return np.atleast_1d(trace / (share * (1 - share)) - quotients)

    def _paired_columns(self, at: PreparedFormula[RankedScores]) -> Iterator[FloatArray]:
        """Yield for some scores v at a time the columns a_v, then b_v, of `second_order_bias`."""
        positive, scores = self._positive(at.data)[:, np.newaxis], pairs_of(at.data)[:, 1:]
        phi_hat = at.estimate
        negative_scores = np.unique(scores[positive == 0])
        for start in range(0, len(negative_scores), _SCORES_AT_ONCE):
            values = negative_scores[start : start + _SCORES_AT_ONCE]
            ties = np.where(scores == values, 1.0, 0.0)
            above = np.where(scores > values, 1.0, ties / 2)
            yield np.hstack([positive * (above - phi_hat), (1 - positive) * ties])

    def _positive(self, data: Data) -> FloatArray:
        return positive_rows(self.name, pairs_of(data)[:, 0], self.positive, column_range(data, 0))

    def derived(self, data: Data) -> RankedScores:
        """Return the rows of `data` in increasing order of their scores."""
        scores = pairs_of(data)[:, 1]
        order = np.argsort(scores, kind="stable")
        ordered = scores[order]
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        return RankedScores(order, self._positive(data)[order], starts)


def _up_to_the_middle(masses: FloatArray) -> FloatArray:
    """Return the mass below each score, plus half of its own."""
    return np.cumsum(masses) - masses / 2


def _area(positives: FloatArray, negatives: FloatArray) -> float:
    """Return the share of pairs in which the positive row is higher; masses by increasing score, shape ``(g,)``."""
    pairs = positives.sum() * negatives.sum()
    return float(np.sum(positives * _up_to_the_middle(negatives)) / pairs) if pairs > 0 else np.nan


def _cross_trace(covariance: FloatArray) -> float:
    """Return the sum of the covariances between each column of the first half and its partner in the second."""
    half = len(covariance) // 2
    return float(np.trace(covariance[:half, half:]))


roc_auc = RocAuc()
