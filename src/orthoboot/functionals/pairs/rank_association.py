"""Rank correlations of two columns: Spearman's rho and Kendall's tau-b."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import OrthobootWarning
from orthoboot.functionals.columns.moments import check_varying, quotient
from orthoboot.functionals.formula import PreparedFormula
from orthoboot.functionals.pairs.association import PairStatistic, coefficients, influence_of, perfect
from orthoboot.typing import BoolArray, FloatArray, Influence, IntArray


@dataclass(frozen=True)
class Groups:
    """Rows that share a value: the number of each row's group, in increasing order ``(n,)``, and how many there are."""

    codes: IntArray
    n_groups: int

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum of `values` ``(n,)`` in each group, shape ``(n_groups,)``."""
        return np.asarray(np.bincount(self.codes, values, minlength=self.n_groups), dtype=np.float64)

    def reversed(self) -> Groups:
        """Return the groups in decreasing order."""
        return Groups(self.n_groups - 1 - self.codes, self.n_groups)


def _groups(values: FloatArray | IntArray) -> Groups:
    distinct, codes = np.unique(values, return_inverse=True)
    return Groups(codes, len(distinct))


@dataclass(frozen=True)
class Merge:
    """One level of a merge sort by y of rows ordered by x: pairs of neighbouring blocks, each pair merged.

    Parameters
    ----------
    rows
        The rows in merged order, shape ``(n,)``.
    is_right
        Whether each of them comes from the right block of its pair, shape ``(n,)``.
    length
        The number of rows in a pair of blocks.
    """

    rows: IntArray
    is_right: BoolArray
    length: int

    def passed(self, weights: FloatArray) -> FloatArray:
        """Return the weight in the right block that each row of the left one comes after, in merged order ``(n,)``."""
        right = weights[self.rows] * self.is_right
        before = np.cumsum(right) - right
        at_start = np.repeat(before[:: self.length], self.length)[: len(before)]
        return np.where(self.is_right, 0.0, before - at_start)


def _merges(by_x: Groups, by_y: Groups) -> Iterator[Merge]:
    """Yield the levels of the merge sort; they depend on the data alone, so that resamples need no sorting."""
    order = np.lexsort((by_y.codes, by_x.codes))
    merged = np.arange(len(order))
    codes = by_y.codes[order]
    length = 2
    while length < 2 * len(order):
        # Rows that are level in y stay in the order of x, and so do not pass each other. A stable sort finds the blocks
        # of the level before in order, and only merges them.
        merged = merged[np.argsort(merged // length * by_y.n_groups + codes[merged], kind="stable")]
        is_right = merged % length >= length // 2
        yield Merge(order[merged], is_right, length)
        length *= 2


@dataclass(frozen=True, eq=False)
class Ranks:
    """The order of the rows by two columns.

    Attributes
    ----------
    by_x, by_y
        The rows grouped by the first and by the second column.
    """

    by_x: Groups
    by_y: Groups

    @cached_property
    def joint(self) -> Groups:
        """Return the rows grouped by both columns."""
        return _groups(self.by_x.codes * self.by_y.n_groups + self.by_y.codes)

    @cached_property
    def merges(self) -> tuple[Merge, ...]:
        """Return the levels of the merge sort that counts the pairs ordered oppositely."""
        return tuple(_merges(self.by_x, self.by_y))


class RankAssociation(PairStatistic):
    """A single number from the order of the rows by each of two columns."""

    @abstractmethod
    def at_weights(self, ranks: Ranks, weights: FloatArray) -> FloatArray:
        """Return the statistic at the weights ``(n,)`` of one resample."""

    def check(self, at: PreparedFormula[Ranks]) -> None:
        """Raise unless the rows are pairs and both columns vary."""
        super().check(at)
        check_varying(self.name, at.data.ranges, self.labels(at.data))

    def values(self, at: PreparedFormula[Ranks], resamples: Resamples) -> FloatArray:
        """Return the statistic of each resample, shape ``(B, 1)``; NaN where a column does not vary."""
        return np.array([self.at_weights(at.derived, weights) for weights in resamples.weights[0]]).reshape(-1, 1)

    def findings(self, at: PreparedFormula[Ranks]) -> tuple[OrthobootWarning, ...]:
        """Return a warning where both columns order all rows alike, or oppositely."""
        return perfect("rank ", float(at.estimate[0]))

    def derived(self, data: Data) -> Ranks:
        """Return the order of the rows by each column."""
        x, y = self.pairs(data).T
        return Ranks(_groups(x), _groups(y))


@dataclass(frozen=True)
class Spearman(RankAssociation):
    r"""Spearman's rank correlation of two columns, as `scipy.stats.spearmanr`.

    .. math:: \phi = \frac{\mu_{ab}}{\sqrt{\mu_{aa} \mu_{bb}}}, \qquad
              I_j = \frac{J^{ab}_j}{\sqrt{\mu_{aa} \mu_{bb}}}
                    - \frac{\phi}{2} \left(\frac{J^{aa}_j}{\mu_{aa}} + \frac{J^{bb}_j}{\mu_{bb}}\right),

    where a and b are the mid-ranks of the columns, ties sharing their mean rank, over the total weight and less one
    half; :math:`\mu_{ab}` is the weighted mean of their products, and

    .. math:: J^{ab}_j = a_j b_j + \overline{b\,1\{x > x_j\}} + \overline{a\,1\{y > y_j\}} \text{, centred},

    rows tied with row j counting one half: the projection of a U-statistic (Hoeffding 1948). The derivative is that of
    ``eq:taylor``.

    Examples
    --------
    >>> from orthoboot.functionals import spearman
    >>> round(spearman([1.0, 2.0, 3.0, 4.0], [1.0, 8.0, 27.0, 2.0]), 6)
    0.4
    """

    name = "spearman"
    limits = (-1.0, 1.0)

    def at_weights(self, ranks: Ranks, weights: FloatArray) -> FloatArray:
        """Return the correlation of the weighted mid-ranks."""
        a, b = (_centred_mid_ranks(groups, weights) for groups in (ranks.by_x, ranks.by_y))
        moments = Resamples((weights[np.newaxis],)).sums(0, np.stack([a * b, a * a, b * b], axis=1))
        ab, aa, bb = moments[0]
        return coefficients(quotient(ab, np.sqrt(aa * bb)))

    def influence(self, at: PreparedFormula[Ranks]) -> Influence:
        """Return the derivative of the correlation of ranks, the ranks' own derivative included."""
        by_x, by_y = at.derived.by_x, at.derived.by_y
        a, b = (_centred_mid_ranks(groups, np.ones(at.data.sizes[0])) for groups in (by_x, by_y))
        aa, bb = np.mean(a * a), np.mean(b * b)
        change_ab = a * b + _mean_above(by_x, b) + _mean_above(by_y, a)
        change_aa, change_bb = a * a + 2 * _mean_above(by_x, a), b * b + 2 * _mean_above(by_y, b)
        changes = change_ab / np.sqrt(aa * bb) - at.estimate / 2 * (change_aa / aa + change_bb / bb)
        return influence_of(at.estimate, ((changes - changes.mean())[:, np.newaxis],))


def _centred_mid_ranks(groups: Groups, weights: FloatArray) -> FloatArray:
    """Return the share of weight below each row, plus half of that level with it, less one half, shape ``(n,)``."""
    in_group = groups.sums(weights)
    up_to = np.cumsum(in_group)
    # The total is taken from the same sums: then the ranks of rows that are all tied are zero exactly.
    ranks = (up_to - in_group / 2) / up_to[-1] - 0.5
    centred: FloatArray = ranks[groups.codes]
    return centred


def _mean_above(groups: Groups, values: FloatArray) -> FloatArray:
    """Return for each row the sum of `values` over the rows above it, half of those level with it, over n."""
    in_group = groups.sums(values) / len(values)
    above = np.cumsum(in_group[::-1])[::-1] - in_group / 2
    means: FloatArray = above[groups.codes]
    return means


@dataclass(frozen=True)
class Kendall(RankAssociation):
    r"""Kendall's tau-b of two columns, as `scipy.stats.kendalltau`.

    .. math:: \phi = \frac{S}{\sqrt{A B}}, \qquad
              I_j = n \left(\frac{S_j}{\sqrt{A B}} - \frac{\phi}{2} \left(\frac{A_j}{A} + \frac{B_j}{B}\right)\right),

    where S is the weight of the pairs of rows that both columns order alike less that of the pairs they order
    oppositely, A and B the weight of the pairs not tied in x and in y, and :math:`S_j, A_j, B_j` the part of each that
    involves row j: the projection of a U-statistic (Hoeffding 1948). Pairs ordered oppositely are counted by a merge
    sort (Knight 1966, Journal of the American Statistical Association 61), in ``O(n log n)``. The derivative is that of
    ``eq:taylor``.

    Examples
    --------
    >>> from orthoboot.functionals import kendall
    >>> round(kendall([1.0, 2.0, 3.0, 4.0], [1.0, 8.0, 27.0, 2.0]), 6)
    0.333333
    """

    name = "kendall"
    limits = (-1.0, 1.0)

    def work(self, at: PreparedFormula[Ranks]) -> float:
        """Return the work of a sum, for every other merge."""
        return super().work(at) * max(len(at.derived.merges) / 2, 1)

    def at_weights(self, ranks: Ranks, weights: FloatArray) -> FloatArray:
        """Return the tau-b of the weighted rows."""
        apart_x, apart_y = (_weight_apart(groups.sums(weights)) for groups in (ranks.by_x, ranks.by_y))
        apart_both = apart_x + apart_y - _weight_apart(ranks.joint.sums(weights))
        opposite = sum(np.sum(weights[merge.rows] * merge.passed(weights)) for merge in ranks.merges)
        return coefficients(quotient(apart_both - 2 * opposite, np.sqrt(apart_x * apart_y)))

    def influence(self, at: PreparedFormula[Ranks]) -> Influence:
        """Return n times the derivative by the weight of each row, shape ``(n, 1)``."""
        by_x, by_y = at.derived.by_x, at.derived.by_y
        ones = np.ones(at.data.sizes[0])
        apart_x, apart_y, apart_either = (
            len(ones) - groups.sums(ones)[groups.codes] for groups in (by_x, by_y, at.derived.joint)
        )
        alike = apart_x + apart_y - apart_either - 2 * _opposite_rows(at.derived)
        # Each pair is seen from both of its rows.
        x_pairs, y_pairs = apart_x.sum() / 2, apart_y.sum() / 2
        changes = alike / np.sqrt(x_pairs * y_pairs) - at.estimate / 2 * (apart_x / x_pairs + apart_y / y_pairs)
        return influence_of(at.estimate, (len(ones) * (changes - changes.mean())[:, np.newaxis],))


def _opposite_rows(ranks: Ranks) -> FloatArray:
    """Return for each row the number of rows that the columns order oppositely to it, shape ``(n,)``."""
    n = len(ranks.by_x.codes)
    ones, opposite = np.ones(n), np.zeros(n)
    # The merge sort tells the rows to the right and below; turned around, those to the left and above.
    for merge in chain(ranks.merges, _merges(ranks.by_x.reversed(), ranks.by_y.reversed())):
        opposite[merge.rows] += merge.passed(ones)
    return opposite


def _weight_apart(in_group: FloatArray) -> FloatArray:
    """Return the sum of ``w_i w_j`` over the pairs of rows in different groups, from the weight of each group."""
    return np.asarray(np.sum(in_group * (np.cumsum(in_group) - in_group)))


spearman = Spearman()
kendall = Kendall()
