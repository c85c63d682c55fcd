"""Models of scikit-learn as statistics: refitted on resamples, with their influence functions where they are known."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
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
    UnweightedRowsWarning,
    first_line,
)
from orthoboot.functionals.base import Covariance, Functional, Prepared
from orthoboot.functionals.evaluation import NO_FITS, Convergence, Evaluation
from orthoboot.functionals.minimum_bias import covariance_with_counts
from orthoboot.functionals.output import Output
from orthoboot.functionals.regression.newton_surrogate import NewtonSurrogate
from orthoboot.models.fitting import evaluated_refits, found_once
from orthoboot.models.sklearn.adapters import adapter_of, known_adapter
from orthoboot.models.sklearn.arguments import check_estimator, check_tables
from orthoboot.models.sklearn.findings import near_kinks, random_fits, stopped_early, unconverged_fits
from orthoboot.models.sklearn.interface import ContinuedModel, Refit, RefittedModel
from orthoboot.models.sklearn.pipeline import (
    drawn_rows,
    feature_names,
    held_fixed,
    last_step,
    learns_nothing,
    refitted_transformers,
    takes_weights,
    weight_arguments,
    with_last_step,
)
from orthoboot.models.sklearn.refitting import (
    SklearnFit,
    fitted,
    random_parameters,
    random_states,
    refitted_estimator,
    response_of,
    takes_fractions,
    tightened,
)
from orthoboot.models.sklearn.solution import Solution, polished
from orthoboot.models.sklearn.surrogate import newton_surrogate
from orthoboot.models.sklearn.targets import FunctionTarget, ModelTarget, RowsTarget, target_of, target_on_data
from orthoboot.models.target_rows import (
    TargetRows,
    check_weights_count,
    direct_influence,
    direct_source,
    unweighted_rows,
)
from orthoboot.optimisation.distance import distance_in_errors
from orthoboot.typing import FloatArray, Influence
from orthoboot.warning_scopes import silenced


@dataclass(frozen=True, eq=False, repr=False)
class SklearnModel(Functional):
    """Coefficients, predictions or another target of a scikit-learn model, as a statistic; made by `from_sklearn`."""

    estimator: Any
    target: Any = "coef_"
    name: str = field(init=False, repr=False)
    fractional: bool = field(init=False, repr=False)

    paired = True
    takes_text = True
    releases_gil = False

    def __post_init__(self) -> None:
        check_estimator(self.estimator)
        object.__setattr__(self, "name", type(last_step(self.estimator)).__name__)
        object.__setattr__(self, "fractional", takes_fractions(self.estimator))
        _ = self.model_target

    @property
    def batched(self) -> bool:  # type: ignore[override]
        """Return whether refits are made together: those of networks are."""
        return isinstance(adapter_of(last_step(self.estimator)), ContinuedModel)

    @cached_property
    def model_target(self) -> ModelTarget:
        """Return the target as a function of fitted models."""
        return target_of(self.target)

    def at(self, data: Data) -> FittedSklearnModel:
        """Return the model at `data`, not checked and not fitted yet."""
        return FittedSklearnModel(self, data)


@dataclass(frozen=True, eq=False)
class FittedSklearnModel(Prepared[SklearnModel]):
    """A scikit-learn model at its data: its fit, its solution where its loss is known, and its refits."""

    @property
    def exact_influence(self) -> bool:
        """Return whether it is the derivative of the minimum of a smooth loss."""
        solution = self._known_solution
        return solution is not None and solution.is_smooth and super().exact_influence

    def check(self) -> None:
        """Raise unless the data are X and y, the estimator can be fitted to them and the target be computed."""
        check_tables(self.functional.name, self.data)
        _ = self.output
        if self.functional.batched and self.functional.model_target.attributes:
            self._check_parameters(self.functional.model_target.attributes)
        if self._target_takes_rows:
            self._check_target_weights()

    @found_once
    def output(self) -> Output:
        """Return the shape and the names of the target: those of the columns for coefficients."""
        target = self._target
        if isinstance(target, RowsTarget):
            target.check(self.fitted, self.data.columns[0])
        return target.output(target_on_data(target, self.fitted), self.fitted, feature_names(self.fitted))

    @found_once
    def estimate(self) -> FloatArray:
        """Return the target of the estimator's own fit to the data."""
        return self.output.flatten(self._target.value(self.fitted))

    @property
    def fitted(self) -> Any:
        """Return the estimator's own fit to the data."""
        return self._own_fit.model

    @property
    def solution(self) -> Solution:
        """Return the fit to the data at its minimum; raise an `InfluenceError` where that is not known."""
        if isinstance(self._solution_or_reason, str):
            raise InfluenceError(self._solution_or_reason)
        return self._solution_or_reason

    def values(self, resamples: Resamples) -> FloatArray:
        """Return the target of a refit on each resample, shape ``(B, k)``; raise where one of them failed."""
        return np.stack([self._value(refit_and_weights) for refit_and_weights in self._refits_with_weights(resamples)])

    def evaluate(self, resamples: Resamples) -> Evaluation:
        """Return the target of a refit on each resample or why there is none, and which refits converged."""
        refits_and_weights = self._refits_with_weights(resamples)
        converged = [refit.converged for refit, _ in refits_and_weights]
        return evaluated_refits(self._value, refits_and_weights, converged, self.output.size)

    def _refits_with_weights(self, resamples: Resamples) -> list[tuple[Refit, FloatArray]]:
        return list(zip(self.refits(resamples), resamples.weights[0], strict=True))

    def refits(self, resamples: Resamples) -> list[Refit]:
        """Return the refit on each resample; failures are recorded, not raised."""
        solution = self._known_solution
        if solution is not None and solution.is_exact:
            # The fit to the data is that to every resample: what refits would add is rounding.
            return [Refit(self.fitted)] * len(resamples)
        if solution is not None and isinstance(solution.adapter, ContinuedModel):
            return self._continued(solution, solution.adapter, resamples)
        states = self._random_states(resamples)
        return [self._refit(resamples, b, states[b]) for b in range(len(resamples))]

    def influence(self) -> Influence:
        """Return the derivative of the target by the weights; raise an `InfluenceError` where it is not known."""
        return self._influence

    @found_once
    def surrogate(self) -> NewtonSurrogate | None:
        """Return the first Newton steps of the refits of a linear model, and None for all others."""
        solution = self._known_solution
        return None if solution is None else newton_surrogate(solution, self._target, self.output)

    @property
    def bias_is_cheap(self) -> bool:
        """Return True."""
        return True

    def second_order_bias(self, covariance: Covariance) -> FloatArray | None:
        """Return the bias of coefficients of a linear model, as `MinimumAtWeights` has it; None for other targets.

        None, too, with an L1 penalty, which has kinks; and with any penalty where groups of unequal size are drawn:
        whether it grows with the number of rows differs from model to model.
        """
        surrogate = self.surrogate
        if surrogate is None or surrogate.linear.any():
            return None
        of_total = covariance_with_counts(covariance, np.ones((self.data.sizes[0], 1)))
        total_varies = of_total is not None and of_total.any()
        return None if total_varies and surrogate.quadratic.any() else surrogate.second_order_bias(covariance)

    @property
    def influence_source(self) -> str:
        """Return the name of the method, implicit differentiation, and what it holds fixed."""
        estimator = self.functional.estimator
        last = last_step(estimator)
        adapter, held = adapter_of(last), held_fixed(estimator)
        where = ""
        if adapter is not None:
            where, held = adapter.source(last), [*held, *adapter.held(last)]
        fixed = f"; held fixed: {', '.join(held)}" if held else ""
        direct = direct_source(self.data.sizes[0]) if self._target_takes_rows else ""
        return f"implicit function theorem for `{self.functional.name}`{where}{direct}{fixed}"

    def findings(self, convergence: Convergence = NO_FITS) -> tuple[OrthobootWarning, ...]:
        """Return warnings where fits did not converge, where they are random, and where the fit is near a kink."""
        name, solution = self.functional.name, self._known_solution
        # Where the solution is known, the distance to it says more of the estimator's own fit than scikit-learn does.
        own_failed = solution is None and not self._own_fit.converged
        fits = Convergence(convergence.fits + 1, convergence.unconverged + own_failed)
        found = [
            *unconverged_fits(name, fits, solution),
            *random_fits(name, self.functional.estimator, solution),
        ]
        if solution is not None:
            found += [*stopped_early(name, self._distance(solution)), *near_kinks(solution)]
        return (*map(FitWarning, found), *self._about_target())

    def _about_target(self) -> list[UnweightedRowsWarning]:
        target = self.functional.model_target
        if not isinstance(target, FunctionTarget) or target.rows_taken:
            return []
        return unweighted_rows(target.function, self.data.sizes[0])

    # What is found once

    @found_once
    def _own_fit(self) -> SklearnFit:
        from sklearn.base import clone

        try:
            return fitted(clone(self.functional.estimator), *self._rows, quiet=False)
        except Exception as error:  # an estimator may refuse data in any way
            raise FitError(
                f"`{self.functional.name}` could not be fitted to the data: {type(error).__name__}: "
                f"{first_line(error)}."
            ) from error

    @found_once
    def _solution_or_reason(self) -> Solution | str:
        """Return the fit to the data at its minimum, or the reason why there is none."""
        try:
            return self._solved()
        except InfluenceError as error:
            return str(error)
        except FitError as error:
            return f"no influence function for `{self.functional.name}` on these data: {str(error).rstrip('.')}"

    @found_once
    def _refitted_estimator(self) -> Any:
        return refitted_estimator(self.functional.estimator, self._known_solution)

    @found_once
    def _random_parameters(self) -> list[str]:
        return random_parameters(self.functional.estimator)

    @found_once
    def _influence(self) -> Influence:
        solution = self.solution
        try:
            with silenced():  # told once already, by the first value of the target
                jacobian = solution.jacobian(self._target, self.output)
                direct = self._direct_influence(solution)
        except (InfluenceError, FitError):
            raise
        except Exception as error:  # the target may be a function of the user's, which may raise anything
            raise InfluenceError(
                f"`target` could not be differentiated: at moved coefficients it raised {type(error).__name__}: "
                f"{first_line(error)}"
            ) from error
        return (solution.influence(jacobian) + direct,)

    def _direct_influence(self, solution: Solution) -> FloatArray | float:
        """Return the influence of the rows on a target that takes their weights, at the same model."""
        target, rows = self.functional.model_target, self._target_rows
        if not self._target_takes_rows:
            return 0.0
        return direct_influence(
            lambda weights: self.output.flatten(target.at(rows.weighted(weights)).value(solution.model)),
            self.data.sizes[0],
        )

    def _check_target_weights(self) -> None:
        target = self.functional.model_target

        def value(rows: TargetRows) -> Any:
            return target.at(replace(rows, y=response_of(rows.y))).value(self.fitted)

        with silenced():  # shown already, by the first value of the target
            check_weights_count(value, self.output, self._target_rows, self.data)

    @property
    def _target_takes_rows(self) -> bool:
        target = self.functional.model_target
        return isinstance(target, FunctionTarget) and bool(target.rows_taken)

    @property
    def _target(self) -> ModelTarget:
        """Return the target at the data."""
        return self.functional.model_target.at(self._target_rows)

    @found_once
    def _target_rows(self) -> TargetRows:
        return TargetRows(*self._rows, np.ones(self.data.sizes[0]))

    @property
    def _rows(self) -> tuple[Any, Any]:
        X, y = self.data.containers
        return X, response_of(y)

    @property
    def _known_solution(self) -> Solution | None:
        return None if isinstance(self._solution_or_reason, str) else self._solution_or_reason

    def _solved(self) -> Solution:
        model = self.fitted
        adapter = known_adapter(last_step(model))
        if isinstance(adapter, RefittedModel) and adapter.selects(last_step(model)):
            model = fitted(with_last_step(model, tightened(adapter, model)), *self._rows, quiet=True).model
        return adapter.solution(model, *self._rows)

    def _distance(self, solution: Solution) -> float:
        """Return how far the estimator's own fit is from its solution, in standard errors."""
        try:
            (influence,) = self.influence()
        except InfluenceError:  # that of an attribute such as `n_iter_`
            return 0.0
        target = self._target.value(solution.model)
        return distance_in_errors(self.output.flatten(target) - self.estimate, influence)

    # Refits

    @found_once
    def _takes_weights(self) -> bool:
        return takes_weights(self.functional.estimator)

    def _refit(self, resamples: Resamples, b: int, states: Mapping[str, int]) -> Refit:
        try:
            return self._refitted(resamples, b, states)
        except Exception as error:  # an estimator may refuse a resample in any way
            return Refit(error=error)

    def _refitted(self, resamples: Resamples, b: int, states: Mapping[str, int]) -> Refit:
        """Return the estimator fitted to resample `b`, by weights where it takes them and else to its rows."""
        weighted = self._takes_weights
        rows, weights = drawn_rows(resamples, b, weighted=weighted)
        X, y = self.data.take((rows,))
        y = response_of(y)
        self._check_classes(y)
        model = copy.deepcopy(self._refitted_estimator)
        if states:
            model.set_params(**states)
        fit = fitted(model, X, y, weight_arguments(model, weights) if weighted else None, quiet=True)
        solution = self._known_solution
        if solution is None or not isinstance(solution.adapter, RefittedModel):
            return Refit(fit.model, converged=fit.converged)
        try:
            return Refit(polished(solution.adapter, fit.model, X, y, weights))
        except FitError:
            return Refit(fit.model, converged=False)

    def _continued(self, solution: Solution, adapter: ContinuedModel, resamples: Resamples) -> list[Refit]:
        """Return the refits that continue from the solution, in batches of resamples that contain every class."""
        y = self._rows[1]
        errors = [self._lost_classes(y[weights > 0]) for weights in resamples.weights[0]]
        refits: list[Refit] = []
        for has_all, run in groupby(range(len(resamples)), key=lambda b: errors[b] is None):
            numbers = list(run)
            if has_all:
                refits += self._continued_together(
                    solution, adapter, resamples.some(range(numbers[0], numbers[-1] + 1))
                )
            else:
                refits += [Refit(error=errors[b]) for b in numbers]
        return refits

    def _continued_together(self, solution: Solution, adapter: ContinuedModel, resamples: Resamples) -> list[Refit]:
        if not learns_nothing(solution.model):
            states = self._random_states(resamples)
            alone = map(resamples.one, range(len(resamples)))
            return [self._continued_alone(solution, adapter, *each) for each in zip(alone, states, strict=True)]
        try:
            return adapter.refits(solution, solution.model, self.data, resamples)
        except Exception as error:  # such as that there is no memory for so many
            return [Refit(error=error)] * len(resamples)

    def _continued_alone(
        self, solution: Solution, adapter: ContinuedModel, resamples: Resamples, states: Mapping[str, int]
    ) -> Refit:
        """Return one refit, with the transformers before the network fitted to the resample too."""
        try:
            with silenced():
                model = refitted_transformers(solution.model, self.data, resamples, states)
            return adapter.refits(solution, model, self.data, resamples)[0]
        except Exception as error:  # a step may refuse a resample in any way
            return Refit(error=error)

    def _random_states(self, resamples: Resamples) -> list[dict[str, int]]:
        """Return for each resample the values that replace ``random_state=None``, from the resample's seed."""
        if not self._random_parameters:
            return [{}] * len(resamples)
        return [random_states(self._random_parameters, seed) for seed in resamples.seeds(0)]

    def _value(self, refit_and_weights: tuple[Refit, FloatArray]) -> FloatArray:
        refit, weights = refit_and_weights
        if refit.error is not None:
            raise refit.error
        target = self.functional.model_target.at(self._target_rows.weighted(weights))
        with silenced():
            value = target.value(refit.model)
        try:
            return self.output.flatten(value)
        except StatisticError as error:
            raise FitError(
                f"`{self.functional.name}` has another shape on a resample, which lacks a category: {error}"
            ) from error

    def _check_parameters(self, attributes: tuple[str, ...]) -> None:
        """Raise for attributes of a network that its refits do not move."""
        solution = self._known_solution
        parameters = attributes if solution is None else solution.adapter.parameter_attributes
        for name in attributes:
            if name not in parameters:
                raise ArgumentError(
                    f"`target` must be a parameter of the network, new rows to predict at, or a function of either; "
                    f"got {name!r}, and refits move {', '.join(map(repr, parameters))} alone."
                )

    def _check_classes(self, y: Any) -> None:
        error = self._lost_classes(y)
        if error is not None:
            raise error

    def _lost_classes(self, y: Any) -> FitError | None:
        """Return an error if the responses of a resample lack a class, else None."""
        classes = getattr(self.fitted, "classes_", None)
        drawn = 0 if classes is None else len(np.unique(y))
        if classes is None or drawn == len(classes):
            return None
        return FitError(
            f"`{self.functional.name}` has no fit on a resample with {drawn} of the {len(classes)} classes. Draw "
            "within the classes with `strata=y`, or merge rare ones"
        )


def from_sklearn(estimator: Any, target: Any = "coef_") -> SklearnModel:
    r"""Return a target of a scikit-learn model as a statistic of ``(X, y)``, with its influence function.

    .. math:: I_j = -g'(\hat\theta)\, H^{-1} \bigl(\nabla \ell_j(\hat\theta) + \nabla P(\hat\theta)\bigr)

    for the models that minimise a mean loss :math:`\ell` with a penalty P, in scikit-learn's own conventions for
    ``alpha``, ``C`` and the intercept; H is the Hessian with the penalty and g the target. The M-estimators of the
    paper's ``subsection:CIconstructionexample``. The influence function is known for `LinearRegression`, `Ridge`,
    `Lasso`, `ElasticNet`, `LogisticRegression`, `PoissonRegressor`, `GammaRegressor`, `TweedieRegressor`,
    `HuberRegressor`, the networks `MLPRegressor`, `MLPClassifier` and `NeuralRegressor`, and pipelines that end in one
    of them; other estimators work with ``estimator="standard"`` and ``"cheap"``.

    Every replicate refits the estimator, including all steps of a pipeline, with ``sample_weight``, or on the drawn
    rows if it takes no weights. If the influence function is known, Newton's method continues the refit to the exact
    minimum. Networks, which need PyTorch, are not trained again from scratch: their refits minimise the weighted loss
    from the minimum on all rows, many in one batch. The data are ``(X, y)`` with ``paired=True``.

    Parameters
    ----------
    estimator
        A regressor, classifier or pipeline, fitted or not; it is cloned and never modified.
    target
        The name of an attribute of the fitted estimator, or of the last step of a pipeline, such as ``"coef_"`` or
        ``"intercept_"``; a tuple of names, for a dict of them; a function of the fitted estimator that returns a
        number, an array or a dict of these; or new rows to predict at. For a classifier these are the probabilities of
        its classes, or of the second one if there are two. A function with the signature
        ``target(model, X, y, weights)`` also gets the data and the weights of the resample, which an average over the
        training rows needs.

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
