"""Targets of a fitted scikit-learn model: its attributes, a function of it, or its predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from orthoboot.errors import ArgumentError, StatisticError, first_line
from orthoboot.functionals.output import Output, output_like
from orthoboot.functionals.user.user_function import function_name
from orthoboot.models.sklearn.pipeline import last_step
from orthoboot.models.target_rows import TargetRows, rows_taken


class ModelTarget(ABC):
    """The numbers of a fitted model that the bootstrap is about.

    Attributes
    ----------
    attributes
        The attributes that it consists of, where it consists of attributes.
    """

    attributes: tuple[str, ...] | None = None

    def at(self, rows: TargetRows) -> ModelTarget:
        """Return the target at a resample; the same where it is a function of the model alone."""
        return self

    @abstractmethod
    def value(self, model: Any) -> Any:
        """Return its value: a number, an array, or a dict of these."""

    @abstractmethod
    def output(self, value: Any, model: Any, features: tuple[str, ...] | None) -> Output:
        """Return the shape and the names of a value."""


@dataclass(frozen=True)
class AttributeTarget(ModelTarget):
    """Attributes of the model, or of the last step of a pipeline; a dict of them unless it is one alone."""

    attributes: tuple[str, ...] = ()
    alone: bool = True

    def value(self, model: Any) -> Any:
        """Return the attribute, or the attributes by their names."""
        values = {name: attribute(model, name) for name in self.attributes}
        return values[self.attributes[0]] if self.alone else values

    def output(self, value: Any, model: Any, features: tuple[str, ...] | None) -> Output:
        """Return the same names as the columns and classes have."""
        entries = {self.attributes[0]: value} if self.alone else value
        shapes = tuple(np.shape(entry) for entry in entries.values())
        names = [
            label if self.alone and is_own else f"{name}[{label}]" if is_own else label
            for name, shape in zip(entries, shapes, strict=True)
            for label, is_own in _labels(name, shape, model, features)
        ]
        return Output(shapes, None if self.alone else self.attributes, tuple(names))


def attribute(model: Any, name: str) -> Any:
    """Return an attribute of a fitted model, or of the last step of a pipeline."""
    last = last_step(model)
    for owner in (model, last):
        if hasattr(owner, name):
            value = getattr(owner, name)
            _check_one_array(name, value)
            return value.toarray() if hasattr(value, "toarray") else value
    fitted = ", ".join(repr(one) for one in sorted(vars(last)) if one.endswith("_") and not one.startswith("_"))
    raise ArgumentError(
        f"`target` must be an attribute that `{type(last).__name__}` has after `fit`; got {name!r}, and it has "
        f"{fitted}."
    )


def _check_one_array(name: str, value: Any) -> None:
    """Raise for the attributes of networks that are one array for each layer."""
    if isinstance(value, list) and any(isinstance(part, np.ndarray) for part in value):
        raise ArgumentError(
            f"`target` must be a number or one array; {name!r} is a list of {len(value)} arrays. Choose one by a "
            f"function, `lambda model: model.{name}[0]`."
        )


def _labels(name: str, shape: tuple[int, ...], model: Any, features: tuple[str, ...] | None) -> list[tuple[str, bool]]:
    """Return a label for each number of an attribute, and whether it names a feature or class."""
    size = int(np.prod(shape))
    classes = [str(label) for label in getattr(model, "classes_", ())]
    if name == "coef_" and features is not None and size == len(features):
        return [(feature, True) for feature in features]
    if name == "coef_" and features is not None and size == len(features) * len(classes):
        return [(f"{label}, {feature}", True) for label in classes for feature in features]
    if name == "intercept_" and size == len(classes):
        return [(label, True) for label in classes]
    if size == 1:
        return [(name, False)]
    return [(f"{name}{list(index)}", False) for index in np.ndindex(shape)]


@dataclass(frozen=True)
class FunctionTarget(ModelTarget):
    """A user's function of the fitted model, and of the rows and their weights where it takes them."""

    function: Callable[..., Any]
    rows_taken: tuple[str, ...] = ()
    rows: TargetRows | None = None

    def at(self, rows: TargetRows) -> FunctionTarget:
        """Return the function with the rows of a resample."""
        return replace(self, rows=rows) if self.rows_taken else self

    def value(self, model: Any) -> Any:
        """Return what the function returns."""
        return self.function(model, **({} if self.rows is None else self.rows.arguments(self.rows_taken)))

    def output(self, value: Any, model: Any, features: tuple[str, ...] | None) -> Output:
        """Return the shape of its value."""
        name = function_name(self.function)
        return output_like(value, "target" if name == "statistic" else name)


@dataclass(frozen=True, eq=False)
class RowsTarget(ModelTarget):
    """Predictions at new rows: for a classifier probabilities, of the second class where there are two."""

    rows: Any

    def value(self, model: Any) -> Any:
        """Return the predictions, shape ``(m,)``, or ``(m, classes)`` for more than two classes."""
        if not _is_classifier(model):
            return np.asarray(model.predict(self.rows))
        if not hasattr(model, "predict_proba"):
            raise ArgumentError(
                f"`target` may be new rows for a classifier with `predict_proba`; `{type(model).__name__}` has none. "
                "Pass a function of the fitted model, such as `lambda model: model.decision_function(rows)`."
            )
        probabilities = np.asarray(model.predict_proba(self.rows))
        return probabilities[:, 1] if probabilities.shape[1] == 2 else probabilities

    def output(self, value: Any, model: Any, features: tuple[str, ...] | None) -> Output:
        """Return names that count the rows from zero, with the class where there are several."""
        if not _is_classifier(model):
            return output_like(value, "predict")
        if np.ndim(value) == 1:
            return output_like(value, "probability")
        labels = tuple(f"probability[{row}, {label}]" for row in range(len(value)) for label in model.classes_)
        return output_like(value, "probability", labels)

    def check(self, model: Any, columns: tuple[str, ...] | None) -> None:
        """Raise unless the rows have the columns that `model` was fitted to."""
        shape = np.shape(self.rows)
        expected = getattr(model, "n_features_in_", shape[-1])
        if len(shape) != 2 or shape[1] != expected or not shape[0]:
            hint = " For one row write `[[...]]`." if len(shape) == 1 else ""
            raise ArgumentError(
                f"`target` must be rows with the {expected} column(s) of X, shape (m, {expected}); got {shape}.{hint}"
            )
        own = getattr(self.rows, "columns", None)
        if own is not None and columns is not None and tuple(map(str, own)) != columns:
            raise ArgumentError(
                f"`target` must be rows with the columns of X, {', '.join(map(repr, columns))}, in this order; got "
                f"{', '.join(map(repr, map(str, own)))}. Select them, `rows[list(X.columns)]`."
            )


def _is_classifier(model: Any) -> bool:
    from sklearn.base import is_classifier

    return bool(is_classifier(model))


def target_of(target: Any) -> ModelTarget:
    """Return the argument `target` as one of the three kinds, or raise."""
    if isinstance(target, str):
        return AttributeTarget((target,), alone=True)
    if isinstance(target, (tuple, list)) and target and all(isinstance(name, str) for name in target):
        return AttributeTarget(tuple(target), alone=False)
    if isinstance(target, type) or target is None or (np.ndim(target) == 0 and not callable(target)):
        raise ArgumentError(
            '`target` must be the name of an attribute such as "coef_", a tuple of names, a function of the fitted '
            f"estimator, or new rows to predict at; got {target!r}."
        )
    if callable(target):
        return FunctionTarget(target, rows_taken(target))
    return RowsTarget(np.asarray(target) if isinstance(target, (tuple, list)) else target)


def target_on_data(target: ModelTarget, model: Any) -> Any:
    """Return the value on the fit to the data; a user's exceptions are raised as a `StatisticError`."""
    try:
        return target.value(model)
    except ArgumentError:
        raise
    except Exception as error:  # the user's function may raise anything
        kind = type(model).__name__
        raise StatisticError(
            f"`target` must return a value of the fitted `{kind}`; it raised {type(error).__name__}: "
            f"{first_line(error)}."
        ) from error
