"""A network's loss as the loss of a scikit-learn model."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from orthoboot.models.torch.fit import CurvatureOptions, NetworkFit, curvature_at, polished
from orthoboot.models.torch.network import NetworkLoss
from orthoboot.solvers import Factor
from orthoboot.typing import BoolArray, FloatArray

STEPS_AMONG_KINKS = 100
"""Of a search that a kink may end; from kink to kink it would go on for long and gain little."""


@dataclass(frozen=True, eq=False)
class NetworkEquations:
    """What a network minimises on rows, as the `ModelLoss` of its adapter.

    Attributes
    ----------
    loss
        What is minimised.
    polishes
        Whether its fit is the minimum, with the exact Hessian; or else where the training ends, with the Gauss-Newton
        matrix.
    column_scales
        What the columns were divided by before they became those of `loss`, shape ``(d,)``.
    has_kinks
        Whether the loss is smooth between kinks only. The search then ends at a minimum or at a kink.
    """

    loss: NetworkLoss
    polishes: bool
    column_scales: FloatArray
    has_kinks: bool = False
    _fits: dict[bytes, NetworkFit] = field(init=False, repr=False, default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Return what messages call the parameters."""
        return self.loss.network.names

    @cached_property
    def free(self) -> BoolArray:
        """Return that the data may move them all."""
        return np.ones(self.loss.network.size, dtype=np.bool_)

    @cached_property
    def linear(self) -> FloatArray:
        """Return that no penalty has a kink."""
        return np.zeros(self.loss.network.size)

    def scores(self, theta: FloatArray) -> FloatArray:
        """Return the gradients of the rows' losses, the penalty's in each, shape ``(n, p)``."""
        return self.loss.scores(theta)

    def hessian(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the Hessian, shape ``(p, p)``."""
        return self.loss.hessian(theta, weights)

    def factor(self, theta: FloatArray, weights: FloatArray) -> Factor:
        """Return the curvature at equal weights, ready for solving."""
        return self.fit(theta).curvature.factor

    def minimum(self, start: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the minimum near `start`; `start` itself for a network that is left where its training ends.

        The weights are equal: networks refit from this minimum, by `NetworkFit.refits`.
        """
        if not self.polishes:
            self.loss.check_finite(start, "at the end of the training")
            return start
        if self.has_kinks:
            return np.asarray(self._at(start).refits(weights[np.newaxis], max_steps=STEPS_AMONG_KINKS).points[0])
        fit = polished(self.loss, start, self._options)
        self._fits[fit.point.tobytes()] = fit
        return fit.point

    def fit(self, theta: FloatArray) -> NetworkFit:
        """Return the network at a point, with its curvature there; that at the minimum is found once."""
        key = theta.tobytes()
        if key not in self._fits:
            self._fits[key] = self._at(theta)
        return self._fits[key]

    def gradient_by_columns(self, theta: FloatArray, changes: FloatArray) -> FloatArray:
        """Return how the gradient at equal weights moves as each of d columns moves along its change: ``(p, d)``."""
        return self.loss.gradient_by_columns(theta, changes / self.column_scales)

    def _at(self, theta: FloatArray) -> NetworkFit:
        return NetworkFit(self.loss, theta, curvature_at(self.loss, theta, self._options))

    @property
    def _options(self) -> CurvatureOptions:
        return CurvatureOptions("auto" if self.polishes else "gauss-newton")
