"""The first Newton steps of refits of linear predictors, as matrix products for many resamples at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate
from typing import Any

import numpy as np

from orthoboot.arrays.pairs import pair_columns, symmetric
from orthoboot.arrays.products import product_alike
from orthoboot.functionals.base import Covariance
from orthoboot.functionals.minimum_bias import MinimumAtWeights
from orthoboot.functionals.regression.row_losses import LossFunction, RowLosses
from orthoboot.functionals.surrogate import Outputs, Surrogate, change_of
from orthoboot.optimisation.first_steps import STEPS, Steps, ends_of_first_steps
from orthoboot.solvers.side_by_side import positive_solutions
from orthoboot.typing import BoolArray, FloatArray, IntArray

_LARGEST_TABLE = 1 << 23
"""Numbers of the products of all pairs of columns, sixty-four megabytes; beyond, they are made for each resample."""
_NUMBERS_IN_CACHE, _FEWEST_AT_ONCE = 1 << 15, 16
"""Of the rows of the resamples whose steps are made at once: their arrays stay in the cache, unless these would be so
few resamples that a table of products is read too often."""
_OPERATIONS_OF_A_LOSS = 40
"""What the exponential of a row and its derivatives cost, in multiplications."""


@dataclass(frozen=True, eq=False)
class NewtonSurrogate(Surrogate):
    r"""Three Newton steps from the fit of all rows, with the gradient and the Hessian of a resample.

    .. math:: \theta_{t+1} = \theta_t - \Big(\sum_j v_j\,D_j'\,\ell''_j\,D_j + Q\Big)^{-1}
              \Big(\sum_j v_j\,D_j'\,\ell'_j + Q\theta_t + l\Big), \qquad v_j = w_j c_j \Big/ \sum_i w_i,

    the derivatives of :math:`\ell` by the predictors :math:`\eta_j = D_j\theta_t`, for weights w, with factors c of the
    rows and a penalty :math:`\tfrac12\theta'Q\theta + l'\theta` that is not resampled. For the quadratic loss of least
    squares one step is exact. The few resamples whose third step is not much shorter than the second take up to twenty;
    there is no value where these do not shrink either, or where a Hessian is not positive definite.

    Attributes
    ----------
    row_loss
        The loss of a row.
    response
        Shape ``(n,)``.
    designs
        For each of the q predictors the columns that make it, shape ``(n, p_k)``; the parameters of the predictors come
        one after the other.
    factors
        What the losses of the rows are multiplied with, shape ``(n,)``.
    quadratic, linear
        The penalty: Q, shape ``(p, p)``, and l, shape ``(p,)``.
    free
        Which parameters move, shape ``(p,)``; the others are held where they are.
    start
        The fit of all rows, shape ``(p,)``.
    outputs
        The outputs of the statistic as a function of the parameters; can be pickled.
    penalised_scales
        For weights ``(B, n)`` what each parameter is multiplied with before it is penalised, shape ``(B, p)``, where
        that changes with the resample; can be pickled.
    """

    row_loss: LossFunction
    response: FloatArray
    designs: tuple[FloatArray, ...]
    factors: FloatArray
    quadratic: FloatArray
    linear: FloatArray
    free: BoolArray
    start: FloatArray
    outputs: Outputs
    penalised_scales: Callable[[FloatArray], FloatArray] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the products of columns, which are made again faster than they are sent."""
        return {name: value for name, value in vars(self).items() if name not in ("_columns", "_products")}

    @property
    def n_steps(self) -> int:
        """Return the number of steps."""
        return 1 if self.row_loss.is_quadratic else STEPS

    @property
    def work(self) -> float:
        """Return the operations of the losses, the products and the solutions of one resample."""
        n, q, p = len(self.response), len(self.designs), len(self.start)
        losses = n * q * (_OPERATIONS_OF_A_LOSS + q)
        products = 2 * n * (2 * p + p * (p + 1) // 2)
        return float(self.n_steps * (losses + products + p**3 / 3 + 2 * p**2))

    def values_at(self, weights: tuple[FloatArray, ...]) -> FloatArray:
        """Return the outputs where the steps end, shape ``(B, k)``."""
        parts = in_cache(weights[0], len(self.designs) ** 2)
        with np.errstate(all="ignore"):  # what overflows has no value
            return np.concatenate([self.outputs(self.parameters(part), part) for part in parts])

    def parameters(self, weights: FloatArray) -> FloatArray:
        """Return the parameters where the steps end for weights ``(B, n)``, shape ``(B, p)``; NaN where they do not."""
        shares = weights / weights.sum(axis=1, keepdims=True) * self.factors
        quadratic, linear = self._penalty(weights)

        def steps_from(theta: FloatArray, numbers: IntArray) -> Steps:
            some = slice(None) if len(numbers) == len(weights) else numbers  # a view of all of them, a copy of few
            return self._steps(theta, shares[some], quadratic[some], linear[some])

        limits = {"most": 1} if self.row_loss.is_quadratic else {}
        return ends_of_first_steps(steps_from, self.start, len(weights), n_steps=self.n_steps, **limits)

    def second_order_bias(self, covariance: Covariance) -> FloatArray | None:
        """Return the bias of the outputs of the minimum itself, see `MinimumAtWeights`, shape ``(k,)``.

        None where the outputs are not linear in the parameters, where the penalty changes with the resample, or where
        the loss has no third derivative.
        """
        if self.penalised_scales is not None or change_of(self.outputs, self.start) is None:
            return None
        parts = np.split(self.start, _ends(self.designs)[:-1])
        predictors = np.stack([design @ part for design, part in zip(self.designs, parts, strict=True)], axis=1)
        at_fit = MinimumAtWeights(
            columns=self._columns,
            factors=self.factors,
            losses=self.row_loss(self.response, predictors),
            penalty_gradient=(self.quadratic @ self.start + self.linear)[self.free],
            penalty_hessian=self.quadratic[np.ix_(self.free, self.free)],
        )
        found = at_fit.second_order_bias(covariance, partial(self.row_loss.slope_bend, self.response, predictors))
        if found is None:
            return None
        bias = np.zeros_like(self.start)
        bias[self.free] = found
        return change_of(self.outputs, bias)

    def _penalty(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return Q and l for each resample, shapes ``(B, p, p)`` and ``(B, p)``."""
        number, p = weights.shape[0], len(self.start)
        if self.penalised_scales is None:
            return np.broadcast_to(self.quadratic, (number, p, p)), np.broadcast_to(self.linear, (number, p))
        scales = self.penalised_scales(weights)
        return self.quadratic * scales[:, :, np.newaxis] * scales[:, np.newaxis], self.linear * scales

    def _steps(self, theta: FloatArray, shares: FloatArray, quadratic: FloatArray, linear: FloatArray) -> Steps:
        """Return the steps from parameters ``(B, p)``; none where a row has no possible mean."""
        gradient, hessian = self._derivatives(theta, shares)
        pull = np.einsum("bp,bpr->br", theta, quadratic) + linear
        gradient += pull[:, self.free]
        hessian += quadratic[:, self.free][:, :, self.free]
        newton = -positive_solutions(hessian, gradient)
        step = np.zeros_like(theta)
        step[:, self.free] = newton
        return Steps(step, -np.einsum("bp,bp->b", newton, gradient))

    def _derivatives(self, theta: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return gradients and Hessians of the losses by the free parameters, shapes ``(B, f)`` and ``(B, f, f)``."""
        losses = self._losses(theta)
        slopes = losses.slope.reshape(*shares.shape, -1)
        curvatures = losses.curvature.reshape(*slopes.shape, -1)
        gradient = np.hstack(
            [product_alike(times_drawn(shares, slopes[..., k]), columns) for k, columns in enumerate(self._columns)]
        )
        gradient[_is_impossible(shares, losses.value)] = np.nan
        hessian = np.empty((*gradient.shape, gradient.shape[1]))
        for (k, m), products in self._products.items():
            block = products(times_drawn(shares, curvatures[..., k, m]))
            hessian[:, self._places[k], self._places[m]] = block
            hessian[:, self._places[m], self._places[k]] = block.transpose(0, 2, 1)
        return gradient, hessian

    def _losses(self, theta: FloatArray) -> RowLosses:
        """Return the losses of all rows at the parameters of each resample, one resample after the other."""
        parts = np.split(theta, _ends(self.designs)[:-1], axis=1)
        pairs = zip(parts, self.designs, strict=True)
        predictors = [product_alike(part, design.T).reshape(-1) for part, design in pairs]
        return self.row_loss(np.tile(self.response, len(theta)), np.stack(predictors, axis=1))

    @cached_property
    def _columns(self) -> tuple[FloatArray, ...]:
        """Return the columns of the free parameters of each predictor; what predictors share is one array."""
        masks = np.split(self.free, _ends(self.designs)[:-1])
        return tuple(design if own.all() else design[:, own] for design, own in zip(self.designs, masks, strict=True))

    @cached_property
    def _places(self) -> tuple[slice, ...]:
        """Return where the free parameters of each predictor are among all free ones."""
        ends = _ends(self._columns)
        return tuple(slice(start, end) for start, end in zip([0, *ends], ends, strict=False))

    @cached_property
    def _products(self) -> dict[tuple[int, int], CrossProductsOfMany]:
        """Return the cross products of the columns of each pair of predictors, those of equal columns made once."""
        found: dict[tuple[int, int], CrossProductsOfMany] = {}
        made: dict[tuple[int, int], CrossProductsOfMany] = {}
        for k, left in enumerate(self._columns):
            for m, right in enumerate(self._columns[k:], k):
                key = id(left), id(right)
                made[key] = found[k, m] = made.get(key) or CrossProductsOfMany(left, right)
        return found


def _ends(tables: tuple[FloatArray, ...]) -> list[int]:
    """Return where the columns of each table end if they all stand side by side."""
    return list(accumulate(table.shape[1] for table in tables))


class CrossProductsOfMany:
    """The matrices ``left' diag(weights) right`` for many vectors of weights, as one product with a table.

    Parameters
    ----------
    left, right
        Shapes ``(n, d)`` and ``(n, e)``; where they are the same array, pairs of columns are multiplied once.
    """

    def __init__(self, left: FloatArray, right: FloatArray) -> None:
        self._left, self._right = left, right
        n, width = left.shape[0], left.shape[1] * right.shape[1]
        self._table: FloatArray | None = None
        if n * width <= _LARGEST_TABLE:
            self._table = pair_columns(left.T) if left is right else _all_pairs(left, right)

    @property
    def has_table(self) -> bool:
        """Return whether the table is small enough to be held: the products are then alike whatever the others."""
        return self._table is not None

    def __call__(self, weights: FloatArray) -> FloatArray:
        """Return the products for weights ``(B, n)``, shape ``(B, d, e)``."""
        if self._table is None:
            return np.stack([(self._left * own[:, np.newaxis]).T @ self._right for own in weights])
        sums = product_alike(weights, self._table.T)
        d, e = self._left.shape[1], self._right.shape[1]
        return symmetric(sums, d) if self._left is self._right else sums.reshape(-1, d, e)


def _all_pairs(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the products of every column with every other, shape ``(d e, n)``."""
    return (left.T[:, np.newaxis] * right.T).reshape(-1, len(left))


def in_cache(weights: FloatArray, numbers_of_a_row: int = 1) -> Iterator[FloatArray]:
    """Yield the weights ``(B, n)`` of a few resamples at a time, so few that what is computed of them stays at hand."""
    at_once = max(_NUMBERS_IN_CACHE // (weights.shape[1] * numbers_of_a_row), _FEWEST_AT_ONCE)
    return (weights[start : start + at_once] for start in range(0, max(len(weights), 1), at_once))


def times_drawn(shares: FloatArray, values: FloatArray) -> FloatArray:
    """Return the product, zero for rows that are not drawn: their predictors may be where there is no loss."""
    product: FloatArray = shares * values
    if not np.isfinite(product).all():
        product[shares == 0] = 0.0
    return product


def _is_impossible(shares: FloatArray, losses: FloatArray) -> BoolArray:
    """Return for which resamples a row drawn has an infinite loss, shape ``(B,)``."""
    broken = ~np.isfinite(losses.reshape(shares.shape))
    return np.asarray((broken & (shares > 0)).any(axis=1))
