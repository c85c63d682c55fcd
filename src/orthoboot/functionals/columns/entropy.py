"""The entropy of categories."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import DataError
from orthoboot.functionals.base import Covariance, KnowsCategories
from orthoboot.functionals.columns.moments import check_one_table, columns_of
from orthoboot.functionals.formula import Formula, PreparedFormula
from orthoboot.functionals.output import Output, output_like
from orthoboot.typing import FloatArray, Influence, IntArray

_CATEGORIES_AT_ONCE = 32
"""So many indicators are held as columns of numbers, whatever the number of categories."""


@dataclass(frozen=True)
class Categories:
    """The category of each row, numbered from zero ``(n,)``, and the share of the rows in each ``(d,)``."""

    codes: IntArray
    shares: FloatArray


@dataclass(frozen=True)
class Entropy(Formula[Categories]):
    r"""The entropy, in nats, of the categories in one column of labels.

    .. math:: \phi = -\sum_c \hat p_c \log \hat p_c, \qquad I_j = -\log \hat p_{c(j)} - \phi, \qquad
              \text{bias} = -\tfrac12 \sum_c \operatorname{Var}(p_c) / \hat p_c,

    where :math:`\hat p_c` is the share of the rows in category c, and rows with the same number are one category. For
    independent rows the bias is :math:`-(d - 1)/(2n)`, that of Miller (1955). A category that a resample misses adds
    nothing. The entropy of ``subsection:biascorrection``, where the influence is printed with the other sign.

    Examples
    --------
    >>> from orthoboot.functionals import entropy
    >>> round(entropy([0, 1, 1, 0]), 6)
    0.693147
    """

    name = "entropy"
    limits = (0.0, math.inf)

    def check(self, at: PreparedFormula[Categories]) -> None:
        """Raise unless there is one column."""
        if len(at.data.sizes) > 1:
            raise DataError(
                f"`entropy` takes one sample; got {len(at.data.sizes)} independent samples. Compare two samples with "
                f"`difference(entropy)`.{at.data.samples_hint}"
            )
        check_one_table(self.name, at.data)
        width = columns_of(at.data).shape[1]
        if width != 1:
            raise DataError(
                f"`entropy` takes one column of labels; got {width} columns. Select one, or number the combinations, "
                "for example with `np.unique(data, axis=0, return_inverse=True)[1]`; from indicators use "
                "`np.argmax(data, axis=1)`."
            )

    def output(self, at: PreparedFormula[Categories]) -> Output:
        """Return a single number."""
        return output_like(0.0, self.name)

    def values(self, at: PreparedFormula[Categories], resamples: Resamples) -> FloatArray:
        """Return the entropies of the weighted shares, shape ``(B, 1)``."""
        categories = at.derived
        entropies = np.empty((len(resamples), 1))
        for b, (weights, total) in enumerate(zip(resamples.weights[0], resamples.totals(0), strict=True)):
            entropies[b] = np.sum(scipy.special.entr(_category_weights(categories, weights) / total))
        return entropies

    def influence(self, at: PreparedFormula[Categories]) -> Influence:
        """Return ``-log p - phi_hat`` of each row's category, shape ``(n, 1)``."""
        categories = at.derived
        surprise = -np.log(categories.shares)
        centred = surprise - categories.shares @ surprise
        return (centred[categories.codes, np.newaxis],)

    def second_order_bias(self, at: PreparedFormula[Categories], covariance: Covariance) -> FloatArray:
        """Return ``-(1/2) sum Var(p) / p - Cov(linear part, total weight)``.

        The second term is not zero where groups of unequal size are drawn whole: a share is then a quotient of two
        random sums.
        """
        categories = at.derived
        (influence,) = self.influence(at)
        joint = covariance((np.column_stack([influence, np.ones(len(influence))]),))
        return -np.sum(_share_variances(categories, covariance) / categories.shares) / 2 - joint[:1, 1]

    def derived(self, data: Data) -> Categories:
        """Return the categories of the rows of `data`."""
        _, codes, counts = np.unique(columns_of(data)[:, 0], return_inverse=True, return_counts=True)
        return Categories(codes, counts / len(codes))


def _category_weights(categories: Categories, weights: FloatArray) -> FloatArray:
    """Return the sum of the weights ``(n,)`` in each category, shape ``(d,)``."""
    return np.asarray(np.bincount(categories.codes, weights, minlength=len(categories.shares)), dtype=np.float64)


def _share_variances(categories: Categories, covariance: Covariance) -> FloatArray:
    """Return the variance of each category's share under the plan, to first order, shape ``(d,)``."""
    known = covariance.category_variances(0, categories.codes) if isinstance(covariance, KnowsCategories) else None
    return _variances_of_indicators(categories, covariance) if known is None else known


def _variances_of_indicators(categories: Categories, covariance: Covariance) -> FloatArray:
    d = len(categories.shares)
    variances = np.empty(d)
    for start in range(0, d, _CATEGORIES_AT_ONCE):
        some = slice(start, min(start + _CATEGORIES_AT_ONCE, d))
        is_member = categories.codes[:, np.newaxis] == np.arange(some.start, some.stop)
        variances[some] = np.diag(covariance((is_member - categories.shares[some],)))
    return variances


entropy = Entropy()
