"""The two-layer network of the paper in numpy: its outputs and their derivatives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orthoboot.typing import FloatArray


class TwoLayers(NamedTuple):
    r"""The parameters of :math:`f(x) = v' \tanh(W x + b) + c`.

    W has shape ``(h, d)``, b and v have ``(h,)``.
    """

    hidden_weights: FloatArray
    hidden_bias: FloatArray
    output_weights: FloatArray
    output_bias: float

    @staticmethod
    def of(point: FloatArray, n_features: int) -> TwoLayers:
        """Return the parameters in the order of the module's."""
        h = (len(point) - 1) // (n_features + 2)
        weights, bias, output, last = np.split(point, [h * n_features, h * (n_features + 1), h * (n_features + 2)])
        return TwoLayers(weights.reshape(h, n_features), bias, output, float(last[0]))

    @property
    def point(self) -> FloatArray:
        """Return them in one vector, shape ``(h (d + 2) + 1,)``."""
        return np.concatenate(
            [np.ravel(self.hidden_weights), self.hidden_bias, self.output_weights, [self.output_bias]]
        )

    def units(self, X: FloatArray) -> FloatArray:
        """Return the values of the hidden units for rows X, shape ``(n, h)``."""
        values: FloatArray = np.tanh(X @ self.hidden_weights.T + self.hidden_bias)
        return values

    def outputs(self, X: FloatArray) -> FloatArray:
        """Return f for rows X, shape ``(n,)``."""
        values: FloatArray = self.units(X) @ self.output_weights + self.output_bias
        return values

    def jacobian(self, X: FloatArray) -> FloatArray:
        """Return the derivative of f by the point, shape ``(n, p)``."""
        units = self.units(X)
        slopes = (1 - units**2) * self.output_weights
        by_weights = (slopes[:, :, np.newaxis] * X[:, np.newaxis, :]).reshape(len(X), -1)
        return np.hstack([by_weights, slopes, units, np.ones((len(X), 1))])
