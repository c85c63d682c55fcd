"""Least squares on rows that are read part by part, and the base class of all regressions on such rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from orthoboot.arrays.pairs import pair_columns, symmetric
from orthoboot.arrays.row_blocks import rows_times
from orthoboot.data import Data
from orthoboot.data.pieces import RowsInPieces, as_array
from orthoboot.draws.resamples import BlockWeights, Resamples
from orthoboot.errors import FitError, OrthobootWarning
from orthoboot.functionals.base import Covariance, Prepared
from orthoboot.functionals.evaluation import NO_FITS, Convergence, Evaluation, Failure
from orthoboot.functionals.output import Output, output_like
from orthoboot.functionals.regression.design_in_pieces import (
    Basis,
    Blocks,
    DesignInPieces,
)
from orthoboot.functionals.regression.design_matrix import RegressionArrays, arrays_of
from orthoboot.functionals.regression.exact_fit import residual_is_rounding
from orthoboot.functionals.regression.search_limits import LARGEST_TRACE, WELL_CONDITIONED
from orthoboot.solvers.positive_solution import positive_solution
from orthoboot.typing import FloatArray, Influence

Outcome = FloatArray | FitError
"""The coefficients on a resample, shape ``(d,)``, or why there are none."""

_COLUMNS_AT_ONCE = 64
"""Columns whose covariance is found in one pass: their products are to cost no more than reading the rows."""


@dataclass(frozen=True, eq=False)
class RegressionInPieces(Prepared[Any]):
    """A regression at data that are read part by part."""

    # As in memory, where it decides whether second differences are worth their evaluations.
    one_by_one = True

    @cached_property
    def design(self) -> DesignInPieces:
        """Return the columns and the response."""
        return DesignInPieces(self.functional.name, self.data, self.functional.intercept)

    @property
    def work(self) -> float | None:
        """Return how many rows added up cost as much as one refit, as in memory."""
        work: float | None = self.functional.work(self.data.sizes[0], len(self.design.names))
        return work

    def check(self) -> None:
        """Raise unless the data are X and y, with independent columns in X."""
        self.design.check()
        _ = self.design.factors

    @cached_property
    def output(self) -> Output:
        """Return a vector named after the columns of X."""
        names = self.design.names
        return output_like(np.zeros(len(names)), self.functional.name, names)

    def findings(self, convergence: Convergence = NO_FITS) -> tuple[OrthobootWarning, ...]:
        """Return a warning where the columns are nearly dependent, and where a coefficient rests on few rows."""
        return self.design.findings()

    @abstractmethod
    def outcomes(self, resamples: Resamples) -> list[Outcome]:
        """Return the coefficients on each resample, or why there are none."""

    def values(self, resamples: Resamples) -> FloatArray:
        """Return the coefficients on each resample, shape ``(B, d)``; raise if there are none on one of them."""
        return values_of(self.outcomes(resamples))

    def evaluate(self, resamples: Resamples) -> Evaluation:
        """Return the coefficients on each resample, or the reason of their failure."""
        return evaluation_of(self.outcomes(resamples), len(self.design.names))


def values_of(outcomes: Sequence[FloatArray | Exception]) -> FloatArray:
    """Return the coefficients on each resample, shape ``(B, d)``; raise why there are none on the first without."""
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
    return np.array(outcomes)


def evaluation_of(outcomes: Sequence[FloatArray | Exception], d: int) -> Evaluation:
    """Return the outcomes of refits with d coefficients as those of a statistic."""
    missing = np.full(d, np.nan)
    values = np.array([missing if isinstance(one, Exception) else one for one in outcomes])
    return Evaluation.of(values, [Failure.of(one) if isinstance(one, Exception) else None for one in outcomes])


@dataclass(frozen=True, eq=False)
class Residuals:
    """The residuals ``y - X b`` of rows; zeros where they are rounding in every row."""

    coefficients: FloatArray
    vanish: bool = False

    def __call__(self, arrays: RegressionArrays) -> FloatArray:
        """Return the residuals of some rows, shape ``(m,)``."""
        if self.vanish:
            return np.zeros(len(arrays.response))
        residuals: FloatArray = arrays.response - np.einsum("jp,p->j", arrays.X, self.coefficients)
        return residuals


@dataclass(frozen=True, eq=False)
class LinearFitInPieces(RegressionInPieces):
    r"""Least squares at data that are read part by part.

    One pass finds the triangle R of :math:`\sqrt{A} X = QR` and with it the coefficients, another the sums over
    resamples of the features :math:`q q'` and :math:`q e`, of which a refit is a function:
    :math:`\phi_b = \hat\phi + R^{-1} (\sum w qq')^{-1} \sum w q e`. As in memory, errors grow with the condition of X
    and not with its square. What is lost: a row of Q is computed as :math:`x R^{-1}`, whose rounding grows with the
    condition too, so that the last digits of ill-conditioned fits differ from those in memory.
    """

    @cached_property
    def estimate(self) -> FloatArray:
        """Return the coefficients of all rows, shape ``(d,)``."""
        factors = self.design.factors
        return factors.factor.coefficients(factors.rotated)

    @cached_property
    def residuals(self) -> Residuals:
        """Return the residuals, which are zero if they are rounding alone: an exact fit must not vary."""
        design, found = self.design, Residuals(self.estimate)
        task = partial(_part_is_exact, design.intercept, found)
        return Residuals(self.estimate, vanish=all(design.sample.reduced(task, 2 * len(self.estimate))))

    @cached_property
    def features(self) -> RowsInPieces:
        """Return ``q q'``, its upper triangle, and ``q e`` of the rows."""
        d = len(self.estimate)
        compute = partial(_features, self.design.basis, self.residuals)
        return RowsInPieces(self.design.sample, compute, d * (d + 1) // 2 + d)

    @property
    def mean_score(self) -> FloatArray:
        """Return the mean of ``q e``, which is zero but for rounding, shape ``(d,)``."""
        return self.features.means[-len(self.estimate) :]

    def outcomes(self, resamples: Resamples) -> list[Outcome]:
        """Return the coefficients on each resample, or why there are none."""
        d, weights = len(self.estimate), resamples.block_weights(0)
        sums = resamples.sums(0, as_array(self.features))
        products = symmetric(sums[:, :-d], d)
        return [self._refitted(products[b], sums[b, -d:], weights, b) for b in range(len(resamples))]

    def _refitted(self, products: FloatArray, scores: FloatArray, weights: BlockWeights, place: int) -> Outcome:
        rotated = positive_solution(products, scores, least_condition=WELL_CONDITIONED)
        if rotated is not None:
            return self.estimate + self.design.factors.factor.coefficients(rotated)
        # Here cross products would lose too many digits, if there is a fit at all.
        try:
            factors = self.design.factors_of_resample(weights, place, self.residuals)
        except FitError as error:
            return error
        return self.estimate + factors.factor.coefficients(factors.rotated)

    def influence(self) -> Influence:
        """Return ``n R^-1 q_j e_j`` for every row."""
        matrix = self.design.n_rows * self.design.basis.rotation.T
        compute = partial(_influence, self.design.basis, self.residuals, self.mean_score, matrix)
        return (as_array(RowsInPieces(self.design.sample, compute, len(matrix), is_centred=True)),)

    def linear(self, resamples: Resamples) -> FloatArray | None:
        """Return ``R^-1 sum_j weights_j q_j e_j``: the sums that the refits need, and no others."""
        sums = resamples.sums(0, as_array(self.features))[:, -len(self.estimate) :]
        changes = sums - resamples.totals(0)[:, np.newaxis] * self.mean_score
        # Row by row, so that a replicate does not depend on its batch.
        return np.array([self.design.basis.rotation @ change for change in changes])

    def second_order_bias(self, covariance: Covariance) -> FloatArray | None:
        """Return the mean of the second-order term of a refit, as `LinearFit` has it; None where it costs too much.

        Rows are drawn one by one, so that the total of the weights, of which it is a function too, does not vary.
        """
        n, d = self.design.n_rows, len(self.estimate)
        if n * d * (d + 1) ** 2 > LARGEST_TRACE:
            return None
        rotated = np.zeros(d)
        for chosen in some_columns(d):
            compute = partial(_paired_columns, self.design.basis, self.residuals, float(n), chosen)
            rows = RowsInPieces(self.design.sample, compute, (d + 1) * len(chosen))
            found = covariance((as_array(rows),))
            rotated -= sum(found[place * d : (place + 1) * d, d * len(chosen) + place] for place in range(len(chosen)))
        return self.design.factors.factor.coefficients(rotated)


def _part_is_exact(intercept: bool, residuals: Residuals, blocks: Blocks) -> bool:
    rows = (arrays_of(data, intercept=intercept) for _, data in blocks)
    return all(residual_is_rounding(one.X, one.response, residuals.coefficients, residuals(one)) for one in rows)


def _scaled_rows(basis: Basis, residuals: Residuals, data: Data) -> tuple[FloatArray, FloatArray]:
    """Return the columns of Q ``(d, m)`` and the residuals ``(m,)``, both times the roots of the case weights."""
    rows = basis(data)
    roots = np.sqrt(rows.case_weights)
    return np.ascontiguousarray(rows.basis.T) * roots, residuals(RegressionArrays(*rows[:3])) * roots


def _features(basis: Basis, residuals: Residuals, data: Data) -> FloatArray:
    columns, errors = _scaled_rows(basis, residuals, data)
    return np.concatenate([pair_columns(columns), columns * errors]).T


def _influence(
    basis: Basis, residuals: Residuals, mean_score: FloatArray, matrix: FloatArray, data: Data
) -> FloatArray:
    columns, errors = _scaled_rows(basis, residuals, data)
    return rows_times((columns * errors).T - mean_score, matrix)


def some_columns(d: int) -> Iterator[range]:
    """Yield the numbers of a few columns at a time, all pairs of which with all columns are found in one pass."""
    step = max(_COLUMNS_AT_ONCE // (d + 1), 1)
    return (range(start, min(start + step, d)) for start in range(0, d, step))


def _paired_columns(basis: Basis, residuals: Residuals, n: float, chosen: range, data: Data) -> FloatArray:
    """Return for some l the columns ``n q q_l``, d for each, and then ``n q_l e`` of all of them."""
    columns, errors = _scaled_rows(basis, residuals, data)
    some = columns[chosen.start : chosen.stop]
    pairs = (some[:, np.newaxis] * columns).reshape(-1, columns.shape[1])
    return n * np.concatenate([pairs, some * errors]).T
