"""M-estimation of a linear regression with an estimated scale, refitted with weights on the rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from orthoboot.arrays.row_blocks import rows_times
from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import FitError
from orthoboot.functionals.regression.linear import CatalogueRegression, LeastSquares, PreparedRegression
from orthoboot.functionals.surrogate import LinearOutputs
from orthoboot.models.statsmodels.robust_scales import FixedScale, Scale
from orthoboot.models.statsmodels.robust_steps import RobustSteps
from orthoboot.solvers.cross_products import CrossProducts
from orthoboot.solvers.positive_solution import positive_solution
from orthoboot.typing import FloatArray, Influence

_STEP = 1e-11
"""Of the scale: fitted values that move by no more have settled."""
_ROUNDING, _NO_SCALE = 64 * float(np.finfo(np.float64).eps), 1e-12
"""Of the responses: what rounding may change in a residual, and a scale that is nothing but such changes."""
_MAX_ITERATIONS = 500
_REGULAR = 1e-12
"""Reciprocal condition of the derivative of the equations below which the coefficients are not determined."""


@dataclass(frozen=True)
class RobustEstimate:
    """Coefficients, shape ``(d,)``, and the scale that goes with them."""

    coefficients: FloatArray
    scale: float


@dataclass(frozen=True, eq=False)
class RobustRegression(CatalogueRegression):
    r"""The coefficients of an M-estimation with a scale, as ``RLM`` in statsmodels and ``rlm`` in R's MASS.

    .. math:: \sum_j \psi\Big(\frac{y_j - x_j'\phi}{s}\Big) x_j = 0, \qquad
              I_j = n\,s \Big(\sum_i \psi'_i\,x_i x_i'\Big)^{-1} x_j\,\psi_j.

    The implicit function theorem, with the scale s held fixed: what a row does to the coefficients through the scale is
    of the size of :math:`\sum_i \psi'_i u_i x_i`, u the residuals over s, which is near zero for errors that are
    symmetric. Refits do estimate the scale anew, so that the replicates judge what is left out; they are reweighted
    least squares from the fit of all rows, in the same orthonormal basis as `linear_regression`.

    Parameters
    ----------
    norm
        What says how residuals count: ``weights(u) = psi(u) / u``, ``psi(u)`` and ``psi_deriv(u)``.
    scale
        How the scale is estimated.
    start, start_scale
        Where iterations on the data start: of several solutions, as redescending norms have them, the one near it.
    """

    norm: Any
    scale: Scale
    start: FloatArray = field(repr=False)
    start_scale: float = field(repr=False)
    intercept: bool = False
    name: str = "RLM"
    batched = False

    def at(self, data: Data) -> RobustFit:
        """Return the regression at `data`, not checked yet."""
        return RobustFit(self, data)


@dataclass(frozen=True, eq=False)
class RobustFit(PreparedRegression[RobustRegression]):
    """An M-estimation with a scale at its data."""

    @property
    def influence_source(self) -> str:
        """Return a description of the source of the influence function and what it ignores."""
        held = "" if isinstance(self.functional.scale, FixedScale) else ", the scale held fixed"
        return f"estimating equations of `{self.functional.name}`{held}"

    def values(self, resamples: Resamples) -> FloatArray:
        """Return the coefficients on each resample, shape ``(B, d)``."""
        return np.array([self._solved(weights, self.solution).coefficients for weights in resamples.weights[0]])

    def influence(self) -> Influence:
        """Return ``n s A^-1 x_j psi_j`` for every row, A the derivative of the equations."""
        norm, solution, factor = self.functional.norm, self.solution, self.least_squares.factor
        standardized = _residuals(self.least_squares, solution.coefficients) / solution.scale
        slopes = np.asarray(norm.psi_deriv(standardized), dtype=np.float64)
        derivative = CrossProducts(factor.orthonormal)(slopes)
        by_score = positive_solution(derivative, factor.back_rotation().T, least_condition=_REGULAR)
        if by_score is None:
            raise FitError(
                f"`{self.functional.name}` has no influence function: too few residuals lie where the psi "
                f"function of {type(norm).__name__} increases, so some coefficients are not determined. Choose a "
                "wider norm."
            )
        psi = np.asarray(norm.psi(standardized), dtype=np.float64)
        scores = factor.orthonormal * (psi * solution.scale)[:, np.newaxis]
        influence = len(scores) * rows_times(scores, by_score)
        return (influence - influence.mean(axis=0),)

    @cached_property
    def surrogate(self) -> RobustSteps:
        """Return the first Newton steps of the refits, with the scale that goes with them."""
        factor = self.least_squares.factor
        return RobustSteps(
            norm=self.functional.norm,
            scale=self.functional.scale,
            residuals=_residuals(self.least_squares, self.solution.coefficients),
            basis=factor.orthonormal,
            start_scale=self.solution.scale,
            outputs=LinearOutputs(factor.back_rotation(), self.solution.coefficients),
        )

    @cached_property
    def solution(self) -> RobustEstimate:
        """Return the fit of all rows."""
        start = RobustEstimate(self.functional.start, self.functional.start_scale)
        try:
            return self._solved(np.ones(self.data.sizes[0]), start)
        except FitError as error:
            raise FitError(f"`{self.functional.name}` has no fit on these data: {error}.") from error

    @cached_property
    def least_squares(self) -> LeastSquares:
        """Return the fit of all rows by least squares, in whose basis the steps are made."""
        return LeastSquares.of(self.rows, self.factor)

    def _solved(self, weights: FloatArray, start: RobustEstimate) -> RobustEstimate:
        """Return the solution for weights on the rows: reweighted least squares and scale, turn by turn."""
        fit, norm = self.least_squares, self.functional.norm
        kept, size = weights > 0, float(np.abs(fit.rows.response).max())
        coefficients, scale = start.coefficients, start.scale
        residuals = _residuals(fit, coefficients)
        for _ in range(_MAX_ITERATIONS):
            if not scale > _NO_SCALE * size:
                raise FitError("the scale is zero, since half of the rows or more are fitted without error")
            coefficients = fit.refitted(weights * norm.weights(residuals / scale))
            previous, residuals = residuals, _residuals(fit, coefficients)
            previous_scale, scale = scale, self.functional.scale.updated(residuals[kept], weights[kept], scale)
            moved = max(float(np.abs(residuals - previous)[kept].max()), abs(scale - previous_scale))
            if moved <= _STEP * scale + _ROUNDING * size:
                return RobustEstimate(coefficients, scale)
        raise FitError(f"coefficients and scale did not settle in {_MAX_ITERATIONS} steps of reweighted least squares")


def _residuals(fit: LeastSquares, coefficients: FloatArray) -> FloatArray:
    residuals: FloatArray = fit.rows.response - np.einsum("jp,p->j", fit.rows.X, coefficients)
    return residuals
