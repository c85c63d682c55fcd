"""The data of a statsmodels model, and the statistic of its coefficients."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import ArgumentError, FitError
from orthoboot.functionals.base import Functional
from orthoboot.functionals.regression.families import FAMILIES
from orthoboot.functionals.regression.generalized_linear import Glm
from orthoboot.functionals.regression.linear import CatalogueRegression, LinearRegression, PreparedRegression
from orthoboot.models.statsmodels.robust_regression import RobustRegression
from orthoboot.models.statsmodels.robust_scales import FixedScale, HuberScale, MedianScale, Scale
from orthoboot.typing import FloatArray, Influence
from orthoboot.warning_scopes import silenced

_FAMILIES = {
    "Gaussian": "gaussian",
    "Poisson": "poisson",
    "Gamma": "gamma",
    "Binomial": "binomial",
    "InverseGaussian": "inverse_gaussian",
}
_LINKS = {
    "Identity": "identity",
    "Log": "log",
    "InversePower": "inverse",
    "InverseSquared": "inverse_squared",
    "Logit": "logit",
    "Probit": "probit",
    "CLogLog": "cloglog",
}
"""Classes of statsmodels that the catalogue has too, by its names for them."""

_TOLERANCE = 1e-11
_MAX_ITERATIONS = 100
_SAME_SCALE = 1e-3
"""A scale that is farther than this share from its own rule was not estimated together with the coefficients."""


@dataclass(frozen=True)
class Specification:
    """A model as it was fitted.

    Attributes
    ----------
    coefficients
        The statistic that refits them.
    data
        X as a frame with the model's names and y, and case weights where there are any.
    """

    coefficients: Functional
    data: tuple[Any, ...]


def specification(result: Any) -> Specification:
    """Return the specification of a fitted model; raise an `ArgumentError` if its kind is not supported."""
    model = result.model
    kind = type(model)
    reader = READERS.get(kind.__name__) if is_of_statsmodels(kind) else None
    if reader is None:
        raise not_covered(kind)
    return reader(result)


def not_covered(kind: type) -> ArgumentError:
    """Return the error for a class of models that is not covered."""
    return ArgumentError(
        f"`from_statsmodels` covers {', '.join(READERS)}, fitted or not; got {kind.__name__}. For another model write "
        "a function `def coefficients(X, y): return Model(y, X).fit().params` and pass it as the statistic: "
        "`bootstrap((X, y), coefficients, paired=True)`."
    )


def is_of_statsmodels(kind: type) -> bool:
    """Return whether statsmodels itself defines a class."""
    return kind.__module__.partition(".")[0] == "statsmodels"


def _linear(result: Any) -> Specification:
    model = result.model
    return Specification(LinearRegression(), _arrays(model, model.endog, np.asarray(model.weights)))


def _discrete(family: str, link: str) -> Callable[[Any], Specification]:
    """Return the reader of a discrete model, which is a generalised linear model under another name."""

    def specified(result: Any) -> Specification:
        model = result.model
        response, weights = _without_offset(model, family, link)
        return Specification(Glm(family, link, name=type(model).__name__), _arrays(model, response, weights))

    return specified


def _generalized(result: Any) -> Specification:
    model = result.model
    family, link = _FAMILIES.get(_own_name(model.family)), _LINKS.get(_own_name(model.family.link))
    response, exposures = _without_offset(model, family, link)
    case_weights = exposures * model.n_trials * model.var_weights
    data = _arrays(model, response, case_weights, repetitions(model))
    if family is not None and link in FAMILIES[family].links:
        return Specification(Glm(family, link, name="GLM"), data)
    return Specification(StatsmodelsGlm(model.family, np.array(result.params)), data)


def _robust(result: Any) -> Specification:
    model, scale = result.model, _scale(result)
    _check_scale(result, scale)
    coefficients = RobustRegression(model.M, scale, np.array(result.params), float(result.scale))
    return Specification(coefficients, _arrays(model, model.endog))


def _check_scale(result: Any, scale: Scale) -> None:
    """Raise unless a positive scale agrees with the rule that estimates it."""
    if not result.scale > 0:
        return
    updated = scale.updated(np.asarray(result.resid), np.ones(len(result.resid)), result.scale)
    if abs(updated - result.scale) > _SAME_SCALE * result.scale:
        raise ArgumentError(
            "`from_statsmodels` takes an RLM whose scale was estimated together with its coefficients, or given; got "
            f"a scale of {result.scale:.6g} where its residuals have {updated:.6g}. Fit it with update_scale=True and "
            "enough iterations, or pass both `start_scale` and update_scale=False."
        )


READERS: dict[str, Callable[[Any], Specification]] = {
    "OLS": _linear,
    "WLS": _linear,
    "GLM": _generalized,
    "Logit": _discrete("binomial", "logit"),
    "Probit": _discrete("binomial", "probit"),
    "Poisson": _discrete("poisson", "log"),
    "RLM": _robust,
}
"""How each kind of model is read, by the name of its class."""


def _own_name(part: Any) -> str:
    """Return the name of the class of a family or link, none for one that the user wrote."""
    return type(part).__name__ if is_of_statsmodels(type(part)) else ""


def _arrays(
    model: Any, response: FloatArray, case_weights: FloatArray | None = None, repetitions: FloatArray | None = None
) -> tuple[Any, ...]:
    """Return X and y as a frame and a series with the model's names, and weights unless all are one."""
    import pandas as pd

    columns = pd.DataFrame(model.exog, columns=model.exog_names)
    arrays: list[Any] = [columns, pd.Series(response, name=_response_name(model))]
    if case_weights is not None and np.any(case_weights != 1):
        arrays.append(pd.Series(np.broadcast_to(case_weights, len(response)), name="weights"))
    if repetitions is None:
        return tuple(arrays)
    rows = np.repeat(np.arange(len(response)), repetitions.astype(np.int64))
    return tuple(array.iloc[rows].reset_index(drop=True) for array in arrays)


def _response_name(model: Any) -> str:
    # Successes and failures have a name each, and are a proportion here.
    return model.endog_names if isinstance(model.endog_names, str) else "proportion"


def repetitions(model: Any) -> FloatArray | None:
    """Return how often each row was observed, or None if once."""
    frequencies = np.asarray(model.freq_weights, dtype=np.float64)
    if np.all(frequencies == 1):
        return None
    if np.any(frequencies != np.round(frequencies)):
        raise ArgumentError(
            "`freq_weights` must be whole numbers, how often each row was observed, since observations are resampled; "
            f"got {frequencies[np.argmax(frequencies != np.round(frequencies))]:g}. Pass other weights of rows as "
            "`var_weights`."
        )
    return frequencies


def _without_offset(model: Any, family: str | None, link: str | None) -> tuple[FloatArray, FloatArray]:
    """Return the response and case weights of the same fit without an offset or exposure, where there is one.

    Counts y of mean ``e exp(x'b)`` have the likelihood of rates ``y / e`` that count with the weight e.
    """
    response = np.asarray(model.endog, dtype=np.float64)
    # Both kinds of models keep the logarithm of the exposure.
    given = (getattr(model, "offset", None), getattr(model, "exposure", None))
    offset = np.sum([np.broadcast_to(part, len(response)) for part in given if part is not None], axis=0)
    if not np.any(offset):
        return response, np.ones(len(response))
    if (family, link) != ("poisson", "log"):
        raise ArgumentError(
            f"`from_statsmodels` handles an offset or exposure for Poisson models with the log link; got one in "
            f"{type(model).__name__}. Write a function of `(X, y, offset)` that fits the model and returns its params, "
            "and pass `bootstrap((X, y, offset), function, paired=True)`."
        )
    exposures = np.exp(offset)
    return response / exposures, exposures


def _scale(result: Any) -> Scale:
    """Return how the scale of a robust regression was estimated."""
    rule = result.fit_options["scale_est"]
    if rule == "mad":
        return MedianScale()
    if rule == "fixed":
        return FixedScale()
    if is_of_statsmodels(type(rule)) and type(rule).__name__ == "HuberScale":
        return HuberScale(float(rule.d), float(result.model.df_resid / result.model.nobs))
    raise ArgumentError(
        f'`from_statsmodels` covers RLM with scale_est="mad", with HuberScale, or with a fixed scale; got {rule!r}. '
        "Fit it with one of these."
    )


@dataclass(frozen=True, eq=False)
class StatsmodelsGlm(CatalogueRegression):
    r"""The coefficients of a family or link that statsmodels knows and the catalogue does not, fitted by statsmodels.

    .. math:: I_j = -n H^{-1} s_j,

    s the scores of the rows and H the observed Hessian of the log-likelihood, both statsmodels' own.

    Parameters
    ----------
    family
        A family of statsmodels, with its link.
    start
        Where its iterations start, shape ``(d,)``.
    """

    family: Any
    start: FloatArray = field(repr=False)
    intercept: bool = False
    name: str = "GLM"
    batched = False
    releases_gil = False

    def at(self, data: Data) -> StatsmodelsGlmFit:
        """Return the model at `data`, not checked yet."""
        return StatsmodelsGlmFit(self, data)


@dataclass(frozen=True, eq=False)
class StatsmodelsGlmFit(PreparedRegression[StatsmodelsGlm]):
    """A generalised linear model fitted by statsmodels, at its data."""

    @property
    def influence_source(self) -> str:
        """Return the source of the derivatives."""
        return f"scores and Hessian of `{self.functional.name}` by statsmodels"

    def values(self, resamples: Resamples) -> FloatArray:
        """Return the coefficients on each resample, shape ``(B, d)``."""
        return np.array([self._fitted(weights, self.fit) for weights in resamples.weights[0]])

    def influence(self) -> Influence:
        """Return ``-n H^-1 s_j`` for every row."""
        model = self._model(self.rows.case_weights)
        scores = model.score_obs(self.fit, scale=1.0)
        hessian = model.hessian(self.fit, scale=1.0, observed=True)
        influence: FloatArray = -len(scores) * np.linalg.solve(hessian, scores.T).T
        return (influence - influence.mean(axis=0),)

    @cached_property
    def fit(self) -> FloatArray:
        """Return the coefficients of all rows, shape ``(d,)``."""
        return self._fitted(np.ones(self.data.sizes[0]), self.functional.start)

    def _fitted(self, weights: FloatArray, start: FloatArray) -> FloatArray:
        model = self._model(self.rows.case_weights * weights)
        with silenced():  # whether it converged is looked at
            result = model.fit(
                start_params=start,
                maxiter=_MAX_ITERATIONS,
                tol_criterion="params",
                rtol=_TOLERANCE,
                atol=_TOLERANCE * np.abs(start).max(),
            )
        if not result.converged:
            name = self.functional.name
            raise FitError(f"`{name}` did not converge in {_MAX_ITERATIONS} steps of reweighted least squares")
        coefficients: FloatArray = np.asarray(result.params, dtype=np.float64)
        return coefficients

    def _model(self, weights: FloatArray) -> Any:
        """Return the model of statsmodels for the rows of positive weight; the family is copied, since it has state."""
        from statsmodels.genmod.generalized_linear_model import GLM

        rows, kept, family = self.rows, weights > 0, copy.deepcopy(self.functional.family)
        with silenced():  # of the choice of the link the user has been told
            return GLM(rows.response[kept], rows.X[kept], family=family, freq_weights=weights[kept])
