"""Trained modules of PyTorch as statistics: what is wanted of them, refitted on resamples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from orthoboot.arguments import checked_count, checked_nonnegative
from orthoboot.data import Data, read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import (
    ArgumentError,
    DataError,
    FitError,
    FitWarning,
    InfluenceError,
    MissingDependencyError,
    OrthobootWarning,
    StatisticError,
)
from orthoboot.functionals.base import Functional
from orthoboot.functionals.feature_means import once_per_data
from orthoboot.functionals.optima.parameter_target import ParametersTarget, WrittenTarget
from orthoboot.functionals.output import Output
from orthoboot.functionals.user.user_function import first_line
from orthoboot.models.fitting import FitCount
from orthoboot.result import Result
from orthoboot.typing import FloatArray, Influence

if TYPE_CHECKING:
    from orthoboot.models.torch.arguments import Table
    from orthoboot.models.torch.fit import CurvatureOptions, NetworkFit
    from orthoboot.models.torch.network import Network, NetworkLoss
    from orthoboot.models.torch.training import AdamTraining

_NOTED_DISTANCE = 0.05
"""From the module as given to its minimum, in standard errors: where the user hears of it."""


@dataclass(frozen=True)
class NetworkDiagnostics:
    """How far the influence function of a network can be trusted.

    Attributes
    ----------
    n_parameters
        How many the network has.
    curvature
        Which matrix stands for the Hessian.
    gradient_norm
        The length of the gradient at the fit; zero at a minimum.
    distance
        The mean of the influence in units of its standard error, where it is most, before it is centred.
    smallest_eigenvalue
        Of the matrix; NaN where it is not held.
    solve_residual
        Of a linear system with it, relative to the right-hand side.
    variance_reduction
        ``Var(P) / Var(P - L)``, the median over the outputs: how many times fewer replicates do the same. Below one the
        influence function does harm, and the orthogonal estimator shrinks it away. NaN without a result.
    """

    n_parameters: int
    curvature: str
    gradient_norm: float
    distance: float
    smallest_eigenvalue: float
    solve_residual: float
    variance_reduction: float = float("nan")


@dataclass(frozen=True, eq=False, repr=False)
class TorchModel(Functional):
    """What is wanted of a trained module, as a statistic; made by `from_torch`, which describes it.

    Attributes
    ----------
    data
        X and y as tables with one row for each, to pass to `bootstrap`.
    """

    module: Any
    row_loss: Callable[[Any, Any], Any]
    tables: tuple[Table, Table]
    target: Callable[[Any], Any] | None
    training: AdamTraining | None
    decay: float
    curvature: CurvatureOptions
    data: tuple[FloatArray, FloatArray]
    seed: int
    name: str

    paired = True

    @property
    def fractional(self) -> bool:  # type: ignore[override]
        """Return whether refits take weights that are not whole numbers: those that train on rows do not."""
        return self.training is None

    @property
    def undefined(self) -> str:  # type: ignore[override]
        """Return when a refit has no value."""
        return "" if self.training is None else "the loss diverges in training; lower the learning rate or scale X, y"

    def check(self, data: Data) -> None:
        """Raise unless the data have the shape of those that the module was trained with."""
        if len(data.sizes) > 1 or len(data.arrays) != 2:
            raise DataError(
                f"`{self.name}` takes the data `(X, y)` with `paired=True`, so that their rows are drawn together; got "
                f"{len(data.arrays)} array(s) in {len(data.sizes)} sample(s). Pass `model.data`."
            )
        for name, array, table in zip(("X", "y"), data.arrays, self.tables, strict=True):
            if array.reshape(len(array), -1).shape[1] != table.width:
                raise DataError(
                    f"{name} must have {table.width} number(s) a row, as in `from_torch`; got shape {array.shape}. "
                    "Pass `model.data`."
                )
        self.output(data)

    @once_per_data
    def output(self, data: Data) -> Output:
        """Return the shape and the names of the target."""
        name = "parameters" if self.target is None else "target"
        return self._target(data).output(self._fit(data).point, name)

    @once_per_data
    def estimate(self, data: Data) -> FloatArray:
        """Return the target at the fit."""
        return self._target(data).value(self._fit(data).point)

    def evaluate(self, data: Data, resamples: Resamples) -> FloatArray:
        """Return the target of a refit on each resample; NaN where training diverges. Shape ``(B, k)``."""
        points = self._trained(data, resamples) if self.training else self._polished(data, resamples)
        value, k = self._target(data).value, len(self.estimate(data))
        rows = [value(point) if np.isfinite(point).all() else np.full(k, np.nan) for point in points]
        return np.stack(rows)

    @once_per_data
    def influence(self, data: Data) -> Influence:
        """Return ``-g' H^-1 (gradient of loss_j + decay theta)`` for every row, centred."""
        try:
            with self._differentiation():
                return (self._fit(data).influence(self._jacobian(data)),)
        except FitError as error:
            raise InfluenceError(f"no influence function for `{self.name}`: {str(error).rstrip('.')}") from error

    @property
    def influence_source(self) -> str:
        """Return that it is the implicit function theorem's."""
        where = "at the end of the training" if self.training else "at the minimum"
        return f"implicit function theorem for `{self.name}`, {where}"

    def findings(self, data: Data) -> tuple[OrthobootWarning, ...]:
        """Return warnings where the module was not at its minimum, and where refits did not reach one."""
        found = [*self._moved(data), *self._approximate(data)]
        count = self._count(data)
        if self._fit(data).is_at_kink:
            found.append(
                f"the search for the minimum of `{self.name}` ended at a kink, as those of relu and of absolute values "
                "are; the refits do so too, and r_squared says how much of them the influence function explains. "
                "Smooth units such as nn.SiLU and nn.Softplus have a minimum."
            )
        elif count.unconverged:
            found.append(
                f"{count.unconverged} of {count.fits} refits of `{self.name}` did not reach a minimum, which adds "
                "noise to the replicates that no influence function explains. Scale the columns, or raise "
                "`weight_decay`."
            )
        return tuple(map(FitWarning, found))

    def fitted_module(self) -> Any:
        """Return a copy of the module at the fit that the bootstrap is about: at its minimum, if it was polished."""
        data = read(self.data, paired=True)
        return self._network.filled(self.module, self._fit(data).point)

    def diagnostics(self, result: Result | None = None) -> NetworkDiagnostics:
        """Return how far the influence function can be trusted.

        Parameters
        ----------
        result
            What `bootstrap` returned for this model, which adds the variance reduction that was achieved.
        """
        if result is not None and result.run.functional is not self:
            raise ArgumentError(
                "`result` must be that of this very model, `bootstrap(model.data, model, paired=True)`; got another's."
            )
        data = read(self.data, paired=True) if result is None else result.run.data
        fit = self._fit(data)
        return NetworkDiagnostics(
            n_parameters=len(fit.point),
            curvature=" ".join(filter(None, (fit.curvature.title, fit.curvature.reason))),
            gradient_norm=fit.gradient_norm,
            distance=fit.distance(self._jacobian(data)),
            smallest_eigenvalue=fit.curvature.smallest_eigenvalue,
            solve_residual=fit.solve_residual,
            variance_reduction=float("nan") if result is None else _variance_reduction(result),
        )

    @cached_property
    def _network(self) -> Network:
        from orthoboot.models.torch.network import Network

        return Network(self.module)

    @once_per_data
    def _loss(self, data: Data) -> NetworkLoss:
        from orthoboot.models.torch.network import NetworkLoss

        X, y = (table.tensor(array) for table, array in zip(self.tables, data.arrays, strict=True))
        return NetworkLoss(self._network, self.row_loss, X, y, np.full(self._network.size, self.decay))

    @once_per_data
    def _fit(self, data: Data) -> NetworkFit:
        from orthoboot.models.torch.fit import NetworkFit, curvature_at, polished

        loss, start = self._loss(data), self._network.start
        try:
            with self._differentiation():
                if self.training is None:
                    return polished(loss, start, self.curvature, among_kinks=True)
                loss.check_finite(start, "at the parameters of `module`")
                return NetworkFit(loss, start, curvature_at(loss, start, self.curvature))
        except FitError as error:
            raise FitError(f"`{self.name}` has no fit on these data: {error}") from error

    @contextmanager
    def _differentiation(self) -> Iterator[None]:
        """Tell what torch cannot differentiate row by row."""
        try:
            yield
        except (FitError, StatisticError):
            raise
        except RuntimeError as error:
            raise FitError(
                f"torch cannot differentiate `{self.name}` for single rows: {first_line(error)}. Recurrent layers need "
                'solver="cg", which takes rows together; write other layers anew, in plain functions of torch.'
            ) from error

    @once_per_data
    def _target(self, data: Data) -> ParametersTarget | WrittenTarget:
        from orthoboot.autodiff import autodiff

        if self.target is None:
            return ParametersTarget(self._network.names)
        return WrittenTarget(autodiff("torch"), self._network.bound(self.target), self._fit(data).point)

    @once_per_data
    def _jacobian(self, data: Data) -> FloatArray:
        return self._target(data).jacobian(self._fit(data).point)

    @once_per_data
    def _count(self, data: Data) -> FitCount:
        return FitCount()

    def _polished(self, data: Data, resamples: Resamples) -> FloatArray:
        found = self._fit(data).refits(resamples.weights[0])
        count = self._count(data)
        count.fits += len(found.points)
        count.unconverged += int((~found.converged).sum())
        return found.points

    def _trained(self, data: Data, resamples: Resamples) -> FloatArray:
        """Return networks trained from fresh starts, each of which its resample determines."""
        from orthoboot.models.torch.training import seed_of

        assert self.training is not None
        rows = [resamples.indices(b)[0] for b in range(len(resamples))]
        seeds = [seed_of(weights, self.seed) for weights in resamples.weights[0]]
        loss = self._loss(data)
        return self.training.points(self.module, self.row_loss, loss.X, loss.y, rows, seeds)

    def _moved(self, data: Data) -> list[str]:
        """Return a warning where the module was not where the refits start from."""
        if self.training is not None:
            return []
        try:
            (influence,) = self.influence(data)
        except InfluenceError:  # told elsewhere
            return []
        errors = influence.std(axis=0) / np.sqrt(len(influence))
        shifts = np.abs(self._target(data).value(self._network.start) - self.estimate(data))
        distance = float(np.max(shifts[errors > 0] / errors[errors > 0], initial=0.0))
        if distance < _NOTED_DISTANCE:
            return []
        return [
            f"`module` was up to {distance:.2g} standard errors from the minimum of its loss; the estimate and the "
            "refits are at the minimum, and `model.fitted_module()` is the module there. Train it longer, or use "
            'protocol="paper" for the training as it is.'
        ]

    def _approximate(self, data: Data) -> list[str]:
        curvature = self._fit(data).curvature
        if not curvature.damping:
            return []
        return [
            f"damping of {curvature.damping:.2g} makes the influence of `{self.name}` approximate: the data do not "
            "determine all parameters. Raise `weight_decay`, with which the module must then be trained."
        ]


def from_torch(
    module: Any,
    loss: Any,
    X: Any,
    y: Any,
    target: Any = None,
    *,
    protocol: str = "polished",
    weight_decay: float = 0.0,
    epochs: int | None = None,
    batch_size: int | None = None,
    learning_rate: float = 1e-3,
    curvature: str = "auto",
    solver: str = "auto",
    damping: float | None = None,
    seed: int = 0,
) -> TorchModel:
    r"""Return what is wanted of a trained module as a statistic that carries its data.

    .. math:: I_j = -g'(\hat\theta)\, H^{-1} \bigl(\nabla \ell_j(\hat\theta) + \lambda \hat\theta\bigr)

    for a module that minimises the mean loss with a weight decay of :math:`\lambda`, H the Hessian of that and g the
    target: the influence function of the paper's ``subsection:CIconstructionexample`` and of
    ``appendix:pi experiment detail``. Gradients of single rows come by ``torch.func``; up to 5,000 parameters H is
    factored, beyond them conjugate gradients solve with its Gauss-Newton part.

    The two protocols answer different questions. "polished": how would the minimum of the loss near this module move
    with other rows? The module is brought to its minimum, and refits minimise the weighted loss from there, all of them
    together. "paper": how would a training from scratch on other rows come out? Refits start from fresh parameters and
    train with Adam, as one batched program; the randomness of starts and batches is then part of the answer, and no
    influence function explains that part.

    Parameters
    ----------
    module
        A trained `torch.nn.Module`, in evaluation mode where it has dropout or batch normalisation. It is copied.
    loss
        A loss of torch such as ``nn.MSELoss()``, or a function ``loss(outputs, y)``: of several rows the mean or the
        sum of what each loses, or these one by one.
    X, y
        What it was trained with, tensors or arrays with the rows first, of any shape.
    target
        ``target(module)``: a number, a tensor or a dict of these, differentiable, such as
        ``lambda module: module(X_new)``; or new rows, whose outputs are meant. None: all parameters.
    protocol
        "polished" or "paper".
    weight_decay
        What the optimiser had: :math:`\lambda` in :math:`\tfrac12 \lambda |\theta|^2` beside the mean loss; of one that
        minimised the sum of n rows, the n-th part.
    epochs, batch_size, learning_rate
        Of Adam, for protocol "paper".
    curvature
        "hessian", "gauss-newton", or "auto": the exact Hessian where it is affordable and positive definite.
    solver
        "cholesky", "cg" for conjugate gradients, or "auto": by the number of parameters.
    damping
        Added to the diagonal of H; None for what is needed.
    seed
        Of the fresh starts of protocol "paper".

    Returns
    -------
    TorchModel
        Call ``bootstrap(model.data, model, paired=True)``.

    Examples
    --------
    >>> import numpy as np
    >>> import orthoboot as ob
    >>> import torch
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> y = X @ [1.0, -2.0] + np.random.default_rng(1).standard_normal(100)
    >>> line = torch.nn.Linear(2, 1)
    >>> optimiser = torch.optim.LBFGS(line.parameters(), max_iter=100)
    >>> def closure():
    ...     optimiser.zero_grad()
    ...     loss = torch.nn.functional.mse_loss(line(torch.tensor(X).float())[:, 0], torch.tensor(y).float())
    ...     loss.backward()
    ...     return loss
    >>> _ = optimiser.step(closure)
    >>> model = ob.from_torch(line, torch.nn.MSELoss(), X, y, lambda module: module.weight[0])
    >>> result = ob.bootstrap(model.data, model, paired=True, rng=0)
    >>> result.estimate.round(1), result.n_resamples
    (array([ 0.9, -1.9]), 10)
    """
    if find_spec("torch") is None:
        raise MissingDependencyError("`from_torch` needs PyTorch; install it with `pip install 'orthoboot[torch]'`.")
    from orthoboot.models.torch.arguments import (
        checked_curvature,
        checked_module,
        checked_row_loss,
        checked_tables,
        checked_target,
        checked_training,
    )

    decay = checked_nonnegative("weight_decay", weight_decay)
    module = checked_module(module)
    training = checked_training(protocol, module, epochs, batch_size, learning_rate, decay)
    options = checked_curvature(module, curvature, solver, damping)
    tables, arrays = checked_tables(X, y)
    row_loss, tables = checked_row_loss(module, loss, tables, arrays)
    return TorchModel(
        module=module,
        row_loss=row_loss,
        tables=tables,
        target=checked_target(module, target, tables[0]),
        training=training,
        decay=decay,
        curvature=options,
        data=arrays,
        seed=checked_count("seed", seed, least=0),
        name=type(module).__name__,
    )


def _variance_reduction(result: Result) -> float:
    """Return the median over the outputs of ``Var(P) / Var(P - L)`` over the replicates."""
    replicates = result.replicates
    if replicates.linear is None or len(replicates) < 2:
        return float("nan")
    left = (replicates.values - replicates.linear).var(axis=0)
    reductions = replicates.values.var(axis=0)[left > 0] / left[left > 0]
    return float(np.median(reductions)) if len(reductions) else float("nan")
