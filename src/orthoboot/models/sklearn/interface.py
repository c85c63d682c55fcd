"""What the bootstrap needs to know of a kind of scikit-learn model: how to read it, its loss, and how it refits."""

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
    """What a model minimises on rows: a weighted mean of losses with a penalty that is not resampled."""

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
        """Return how the gradient at equal weights moves as each of d columns moves along its change: ``(p, d)``."""


@dataclass(frozen=True, eq=False)
class Refit:
    """A model fitted to a resample, or why there is none.

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
    """How fitted models of one kind are read as minima of a loss, and written from their parameters.

    Attributes
    ----------
    parameter_attributes
        The attributes whose numbers are parameters.
    """

    parameter_attributes: tuple[str, ...]

    @abstractmethod
    def obstacle(self, model: Any) -> str:
        """Return in words why a model has no influence function that is known; empty where it has one."""

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
        """Return where the influence function is that of, in words, if not the minimum."""
        return ""

    def held(self, model: Any) -> list[str]:
        """Return what of the model its influence function holds fixed."""
        return []

    def prediction_jacobian(self, model: Any, columns: FloatArray) -> FloatArray | None:
        """Return the derivative of predictions by the parameters, ``(m, p)``; None where differences must do.

        The columns are those that the model sees, the last step of a pipeline.
        """
        return None


class RefittedModel(Adapter):
    """A model with one minimum: the estimator itself is fitted to every resample, and its fit polished."""

    @abstractmethod
    def loss(self, model: Any, X: FloatArray, y: Any, total: float, names: tuple[str, ...] | None) -> PenalisedLoss:
        """Return what `model` minimises on rows whose weights sum to `total`."""

    @abstractmethod
    def absolute_penalty(self, model: Any) -> float:
        """Return what the absolute values of the coefficients are multiplied with."""

    def selects(self, model: Any) -> bool:
        """Return whether the penalty sets coefficients to zero."""
        return self.absolute_penalty(model) > 0

    @abstractmethod
    def tightened(self, model: Any) -> Any:
        """Return the model, with a tight tolerance where it tells which coefficients are zero."""

    @abstractmethod
    def starts_warm(self, model: Any) -> bool:
        """Return whether a refit may start from a fit."""


class ContinuedModel(Adapter):
    """A model with many minima, as a network: refits go on from the one on all rows, and stay near it."""

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
