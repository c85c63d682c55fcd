"""A statistic in units of its own size, so that squares of its numbers neither overflow nor vanish."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from orthoboot.draws.resamples import Resamples
from orthoboot.errors import OrthobootWarning
from orthoboot.functionals.base import Covariance, Functional, Prepared
from orthoboot.functionals.evaluation import NO_FITS, Convergence, Evaluation
from orthoboot.functionals.output import Output
from orthoboot.typing import BoolArray, FloatArray, Influence, IntArray


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
    def needs_weights(self) -> bool:
        """Return whether it takes the weight of every row."""
        return self.of.needs_weights

    @property
    def fixed(self) -> BoolArray | None:
        """Return which outputs are constants by definition."""
        return self.of.fixed

    @property
    def limits(self) -> tuple[FloatArray, FloatArray]:
        """Return the lowest and the highest value of each output, each of shape ``(k,)``."""
        low, high = self.of.limits
        return low / self.unit, high / self.unit

    @property
    def work(self) -> float | None:
        """Return how many rows added up cost as much as one replicate."""
        return self.of.work

    @property
    def exact_influence(self) -> bool:
        """Return whether its influence function is its derivative."""
        return self.of.exact_influence

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

    def influence_of_rows(self, rows: tuple[IntArray, ...]) -> Influence | None:
        """Return its influence function on some rows of each sample."""
        influence = self.of.influence_of_rows(rows)
        return None if influence is None else tuple(part / self.unit for part in influence)

    def own_values(self, resamples: Resamples) -> FloatArray | None:
        """Return output j on resample j alone."""
        values = self.of.own_values(resamples)
        return None if values is None else values / self.unit

    @property
    def bias_is_cheap(self) -> bool:
        """Return whether its bias of second order costs less than a few of its replicates."""
        return self.of.bias_is_cheap

    def second_order_bias(self, covariance: Covariance) -> FloatArray | None:
        """Return its bias of second order, shape ``(k,)``, or None where it has no closed form."""
        bias = self.of.second_order_bias(covariance)
        return None if bias is None else bias / self.unit
