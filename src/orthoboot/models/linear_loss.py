"""Penalised losses of linear predictors: their gradients by row, their Hessians and their minima."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from orthoboot.errors import FitError
from orthoboot.functionals.regression.exact_fit import residuals_are_rounding
from orthoboot.functionals.regression.row_losses import LossFunction, RowLosses
from orthoboot.optimisation.newton import newton_minimum_of
from orthoboot.solvers import Cholesky, DenseOperator, FactoredMatrix, triangular_factors
from orthoboot.typing import BoolArray, FloatArray

_CAUSES = (
    "Likely causes: collinear columns, fewer rows than parameters, or a response that the columns separate. Drop or "
    "combine columns, or penalise the fit."
)

_NO_PULL = 1e-13
"""Largest gradient of the penalty, relative to that of the loss, that is negligible."""


def _finite(numbers: FloatArray) -> FloatArray:
    """Return numbers of a least-squares fit; raise a `FitError` unless they are finite."""
    if not np.isfinite(numbers).all():
        raise FitError("least squares overflowed: the columns or the response are too large; scale them")
    return numbers


@dataclass(frozen=True, eq=False)
class PenalisedLoss:
    r"""The weighted mean of a loss of linear predictors, with a penalty that is not resampled.

    .. math:: \frac{\sum_j w_j c_j\,\ell(y_j, \eta_j)}{\sum_j w_j} + \tfrac12 \theta'Q\theta + l'\theta, \qquad
              \eta_{jk} = d_{jk}'\theta_k,

    the parameters of the q predictors one after the other in :math:`\theta`.

    Attributes
    ----------
    row_loss
        The loss of a row.
    response
        Shape ``(n,)``.
    designs
        For each predictor the columns that make it, shape ``(n, p_k)``.
    quadratic, linear
        The penalty: Q, shape ``(p, p)``, and l, shape ``(p,)``.
    names
        Of the parameters.
    factors
        What the losses of the rows are multiplied with, shape ``(n,)``.
    free
        Which parameters the data may move, shape ``(p,)``; the others are held where they are.
    n_predictors
        How many of the predictors, counted from the first one, have the columns of X, which come first in their
        designs.
    """

    row_loss: LossFunction
    response: FloatArray
    designs: tuple[FloatArray, ...]
    quadratic: FloatArray
    linear: FloatArray
    names: tuple[str, ...]
    factors: FloatArray
    free: BoolArray
    n_predictors: int = 1
    _ends: list[int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ends", np.cumsum([design.shape[1] for design in self.designs])[:-1].tolist())

    def at(self, theta: FloatArray, weights: FloatArray) -> LossAt:
        """Return the loss of weighted rows at parameters."""
        return LossAt(self, theta, weights)

    def scores(self, theta: FloatArray) -> FloatArray:
        """Return the gradients of the rows' losses, the penalty's in each, shape ``(n, p)``."""
        slopes = self.factors[:, np.newaxis] * self.row_losses(theta).slope
        rows = [design * slope[:, np.newaxis] for design, slope in zip(self.designs, slopes.T, strict=True)]
        return np.concatenate(rows, axis=1) + self.penalty_gradient(theta)

    def is_exact(self, theta: FloatArray) -> bool:
        """Return whether rounding alone is left of every row at `theta`, and of the penalty: no weights move it."""
        if not self.row_loss.linear_in_response or len(self.designs) > 1:
            return False
        (design,) = self.designs
        _, slope, curvature = self.row_losses(theta)
        twice = self.row_loss(2 * self.response, (design @ theta)[:, np.newaxis]).slope
        sizes = np.abs(design) @ np.abs(theta)
        parts = slope[:, 0], curvature[:, 0, 0], (twice - slope)[:, 0], sizes
        return residuals_are_rounding(*parts, len(theta)) and self._penalty_is_flat(theta, np.abs(twice - slope)[:, 0])

    def _penalty_is_flat(self, theta: FloatArray, of_response: FloatArray) -> bool:
        """Return whether the penalty's gradient is negligible against that of the loss."""
        pull = np.abs(self.designs[0]).T @ of_response / len(of_response)
        return bool(np.all(np.abs(self.penalty_gradient(theta)) <= _NO_PULL * pull))

    def hessian(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the Hessian, shape ``(p, p)``."""
        return self.at(theta, weights).hessian()

    def gradient_by_columns(self, theta: FloatArray, changes: FloatArray) -> FloatArray:
        """Return the derivative of the gradient, at equal weights, by changes of the columns of X.

        Parameters
        ----------
        theta
            Shape ``(p,)``.
        changes
            Of the d columns of X, shape ``(n, d)``.

        Returns
        -------
        derivative
            Shape ``(p, d)``.
        """
        _, slope, curvature = self.row_losses(theta)
        shares = self.factors / len(self.factors)
        d = changes.shape[1]
        moves = [changes * part[:d] for part in np.split(theta, self._ends)[: self.n_predictors]]
        blocks = []
        for k, design in enumerate(self.designs):
            along = sum((shares * curvature[:, k, m])[:, np.newaxis] * move for m, move in enumerate(moves))
            blocks.append(design.T @ along)
            if k < self.n_predictors:
                blocks[k][:d] += np.diag((shares * slope[:, k]) @ changes)
        return np.concatenate(blocks)

    def minimum(self, start: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the parameters that minimise the loss over the free ones, to rounding.

        Raise a `FitError` where the search does not end there, or would change the sign of a parameter whose penalty
        is linear: another set of them is then the solution's.
        """
        if not self.free.any():
            return start
        if self.row_loss.is_quadratic:
            theta = self._least_squares(start, weights)
            self._check_signs(theta)
            return theta

        found = newton_minimum_of(
            lambda part: self.at(self._with_free(start, part), weights), start[self.free], tolerance=0.0
        )
        if not found.converged:
            raise FitError(
                "Newton's method found no minimum from where the fit ended; none exists if the classes are separable "
                "or the fit is exact"
            )
        theta = self._with_free(start, found.point)
        self._check_signs(theta)
        return theta

    def _least_squares(self, start: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the minimum of a loss that is quadratic: one step, and one more for its rounding.

        There is nothing to search for, and of an exact fit no value by which a search could tell that it has ended.
        """
        theta, factor = start, self.at(start, weights).factor()
        for _ in range(2):
            with np.errstate(over="ignore", invalid="ignore"):
                gradient = _finite(self.at(theta, weights).gradient)
                theta = self._with_free(theta, _finite(theta[self.free] - factor.solve(gradient)))
        return theta

    def _with_free(self, theta: FloatArray, part: FloatArray) -> FloatArray:
        """Return parameters with others in place of the free ones."""
        result = theta.copy()
        result[self.free] = part
        return result

    def _check_signs(self, theta: FloatArray) -> None:
        """Raise where a parameter has another sign than the one that its linear penalty was written for."""
        changed = np.flatnonzero(theta * self.linear < 0)
        if changed.size:
            raise FitError(
                f"{', '.join(self.names[position] for position in changed)} changed sign between the fit and the "
                "minimum with the same nonzero parameters, so that the L1 penalty selects others; lower `tol` of the "
                "estimator"
            )

    def row_losses(self, theta: FloatArray) -> RowLosses:
        """Return the losses of the rows, without their factors."""
        parts = np.split(theta, self._ends)
        predictors = np.stack([design @ part for design, part in zip(self.designs, parts, strict=True)], axis=1)
        return self.row_loss(self.response, predictors)

    def penalty_gradient(self, theta: FloatArray) -> FloatArray:
        """Return the gradient of the penalty, shape ``(p,)``."""
        gradient: FloatArray = self.quadratic @ theta + self.linear
        return gradient


@dataclass(frozen=True, eq=False)
class LossAt:
    """A penalised loss of weighted rows at parameters, as Newton's method asks for it.

    The losses of the rows are computed once, for the value and its derivatives alike.

    Attributes
    ----------
    loss
        The loss.
    theta
        All parameters, shape ``(p,)``.
    weights
        Those of the rows, shape ``(n,)``.
    """

    loss: PenalisedLoss
    theta: FloatArray
    weights: FloatArray

    @cached_property
    def value(self) -> float:
        """Return the objective."""
        penalty = self.theta @ self.loss.quadratic @ self.theta / 2 + self.loss.linear @ self.theta
        return float(self._shares @ self._losses.value + penalty)

    @cached_property
    def gradient(self) -> FloatArray:
        """Return the gradient by the free parameters, as many as there are of them."""
        slopes = (self._shares[:, np.newaxis] * self._losses.slope).T
        sums = [slope @ design for design, slope in zip(self.loss.designs, slopes, strict=True)]
        gradient: FloatArray = (np.concatenate(sums) + self.loss.penalty_gradient(self.theta))[self.loss.free]
        return gradient

    def hessian(self) -> FloatArray:
        """Return the Hessian by all parameters, shape ``(p, p)``."""
        curvature = self._shares[:, np.newaxis, np.newaxis] * self._losses.curvature
        designs = self.loss.designs
        blocks = [
            [design.T @ (curvature[:, k, m, np.newaxis] * other) for m, other in enumerate(designs)]
            for k, design in enumerate(designs)
        ]
        hessian: FloatArray = np.block(blocks) + self.loss.quadratic
        return hessian

    def factor(self) -> FactoredMatrix:
        """Return the Hessian of the free parameters ready for solving; raise a `FitError` where it is singular."""
        free = np.flatnonzero(self.loss.free)
        if not free.size:
            raise FitError("the penalty sets all parameters to zero")
        names = tuple(self.loss.names[position] for position in free)
        hessian = self.hessian()[np.ix_(free, free)]
        try:
            return Cholesky().factor(DenseOperator(hessian, names=names, singular_causes=_CAUSES))
        except FitError:
            factors = self._factors_of_columns()
            if factors is None:
                raise
            return factors

    def step(self) -> FloatArray:
        """Return Newton's step of the free parameters."""
        return -self.factor().solve(self.gradient)

    def _factors_of_columns(self) -> FactoredMatrix | None:
        """Return the Hessian factored without its products, or None where that is no sum of squares or singular too."""
        quadratic, designs, curvature = self.loss.quadratic, self.loss.designs, self._losses.curvature
        diagonal = np.diagonal(quadratic)
        if len(designs) > 1 or np.any(quadratic != np.diag(diagonal)) or not np.all(curvature >= 0):
            return None
        roots = np.sqrt(self._shares * curvature[:, 0, 0])
        columns = np.vstack([roots[:, np.newaxis] * designs[0], np.diag(np.sqrt(diagonal))])
        return triangular_factors(columns[:, self.loss.free])

    @cached_property
    def _shares(self) -> FloatArray:
        shares: FloatArray = self.weights / self.weights.sum() * self.loss.factors
        return shares

    @cached_property
    def _losses(self) -> RowLosses:
        return self.loss.row_losses(self.theta)
