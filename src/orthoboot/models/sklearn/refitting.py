"""Fits of a scikit-learn estimator to the data, and to resamples with their own random states."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from orthoboot.models.sklearn.adapters import adapter_of
from orthoboot.models.sklearn.interface import ContinuedModel, RefittedModel
from orthoboot.models.sklearn.pipeline import last_step, takes_weights, transformers_take_weights, with_last_step
from orthoboot.models.sklearn.solution import Solution
from orthoboot.typing import FloatArray
from orthoboot.warning_scopes import recorded, show_again

_LARGEST_RANDOM_STATE = np.iinfo(np.int32).max
"""Of what scikit-learn itself draws for the parts of an estimator; some of them hold it in 32 bits with a sign."""


class SklearnFit(NamedTuple):
    """A fitted estimator, and whether scikit-learn says that it converged."""

    model: Any
    converged: bool


def fitted(
    estimator: Any, X: Any, y: Any, arguments: dict[str, FloatArray] | None = None, *, quiet: bool
) -> SklearnFit:
    """Fit the estimator itself and return it; unless `quiet`, show its warnings but those of convergence.

    `arguments` are those of `fit` beside the rows.
    """
    from sklearn.exceptions import ConvergenceWarning

    with recorded() as caught:
        estimator.fit(X, y, **(arguments or {}))
    others = [warning for warning in caught if not issubclass(warning.category, ConvergenceWarning)]
    if not quiet:
        show_again(others)
    return SklearnFit(estimator, converged=len(others) == len(caught))


def response_of(y: Any) -> Any:
    """Return the response as one column; text labels come as a frame of one."""
    return np.asarray(y).reshape(-1)


def takes_fractions(estimator: Any) -> bool:
    """Return whether refits take weights that are not whole numbers."""
    last = last_step(estimator)
    adapter = adapter_of(last)
    if isinstance(adapter, ContinuedModel):
        return adapter.takes_weights(last) and transformers_take_weights(estimator)
    return takes_weights(estimator)


def refitted_estimator(estimator: Any, solution: Solution | None) -> Any:
    """Return a copy of the estimator for resamples, with a warm start from the solution if possible."""
    from sklearn.base import clone

    if solution is None or not isinstance(solution.adapter, RefittedModel):
        # Without a polished solution a warm start would stop near where it started.
        return clone(estimator)
    last = tightened(solution.adapter, solution.model)
    starts_warm = solution.adapter.starts_warm(last)
    return with_last_step(clone(estimator), last.set_params(warm_start=True) if starts_warm else clone(last))


def tightened(adapter: RefittedModel, model: Any) -> Any:
    """Return a copy of the last step with a tolerance tight enough to decide which coefficients are zero."""
    return adapter.tightened(copy.deepcopy(last_step(model)))


_ONE_SOLUTION = frozenset(
    (
        *("RidgeClassifier", "LassoCV", "ElasticNetCV", "LogisticRegressionCV"),
        *("MultiTaskLasso", "MultiTaskElasticNet", "MultiTaskLassoCV", "MultiTaskElasticNetCV"),
    )
)
"""Of `sklearn.linear_model`, beside those with an adapter: on what their solvers draw the solution does not depend."""


def _has_one_solution(model: Any) -> bool:
    """Return whether a model has one solution, whatever its solver draws on the way there."""
    kind = type(model)
    if isinstance(adapter_of(model), RefittedModel):
        return True
    if not kind.__module__.startswith("sklearn.linear_model."):
        return False
    # The paths of Lars draw numbers only to jitter the response.
    return kind.__name__ in _ONE_SOLUTION or ("Lars" in kind.__name__ and model.get_params().get("jitter") is None)


def random_parameters(estimator: Any) -> list[str]:
    """Return the parameters ``random_state=None`` of an estimator and its parts, where fits vary with them.

    A part with one solution has that whatever its solver draws on the way there.
    """
    options = estimator.get_params(deep=True)
    return [
        key
        for key, value in options.items()
        if key.endswith("random_state")
        and value is None
        and not _has_one_solution(options.get(key.rpartition("__")[0], estimator))
    ]


def random_states(parameters: Sequence[str], seed: int) -> dict[str, int]:
    """Return an integer for each of the parameters, determined by `seed`."""
    numbers = np.random.SeedSequence(seed).generate_state(len(parameters)) % _LARGEST_RANDOM_STATE
    return dict(zip(parameters, numbers.tolist(), strict=True))
