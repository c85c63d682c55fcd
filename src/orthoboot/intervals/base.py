"""The interface of interval methods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from orthoboot.errors import OrthobootWarning
from orthoboot.estimators import Estimator
from orthoboot.estimators.estimation import Estimation
from orthoboot.functionals import Functional
from orthoboot.intervals.simultaneous import Maximum, maximum_of
from orthoboot.plans import Plan
from orthoboot.typing import BoolArray, FloatArray

Probabilities = tuple[float, float]
"""What the lower and the upper end leave below them."""


@dataclass(frozen=True, eq=False)
class Ends:
    """The lower and the upper end, each ``(k,)``, with simulation errors and warnings.

    `method` is the name of the interval that was chosen, and `reason` why, where the method was to be chosen.
    """

    low: FloatArray
    high: FloatArray
    low_error: FloatArray
    high_error: FloatArray
    warnings: tuple[OrthobootWarning, ...] = ()
    method: str = ""
    reason: str = ""

    def times(self, unit: FloatArray) -> Ends:
        """Return the ends multiplied by the unit of each output, shape ``(k,)``."""
        low_error, high_error = unit * self.low_error, unit * self.high_error
        return replace(self, low=unit * self.low, high=unit * self.high, low_error=low_error, high_error=high_error)


@dataclass(frozen=True, eq=False)
class Exclusion:
    """The tail probabilities of ends that exclude a value, each ``(k,)``.

    Attributes
    ----------
    tail
        The smallest; NaN where there is no interval.
    is_limit
        Whether every end that there is excludes the value, so that the tail is only the smallest that can be shown.
    """

    tail: FloatArray
    is_limit: BoolArray


class Interval(ABC):
    """A method that makes an interval from an estimation."""

    name: str
    """What users write."""
    needs_influence: bool = False
    """Whether it needs influence values even where the estimator does not."""
    needs_linear_law: bool = False
    """Whether it takes the whole distribution of the linear part, where the estimator has one."""
    needs_influence_of_resamples: bool = False
    """Whether it needs the influence function of every resample, and so all rows at hand."""
    why_many: str = ""
    """Why it needs many replicates whatever the estimator, a sentence for the refusal of fewer."""

    def least_resamples(self, estimator: Estimator) -> int:
        """Return the fewest replicates for which the method is valid with `estimator`."""
        return estimator.minimum

    def default_resamples(self, estimator: Estimator) -> int:
        """Return how many replicates to draw at least where the user does not say."""
        return self.least_resamples(estimator)

    def check(self, functional: Functional, plan: Plan, estimator: Estimator) -> None:  # noqa: B027
        """Raise an `ArgumentError` if the method is not valid here; called before anything is evaluated."""

    @abstractmethod
    def ends(self, estimation: Estimation, probabilities: Probabilities) -> Ends:
        """Return the ends with `probabilities` below them; NaN with a warning where they do not exist."""

    @abstractmethod
    def exclusion(self, estimation: Estimation, null: FloatArray, above: BoolArray) -> Exclusion:
        """Return the smallest tail probability with which an end excludes `null`.

        Parameters
        ----------
        estimation
            In units.
        null
            A value for each output, shape ``(k,)``.
        above
            Whether the lower end is to lie above the value, else the upper end below it, shape ``(k,)``.
        """

    def degrees(self, estimation: Estimation) -> FloatArray | float | None:
        """Return the degrees of freedom of the standardised outputs, shape ``(k,)`` or one number; None if normal."""
        return None

    def maximum(self, estimation: Estimation, alternative: str) -> Maximum:
        """Return the law of the largest standardised output."""
        covariance = estimation.in_units.covariance
        return maximum_of(covariance, self.degrees(estimation), two_sided=alternative == "two-sided")

    def simultaneous_level(self, estimation: Estimation, confidence_level: float, alternative: str) -> float:
        """Return the level of each output's interval at which all of them together have `confidence_level`."""
        return 1 - self.maximum(estimation, alternative).tail(1 - confidence_level).probability

    def interval(
        self, estimation: Estimation, confidence_level: float, alternative: str, *, simultaneous: bool = False
    ) -> Ends:
        """Return the interval: two-sided, or open to the side that `alternative` leaves free, as in scipy."""
        if simultaneous and len(estimation.estimate) > 1:
            confidence_level = self.simultaneous_level(estimation, confidence_level, alternative)
        tail = (1 - confidence_level) / 2 if alternative == "two-sided" else 1 - confidence_level
        ends = self.ends(estimation.in_units, (tail, 1 - tail)).times(estimation.unit)
        ends = replace(ends, method=ends.method or self.name)
        nothing = np.zeros_like(ends.low)
        if alternative == "less":
            return replace(ends, low=np.full_like(ends.low, -np.inf), low_error=nothing)
        if alternative == "greater":
            return replace(ends, high=np.full_like(ends.high, np.inf), high_error=nothing)
        return ends
