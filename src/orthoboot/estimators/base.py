"""The interface of estimators: pure functions from replicates to bias and variance."""

from __future__ import annotations

from abc import ABC, abstractmethod

from orthoboot.estimators.moments import Moments
from orthoboot.replicates import Replicates
from orthoboot.typing import FloatArray


class Estimator(ABC):
    """A way to turn replicates into a bias and a variance."""

    name: str
    """What users write."""
    title: str
    """How a report calls it."""
    needs_influence: bool
    """Whether it is defined only with an influence function."""
    simulates: bool = True
    """Whether it uses replicates at all."""
    minimum: int
    """The fewest replicates it is defined for."""
    default_resamples: int
    """How many replicates a run has where the user does not say."""
    always_t: bool = False
    """Whether its standard error is meant for t quantiles even in the normal interval."""

    @abstractmethod
    def bias(self, moments: Moments) -> FloatArray:
        """Return the bias of each output, for sums over all replicates or with one left out."""

    @abstractmethod
    def variance(self, moments: Moments) -> FloatArray:
        """Return the variance of each output, for sums over all replicates or with one left out."""

    @abstractmethod
    def covariance(self, replicates: Replicates, linear_covariance: FloatArray) -> FloatArray:
        """Return the covariance matrix of the outputs, shape ``(k, k)``; its diagonal is `variance`.

        `linear_covariance` is the exact one of the linear part, zero without an influence function.
        """

    def degrees_of_freedom(self, n_resamples: int, equivalent_resamples: FloatArray) -> FloatArray | float | None:
        """Return the degrees of freedom of a t interval, shape ``(k,)`` or one number; None for the normal limit."""
        return equivalent_resamples - 1
