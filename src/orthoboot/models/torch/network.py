"""A torch module as a function of its parameters in one vector, and the loss that it is trained with."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch.func import functional_call, grad, grad_and_value, jacrev, jvp, vjp, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from orthoboot.autodiff.process_state import TORCH_STATE
from orthoboot.autodiff.torch import load_forward_mode
from orthoboot.errors import FitError
from orthoboot.typing import FloatArray, IntArray

_ROWS_AT_ONCE = 1 << 16
"""Of all networks together, whose activations are held at once."""
_WORK_OF_A_THREAD = 2e5
"""Rows times parameters: with less, threads wait for each other longer than they work."""
_ROW_GRADIENTS_AT_ONCE = 1 << 23
"""Numbers of single rows' gradients that are held at once: 64 MB."""

_ALIGNMENT = 64
"""Bytes, of which the address of a tensor is a multiple."""

OutputLoss = Callable[[Any, Any], Any]
"""What one row loses: a function of its output and its response that returns one number."""


class Network:
    """A module in double precision on the CPU, whose parameters are the numbers of one vector.

    Parameters
    ----------
    module
        Any module; it is copied. Parameters that do not require gradients stay as they are.
    """

    def __init__(self, module: Any) -> None:
        self._module = copy.deepcopy(module).cpu().double()
        trained = {name: part for name, part in self._module.named_parameters() if part.requires_grad}
        self._shapes = {name: part.shape for name, part in trained.items()}
        self.start: FloatArray = _flat(trained)
        self._module.requires_grad_(False)

    @property
    def size(self) -> int:
        """Return the number p of parameters."""
        return len(self.start)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return what messages call the parameters."""
        return tuple(
            f"{name}{list(index)}" for name, shape in self._shapes.items() for index in np.ndindex(tuple(shape))
        )

    def __call__(self, point: Any, X: Any) -> Any:
        """Return the outputs for rows X at a point ``(p,)``, both tensors."""
        # Of attention the faster ways have no second derivative.
        with TORCH_STATE, sdpa_kernel(SDPBackend.MATH):
            return functional_call(self._module, self.placed(point), (X,))

    def placed(self, point: Any) -> dict[str, Any]:
        """Return the parameters by their names."""
        parts = torch.split(point, [shape.numel() for shape in self._shapes.values()])
        return {name: part.view(shape) for (name, shape), part in zip(self._shapes.items(), parts, strict=True)}

    def bound(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return a function of the module as a function of the point."""

        def of_point(point: Any) -> Any:
            parts = {f"module.{name}": part for name, part in self.placed(point).items()}
            with TORCH_STATE:
                return functional_call(_Called(self._module, function), parts, ())

        return of_point

    def filled(self, module: Any, point: FloatArray) -> Any:
        """Return a copy of `module` with its parameters set to another point, in their own precision."""
        result = copy.deepcopy(module)
        with torch.no_grad():
            for name, part in self.placed(tensor(point)).items():
                result.get_parameter(name).copy_(part)
        return result

    def outputs(self, points: FloatArray, X: Any) -> FloatArray:
        """Return the outputs of all points ``(B, p)`` for rows X, shape ``(B, m, ...)``."""
        with torch.no_grad():
            pieces = [self(tensor(point), rows).numpy() for point in points for (rows,) in _pieces(_ROWS_AT_ONCE, X)]
        return np.concatenate(pieces).reshape(len(points), len(X), *pieces[0].shape[1:])

    def output_jacobian(self, point: FloatArray, X: Any) -> FloatArray:
        """Return the derivative of the outputs for rows X by the point, shape ``(m, q, p)``, outputs in a row."""
        pieces = _pieces(self.jacobians_at_once(X), X)
        return np.concatenate([self.row_jacobians(tensor(point), rows).numpy() for (rows,) in pieces])

    def jacobians_at_once(self, X: Any) -> int:
        """Return how many rows' output derivatives to hold at once."""
        with torch.no_grad():
            n_outputs = int(self(tensor(self.start), X[:1]).numel())
        return max(_ROW_GRADIENTS_AT_ONCE // (self.size * n_outputs), 1)

    def row_jacobians(self, point: Any, X: Any) -> Any:
        """Return the derivatives for tensors, all rows at once."""
        return vmap(jacrev(lambda at, row: self(at, row.unsqueeze(0)).reshape(-1)), in_dims=(None, 0))(point, X)


class _Called(torch.nn.Module):  # type: ignore[misc]
    """A function of a module, wrapped as a module so that torch can substitute its parameters."""

    def __init__(self, module: Any, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.module = module
        self.function = function

    def forward(self) -> Any:
        return self.function(self.module)


@dataclass(frozen=True, eq=False)
class NetworkLoss:
    r"""The weighted mean of row losses, with a quadratic penalty that is not resampled.

    .. math:: \frac{\sum_j w_j\,\ell(f_\theta(x_j), y_j)}{\sum_j w_j} + \tfrac12 \sum_i d_i \theta_i^2

    Attributes
    ----------
    network
        The function f.
    output_loss
        The loss of one output and response.
    X, y
        Tensors with the rows first, of floating-point numbers in double precision.
    decay
        d, shape ``(p,)``: what torch's optimisers call the weight decay.
    """

    network: Network
    output_loss: OutputLoss
    X: Any
    y: Any
    decay: FloatArray

    def values_and_gradients(self, points: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the loss at each point ``(A, p)`` with its own weights ``(A, n)``: shapes ``(A,)`` and ``(A, p)``."""
        values, gradients = np.empty(len(points)), np.empty(points.shape)
        program = vmap(grad_and_value(self._objective))
        with threads_for(len(self.X) * self.network.size):
            for group in groups_of(len(points), max(_ROWS_AT_ONCE // len(self.X), 2)):
                gradient, value = program(tensor(points[group]), tensor(weights[group]))
                # Of a twin the last one is its copy, which goes where it comes from.
                values[group], gradients[group] = value.numpy(), gradient.numpy()
        return values, gradients

    def row_losses(self, point: FloatArray) -> FloatArray:
        """Return the loss of each row, shape ``(n,)``."""
        with torch.no_grad():
            return np.concatenate(
                [self._losses(tensor(point), X, y).numpy() for X, y in _pieces(_ROWS_AT_ONCE, self.X, self.y)]
            )

    def scores(self, point: FloatArray) -> FloatArray:
        """Return the gradient of each row with the penalty's, shape ``(n, p)``."""

        def loss(at: Any, row: Any, response: Any) -> Any:
            return self.output_loss(self.network(at, row.unsqueeze(0))[0], response)

        program = vmap(grad(loss), in_dims=(None, 0, 0))
        rows_at_once = max(_ROW_GRADIENTS_AT_ONCE // self.network.size, 1)
        pieces = [program(tensor(point), X, y).numpy() for X, y in _pieces(rows_at_once, self.X, self.y)]
        return np.concatenate(pieces) + self.decay * point

    def scores_along(self, directions: FloatArray, point: FloatArray) -> FloatArray:
        """Return the scores times directions ``(k, p)``, shape ``(n, k)``: no gradients of single rows are held."""

        def along(direction: Any, X: Any, y: Any) -> Any:
            return jvp(lambda at: self._losses(at, X, y), (tensor(point),), (direction,))[1]

        with _forwards():
            pieces = [
                torch.stack([along(tensor(direction), X, y) for direction in directions], dim=1).numpy()
                for X, y in _pieces(_ROWS_AT_ONCE, self.X, self.y)
            ]
        return np.concatenate(pieces) + directions @ (self.decay * point)

    def hessian(self, point: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the second derivative, shape ``(p, p)``."""
        hessian = torch.zeros(self.network.size, self.network.size, dtype=torch.float64)
        for X, y, w in _pieces(_HESSIAN_ROWS, self.X, self.y, tensor(weights / weights.sum())):
            program = jacrev(grad(lambda at, *rows: rows[2] @ self._losses(at, *rows[:2])), chunk_size=_HESSIAN_COLUMNS)
            hessian += program(tensor(point), X, y, w)
        return _symmetric(hessian.numpy()) + np.diag(self.decay)

    def gauss_newton(self, point: FloatArray, weights: FloatArray) -> FloatArray:
        r"""Return :math:`\sum_j w_j J_j' A_j J_j` with the penalty's, A the curvature of the loss by the outputs.

        The part of the Hessian that never is negative: for a loss that is convex in the outputs.
        """
        matrix = np.diag(self.decay)
        at, shares = tensor(point), tensor(weights / weights.sum())
        for X, y, w in _pieces(self.network.jacobians_at_once(self.X), self.X, self.y, shares):
            jacobians, outputs = self.network.row_jacobians(at, X), self.network(at, X)
            bent = torch.einsum("nrq,nqp->nrp", self._curvatures(outputs, y), jacobians)
            matrix += ((w[:, None, None] * jacobians).flatten(0, 1).T @ bent.flatten(0, 1)).numpy()
        return _symmetric(matrix)

    def gauss_newton_product(self, point: FloatArray, weights: FloatArray, vector: FloatArray) -> FloatArray:
        """Return the product of that matrix with a vector ``(p,)``, by a forward and a backward pass."""
        product = self.decay * vector
        at, direction = tensor(point), tensor(vector)
        for X, y, w in _pieces(_ROWS_AT_ONCE, self.X, self.y, tensor(weights / weights.sum())):
            with _forwards():
                outputs, moved = jvp(lambda theta, rows=X: self.network(theta, rows), (at,), (direction,))
            _, bend = vjp(lambda outputs, response=y: vmap(grad(self.output_loss))(outputs, response), outputs)
            _, pull = vjp(lambda theta, rows=X: self.network(theta, rows), at)
            (bent,) = bend(moved)
            product += pull(w.view(-1, *[1] * (bent.ndim - 1)) * bent)[0].numpy()
        return product

    def gradient_by_columns(self, point: FloatArray, changes: FloatArray) -> FloatArray:
        """Return the derivative of the gradient, at equal weights, by changes of the columns of X.

        X is a table, `changes` has its shape ``(n, d)``, and the result ``(p, d)``.
        """
        at = tensor(point)

        def gradient(X: Any) -> Any:
            return grad(lambda theta: self._losses(theta, X, self.y).mean())(at)

        derivatives = []
        for column in range(changes.shape[1]):
            direction = torch.zeros_like(self.X)
            direction[:, column] = tensor(changes[:, column])
            with _forwards():
                derivatives.append(jvp(gradient, (self.X,), (direction,))[1].numpy())
        return np.stack(derivatives, axis=1)

    def check_finite(self, point: FloatArray, when: str) -> None:
        """Raise a `FitError` where the loss of a row is not finite."""
        losses = self.row_losses(point)
        n_lost = int((~np.isfinite(losses)).sum())
        if n_lost:
            raise FitError(
                f"the loss is not finite {when}, on {n_lost:,} of {len(losses):,} rows. Scale the columns and the "
                "response to a standard deviation of one, or lower the learning rate"
            )

    def _objective(self, point: Any, weights: Any) -> Any:
        penalty = (tensor(self.decay) * point * point).sum() / 2
        return (weights / weights.sum() * self._losses(point, self.X, self.y)).sum() + penalty

    def _losses(self, point: Any, X: Any, y: Any) -> Any:
        return vmap(self.output_loss)(self.network(point, X), y)

    def _curvatures(self, outputs: Any, y: Any) -> Any:
        """Return the second derivative of each row's loss by its outputs in a row, shape ``(n, q, q)``."""

        def loss(flat: Any, response: Any) -> Any:
            return self.output_loss(flat.view(outputs.shape[1:]), response)

        return vmap(jacrev(grad(loss)))(outputs.detach().reshape(len(outputs), -1), y)


_HESSIAN_ROWS, _HESSIAN_COLUMNS = 1024, 256
"""What of a second derivative is computed at once: the fastest of the blocks that were tried."""


def groups_of(n_networks: int, most: int) -> list[IntArray]:
    """Return the networks in groups of at most `most`; a single network is duplicated to make a group of two.

    Torch multiplies a single matrix by other routines than a stack of them, and the last digits differ. In company
    they do not on many processors, whoever the others are; on others they do, with the place in the stack.

    Examples
    --------
    >>> [group.tolist() for group in groups_of(5, 2)]
    [[0, 1], [2, 3], [4, 4]]
    """
    numbers = np.arange(n_networks)
    groups = [numbers[start : start + most] for start in range(0, n_networks, most)]
    return [np.tile(group, 2) if len(group) == 1 else group for group in groups]


@contextmanager
def threads_for(work: float) -> Iterator[None]:
    """Limit torch to one thread if the work of one network is small."""
    with TORCH_STATE:
        before = torch.get_num_threads()
        torch.set_num_threads(1 if work < _WORK_OF_A_THREAD else before)
        try:
            yield
        finally:
            torch.set_num_threads(before)


@contextmanager
def _forwards() -> Iterator[None]:
    """Lock forward-mode differentiation, which is not thread-safe."""
    load_forward_mode()
    with TORCH_STATE:
        yield


def tensor(numbers: Any) -> Any:
    """Return numbers as a tensor in double precision, a copy with the last axis fastest.

    Its memory starts at a multiple of 64 bytes, as that of torch's own tensors does: the kernels of MKL may round by
    where an array lies, so that the same work elsewhere would not have the same bits.
    """
    array = np.asarray(numbers, dtype=np.float64)
    room = np.empty(array.size + _ALIGNMENT // 8)
    start = -room.ctypes.data % _ALIGNMENT // 8
    placed = room[start : start + array.size].reshape(array.shape)
    placed[...] = array
    return torch.from_numpy(placed)


def _flat(parameters: dict[str, Any]) -> FloatArray:
    parts = [part.detach().numpy().reshape(-1) for part in parameters.values()]
    return np.concatenate(parts, dtype=np.float64) if parts else np.empty(0)


def _symmetric(matrix: FloatArray) -> FloatArray:
    return (matrix + matrix.T) / 2


def _pieces(n_rows: int, *tables: Any) -> Iterator[tuple[Any, ...]]:
    """Return the tables in chunks of at most `n_rows` rows."""
    return zip(*(torch.split(table, n_rows) for table in tables), strict=True)
