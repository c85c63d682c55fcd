"""Training of many small networks at once, from fresh starts."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.func import functional_call, grad, vmap
from torch.fx.experimental.proxy_tensor import make_fx

from orthoboot.autodiff.process_state import TORCH_STATE
from orthoboot.models.torch.network import OutputLoss, groups_of, threads_for
from orthoboot.typing import FloatArray, IntArray

_ROWS_AT_ONCE = 1 << 16
"""Of the batches of all networks together."""

_BEFORE_RECORDING = 64
"""Steps of one shape without a recording, which takes as long as these; each step with one takes a quarter."""


@dataclass(frozen=True)
class AdamTraining:
    """Adam on random batches, from newly drawn parameters (``appendix:pi experiment detail``).

    Parameters
    ----------
    epochs
        How often every row is seen.
    batch_size
        How many rows make a step.
    learning_rate
        The size of the steps.
    weight_decay
        What is added to the gradient, times the parameters.
    """

    epochs: int
    batch_size: int
    learning_rate: float = 1e-3
    weight_decay: float = 0.0

    def points(
        self, module: Any, output_loss: OutputLoss, X: Any, y: Any, rows: Sequence[IntArray], seeds: Sequence[int]
    ) -> FloatArray:
        """Return the parameters of one network for each set of rows, shape ``(B, p)``.

        A network depends on its own rows and its own seed alone. Those that it is trained with may change the order in
        which the processor's kernels add, and so the rounding: a step of the training by a few units in the last place.

        Parameters
        ----------
        module
            Gives the architecture, and the precision of the training.
        output_loss
            The loss of one output and response.
        X, y
            Tensors with the rows first.
        rows
            The numbers of the rows that a network is trained with, in which rows repeat. Those of one length are
            trained together.
        seeds
            Of the start and of the order of the rows.
        """
        lengths = np.array([len(own) for own in rows])
        points = np.empty((len(rows), _size(module)))
        with threads_for(self.batch_size * points.shape[1]):
            for length in np.unique(lengths):
                alike = np.flatnonzero(lengths == length)
                for places in groups_of(len(alike), max(_ROWS_AT_ONCE // self.batch_size, 2)):
                    group = alike[places]
                    own_rows, own_seeds = [rows[b] for b in group], [int(seeds[b]) for b in group]
                    points[group] = self._together(module, output_loss, X, y, own_rows, own_seeds)
        return points

    def _together(
        self, module: Any, output_loss: OutputLoss, X: Any, y: Any, rows: list[IntArray], seeds: list[int]
    ) -> FloatArray:
        points = torch.stack([_flat(restarted(module, seed)) for seed in seeds])
        X, y = (_as_precise(table, points.dtype) for table in (X, y))
        shuffles = [torch.Generator().manual_seed(seed) for seed in seeds]
        drawn, gradients = torch.from_numpy(np.stack(rows)), _Gradients(module, output_loss)
        adam = _Adam(points, self.learning_rate, self.weight_decay)
        for _ in range(self.epochs):
            order = torch.stack([torch.randperm(drawn.shape[1], generator=shuffle) for shuffle in shuffles])
            for batch in torch.split(drawn.gather(1, order), self.batch_size, dim=1):
                adam.step(gradients(points, X[batch], y[batch]))
        trained: FloatArray = points.double().numpy()
        return trained


class _Adam:
    """Adam of Kingma and Ba (2015) with torch's defaults, in place on one tensor.

    Torch's own asks in every step for what cannot change here, which takes as long as the step. Its faster variants
    round the last numbers of an array in another way than those before, so that results would depend on how many
    networks are trained together.
    """

    _DECAYS, _EPSILON = (0.9, 0.999), 1e-8

    def __init__(self, points: Any, learning_rate: float, weight_decay: float) -> None:
        self._points, self._learning_rate, self._weight_decay = points, learning_rate, weight_decay
        self._mean, self._square = torch.zeros_like(points), torch.zeros_like(points)
        self._n_steps = 0

    def step(self, gradient: Any) -> None:
        """Move the points against their gradient."""
        self._n_steps += 1
        first, second = self._DECAYS
        gradient = gradient.add(self._points, alpha=self._weight_decay)
        self._mean.lerp_(gradient, 1 - first)
        self._square.mul_(second).addcmul_(gradient, gradient, value=1 - second)
        scale = (self._square.sqrt() / math.sqrt(1 - second**self._n_steps)).add_(self._EPSILON)
        self._points.addcdiv_(self._mean, scale, value=-self._learning_rate / (1 - first**self._n_steps))


class _Gradients:
    """The gradients of the mean batch loss of many networks, each with its own batch.

    What torch does for a batch of one shape is recorded once this has come often, and then played back, without the
    Python between. The operations are the same; on some processors MKL rounds them in another way. When the recording
    begins depends on the steps of these networks alone, so the same call has the same bits.
    """

    def __init__(self, module: Any, output_loss: OutputLoss) -> None:
        shapes = {name: part.shape for name, part in module.named_parameters() if part.requires_grad}
        sizes = [shape.numel() for shape in shapes.values()]
        architecture = copy.deepcopy(module).cpu().requires_grad_(False)

        def mean_loss(point: Any, X: Any, y: Any) -> Any:
            parts = zip(shapes.items(), torch.split(point, sizes), strict=True)
            outputs = functional_call(architecture, {name: part.view(shape) for (name, shape), part in parts}, (X,))
            return vmap(output_loss)(outputs, y).mean()

        self._program = vmap(grad(mean_loss))
        self._n_calls: Counter[int] = Counter()
        self._recorded: dict[int, Callable[..., Any]] = {}

    def __call__(self, points: Any, X: Any, y: Any) -> Any:
        """Return the gradients at points ``(B, p)`` for batches ``(B, rows, ...)``, shape ``(B, p)``."""
        n_rows = X.shape[1]
        self._n_calls[n_rows] += 1
        if self._n_calls[n_rows] <= _BEFORE_RECORDING:
            return self._program(points, X, y)
        if n_rows not in self._recorded:
            self._recorded[n_rows] = _without_idle_steps(make_fx(self._program)(points, X, y)).forward
        return self._recorded[n_rows](points, X, y)


def _without_idle_steps(recording: Any) -> Any:
    """Return a traced graph without reshapes that change nothing, a third of all steps."""
    reshaping = {torch.ops.aten.expand.default, torch.ops.aten.view.default, torch.ops.aten._unsafe_view.default}
    for step in recording.graph.nodes:
        if step.target in reshaping and _shape(step) == _shape(step.args[0]):
            step.replace_all_uses_with(step.args[0])
    recording.graph.eliminate_dead_code()
    recording.recompile()
    return recording


def _shape(step: Any) -> Any:
    return step.meta["tensor_meta"].shape


def restarted(module: Any, seed: int) -> Any:
    """Return a copy of `module` with newly drawn parameters, as by its layers' `reset_parameters`."""
    result = copy.deepcopy(module).cpu()
    with TORCH_STATE, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for part in result.modules():
            if hasattr(part, "reset_parameters"):
                part.reset_parameters()
    return result


def layers_without_start(module: Any) -> list[str]:
    """Return the layers whose own parameters `restarted` cannot draw."""
    return [
        name or type(part).__name__
        for name, part in module.named_modules()
        if not hasattr(part, "reset_parameters") and any(True for _ in part.parameters(recurse=False))
    ]


def _flat(module: Any) -> Any:
    return torch.cat([part.detach().reshape(-1) for part in module.parameters() if part.requires_grad])


def _size(module: Any) -> int:
    return sum(part.numel() for part in module.parameters() if part.requires_grad)


def _as_precise(table: Any, dtype: Any) -> Any:
    return table.to(dtype) if table.is_floating_point() else table
