"""Models of scikit-learn as statistics: refitted on resamples, with their influence functions where they are known."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import (
    ArgumentError,
    FitError,
    FitWarning,
    InfluenceError,
    MissingDependencyError,
    OrthobootWarning,
    StatisticError,
)
from orthoboot.functionals.base import Functional
from orthoboot.functionals.feature_means import once_per_data
from orthoboot.functionals.output import Output
from orthoboot.models.fitting import FitCount
from orthoboot.models.sklearn.adapters import adapter_of, is_settled
from orthoboot.models.sklearn.arguments import check_estimator, check_tables
from orthoboot.models.sklearn.interface import Adapter
from orthoboot.models.sklearn.pipeline import (
    drawn_rows,
    feature_names,
    held_fixed,
    last_step,
    takes_weights,
    transformers_take_weights,
    weight_arguments,
    with_last_step,
)
from orthoboot.models.sklearn.solution import Solution, polished
from orthoboot.models.sklearn.targets import RowsTarget, Target, first_line, first_value, target_of
from orthoboot.typing import FloatArray, Influence

_NOTED_DISTANCE = 0.05
"""From the estimator's own fit to its solution, in standard errors: where the user hears of it."""
_NOT_SMOOTH = ("sklearn.ensemble.", "sklearn.tree.", "sklearn.neighbors.")
"""Modules of models that split, count or pick rows."""
_LISTED = 5


@dataclass(frozen=True, eq=False, repr=False)
class SklearnModel(Functional):
    """A scikit-learn model, or what is wanted of it, as a statistic of ``(X, y)``; made by `from_sklearn`."""

    estimator: Any
    target: Any = "coef_"
    name: str = field(init=False, repr=False)
    fractional: bool = field(init=False, repr=False)

    paired = True

    def __post_init__(self) -> None:
        check_estimator(self.estimator)
        object.__setattr__(self, "name", type(last_step(self.estimator)).__name__)
        object.__setattr__(self, "fractional", _takes_fractions(self.estimator))
        target_of(self.target)

    @property
    def batched(self) -> bool:  # type: ignore[override]
        """Return whether refits are made together: those of networks are."""
        adapter = adapter_of(last_step(self.estimator))
        return adapter is not None and adapter.refits_from_solution

    def check(self, data: Data) -> None:
        """Raise unless the data are X and y, the estimator can be fitted to them and the target be computed."""
        check_tables(self.name, data)
        self.output(data)
        if self.batched and self._target.attributes:
            self._check_parameters(self._target.attributes, self._known(data))

    @once_per_data
    def output(self, data: Data) -> Output:
        """Return the shape and the names of the target: those of the columns for coefficients."""
        model, target = self.fitted(data), self._target
        if isinstance(target, RowsTarget):
            target.check(model, data.columns[0])
        return target.output(first_value(target, model), model, feature_names(model))

    @once_per_data
    def estimate(self, data: Data) -> FloatArray:
        """Return the target of the estimator's own fit to the data."""
        return self.output(data).flatten(self._target.value(self.fitted(data)))

    def evaluate(self, data: Data, resamples: Resamples) -> FloatArray:
        """Return the target of a refit on each resample, shape ``(B, k)``."""
        return np.stack([self._value_of(data, outcome) for outcome in self.refits(data, resamples)])

    @once_per_data
    def influence(self, data: Data) -> Influence:
        """Return the derivative of the target by the weights; raise an `InfluenceError` where it is not known."""
        solution = self.solution(data)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # told once already, by the first value of the target
                jacobian = solution.jacobian(self._target, self.output(data))
        except (InfluenceError, FitError):
            raise
        except Exception as error:  # the target may be a function of the user's, which may raise anything
            raise InfluenceError(
                f"`target` could not be differentiated: at moved coefficients it raised {type(error).__name__}: "
                f"{first_line(error)}"
            ) from error
        return (solution.influence(jacobian),)

    @property
    def influence_source(self) -> str:
        """Return that it is the implicit function theorem's, and what is held fixed in it."""
        last = last_step(self.estimator)
        adapter, held = adapter_of(last), held_fixed(self.estimator)
        where = ""
        if adapter is not None:
            where, held = adapter.source(last), [*held, *adapter.held(last)]
        fixed = f"; held fixed: {', '.join(held)}" if held else ""
        return f"implicit function theorem for `{self.name}`{where}{fixed}"

    def findings(self, data: Data) -> tuple[OrthobootWarning, ...]:
        """Return warnings where fits did not converge, where they are random, and where the fit is near a kink."""
        known = self._known(data)
        found = [*self._unconverged(data), *self._randomness(known)]
        if isinstance(known, Solution):
            found += [*self._distance(known, data), *_kinks(known)]
        return tuple(map(FitWarning, found))

    @once_per_data
    def fitted(self, data: Data) -> Any:
        """Return the estimator's own fit to the data."""
        from sklearn.base import clone

        X, y = data.containers
        try:
            model, converged = _fitted(clone(self.estimator), X, _column(y), {}, quiet=False)
        except Exception as error:  # an estimator may refuse data in any way
            raise FitError(
                f"`{self.name}` could not be fitted to the data: {type(error).__name__}: {first_line(error)}."
            ) from error
        self._count(data).fits += 1
        self._count(data).unconverged += not converged
        return model

    def refits(self, data: Data, resamples: Resamples) -> list[Any]:
        """Return the estimator fitted to each resample, or in its place the exception that this raised."""
        known = self._known(data)
        if isinstance(known, Solution) and known.adapter.refits_from_solution:
            return self._refits_from(known, data, resamples)
        outcomes: list[Any] = []
        for b in range(len(resamples)):
            try:
                outcomes.append(self._refit(data, resamples, b))
            except Exception as error:  # an estimator may refuse a resample in any way
                outcomes.append(error)
        return outcomes

    def _refit(self, data: Data, resamples: Resamples, b: int) -> Any:
        """Return the estimator fitted to resample `b`, by weights where it takes them and else to its rows."""
        weighted = takes_weights(self.estimator)
        rows, weights = drawn_rows(resamples, b, weighted=weighted)
        X, y = data.take((rows,))
        self._check_classes(data, _column(y))
        model = copy.deepcopy(self._start(data))
        arguments = weight_arguments(model, weights) if weighted else {}
        model, converged = _fitted(model, X, _column(y), arguments, quiet=True)
        return self._at_minimum(data, model, X, _column(y), weights, converged)

    def _refits_from(self, solution: Solution, data: Data, resamples: Resamples) -> list[Any]:
        """Return the refits that start at the solution, all together where none has lost a class."""
        y = _column(data.containers[1])
        try:
            for weights in resamples.weights[0]:
                self._check_classes(data, y[weights > 0])
        except FitError as error:
            if len(resamples) == 1:
                return [error]
            return [self._refits_from(solution, data, resamples.one(b))[0] for b in range(len(resamples))]
        refits, count = solution.adapter.refits(solution, data, resamples), self._count(data)
        count.fits += len(refits)
        count.unconverged += sum(not refit.converged for refit in refits)
        return [refit.outcome for refit in refits]

    def solution(self, data: Data) -> Solution:
        """Return the fit to the data at its minimum; raise an `InfluenceError` where that is not known."""
        known = self._known(data)
        if isinstance(known, InfluenceError):
            raise known
        return known

    @cached_property
    def _target(self) -> Target:
        return target_of(self.target)

    @once_per_data
    def _count(self, data: Data) -> FitCount:
        return FitCount()

    @once_per_data
    def _known(self, data: Data) -> Solution | InfluenceError:
        """Return the same, or why there is none."""
        try:
            solution = self._exact(self.fitted(data), data)
            # The distance to the solution says more of the estimator's own fit than a warning of scikit-learn's.
            self._count(data).unconverged = 0
            return solution
        except InfluenceError as error:
            return error
        except FitError as error:
            return InfluenceError(f"no influence function for `{self.name}` on these data: {str(error).rstrip('.')}")

    def _exact(self, model: Any, data: Data) -> Solution:
        adapter = _known_adapter(model)
        X, y = data.containers[0], _column(data.containers[1])
        if adapter.selects(last_step(model)):
            model, _ = _fitted(with_last_step(model, _tightened(adapter, model)), X, y, {}, quiet=True)
        return Solution.near(model, X, y)

    @once_per_data
    def _start(self, data: Data) -> Any:
        """Return the estimator of the refits, which starts from the fit to the data where it can."""
        from sklearn.base import clone

        known = self._known(data)
        if isinstance(known, InfluenceError):
            # Without a polished solution a warm start would stop near where it started.
            return clone(self.estimator)
        last = _tightened(known.adapter, known.model)
        starts_warm = known.adapter.starts_warm(last)
        return with_last_step(clone(self.estimator), last.set_params(warm_start=True) if starts_warm else clone(last))

    def _value_of(self, data: Data, outcome: Any) -> FloatArray:
        if isinstance(outcome, Exception):
            raise outcome
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = self._target.value(outcome)
        try:
            return self.output(data).flatten(value)
        except StatisticError as error:
            raise FitError(f"`{self.name}` has another shape on a resample, which lacks a category: {error}") from error

    def _at_minimum(self, data: Data, model: Any, X: Any, y: Any, weights: FloatArray, converged: bool) -> Any:
        count = self._count(data)
        count.fits += 1
        known = self._known(data)
        if isinstance(known, InfluenceError):
            count.unconverged += not converged
            return model
        try:
            return polished(known.adapter, model, X, y, weights)
        except FitError:
            count.unconverged += 1
            return model

    def _check_parameters(self, attributes: tuple[str, ...], known: Solution | InfluenceError) -> None:
        """Raise for attributes of a network that its refits do not move."""
        parameters = known.adapter.coordinates if isinstance(known, Solution) else attributes
        for name in attributes:
            if name not in parameters:
                raise ArgumentError(
                    f"`target` must be a parameter of the network, new rows to predict at, or a function of either; "
                    f"got {name!r}, and refits move {', '.join(map(repr, parameters))} alone."
                )

    def _check_classes(self, data: Data, y: Any) -> None:
        classes = getattr(self.fitted(data), "classes_", None)
        drawn = len(np.unique(y)) if classes is not None else 0
        if classes is not None and drawn < len(classes):
            raise FitError(
                f"`{self.name}` has no fit on a resample with {drawn} of the {len(classes)} classes. Draw within the "
                "classes with `strata=y`, or merge rare ones"
            )

    def _unconverged(self, data: Data) -> list[str]:
        count = self._count(data)
        if not count.unconverged:
            return []
        known = self._known(data)
        is_network = isinstance(known, Solution) and known.adapter.refits_from_solution
        advice = "Penalise the network more, give it fewer units" if is_network else "Raise `max_iter`"
        return [
            f"`{self.name}` did not converge in {count.unconverged} of {count.fits} fits, which adds noise to "
            f"the replicates that no influence function explains. {advice}, or scale the columns."
        ]

    def _randomness(self, known: Solution | InfluenceError) -> list[str]:
        """Return a warning where another run gives other numbers, since refits or the fit itself are random."""
        last = last_step(self.estimator)
        adapter = adapter_of(last)
        options = (self.estimator if adapter is None else last).get_params(deep=True)
        random = [
            key
            for key, value in options.items()
            if key.endswith("random_state") and value is None and not is_settled(options.get(key.rpartition("__")[0]))
        ]
        if not random or (adapter is not None and not adapter.refits_from_solution):
            return []
        if isinstance(known, Solution):
            return [
                f"`{random[0]}` of `{self.name}` is None, so that another run starts from other parameters and may end "
                f"at another minimum, with other numbers. Set `{random[0]}=0` to get the same ones."
            ]
        return [
            f"`{random[0]}` of `{self.name}` is None, so that refits vary by chance as well as by the data, and "
            f"another run gives other numbers: the standard error counts both. Set `{random[0]}=0` to count the data "
            "alone."
        ]

    def _distance(self, solution: Solution, data: Data) -> list[str]:
        """Return a warning where the estimator's own fit stopped before its solution."""
        try:
            (influence,) = self.influence(data)
        except InfluenceError:  # that of an attribute such as `n_iter_`
            return []
        errors = influence.std(axis=0) / np.sqrt(len(influence))
        shifts = np.abs(self.output(data).flatten(self._target.value(solution.model)) - self.estimate(data))
        distance = float(np.max(shifts[errors > 0] / errors[errors > 0], initial=0.0))
        if distance < _NOTED_DISTANCE:
            return []
        return [
            f"the fit of `{self.name}` to the data stopped {distance:.2g} standard errors from its solution, which the "
            "refits reach; the bias contains that. Lower `tol` or raise `max_iter` of the estimator, or scale the "
            "columns."
        ]


def from_sklearn(estimator: Any, target: Any = "coef_") -> SklearnModel:
    r"""Return what is wanted of a scikit-learn model as a statistic of ``(X, y)``, with its influence function.

    .. math:: I_j = -g'(\hat\theta)\, H^{-1} \bigl(\nabla \ell_j(\hat\theta) + \nabla P(\hat\theta)\bigr)

    for the models that minimise a mean loss :math:`\ell` with a penalty P, in scikit-learn's own conventions for
    ``alpha``, ``C`` and the intercept; H is the Hessian with the penalty and g the target. The M-estimators of the
    paper's ``subsection:CIconstructionexample``. Known are `LinearRegression`, `Ridge`, `Lasso`, `ElasticNet`,
    `LogisticRegression`, `PoissonRegressor`, `GammaRegressor`, `TweedieRegressor`, `HuberRegressor`, the networks
    `MLPRegressor`, `MLPClassifier` and `NeuralRegressor`, and pipelines that end in one of them; others work with
    ``estimator="standard"`` and ``"cheap"``.

    Every replicate is a refit with ``sample_weight``, or on the drawn rows where the estimator takes no weights, all
    steps of a pipeline included. Where the influence function is known the refit goes on to the exact minimum by
    Newton's method. Networks, which need PyTorch, are not trained again from scratch: their refits minimise the
    weighted loss from the minimum on all rows, many of them together. The data are ``(X, y)`` with ``paired=True``.

    Parameters
    ----------
    estimator
        A regressor, classifier or pipeline, fitted or not; it is cloned and never changed.
    target
        The name of an attribute of the fitted estimator, or of the last step of a pipeline: "coef_", "intercept_"; a
        tuple of names, for a dict of them; a function of the fitted estimator that returns a number, an array or a
        dict of these; or new rows to predict at: for a classifier the probabilities of its classes, of the second one
        where there are two.

    Examples
    --------
    >>> import numpy as np
    >>> import orthoboot as ob
    >>> from sklearn.linear_model import Ridge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2))
    >>> y = X @ [1.0, -2.0] + rng.standard_normal(200)
    >>> result = ob.bootstrap((X, y), ob.from_sklearn(Ridge(alpha=0.1)), paired=True, rng=0)
    >>> result.estimate.round(1), result.n_resamples
    (array([ 0.9, -1.9]), 10)
    """
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            "`from_sklearn` needs scikit-learn; install it with `pip install 'orthoboot[sklearn]'`."
        ) from error
    return SklearnModel(estimator, target)


def _takes_fractions(estimator: Any) -> bool:
    """Return whether refits take weights that are not whole numbers."""
    adapter = adapter_of(last_step(estimator))
    if adapter is None or not adapter.refits_from_solution:
        return takes_weights(estimator)
    return adapter.refits_by_weights(last_step(estimator)) and transformers_take_weights(estimator)


def _column(y: Any) -> Any:
    """Return the response as one column; text labels come as a frame of one."""
    return np.asarray(y).reshape(-1)


def _fitted(estimator: Any, X: Any, y: Any, arguments: dict[str, FloatArray], *, quiet: bool) -> tuple[Any, bool]:
    """Return the fitted estimator, and whether scikit-learn says that it converged; other warnings unless `quiet`."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X, y, **arguments)
    converged = True
    for warning in caught:
        if issubclass(warning.category, ConvergenceWarning):
            converged = False
        elif not quiet:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return estimator, converged


def _tightened(adapter: Adapter, model: Any) -> Any:
    """Return a copy of the last step whose next fit is tight enough to tell which coefficients are zero."""
    return adapter.tightened(copy.deepcopy(last_step(model)))


def _known_adapter(model: Any) -> Adapter:
    """Return the adapter of a fitted model; raise an `InfluenceError` that says why where there is none."""
    last = last_step(model)
    adapter, kind = adapter_of(last), type(last).__name__
    if adapter is None:
        is_rough = type(last).__module__.startswith(_NOT_SMOOTH)
        why = ": its fit is not a smooth function of the weights" if is_rough else ""
        refits = "" if is_rough else ', or influence="jackknife", one refit a row'
        raise InfluenceError(
            f'no influence function is known for `{kind}`{why}; use estimator="standard" or "cheap"{refits}'
        )
    obstacle = adapter.obstacle(last)
    if obstacle:
        raise InfluenceError(
            f'no influence function is known for `{kind}` {obstacle}; use estimator="standard" or "cheap"'
        )
    return adapter


def _kinks(solution: Solution) -> list[str]:
    """Return a warning where the set of coefficients that are not zero changes in some resamples."""
    entering, leaving = solution.near_kinks()
    if not entering and not leaving:
        return []
    parts = [
        f"{', '.join(names[:_LISTED])}{' and others' if len(names) > _LISTED else ''} {what}"
        for names, what in ((entering, "near to entering"), (leaving, "near to leaving"))
        if names
    ]
    return [
        f"the penalty sets coefficients to zero, and within three standard errors are {'; '.join(parts)}: there the "
        "fit has a kink, which the influence function, at a fixed set of coefficients, does not know. Use "
        "more replicates, or the standard bootstrap, where the linear part explains little of them."
    ]
