"""The two-layer network of the paper in torch, and its squared error with second derivatives in closed form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import nn

from orthoboot.autodiff.process_state import TORCH_STATE
from orthoboot.models.torch.network import Network, NetworkLoss, tensor
from orthoboot.models.torch.two_layer_numpy import TwoLayers
from orthoboot.typing import FloatArray

_NUMBERS_AT_ONCE = 1 << 23
"""Of single rows' derivatives: 64 MB."""


class TwoLayerLoss(NetworkLoss):
    r"""The weighted mean of :math:`(f(x_j) - y_j)^2` with its penalty, for a module made by `two_layer_module`.

    With r the residuals and :math:`z = (x, 1)`, the Hessian is the Gauss-Newton matrix :math:`2 \sum_j w_j J_j J_j'`
    and, unit by unit, :math:`2 \sum_j w_j r_j v_u \tanh''(a_{ju}) z_j z_j'` for the numbers that lead to the unit and
    :math:`2 \sum_j w_j r_j \tanh'(a_{ju}) z_j` between them and :math:`v_u`. Automatic differentiation takes tens of
    times as long.
    """

    def values_and_gradients(self, points: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the loss at each point ``(A, p)`` with its own weights ``(A, n)``: shapes ``(A,)`` and ``(A, p)``."""
        values, gradients = zip(*map(self._value_and_gradient, points, weights), strict=True)
        return np.array(values), np.array(gradients)

    def _value_and_gradient(self, point: FloatArray, weights: FloatArray) -> tuple[float, FloatArray]:
        X, layers, shares = self.X.numpy(), TwoLayers.of(point, self.X.shape[1]), weights / weights.sum()
        units = layers.units(X)
        residuals = units @ layers.output_weights + layers.output_bias - self.y.numpy()
        slopes = 2 * shares * residuals
        towards = slopes[:, np.newaxis] * (1 - units * units) * layers.output_weights
        gradient = TwoLayers(towards.T @ X, towards.sum(axis=0), slopes @ units, float(slopes.sum()))
        value = shares @ (residuals * residuals) + self.decay @ (point * point) / 2
        return float(value), gradient.point + self.decay * point

    def hessian(self, point: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the second derivative, shape ``(p, p)``."""
        h, d = TwoLayers.of(point, self.X.shape[1]).hidden_weights.shape
        hessian = self.gauss_newton(point, weights)
        towards = np.column_stack([np.arange(h * d).reshape(h, d), h * d + np.arange(h)])
        onwards = h * (d + 1) + np.arange(h)[:, np.newaxis]
        for X, y, shares in self._numpy_pieces(weights):
            within, between = _bends(TwoLayers.of(point, d), X, y, shares)
            hessian[towards[:, :, np.newaxis], towards[:, np.newaxis, :]] += within
            hessian[towards, onwards] += between
            hessian[onwards, towards] += between
        return hessian

    def gauss_newton(self, point: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the Gauss-Newton part of the Hessian, positive semidefinite for nonnegative weights."""
        matrix = np.diag(self.decay)
        for X, _, shares in self._numpy_pieces(weights):
            rooted = np.sqrt(2 * shares)[:, np.newaxis] * TwoLayers.of(point, X.shape[1]).jacobian(X)
            matrix += rooted.T @ rooted
        return matrix

    def scores(self, point: FloatArray) -> FloatArray:
        """Return the gradient of each row with the penalty's, shape ``(n, p)``."""
        X, layers = self.X.numpy(), TwoLayers.of(point, self.X.shape[1])
        residuals = layers.outputs(X) - self.y.numpy()
        scores: FloatArray = 2 * residuals[:, np.newaxis] * layers.jacobian(X) + self.decay * point
        return scores

    def _numpy_pieces(self, weights: FloatArray) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
        """Return X, y and the shares of the weights in chunks of rows."""
        size = max(_NUMBERS_AT_ONCE // self.network.size, 1)
        tables = (self.X.numpy(), self.y.numpy(), weights / weights.sum())
        for start in range(0, len(weights), size):
            X, y, shares = (table[start : start + size] for table in tables)
            yield X, y, shares


def _bends(layers: TwoLayers, X: FloatArray, y: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the second derivatives within the input weights of each unit, and between these and its output weight.

    Shapes ``(h, d + 1, d + 1)`` and ``(h, d + 1)``.
    """
    units, columns = layers.units(X), np.column_stack([X, np.ones(len(X))])
    slopes = 2 * shares * (layers.outputs(X) - y)
    between = (slopes[:, np.newaxis] * (1 - units**2)).T
    within = -2 * units.T * between * layers.output_weights[:, np.newaxis]
    return np.stack([columns.T @ (bend[:, np.newaxis] * columns) for bend in within]), between @ columns


def two_layer_module(n_features: int, hidden_units: int) -> Any:
    """Return the module, in double precision; its initial parameters are set elsewhere."""
    with TORCH_STATE, torch.random.fork_rng(devices=[]):
        return nn.Sequential(nn.Linear(n_features, hidden_units), nn.Tanh(), nn.Linear(hidden_units, 1)).double()


def squared_error(output: Any, response: Any) -> Any:
    """Return the loss of a row."""
    return (output[0] - response) ** 2


def two_layer_loss(hidden_units: int, X: FloatArray, y: FloatArray, weight_decay: float) -> TwoLayerLoss:
    """Return the objective of a network of `hidden_units` units on rows X ``(n, d)`` and y ``(n,)``."""
    network = Network(two_layer_module(X.shape[1], hidden_units))
    return TwoLayerLoss(network, squared_error, tensor(X), tensor(y), np.full(network.size, weight_decay))
