"""Print what it costs to train ten networks together, against one after the other.

python -m benchmarks.networks

The networks and settings are the paper's: 100 tanh units and Adam with batches of 64, 128 and 256 rows, on data of the
sizes of its three data sets. "One after the other" is the loop that anyone writes, on modules and batches of torch.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from orthoboot.models.torch.network import tensor
from orthoboot.models.torch.training import AdamTraining

N_NETWORKS = 10
N_STEPS = 1500


@dataclass(frozen=True)
class Setting:
    """A data set of the paper: its rows in training, its columns, and the batches."""

    name: str
    n_rows: int
    n_columns: int
    batch_size: int


SETTINGS = (Setting("yacht", 246, 6, 64), Setting("energy", 538, 8, 128), Setting("kin8nm", 7782, 8, 256))


@dataclass(frozen=True)
class Times:
    """Seconds for ten networks."""

    together: float
    one_by_one: float

    @property
    def ratio(self) -> float:
        """Return how many times faster they are together."""
        return self.one_by_one / self.together


def measured(setting: Setting, n_runs: int = 2) -> Times:
    """Return the best of a few runs of each, in turn."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((setting.n_rows, setting.n_columns))
    y = X[:, 0] + rng.standard_normal(setting.n_rows)
    rows = [rng.integers(0, setting.n_rows, setting.n_rows) for _ in range(N_NETWORKS)]
    module = nn.Sequential(nn.Linear(setting.n_columns, 100), nn.Tanh(), nn.Linear(100, 1))
    epochs = max(N_STEPS * setting.batch_size // setting.n_rows, 1)
    training = AdamTraining(epochs, setting.batch_size, weight_decay=0.01)
    together, one_by_one = [], []
    for _ in range(n_runs):
        start = time.perf_counter()
        training.points(module, _squares, tensor(X), tensor(y), rows, range(N_NETWORKS))
        middle = time.perf_counter()
        for resample in rows:
            _trained(module, torch.tensor(X[resample]).float(), torch.tensor(y[resample]).float(), training)
        together.append(middle - start)
        one_by_one.append(time.perf_counter() - middle)
    return Times(min(together), min(one_by_one))


def _squares(output: Any, target: Any) -> Any:
    return (output[0] - target) ** 2


def _trained(module: Any, X: Any, y: Any, training: AdamTraining) -> None:
    """Train one network."""
    for layer in module:
        if hasattr(layer, "reset_parameters"):
            layer.reset_parameters()
    optimiser = torch.optim.Adam(module.parameters(), training.learning_rate, weight_decay=training.weight_decay)
    for _ in range(training.epochs):
        for batch in torch.randperm(len(X)).split(training.batch_size):
            optimiser.zero_grad()
            nn.functional.mse_loss(module(X[batch])[:, 0], y[batch]).backward()
            optimiser.step()


def main() -> None:
    print(f"| {N_NETWORKS} networks, {N_STEPS} steps | together, s | one after the other, s | ratio |")
    print("| --- | --- | --- | --- |")
    for setting in SETTINGS:
        times = measured(setting)
        print(f"| {setting.name} | {times.together:.2f} | {times.one_by_one:.2f} | {times.ratio:.1f} |")


if __name__ == "__main__":
    main()
