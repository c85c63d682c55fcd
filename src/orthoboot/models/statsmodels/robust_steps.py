"""The first Newton steps of the refits of a robust regression, with the scale of each resample."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from orthoboot.arrays.products import product_alike
from orthoboot.functionals.regression.newton_surrogate import CrossProductsOfMany, in_cache
from orthoboot.functionals.surrogate import Outputs, Surrogate
from orthoboot.models.statsmodels.robust_scales import Scale
from orthoboot.optimisation.first_steps import STEPS, Steps, ends_of_first_steps
from orthoboot.solvers.side_by_side import positive_solutions
from orthoboot.typing import FloatArray, IntArray

_OPERATIONS_OF_A_ROW = 100
"""What the norm of a residual and its place among the others cost, in multiplications."""
_CALLS_OF_A_REFIT = 1.5e7
"""What the calls of a refit cost beyond its arithmetic, in operations: three milliseconds."""
_NEGLIGIBLE = 1e-5
"""Of the first decrement: from there on less than a hundredth of the change of the coefficients is to come."""


@dataclass(frozen=True, eq=False)
class RobustSteps(Surrogate):
    r"""Three Newton steps from the fit of all rows, with the weights of a resample and the scale that goes with them.

    .. math:: c_{t+1} = c_t + s_t \Big(\sum_j w_j\,\psi'(u_j)\,q_j q_j'\Big)^{-1} \sum_j w_j\,\psi(u_j)\,q_j,
              \qquad u_j = (e_j - q_j'c_t) / s_t,

    for weights w, residuals e of the fit and an orthonormal basis q of the columns, :math:`s_t` the scale of the
    residuals at :math:`c_t`. So the steps end at the coefficients and the scale of the refit. Near the end they shrink
    by a factor only, since the scale is held in each; but the derivative of a median, which is that of one residual,
    leads astray. The few resamples whose third step is not much shorter than the second take up to twenty; there is no
    value where these do not shrink either.

    Attributes
    ----------
    norm
        With ``psi(u)`` and ``psi_deriv(u)`` of vectors.
    scale
        How the scale is estimated.
    residuals, start_scale
        Of the fit of all rows, shape ``(n,)``.
    basis
        Shape ``(n, d)``.
    outputs
        The outputs of the statistic as a function of the change c; can be pickled.
    """

    norm: Any
    scale: Scale
    residuals: FloatArray
    start_scale: float
    basis: FloatArray
    outputs: Outputs

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the products of columns, which are made again faster than they are sent."""
        return {name: value for name, value in vars(self).items() if name != "_products"}

    @property
    def work(self) -> float:
        """Return the operations of the rows, the products and the solutions of one resample."""
        n, d = self.basis.shape
        products = 2 * n * (2 * d + d * (d + 1) // 2)
        return float(STEPS * (_OPERATIONS_OF_A_ROW * n + products + d**3 / 3 + 2 * d**2))

    @property
    def replaced_work(self) -> float:
        """Return the operations of one refit: its calls, and some fifteen steps of reweighted least squares."""
        return _CALLS_OF_A_REFIT + 15 / STEPS * self.work

    def values_at(self, weights: tuple[FloatArray, ...]) -> FloatArray:
        """Return the outputs where the steps end, shape ``(B, k)``."""
        with np.errstate(all="ignore"):  # what overflows has no value
            return np.concatenate([self.outputs(self.parameters(part), part) for part in in_cache(weights[0])])

    def parameters(self, weights: FloatArray) -> FloatArray:
        """Return the changes c where the steps end for weights ``(B, n)``, shape ``(B, d)``; NaN where they do not."""

        def steps_from(points: FloatArray, numbers: IntArray) -> Steps:
            return self._steps(points, weights if len(numbers) == len(weights) else weights[numbers])

        return ends_of_first_steps(steps_from, np.zeros(self.basis.shape[1]), len(weights), negligible=_NEGLIGIBLE)

    def _steps(self, points: FloatArray, weights: FloatArray) -> Steps:
        """Return the steps from changes ``(B, d)``, at the scales of the residuals there."""
        residuals = self.residuals - product_alike(points, self.basis.T)
        scales = self.scale.of_many(residuals, weights, self.start_scale)[:, np.newaxis]
        standardized = (residuals / scales).ravel()  # a norm of the user's may be one of vectors
        psi, slopes = (
            weights * np.asarray(of(standardized), dtype=np.float64).reshape(weights.shape)
            for of in (self.norm.psi, self.norm.psi_deriv)
        )
        gradient = product_alike(psi, self.basis) * scales
        step = positive_solutions(self._products(slopes), gradient)
        return Steps(step, np.einsum("bd,bd->b", step, gradient))

    @cached_property
    def _products(self) -> CrossProductsOfMany:
        return CrossProductsOfMany(self.basis, self.basis)
