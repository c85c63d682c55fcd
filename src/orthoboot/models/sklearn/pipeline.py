"""The steps of a scikit-learn pipeline: weights, and their part in the influence function."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.typing import FloatArray, IntArray

_LEARNS_NO_NUMBERS = frozenset({"PolynomialFeatures"})
"""Transformers whose fit counts columns and looks at no row, though it must be called."""

_COUNTS_NO_ROWS: dict[str, Callable[[Any], bool]] = {
    # With one or two rows a node is pure or splits as its copies do.
    "min_samples_leaf": lambda value: isinstance(value, int) and value <= 1,
    "min_samples_split": lambda value: isinstance(value, int) and value <= 2,
    "min_child_samples": lambda value: value is None or value <= 1,
    "bootstrap": lambda value: not value,
    "max_samples": lambda value: value is None,
    "subsample": lambda value: not isinstance(value, float) or value >= 1,
}
"""Options that count or draw rows regardless of `sample_weight`, and values for which they have no effect."""


def is_pipeline(estimator: Any) -> bool:
    """Return whether an estimator is a pipeline of steps."""
    from sklearn.pipeline import Pipeline

    return isinstance(estimator, Pipeline)


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline, or the estimator itself."""
    return estimator.steps[-1][1] if is_pipeline(estimator) else estimator


def transformers(estimator: Any) -> list[Any]:
    """Return the steps before the last one."""
    if not is_pipeline(estimator):
        return []
    return [step for _, step in estimator.steps[:-1] if step is not None and not isinstance(step, str)]


def with_last_step(estimator: Any, last: Any) -> Any:
    """Return an estimator whose last step is another one."""
    return _with_step(estimator, -1, last) if is_pipeline(estimator) else last


def _with_step(pipeline: Any, position: int, step: Any) -> Any:
    result = copy.copy(pipeline)
    result.steps = list(pipeline.steps)
    result.steps[position] = (pipeline.steps[position][0], step)
    return result


def transformed(model: Any, X: Any) -> FloatArray:
    """Return the columns that reach the last step of a fitted model, shape ``(n, d)``."""
    columns = model[:-1].transform(X) if is_pipeline(model) and len(model.steps) > 1 else X
    dense = columns.toarray() if hasattr(columns, "toarray") else columns
    return np.asarray(dense, dtype=np.float64)


def feature_names(model: Any) -> tuple[str, ...] | None:
    """Return the names of these columns, where they have any."""
    if not is_pipeline(model) or len(model.steps) == 1:
        names = getattr(last_step(model), "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))
    try:
        return tuple(map(str, model[:-1].get_feature_names_out()))
    except (AttributeError, ValueError):  # not every transformer can tell
        return None


def held_fixed(estimator: Any) -> list[str]:
    """Return the fitted transformers that the influence function holds fixed."""
    learning = [step for step in transformers(estimator) if not _learns_nothing(step)]
    entering = scaler_before_last(estimator)
    return [type(step).__name__ for step in learning if step is not entering]


def takes_weights(estimator: Any) -> bool:
    """Return whether `fit` takes weights that are equivalent to duplicated rows.

    A pipeline takes them only where every step does that learns from the rows: a scaling by the rows as they are is
    not that of the resample. Balanced class weights are computed from rows, not from weights, and so are the sizes of
    leaves: a leaf of five rows may have the weight of eight. For an estimator that splits the rows itself, as a search
    over parameters does, the copies of a row are then in one fold.
    """
    last = last_step(estimator)
    if str(getattr(last, "class_weight", "")).startswith("balanced") or counts_rows(estimator):
        return False
    return _has_weights(last) and transformers_take_weights(estimator)


def counts_rows(estimator: Any) -> bool:
    """Return whether an option of an estimator, or of a part of it, counts or draws rows, heavy or not."""
    options = estimator.get_params(deep=True).items()
    named = ((key.rpartition("__")[2], value) for key, value in options)
    return any(name in _COUNTS_NO_ROWS and not _COUNTS_NO_ROWS[name](value) for name, value in named)


def transformers_take_weights(estimator: Any) -> bool:
    """Return whether every step before the last one takes weights, or learns nothing from the rows."""
    return all(_has_weights(step) or _learns_nothing(step) for step in transformers(estimator))


def learns_nothing(estimator: Any) -> bool:
    """Return whether no step before the last one learns from the rows."""
    return all(_learns_nothing(step) for step in transformers(estimator))


def drawn_rows(resamples: Resamples, b: int, *, weighted: bool) -> tuple[IntArray, FloatArray]:
    """Return the rows that a fit to resample `b` gets, and their weights, which sum to the number of rows.

    With weights, rows of weight zero are left out: not every model ignores them. Without, rows repeat.
    """
    weights = resamples.weights[0][b]
    if not weighted:
        rows = resamples.indices(b)[0]
        return rows, np.ones(len(rows))
    rows = np.flatnonzero(weights)
    return rows, weights[rows] * (len(weights) / weights.sum())


def refitted_transformers(model: Any, data: Data, resamples: Resamples, random_states: Mapping[str, int]) -> Any:
    """Return a fitted pipeline with the steps before the last one refitted to a single resample.

    Of the random states, by their names in the whole pipeline, those of these steps are used.
    """
    from sklearn.base import clone

    weighted = transformers_take_weights(model)
    rows, weights = drawn_rows(resamples, 0, weighted=weighted)
    X, y = data.take((rows,))
    steps = clone(model[:-1])
    names = {name for name, _ in steps.steps}
    steps.set_params(**{key: state for key, state in random_states.items() if key.partition("__")[0] in names})
    steps.fit(X, np.asarray(y).reshape(-1), **(weight_arguments(steps, weights) if weighted else {}))
    result = copy.copy(model)
    result.steps = [*steps.steps, model.steps[-1]]
    return result


def weight_arguments(estimator: Any, weights: FloatArray) -> dict[str, FloatArray]:
    """Return the arguments of `fit` that pass the weights to every step that takes them."""
    if not is_pipeline(estimator):
        return {"sample_weight": weights}
    return {f"{name}__sample_weight": weights for name, step in estimator.steps if _has_weights(step)}


def _has_weights(step: Any) -> bool:
    from sklearn.utils.validation import has_fit_parameter

    return hasattr(step, "fit") and bool(has_fit_parameter(step, "sample_weight"))


def _learns_nothing(step: Any) -> bool:
    if type(step).__name__ in _LEARNS_NO_NUMBERS:
        return True
    tags = getattr(step, "__sklearn_tags__", None)
    return tags is not None and not tags().requires_fit


@dataclass(frozen=True, eq=False)
class Scaling:
    """The means and scales of a `StandardScaler` before the last step, as parameters estimated from the rows.

    What comes before it is held fixed.

    Attributes
    ----------
    state
        Its means, where it centres, and its scales, where it scales, shape ``(q,)``.
    influence
        Of the rows on the state, shape ``(n, q)``.
    changes
        For the means, where they are in the state, and for the scales: how the scaled columns change with them, each
        of shape ``(n, d)``.
    """

    state: FloatArray
    influence: FloatArray
    changes: tuple[FloatArray, ...]

    @staticmethod
    def of(model: Any, X: Any) -> Scaling | None:
        """Return the scaling of a fitted model, or None if it has none or an identity."""
        scaler = scaler_before_last(model)
        if scaler is None or not (scaler.with_mean or scaler.with_std):
            return None
        states, influences = [], []
        deviations = _before_scaling(model, X) - scaler.mean_
        if scaler.with_mean:
            states.append(scaler.mean_)
            influences.append(deviations)
        if scaler.with_std:
            # A constant column is divided by one, which does not vary.
            varies = np.where(scaler.var_ > 0, 1 / (2 * scaler.scale_), 0.0)
            states.append(scaler.scale_)
            influences.append((deviations**2 - scaler.var_) * varies)
        return Scaling(np.concatenate(states), np.hstack(influences), scaling_changes(model, X))

    def moved(self, model: Any, state: FloatArray) -> Any:
        """Return a copy of `model` with other means and scales."""
        scaler = copy.copy(scaler_before_last(model))
        parts = iter(np.split(state, len(self.changes)))
        if scaler.with_mean:
            scaler.mean_ = next(parts)
        if scaler.with_std:
            scaler.scale_ = next(parts)
        return _with_step(model, -2, scaler)


def scaling_changes(model: Any, X: Any) -> tuple[FloatArray, ...]:
    """Return how the scaled columns of any rows change with the means and scales that are in the state, each (n, d)."""
    scaler, rows = scaler_before_last(model), _before_scaling(model, X)
    scales = scaler.scale_ if scaler.with_std else np.ones(rows.shape[1])
    changes = []
    if scaler.with_mean:
        changes.append(np.broadcast_to(-1 / scales, rows.shape))
    if scaler.with_std:
        changes.append(-(rows - scaler.mean_ if scaler.with_mean else rows) / scales**2)
    return tuple(changes)


def _before_scaling(model: Any, X: Any) -> FloatArray:
    """Return the columns that reach the scaler before the last step, shape ``(n, d)``."""
    return np.asarray(model[:-2].transform(X) if len(model.steps) > 2 else X, dtype=np.float64)


def scaler_before_last(estimator: Any) -> Any:
    """Return the `StandardScaler` whose output the last step of a pipeline gets, or None."""
    if not is_pipeline(estimator) or len(estimator.steps) < 2:
        return None
    step = estimator.steps[-2][1]
    is_scaler = type(step).__name__ == "StandardScaler" and type(step).__module__.startswith("sklearn.")
    return step if is_scaler else None
