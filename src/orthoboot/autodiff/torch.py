"""Functions written in torch, differentiated by PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import torch

from orthoboot.autodiff.base import Autodiff, NumpyFunction, PackageFunction, points_at_once
from orthoboot.autodiff.process_state import TORCH_STATE
from orthoboot.errors import StatisticError
from orthoboot.typing import FloatArray
from orthoboot.warning_scopes import silenced


class Torch(Autodiff):
    """PyTorch, in double precision."""

    name = "torch"
    compiles = False

    def called(self, f: PackageFunction, *arguments: Any, **options: Any) -> Any:
        """Return the value of `f`; raise if it changed its arguments, which are reused."""
        samples = [argument for argument in arguments if self.is_array(argument)]
        versions = [sample._version for sample in samples]
        with _recording():
            value = f(*arguments, **options)
        if versions != [sample._version for sample in samples]:
            raise StatisticError("it changed a sample in place. Copy the sample first, with `x = x.clone()`")
        return value

    def array(self, numbers: Any) -> Any:
        """Return `numbers` as a tensor."""
        if isinstance(numbers, torch.Tensor):
            return numbers.detach().to(torch.float64)
        with _recording():
            # A copy: torch cannot hold memory that is read-only, as the rows of the data are.
            return torch.from_numpy(np.array(numbers, dtype=np.float64))

    def numbers(self, value: Any) -> FloatArray:
        """Return a tensor as a numpy array."""
        return np.asarray(value.detach().cpu() if isinstance(value, torch.Tensor) else value, dtype=np.float64)

    def joined(self, values: list[Any]) -> Any:
        """Return the numbers of several tensors in one vector."""
        return torch.cat([torch.as_tensor(value).reshape(-1) for value in values])

    def is_array(self, value: Any) -> bool:
        """Return whether `value` is a tensor."""
        return isinstance(value, torch.Tensor)

    def holds_floats(self, value: Any) -> bool:
        """Return whether a tensor holds floating-point numbers."""
        return bool(torch.as_tensor(value).is_floating_point())

    def function(self, f: PackageFunction) -> NumpyFunction:
        """Return f itself."""
        return self._numpy_function(f)

    def gradient(self, f: PackageFunction) -> NumpyFunction:
        """Return the gradient of f."""
        return self._numpy_function(_gradient(f))

    def jacobian(self, f: PackageFunction) -> NumpyFunction:
        """Return the derivative of f, one backward pass for each output through the same forward pass."""

        def rows(point: Any, *rest: Any) -> Any:
            leaf, value = _recorded(f, point, *rest)
            return torch.stack([_backward(leaf, output, retain=True) for output in value.reshape(-1)])

        return self._numpy_function(rows)

    def hessian(self, f: PackageFunction) -> NumpyFunction:
        """Return the second derivative of f, reverse over reverse: a third of the time of torch's own function."""

        def second(point: Any, *rest: Any) -> Any:
            return torch.func.jacrev(torch.func.grad(lambda at: f(at, *rest)))(point)

        return self._numpy_function(second)

    def along(self, f: PackageFunction) -> NumpyFunction:
        """Return the derivative of f along a direction."""
        return self._numpy_function(_along(f))

    def curvature_along(self, f: PackageFunction) -> NumpyFunction:
        """Return the second derivative of f along a direction."""

        def second(direction: Any, point: Any, *rest: Any) -> Any:
            return _along(lambda at: _along(f)(direction, at, *rest))(direction, point)

        return self._numpy_function(second)

    def hessian_product(self, f: PackageFunction) -> NumpyFunction:
        """Return the product of the second derivative of f with a direction, by a second backward pass."""

        def product(direction: Any, point: Any, *rest: Any) -> Any:
            return torch.autograd.functional.hvp(lambda at: f(at, *rest), point, direction)[1]

        return self._numpy_function(product)

    def one_by_one(self, f: PackageFunction) -> NumpyFunction:
        """Return f at each of many points in turn."""

        def values(points: Any, *rest: Any) -> Any:
            with torch.no_grad():
                return torch.stack([f(point.clone(), *rest) for point in points])

        return self._numpy_function(values)

    def side_by_side(self, f: PackageFunction, order: int = 0) -> NumpyFunction:
        """Return f or its derivative at many points under a vectorising map."""

        def value(point: Any, *rest: Any) -> Any:
            return f(point.clone(), *rest)

        slope = torch.func.grad(value)
        derivative = (value, slope, torch.func.jacrev(slope))[order]
        return self._numpy_function(_vectorised(derivative))

    def gradients_and_hessians(self, f: PackageFunction) -> NumpyFunction:
        """Return both derivatives, reverse over reverse."""
        return self._in_chunks(torch.func.grad(f))

    def values_and_jacobians(self, f: PackageFunction) -> NumpyFunction:
        """Return the value and the derivative, in reverse."""
        return self._in_chunks(f)

    def _in_chunks(self, f: PackageFunction) -> NumpyFunction:
        """Return f and, below it, its derivative by each coordinate, a few points at a time."""

        def both(point: Any, *rest: Any) -> Any:
            derivative, value = torch.func.jacrev(_value_twice(f), has_aux=True)(point, *rest)
            return torch.cat([value[None], derivative.T])

        def values(points: Any, weights: Any, *rest: Any) -> Any:
            size = points_at_once(weights.shape[1], points.shape[1])
            together = _vectorised(lambda point, own: both(point, own, *rest))
            pairs = zip(points.split(size), weights.split(size), strict=True)
            return torch.cat([together(*pair) for pair in pairs])

        return self._numpy_function(values)

    def _numpy_function(self, f: PackageFunction) -> NumpyFunction:
        def numpy_function(*arguments: Any) -> FloatArray:
            with _recording():
                return self.numbers(f(*map(self.array, arguments)))

        return numpy_function


@contextmanager
def _recording() -> Iterator[None]:
    """Record gradients, even within the user's `no_grad` or `inference_mode`; explain errors about dtypes."""
    with torch.inference_mode(False):
        try:
            yield
        except RuntimeError as error:
            if "dtype" not in str(error):
                raise
            raise RuntimeError(
                f"{error}. Samples, weights and parameters come in double precision: convert your modules and "
                "constants too, with `.double()`"
            ) from error


@cache
def load_forward_mode() -> None:
    """Import torch's forward-mode differentiation, without the warning that torch gives about its own code."""
    with TORCH_STATE, silenced():
        torch.func.jvp(torch.sin, (torch.ones(1),), (torch.ones(1),))


def _along(f: PackageFunction) -> PackageFunction:
    load_forward_mode()

    def derivative(direction: Any, point: Any, *rest: Any) -> Any:
        with TORCH_STATE:
            return torch.func.jvp(lambda at: f(at, *rest), (point,), (direction,))[1]

    return derivative


def _vectorised(f: PackageFunction) -> PackageFunction:
    """Return f of many points together, without the warnings about operations that torch takes one by one."""
    together = torch.func.vmap(f)

    def values(*arguments: Any) -> Any:
        with silenced():
            return together(*arguments)

    return values


def _value_twice(f: PackageFunction) -> PackageFunction:
    """Return f as a function to differentiate, and once more as it is."""

    def twice(*arguments: Any) -> Any:
        value = f(*arguments)
        return value, value

    return twice


def _gradient(f: PackageFunction) -> PackageFunction:
    def gradient(point: Any, *rest: Any) -> Any:
        return _backward(*_recorded(f, point, *rest))

    return gradient


def _recorded(f: PackageFunction, point: Any, *rest: Any) -> tuple[Any, Any]:
    """Return the point with gradients recorded, and f there."""
    leaf = point.clone().requires_grad_(True)
    # A copy goes to f, which may well divide its argument in place: a leaf of the recording does not allow that.
    return leaf, f(leaf.clone(), *rest)


def _backward(leaf: Any, output: Any, *, retain: bool = False) -> Any:
    """Return the derivative of one number by the recorded point; zeros where it does not depend on it."""
    if not output.requires_grad:
        return torch.zeros_like(leaf)
    return torch.autograd.grad(output, leaf, retain_graph=retain, materialize_grads=True)[0]
