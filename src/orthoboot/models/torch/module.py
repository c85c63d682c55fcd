"""Trained modules of PyTorch as statistics: their targets, refitted on resamples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from orthoboot.arguments import checked_count, checked_nonnegative
from orthoboot.autodiff.process_state import TORCH_STATE
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
    first_line,
)
from orthoboot.functionals.base import Functional, Prepared
from orthoboot.functionals.evaluation import NO_FITS, Convergence, Evaluation, Failure
from orthoboot.functionals.optima.parameter_target import FunctionOfParameters, ParametersTarget
from orthoboot.functionals.output import Output
from orthoboot.models.fitting import evaluated_refits, found_with_torch
from orthoboot.optimisation.distance import distance_in_errors
from orthoboot.result import Result
from orthoboot.typing import BoolArray, FloatArray, Influence

if TYPE_CHECKING:
    from orthoboot.models.torch.arguments import TensorRows
    from orthoboot.models.torch.fit import CurvatureOptions, NetworkFit
    from orthoboot.models.torch.network import Network, NetworkLoss, OutputLoss
    from orthoboot.models.torch.training import AdamTraining

_NOTED_DISTANCE = 0.05
"""From the module as given to its minimum, in standard errors: where the user hears of it."""


@dataclass(frozen=True)
class NetworkDiagnostics:
    """Diagnostics of the influence function of a network.

    Attributes
    ----------
    n_parameters
        The number of parameters of the network.
    curvature
        The matrix used as the Hessian.
    gradient_norm
        The length of the gradient at the fit; zero at a minimum.
    distance
        The mean of the influence before centring, in units of its standard error; the largest over the outputs.
    smallest_eigenvalue
        The smallest eigenvalue of the matrix; NaN if it is not stored.
    solve_residual
        The residual of a linear system solved with it, relative to the right-hand side.
    variance_reduction
        ``Var(P) / Var(P - L)``, the median over the outputs: the factor by which fewer replicates suffice. Below one
        the influence function does harm, and the orthogonal estimator shrinks it away. NaN without a result.
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
    """A target of a trained module, as a statistic; see `from_torch`.

    Attributes
    ----------
    data
        X and y as tables with one line per row, to pass to `bootstrap`.
    """

    module: Any
    output_loss: OutputLoss
    forms: tuple[TensorRows, TensorRows]
    target: Callable[[Any], Any] | None
    training: AdamTraining | None
    decay: float
    curvature: CurvatureOptions
    data: tuple[FloatArray, FloatArray]
    seed: int
    name: str

    paired = True
    # Torch's number of threads is one for the process, so that one evaluation waits for the other.
    releases_gil = False

    @property
    def fractional(self) -> bool:  # type: ignore[override]
        """Return whether refits take fractional weights; training from scratch does not."""
        return self.training is None

    @property
    def undefined(self) -> str:  # type: ignore[override]
        """Return when a refit has no value."""
        return "" if self.training is None else "the loss diverges in training; lower the learning rate or scale X, y"

    def at(self, data: Data) -> FittedTorchModel:
        """Return the module at `data`, not checked and not fitted yet."""
        return FittedTorchModel(self, data)

    def fitted_module(self) -> Any:
        """Return a copy of the module at the fit that is bootstrapped: at its minimum, if it was polished."""
        return self._at_own_data().fitted_module()

    def diagnostics(self, result: Result | None = None) -> NetworkDiagnostics:
        """Return diagnostics of the influence function.

        Parameters
        ----------
        result
            The result of `bootstrap` for this model, which adds the variance reduction.
        """
        if result is None:
            return self._at_own_data().diagnostics()
        prepared = result.run.prepared
        if prepared.functional is not self:
            raise ArgumentError(
                "`result` must be from this model, `bootstrap(model.data, model, paired=True)`; got another's."
            )
        assert isinstance(prepared, FittedTorchModel)
        return replace(prepared.diagnostics(), variance_reduction=_variance_reduction(result))

    def _at_own_data(self) -> FittedTorchModel:
        return self.at(read(self.data, paired=True))


@dataclass(frozen=True, eq=False)
class FittedTorchModel(Prepared[TorchModel]):
    """A module at its data: a copy, polished or left as trained, and its refits."""

    def __getstate__(self) -> dict[str, Any]:
        # The program of a target closes over the module; it is made again from the target itself.
        return {name: value for name, value in vars(self).items() if name != "parameter_target"}

    @property
    def exact_influence(self) -> bool:
        """Return whether it is the derivative of what training does: refits of networks differ from it."""
        return False

    def check(self) -> None:
        """Raise unless the data have the shape of those that the module was trained with."""
        data, name = self.data, self.functional.name
        if len(data.sizes) > 1 or len(data.arrays) != 2:
            raise DataError(
                f"`{name}` takes the data `(X, y)` with `paired=True`, so that their rows are drawn together; got "
                f"{len(data.arrays)} array(s) in {len(data.sizes)} sample(s). Pass `model.data`."
            )
        for label, array, form in zip(("X", "y"), data.arrays, self.functional.forms, strict=True):
            if array.reshape(len(array), -1).shape[1] != form.width:
                raise DataError(
                    f"{label} must have {form.width} number(s) per row, as in `from_torch`; got shape {array.shape}. "
                    "Pass `model.data`."
                )
        self._try_target()
        _ = self.output

    def _try_target(self) -> None:
        """Evaluate the target at the module as it came: its errors must not wait for the search for a minimum."""
        if self.functional.target is not None:
            self._function_at(self.functional.target, self.network.start)

    @found_with_torch
    def output(self) -> Output:
        """Return the shape and the names of the target."""
        name = "parameters" if self.functional.target is None else "target"
        return self.parameter_target.output(self.fit.point, name)

    @found_with_torch
    def estimate(self) -> FloatArray:
        """Return the target at the fit."""
        return self.parameter_target.value(self.fit.point)

    def values(self, resamples: Resamples) -> FloatArray:
        """Return the target of a refit on each resample; NaN where training diverges. Shape ``(B, k)``."""
        with TORCH_STATE:
            points, _ = self._refits(resamples)
            return np.stack([self._value(point) for point in points])

    def evaluate(self, resamples: Resamples) -> Evaluation:
        """Return the target of a refit on each resample or why there is none, and which refits reached a minimum."""
        try:
            # The last digits depend on torch's number of threads, which must not change on the way.
            with TORCH_STATE:
                points, converged = self._refits(resamples)
                return evaluated_refits(self._value, list(points), converged, self.output.size, self._undefined)
        except Exception as error:  # such as that there is no memory for so many
            return Evaluation.failed([Failure.of(error)] * len(resamples), self.output.size)

    def influence(self) -> Influence:
        """Return ``-g' H^-1 (gradient of loss_j + decay theta)`` for every row, centred."""
        return self._influence

    @property
    def influence_source(self) -> str:
        """Return the name of the method: implicit differentiation."""
        where = "at the end of the training" if self.functional.training else "at the minimum"
        return f"implicit function theorem for `{self.functional.name}`, {where}"

    def findings(self, convergence: Convergence = NO_FITS) -> tuple[OrthobootWarning, ...]:
        """Return warnings where the module was not at its minimum, and where refits did not reach one."""
        name = self.functional.name
        found = [*self._moved(), *self._approximate()]
        if self.fit.is_at_kink:
            found.append(
                f"the search for the minimum of `{name}` ended at a kink, such as those of relu and of absolute "
                "values; so do the refits, and r_squared shows how much of them the influence function explains. Use "
                "smooth units such as nn.SiLU or nn.Softplus to avoid kinks."
            )
        elif convergence.unconverged:
            found.append(
                f"{convergence.unconverged} of {convergence.fits} refits of `{name}` did not reach a minimum, which "
                "adds noise to the replicates that no influence function explains. Scale the columns, or raise "
                "`weight_decay`."
            )
        return tuple(map(FitWarning, found))

    def fitted_module(self) -> Any:
        """Return a copy of the module at the fit."""
        return self.network.filled(self.functional.module, self.fit.point)

    def diagnostics(self) -> NetworkDiagnostics:
        """Return the diagnostics of the influence function that need no replicates."""
        with TORCH_STATE:
            return NetworkDiagnostics(
                n_parameters=len(self.fit.point),
                curvature=" ".join(filter(None, (self.fit.curvature.title, self.fit.curvature.reason))),
                gradient_norm=self.fit.gradient_norm,
                distance=self.fit.distance(self._jacobian),
                smallest_eigenvalue=self.fit.curvature.smallest_eigenvalue,
                solve_residual=self.fit.solve_residual,
            )

    # What is found once

    @found_with_torch
    def network(self) -> Network:
        """Return a copy of the module as a function of its parameters, which each call replaces."""
        from orthoboot.models.torch.network import Network

        return Network(self.functional.module)

    @found_with_torch
    def loss(self) -> NetworkLoss:
        """Return the objective of the module on the data."""
        from orthoboot.models.torch.network import NetworkLoss

        X, y = (form.tensor(array) for form, array in zip(self.functional.forms, self.data.arrays, strict=True))
        decay = np.full(self.network.size, self.functional.decay)
        return NetworkLoss(self.network, self.functional.output_loss, X, y, decay)

    @found_with_torch
    def fit(self) -> NetworkFit:
        """Return the minimum near the module; the module itself where refits train from scratch."""
        from orthoboot.models.torch.fit import fit_at, polished

        start, options = self.network.start, self.functional.curvature
        try:
            with self._differentiation():
                if self.functional.training is None:
                    return polished(self.loss, start, options, among_kinks=True)
                self.loss.check_finite(start, "at the parameters of `module`")
                return fit_at(self.loss, start, options)
        except FitError as error:
            raise FitError(f"`{self.functional.name}` has no fit on these data: {error}") from error

    @found_with_torch
    def parameter_target(self) -> ParametersTarget | FunctionOfParameters:
        """Return the target as a function of the parameters."""
        target = self.functional.target
        return ParametersTarget(self.network.names) if target is None else self._function_at(target, self.fit.point)

    def _function_at(self, target: Callable[[Any], Any], point: FloatArray) -> FunctionOfParameters:
        from orthoboot.autodiff import autodiff

        with TORCH_STATE:
            return FunctionOfParameters(autodiff("torch"), self.network.bound(target), point)

    @found_with_torch
    def _jacobian(self) -> FloatArray:
        return self.parameter_target.jacobian(self.fit.point)

    @found_with_torch
    def _influence(self) -> Influence:
        try:
            with self._differentiation():
                return (self.fit.influence(self._jacobian),)
        except (FitError, StatisticError) as error:  # the second of a target that has no derivative
            name, why = self.functional.name, str(error).rstrip(".")
            raise InfluenceError(f"no influence function for `{name}`: {why}") from error

    @contextmanager
    def _differentiation(self) -> Iterator[None]:
        """Raise a `FitError` where torch cannot differentiate row by row."""
        try:
            yield
        except (FitError, StatisticError):
            raise
        except RuntimeError as error:
            raise FitError(
                f"torch cannot differentiate `{self.functional.name}` for single rows: {first_line(error)}. Recurrent "
                'layers need solver="cg", which takes rows together; rewrite other layers in plain functions of torch.'
            ) from error

    # Refits

    def _refits(self, resamples: Resamples) -> tuple[FloatArray, BoolArray]:
        """Return the parameters of a refit on each resample, shape ``(B, p)``, and which refits converged."""
        if self.functional.training is None:
            found = self.fit.refits(resamples.weights[0])
            return found.points, found.converged
        points = self._trained(self.functional.training, resamples)
        return points, np.ones(len(points), dtype=np.bool_)

    def _trained(self, training: AdamTraining, resamples: Resamples) -> FloatArray:
        """Return networks trained from fresh starts, each from the seed of its resample."""
        rows = [resamples.indices(b)[0] for b in range(len(resamples))]
        seeds = resamples.seeds(self.functional.seed)
        return training.points(
            self.functional.module, self.functional.output_loss, self.loss.X, self.loss.y, rows, seeds
        )

    def _value(self, point: FloatArray) -> FloatArray:
        if not np.isfinite(point).all():
            return np.full(self.output.size, np.nan)
        return self.parameter_target.value(point)

    @property
    def _undefined(self) -> str:
        name, undefined = self.functional.name, self.functional.undefined
        return f"`{name}` is not defined where {undefined}" if undefined else ""

    # Warnings

    def _moved(self) -> list[str]:
        """Return a warning if the module was far from the minimum."""
        if self.functional.training is not None:
            return []
        try:
            (influence,) = self.influence()
        except InfluenceError:  # told elsewhere
            return []
        distance = distance_in_errors(self.parameter_target.value(self.network.start) - self.estimate, influence)
        if distance < _NOTED_DISTANCE:
            return []
        return [
            f"`module` was up to {distance:.2g} standard errors from the minimum of its loss; the estimate and the "
            "refits are at the minimum, and `model.fitted_module()` is the module there. Train it longer, or use "
            'protocol="paper" for the training as it is.'
        ]

    def _approximate(self) -> list[str]:
        damping = self.fit.curvature.damping
        if not damping:
            return []
        return [
            f"damping of {damping:.2g} makes the influence of `{self.functional.name}` approximate: the data do not "
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
    r"""Return a target of a trained module, such as its outputs at new rows, as a statistic that holds its data.

    .. math:: I_j = -g'(\hat\theta)\, H^{-1} \bigl(\nabla \ell_j(\hat\theta) + \lambda \hat\theta\bigr)

    for a module that minimises the mean loss with a weight decay of :math:`\lambda`, H the Hessian of this objective
    and g the target: the influence function of the paper's ``subsection:CIconstructionexample`` and of
    ``appendix:pi experiment detail``. ``torch.func`` computes the gradients of single rows. Up to 5,000 parameters H is
    factored; beyond that, conjugate gradients solve with its Gauss-Newton part.

    The two protocols answer different questions. "polished": how would the minimum of the loss near this module move
    with other rows? The module is moved to its minimum, and refits minimise the weighted loss from there, all in one
    batch. "paper": how would a training from scratch on other rows end? Refits start from fresh parameters and train
    with Adam, as one batched program; the variance then includes the randomness of starts and batches, which no
    influence function explains.

    Parameters
    ----------
    module
        A trained `torch.nn.Module`, in evaluation mode if it has dropout or batch normalisation. It is copied.
    loss
        A torch loss such as ``nn.MSELoss()``, or a function ``loss(outputs, y)`` that returns the mean or the sum of
        the losses of the rows, or the loss of each row.
    X, y
        The training data, tensors or arrays with the rows first, of any shape.
    target
        A function ``target(module)`` that returns a number, a tensor or a dict of these, such as
        ``lambda module: module(X_new)``; new rows, for the outputs at these rows; or None for all parameters. A target
        that is not differentiable, such as the accuracy on a test set, has no influence function: use
        ``estimator="standard"`` or ``"cheap"``.
    protocol
        "polished" or "paper".
    weight_decay
        The weight decay of the optimiser: :math:`\lambda` in the term :math:`\tfrac12 \lambda |\theta|^2` added to the
        mean loss. If the optimiser minimised the sum over n rows, divide its weight decay by n.
    epochs, batch_size, learning_rate
        The options of Adam, for protocol "paper".
    curvature
        "hessian", "gauss-newton", or "auto": the exact Hessian if it is affordable and positive definite.
    solver
        "cholesky", "cg" for conjugate gradients, or "auto" to choose by the number of parameters.
    damping
        Added to the diagonal of H; None for as much as is needed.
    seed
        The seed of the fresh starts of protocol "paper".

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
        checked_output_loss,
        checked_rows,
        checked_target,
        checked_training,
    )

    decay = checked_nonnegative("weight_decay", weight_decay)
    module = checked_module(module)
    training = checked_training(protocol, module, epochs, batch_size, learning_rate, decay)
    options = checked_curvature(module, curvature, solver, damping)
    forms, arrays = checked_rows(X, y)
    output_loss, forms = checked_output_loss(module, loss, forms, arrays)
    return TorchModel(
        module=module,
        output_loss=output_loss,
        forms=forms,
        target=checked_target(target, forms[0]),
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
