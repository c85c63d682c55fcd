"""Statistics with a formula in the weights and in quantities derived from the data once."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import OrthobootWarning
from orthoboot.functionals.base import Covariance, Functional, Prepared
from orthoboot.functionals.evaluation import NO_FITS, Convergence
from orthoboot.functionals.means_form import MeansForm
from orthoboot.functionals.output import Output
from orthoboot.typing import BoolArray, FloatArray, Influence, IntArray

Derived = TypeVar("Derived")

_OUTPUTS_IN_A_PASS = 32
"""Outputs whose sums take about as long as drawing the rows."""


class Formula(Functional, Generic[Derived]):
    """A statistic with formulas for its value, influence function and bias.

    A subclass gives `derived`, `values`, `output` and `influence`; each takes the statistic at its data, which has
    `at.data`, `at.derived` and `at.estimate`.
    """

    def at(self, data: Data) -> PreparedFormula[Derived]:
        """Return the statistic at `data`, not checked yet."""
        return PreparedFormula(self, data)

    @abstractmethod
    def derived(self, data: Data) -> Derived:
        """Return what is derived from the data once, such as features or the order of the rows."""

    @abstractmethod
    def values(self, at: PreparedFormula[Derived], resamples: Resamples) -> FloatArray:
        """Return its values at the given weights, shape ``(B, k)``."""

    @abstractmethod
    def output(self, at: PreparedFormula[Derived]) -> Output:
        """Return the shape and the names of its value."""

    def check(self, at: PreparedFormula[Derived]) -> None:
        """Raise a `DataError` if the statistic does not exist for the data."""

    def check_rows(self, at: PreparedFormula[Derived]) -> None:
        """Raise a `DataError` if the statistic exists with no weights of the rows; what `check` says by default."""
        self.check(at)

    def influence(self, at: PreparedFormula[Derived]) -> Influence | None:
        """Return its influence function on the rows, or None if it has none in closed form."""
        return None

    def at_rows(self, at: PreparedFormula[Derived], rows: tuple[IntArray, ...]) -> PreparedFormula[Derived] | None:
        """Return the statistic at some rows, from what is derived from all; None where it must be derived anew."""
        return None

    def linear(self, at: PreparedFormula[Derived], resamples: Resamples) -> FloatArray | None:
        """Return its linear part on the resamples, shape ``(B, k)``, or None where that needs influence values."""
        return None

    def findings(self, at: PreparedFormula[Derived]) -> tuple[OrthobootWarning, ...]:
        """Return warnings about the statistic on these data."""
        return ()

    def own_values(self, at: PreparedFormula[Derived], resamples: Resamples) -> FloatArray | None:
        """Return output j on resample j alone, shape ``(k,)``; None where that is no cheaper than all of them."""
        return None

    def fixed(self, at: PreparedFormula[Derived]) -> BoolArray | None:
        """Return which outputs are constants by definition, shape ``(k,)``; None where none is."""
        return None

    def influence_source(self) -> str:
        """Return a description of the source of its influence function."""
        return f"closed form of `{self.name}`"

    def second_order_bias(self, at: PreparedFormula[Derived], covariance: Covariance) -> FloatArray | None:
        """Return ``(1/2) tr(second derivative . Cov)``, shape ``(k,)``, or None where it has no closed form."""
        return None

    def means_form(self, at: PreparedFormula[Derived]) -> MeansForm | None:
        """Return it as a smooth function of means that costs next to nothing, or None where it is not one."""
        return None

    def work(self, at: PreparedFormula[Derived]) -> float:
        """Return how many rows added up cost as much as one replicate."""
        return sum(at.data.sizes) * max(at.output.size / _OUTPUTS_IN_A_PASS, 1.0)


@dataclass(frozen=True, eq=False)
class PreparedFormula(Prepared[Formula[Any]], Generic[Derived]):
    """A statistic with a formula at its data."""

    @cached_property
    def derived(self) -> Derived:
        """Return what the statistic derives from the data."""
        with np.errstate(all="ignore"):  # what is not finite shows in its values
            derived: Derived = self.functional.derived(self.data)
        return derived

    def check(self) -> None:
        """Raise a `DataError` if the statistic does not exist for the data."""
        self.functional.check(self)

    def check_rows(self) -> None:
        """Raise a `DataError` if the statistic exists with no weights of the rows."""
        self.functional.check_rows(self)

    @cached_property
    def output(self) -> Output:
        """Return the shape and the names of its value."""
        return self.functional.output(self)

    def values(self, resamples: Resamples) -> FloatArray:
        """Return its values on the resamples, shape ``(B, k)``; one that is not finite is a failed replicate."""
        with np.errstate(all="ignore"):
            return self.functional.values(self, resamples)

    def own_values(self, resamples: Resamples) -> FloatArray | None:
        """Return output j on resample j alone, shape ``(k,)``; None where that is no cheaper than all of them."""
        with np.errstate(all="ignore"):
            return self.functional.own_values(self, resamples)

    def influence(self) -> Influence | None:
        """Return its influence function on the rows; one that is not finite is none."""
        with np.errstate(all="ignore"):
            return self.functional.influence(self)

    def influence_of_rows(self, rows: tuple[IntArray, ...]) -> Influence | None:
        """Return its influence function on some rows of each sample, taken as data of their own."""
        with np.errstate(all="ignore"):
            known = self.functional.at_rows(self, rows)
            return super().influence_of_rows(rows) if known is None else known.influence()

    def linear(self, resamples: Resamples) -> FloatArray | None:
        """Return its linear part on the resamples, shape ``(B, k)``, or None where that needs influence values."""
        with np.errstate(all="ignore"):
            return self.functional.linear(self, resamples)

    @property
    def fixed(self) -> BoolArray | None:
        """Return which outputs are constants by definition, shape ``(k,)``; None where none is."""
        return self.functional.fixed(self)

    @property
    def influence_source(self) -> str:
        """Return a description of the source of its influence function."""
        return self.functional.influence_source()

    def findings(self, convergence: Convergence = NO_FITS) -> tuple[OrthobootWarning, ...]:
        """Return warnings about the statistic on these data."""
        return self.functional.findings(self)

    def second_order_bias(self, covariance: Covariance) -> FloatArray | None:
        """Return ``(1/2) tr(second derivative . Cov)``, shape ``(k,)``, or None where it has no closed form."""
        return self.functional.second_order_bias(self, covariance)

    def means_form(self) -> MeansForm | None:
        """Return it as a smooth function of means, or None where it is not one."""
        return self.functional.means_form(self)

    @property
    def work(self) -> float:
        """Return how many rows added up cost as much as one replicate."""
        return self.functional.work(self)
