"""The fit of a network: its minimum, its curvature, and its derivative by the weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
from scipy import linalg

from orthoboot.errors import FitError
from orthoboot.models.fitting import DENSE_PARAMETERS, found_with_torch
from orthoboot.models.torch.network import NetworkLoss
from orthoboot.optimisation.distance import distance_in_errors
from orthoboot.optimisation.lbfgs import Minima, lbfgs_minima
from orthoboot.solvers import Cholesky, ConjugateGradients, DenseOperator, FactoredMatrix, ProductOperator
from orthoboot.typing import FloatArray

_HESSIAN_WORK = 2e10
"""Of rows times squared parameters: the most for which an exact Hessian is worth its time, half a minute or so."""
_PRECISION = 1e-10
"""What a fit may still fall, in units of the spread of the losses over n: the error of estimation is one per parameter,
so that this is a hundred-thousandth of a standard error."""
_REFUSED = 1e-2
"""The same by Newton's step, where there is no minimum: on the way to infinity every step gains."""
_ROUNDS, _STEPS_PER_ROUND, _REFIT_STEPS = 50, 100, 1000
_KINKED = 0.1
"""A round that gains less than this share of what the slope promises for one step has ended at a kink: where the loss
is smooth, it gains more."""
_ESCAPES = 10
_ESCAPE_LENGTHS = (1.0, 0.3, 0.1, 0.03, 0.01, 1e-3)
_RELATIVE_DAMPING = 1e-6
"""Of the mean curvature, where the data leave directions without any."""
_PROBES = 8


@dataclass(frozen=True, eq=False)
class Curvature:
    """The matrix of the implicit function theorem, ready for solving.

    Attributes
    ----------
    factor
        Solves with it.
    title
        What it is, in words.
    reason
        Why it is not the exact Hessian, in words; empty where it is.
    damping
        What was added to the diagonal beside the penalty.
    matrix
        Itself, shape ``(p, p)``; None where it is never held.
    """

    factor: FactoredMatrix
    title: str
    reason: str = ""
    damping: float = 0.0
    matrix: FloatArray | None = None

    @cached_property
    def smallest_eigenvalue(self) -> float:
        """Return the smallest eigenvalue, NaN where the matrix is not held."""
        if self.matrix is None:
            return float("nan")
        return float(linalg.eigvalsh(self.matrix, subset_by_index=(0, 0))[0])


@dataclass(frozen=True)
class CurvatureOptions:
    """The options of the curvature.

    Parameters
    ----------
    kind
        "auto", "hessian" or "gauss-newton".
    damping
        Added to the diagonal; None for what is needed.
    solver
        "cholesky" holds and factors it, "cg" multiplies with it; "auto" goes by the number of parameters.
    """

    KINDS: ClassVar[tuple[str, ...]] = ("auto", "hessian", "gauss-newton")
    SOLVERS: ClassVar[tuple[str, ...]] = ("auto", "cholesky", "cg")

    kind: str = "auto"
    damping: float | None = None
    solver: str = "auto"

    def is_held(self, n_parameters: int) -> bool:
        """Return whether the matrix of this many parameters is held."""
        return n_parameters <= DENSE_PARAMETERS if self.solver == "auto" else self.solver == "cholesky"

    def tries_exact(self, loss: NetworkLoss) -> bool:
        """Return whether to try the exact Hessian."""
        if self.kind != "auto" or not self.is_held(loss.network.size):
            return self.kind == "hessian" and self.is_held(loss.network.size)
        return len(loss.X) * loss.network.size**2 <= _HESSIAN_WORK


def curvature_at(loss: NetworkLoss, point: FloatArray, options: CurvatureOptions) -> Curvature:
    """Return the exact Hessian if requested and positive definite, else the Gauss-Newton matrix."""
    if not options.is_held(loss.network.size):
        return _by_products(loss, point, options)
    if options.tries_exact(loss):
        return _exact(loss, point, options, loss.hessian(point, _equal_weights(loss)))
    reason = "as asked" if options.kind == "gauss-newton" else "since the exact Hessian would take long"
    return _gauss_newton(loss, point, options, reason)


def _exact(loss: NetworkLoss, point: FloatArray, options: CurvatureOptions, hessian: FloatArray) -> Curvature:
    try:
        return _factored(hessian, "exact Hessian", "", options.damping or 0.0, loss)
    except FitError:
        if options.kind == "hessian":
            raise
        return _gauss_newton(loss, point, options, "since the exact Hessian is not positive definite")


def _gauss_newton(loss: NetworkLoss, point: FloatArray, options: CurvatureOptions, reason: str) -> Curvature:
    matrix, title = loss.gauss_newton(point, _equal_weights(loss)), "Gauss-Newton matrix"
    try:
        return _factored(matrix, title, reason, options.damping or 0.0, loss)
    except FitError:
        if options.damping is not None:
            raise
        # Without a penalty there are directions that no row determines; along these no prediction moves either.
        return _factored(matrix, title, reason, _RELATIVE_DAMPING * float(np.trace(matrix)) / len(matrix), loss)


def _factored(matrix: FloatArray, title: str, reason: str, damping: float, loss: NetworkLoss) -> Curvature:
    operator = DenseOperator(matrix, title=f"the {title}", names=loss.network.names)
    return Curvature(Cholesky(damping).factor(operator), title, reason, damping, matrix)


def _by_products(loss: NetworkLoss, point: FloatArray, options: CurvatureOptions) -> Curvature:
    """Return the Gauss-Newton matrix for conjugate gradients: the exact Hessian may have negative curvature."""
    size = loss.network.size
    product = partial(loss.gauss_newton_product, point, _equal_weights(loss))  # which can be pickled
    damping = options.damping or 0.0
    if options.damping is None and not loss.decay.any():
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (_PROBES, size))
        trace = float(np.mean([probe @ product(probe) for probe in signs]))  # Hutchinson (1990)
        damping = 1e-3 * trace / size
    operator = ProductOperator(product, size, title="the Gauss-Newton matrix", names=loss.network.names)
    reason = "as asked" if options.solver == "cg" else f"since {size:,} parameters are too many to hold their Hessian"
    factor = ConjugateGradients(damping, tolerance=1e-6).factor(operator)
    return Curvature(factor, "Gauss-Newton matrix by conjugate gradients", reason, damping)


@dataclass(frozen=True, eq=False)
class NetworkFit:
    r"""A network fitted to the data, with its first-order derivative by the weights.

    .. math:: I^\theta_j = -H^{-1} (\nabla \ell_j + d \theta)

    Attributes
    ----------
    loss
        What was minimised.
    point
        The parameters, shape ``(p,)``.
    curvature
        H.
    is_at_kink
        Whether the search for the minimum ended where the loss has a kink, with a slope on either side of it.
    """

    loss: NetworkLoss
    point: FloatArray
    curvature: Curvature
    is_at_kink: bool = False

    def influence(self, jacobian: FloatArray) -> FloatArray:
        """Return the centred influence ``(n, k)`` of values with derivative ``(k, p)`` by the point.

        Training seldom stops where the mean gradient is zero; the mean of the influence says how far from there.
        """
        rows = self.uncentred_influence(jacobian)
        return np.asarray(rows - rows.mean(axis=0))

    def uncentred_influence(self, jacobian: FloatArray) -> FloatArray:
        """Return the influence before centring."""
        directions = self.curvature.factor.solve(jacobian.T).T
        if self.curvature.matrix is None:
            return -self.loss.scores_along(directions, self.point)
        rows: FloatArray = -self._scores @ directions.T
        return rows

    def distance(self, jacobian: FloatArray) -> float:
        """Return the largest mean of the influence in standard errors: the distance to the minimum."""
        rows = self.uncentred_influence(jacobian)
        return distance_in_errors(rows.mean(axis=0), rows)

    def refits(self, weights: FloatArray, *, max_steps: int | None = None) -> Minima:
        """Return the minima at weights ``(B, n)``, started from the fit to the data and found together.

        From kink to kink a search would go on for long and gain little: it then gets one round of steps.
        """
        held = self.curvature.matrix is not None
        return lbfgs_minima(
            lambda points, which: self.loss.values_and_gradients(points, weights[which]),
            np.repeat(self.point[np.newaxis], len(weights), axis=0),
            precondition=self.curvature.factor.solve if held else None,
            tolerance=_PRECISION * self._unit,
            max_iterations=max_steps or (_STEPS_PER_ROUND if self.is_at_kink else _REFIT_STEPS),
        )

    @property
    def value(self) -> float:
        """Return the objective."""
        return self._value_and_gradient[0]

    @property
    def gradient_norm(self) -> float:
        """Return the norm of the gradient of the objective."""
        return float(np.linalg.norm(self._gradient))

    @property
    def decrement(self) -> float:
        """Return ``g' H^-1 g``, twice the decrease that a Newton step predicts."""
        return float(self._gradient @ self.curvature.factor.solve(self._gradient))

    @property
    def solve_residual(self) -> float:
        """Return the relative residual of the solver, for a random right-hand side."""
        rhs = np.random.default_rng(0).standard_normal(len(self.point))
        solution = self.curvature.factor.solve(rhs)
        if self.curvature.matrix is None:
            product = self.loss.gauss_newton_product(self.point, _equal_weights(self.loss), solution)
        else:
            product = self.curvature.matrix @ solution
        product = product + self.curvature.damping * solution
        return float(np.linalg.norm(product - rhs) / np.linalg.norm(rhs))

    @found_with_torch
    def _scores(self) -> FloatArray:
        return self.loss.scores(self.point)

    @property
    def _gradient(self) -> FloatArray:
        return self._value_and_gradient[1]

    @found_with_torch
    def _value_and_gradient(self) -> tuple[float, FloatArray]:
        weights = _equal_weights(self.loss)[np.newaxis]
        (value,), (gradient,) = self.loss.values_and_gradients(self.point[np.newaxis], weights)
        return float(value), np.asarray(gradient)

    @found_with_torch
    def _unit(self) -> float:
        return loss_unit(self.loss, self.point)


def fit_at(loss: NetworkLoss, point: FloatArray, options: CurvatureOptions) -> NetworkFit:
    """Return a fit that is left where it is, with the curvature there."""
    return NetworkFit(loss, point, curvature_at(loss, point, options))


def loss_unit(loss: NetworkLoss, point: FloatArray) -> float:
    """Return the unit of the mean loss: the spread of the losses over n."""
    losses = loss.row_losses(point)
    # Of rows that all lose the same the spread is rounding.
    return float(max(losses.std(), 1e-8 * np.abs(losses).max()) or 1.0) / len(losses)


def polished(
    loss: NetworkLoss, start: FloatArray, options: CurvatureOptions, *, among_kinks: bool = False
) -> NetworkFit:
    """Return the fit at the minimum near `start`; raise a `FitError` where none is reached.

    With `among_kinks` the search may also end at a kink, as those of networks with ``relu`` do.

    L-BFGS with the Gauss-Newton matrix as the first Hessian, which is factored anew every hundred steps. It may end at
    a saddle, as where two units have become one: the exact Hessian tells, and the search goes on from a step along its
    negative curvature.
    """
    loss.check_finite(start, "where the search for the minimum starts")
    point, is_at_kink = _descended(loss, start, options, among_kinks)
    if not options.tries_exact(loss):
        return _checked(replace(fit_at(loss, point, options), is_at_kink=is_at_kink))
    for _ in range(_ESCAPES):
        hessian = loss.hessian(point, _equal_weights(loss))
        lower = _below_saddle(loss, point, hessian)
        if lower is None:
            break
        point, is_at_kink = _descended(loss, lower, options, among_kinks)
    return _checked(NetworkFit(loss, point, _exact(loss, point, options, hessian), is_at_kink))


def _checked(fit: NetworkFit) -> NetworkFit:
    """Return the fit; raise if the search diverged, or stopped in a flat valley.

    Where the penalty holds all parameters there is neither, however small the losses have become.
    """
    if (fit.loss.decay > 0).all():
        return fit
    lost = max(_REFUSED * loss_unit(fit.loss, fit.point), _PRECISION * abs(fit.value))
    if not fit.is_at_kink and fit.decrement > lost:
        raise FitError(
            "the loss has no unique minimum: the classes may be separable, or the network may fit every row exactly. "
            f"Where the search stopped, Newton's step would gain {fit.decrement:.2g}. Train with a weight decay, and "
            "pass it."
        )
    return fit


def _descended(
    loss: NetworkLoss, start: FloatArray, options: CurvatureOptions, among_kinks: bool
) -> tuple[FloatArray, bool]:
    """Return where the search ends, and whether that is a kink."""
    weights, point, value = _equal_weights(loss), start, np.inf
    held = CurvatureOptions("gauss-newton", options.damping, options.solver)
    for _ in range(_ROUNDS):
        curvature = _gauss_newton(loss, point, held, "") if options.is_held(loss.network.size) else None
        found = lbfgs_minima(
            lambda points, which: loss.values_and_gradients(points, np.tile(weights, (len(points), 1))),
            point[np.newaxis],
            precondition=None if curvature is None else curvature.factor.solve,
            tolerance=_PRECISION * loss_unit(loss, point),
            max_iterations=_STEPS_PER_ROUND,
        )
        point = np.asarray(found.points[0])
        if found.converged[0]:
            return point, False
        if among_kinks and value - found.values[0] < _KINKED * found.decrements[0]:
            return point, True
        value = float(found.values[0])
    raise FitError(
        f"the network did not reach a minimum in {_ROUNDS * _STEPS_PER_ROUND:,} steps: further steps would still gain "
        f"{found.decrements[0]:.2g}. Scale the columns and the response to a standard deviation of one, raise the "
        'weight decay, take a smaller network, or use protocol="paper", which needs no minimum.'
    )


def _below_saddle(loss: NetworkLoss, point: FloatArray, hessian: FloatArray) -> FloatArray | None:
    """Return a lower point along the directions of negative curvature; None where there is none."""
    _, failed_at = linalg.lapack.dpotrf(hessian)
    if not failed_at:
        return None
    values, directions = linalg.eigh(hessian)
    falling = directions[:, values < 0]
    step = falling @ np.random.default_rng(0).choice([-1.0, 1.0], falling.shape[1])
    lengths = [sign * length for length in _ESCAPE_LENGTHS for sign in (1, -1)]
    candidates = np.vstack([point, point + np.outer(lengths, step)])
    heights, _ = loss.values_and_gradients(candidates, np.ones((len(candidates), len(loss.X))))
    lowest = int(np.nanargmin(heights))
    return None if lowest == 0 else candidates[lowest]


def _equal_weights(loss: NetworkLoss) -> FloatArray:
    return np.ones(len(loss.X))
