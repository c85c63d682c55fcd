"""The interface of controls beyond the linear part."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from orthoboot.draws.resamples import Resamples
from orthoboot.typing import BoolArray, FloatArray

_GROUPS = 20
"""Groups of draws that are left out in turn, to learn how far what they say can be trusted."""

FAR_DRAWS, HEAVY_TAIL = 500, 0.15
"""One draw in so many may carry at most this share of the variance: of a normal law it is .03, of kurtosis nine .06."""


@dataclass(frozen=True, eq=False)
class SimulatedLaw:
    """The draws from which the law of a control is known, where it has no closed form.

    Attributes
    ----------
    control, linear
        The control and the linear part on the draws, shape ``(N, k)`` each.
    means_without, variances_without
        Mean and variance of the control without each of the groups of draws, shape ``(G, k)``.
    limited_mean, limited_log_variance
        What limits do to the mean and to the logarithm of the variance, shape ``(k,)``: the change where they were
        twice as far; zero where nothing is limited.
    """

    control: FloatArray
    linear: FloatArray
    means_without: FloatArray
    variances_without: FloatArray
    limited_mean: FloatArray | float = 0.0
    limited_log_variance: FloatArray | float = 0.0


def without_groups(n_draws: int) -> list[BoolArray]:
    """Return which draws are left without each of twenty groups, as near to equal in size as can be."""
    group = np.arange(n_draws) % _GROUPS
    return [group != each for each in range(_GROUPS)]


def tail_shares(draws: FloatArray) -> FloatArray:
    """Return the share of the variance that the farthest of the draws ``(N, k)`` of each output carry, ``(k,)``."""
    squares = np.sort((draws - draws.mean(axis=0)) ** 2, axis=0)
    total, far = squares.sum(axis=0), squares[-max(len(draws) // FAR_DRAWS, 1) :].sum(axis=0)
    return np.asarray(np.divide(far, total, out=np.zeros_like(total), where=total > 0))


@dataclass(frozen=True, eq=False)
class ControlValues:
    """A control on the resamples of some replicates, with its moments under the plan.

    Attributes
    ----------
    values
        C_b, less its mean, shape ``(B, k)``.
    mean
        The mean of C, shape ``(k,)``: the bias of the statistic as far as the control knows it.
    variance
        Its variance, shape ``(k,)``.
    covariance
        Returns its covariance, shape ``(k, k)``.
    law
        The draws that mean and variance come from; None if they are exact.
    second_order
        The exact variance of the quadratic part, shape ``(k,)``, where it is known.
    slope_doubt
        How far the slope of the statistic on it may be off one, in terms of the variance beyond L over that of L, shape
        ``(k,)``; infinite where nothing is known of the third order.
    is_limited
        Where it goes no farther than the replicates themselves have gone, since it was contradicted, shape ``(k,)``.
    """

    values: FloatArray
    mean: FloatArray
    variance: FloatArray
    covariance: Callable[[], FloatArray]
    law: SimulatedLaw | None = None
    second_order: FloatArray | None = None
    slope_doubt: FloatArray | float = np.inf
    is_limited: BoolArray | bool = False


class Control(ABC):
    """What is known of ``phi_b - phi_hat`` beyond the linear part, from the resample alone."""

    name: str
    """What users write."""

    @abstractmethod
    def on(self, resamples: Resamples, linear: FloatArray, changes: FloatArray) -> ControlValues:
        """Return the control on the resamples of replicates.

        Parameters
        ----------
        linear
            Their linear part, of mean zero, shape ``(B, k)``.
        changes
            ``phi_b - phi_hat``, shape ``(B, k)``.
        """

    @abstractmethod
    def in_unit(self, unit: FloatArray) -> Control:
        """Return the control of the outputs divided by a unit each, a power of two, shape ``(k,)``."""

    @property
    @abstractmethod
    def description(self) -> str:
        """Return in words what it is and what it took."""
