"""A statistic in units of its own size, so that squares of its numbers neither overflow nor vanish."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from orthoboot.arrays.passes import ranges, sums_of_squares
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import OrthobootWarning
from orthoboot.functionals.base import Covariance, Functional, Prepared
from orthoboot.functionals.evaluation import NO_FITS, Convergence, Evaluation
from orthoboot.functionals.output import Output
from orthoboot.typing import BoolArray, FloatArray

_ORDINARY = 100
"""Sizes from 2**-100 to 2**100 need no units: their cubes are numbers too."""


def power_of_two(size: FloatArray) -> FloatArray:
    """Return the powers of two next to `size`; one where it is ordinary, zero or not finite.

    Dividing by a power of two changes no digit.

    Examples
    --------
    >>> power_of_two(np.array([0.0, 3.0, 2.0**500])) == np.array([1.0, 1.0, 2.0**500])
    array([ True,  True,  True])
    """
    usable = np.isfinite(size) & (size > 0)
    exponent = np.round(np.log2(np.where(usable, size, 1.0)))
    # Beyond the normal numbers the reciprocal would overflow.
    bounded = np.clip(exponent, -1000, 1000)
    return np.asarray(np.exp2(np.where(np.abs(exponent) > _ORDINARY, bounded, 0.0)))


def divided(columns: FloatArray, unit: FloatArray) -> FloatArray:
    """Return the columns divided by their units; the same array where all are one, which they mostly are."""
    return columns if (unit == 1).all() else columns / unit


def times_unit(values: FloatArray, unit: FloatArray | float) -> FloatArray:
    """Return values ``(m, k)`` multiplied by their units; the same array where all are one, which they mostly are."""
    return values if np.all(np.equal(unit, 1)) else values * unit


def root_mean_square(columns: FloatArray) -> FloatArray:
    """Return the root of the mean of the squares of each column ``(n, p)``, of any size, shape ``(p,)``."""
    unit = power_of_two(ranges(columns).largest)
    return unit * np.sqrt(sums_of_squares(divided(columns, unit)) / len(columns))


@dataclass(frozen=True, eq=False)
class PreparedInUnits(Prepared[Functional]):
    """A statistic at its data, divided by a unit for each output.

    Attributes
    ----------
    of
        The statistic.
    unit
        Shape ``(k,)``.
    """

    of: Prepared[Any]
    unit: FloatArray

    @property
    def output(self) -> Output:
        """Return the shape and the names of its value."""
        return self.of.output

    @property
    def fixed(self) -> BoolArray | None:
        """Return which outputs are constants by definition."""
        return self.of.fixed

    @cached_property
    def estimate(self) -> FloatArray:
        """Return its value on the data, shape ``(k,)``."""
        return self.of.estimate / self.unit

    @cached_property
    def centre(self) -> FloatArray:
        """Return its value at weights of one, shape ``(k,)``."""
        return self.of.centre / self.unit

    def findings(self, convergence: Convergence = NO_FITS) -> tuple[OrthobootWarning, ...]:
        """Return warnings about the statistic on these data and about its refits."""
        return self.of.findings(convergence)

    def values(self, resamples: Resamples) -> FloatArray:
        """Return its values on the resamples, shape ``(B, k)``."""
        return self.of.values(resamples) / self.unit

    def evaluate(self, resamples: Resamples) -> Evaluation:
        """Return its value on each resample, or the reason of its failure."""
        evaluation = self.of.evaluate(resamples)
        return replace(evaluation, values=evaluation.values / self.unit)

    def linear(self, resamples: Resamples) -> FloatArray | None:
        """Return its linear part on the resamples, shape ``(B, k)``, where that needs no influence values."""
        linear = self.of.linear(resamples)
        return None if linear is None else linear / self.unit

    def own_values(self, resamples: Resamples) -> FloatArray | None:
        """Return output j on resample j alone."""
        values = self.of.own_values(resamples)
        return None if values is None else values / self.unit

    def second_order_bias(self, covariance: Covariance) -> FloatArray | None:
        """Return its bias of second order, shape ``(k,)``, or None where it has no closed form."""
        bias = self.of.second_order_bias(covariance)
        return None if bias is None else bias / self.unit
