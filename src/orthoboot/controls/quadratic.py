"""The quadratic part of a function of means, and what of the next order moves with its linear part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from orthoboot.controls.base import Control, ControlValues
from orthoboot.draws.resamples import Resamples
from orthoboot.functionals.differences import principal_axes
from orthoboot.functionals.means_form import MeansForm
from orthoboot.plans import Plan
from orthoboot.typing import FloatArray, Influence

_ROUNDING = 1e-10
"""Features are in units of their own size: one whose mean varies by this share of the others' is constant."""

_STEP = 0.1
"""In standard errors: how far the second derivatives are compared along the gradient."""

_STRAIGHT = 1e-6
"""A slope of third order below this is what differences leave of zero."""

_SATURATION = 3.0
"""How much less of the third order is left where the second has as much variance as the linear part.

Where the second order is large the following ones turn against it: correlations and skewnesses have limits.
"""

_FURTHER_ORDERS = 2.5
"""How far the slope on a control that knows the third order is off, in terms of its curvature and of ``1/sqrt(n)``.

Over functions of means of 10 to 1000 rows; further orders move with the linear part as far as that is skewed.
"""


@dataclass(frozen=True, eq=False)
class Quadratic(Control):
    r"""The linear and the quadratic part together, and what of the cubic part moves with the linear one.

    .. math:: C = (1 + \delta) L + Q, \qquad Q_b = \tfrac12 d_b' g'' d_b, \qquad d_b = \sum_t x_t,

    d_b the change of the means, a sum of independent draws from one or more populations u, m_u draws from each. With
    :math:`S_u` the covariance of population u, :math:`S = \sum m_u S_u` and :math:`q = x' g'' x`,

    .. math:: E[Q] = \tfrac12 \sum_u m_u E_u[q], \quad
              \operatorname{Cov}(L, Q) = \tfrac12 \sum_u m_u E_u[(g' x)\, q], \quad
              \operatorname{Var}(Q) = \tfrac14 \sum_u m_u \operatorname{Var}_u(q)
              + \tfrac12 \Bigl[\operatorname{tr}((g'' S)^2) - \sum_u m_u \operatorname{tr}((g'' S_u)^2)\Bigr],

    exactly, where x is centred in each population. For n rows drawn from one sample that is
    ``E[Q] = mean(q)/(2n)`` and ``Var(Q) = var(q)/(4 n^3) + (n-1) tr((g'' S)^2)/(2 n^3)`` with the features themselves.

    The cubic part K is of the order of ``1/n`` beside L, and moves with it: to leading order, for a normal d,

    .. math:: \delta_3 = \frac{\operatorname{Cov}(K, L)}{V} = \frac{1}{2V} \frac{d}{dt}
              \operatorname{tr}\bigl(S\, g''(m + t S g')\bigr)\Big|_{t=0}, \qquad
              \delta = \frac{\delta_3}{1 + 3 \operatorname{Var}(Q)/V}.

    Without it the slope of the statistic on its control would be off by as much.

    Attributes
    ----------
    plan
        How the rows are drawn: independently, so that the linear part is a sum of independent draws.
    influence
        One ``(n_i, k)`` array per sample.
    scores
        The features of the rows in directions in which their mean has variance one and no correlation, one
        ``(n_i, q)`` array per sample.
    bends
        g'' in these directions, shape ``(k, q, q)``.
    unit
        What the outputs are divided by, in the influence and in the bends, shape ``(k,)``.
    third
        delta_3, shape ``(k,)``; NaN where it is not known.
    """

    plan: Plan
    influence: Influence
    scores: tuple[FloatArray, ...]
    bends: FloatArray
    unit: FloatArray
    third: FloatArray

    name = "quadratic"

    def on(self, resamples: Resamples, linear: FloatArray, changes: FloatArray) -> ControlValues:
        """Return the control on resamples, less its mean."""
        moved = np.sum([resamples.sums(i, part) / len(part) for i, part in enumerate(self.scores)], axis=0)
        # Not row by row: where groups of unequal size are drawn the number of rows varies, and one feature is that.
        curved = _bent(self.bends, moved - self.plan.mean(self.scores)) / 2
        mean, variance = self._moments.mean, np.diag(self.covariance()).copy()
        second_order = np.diag(self._moments.quadratic).copy()
        values = self._slope * linear + curved - mean
        return ControlValues(
            values,
            mean,
            variance,
            self.covariance,
            second_order=second_order,
            slope_doubt=self._slope_doubt,
        )

    def covariance(self) -> FloatArray:
        """Return the exact covariance of the control, shape ``(k, k)``."""
        return self._moments.covariance(self._slope)

    @cached_property
    def _slope(self) -> FloatArray:
        """Return ``1 + delta``, shape ``(k,)``."""
        linear, quadratic = np.diag(self._moments.linear), np.diag(self._moments.quadratic)
        bent = np.divide(quadratic, linear, out=np.zeros_like(linear), where=linear > 0)
        return np.asarray(1 + np.nan_to_num(self.third) / (1 + _SATURATION * bent))

    def in_unit(self, unit: FloatArray) -> Quadratic:
        """Return the control of the outputs divided by a unit each."""
        factor = self.unit / unit
        if (factor == 1).all():
            return self
        influence = tuple(part * factor for part in self.influence)
        return replace(self, influence=influence, bends=self.bends * factor[:, np.newaxis, np.newaxis], unit=unit)

    @property
    def _slope_doubt(self) -> FloatArray:
        """Return how far the slope on the control may be off, in terms of its curvature, shape ``(k,)``."""
        n_units = min(scheme.n_units for scheme in self.plan.schemes)
        return np.where(np.isnan(self.third), np.inf, _FURTHER_ORDERS / np.sqrt(n_units))

    @property
    def description(self) -> str:
        """Return what it is."""
        return "quadratic control"

    @cached_property
    def _moments(self) -> _Moments:
        k = self.bends.shape[0]
        joint = tuple(np.concatenate(parts, axis=1) for parts in zip(self.influence, self.scores, strict=True))
        draws = self.plan.draws(joint)
        assert draws is not None  # the one who makes this control has seen that there are
        mean, linear, crossed, quadratic = np.zeros(k), *np.zeros((3, k, k))
        whole = np.zeros(self.bends.shape[1:])
        for part in draws:
            values = part.values - part.values.mean(axis=0)
            (size, _), number = values.shape, part.number
            own, scores = values[:, :k], values[:, k:]
            bent = _bent(self.bends, scores)
            mean += number * bent.mean(axis=0) / 2
            linear += number * (own.T @ own) / size
            crossed += number * (own.T @ bent) / (2 * size)
            centred = bent - bent.mean(axis=0)
            covariance = scores.T @ scores / size
            whole += number * covariance
            quadratic += number * (centred.T @ centred / (4 * size) - _traces(self.bends, covariance) / 2)
        return _Moments(mean, linear, crossed, quadratic + _traces(self.bends, whole) / 2)


class _Moments(NamedTuple):
    """Moments under the plan: E[Q], and the covariances of L, of L with Q and of Q, each ``(k, k)``."""

    mean: FloatArray
    linear: FloatArray
    crossed: FloatArray
    quadratic: FloatArray

    def covariance(self, slope: FloatArray) -> FloatArray:
        """Return the exact covariance of ``slope L + Q``, shape ``(k, k)``."""
        crossed = slope[:, np.newaxis] * self.crossed
        # The sum of the crossed terms first: it is symmetric to the last bit, and so is the whole.
        return np.outer(slope, slope) * self.linear + (crossed + crossed.T) + self.quadratic


def quadratic_control(form: MeansForm, plan: Plan, influence: Influence, unit: FloatArray) -> Quadratic | None:
    """Return the quadratic part of a function of means, or None where it has no second derivative at the data.

    Parameters
    ----------
    influence
        In units.
    unit
        What the outputs are divided by, a power of two each, shape ``(k,)``.
    """
    features = form.features()
    directions, inverse = principal_axes(_without_rounding(plan.covariance(features)))
    bends = _bends(form, directions) * (form.unit / unit)[:, np.newaxis, np.newaxis]
    if not np.isfinite(bends).all():
        return None
    scores = tuple(part @ inverse.T for part in features)
    gradient = _gradient(plan, influence, scores)
    third = _third_order(form, directions, gradient * (unit / form.unit)[:, np.newaxis])
    return Quadratic(plan, influence, scores, bends, unit, third)


def _gradient(plan: Plan, influence: Influence, scores: tuple[FloatArray, ...]) -> FloatArray:
    """Return g' in the directions of the scores, shape ``(k, q)``: their covariances with the linear part."""
    k = influence[0].shape[1]
    joint = tuple(np.concatenate(parts, axis=1) for parts in zip(influence, scores, strict=True))
    return plan.covariance(joint)[:k, k:]


def _third_order(form: MeansForm, directions: FloatArray, gradient: FloatArray) -> FloatArray:
    """Return delta_3 of each output, shape ``(k,)``; NaN where it is not known: see `Quadratic`.

    With directions in which ``S = 1``, V is the square of the gradient and the derivative that along it.
    """
    found = np.full(len(gradient), np.nan)
    sizes = np.sqrt((gradient**2).sum(axis=1))
    for output in np.flatnonzero(sizes > 0):
        along = directions @ (gradient[output] / sizes[output])
        above, below = (
            replace(form, point=form.point + side * _STEP * along).second_derivatives(directions)[output].sum()
            for side in (1, -1)
        )
        found[output] = (above - below) / (2 * _STEP) / (2 * sizes[output])
    return np.where(np.abs(found) < _STRAIGHT, 0.0, found)


def _without_rounding(covariance: FloatArray) -> FloatArray:
    """Return the covariance of the mean features without those that vary by rounding alone, as a total does mostly."""
    deviations = np.sqrt(np.diag(covariance))
    varies = deviations > _ROUNDING * deviations.max(initial=0.0)
    return np.where(np.outer(varies, varies), covariance, 0.0)


def _bends(form: MeansForm, directions: FloatArray) -> FloatArray:
    """Return ``u_l' g'' u_m`` for all pairs of directions ``(p, q)``, shape ``(k, q, q)``, by polarisation.

    With ``s, d = (u_l +- u_m) / sqrt(2)`` it is ``(s' g'' s - d' g'' d) / 2``.
    """
    first, second = np.triu_indices(directions.shape[1], 1)
    together = (directions[:, first] + directions[:, second]) / np.sqrt(2)
    apart = (directions[:, first] - directions[:, second]) / np.sqrt(2)
    found = form.second_derivatives(np.concatenate([directions, together, apart], axis=1))
    own, sums, differences = np.split(found, np.cumsum([directions.shape[1], len(first)]), axis=1)
    bends = np.zeros((len(found), directions.shape[1], directions.shape[1]))
    diagonal = np.arange(directions.shape[1])
    bends[:, diagonal, diagonal] = own
    bends[:, first, second] = bends[:, second, first] = (sums - differences) / 2
    return bends


def _bent(bends: FloatArray, changes: FloatArray) -> FloatArray:
    """Return ``x' g'' x`` for every row x of `changes` ``(m, q)``, shape ``(m, k)``."""
    return np.stack([np.einsum("mq,mq->m", changes @ bend, changes) for bend in bends], axis=1)


def _traces(bends: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return ``tr(g_a'' S g_b'' S)`` for all pairs of outputs, shape ``(k, k)``."""
    spread = bends @ covariance
    traces: FloatArray = np.einsum("apq,bqp->ab", spread, spread)
    return traces
