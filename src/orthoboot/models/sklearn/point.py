"""The estimated numbers of a fitted scikit-learn model, and derivatives by them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from orthoboot.functionals.differences import jacobian_by_differences
from orthoboot.models.sklearn.interface import Adapter
from orthoboot.models.sklearn.pipeline import Scaling, last_step, scaling_changes, transformed, with_last_step
from orthoboot.typing import FloatArray
from orthoboot.warning_scopes import silenced


def predictions(model: Any, rows: Any) -> FloatArray:
    """Return the predictions of a fitted model, shape ``(m,)``, without repeating its warnings."""
    with silenced():
        return np.asarray(model.predict(rows), dtype=np.float64).reshape(-1)


@dataclass(frozen=True, eq=False)
class ModelPoint:
    r"""A fitted model as a point :math:`(\theta, s)`: its parameters and, where it scales, the means and scales.

    It keeps no rows and can be pickled, so that a fitted model can be differentiated long after its data are gone.

    Attributes
    ----------
    adapter, model
        The fitted model and how to read it.
    scaling
        That of the pipeline, where it has one.
    spread
        How far one row is from each number of the point, shape ``(p + q,)``; numbers that do not vary have zero.
    n_rows
        The rows that the model was fitted to.
    """

    adapter: Adapter
    model: Any
    scaling: Scaling | None
    spread: FloatArray
    n_rows: int

    @cached_property
    def theta(self) -> FloatArray:
        """Return the parameters, shape ``(p,)``."""
        return self.adapter.parameters(last_step(self.model))

    @cached_property
    def numbers(self) -> FloatArray:
        """Return the point, shape ``(p + q,)``."""
        return self.theta if self.scaling is None else np.concatenate([self.theta, self.scaling.state])

    def jacobian(self, values: Callable[[Any], FloatArray]) -> FloatArray:
        """Return the derivative of any values ``(k,)`` of the model by the point, shape ``(k, p + q)``."""
        return self._by_differences(values, self.spread)

    def prediction_jacobian(self, rows: Any) -> FloatArray:
        """Return the derivative of the predictions at `rows` by the point, shape ``(m, p + q)``.

        The adapter may know that by the parameters, and by the columns, which move with the scaling. All else takes
        differences.
        """
        last, columns = last_step(self.model), transformed(self.model, rows)
        by_theta = self.adapter.prediction_jacobian(last, columns)
        if by_theta is None:
            return self.jacobian(lambda model: predictions(model, rows))
        if self.scaling is None:
            return by_theta
        by_columns = self.adapter.column_jacobian(last, columns)
        if by_columns is not None:
            return np.hstack([by_theta, *(by_columns * change for change in scaling_changes(self.model, rows))])
        is_state = np.arange(len(self.numbers)) >= len(self.theta)
        spread = np.where(is_state, self.spread, 0.0)
        jacobian = self._by_differences(lambda model: predictions(model, rows), spread)
        jacobian[:, ~is_state] = by_theta
        return jacobian

    def _by_differences(self, values: Callable[[Any], FloatArray], spread: FloatArray) -> FloatArray:
        def at(points: FloatArray) -> FloatArray:
            models = (self._placed(point) for point in points.reshape(len(points), -1).T)
            return np.stack([values(model) for model in models], axis=1)

        return jacobian_by_differences(at, self.numbers, spread, self.n_rows)

    def _placed(self, numbers: FloatArray) -> Any:
        """Return a copy of the model at another point."""
        theta, state = numbers[: len(self.theta)], numbers[len(self.theta) :]
        moved = with_last_step(self.model, self.adapter.moved(last_step(self.model), theta))
        return moved if self.scaling is None else self.scaling.moved(moved, state)
