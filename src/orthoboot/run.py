"""Everything a replicate is a function of, besides its number."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.functionals import Functional, Output
from orthoboot.influence import FINITE_DIFFERENCE_ROWS, Found, finite_difference_bias, influence_for
from orthoboot.plans import Iid, Plan
from orthoboot.typing import FloatArray, Influence, Key

COUNTS_AT_ONCE = 1 << 21
"""Counts held at once: 16 MB, or those of one resample where the data are larger."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """The statistic, the data, the plan and the seed of one run.

    Attributes
    ----------
    functional, data, plan, key
        The statistic, the rows, how they are resampled, and the seed.
    output
        The shape and names of the statistic's value.
    estimate
        phi_hat, shape ``(k,)``.
    influence
        One ``(n_i, k)`` array per sample, centred, or None.
    influence_source
        Which influence function it is, and why, in words.
    batch
        How many resamples are drawn at once; None for what fits in memory.
    progress
        Whether to show a progress bar; None for long work on a terminal.
    """

    functional: Functional
    data: Data
    plan: Plan
    key: Key
    output: Output
    estimate: FloatArray
    influence: Influence | None
    influence_source: str
    batch: int | None = None
    progress: bool | None = None

    @cached_property
    def linear_mean(self) -> FloatArray:
        """Return the exact mean of the linear part under the plan, shape ``(k,)``; zero except for moving blocks."""
        return np.zeros_like(self.estimate) if self.influence is None else self.plan.mean(self.influence)

    @cached_property
    def linear_variance(self) -> FloatArray | None:
        """Return the exact variance V of the linear part under the plan, shape ``(k,)``."""
        return None if self.influence is None else self.plan.variance(self.influence)

    def linear_covariance(self) -> FloatArray:
        """Return the exact covariance of the linear part, shape ``(k, k)``; zero without an influence function."""
        k = len(self.estimate)
        return np.zeros((k, k)) if self.influence is None else self.plan.covariance(self.influence)

    def evaluate(self, weights: tuple[FloatArray, ...]) -> FloatArray:
        """Return the statistic at weights of the caller's choice, shape ``(B, k)``."""
        return self.functional.evaluate(self.data, Resamples(weights))

    def linear(self, resamples: Resamples) -> FloatArray | None:
        """Return linear_b, centred at its exact mean: ``sum_i (1/n_i) weights_i . influence_i``, shape ``(B, k)``."""
        if self.influence is None:
            return None
        parts = [resamples.sums(i, part) / len(part) for i, part in enumerate(self.influence)]
        total: FloatArray = np.sum(parts, axis=0)
        return total - self.linear_mean

    @property
    def batch_size(self) -> int:
        """Return how many resamples are drawn and evaluated at once."""
        if self.batch is not None:
            return self.batch
        return max(COUNTS_AT_ONCE // sum(self.data.sizes), 1) if self.functional.batched else 1

    def with_influence(self, found: Found) -> Simulation:
        """Return the same run with another influence function."""
        return replace(self, influence=found.values, influence_source=found.source)

    def find_influence(self, request: Any) -> Found:
        """Return the influence function that `request` asks for; see `influence_for`."""
        return influence_for(request, self.functional, self.data, self.output, self.progress)

    @cached_property
    def second_order_bias(self) -> FloatArray | None:
        """Return the infinitesimal jackknife's bias, shape ``(k,)``, or None where it would cost too much.

        In closed form where the statistic has one, else by second differences: two evaluations a row. Where the linear
        part has a mean of its own, as for moving blocks, that is a bias too.
        """
        closed = self.functional.second_order_bias(self.data, self.plan.covariance)
        if closed is not None:
            return closed + self.linear_mean
        independent = all(isinstance(scheme, Iid) for scheme in self.plan.schemes)
        if not (independent and self.functional.fractional and max(self.data.sizes) <= FINITE_DIFFERENCE_ROWS):
            return None
        return finite_difference_bias(self.functional, self.data)
