"""Models of statsmodels as statistics: refitted on resamples, and shown beside statsmodels' own standard errors."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np

from orthoboot.data import Data, read
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import (
    ArgumentError,
    DataError,
    FitError,
    FitWarning,
    MissingDependencyError,
    OrthobootWarning,
    StatisticError,
    UnweightedRowsWarning,
    first_line,
)
from orthoboot.functionals.base import Covariance, Functional, Prepared
from orthoboot.functionals.differences import jacobian_by_differences
from orthoboot.functionals.evaluation import NO_FITS, Convergence, Evaluation, Failure
from orthoboot.functionals.output import Output, output_like
from orthoboot.functionals.regression.newton_surrogate import NewtonSurrogate
from orthoboot.functionals.surrogate import Outputs, Surrogate
from orthoboot.models.statsmodels.coefficients import READERS, is_of_statsmodels, not_covered, specification
from orthoboot.models.statsmodels.dependence import plan_options
from orthoboot.models.statsmodels.robust_steps import RobustSteps
from orthoboot.models.target_rows import (
    TargetRows,
    check_weights_count,
    direct_influence,
    direct_source,
    rows_taken,
    unweighted_rows,
)
from orthoboot.optimisation.distance import distance_in_errors
from orthoboot.result import Result
from orthoboot.typing import FloatArray, Influence

_NOTED_DISTANCE, _REFUSED_DISTANCE = 1e-3, 0.1
"""From statsmodels' fit to ours, in standard errors: where the user hears of it, and where it is another model."""
_LISTED = 6


@dataclass(frozen=True, eq=False)
class StatsmodelsTarget:
    """A target: a function of the coefficients, evaluated one point at a time.

    Attributes
    ----------
    function
        Takes the coefficients ``(p,)`` and returns a number, an array, or a dict of these; one of the user's may take
        the rows and their weights too.
    output
        The shape and the names of what it returns.
    """

    function: Callable[[FloatArray], Any]
    output: Output

    def at(self, rows: TargetRows) -> StatsmodelsTarget:
        """Return the target at a resample; the same where it is a function of the coefficients alone."""
        if not isinstance(self.function, NamedParameters) or not self.function.rows_taken:
            return self
        return replace(self, function=replace(self.function, rows=rows))

    def value(self, points: FloatArray) -> FloatArray:
        """Return its numbers at points in the columns of ``(p, ...)``, as ``(k, ...)``."""
        columns = points.reshape(len(points), -1).T
        values = np.stack([self.output.flatten(self.function(point)) for point in columns], axis=1)
        return values.reshape(-1, *points.shape[1:])


@dataclass(frozen=True, eq=False)
class StatsmodelsFit(Functional):
    """A model fitted by statsmodels; see `from_statsmodels`.

    Attributes
    ----------
    result
        The result of statsmodels; None after unpickling, because no replicate needs it and a formula in it may not be
        readable there.
    data
        ``(X, y)``, or ``(X, y, weights)``: what to pass to `bootstrap`, with ``paired=True``.
    coefficients
        The statistic that refits the model.
    target
        A function of the coefficients, new rows to predict, or None.
    name
        That of the model's class.
    """

    result: Any = field(repr=False)
    data: tuple[Any, ...] = field(repr=False)
    coefficients: Functional
    target: Any = None
    name: str = "statsmodels"
    paired = True

    def __post_init__(self) -> None:
        _ = self.target_function  # raises now if the target cannot be evaluated

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, with what is needed from statsmodels' result instead of the result."""
        kept = {"target_function": self.target_function, "dependence": self.dependence}
        return {**vars(self), "distance": self.distance, **kept, "result": None}

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the coefficients."""
        return tuple(map(str, self.data[0].columns))

    @property
    def batched(self) -> bool:  # type: ignore[override]
        """Return whether the refits are faster many at once."""
        return self.coefficients.batched

    @property
    def releases_gil(self) -> bool:  # type: ignore[override]
        """Return whether the refits run in compiled code; those by statsmodels do not."""
        return self.coefficients.releases_gil

    def at(self, data: Data) -> PreparedStatsmodelsFit:
        """Return the model at `data`, not checked yet."""
        return PreparedStatsmodelsFit(self, data)

    @cached_property
    def dependence(self) -> dict[str, Any] | ArgumentError:
        """Return the options of a plan that suits the `cov_type` of the fit, or why there are none."""
        try:
            return plan_options(self.result)
        except ArgumentError as error:
            return error

    def plan_options(self, data: Data) -> dict[str, Any]:
        """Return the groups of a fit with clustered standard errors; raise for other kinds of dependent rows."""
        if isinstance(self.dependence, ArgumentError):
            raise self.dependence
        groups = self.dependence.get("groups")
        if groups is not None and len(groups) != data.sizes[0]:
            raise ArgumentError(
                f"`{self.name}` was fitted with clustered standard errors to {len(groups)} rows; got "
                f"{data.sizes[0]}. Pass the labels of these rows, `groups=`."
            )
        return self.dependence

    def compared(self, result: Result) -> Any:
        """Return a frame that compares the standard errors of `result` with those of statsmodels.

        Its columns are `estimate`, `standard_error`, `simulation_error` (of the standard error, over seeds),
        `nonrobust` and `HC0`, and the `cov_type` of the fit, such as "cluster", if it is another. The last three come
        from statsmodels' covariances of the coefficients, by the delta method if there is a `target`. For RLM `HC0` is
        NaN, because statsmodels does not provide it, and `nonrobust` is the covariance that the fit used.

        Parameters
        ----------
        result
            The result of `bootstrap` for this model and its data.
        """
        import pandas as pd

        if not isinstance(result, Result) or result.run.functional is not self:
            raise ArgumentError(
                "`compared` takes a result of this model, `bootstrap(model.data, model, paired=True)`; got "
                f"{'that of another statistic' if isinstance(result, Result) else type(result).__name__}."
            )
        if self.result is None:
            raise ArgumentError(
                "`compared` needs the result of statsmodels, which is not pickled with a model. Make the model again "
                "with `from_statsmodels(result)`."
            )
        ours, at = result.to_frame(), result.run.prepared
        assert isinstance(at, PreparedStatsmodelsFit)
        jacobian = at.jacobian
        columns = {
            "estimate": ours["estimate"],
            "standard_error": ours["standard_error"],
            "simulation_error": ours["standard_error_simulation_error"],
            "nonrobust": _standard_errors(jacobian, _model_covariance(self.result)),
            "HC0": _standard_errors(jacobian, _robust_covariance(self.result)),
        }
        own = getattr(self.result, "cov_type", "nonrobust")
        if own not in columns and type(self.result.model).__name__ != "RLM":
            columns[own] = _standard_errors(jacobian, np.asarray(self.result.cov_params()))
        return pd.DataFrame(columns, index=ours.index).rename_axis(None)

    @cached_property
    def distance(self) -> float:
        """Return the largest distance of statsmodels' coefficients from ours, in standard errors."""
        at = self.at(read(self.data, paired=True))
        at.check()
        influence = at.coefficients.influence()
        assert influence is not None
        return distance_in_errors(at.coefficients.estimate - np.asarray(self.result.params), influence[0])

    @cached_property
    def target_function(self) -> StatsmodelsTarget | None:
        """Return the target as a function of the coefficients, evaluated once at statsmodels' fit."""
        return None if self.target is None else _target_of(self.result, self.target, self.data)


@dataclass(frozen=True, eq=False)
class PreparedStatsmodelsFit(Prepared[StatsmodelsFit]):
    """A model of statsmodels at its data."""

    @cached_property
    def coefficients(self) -> Prepared[Any]:
        """Return the statistic that refits the model, at the data."""
        return self.functional.coefficients.at(self.data)

    @property
    def work(self) -> float | None:
        """Return how many rows added up cost as much as one refit; None with a target of the user's."""
        return None if callable(self.functional.target) else self.coefficients.work

    @property
    def influence_source(self) -> str:
        """Return where the influence of the coefficients comes from, and that of the target from them."""
        target = self.functional.target
        rule = "" if target is None else ", chain rule for `target`"
        direct = direct_source(self.data.sizes[0]) if callable(target) and rows_taken(target) else ""
        return self.coefficients.influence_source + rule + direct

    def check(self) -> None:
        """Raise unless the data have the columns that the model was fitted to."""
        _check_tables(self.functional, self.data)
        self.coefficients.check()
        target, point = self.functional.target_function, self.coefficients.estimate
        if target is not None and target.at(self.target_rows) is not target:
            check_weights_count(
                lambda rows: target.at(rows).function(point), target.output, self.target_rows, self.data
            )

    @property
    def output(self) -> Output:
        """Return the names of the coefficients, or what the target returns."""
        if self.functional.target_function is not None:
            return self.functional.target_function.output
        names = self.functional.names
        return output_like(np.zeros(len(names)), self.functional.name, names)

    def values(self, resamples: Resamples) -> FloatArray:
        """Return the target at the coefficients of each resample, shape ``(B, k)``."""
        coefficients, target = self.coefficients.values(resamples), self.functional.target_function
        if target is None:
            return coefficients
        rows = map(self.target_rows.weighted, resamples.weights[0])
        return np.stack([target.at(own).value(point) for point, own in zip(coefficients, rows, strict=True)])

    def evaluate(self, resamples: Resamples) -> Evaluation:
        """Return the target on each resample or why there is none; refits that can be are made together."""
        refits, target = self.coefficients.evaluate(resamples), self.functional.target_function
        if target is None:
            return refits
        values = np.full((len(refits), self.output.size), np.nan)
        failures = list(refits.failures)
        for b, weights in enumerate(resamples.weights[0]):
            if failures[b] is None:
                try:
                    values[b] = target.at(self.target_rows.weighted(weights)).value(refits.values[b])
                except Exception as error:  # the target may be a function of the user's, which may raise anything
                    failures[b] = Failure.of(error)
        return Evaluation.of(values, failures, refits.converged)

    @cached_property
    def surrogate(self) -> Surrogate | None:
        """Return that of the coefficients, with the means that they predict; None for a function of the user's."""
        of_coefficients, target = self.coefficients.surrogate, self.functional.target_function
        if target is None:
            return of_coefficients
        means = target.function
        if not isinstance(of_coefficients, NewtonSurrogate | RobustSteps) or not isinstance(means, PredictedMeans):
            return None
        return replace(of_coefficients, outputs=PredictedOutputs(of_coefficients.outputs, means))

    def influence(self) -> Influence | None:
        """Return the influence of the coefficients, times the derivative of the target by them."""
        influence, target = self.coefficients.influence(), self.functional.target_function
        if target is None or influence is None:
            return influence
        return (influence[0] @ self.jacobian.T + self._direct_influence(target),)

    def _direct_influence(self, target: StatsmodelsTarget) -> FloatArray | float:
        """Return the influence of the rows on a target that takes their weights, at the same coefficients."""
        rows, point = self.target_rows, self.coefficients.estimate
        if target.at(rows) is target:
            return 0.0
        return direct_influence(lambda weights: target.at(rows.weighted(weights)).value(point), self.data.sizes[0])

    @cached_property
    def target_rows(self) -> TargetRows:
        """Return the rows that a target may take, each once."""
        X, y = self.data.containers[:2]
        return TargetRows(X, y, np.ones(self.data.sizes[0]))

    @property
    def bias_is_cheap(self) -> bool:
        """Return whether the bias of second order costs less than a few refits."""
        return self.coefficients.bias_is_cheap

    def second_order_bias(self, covariance: Covariance) -> FloatArray | None:
        """Return the bias of the coefficients if it is known; None for a target."""
        return self.coefficients.second_order_bias(covariance) if self.functional.target is None else None

    def findings(self, convergence: Convergence = NO_FITS) -> tuple[OrthobootWarning, ...]:
        """Return the warnings about the columns, and one if statsmodels stopped short of the solution."""
        found = (*self.coefficients.findings(convergence), *self._about_target())
        distance = self.functional.distance
        if distance <= _NOTED_DISTANCE:
            return found
        warning = FitWarning(
            f"statsmodels' fit of `{self.functional.name}` is {distance:.2g} standard errors from the solution, which "
            "is the estimate here. Fit it with a smaller `tol`, or more iterations."
        )
        return (*found, warning)

    def _about_target(self) -> list[UnweightedRowsWarning]:
        function = getattr(self.functional.target_function, "function", None)
        if not isinstance(function, NamedParameters) or function.rows_taken:
            return []
        return unweighted_rows(function.function, self.data.sizes[0])

    @cached_property
    def jacobian(self) -> FloatArray:
        """Return the derivative of the target by the coefficients, shape ``(k, p)``."""
        influence, target = self.coefficients.influence(), self.functional.target_function
        if target is None or influence is None:
            return np.eye(len(self.functional.names))
        point, n_rows = self.coefficients.estimate, self.data.sizes[0]
        jacobian = jacobian_by_differences(target.at(self.target_rows).value, point, influence[0].std(axis=0), n_rows)
        if not np.isfinite(jacobian).all():
            raise StatisticError(
                "`target` must be differentiable at the fit; its derivative is NaN or infinite there. Choose a smooth "
                "function of the parameters."
            )
        return jacobian


def _check_tables(model: StatsmodelsFit, data: Data) -> None:
    """Raise unless the data have the arrays and columns of the model."""
    if len(data.sizes) > 1 or len(data.tables) != len(model.data):
        expected = "`(X, y)`" if len(model.data) == 2 else "`(X, y, weights)`"
        raise DataError(
            f"`{model.name}` was fitted to {expected}, whose rows are drawn together; got {len(data.tables)} "
            f"array(s) in {len(data.sizes)} sample(s). Pass `model.data` with `paired=True`."
        )
    columns, shape = data.columns[0], data.arrays[0].shape
    if shape[1:] != (len(model.names),) or (columns is not None and columns != model.names):
        got = _listed(columns) if columns is not None else f"shape {shape}"
        raise DataError(
            f"`{model.name}` was fitted to the {len(model.names)} columns {_listed(model.names)}; got {got}. Pass "
            "`model.data`, which a formula has turned into these columns already."
        )


def from_statsmodels(result: Any, target: Any = None) -> StatsmodelsFit:
    """Return the coefficients of a statsmodels model, or a function of them, as a statistic that holds its data.

    Least squares, generalised linear models and robust regressions are refitted with weights on the rows, starting from
    the fit of all rows. The influence function is exact, except that it holds the scale of RLM fixed, which the refits
    estimate. The covariance of the infinitesimal jackknife is statsmodels' HC0.

    For a fit with ``cov_type="cluster"``, `bootstrap` draws whole groups by default. For "HAC", "hac-panel" or
    "hac-groupsum" it requires a `block_length` or `groups`.

    Parameters
    ----------
    result
        The result of `fit` for OLS, WLS, GLM (any family and link), Logit, Probit, Poisson or RLM; or such a model,
        which is then fitted with its defaults. Rows that a formula dropped for missing values are not in the data.
    target
        None for all coefficients; a function of them, which takes a pandas series with their names and returns a
        number, an array, a series, or a dict of these; or new rows, as for ``result.predict``, whose means are
        predicted. A function with the signature ``target(params, X, y, weights)`` also gets the model's columns, the
        response and the weights of the resample, which an average marginal effect needs.

    Returns
    -------
    StatsmodelsFit
        Call ``bootstrap(model.data, model, paired=True)``, then ``model.compared(result)`` with its result.

    Examples
    --------
    >>> import numpy as np
    >>> import orthoboot as ob
    >>> import statsmodels.api as sm
    >>> x = np.arange(20.0)
    >>> model = ob.from_statsmodels(sm.OLS(x**2, sm.add_constant(x)))
    >>> result = ob.bootstrap(model.data, model, paired=True, rng=0)
    >>> dict(zip(result.names, result.estimate.round(6).tolist()))
    {'const': -57.0, 'x1': 19.0}
    >>> list(model.compared(result).columns)
    ['estimate', 'standard_error', 'simulation_error', 'nonrobust', 'HC0']
    """
    fitted = _fitted(result)
    _check_plain(fitted)
    specified = specification(fitted)
    model = StatsmodelsFit(fitted, specified.data, specified.coefficients, target, type(fitted.model).__name__)
    if model.distance > _REFUSED_DISTANCE:
        raise ArgumentError(
            f"`result` must be the fit of {model.name} without penalty or constraint, to convergence; its coefficients "
            f"are {model.distance:.2g} standard errors from that. Fit it again, with more iterations if it did not "
            "converge."
        )
    return model


def _fitted(result: Any) -> Any:
    """Return an unwrapped result, or the fit of a model; raise for anything else."""
    unwrapped = getattr(result, "_results", result)
    if not any(is_of_statsmodels(kind) for kind in type(unwrapped).__mro__):
        raise _foreign(result)
    if not hasattr(unwrapped, "model"):
        unwrapped = _default_fit(unwrapped)
    if getattr(unwrapped.model, "exog", None) is None:
        raise ArgumentError("`result` must still hold its data; `remove_data()` removed them. Fit it again.")
    return unwrapped


def _foreign(result: Any) -> Exception:
    if find_spec("statsmodels") is None:
        return MissingDependencyError(
            'statsmodels is not installed. Install it with `pip install "orthoboot[statsmodels]"`.'
        )
    advice = "Pass what `fit()` returned."
    if callable(result):
        advice = "A function of the data goes to `bootstrap` as it is."
    elif hasattr(result, "get_params"):
        advice = "For an estimator of scikit-learn use `from_sklearn`."
    return ArgumentError(f"`result` must be a fitted model of statsmodels; got {type(result).__name__}. {advice}")


def _default_fit(model: Any) -> Any:
    """Return the fit of a model with its defaults; only those that are covered, since others may take long."""
    name = type(model).__name__
    if name not in READERS or not hasattr(model, "fit"):
        raise not_covered(type(model))
    # Discrete models print how the search went, unless told not to.
    options = {"disp": 0} if name in ("Logit", "Probit", "Poisson") else {}
    try:
        return model.fit(**options)._results
    except Exception as error:  # statsmodels may refuse data in any way
        raise FitError(
            f"statsmodels could not fit `{name}` with its defaults: {type(error).__name__}: {first_line(error)}. Fit "
            "it yourself, and pass what `fit()` returned."
        ) from error


def _check_plain(result: Any) -> None:
    """Raise for a fit that does not maximise its likelihood over all coefficients."""
    name = type(result).__name__
    if "Regularized" in name or name.startswith("L1"):
        raise ArgumentError(
            "`from_statsmodels` takes fits without a penalty, since statsmodels keeps neither the penalty nor its "
            f"derivative; got {name} of `fit_regularized`. Use `fit`, or `m_estimator` with a `penalty`."
        )
    if getattr(result, "constraints", None) is not None:
        raise ArgumentError(
            "`from_statsmodels` takes fits without constraints; got one of `fit_constrained`. Put the constraint into "
            "the columns: for b1 = b2 add the two up, for b1 = 0 leave it out."
        )


def _target_of(result: Any, target: Any, data: tuple[Any, ...]) -> StatsmodelsTarget:
    """Return the target, evaluated once at statsmodels' fit."""
    if callable(target):
        return _called_target(result, target, TargetRows(data[0], data[1], np.ones(len(data[0]))))
    return _predicted_target(result, target)


@dataclass(frozen=True, eq=False)
class NamedParameters:
    """A user's function, called with the parameters as a named series."""

    function: Callable[..., Any]
    names: tuple[str, ...]
    rows_taken: tuple[str, ...] = ()
    rows: TargetRows | None = None

    def __call__(self, parameters: FloatArray) -> Any:
        """Return its value at parameters ``(p,)``."""
        import pandas as pd

        rows = {} if self.rows is None else self.rows.arguments(self.rows_taken)
        return self.function(pd.Series(parameters, index=list(self.names)), **rows)


@dataclass(frozen=True, eq=False)
class PredictedMeans:
    """The means of new rows, as the model of statsmodels predicts them.

    Attributes
    ----------
    model
        The model of statsmodels; pickled without its rows and its formula, which predictions do not need.
    columns
        The new rows, shape ``(m, p)``.
    """

    model: Any
    columns: FloatArray

    def __call__(self, parameters: FloatArray) -> Any:
        """Return them for parameters ``(p,)``."""
        return self.model.predict(parameters, self.columns)

    def __getstate__(self) -> dict[str, Any]:
        """Return the new rows, and the model without its own."""
        model = copy.copy(self.model)
        for name in ("data", *model._data_attr):  # the arrays that statsmodels' own `remove_data` takes out
            vars(model).pop(name, None)
        return {"model": model, "columns": self.columns}


@dataclass(frozen=True, eq=False)
class PredictedOutputs:
    """Predicted means as outputs of a surrogate, from the coefficients that it has."""

    coefficients: Outputs
    means: PredictedMeans

    def __call__(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the means of the new rows, shape ``(B, m)``."""
        return np.array([self.means(point) for point in self.coefficients(theta, weights)])


def _called_target(result: Any, target: Callable[..., Any], rows: TargetRows) -> StatsmodelsTarget:
    names = tuple(map(str, result.model.exog_names))
    function = NamedParameters(target, names, rows_taken(target))
    try:
        example = replace(function, rows=rows)(np.asarray(result.params))
    except Exception as error:  # the user's function may raise anything
        raise StatisticError(
            f"`target` must return a value for the parameters, a series with the names {_listed(names)}; it raised "
            f"{type(error).__name__}: {str(error).rstrip('.')}."
        ) from error
    name = getattr(target, "__name__", "<lambda>")
    return StatsmodelsTarget(function, output_like(example, "target" if name == "<lambda>" else name))


def _predicted_target(result: Any, rows: Any) -> StatsmodelsTarget:
    """Return the predicted means of new rows, as `result.predict` gives them."""
    model, names = result.model, list(map(str, result.model.exog_names))
    try:
        # The one place where statsmodels turns rows into columns of a formula without predicting right away.
        columns, index = result._transform_predict_exog(rows)
        columns = np.asarray(columns, dtype=np.float64)
    except Exception as error:  # of patsy, formulaic, pandas or numpy
        raise ArgumentError(
            f"`target` must be a function or rows that `result.predict` takes; it raised {type(error).__name__}: "
            f"{str(error).rstrip('.')}."
        ) from error
    if columns.ndim != 2 or columns.shape[1] != len(names) or not np.isfinite(columns).all():
        raise ArgumentError(
            f"`target` must hold rows with the {len(names)} columns {_listed(names)}, all finite; got shape "
            f"{columns.shape}."
        )
    labels = tuple(f"prediction[{label}]" for label in (range(len(columns)) if index is None else index))
    return StatsmodelsTarget(PredictedMeans(model, columns), output_like(np.zeros(len(columns)), "prediction", labels))


def _listed(names: Any) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(map(repr, list(names)[:_LISTED])) + more


def _standard_errors(jacobian: FloatArray, covariance: FloatArray) -> FloatArray:
    variances: FloatArray = np.einsum("kp,pq,kq->k", jacobian, covariance, jacobian)
    return np.sqrt(variances)


def _model_covariance(result: Any) -> FloatArray:
    """Return the model-based covariance, even if the fit used another `cov_type`."""
    if type(result.model).__name__ == "RLM":
        return np.asarray(result.cov_params())
    return np.asarray(result.normalized_cov_params) * float(result.scale)


def _robust_covariance(result: Any) -> FloatArray:
    """Return statsmodels' HC0, as `fit(cov_type="HC0")` has it."""
    if type(result.model).__name__ == "RLM":
        return np.full((len(result.params),) * 2, np.nan)
    from statsmodels.stats.sandwich_covariance import cov_white_simple

    covariance: FloatArray = np.asarray(cov_white_simple(result, use_correction=False))
    return covariance
