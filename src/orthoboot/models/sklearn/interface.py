"""The interface of adapters for scikit-learn models: parameters, loss and refits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from orthoboot.typing import BoolArray, FloatArray

if TYPE_CHECKING:
    from orthoboot.data import Data
    from orthoboot.draws.resamples import Resamples
    from orthoboot.models.linear_loss import PenalisedLoss
    from orthoboot.models.sklearn.solution import Solution


class ModelLoss(Protocol):
    """The objective of a model: a weighted mean of row losses, and a penalty that is not resampled."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return what messages call the parameters."""

    @property
    def free(self) -> BoolArray:
        """Return which parameters the data may move, shape ``(p,)``."""

    @property
    def linear(self) -> FloatArray:
        """Return the part of the penalty that is linear on either side of a kink, shape ``(p,)``."""

    def scores(self, theta: FloatArray) -> FloatArray:
        """Return the gradients of the rows' losses, the penalty's in each, shape ``(n, p)``."""

    def hessian(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the Hessian, shape ``(p, p)``."""

    def gradient_by_columns(self, theta: FloatArray, changes: FloatArray) -> FloatArray:
        """Return the derivative of the gradient, at equal weights, by changes of the d columns, shape ``(p, d)``."""


@dataclass(frozen=True, eq=False)
class Refit:
    """A model fitted to a resample, or the error of the fit.

    Attributes
    ----------
    model
        The fitted model; None where the fit failed.
    error
        What was raised instead.
    converged
        Whether the fit ended at a minimum.
    """

    model: Any = None
    error: Exception | None = None
    converged: bool = True


class Adapter(ABC):
    """Conversion between fitted models of one kind and the parameters that minimise a loss.

    Attributes
    ----------
    parameter_attributes
        The attributes whose numbers are parameters.
    """

    parameter_attributes: tuple[str, ...]

    @abstractmethod
    def obstacle(self, model: Any) -> str:
        """Return why the influence function of a model is not known, or an empty string if it is."""

    @abstractmethod
    def parameters(self, model: Any) -> FloatArray:
        """Return the parameters of a fitted model, shape ``(p,)``."""

    @abstractmethod
    def moved(self, model: Any, theta: FloatArray) -> Any:
        """Return a copy of a fitted model with other parameters."""

    @abstractmethod
    def solution(self, model: Any, X: Any, y: Any) -> Solution:
        """Return the minimum near a fitted model or pipeline; raise a `FitError` where there is none."""

    def source(self, model: Any) -> str:
        """Return the point at which the influence function is taken, if it is not the minimum."""
        return ""

    def held(self, model: Any) -> list[str]:
        """Return the parts of the model that its influence function holds fixed."""
        return []

    def prediction_jacobian(self, model: Any, columns: FloatArray) -> FloatArray | None:
        """Return the derivative of predictions by the parameters, ``(m, p)``, or None to use finite differences.

        The columns are those that the model sees, the last step of a pipeline.
        """
        return None

    def column_jacobian(self, model: Any, columns: FloatArray) -> FloatArray | None:
        """Return the derivative of the prediction of each row by its columns, ``(m, d)``, or None if unknown."""
        return None


class RefittedModel(Adapter):
    """A model with one minimum: the estimator is refitted to every resample, and the fit is polished."""

    @abstractmethod
    def loss(self, model: Any, X: FloatArray, y: Any, total: float, names: tuple[str, ...] | None) -> PenalisedLoss:
        """Return the objective of `model` on rows whose weights sum to `total`."""

    @abstractmethod
    def absolute_penalty(self, model: Any) -> float:
        """Return the factor of the L1 penalty."""

    def selects(self, model: Any) -> bool:
        """Return whether the penalty sets coefficients to zero."""
        return self.absolute_penalty(model) > 0

    @abstractmethod
    def tightened(self, model: Any) -> Any:
        """Return the model, with a tight tolerance if that decides which coefficients are zero."""

    @abstractmethod
    def starts_warm(self, model: Any) -> bool:
        """Return whether a refit may start from a fit."""


class ContinuedModel(Adapter):
    """A model with many minima, such as a network: refits continue from the fit to all rows, and stay near it."""

    @abstractmethod
    def takes_weights(self, model: Any) -> bool:
        """Return whether refits take weights that are not whole numbers."""

    @abstractmethod
    def refits(self, solution: Solution, model: Any, data: Data, resamples: Resamples) -> list[Refit]:
        """Return the refits on all resamples, together.

        Parameters
        ----------
        solution
            The minimum on all rows.
        model
            Its model, or a pipeline whose other steps were fitted to the resample.
        data, resamples
            The rows and their weights.
        """
