"""What the bootstrap needs to know of a kind of scikit-learn model: how to read it, its loss, and how it refits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from orthoboot.solvers import Factor
from orthoboot.typing import BoolArray, FloatArray

if TYPE_CHECKING:
    from orthoboot.data import Data
    from orthoboot.draws.resamples import Resamples
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

    def factor(self, theta: FloatArray, weights: FloatArray) -> Factor:
        """Return the curvature of the free parameters ready for solving; raise a `FitError` where it is singular."""

    def minimum(self, start: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the parameters where the loss is least; raise a `FitError` where the search does not end there."""

    def gradient_by_columns(self, theta: FloatArray, changes: FloatArray) -> FloatArray:
        """Return how the gradient at equal weights moves as each of d columns moves along its change: ``(p, d)``."""


class Refit(NamedTuple):
    """A model fitted to a resample, or the error that there was instead, and whether the fit converged."""

    outcome: Any
    converged: bool


class Adapter(ABC):
    """How fitted models of one kind are read as minima of a loss, and written from their parameters.

    Attributes
    ----------
    coordinates
        The attributes whose numbers are parameters.
    refits_from_solution
        Whether refits start at the fit to the data and go by `refits`; else they are fits of the estimator's own.
    """

    coordinates: tuple[str, ...]
    refits_from_solution: bool = False

    @abstractmethod
    def obstacle(self, model: Any) -> str:
        """Return in words why a model has no influence function that is known; empty where it has one."""

    @abstractmethod
    def loss(self, model: Any, X: FloatArray, y: Any, total: float, names: tuple[str, ...] | None) -> ModelLoss:
        """Return what `model` minimises on rows whose weights sum to `total`."""

    @abstractmethod
    def parameters(self, model: Any) -> FloatArray:
        """Return the parameters of a fitted model, shape ``(p,)``."""

    @abstractmethod
    def moved(self, model: Any, theta: FloatArray) -> Any:
        """Return a copy of a fitted model with other parameters."""

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

    # Models that are fitted again on every resample

    def absolute_penalty(self, model: Any) -> float:
        """Return what the absolute values of the coefficients are multiplied with."""
        return 0.0

    def selects(self, model: Any) -> bool:
        """Return whether the penalty sets coefficients to zero."""
        return self.absolute_penalty(model) > 0

    def tightened(self, model: Any) -> Any:
        """Return the model, with a tight tolerance where it tells which coefficients are zero."""
        return model

    def starts_warm(self, model: Any) -> bool:
        """Return whether a refit may start from a fit."""
        return False

    # Models whose refits start at the fit to the data

    def refits_by_weights(self, model: Any) -> bool:
        """Return whether these refits take weights that are not whole numbers."""
        return True

    def refits(self, solution: Solution, data: Data, resamples: Resamples) -> list[Refit]:
        """Return the refits on all resamples, those together that can be."""
        raise NotImplementedError
