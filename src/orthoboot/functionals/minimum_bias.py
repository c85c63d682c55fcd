"""The bias of second order of parameters that minimise a weighted loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from orthoboot.functionals.base import Covariance, KnowsCounts
from orthoboot.functionals.regression.row_losses import RowLosses
from orthoboot.functionals.regression.search_limits import LARGEST_TRACE, REGULAR
from orthoboot.solvers.positive_solution import positive_solution
from orthoboot.typing import FloatArray

SlopeBend = Callable[[FloatArray], FloatArray | None]
"""Takes covariances of the predictors ``(n, q, q)`` and returns `LossFunction.slope_bend` at the fit."""


@dataclass(frozen=True, eq=False)
class MinimumAtWeights:
    r"""Parameters that minimise the weighted mean of the rows' losses and a penalty, near their fit to all rows.

    They solve :math:`\sum_j w_j s_j(\theta) = 0`, :math:`s_j = c_j D_j'\ell'_j + Q\theta + l`, with predictors
    :math:`\eta_j = D_j\theta`. At weights 1 + :math:`\delta` the parameters change by :math:`t = \sum_j\delta_j I_j/n`,
    with :math:`I_j = -A^{-1} s_j`, and to second order by

    .. math:: -A^{-1}\Big\{\frac1n\sum_j \delta_j H_j\,t
              + \frac1{2n}\sum_j c_j D_j'\,\ell'''_j[D_j t, D_j t]\Big\}, \qquad
              H_j = c_j D_j'\ell''_j D_j + Q, \quad A = \frac1n\sum_j H_j,

    whose mean under the plan is the bias, with C the covariance of t:

    .. math:: -A^{-1}\Big\{\frac1n\sum_j H_j \operatorname{Cov}(w_j, t)
              + \frac1{2n}\sum_j c_j D_j'\,\ell'''_j[D_j C D_j']\Big\}.

    For n rows that are drawn independently :math:`\operatorname{Cov}(w_j, t) = I_j/n` and
    :math:`C = \sum_j I_j I_j'/n^2`: about as many products as one step of a refit takes. As in Cox and Snell (1968,
    Journal of the Royal Statistical Society B 30), with the law of the rows in place of a model.

    Attributes
    ----------
    columns
        The columns of D that make each of the q predictors, shape ``(n, p_k)``; the parameters of the predictors come
        one after the other.
    factors
        c, what the losses of the rows are multiplied with, shape ``(n,)``.
    losses
        Of the rows at the fit, with derivatives by the predictors.
    penalty_gradient, penalty_hessian
        ``Q theta + l`` at the fit, shape ``(p,)``, and Q, shape ``(p, p)``.
    """

    columns: tuple[FloatArray, ...]
    factors: FloatArray
    losses: RowLosses
    penalty_gradient: FloatArray
    penalty_hessian: FloatArray

    def second_order_bias(self, covariance: Covariance, slope_bend: SlopeBend) -> FloatArray | None:
        """Return the bias of the parameters, shape ``(p,)``.

        None where the Hessian is singular, where the losses have no third derivative, or where the plan knows no
        covariance with the counts of rows, as for blocks, and it would cost too much without.
        """
        influence = self._influence
        if influence is None:
            return None
        with_counts = covariance_with_counts(covariance, influence)
        if with_counts is None:
            crossed, spread = self._crossed_by_columns(covariance, influence), covariance((influence,))
        else:
            crossed, spread = self._crossed(with_counts), influence.T @ with_counts / len(influence)
        bend = slope_bend(self._spread_of_predictors(spread))
        if crossed is None or bend is None:
            return None
        return self._solution(-crossed - self._mean(bend) / 2)

    @cached_property
    def _places(self) -> tuple[slice, ...]:
        """Return where the parameters of each predictor are among all."""
        ends = list(accumulate(part.shape[1] for part in self.columns))
        return tuple(slice(start, end) for start, end in zip([0, *ends], ends, strict=False))

    @property
    def _influence(self) -> FloatArray | None:
        """Return I, shape ``(n, p)``."""
        slopes = self.factors[:, np.newaxis] * self.losses.slope
        parts = [part * slope[:, np.newaxis] for part, slope in zip(self.columns, slopes.T, strict=True)]
        scores = np.concatenate(parts, axis=1) + self.penalty_gradient
        solved = self._solution(np.eye(scores.shape[1]))
        if solved is None:
            return None
        influence: FloatArray = -scores @ solved
        influence -= influence.mean(axis=0)
        return influence

    def _solution(self, right: FloatArray) -> FloatArray | None:
        """Return ``A^-1 right``; None where A is singular."""
        return positive_solution(self._hessian, right, least_condition=REGULAR)

    @cached_property
    def _hessian(self) -> FloatArray:
        """Return A, shape ``(p, p)``."""
        curvature = self._curvature / len(self.factors)
        blocks = [
            [part.T @ (curvature[:, k, m, np.newaxis] * other) for m, other in enumerate(self.columns)]
            for k, part in enumerate(self.columns)
        ]
        hessian: FloatArray = np.block(blocks) + self.penalty_hessian
        return hessian

    @property
    def _curvature(self) -> FloatArray:
        """Return ``c l''``, shape ``(n, q, q)``."""
        return self.factors[:, np.newaxis, np.newaxis] * self.losses.curvature

    def _crossed(self, with_counts: FloatArray) -> FloatArray:
        """Return the mean of ``H_j Cov(w_j, t)``, shape ``(p,)``."""
        pairs = zip(self.columns, self._places, strict=True)
        along = np.stack([np.einsum("jp,jp->j", part, with_counts[:, own]) for part, own in pairs], axis=1)
        bent = np.einsum("jab,jb->ja", self.losses.curvature, along)
        crossed: FloatArray = self._mean(bent) + self.penalty_hessian @ with_counts.mean(axis=0)
        return crossed

    def _crossed_by_columns(self, covariance: Covariance, influence: FloatArray) -> FloatArray | None:
        """Return the same by covariances of columns of ``H_j`` with t: for every plan, with p times the products."""
        n, p = influence.shape
        if n * p * (p + 1) ** 2 > LARGEST_TRACE:
            return None
        pairs = enumerate(self._columns_of_hessians())
        found = [covariance((np.column_stack([columns, influence[:, r]]),))[:p, p] for r, columns in pairs]
        return np.asarray(np.sum(found, axis=0))

    def _columns_of_hessians(self) -> Iterator[FloatArray]:
        """Yield for each parameter its column of ``H_j``, shape ``(n, p)``."""
        number, curvature = 0, self._curvature
        for m, part in enumerate(self.columns):
            for column in part.T:
                rows = [own * (curvature[:, k, m] * column)[:, np.newaxis] for k, own in enumerate(self.columns)]
                yield np.concatenate(rows, axis=1) + self.penalty_hessian[:, number]
                number += 1

    def _spread_of_predictors(self, spread: FloatArray) -> FloatArray:
        """Return ``D_j C D_j'`` for every row, shape ``(n, q, q)``."""
        pairs = list(zip(self.columns, self._places, strict=True))
        rows = [[np.einsum("jp,jp->j", part @ spread[own, of], other) for other, of in pairs] for part, own in pairs]
        return np.moveaxis(np.array(rows), 2, 0)

    def _mean(self, values: FloatArray) -> FloatArray:
        """Return the mean of ``c_j D_j' v_j`` for values v of the predictors ``(n, q)``, shape ``(p,)``."""
        weighted = self.factors[:, np.newaxis] * values / len(values)
        return np.concatenate([part.T @ own for part, own in zip(self.columns, weighted.T, strict=True)])


def covariance_with_counts(covariance: object, influence: FloatArray) -> FloatArray | None:
    """Return ``Cov(counts) @ influence / n`` for the rows of one sample, ``(n, p)``; None where it is not known."""
    return covariance.with_counts(0, influence) if isinstance(covariance, KnowsCounts) else None
