"""Adapters of networks with a scikit-learn interface: losses, and refits that start from the fit."""

from __future__ import annotations

import copy
from abc import abstractmethod
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import FitError
from orthoboot.models.fitting import DENSE_PARAMETERS
from orthoboot.models.sklearn.interface import ContinuedModel, Refit
from orthoboot.models.sklearn.pipeline import Scaling, last_step, transformed, with_last_step
from orthoboot.models.sklearn.solution import Solution
from orthoboot.typing import BoolArray, FloatArray

if TYPE_CHECKING:
    from orthoboot.models.torch.fit import NetworkFit
    from orthoboot.models.torch.network import NetworkLoss


_NEGLIGIBLE = 1e-4
"""What a search may still gain, in units of the spread of the losses over n: resampling moves it by one a parameter."""
_OF_THE_TRAINING = frozenset({"loss_", "loss_curve_", "best_loss_", "n_iter_", "t_"})
"""Attributes that a refit does not have, since it is no training."""
_STEPS_AMONG_KINKS = 100
"""Of a search that a kink may end; from kink to kink it would go on for long and gain little."""


@dataclass(frozen=True, eq=False)
class AdaptedLoss:
    """The objective of a network, as a `ModelLoss`.

    Attributes
    ----------
    loss
        What is minimised.
    column_scales
        What the columns were divided by before they became those of `loss`, shape ``(d,)``.
    """

    loss: NetworkLoss
    column_scales: FloatArray

    @property
    def names(self) -> tuple[str, ...]:
        """Return what messages call the parameters."""
        return self.loss.network.names

    @property
    def free(self) -> BoolArray:
        """Return True for every parameter: none is held at zero."""
        return np.ones(self.loss.network.size, dtype=np.bool_)

    @property
    def linear(self) -> FloatArray:
        """Return zeros: the penalty has no kink."""
        return np.zeros(self.loss.network.size)

    def scores(self, theta: FloatArray) -> FloatArray:
        """Return the gradients of the rows' losses, the penalty's in each, shape ``(n, p)``."""
        return self.loss.scores(theta)

    def hessian(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the Hessian, shape ``(p, p)``."""
        return self.loss.hessian(theta, weights)

    def gradient_by_columns(self, theta: FloatArray, changes: FloatArray) -> FloatArray:
        """Return the derivative of the gradient, at equal weights, by changes of the d columns, shape ``(p, d)``."""
        return self.loss.gradient_by_columns(theta, changes / self.column_scales)


@dataclass(frozen=True, eq=False)
class NetworkSolution(Solution):
    """A network at its minimum on the data, or where its training ended.

    Attributes
    ----------
    fit
        Where its refits start.
    """

    fit: NetworkFit


class NetworkModel(ContinuedModel):
    """A network: refits minimise the weighted loss from the fit to the data, all of them together."""

    def obstacle(self, model: Any) -> str:
        """Return a message if torch is missing or the network is too large."""
        if find_spec("torch") is None:
            return "without PyTorch: install it with `pip install 'orthoboot[torch]'`"
        size = len(self.parameters(model))
        if size > DENSE_PARAMETERS:
            return (
                f"with more than {DENSE_PARAMETERS:,} parameters, and it has {size:,}: use `from_torch` for larger "
                "networks"
            )
        return ""

    @abstractmethod
    def network_loss(self, model: Any, X: FloatArray, y: Any, total: float) -> NetworkLoss:
        """Return the objective of a fitted network on rows whose weights sum to `total`."""

    def polishes(self, model: Any) -> bool:
        """Return whether its fit is polished to the minimum."""
        return True

    def has_kinks(self, model: Any) -> bool:
        """Return whether its outputs have kinks."""
        return False

    def column_scales(self, model: Any) -> FloatArray:
        """Return the scales by which the network divides the columns, shape ``(d,)``."""
        return np.ones(model.n_features_in_)

    def takes_weights(self, model: Any) -> bool:
        """Return True: minimisation takes any weights."""
        return True

    def solution(self, model: Any, X: Any, y: Any) -> NetworkSolution:
        """Return the minimum near a fitted network, or the network as trained if it is not polished."""
        last = last_step(model)
        loss = self.network_loss(last, transformed(model, X), y, float(len(y)))
        fit = self._fit(last, loss)
        return NetworkSolution(
            adapter=self,
            model=with_last_step(model, self.moved(last, fit.point)),
            scaling=Scaling.of(model, X),
            loss=AdaptedLoss(loss, self.column_scales(last)),
            factor=fit.curvature.factor,
            n_rows=len(y),
            fit=fit,
        )

    def refits(self, solution: Solution, model: Any, data: Data, resamples: Resamples) -> list[Refit]:
        """Return the refits; with refitted transformers each has its own columns."""
        assert isinstance(solution, NetworkSolution)
        fit = solution.fit if model is solution.model else self._fit_to_columns(model, solution.fit, data)
        last = last_step(model)
        points, converged = self.points(last, fit, resamples)
        # A search that ends at a kink has converged as far as one can.
        converged |= self.has_kinks(last)
        return [
            Refit(with_last_step(model, self.moved(last, point)), converged=bool(ended))
            if np.isfinite(point).all()
            else Refit(error=_diverged())
            for point, ended in zip(points, converged, strict=True)
        ]

    def points(self, model: Any, fit: NetworkFit, resamples: Resamples) -> tuple[FloatArray, BoolArray]:
        """Return the parameters of refits that start from a fit, shape ``(B, p)``, and which of them converged."""
        from orthoboot.models.torch.fit import loss_unit

        minima = fit.refits(resamples.weights[0], max_steps=_STEPS_AMONG_KINKS if self.has_kinks(model) else None)
        return minima.points, minima.converged | (minima.decrements < _NEGLIGIBLE * loss_unit(fit.loss, fit.point))

    def _fit(self, model: Any, loss: NetworkLoss) -> NetworkFit:
        from orthoboot.models.torch.fit import CurvatureOptions, fit_at, polished

        start = self.parameters(model)
        if not self.polishes(model):
            loss.check_finite(start, "at the end of the training")
            return fit_at(loss, start, CurvatureOptions("gauss-newton"))
        if not self.has_kinks(model):
            return polished(loss, start, CurvatureOptions())
        nearby = fit_at(loss, start, CurvatureOptions())
        end = nearby.refits(np.ones((1, len(loss.X))), max_steps=_STEPS_AMONG_KINKS).points[0]
        return fit_at(loss, np.asarray(end), CurvatureOptions())

    def _fit_to_columns(self, model: Any, fit: NetworkFit, data: Data) -> NetworkFit:
        """Return a fit converted to the columns of another fitted pipeline."""
        X, y = data.containers[0], np.asarray(data.containers[1]).reshape(-1)
        loss = self.network_loss(last_step(model), transformed(model, X), y, float(len(y)))
        # Columns that have moved a little have nearly the same curvature, which is all that a search needs.
        return replace(fit, loss=loss)


def _diverged() -> FitError:
    return FitError("the training of the network diverged on a resample; scale X and y, or lower `learning_rate`")


class NeuralNetwork(NetworkModel):
    """`NeuralRegressor`, in both protocols."""

    parameter_attributes = (
        "parameters_",
        "hidden_weights_",
        "hidden_bias_",
        "output_weights_",
        "output_bias_",
    )

    def network_loss(self, model: Any, X: FloatArray, y: Any, total: float) -> NetworkLoss:
        """Return the loss on rows that are standardised as those of the fit were."""
        loss: NetworkLoss = model.loss_on(X, y)
        return loss

    def parameters(self, model: Any) -> FloatArray:
        """Return all parameters."""
        return np.asarray(model.parameters_)

    def moved(self, model: Any, theta: FloatArray) -> Any:
        """Return a copy with other parameters."""
        return _untrained(model).place(theta)

    def prediction_jacobian(self, model: Any, columns: FloatArray) -> FloatArray:
        """Return the derivative in closed form."""
        jacobian: FloatArray = model.y_scale_ * model.layers.jacobian(model.standardized(columns))
        return jacobian

    def source(self, model: Any) -> str:
        """Return the end of the training, if the fit is not polished."""
        return "" if self.polishes(model) else ", at the end of the training"

    def held(self, model: Any) -> list[str]:
        """Return the standardisation, which is that of the data."""
        return ["the means and scales by which X and y are standardised"] if model.standardize else []

    def polishes(self, model: Any) -> bool:
        """Return whether the protocol is "polished"."""
        return bool(model.protocol == "polished")

    def takes_weights(self, model: Any) -> bool:
        """Return False if refits train from scratch, which takes whole rows."""
        return self.polishes(model)

    def column_scales(self, model: Any) -> FloatArray:
        """Return its own scales."""
        return np.asarray(model.x_scale_)

    def points(self, model: Any, fit: NetworkFit, resamples: Resamples) -> tuple[FloatArray, BoolArray]:
        """Return the refits, or networks trained from fresh starts, each with the seed of its resample."""
        if self.polishes(model):
            return super().points(model, fit, resamples)
        seed = model.random_state if isinstance(model.random_state, (int, np.integer)) else 0
        rows = [resamples.indices(b)[0] for b in range(len(resamples))]
        points = model.trained(fit.loss, rows, resamples.seeds(int(seed)))
        return points, np.ones(len(points), dtype=np.bool_)


class MultilayerPerceptron(NetworkModel):
    """`MLPRegressor` with the squared error, and `MLPClassifier`."""

    parameter_attributes = ("coefs_", "intercepts_")

    def obstacle(self, model: Any) -> str:
        """Return which option of the model its influence function does not know."""
        if model.early_stopping:
            return "with `early_stopping=True`, whose fit is no minimum"
        if model.loss not in ("squared_error", "log_loss"):
            return f"with `loss={model.loss!r}`"
        return super().obstacle(model)

    def has_kinks(self, model: Any) -> bool:
        """Return whether the activation has one."""
        return bool(model.activation == "relu")

    def held(self, model: Any) -> list[str]:
        """Return on which side of their kinks the units are."""
        return ["the rows at which each unit is zero"] if self.has_kinks(model) else []

    def network_loss(self, model: Any, X: FloatArray, y: Any, total: float) -> NetworkLoss:
        """Return the mean loss with ``alpha`` over twice the total weight times the squared coefficients."""
        from orthoboot.models.torch.layers import binary_log_loss, half_squared_error, layers_loss, log_loss

        losses = {"identity": half_squared_error, "logistic": binary_log_loss, "softmax": log_loss}
        decay = float(model.alpha) / total
        return layers_loss(_layers(model), losses[model.out_activation_], X, _response(model, y), decay)

    def parameters(self, model: Any) -> FloatArray:
        """Return coefficients and intercepts, layer by layer, without the intercept that is held fixed."""
        intercepts = [*model.intercepts_[:-1], model.intercepts_[-1][int(_is_tied(model)) :]]
        parts = [np.ravel(part) for layer in zip(model.coefs_, intercepts, strict=True) for part in layer]
        return np.concatenate(parts, dtype=np.float64)

    def moved(self, model: Any, theta: FloatArray) -> Any:
        """Return a copy with other parameters."""
        result = _untrained(model)
        tied = model.intercepts_[-1][:1] if _is_tied(model) else model.intercepts_[-1][:0]
        shapes = [np.shape(part) for layer in zip(model.coefs_, model.intercepts_, strict=True) for part in layer]
        # The intercept that stays is the first of the last ones.
        whole = np.insert(theta, len(theta) + len(tied) - shapes[-1][0], tied)
        parts = np.split(whole, np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1])
        placed = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
        result.coefs_, result.intercepts_ = placed[::2], placed[1::2]
        return result

    def prediction_jacobian(self, model: Any, columns: FloatArray) -> FloatArray | None:
        """Return the derivative of a regression's predictions, by automatic differentiation."""
        from orthoboot.models.torch.network import Network, tensor

        network = Network(_layers(model))
        return network.output_jacobian(self.parameters(model), tensor(columns))[:, 0]


def _untrained(model: Any) -> Any:
    """Return a copy without the training state, which would not match other parameters."""
    result = copy.copy(model)
    for name in _OF_THE_TRAINING & vars(result).keys():
        delattr(result, name)
    return result


def _layers(model: Any) -> Any:
    from orthoboot.models.torch.layers import Layers

    return Layers(model.coefs_, model.intercepts_, model.activation, ties_first=_is_tied(model))


def _is_tied(model: Any) -> bool:
    return bool(model.out_activation_ == "softmax")


def _response(model: Any, y: Any) -> FloatArray:
    """Return the response as numbers: for two classes zeros and ones, for more a column of them for each class."""
    if model.out_activation_ == "identity":
        return np.asarray(y, dtype=np.float64)
    numbers = np.searchsorted(model.classes_, np.asarray(y))
    return np.eye(len(model.classes_))[numbers] if _is_tied(model) else numbers.astype(np.float64)


def network_adapter(model: Any) -> NetworkModel | None:
    """Return the adapter of a network, or None for other models, subclasses included."""
    kind = type(model)
    if kind.__module__ == "orthoboot.models.torch.neural_regressor" and kind.__name__ == "NeuralRegressor":
        return NeuralNetwork()
    is_perceptron = kind.__module__.startswith("sklearn.neural_network.") and kind.__name__.startswith("MLP")
    return MultilayerPerceptron() if is_perceptron else None
