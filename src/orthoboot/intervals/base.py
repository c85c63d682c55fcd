"""What an interval method is: from the replicates to two ends and their simulation errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from orthoboot.estimators import Estimator, EstimatorError, estimator_error, moments
from orthoboot.replicates import Replicates
from orthoboot.simulation import Simulation
from orthoboot.typing import FloatArray


@dataclass(frozen=True)
class Evidence:
    """What an interval rests on: how the replicates arose, the replicates, and the estimator that reads them."""

    simulation: Simulation
    replicates: Replicates
    estimator: Estimator

    @property
    def estimate(self) -> FloatArray:
        """Return phi_hat, shape ``(k,)``."""
        return self.replicates.estimate

    @cached_property
    def bias(self) -> FloatArray:
        """Return the bias, shape ``(k,)``."""
        return self.estimator.bias(moments(self.replicates))

    @cached_property
    def standard_error(self) -> FloatArray:
        """Return the standard error, shape ``(k,)``."""
        return np.sqrt(self.estimator.variance(moments(self.replicates)))

    @cached_property
    def error(self) -> EstimatorError:
        """Return the simulation error of bias and variance."""
        return estimator_error(self.estimator, self.replicates)


@dataclass(frozen=True)
class Ends:
    """The lower and the upper end, each ``(k,)``, and their simulation errors."""

    low: FloatArray
    high: FloatArray
    low_error: FloatArray
    high_error: FloatArray


class Interval(ABC):
    """A way to turn evidence into an interval."""

    name: str
    needs_influence: bool = False

    def check(self, simulation: Simulation, estimator: Estimator, n_resamples: int) -> None:  # noqa: B027
        """Raise an `ArgumentError` if the method would not be sound; asked before the first replicate."""

    @abstractmethod
    def quantiles(self, evidence: Evidence, probabilities: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
        """Return the ends that leave `probabilities` below them, each ``(k,)``."""

    @abstractmethod
    def errors(self, evidence: Evidence, probabilities: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
        """Return the simulation error of each end, each ``(k,)``."""

    def ends(self, evidence: Evidence, confidence_level: float, alternative: str) -> Ends:
        """Return the interval: two-sided, or open to the side that `alternative` leaves free, as in scipy."""
        self.check(evidence.simulation, evidence.estimator, len(evidence.replicates))
        tail = (1 - confidence_level) / 2 if alternative == "two-sided" else 1 - confidence_level
        probabilities = (tail, 1 - tail)
        low, high = self.quantiles(evidence, probabilities)
        low_error, high_error = self.errors(evidence, probabilities)
        nothing = np.zeros_like(low)
        if alternative == "less":
            low, low_error = np.full_like(low, -np.inf), nothing
        if alternative == "greater":
            high, high_error = np.full_like(high, np.inf), nothing
        return Ends(low, high, low_error, high_error)
