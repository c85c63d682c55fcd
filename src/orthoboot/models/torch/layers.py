"""The networks of scikit-learn, `MLPRegressor` and `MLPClassifier`, in torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from orthoboot.models.torch.network import Network, NetworkLoss, OutputLoss, tensor
from orthoboot.typing import FloatArray

_ACTIVATIONS = {
    "identity": lambda values: values,
    "logistic": torch.sigmoid,
    "tanh": torch.tanh,
    "relu": torch.relu,
}


class Layers(nn.Module):  # type: ignore[misc]
    """Layers in scikit-learn's convention, ``activation(x @ coefs_[i] + intercepts_[i])``, the last as it is.

    Parameters
    ----------
    coefs, intercepts
        Of each layer, shapes ``(fan_in, fan_out)`` and ``(fan_out,)``.
    activation
        Its name.
    ties_first
        Whether the first number of the last intercept stays where it is: a number that is added to the outputs of all
        classes changes no probability, and would leave the Hessian singular.
    """

    def __init__(
        self, coefs: Sequence[FloatArray], intercepts: Sequence[FloatArray], activation: str, *, ties_first: bool
    ) -> None:
        super().__init__()
        self.activation = activation
        self.n_layers = len(coefs)
        for layer, (coef, intercept) in enumerate(zip(coefs, intercepts, strict=True)):
            is_tied = ties_first and layer == self.n_layers - 1
            self.register_buffer(f"tied_{layer}", tensor(intercept[: int(is_tied)]))
            self.register_parameter(f"coefs_[{layer}]", nn.Parameter(tensor(coef)))
            name = f"intercepts_[{layer}]" + ("[1:]" if is_tied else "")
            self.register_parameter(name, nn.Parameter(tensor(intercept[int(is_tied) :])))
        self._names = [name for name, _ in self.named_parameters()]

    def forward(self, values: Any) -> Any:
        """Return the outputs, shape ``(n, q)``."""
        for layer in range(self.n_layers):
            coef, intercept = (getattr(self, name) for name in self._names[2 * layer : 2 * layer + 2])
            values = values @ coef + torch.cat([getattr(self, f"tied_{layer}"), intercept])
            values = _ACTIVATIONS[self.activation](values) if layer < self.n_layers - 1 else values
        return values


def layers_loss(module: Layers, output_loss: OutputLoss, X: FloatArray, y: FloatArray, decay: float) -> NetworkLoss:
    """Return the objective of the layers on rows; the intercepts are not penalised."""
    network = Network(module)
    decays = [np.full(part.numel(), decay * name.startswith("coefs_")) for name, part in module.named_parameters()]
    return NetworkLoss(network, output_loss, tensor(X), tensor(y), np.concatenate(decays))


def half_squared_error(output: Any, response: Any) -> Any:
    """Return the loss of a row of a regression."""
    return (output[0] - response) ** 2 / 2


def binary_log_loss(output: Any, response: Any) -> Any:
    """Return minus the log-likelihood of a label, zero or one."""
    return nn.functional.softplus(output[0]) - response * output[0]


def log_loss(output: Any, response: Any) -> Any:
    """Return minus the log-likelihood of a class, which is a row of zeros with a one."""
    return torch.logsumexp(output, 0) - (output * response).sum()
