"""Refits of a scikit-learn regressor on resamples, and the linear part of their predictions at new rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from orthoboot.arguments import too_few_replicates
from orthoboot.data import Data
from orthoboot.errors import FallbackWarning, FitError, InfluenceError, OrthobootWarning, ReplicationError, first_line
from orthoboot.estimators import ESTIMATORS, Estimator
from orthoboot.estimators.slopes import PRIOR_REPLICATES, TRUSTED_PRIOR
from orthoboot.execution.execution import Execution, batches
from orthoboot.execution.progress import ProgressBar
from orthoboot.functionals.evaluation import Convergence
from orthoboot.models.fitting import DENSE_PARAMETERS
from orthoboot.models.sklearn.interface import Refit
from orthoboot.models.sklearn.model import FittedSklearnModel
from orthoboot.models.sklearn.point import ModelPoint, predictions
from orthoboot.models.sklearn.solution import Solution
from orthoboot.plans import Plan
from orthoboot.prediction.out_of_bag import LeftOut, OutOfBag, out_of_bag
from orthoboot.typing import FloatArray, IntArray, Key

_TOGETHER = 64
"""Refits that are made together, where they can be: whose weights are held at once."""
_COPIES_HELD = 6
"""How many arrays of the size of a jacobian, or of the influence of all rows, exist at once while they are found."""


@dataclass(frozen=True, eq=False)
class Refits:
    """The refits that did not fail.

    Attributes
    ----------
    models
        The fitted models, B of them.
    numbers
        The number of each in the run, shape ``(B,)``.
    out_of_bag
        What they say of the noise.
    failures
        What the others did, in words, by their numbers.
    n_unconverged
        How many of the models did not converge.
    """

    models: tuple[Any, ...]
    numbers: IntArray
    out_of_bag: OutOfBag
    failures: Mapping[int, str] = field(default_factory=dict)
    n_unconverged: int = 0

    def __len__(self) -> int:
        return len(self.models)

    @property
    def n_failed(self) -> int:
        """Return how many refits raised or predicted values that are not finite."""
        return len(self.failures)

    @property
    def n_drawn(self) -> int:
        """Return how many resamples were drawn, failed ones included."""
        return len(self.models) + len(self.failures)

    @property
    def first_failure(self) -> str | None:
        """Return the reason of the first failed refit."""
        return self.failures[min(self.failures)] if self.failures else None

    @property
    def convergence(self) -> Convergence:
        """Return how many refits gave a model, and how many of them did not converge."""
        return Convergence(len(self.models), self.n_unconverged)

    def among(self, chosen: slice) -> Refits:
        """Return some of them; those that failed are not counted any more, unless all are chosen."""
        if chosen == slice(None):
            return self
        return Refits(self.models[chosen], self.numbers[chosen], self.out_of_bag.among(chosen))

    def predictions(self, rows: Any) -> FloatArray:
        """Return what each refit predicts at `rows`, shape ``(B, m)``."""
        return np.stack([predictions(model, rows) for model in self.models])


class RefitOutcome(NamedTuple):
    """The outcome of one refit.

    Attributes
    ----------
    number
        Its number in the run.
    model
        The fitted model, None where it failed.
    left_out
        What it predicts at the rows that its resample left out, None where it failed.
    failure
        What it did instead, in words.
    converged
        Whether the fit converged.
    """

    number: int
    model: Any = None
    left_out: LeftOut | None = None
    failure: str | None = None
    converged: bool = True


def refits(
    prepared: FittedSklearnModel, plan: Plan, key: Key, n_resamples: int, execution: Execution | None = None
) -> Refits:
    """Return the refits on the resamples 0 to `n_resamples` - 1; raise where more than half of them fail."""
    execution = Execution() if execution is None else execution
    outcomes: list[RefitOutcome] = []
    work, in_threads = partial(refitted, prepared, plan, key), prepared.functional.releases_gil
    size = execution.task_size(n_resamples, _TOGETHER if prepared.functional.batched else 1)
    with ProgressBar(n_resamples, shown=execution.progress) as bar:
        for numbers, found in execution.completed(work, batches(range(n_resamples), size), in_threads=in_threads):
            outcomes = sorted([*outcomes, *found], key=lambda outcome: outcome.number)
            _check_failures(outcomes, n_resamples)
            bar.advance(len(numbers))
    return _collected(prepared, outcomes)


def refitted(prepared: FittedSklearnModel, plan: Plan, key: Key, numbers: Sequence[int]) -> list[RefitOutcome]:
    """Return the outcomes of the refits with these numbers; a pure function, for any process."""
    resamples = plan.resamples(key, numbers)
    made = zip(numbers, prepared.refits(resamples), resamples.weights[0], strict=True)
    return [_outcome(number, refit, prepared.data, weights) for number, refit, weights in made]


def _outcome(number: int, refit: Refit, data: Data, weights: FloatArray) -> RefitOutcome:
    try:
        left_out = _left_out(refit, data, weights)
    except Exception as error:  # an estimator may refuse a resample in any way; counted and reported
        return RefitOutcome(number, failure=f"{type(error).__name__}: {first_line(error)}")
    return RefitOutcome(number, refit.model, left_out, converged=refit.converged)


def _left_out(refit: Refit, data: Data, weights: FloatArray) -> LeftOut:
    """Return the predictions of a refit at out-of-bag rows; raise its error if it failed."""
    if refit.error is not None:
        raise refit.error
    rows = np.flatnonzero(weights == 0)
    predicted = predictions(refit.model, data.take((rows,))[0]) if len(rows) else np.empty(0)
    if not np.isfinite(predicted).all():
        raise FitError("the predictions of a refit are not finite")
    return LeftOut(rows, predicted)


def _check_failures(outcomes: list[RefitOutcome], n_resamples: int) -> None:
    failures = [outcome.failure for outcome in outcomes if outcome.failure is not None]
    if 2 * len(failures) > n_resamples:
        raise ReplicationError(
            f"more than half of the refits failed: {len(failures)} of the {len(outcomes)} drawn so far. The first "
            f"failure was: {failures[0]}. The estimator must take resamples, in which rows repeat and some are missing."
        )


def _collected(prepared: FittedSklearnModel, outcomes: list[RefitOutcome]) -> Refits:
    """Return the refits that did not fail, in the order of the outcomes."""
    made = [outcome for outcome in outcomes if outcome.failure is None]
    left_out = [outcome.left_out for outcome in made if outcome.left_out is not None]
    fit_predictions = predictions(prepared.fitted, prepared.data.containers[0])
    return Refits(
        models=tuple(outcome.model for outcome in made),
        numbers=np.array([outcome.number for outcome in made], dtype=np.int64),
        out_of_bag=out_of_bag(left_out, _response(prepared.data), fit_predictions),
        failures={outcome.number: outcome.failure for outcome in outcomes if outcome.failure is not None},
        n_unconverged=sum(not outcome.converged for outcome in made),
    )


def _response(data: Data) -> FloatArray:
    return np.asarray(data.containers[1], dtype=np.float64).reshape(-1)


class LinearPart(ABC):
    """The linear part of the refits' predictions, from the influence function."""

    prior: float
    """How many refits with slope one the prior of its slope is worth."""

    @property
    @abstractmethod
    def numbers_per_row(self) -> int:
        """Return how many numbers are held at once for each new row."""

    @abstractmethod
    def among(self, chosen: slice) -> LinearPart:
        """Return the linear part of some of the refits."""

    @abstractmethod
    def at(self, rows: Any) -> tuple[FloatArray, FloatArray]:
        """Return linear_b at new rows, shape ``(B, m)``, and its exact variance under the plan, shape ``(m,)``."""


def linear_part(solution: Solution, plan: Plan, key: Key, numbers: IntArray) -> LinearPart:
    """Return the linear part of the refits `numbers` of the model whose fit to the data is `solution`."""
    prior = TRUSTED_PRIOR if solution.is_smooth else PRIOR_REPLICATES
    if solution.n_numbers > DENSE_PARAMETERS:
        return LinearPartByRows(prior, solution, plan, key, numbers)
    influence = solution.influence(np.eye(solution.n_numbers))
    changes, covariance = _linear(influence, plan, key, numbers), plan.covariance((influence,))
    return LinearPartByParameters(prior, solution.point, changes, covariance)


def _linear(influence: FloatArray, plan: Plan, key: Key, numbers: IntArray) -> FloatArray:
    """Return ``(1/n) weights_b . influence``, shape ``(B, k)``; resamples are drawn again, one at a time."""
    sums = [plan.resamples(key, [number]).sums(0, influence)[0] for number in numbers.tolist()]
    return np.reshape(sums, (len(numbers), influence.shape[1])) / len(influence)


@dataclass(frozen=True, eq=False)
class LinearPartByParameters(LinearPart):
    r"""By the influence of the parameters, for models with few of them; keeps no rows of the data.

    .. math:: L_b = J q_b, \qquad V = \operatorname{diag}(J C J')

    J the derivative of the predictions by the parameters, :math:`q_b` their linear part, C its covariance.

    Attributes
    ----------
    prior
        That of its slope.
    point
        The fitted model.
    changes
        q, shape ``(B, p + q)``.
    covariance
        C, shape ``(p + q, p + q)``.
    """

    prior: float
    point: ModelPoint
    changes: FloatArray
    covariance: FloatArray

    @property
    def numbers_per_row(self) -> int:
        """Return the number of parameters, for each array of the size of J."""
        return _COPIES_HELD * len(self.covariance)

    def among(self, chosen: slice) -> LinearPart:
        """Return the same with the changes of some."""
        return replace(self, changes=self.changes[chosen])

    def at(self, rows: Any) -> tuple[FloatArray, FloatArray]:
        """Return ``J q_b`` and the diagonal of ``J C J'``."""
        jacobian = self.point.prediction_jacobian(rows)
        variance: FloatArray = ((jacobian @ self.covariance) * jacobian).sum(axis=1)
        return self.changes @ jacobian.T, np.maximum(variance, 0.0)


@dataclass(frozen=True, eq=False)
class LinearPartByRows(LinearPart):
    """By the influence of the rows on the predictions, for a few new rows at a time.

    Attributes
    ----------
    prior
        That of its slope.
    solution
        The fit to the data.
    plan, key, numbers
        The resamples of the refits.
    """

    prior: float
    solution: Solution
    plan: Plan
    key: Key
    numbers: IntArray

    @property
    def numbers_per_row(self) -> int:
        """Return the number of rows of the data and of parameters, for each array of that size."""
        return _COPIES_HELD * (self.solution.n_rows + self.solution.n_numbers)

    def among(self, chosen: slice) -> LinearPart:
        """Return the same with the numbers of some."""
        return replace(self, numbers=self.numbers[chosen])

    def at(self, rows: Any) -> tuple[FloatArray, FloatArray]:
        """Return the sums of the influence over the resamples and its variance."""
        influence = self.solution.influence(self.solution.point.prediction_jacobian(rows))
        return _linear(influence, self.plan, self.key, self.numbers), self.plan.variance((influence,))


def usable_estimator(
    prepared: FittedSklearnModel, chosen: Estimator
) -> tuple[Estimator, Solution | None, list[OrthobootWarning]]:
    """Return the estimator of the variance that the model allows, and its solution where that is needed."""
    if not chosen.needs_influence:
        return chosen, None, []
    try:
        return chosen, prepared.solution, []
    except InfluenceError as error:
        # What it goes on to advise are arguments of `bootstrap`.
        reason = str(error).partition("; use ")[0].rstrip(".")
        if not chosen.simulates:
            raise InfluenceError(
                f"variance_estimator={chosen.name!r} needs an influence function: {reason}."
            ) from error
        warning = FallbackWarning(
            f"the standard bootstrap is used instead of variance_estimator={chosen.name!r}: {reason}. It needs more "
            'refits for the same precision: see `simulation_error`, raise `n_resamples`, or use "cheap", whose '
            "intervals allow for few."
        )
        return ESTIMATORS["standard"], None, [warning]


def check_enough(kept: Refits, estimator: Estimator) -> None:
    """Raise where too many refits failed for the estimator."""
    if len(kept) < estimator.minimum:
        asker, cause = f"variance_estimator={estimator.name!r}", f"The first failure was: {kept.first_failure}."
        got = f"only {len(kept)} of {len(kept) + len(kept.failures)} refits succeeded"
        raise ReplicationError(too_few_replicates(asker, estimator.minimum, got, cause))
