"""The interface of estimators: pure functions from replicates to bias and variance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from orthoboot.estimators.moments import Moments
from orthoboot.replicates import Replicates
from orthoboot.typing import FloatArray


@dataclass(frozen=True, eq=False)
class Sample:
    """What a covariance matrix is made of.

    Attributes
    ----------
    replicates, moments
        The replicates and their sums.
    linear_covariance
        The exact covariance of the linear part, shape ``(k, k)``; zero without an influence function.
    control_covariance
        That of the control which is used beside it, if there is one.
    """

    replicates: Replicates
    moments: Moments
    linear_covariance: FloatArray
    control_covariance: FloatArray | None = None


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
    takes_free_replicates: bool = False
    """Whether a run has more than that where they cost next to nothing."""
    uses_control: bool = False
    """Whether it uses a control that comes nearer to the statistic than the linear part, where there is one."""
    always_t: bool = False
    """Whether its standard error is meant for t quantiles even in the normal interval."""

    @abstractmethod
    def bias(self, moments: Moments) -> FloatArray:
        """Return the bias of each output, for sums over all replicates or with one left out."""

    @abstractmethod
    def variance(self, moments: Moments) -> FloatArray:
        """Return the variance of each output, for sums over all replicates or with one left out."""

    @abstractmethod
    def covariance(self, sample: Sample) -> FloatArray:
        """Return the covariance matrix of the outputs, shape ``(k, k)``; its diagonal is `variance`."""

    def is_exact(self, moments: Moments) -> bool:
        """Return whether these replicates leave nothing to simulate: without any of them the answer is the same."""
        return False

    def error_inflation(self, moments: Moments) -> FloatArray:
        """Return what the jackknife's error of log variance is multiplied by, shape ``(k,)``."""
        return np.ones_like(moments.shift)

    def least_error(self, moments: Moments) -> FloatArray:
        """Return the least that the jackknife's error of log variance is taken for, shape ``(k,)``."""
        return np.zeros_like(moments.shift)

    def doubt(self, moments: Moments) -> FloatArray:
        """Return a further error of the logarithm of the variance, shape ``(k,)``, that no jackknife shows."""
        return np.zeros_like(moments.shift)

    def bias_doubt(self, moments: Moments) -> FloatArray:
        """Return a further error of the bias, shape ``(k,)``, that no jackknife shows."""
        return np.zeros_like(moments.shift)

    def degrees_of_freedom(self, n_resamples: int, equivalent_resamples: FloatArray) -> FloatArray | float | None:
        """Return the degrees of freedom of a t interval, shape ``(k,)`` or one number; None for the normal limit."""
        return equivalent_resamples - 1
