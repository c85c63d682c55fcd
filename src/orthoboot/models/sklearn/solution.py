"""The fit of a scikit-learn model as the solution of equations, with its derivative by the weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from orthoboot.errors import InfluenceError
from orthoboot.functionals.output import Output
from orthoboot.models.fitting import found_once
from orthoboot.models.linear_loss import PenalisedLoss
from orthoboot.models.sklearn.interface import Adapter, ModelLoss, RefittedModel
from orthoboot.models.sklearn.pipeline import (
    Scaling,
    feature_names,
    held_fixed,
    last_step,
    transformed,
    with_last_step,
)
from orthoboot.models.sklearn.point import ModelPoint
from orthoboot.models.sklearn.targets import ModelTarget, RowsTarget
from orthoboot.solvers import FactoredMatrix, adjoints
from orthoboot.typing import BoolArray, FloatArray

_NEAR = 3.0
"""Standard errors from a kink within which some resamples are on its other side."""


@dataclass(frozen=True, eq=False)
class Solution:
    r"""A fitted model at its minimum on the data.

    With :math:`F(\theta, s) = 0` the mean of the rows' scores at parameters :math:`\theta` and a scaling s,

    .. math:: I_\theta = -H^{-1} (\text{score}_j + F_s I_{s,j}), \qquad H = F_\theta,

    and the influence of a target :math:`g(\theta, s)` is :math:`g_\theta I_\theta + g_s I_s`. The point is
    :math:`(\theta, s)`, without s where the model does not scale.

    Attributes
    ----------
    adapter, model
        The fitted model and how to read it.
    scaling
        That of the pipeline, where it has one.
    loss
        What is minimised.
    factor
        H for the free parameters, ready for solving.
    n_rows
        The rows of the data.
    """

    adapter: Adapter
    model: Any
    scaling: Scaling | None
    loss: ModelLoss
    factor: FactoredMatrix
    n_rows: int

    @found_once
    def theta(self) -> FloatArray:
        """Return the parameters, shape ``(p,)``."""
        return self.adapter.parameters(last_step(self.model))

    @found_once
    def point(self) -> ModelPoint:
        """Return the model as a point, without its rows."""
        return ModelPoint(self.adapter, self.model, _without_rows(self.scaling), self._spread, self.n_rows)

    @property
    def n_numbers(self) -> int:
        """Return p + q."""
        return len(self.theta) + (0 if self.scaling is None else len(self.scaling.state))

    @found_once
    def is_exact(self) -> bool:
        """Return whether the fit leaves only rounding of every row, so that it is that to every resample too."""
        is_fixed = self.scaling is None and not held_fixed(self.model)
        return is_fixed and isinstance(self.loss, PenalisedLoss) and self.loss.is_exact(self.theta)

    @property
    def is_smooth(self) -> bool:
        """Return whether it is the minimum of a smooth loss with a smooth penalty: not of networks, not of L1."""
        return isinstance(self.loss, PenalisedLoss) and not self.loss.linear.any()

    def influence(self, jacobian: FloatArray) -> FloatArray:
        """Return the influence ``(n, k)`` of values with derivative ``(k, p + q)`` by the point."""
        if self.is_exact:
            return np.zeros((self.n_rows, len(jacobian)))
        free = self.loss.free
        directions = adjoints(self.factor, jacobian[:, : len(free)][:, free])
        rows: FloatArray = -self._scores[:, free] @ directions.T
        if self.scaling is not None:
            by_state = jacobian[:, len(free) :] - directions @ self._scores_by_state[free]
            rows += self.scaling.influence @ by_state.T
        rows -= rows.mean(axis=0)
        return rows

    def jacobian(self, target: ModelTarget, output: Output) -> FloatArray:
        """Return the derivative of a target by the point, shape ``(k, p + q)``.

        Attributes that hold parameters are linear in them; all else takes differences on copies of the model, unless
        the adapter knows the derivative of predictions.
        """
        from sklearn.base import is_classifier

        if isinstance(target, RowsTarget) and not is_classifier(self.model):
            return self.point.prediction_jacobian(target.rows)
        if target.attributes is None:
            return self.point.jacobian(lambda model: output.flatten(target.value(model)))
        others = [name for name in target.attributes if name not in self.adapter.parameter_attributes]
        if others:
            raise InfluenceError(
                f"no influence function is known for the attribute {others[0]!r}, which is not among the parameters "
                f'{", ".join(self.adapter.parameter_attributes)}; use estimator="standard" or "cheap"'
            )
        last = last_step(self.model)
        origin, *units = (
            output.flatten(target.value(self.adapter.moved(last, at)))
            for at in np.vstack([np.zeros(len(self.theta)), np.eye(len(self.theta))])
        )
        by_theta = np.stack(units, axis=1) - origin[:, np.newaxis]
        return np.hstack([by_theta, np.zeros((len(origin), self.n_numbers - len(self.theta)))])

    def near_kinks(self) -> tuple[list[str], list[str]]:
        """Return the zero coefficients that are near to entering, and the others near to leaving."""
        if not isinstance(self.adapter, RefittedModel) or not self.adapter.selects(last_step(self.model)):
            return [], []
        limit = np.abs(self.loss.linear).max(initial=0.0) or self.adapter.absolute_penalty(last_step(self.model))
        entering = self._near(limit - np.abs(self._scores.mean(axis=0)), self._score_errors, ~self.loss.free)
        leaving = self._near(np.abs(self.theta), self._errors[: len(self.theta)], self.loss.linear != 0)
        return entering, leaving

    def _near(self, distances: FloatArray, errors: FloatArray, among: BoolArray) -> list[str]:
        return [self.loss.names[position] for position in np.flatnonzero(among & (distances < _NEAR * errors))]

    @found_once
    def _scores(self) -> FloatArray:
        return self.loss.scores(self.theta)

    @found_once
    def _spread(self) -> FloatArray:
        """Return the standard deviation of the influence on each number of the point."""
        spread: FloatArray = self.influence(self._every_free_number()).std(axis=0)
        return spread

    @found_once
    def _errors(self) -> FloatArray:
        errors: FloatArray = self._spread / np.sqrt(self.n_rows)
        return errors

    def _every_free_number(self) -> FloatArray:
        n_state = self.n_numbers - len(self.theta)
        return np.diag(np.concatenate([self.loss.free, np.ones(n_state)]).astype(np.float64))

    @found_once
    def _score_errors(self) -> FloatArray:
        """Return the standard errors of the mean scores at the fit of a resample, shape ``(p,)``."""
        free = self.loss.free
        hessian = self.loss.hessian(self.theta, np.ones(self.n_rows))
        shares = self.factor.solve(hessian[free])
        errors: FloatArray = (self._scores - self._scores[:, free] @ shares).std(axis=0) / np.sqrt(self.n_rows)
        return errors

    @found_once
    def _scores_by_state(self) -> FloatArray:
        """Return the derivative of the mean scores by the scaling, shape ``(p, q)``."""
        assert self.scaling is not None
        parts = [self.loss.gradient_by_columns(self.theta, change) for change in self.scaling.changes]
        return np.hstack(parts)


def _without_rows(scaling: Scaling | None) -> Scaling | None:
    """Return a scaling without its rows."""
    if scaling is None:
        return None
    return replace(scaling, influence=scaling.influence[:0], changes=tuple(part[:0] for part in scaling.changes))


def solved(adapter: RefittedModel, model: Any, X: Any, y: Any) -> Solution:
    """Return the minimum near a fitted model on equally weighted rows; raise a `FitError` where there is none."""
    weights = np.ones(len(y))
    loss = _loss_of(adapter, model, X, y, float(len(y)))
    last = last_step(model)
    theta = loss.minimum(adapter.parameters(last), weights)
    # It has a factor where the data determine the parameters.
    factor = loss.at(theta, weights).factor()
    solution = with_last_step(model, adapter.moved(last, theta))
    return Solution(adapter, solution, Scaling.of(model, X), loss, factor, len(y))


def polished(adapter: RefittedModel, model: Any, X: Any, y: Any, weights: FloatArray) -> Any:
    """Return a fitted model moved to its exact minimum, beyond the tolerance of its solver.

    Raise a `FitError` where no minimum is found from where they stopped.
    """
    loss = _loss_of(adapter, model, X, y, float(weights.sum()))
    last = last_step(model)
    return with_last_step(model, adapter.moved(last, loss.minimum(adapter.parameters(last), weights)))


def _loss_of(adapter: RefittedModel, model: Any, X: Any, y: Any, total: float) -> PenalisedLoss:
    """Return the objective of the last step of a fitted model, on rows whose weights sum to `total`."""
    return adapter.loss(last_step(model), transformed(model, X), y, total, feature_names(model))
