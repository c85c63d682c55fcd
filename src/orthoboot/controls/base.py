"""The interface of controls beyond the linear part."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

from orthoboot.draws.resamples import Resamples
from orthoboot.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class SimulatedLaw:
    """The draws from which the law of a control is known, where it has no closed form.

    Attributes
    ----------
    control, linear
        The control and the linear part on the draws, shape ``(N, k)`` each.
    means_without, variances_without
        Mean and variance of the control with each group of the draws left out, shape ``(G, k)``: draw i belongs to
        group i modulo G.
    """

    control: FloatArray
    linear: FloatArray
    means_without: FloatArray
    variances_without: FloatArray


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
    """

    values: FloatArray
    mean: FloatArray
    variance: FloatArray
    covariance: Callable[[], FloatArray]
    law: SimulatedLaw | None = None

    def select(self, keep: IntArray | slice) -> ControlValues:
        """Return the values of some of the replicates."""
        return replace(self, values=self.values[keep])


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
