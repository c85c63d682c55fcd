"""Checks and conversions of the arguments of `from_torch`."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.func import vmap

from orthoboot.arguments import checked_count, checked_name, checked_nonnegative, checked_positive
from orthoboot.errors import ArgumentError, DataError, first_line
from orthoboot.models.fitting import PROTOCOLS
from orthoboot.models.torch.fit import CurvatureOptions
from orthoboot.models.torch.network import Network, OutputLoss, tensor
from orthoboot.models.torch.training import AdamTraining, layers_without_start
from orthoboot.typing import FloatArray

_DEPENDS_ON_BATCH = (nn.modules.batchnorm._BatchNorm,)
_RANDOM = (nn.modules.dropout._DropoutNd, nn.AlphaDropout)
_TRIED_ROWS = 64
_DIFFERENCE = 1e-6
"""Between what rows give alone and together, relative to the largest: more than rounding."""


@dataclass(frozen=True)
class TensorRows:
    """Conversion of rows of numbers to the tensors that a module takes.

    Attributes
    ----------
    shape
        Of one row.
    is_whole
        Whether its tensors hold whole numbers, as classes and positions in an embedding do.
    """

    shape: tuple[int, ...]
    is_whole: bool

    @property
    def width(self) -> int:
        """Return how many numbers a row has."""
        return int(np.prod(self.shape))

    def tensor(self, array: FloatArray) -> Any:
        """Return rows as a tensor."""
        numbers = np.array(array, dtype=np.int64 if self.is_whole else np.float64)
        return torch.from_numpy(numbers).reshape(len(array), *self.shape)


def checked_module(module: Any) -> Any:
    """Return a copy of `module`, checked: finite parameters to refit, and in evaluation mode."""
    if not isinstance(module, nn.Module):
        hint = f" Write `{module.__name__}(...)`." if isinstance(module, type) else ""
        raise ArgumentError(f"`module` must be a trained torch.nn.Module; got {module!r}.{hint}")
    if not any(part.requires_grad for part in module.parameters()):
        raise ArgumentError(
            "`module` must have parameters that require gradients, since they are what is refitted; it has none. Call "
            "`module.requires_grad_(True)` if they were frozen."
        )
    for name, part in module.named_modules():
        if not part.training or not isinstance(part, _DEPENDS_ON_BATCH + _RANDOM):
            continue
        what = "depends on the other rows" if isinstance(part, _DEPENDS_ON_BATCH) else "is random"
        raise ArgumentError(
            f"`module` must be in evaluation mode; its layer {name!r}, {type(part).__name__}, is in training mode, "
            f"where its output {what}. Call `module.eval()` first."
        )
    lost = [name for name, part in module.named_parameters() if not part.isfinite().all()]
    if lost:
        raise ArgumentError(
            f"`module` must have finite parameters; those of {', '.join(map(repr, lost))} are NaN or infinite, as "
            "after a training that diverged."
        )
    try:
        return copy.deepcopy(module)
    except RuntimeError as error:
        raise ArgumentError(f"`module` must allow a copy by `copy.deepcopy`: {first_line(error)}.") from error


def checked_rows(X: Any, y: Any) -> tuple[tuple[TensorRows, TensorRows], tuple[FloatArray, FloatArray]]:
    """Return the shapes of the rows of X and y and whether they are whole, and both with one line of numbers a row."""
    arrays = [_array(name, given) for name, given in (("X", X), ("y", y))]
    if len(arrays[0]) != len(arrays[1]):
        raise DataError(f"X and y must have the same number of rows; got {len(arrays[0])} and {len(arrays[1])}.")
    forms = [TensorRows(array.shape[1:], array.dtype.kind in "iub") for array in arrays]
    flat = [np.asarray(array, dtype=np.float64).reshape(len(array), -1) for array in arrays]
    if not forms[1].shape:
        flat[1] = flat[1][:, 0]
    return (forms[0], forms[1]), (flat[0], flat[1])


def _array(name: str, given: Any) -> Any:
    if isinstance(given, torch.Tensor):
        given = given.detach().cpu()
        given = given.double() if given.is_floating_point() else given  # numpy has no bfloat16
    array = np.asarray(given)
    if array.dtype.kind not in "fiub" or array.size == 0 or array.ndim == 0:
        raise DataError(
            f"{name} must hold numbers, with the rows first; got {type(given).__name__} of dtype {array.dtype} and "
            f"shape {array.shape}."
        )
    if not np.isfinite(array).all():
        raise DataError(f"{name} must be finite; {int((~np.isfinite(array)).sum())} of its numbers are not.")
    return array


def checked_output_loss(
    module: Any, loss: Any, forms: tuple[TensorRows, TensorRows], arrays: tuple[FloatArray, FloatArray]
) -> tuple[OutputLoss, tuple[TensorRows, TensorRows]]:
    """Return the loss of one row and the conversion of rows to tensors, after a trial on a few rows.

    Whole numbers become tensors of whole numbers where no others are taken.
    """
    if not callable(loss) or isinstance(loss, type):
        hint = f" Write `{loss.__name__}()`." if isinstance(loss, type) else ""
        raise ArgumentError(f"`loss` must be a loss of torch or a function `loss(outputs, y)`; got {loss!r}.{hint}")
    if isinstance(loss, nn.NLLLoss | nn.CrossEntropyLoss) and loss.weight is not None and loss.reduction == "mean":
        raise ArgumentError(
            "`loss` divides by the class weights of the rows in a batch, so it is not a mean over rows. Pass a "
            "function such as `lambda outputs, y: F.cross_entropy(outputs, y, weight=w, reduction='none')`."
        )
    loss = copy.deepcopy(loss).cpu().double() if isinstance(loss, nn.Module) else loss
    output_loss, network = LossOfOne(loss), Network(module)
    rows = np.unique(np.linspace(0, len(arrays[0]) - 1, _TRIED_ROWS).astype(int))
    of_X, outputs = _tried("module", lambda X: _outputs(network, X), forms[0], arrays[0][rows])
    of_y, _ = _tried("loss", lambda y: _losses(output_loss, outputs, y), forms[1], arrays[1][rows])
    return output_loss, (of_X, of_y)


def _outputs(network: Network, X: Any) -> Any:
    """Return the outputs for rows; raise unless each row's output is independent of the others."""
    start, before = tensor(network.start), X.clone()
    outputs = network(start, X)
    if not isinstance(outputs, torch.Tensor) or outputs.shape[:1] != X.shape[:1]:
        got = f"shape {tuple(outputs.shape)}" if isinstance(outputs, torch.Tensor) else type(outputs).__name__
        raise ArgumentError(f"`module` must return a tensor with one row for each of X; got {got} for {len(X)} rows.")
    if not torch.equal(X, before):
        raise ArgumentError("`module` must not change X in place. Copy X first, with `x = x.clone()`.")
    alone = torch.cat([network(start, row) for row in X.split(1)])
    if not _are_close(outputs, alone):
        raise ArgumentError(
            "`module` must give a row the same output every time, whatever the other rows; the outputs of rows in a "
            "batch and of single rows differ. Likely causes: random layers, layers that mix rows (attention without "
            "`batch_first=True`, batch normalisation) or modules that count their calls."
        )
    return outputs


def _losses(output_loss: LossOfOne, outputs: Any, y: Any) -> Any:
    """Return the loss of each row; raise unless the total loss is their mean or sum."""
    losses = vmap(output_loss)(outputs, y)
    if losses.shape != (len(y),):
        raise ArgumentError(f"`loss` must be one number per row; got shape {tuple(losses.shape)} for {len(y)} rows.")
    together = torch.as_tensor(output_loss.loss(outputs, _shaped_like(outputs, y)))
    by_rows = together.reshape(len(y), -1).mean(dim=1) if together.ndim else together
    if not any(_are_close(by_rows, each) for each in (losses, losses.mean(), losses.sum())):
        raise ArgumentError(
            "`loss` must return the mean or the sum of the losses of the rows, or one loss per row; it returns none "
            "of these, as for the root of a mean, or a mean divided by class weights. Pass a function of rows, such "
            "as `lambda outputs, y: (outputs - y) ** 2`."
        )
    return losses


def _are_close(one: Any, other: Any) -> bool:
    """Return whether numbers agree up to rounding; values that are not finite are checked elsewhere."""
    return one.shape == other.shape and not bool(((one - other).abs() > _DIFFERENCE * other.abs().max()).any())


@dataclass(frozen=True, eq=False)
class LossOfOne:
    """The loss of one row, from a loss of several; an object, since functions within functions cannot be pickled."""

    loss: Callable[[Any, Any], Any] = field(repr=False)

    def __call__(self, output: Any, response: Any) -> Any:
        """Return the loss of a row with this output and response."""
        return self.loss(output.unsqueeze(0), _shaped_like(output, response).unsqueeze(0)).mean()


def _shaped_like(outputs: Any, responses: Any) -> Any:
    """Return responses reshaped like the outputs: shapes ``(n, 1)`` and ``(n,)`` would broadcast to ``(n, n)``."""
    is_alike = responses.is_floating_point() and responses.numel() == outputs.numel()
    return responses.reshape(outputs.shape) if is_alike else responses


def _tried(argument: str, call: Callable[[Any], Any], form: TensorRows, array: FloatArray) -> tuple[TensorRows, Any]:
    """Return a conversion of rows to tensors that the call accepts, and its value for them."""
    errors = []
    for tried in dict.fromkeys((replace(form, is_whole=False), form)):
        try:
            return tried, call(tried.tensor(array))
        except ArgumentError:
            raise
        except Exception as error:  # what the user wrote may raise anything
            errors.append(error)
    said = "; with whole numbers: ".join(f"{type(error).__name__}: {first_line(error)}" for error in errors)
    hint = " For classes y must hold whole numbers." if argument == "loss" and not form.is_whole else ""
    raise ArgumentError(
        f"`{argument}` raised an error on rows of {'X' if argument == 'module' else 'y'} of shape {form.shape}, in "
        f"double precision: {said}.{hint}"
    ) from errors[0]


def checked_target(target: Any, form: TensorRows) -> Callable[[Any], Any] | None:
    """Return the target as a function of the module; new rows become their outputs."""
    if target is None or (callable(target) and not isinstance(target, torch.Tensor)):
        return target
    rows = _array("target", target)
    if rows.shape[1:] != form.shape:
        raise ArgumentError(
            f"`target` must be a function of the module, or rows of the shape of X's, {form.shape}; got rows of shape "
            f"{rows.shape[1:]}."
        )
    return OutputsAt(form.tensor(rows))


@dataclass(frozen=True, eq=False)
class OutputsAt:
    """The outputs of a module at new rows, as a target; an object, as `LossOfOne`."""

    rows: Any = field(repr=False)

    def __call__(self, module: Any) -> Any:
        """Return the outputs, without the axis of a single column."""
        values = module(self.rows)
        return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def checked_curvature(module: Any, kind: Any, solver: Any, damping: Any) -> CurvatureOptions:
    """Return the options of the curvature; raise if its matrix is required but too large."""
    checked_name("curvature", kind, CurvatureOptions.KINDS)
    checked_name("solver", solver, CurvatureOptions.SOLVERS)
    options = CurvatureOptions(kind, None if damping is None else checked_nonnegative("damping", damping), solver)
    n_parameters = sum(part.numel() for part in module.parameters() if part.requires_grad)
    if kind == "hessian" and not options.is_held(n_parameters):
        raise ArgumentError(
            f'curvature="hessian" needs the full matrix of the {n_parameters:,} parameters, which conjugate gradients '
            'do not store. Use curvature="gauss-newton", or solver="cholesky" if memory allows.'
        )
    return options


def checked_training(
    protocol: Any, module: Any, epochs: Any, batch_size: Any, learning_rate: Any, weight_decay: float
) -> AdamTraining | None:
    """Return the training of refits from scratch, or None if they are polished; raise if the options disagree."""
    if checked_name("protocol", protocol, PROTOCOLS) == "paper":
        return _training(module, epochs, batch_size, learning_rate, weight_decay)
    if epochs is not None or batch_size is not None:
        raise ArgumentError(
            '`epochs` and `batch_size` belong to training from scratch, protocol="paper"; got them with '
            'protocol="polished", whose refits minimise the loss. Leave them out, or write protocol="paper".'
        )
    return None


def _training(module: Any, epochs: Any, batch_size: Any, learning_rate: Any, weight_decay: float) -> AdamTraining:
    """Return the training of refits from scratch; raise if the options or the module do not allow it."""
    for name, value in (("epochs", epochs), ("batch_size", batch_size)):
        if value is None:
            raise ArgumentError(
                f'protocol="paper" trains from scratch and needs `{name}`, the value that the module was trained with.'
            )
    without = layers_without_start(module)
    if without:
        raise ArgumentError(
            'protocol="paper" draws fresh parameters by `reset_parameters()`, which these layers of `module` do not '
            f'have: {", ".join(map(repr, without))}. Define it there, or use protocol="polished".'
        )
    unstable = [name for name, part in module.named_modules() if isinstance(part, _DEPENDS_ON_BATCH + _RANDOM)]
    if unstable:
        raise ArgumentError(
            f'protocol="paper" trains without dropout and batch normalisation; `module` has them in '
            f'{", ".join(map(repr, unstable))}. Use protocol="polished", which keeps them as in evaluation.'
        )
    return AdamTraining(
        checked_count("epochs", epochs, least=1),
        checked_count("batch_size", batch_size, least=1),
        checked_positive("learning_rate", learning_rate),
        weight_decay,
    )
