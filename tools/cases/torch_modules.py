"""Modules of PyTorch: lines, networks, classes, images and series, both protocols, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

import orthoboot as ob
from tools.cases.base import paired_answer

torch.set_num_threads(1)

_RNG = np.random.default_rng(0)
X = _RNG.standard_normal((150, 3))
Y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.3 * _RNG.standard_normal(150)
NEW = _RNG.standard_normal((4, 3))
LABELS = (Y > 0).astype(float)
CLASSES = np.digitize(Y, [-0.5, 0.5])
IMAGES = _RNG.standard_normal((60, 1, 4, 4))
LEVELS = IMAGES.mean(axis=(1, 2, 3)) + 0.1 * _RNG.standard_normal(60)
POSITIONS = _RNG.integers(0, 5, (60, 2))
SERIES = _RNG.standard_normal((40, 5, 3))
PAPER: dict[str, Any] = {"protocol": "paper", "epochs": 20, "batch_size": 50, "learning_rate": 0.01}


def started(build: Callable[[], Any]) -> Any:
    """Return a module whose parameters are the same in every run, in double precision."""
    torch.manual_seed(0)
    return build().double()


def trained(module: Any, loss: Any, y: Any, decay: float = 0.0) -> Any:
    """Return a module at the minimum of its loss."""
    optimiser = torch.optim.LBFGS(
        module.parameters(), max_iter=2000, tolerance_grad=1e-12, tolerance_change=0.0, line_search_fn="strong_wolfe"
    )

    def closure() -> Any:
        optimiser.zero_grad()
        value = loss(module(torch.tensor(X)), y) + decay / 2 * sum((part**2).sum() for part in module.parameters())
        value.backward()
        return value

    optimiser.step(closure)
    return module


def line() -> Any:
    """Return least squares."""
    return trained(started(lambda: nn.Linear(3, 1)), nn.MSELoss(), torch.tensor(Y)[:, None])


def network(*, at_minimum: bool = True) -> Any:
    """Return a network of four units."""
    module = started(lambda: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)))
    return trained(module, nn.MSELoss(), torch.tensor(Y)[:, None], 0.02) if at_minimum else module


def coefficients(module: Any) -> Any:
    """Return what a line is."""
    return {"slopes": module.weight[0], "intercept": module.bias[0]}


class OverTime(nn.Module):
    """A layer that goes along rows of five steps, and a line from what it gives."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer
        self.line = nn.Linear(3, 1)

    def forward(self, rows: Any) -> Any:
        """Return one number for each row."""
        return self.line(self.layer(rows)[0].mean(dim=1))


def _module(module: Any, X: Any = X, y: Any = Y, target: Any = NEW, loss: Any = None, **options: Any) -> ob.Result:
    asked = {name: options.pop(name) for name in ("estimator", "n_resamples", "batch") if name in options}
    model = ob.from_torch(module, nn.MSELoss() if loss is None else loss, X, y, target, **options)
    return paired_answer(model.data, model, **asked)


def _diagnostics(module: Any, **options: Any) -> dict[str, Any]:
    model = ob.from_torch(module, nn.MSELoss(), X, Y, NEW, **options)
    found = model.diagnostics(paired_answer(model.data, model))
    numbers = ("gradient_norm", "distance", "smallest_eigenvalue", "solve_residual", "variance_reduction")
    return {name: getattr(found, name) for name in numbers} | {"curvature": found.curvature}


def _classifier() -> Any:
    return trained(started(lambda: nn.Linear(3, 3)), nn.CrossEntropyLoss(), torch.tensor(CLASSES), 0.05)


def _convolution() -> Any:
    return started(lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.Tanh(), nn.Flatten(), nn.Linear(8, 1)))


def _embedding() -> Any:
    return started(lambda: nn.Sequential(nn.Embedding(5, 2), nn.Flatten(), nn.Linear(4, 1)))


def _recurrent() -> Any:
    return started(lambda: OverTime(nn.GRU(3, 3, batch_first=True)))


CASES = {
    "line": lambda: _module(line(), target=coefficients),
    "line, parameters": lambda: _module(line(), target=None),
    "line, jackknife": lambda: _module(line(), estimator="jackknife", n_resamples=0),
    "line, standard": lambda: _module(line(), estimator="standard"),
    "line, not trained": lambda: _module(started(lambda: nn.Linear(3, 1))),
    "line, single precision": lambda: _module(line().float()),
    "logistic": lambda: _module(
        trained(started(lambda: nn.Linear(3, 1)), nn.BCEWithLogitsLoss(), torch.tensor(LABELS)[:, None]),
        y=LABELS,
        loss=nn.BCEWithLogitsLoss(),
        target=coefficients,
    ),
    "classes": lambda: _module(
        _classifier(),
        y=CLASSES,
        loss=nn.CrossEntropyLoss(),
        target=lambda module: module(torch.tensor(NEW)).softmax(dim=1),
        weight_decay=0.05,
    ),
    "network": lambda: _module(network(), weight_decay=0.02),
    "network, not at its minimum": lambda: _module(network(at_minimum=False), weight_decay=0.02),
    "network, function": lambda: _module(
        network(), target=lambda module: module(torch.tensor(NEW))[:, 0], weight_decay=0.02
    ),
    "network, parameters": lambda: _module(network(), target=None, weight_decay=0.02),
    "network, gauss-newton": lambda: _module(network(), weight_decay=0.02, curvature="gauss-newton"),
    "network, conjugate gradients": lambda: _module(network(), weight_decay=0.02, solver="cg"),
    "network, damping": lambda: _module(network(), weight_decay=0.02, damping=0.1),
    "network, batches": lambda: _module(network(), weight_decay=0.02, batch=3),
    "network, one number per row": lambda: _module(nn.Sequential(network(), nn.Flatten(0)), weight_decay=0.02),
    "network, diagnostics": lambda: _diagnostics(network(), weight_decay=0.02),
    "network, paper": lambda: _module(network(), weight_decay=0.02, **PAPER),
    "network, paper, another seed": lambda: _module(network(), weight_decay=0.02, seed=1, **PAPER),
    "network, paper, standard": lambda: _module(network(), weight_decay=0.02, estimator="standard", **PAPER),
    "network, paper, diagnostics": lambda: _diagnostics(network(), weight_decay=0.02, **PAPER),
    "rectified units": lambda: _module(
        started(lambda: nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 1))), weight_decay=0.02
    ),
    "convolution": lambda: _module(_convolution(), IMAGES, LEVELS, IMAGES[:2], weight_decay=0.1),
    "embedding": lambda: _module(_embedding(), POSITIONS, LEVELS, POSITIONS[:3], weight_decay=0.1),
    "recurrent": lambda: _module(_recurrent(), SERIES, LEVELS[:40], SERIES[:2], weight_decay=0.1, solver="cg"),
    "recurrent, refused": lambda: _module(_recurrent(), SERIES, LEVELS[:40], SERIES[:2], weight_decay=0.1),
    "constant response": lambda: _module(network(), y=np.ones(150), weight_decay=0.05),
    "diverges": lambda: _module(
        network().float(), estimator="standard", n_resamples=4, **(PAPER | {"learning_rate": 1e30})
    ),
    "separated classes": lambda: _module(
        started(lambda: nn.Linear(3, 1)), y=(X[:, 0] > 0).astype(float), loss=nn.BCEWithLogitsLoss()
    ),
    "dropout": lambda: _module(started(lambda: nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1)))),
    "no protocol": lambda: _module(line(), protocol="cold"),
    "no epochs": lambda: _module(line(), protocol="paper"),
    "other rows": lambda: _module(line(), target=NEW[:, :2]),
    "a class": lambda: _module(nn.Linear),
}
