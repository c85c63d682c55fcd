"""Resampling plans of several independent samples: one scheme for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orthoboot.plans.base import Draws, Scheme, total
from orthoboot.plans.drawn import DrawnResamples
from orthoboot.typing import FloatArray, Influence, IntArray, Key


@dataclass(frozen=True, eq=False)
class PlanCovariance:
    """The exact covariance of linear parts under a plan, as a function of them."""

    plan: Plan

    def __call__(self, influence: Influence) -> FloatArray:
        """Return the exact covariance of the linear part, shape ``(k, k)``."""
        return self.plan.covariance(influence)

    def category_variances(self, sample: int, codes: IntArray) -> FloatArray | None:
        """Return the variance of each category's share of a sample; see `Scheme.category_variances`."""
        return self.plan.schemes[sample].category_variances(codes)

    def with_counts(self, sample: int, influence: FloatArray) -> FloatArray | None:
        """Return ``Cov(counts) @ influence / n`` for the rows of a sample, shape ``(n, k)``; None for blocks."""
        return self.plan.schemes[sample].tilt(influence)


@dataclass(frozen=True)
class Plan:
    """One scheme per independent sample."""

    schemes: tuple[Scheme, ...]

    def resamples(self, key: Key, replicates: Sequence[int]) -> DrawnResamples:
        """Return the resamples with the numbers `replicates`; each depends on `key` and its own number alone."""
        return DrawnResamples(self.schemes, key, replicates)

    def of_rows(self, rows: Sequence[IntArray]) -> Plan:
        """Return the plan that draws from a resample, given by its rows, as this one draws from the data."""
        return Plan(tuple(scheme.of_rows(part) for scheme, part in zip(self.schemes, rows, strict=True)))

    def mean(self, influence: Influence) -> FloatArray:
        """Return the exact mean of the linear part, shape ``(k,)``."""
        return total(s.mean(part) for s, part in self.parts(influence))

    def variance(self, influence: Influence) -> FloatArray:
        """Return the exact variance of the linear part, shape ``(k,)`` (lemma ``lem: influence var``)."""
        return total(s.variance(part) for s, part in self.parts(influence))

    def third_cumulant(self, influence: Influence) -> FloatArray:
        """Return the exact third cumulant of the linear part, shape ``(k,)``."""
        return total(s.third_cumulant(part) for s, part in self.parts(influence))

    def covariance(self, influence: Influence) -> FloatArray:
        """Return the exact covariance of the linear part, shape ``(k, k)``; the samples are independent, so it adds."""
        return total(s.covariance(part) for s, part in self.parts(influence))

    def parts(self, influence: Influence) -> Iterator[tuple[Scheme, FloatArray]]:
        """Yield the scheme of each sample and the influence of its rows, as the scheme takes it."""
        return ((scheme, scheme.usable(part)) for scheme, part in zip(self.schemes, influence, strict=True))

    @property
    def description(self) -> str:
        """Return a description of what is resampled, sample by sample."""
        words = " + ".join(scheme.description for scheme in self.schemes)
        return words.replace(" rows + ", " + ") if words.endswith(" rows") and " in " not in words else words

    @property
    def block_lengths(self) -> tuple[int | None, ...]:
        """Return the rows of a block of each sample, None for one that is not drawn in blocks."""
        return tuple(scheme.block_length for scheme in self.schemes)

    @property
    def automatic_lengths(self) -> tuple[int, ...]:
        """Return the lengths of blocks that were found from the data, of those samples that have one."""
        found = ((scheme.block_length, scheme.automatic) for scheme in self.schemes)
        return tuple(length for length, automatic in found if automatic and length is not None)

    @property
    def has_draws(self) -> bool:
        """Return whether the linear part is a sum of independent draws, so that its law is known."""
        return all(scheme.has_draws for scheme in self.schemes)

    @property
    def has_tilt(self) -> bool:
        """Return whether rows, strata or groups are drawn independently, as second-order intervals need."""
        return all(scheme.has_tilt for scheme in self.schemes)

    def draws(self, influence: Influence) -> tuple[Draws, ...] | None:
        """Return the linear part as a sum of independent draws, or None if it is not one."""
        parts = [scheme.draws(part) for scheme, part in self.parts(influence)]
        if any(part is None for part in parts):
            return None
        return tuple(draws for part in parts if part is not None for draws in part)

    def tilt(self, influence: Influence) -> Influence | None:
        """Return the direction in which ABC tilts the weights of each sample, or None if a scheme has none."""
        parts = [scheme.tilt(part) for scheme, part in self.parts(influence)]
        if any(part is None for part in parts):
            return None
        return tuple(part for part in parts if part is not None)
