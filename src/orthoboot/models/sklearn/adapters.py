"""Adapters of scikit-learn's linear models: the loss that each of them minimises."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from orthoboot.errors import InfluenceError
from orthoboot.functionals.regression.row_losses import (
    FamilyLoss,
    HuberLoss,
    LossFunction,
    MultinomialLoss,
    TweedieLoss,
)
from orthoboot.models.linear_loss import PenalisedLoss
from orthoboot.models.sklearn.interface import Adapter, RefittedModel
from orthoboot.models.sklearn.networks import network_adapter
from orthoboot.models.sklearn.solution import Solution, solved
from orthoboot.typing import FloatArray

_TIGHT_TOLERANCE = 1e-10
_MANY_ITERATIONS = 100_000
_NOT_SMOOTH = ("sklearn.ensemble.", "sklearn.tree.", "sklearn.neighbors.")
"""Modules of models that split, count or pick rows."""


class Penalty(NamedTuple):
    """``absolute |coef|_1 + quadratic |coef|^2 / 2``, beside the mean loss of the rows."""

    absolute: float = 0.0
    quadratic: float = 0.0


def _all_known(model: Any) -> str:
    return ""


def _no_penalty(model: Any, total: float) -> Penalty:
    return Penalty()


@dataclass(frozen=True)
class LinearModel(RefittedModel):
    """Conversion between a fitted linear model and the parameters that minimise a penalised loss.

    The functions have names, so that they can be pickled.

    Attributes
    ----------
    row_loss
        The loss of a row, from the model's options.
    penalty
        The penalty, from the model's options and the total weight of the rows. The intercept is not penalised.
    unknown
        In words which option of the model its influence function does not know; empty where there is none.
    parameter_attributes
        The attributes whose numbers are parameters.
    """

    row_loss: Callable[[Any], LossFunction]
    penalty: Callable[[Any, float], Penalty] = _no_penalty
    unknown: Callable[[Any], str] = _all_known
    parameter_attributes: tuple[str, ...] = ("coef_", "intercept_")

    def obstacle(self, model: Any) -> str:
        """Return which option of the model is not known."""
        return self.unknown(model)

    def loss(self, model: Any, X: FloatArray, y: Any, total: float, names: tuple[str, ...] | None) -> PenalisedLoss:
        """Return the objective of `model` on rows whose weights sum to `total`."""
        theta, penalty = self.parameters(model), self.penalty(model, total)
        is_coefficient = self._is_coefficient(model)
        bends = is_coefficient & (penalty.absolute > 0)
        return PenalisedLoss(
            row_loss=self.row_loss(model),
            response=self.response(model, y),
            designs=self.designs(model, X),
            quadratic=np.diag(np.where(is_coefficient, penalty.quadratic, 0.0)),
            linear=np.where(bends, penalty.absolute * np.sign(theta), 0.0),
            names=self._names(model, names),
            factors=np.ones(len(X)),
            free=~bends | (theta != 0),
            n_predictors=len(np.atleast_2d(model.coef_)),
        )

    def parameters(self, model: Any) -> FloatArray:
        """Return the parameters of a fitted model, predictor by predictor, shape ``(p,)``."""
        coefficients = np.atleast_2d(model.coef_)
        if not model.fit_intercept:
            return np.array(coefficients, dtype=np.float64).reshape(-1)
        return np.column_stack([coefficients, np.reshape(model.intercept_, -1)]).astype(np.float64).reshape(-1)

    def moved(self, model: Any, theta: FloatArray) -> Any:
        """Return a copy of a fitted model with other parameters."""
        result = copy.copy(model)
        table = theta.reshape(len(np.atleast_2d(model.coef_)), -1)
        if model.fit_intercept:
            result.intercept_ = table[:, -1].reshape(np.shape(model.intercept_))[()]
            table = table[:, :-1]
        result.coef_ = np.array(table).reshape(np.shape(model.coef_))
        return result

    def solution(self, model: Any, X: Any, y: Any) -> Solution:
        """Return the minimum near a fitted model or pipeline; raise a `FitError` where there is none."""
        return solved(self, model, X, y)

    def designs(self, model: Any, X: FloatArray) -> tuple[FloatArray, ...]:
        """Return the columns of each predictor, that of the intercept last."""
        design = np.column_stack([X, np.ones(len(X))]) if model.fit_intercept else X
        return (design,) * len(np.atleast_2d(model.coef_))

    def prediction_jacobian(self, model: Any, columns: FloatArray) -> FloatArray | None:
        """Return the columns, times the predictions where these are exponentials; None for a classifier."""
        if hasattr(model, "classes_"):
            return None
        design, theta = self.designs(model, columns)[0], self.parameters(model)
        jacobian = np.zeros((len(design), len(theta)))
        jacobian[:, : design.shape[1]] = design
        if getattr(self.row_loss(model), "log_link", False):
            jacobian *= np.exp(design @ theta[: design.shape[1]])[:, np.newaxis]
        return jacobian

    def column_jacobian(self, model: Any, columns: FloatArray) -> FloatArray | None:
        """Return the coefficients, times the predictions where these are exponentials; None for a classifier."""
        if hasattr(model, "classes_"):
            return None
        coefficients = np.broadcast_to(np.reshape(model.coef_, -1), columns.shape).astype(np.float64)
        if getattr(self.row_loss(model), "log_link", False):
            coefficients = (
                coefficients * np.exp(columns @ np.reshape(model.coef_, -1) + model.intercept_)[:, np.newaxis]
            )
        return coefficients

    def response(self, model: Any, y: Any) -> FloatArray:
        """Return the response as numbers."""
        return np.asarray(y, dtype=np.float64)

    def tightened(self, model: Any) -> Any:
        """Return the model, with a tight tolerance if that decides which coefficients are zero."""
        if not self.selects(model):
            return model
        max_iter = max(model.max_iter, _MANY_ITERATIONS)
        return model.set_params(tol=min(model.tol, _TIGHT_TOLERANCE), max_iter=max_iter)

    def absolute_penalty(self, model: Any) -> float:
        """Return the penalty of the absolute values."""
        return self.penalty(model, 1.0).absolute

    def held(self, model: Any) -> list[str]:
        """Return which coefficients are zero, where the penalty chooses that."""
        return ["the set of coefficients that are not zero"] if self.selects(model) else []

    def starts_warm(self, model: Any) -> bool:
        """Return whether a refit may start from a fit."""
        return "warm_start" in model.get_params()

    def _is_coefficient(self, model: Any) -> Any:
        """Return which parameters are penalised."""
        moved = self.moved(model, np.zeros(len(self.parameters(model))))
        moved.coef_ = np.ones(np.shape(model.coef_))
        return self.parameters(moved) == 1

    def _names(self, model: Any, names: tuple[str, ...] | None) -> tuple[str, ...]:
        """Return what messages call the parameters."""
        n_predictors, d = np.atleast_2d(model.coef_).shape
        own = names or tuple(f"coef_[{column}]" for column in range(d))
        own = (*own, "intercept_") if model.fit_intercept else own
        return own if n_predictors == 1 else tuple(f"{label}, {name}" for label in model.classes_ for name in own)


@dataclass(frozen=True)
class Logistic(LinearModel):
    """Logistic regression: one predictor for two classes, one for each of more."""

    def loss(self, model: Any, X: FloatArray, y: Any, total: float, names: tuple[str, ...] | None) -> PenalisedLoss:
        """Return the loss with class weights and a penalty that identifies the predictors of several classes."""
        plain = super().loss(model, X, y, total, names)
        quadratic = plain.quadratic + _tie(plain.designs) + self._penalty_of_intercept(model, len(plain.linear), total)
        weights = dict.fromkeys(model.classes_, 1.0) | (model.class_weight or {})
        factors = np.array([weights[label] for label in model.classes_])[plain.response.astype(np.intp)]
        return replace(plain, quadratic=quadratic, factors=factors)

    def response(self, model: Any, y: Any) -> FloatArray:
        """Return the numbers of the classes."""
        return np.searchsorted(model.classes_, np.asarray(y)).astype(np.float64)

    def starts_warm(self, model: Any) -> bool:
        """Return whether the solver supports warm starts."""
        return bool(model.solver != "liblinear")

    def _penalty_of_intercept(self, model: Any, p: int, total: float) -> FloatArray:
        """Return the penalty of liblinear, to which the intercept is one more coefficient, shape ``(p, p)``."""
        penalty = np.zeros((p, p))
        if model.solver == "liblinear" and model.fit_intercept:
            penalty[-1, -1] = self.penalty(model, total).quadratic / model.intercept_scaling**2
        return penalty


def _tie(designs: tuple[FloatArray, ...]) -> FloatArray:
    """Return a penalty of the sum of the classes' coefficients, shape ``(p, p)``.

    A number added to the coefficients of all classes changes no probability, so the Hessian alone is singular. All
    solvers end where the sums are zero, so a penalty of them makes it regular and leaves the solution as it is.
    """
    n_classes = len(designs)
    tied = np.ones((n_classes, n_classes)) / n_classes if n_classes > 1 else np.zeros((1, 1))
    return np.kron(tied, np.diag(np.mean(designs[0] ** 2, axis=0)))


@dataclass(frozen=True)
class Huber(LinearModel):
    """Huber's regression, whose last parameter is the scale."""

    parameter_attributes: tuple[str, ...] = ("coef_", "intercept_", "scale_")

    def parameters(self, model: Any) -> FloatArray:
        """Return the coefficients, the intercept and the scale."""
        return np.append(super().parameters(model), model.scale_)

    def moved(self, model: Any, theta: FloatArray) -> Any:
        """Return a copy with other coefficients, intercept and scale."""
        result = super().moved(model, theta[:-1])
        result.scale_ = theta[-1]
        return result

    def designs(self, model: Any, X: FloatArray) -> tuple[FloatArray, ...]:
        """Return the columns of the mean, and the constant of the scale."""
        return (*super().designs(model, X), np.ones((len(X), 1)))

    def starts_warm(self, model: Any) -> bool:
        """Return False without an intercept: scikit-learn would start from the stored zero as an intercept."""
        return bool(model.fit_intercept)

    def _names(self, model: Any, names: tuple[str, ...] | None) -> tuple[str, ...]:
        return (*super()._names(model, names), "scale_")


def _squares(model: Any) -> LossFunction:
    return FamilyLoss("gaussian", "identity")


def _poisson(model: Any) -> LossFunction:
    return TweedieLoss(1.0, log_link=True)


def _gamma(model: Any) -> LossFunction:
    return TweedieLoss(2.0, log_link=True)


def _tweedie(model: Any) -> LossFunction:
    log_link = model.link == "log" or (model.link == "auto" and model.power > 0)
    return TweedieLoss(float(model.power), bool(log_link))


def _logistic(model: Any) -> LossFunction:
    return FamilyLoss("binomial", "logit") if len(model.coef_) == 1 else MultinomialLoss()


def _huber(model: Any) -> LossFunction:
    return HuberLoss(float(model.epsilon))


def _alpha_of_mean(model: Any, total: float) -> Penalty:
    return Penalty(quadratic=float(model.alpha))


def _alpha_of_sum(model: Any, total: float) -> Penalty:
    return Penalty(quadratic=float(np.ravel(model.alpha)[0]) / total)


def _alpha_of_twice_the_sum(model: Any, total: float) -> Penalty:
    return Penalty(quadratic=2 * float(model.alpha) / total)


def _lasso(model: Any, total: float) -> Penalty:
    return Penalty(absolute=float(model.alpha))


def _penalty_name(model: Any) -> str | None:
    """Return the option of releases before 1.8; later ones go by `l1_ratio` and `C`."""
    name: str | None = getattr(model, "penalty", "deprecated")
    return name


def _inverse_c(model: Any, total: float) -> Penalty:
    is_free = _penalty_name(model) is None or np.isinf(model.C)
    return Penalty(quadratic=0.0 if is_free else 1 / (model.C * total))


def _elastic(model: Any, total: float) -> Penalty:
    return Penalty(float(model.alpha * model.l1_ratio), float(model.alpha * (1 - model.l1_ratio)))


def _bounded(model: Any) -> str:
    return "with `positive=True`, which bounds the coefficients" if model.positive else ""


def _logistic_obstacle(model: Any) -> str:
    named = _penalty_name(model)
    if named in ("l1", "elasticnet") or (named == "deprecated" and model.l1_ratio):
        return "with an l1 penalty"
    if isinstance(model.class_weight, str):
        return f"with `class_weight={model.class_weight!r}`, which changes with the resample"
    if len(model.classes_) > 2 and (model.solver == "liblinear" or getattr(model, "multi_class", "auto") == "ovr"):
        return "with one fit for each class"
    return ""


ADAPTERS: dict[str, LinearModel] = {
    "LinearRegression": LinearModel(_squares, unknown=_bounded),
    "Ridge": LinearModel(_squares, _alpha_of_sum, _bounded),
    "Lasso": LinearModel(_squares, _lasso),
    "ElasticNet": LinearModel(_squares, _elastic),
    "PoissonRegressor": LinearModel(_poisson, _alpha_of_mean),
    "GammaRegressor": LinearModel(_gamma, _alpha_of_mean),
    "TweedieRegressor": LinearModel(_tweedie, _alpha_of_mean),
    "LogisticRegression": Logistic(_logistic, _inverse_c, _logistic_obstacle),
    "HuberRegressor": Huber(_huber, _alpha_of_twice_the_sum),
}
"""By the name of the class in `sklearn.linear_model`."""


def adapter_of(model: Any) -> Adapter | None:
    """Return the adapter of a model, or None if its loss is unknown, as for subclasses."""
    kind = type(model)
    if kind.__module__.startswith("sklearn.linear_model."):
        return ADAPTERS.get(kind.__name__)
    return network_adapter(model)


def _is_rough(model: Any) -> bool:
    """Return whether a fit jumps as weights move; a vote does where one of those that vote does."""
    kind = type(model)
    if not kind.__module__.startswith(_NOT_SMOOTH):
        return False
    if kind.__name__ not in ("VotingRegressor", "VotingClassifier"):
        return True
    return any(_is_rough(voter) for _, voter in model.estimators if not isinstance(voter, str))


def known_adapter(model: Any) -> Adapter:
    """Return the adapter of a fitted model; raise an `InfluenceError` if there is none."""
    adapter, kind = adapter_of(model), type(model).__name__
    if adapter is None:
        is_rough = _is_rough(model)
        why = ": its fit is not a smooth function of the weights" if is_rough else ""
        refits = "" if is_rough else ', or influence="jackknife", one refit a row'
        raise InfluenceError(
            f'no influence function is known for `{kind}`{why}; use estimator="standard" or "cheap"{refits}'
        )
    obstacle = adapter.obstacle(model)
    if obstacle:
        raise InfluenceError(
            f'no influence function is known for `{kind}` {obstacle}; use estimator="standard" or "cheap"'
        )
    return adapter
