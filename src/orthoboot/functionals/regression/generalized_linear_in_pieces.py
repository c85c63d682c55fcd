"""Generalised linear models on rows that are read part by part: every Newton step is a pass over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from orthoboot.arrays.pairs import pair_columns, symmetric
from orthoboot.arrays.row_blocks import rows_times
from orthoboot.data import Data
from orthoboot.data.pieces import RowsInPieces, as_array
from orthoboot.draws.resamples import BlockWeights, Resamples, UnitBlockWeights
from orthoboot.errors import FitError, OrthobootWarning
from orthoboot.functionals.base import Covariance
from orthoboot.functionals.evaluation import NO_FITS, Convergence
from orthoboot.functionals.regression.design_in_pieces import Blocks
from orthoboot.functionals.regression.design_matrix import RegressionArrays
from orthoboot.functionals.regression.exact_fit import residuals_are_rounding
from orthoboot.functionals.regression.families import FAMILIES, Family
from orthoboot.functionals.regression.linear_in_pieces import Outcome, RegressionInPieces, some_columns
from orthoboot.functionals.regression.losses_in_pieces import LossAt, LossesInPieces, RowLosses
from orthoboot.functionals.regression.search_limits import (
    LARGEST_TRACE,
    REGULAR,
    degenerate_responses,
    few_of_a_class,
    no_start,
    refused_responses,
)
from orthoboot.solvers.positive_solution import positive_solution
from orthoboot.typing import BoolArray, FloatArray, Influence


class FirstPass(NamedTuple):
    """Sums over all rows that are needed before there is a fit.

    Attributes
    ----------
    total, response
        The sums of the case weights, and of the responses times these.
    columns
        The sum of the rows of the basis times the case weights, shape ``(d,)``.
    target, information
        Both sides of the first step of Fisher's scoring, shapes ``(d,)`` and ``(d (d + 1) / 2,)``.
    n_positive, n_below_one
        How many responses are more than zero, and less than one.
    largest_row
        The length of the longest row of the basis.
    """

    total: float
    response: float
    columns: FloatArray
    target: FloatArray
    information: FloatArray
    n_positive: int
    n_below_one: int
    largest_row: float

    def joined(self, other: FirstPass) -> FirstPass:
        """Return the same of the rows of both."""
        return FirstPass(
            total=self.total + other.total,
            response=self.response + other.response,
            columns=self.columns + other.columns,
            target=self.target + other.target,
            information=self.information + other.information,
            n_positive=self.n_positive + other.n_positive,
            n_below_one=self.n_below_one + other.n_below_one,
            largest_row=max(self.largest_row, other.largest_row),
        )


@dataclass(frozen=True, eq=False)
class GlmFitInPieces(RegressionInPieces):
    """A generalised linear model at data that are read part by part.

    The fit takes one pass for each Newton step. Refits start at the fit plus the linear part, whose error is of the
    order 1/n, and take the steps of all resamples of a batch in the same passes: two from a million rows on, three for
    fewer. The counts of a block of rows are drawn anew in every pass, and nothing is held of all rows. All searches end
    by the rules of those in memory.
    """

    def check(self) -> None:
        """Raise unless the data are X and y, with independent columns in X and responses of the family in y."""
        design, name = self.design, self.functional.name
        design.check()
        low, high = design.response_range
        problem = self.family.response_problem(np.array([low, high]))
        if problem is not None and problem.broken.any():
            found = design.refused_responses(partial(_broken, self.family))
            raise refused_responses(name, self.functional.family, problem, *found)
        degeneracy = self.family.degeneracy_of_equal(design.n_rows, low) if low == high else None
        if degeneracy is not None:
            raise degenerate_responses(name, degeneracy)
        super().check()

    @property
    def family(self) -> Family:
        """Return the distribution of the response."""
        return FAMILIES[self.functional.family]

    @property
    def of_rows(self) -> RowLosses:
        """Return the loss of a row."""
        return RowLosses(self.design.basis, self.family, self.functional.link or self.family.links[0])

    def findings(self, convergence: Convergence = NO_FITS) -> tuple[OrthobootWarning, ...]:
        """Return the warnings of any regression, and one if a class has few rows."""
        found = super().findings(convergence)
        if self.functional.family != "binomial":
            return found
        # A proportion counts in both classes.
        first = self.first_pass
        return (*found, *few_of_a_class(self.functional.name, first.n_positive, first.n_below_one))

    @cached_property
    def first_pass(self) -> FirstPass:
        """Return the sums that are needed before there is a fit."""
        d = len(self.design.names)
        parts = self.design.sample.reduced(_FirstSums(self.of_rows, self.design.mean_response), 8 + d * (d + 1) // 2)
        total = next(parts)
        for part in parts:
            total = total.joined(part)
        return total

    def losses(self, weights: BlockWeights) -> LossesInPieces:
        """Return the mean losses for weights on the rows."""
        return LossesInPieces(
            self.design, self.of_rows, weights, self.design.mean_response, self.first_pass.largest_row
        )

    @cached_property
    def fit(self) -> FloatArray:
        """Return the coefficients of all rows in the orthonormal basis, shape ``(d,)``."""
        losses = self.losses(UnitBlockWeights())
        point: Outcome = self._first_point(losses)
        # Twice: what is negligible is measured where the search starts, and a first start may be far off.
        for _ in range(2):
            if not isinstance(point, FitError):
                (point,) = losses.minima([0], [point])
        if isinstance(point, FitError):
            raise FitError(f"`{self.functional.name}` has no fit on these data: {point}.") from point
        return point

    def _first_point(self, losses: LossesInPieces) -> Outcome:
        """Return where to start: one scoring step from the responses, or the best constant, whichever loses less."""
        first, d = self.first_pass, len(self.design.names)
        scoring = positive_solution(symmetric(first.information, d), first.target, least_condition=REGULAR)
        constant = self.family.predictor_of(np.array([first.response / first.total]), losses.of_rows.link)
        candidates = [point for point in (scoring, constant * first.columns) if point is not None]
        candidates = [point for point in candidates if np.isfinite(point).all()]
        heights = [found.value for found in losses.at([0] * len(candidates), candidates)] if candidates else []
        if not heights or not np.isfinite(min(heights)):
            return FitError(no_start(losses.of_rows.link))
        return candidates[int(np.argmin(heights))]

    @cached_property
    def at_fit(self) -> LossAt:
        """Return the loss of all rows at their fit, with its derivatives."""
        return self.losses(UnitBlockWeights()).at([0], [self.fit])[0]

    @cached_property
    def estimate(self) -> FloatArray:
        """Return the coefficients of all rows, shape ``(d,)``."""
        return self.design.factors.factor.coefficients(self.fit)

    @cached_property
    def is_exact(self) -> bool:
        """Return whether the fit leaves only rounding of every row, as it does of a constant response."""
        task = partial(_part_is_exact, self.of_rows, self.fit, np.abs(self.estimate))
        return all(self.design.sample.reduced(task, 8 + 2 * len(self.estimate)))

    @cached_property
    def by_score(self) -> FloatArray:
        """Return the matrix that gives the linear part of the coefficients from sums of scores, shape ``(d, d)``."""
        rotation = self.design.basis.rotation.T
        if self.is_exact:
            return np.zeros_like(rotation)
        found = positive_solution(self.at_fit.hessian, rotation, least_condition=REGULAR)
        if found is None:
            losses = self.at_fit.losses
            failure = losses.failure(losses.diagnosis([0], [self.fit]))
            raise FitError(f"`{self.functional.name}` has no influence function: {failure}.")
        return -found

    @cached_property
    def scores(self) -> RowsInPieces:
        """Return the rows of the basis times the slopes of their losses, and whether they are not zero and not one.

        The first d columns sum to zero, and to the gradient over the rows of a resample.
        """
        mean = self.at_fit.gradient / self.design.n_rows
        compute = partial(_scores, self.of_rows, self.fit, mean, self.first_pass.total)
        return RowsInPieces(self.design.sample, compute, len(self.fit) + 2)

    def influence(self) -> Influence:
        """Return ``-n H^-1 x_j l'_j`` for every row, H the observed Hessian; zeros where the fit is exact."""
        along = partial(_score_influence, self.design.n_rows * self.by_score)
        return (as_array(self.scores.mapped(along, len(self.fit), is_centred=True)),)

    @property
    def bias_is_cheap(self) -> bool:
        """Return True, as in memory."""
        return True

    def second_order_bias(self, covariance: Covariance) -> FloatArray | None:
        """Return the mean of the second-order term of a refit, as `MinimumAtWeights` has it; None where it costs much.

        Passes over the rows find the covariances of the columns of the Hessian with the linear part, some columns at a
        time, the covariance of the linear part, and the sum of the third derivatives.
        """
        n, d = self.design.n_rows, len(self.fit)
        if n * d * (d + 1) ** 2 > LARGEST_TRACE:
            return None
        if self.is_exact:
            return np.zeros(d)
        rows = _SecondOrder(self.of_rows, self.fit, self.first_pass.total)
        inverse = positive_solution(self.at_fit.hessian, np.eye(d), least_condition=REGULAR)
        if inverse is None:
            return None
        moves = self.scores.mapped(partial(_score_influence, -n * inverse), d, is_centred=True)
        bent = rows.bent(covariance((as_array(moves),)))
        total = sum(self.design.sample.reduced(bent, 2 * d), start=np.zeros(d)) / 2
        for chosen in some_columns(d):
            hessians = RowsInPieces(self.design.sample, partial(rows.hessians, n, chosen), d * len(chosen))
            some = moves.columns_at(slice(chosen.start, chosen.stop))
            found = covariance((as_array(hessians.beside(some)),))
            total += sum(found[place * d : (place + 1) * d, d * len(chosen) + place] for place in range(len(chosen)))
        return self.design.factors.factor.coefficients(-inverse @ total)

    def linear(self, resamples: Resamples) -> FloatArray | None:
        """Return ``-H^-1 sum_j weights_j x_j l'_j``: the sums from which the refits start, and no others."""
        sums = resamples.sums(0, as_array(self.scores))
        # Row by row, so that a replicate does not depend on its batch.
        return np.array([self.by_score.T @ scores[: len(self.fit)] for scores in sums])

    def outcomes(self, resamples: Resamples) -> list[Outcome]:
        """Return the coefficients on each resample, or why there are none."""
        losses = self.losses(resamples.block_weights(0))
        if self.is_exact:
            return [self._unchanged(losses, b) for b in range(len(resamples))]
        sums = resamples.sums(0, as_array(self.scores))
        degenerate = {b: error for b in range(len(resamples)) if (error := self._degeneracy(losses, b, sums[b]))}
        places = [b for b in range(len(resamples)) if b not in degenerate]
        found: dict[int, Outcome] = {**degenerate, **self._refitted(losses, places, sums)}
        return [self._coefficients(found[b]) for b in range(len(resamples))]

    def _refitted(self, losses: LossesInPieces, places: list[int], sums: FloatArray) -> dict[int, Outcome]:
        d = len(self.fit)
        changes = {b: positive_solution(self.at_fit.hessian, -sums[b, :d], least_condition=REGULAR) for b in places}
        starts = [self.fit if change is None else self.fit + change for change in changes.values()]
        found = dict(zip(places, losses.minima(places, starts), strict=True))
        # Far from the fit the linear part may lead astray, so that failures are those of a search from the fit itself.
        failed = [b for b in places if isinstance(found[b], FitError)]
        return {**found, **dict(zip(failed, losses.minima(failed, [self.fit] * len(failed)), strict=True))}

    def _degeneracy(self, losses: LossesInPieces, place: int, sums: FloatArray) -> FitError | None:
        """Return the error of a resample whose responses are all zero, or all one, where that has no fit."""
        for response, others in enumerate(sums[len(self.fit) :]):
            if others == 0 and self.family.degeneracy_of_equal(1, response) is not None:
                n_rows = int(losses.diagnosis([place], [self.fit]).n_rows[0])
                return FitError(self.family.degeneracy_of_equal(n_rows, response))
        return None

    def _unchanged(self, losses: LossesInPieces, place: int) -> Outcome:
        """Return the coefficients of an exact fit, which every resample has that determines them."""
        try:
            self.design.factors_of_resample(losses.weights, place, _zeros)
        except FitError as error:
            return error
        return self.estimate

    def _coefficients(self, found: Outcome) -> Outcome:
        if isinstance(found, FitError):
            return FitError(f"`{self.functional.name}` has no fit on a resample: {found}")
        return self.design.factors.factor.coefficients(found)


@dataclass(frozen=True, eq=False)
class _SecondOrder:
    """Derivatives of the rows' losses at the fit, of which the bias of second order is made."""

    of_rows: RowLosses
    point: FloatArray
    total: float

    def hessians(self, n_rows: int, chosen: range, data: Data) -> FloatArray:
        """Return for some l the columns ``n a l'' q q_l``, d for each, over the total of the case weights a."""
        rows = self.of_rows.basis(data)
        losses = self.of_rows.family.losses(rows.response, rows.basis @ self.point, self.of_rows.link)
        factors = n_rows * rows.case_weights * losses.curvature / self.total
        some = rows.basis[:, chosen.start : chosen.stop] * factors[:, np.newaxis]
        return (some[:, :, np.newaxis] * rows.basis[:, np.newaxis]).reshape(len(some), -1)

    def bent(self, spread: FloatArray) -> Callable[[Blocks], FloatArray]:
        """Return the sum over the blocks of a part of ``a l''' (q'Cq) q``, over the total, for a covariance C."""
        return partial(self._bent, spread)

    def _bent(self, spread: FloatArray, blocks: Blocks) -> FloatArray:
        total = np.zeros(len(self.point))
        for _, data in blocks:
            rows = self.of_rows.basis(data)
            third = self.of_rows.family.third_derivative(rows.response, rows.basis @ self.point, self.of_rows.link)
            variances = np.einsum("jp,jp->j", rows.basis @ spread, rows.basis)
            total += (rows.case_weights * third * variances) @ rows.basis / self.total
        return total


def _broken(family: Family, response: FloatArray) -> BoolArray:
    problem = family.response_problem(response)
    assert problem is not None
    return problem.broken


def _zeros(rows: RegressionArrays) -> FloatArray:
    return np.zeros(len(rows.response))


@dataclass(frozen=True, eq=False)
class _FirstSums:
    """What a part has of a `FirstPass`."""

    of_rows: RowLosses
    typical: float

    def __call__(self, blocks: Blocks) -> FirstPass:
        """Return the sums over the blocks of a part."""
        d = len(self.of_rows.basis.rotation)
        total = FirstPass(0.0, 0.0, np.zeros(d), np.zeros(d), np.zeros(d * (d + 1) // 2), 0, 0, 0.0)
        for _, data in blocks:
            total = total.joined(self._of(data))
        return total

    def _of(self, data: Data) -> FirstPass:
        family, link = self.of_rows.family, self.of_rows.link
        _, response, case_weights, basis = self.of_rows.basis(data)
        eta = family.first_predictor(response, link, self.typical)
        losses = family.losses(response, eta, link)
        return FirstPass(
            total=float(case_weights.sum()),
            response=float(case_weights @ response),
            columns=case_weights @ basis,
            target=(case_weights * (losses.information * eta - losses.slope)) @ basis,
            information=pair_columns(np.ascontiguousarray(basis.T)) @ (case_weights * losses.information),
            n_positive=int(np.count_nonzero(response > 0)),
            n_below_one=int(np.count_nonzero(response < 1)),
            largest_row=float(np.sqrt(np.einsum("jp,jp->j", basis, basis).max(initial=0.0))),
        )


def _part_is_exact(of_rows: RowLosses, point: FloatArray, sizes: FloatArray, blocks: Blocks) -> bool:
    for _, data in blocks:
        rows = of_rows.basis(data)
        eta = np.einsum("jp,p->j", rows.basis, point)
        losses = of_rows.family.losses(rows.response, eta, of_rows.link)
        # All losses are linear in the response.
        twice = of_rows.family.losses(2 * rows.response, eta, of_rows.link)
        of_response, of_predictor = twice.slope - losses.slope, np.abs(rows.X) @ sizes
        if not residuals_are_rounding(losses.slope, losses.information, of_response, of_predictor, len(sizes)):
            return False
    return True


def _scores(of_rows: RowLosses, point: FloatArray, mean: FloatArray, total: float, data: Data) -> FloatArray:
    rows = of_rows.basis(data)
    eta = np.einsum("jp,p->j", rows.basis, point)
    slope = of_rows.family.losses(rows.response, eta, of_rows.link).slope
    scores = np.ascontiguousarray(rows.basis.T) * (rows.case_weights * slope / total) - mean[:, np.newaxis]
    return np.vstack([scores, rows.response != 0, rows.response != 1]).T


def _score_influence(matrix: FloatArray, scores: FloatArray) -> FloatArray:
    return rows_times(scores[:, : len(matrix)], matrix)
