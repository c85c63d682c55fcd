"""What every way of drawing a resample offers, and the product of such ways over independent samples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from orthoboot.draws.resamples import Resamples
from orthoboot.typing import FloatArray, Influence, IntArray, Key


@dataclass(frozen=True, eq=False)
class Draws:
    """`number` independent draws, uniform on the rows of `values`; their sum is (a part of) the linear part.

    Attributes
    ----------
    number
        How many independent draws.
    values
        The population, shape ``(size, k)``.
    """

    number: int
    values: FloatArray


class Scheme(ABC):
    """How one sample of `n` rows is resampled."""

    n: int
    unit: ClassVar[str] = "rows"
    """What is drawn independently, in words."""
    has_draws: ClassVar[bool] = True
    """Whether `draws` gives independent draws."""
    has_tilt: ClassVar[bool] = True
    """Whether `tilt` gives a direction."""
    ordered: ClassVar[bool] = False
    """Whether the order of the rows in a resample means something, as in a time series."""

    @property
    def n_units(self) -> int:
        """Return how many independent draws make a resample: rows, groups or blocks."""
        return self.n

    @property
    def description(self) -> str:
        """Return in words what is resampled, for example "600 rows in 30 groups"."""
        return f"{self.n:,} rows"

    @abstractmethod
    def indices(self, key: Key, stream: int, replicate: int) -> IntArray:
        """Return the rows of one resample, in drawing order where the order means something."""

    def store_counts(self, key: Key, stream: int, replicate: int, out: FloatArray) -> None:
        """Write how often each row is in the resample into `out`, contiguous and of shape ``(n,)``."""
        out[:] = np.bincount(self.indices(key, stream, replicate), minlength=self.n)

    def counts(self, key: Key, stream: int, replicate: int) -> FloatArray:
        """Return how often each row is in the resample, shape ``(n,)``: the same draw as `indices`."""
        counts = np.empty(self.n)
        self.store_counts(key, stream, replicate, counts)
        return counts

    @abstractmethod
    def draws(self, influence: FloatArray) -> tuple[Draws, ...] | None:
        """Return ``(1/n) sum_j counts_j influence_j`` as a sum of independent draws, or None where it is none."""

    def mean(self, influence: FloatArray) -> FloatArray:
        """Return the exact mean of ``(1/n) sum_j counts_j influence_j``, shape ``(k,)``."""
        return _total(part.number * part.values.mean(axis=0) for part in self._draws(influence))

    def variance(self, influence: FloatArray) -> FloatArray:
        """Return its exact variance, shape ``(k,)``: the diagonal of `covariance`, without the rest of it."""
        return _total(part.number * part.values.var(axis=0) for part in self._draws(influence))

    def covariance(self, influence: FloatArray) -> FloatArray:
        """Return its exact covariance, shape ``(k, k)``."""
        covariance = np.zeros((influence.shape[1], influence.shape[1]))
        for part in self._draws(influence):
            centred = part.values - part.values.mean(axis=0)
            covariance += part.number * (centred.T @ centred) / len(centred)
        return covariance

    def _draws(self, influence: FloatArray) -> tuple[Draws, ...]:
        parts = self.draws(influence)
        if parts is None:
            raise NotImplementedError(f"{type(self).__name__} must give mean, variance and covariance itself")
        return parts

    @abstractmethod
    def tilt(self, influence: FloatArray) -> FloatArray | None:
        """Return ``Cov(counts) @ influence / n``, the direction in which ABC tilts the weights, or None for blocks."""


def _total(parts: Iterable[FloatArray]) -> FloatArray:
    total: FloatArray = np.sum(list(parts), axis=0)
    return total


def repeated_rows(counts: FloatArray) -> IntArray:
    """Return each row as often as its count says, in the order of the data.

    Examples
    --------
    >>> repeated_rows(np.array([2.0, 0.0, 1.0]))
    array([0, 0, 2])
    """
    return np.repeat(np.arange(counts.size), counts.astype(np.int64))


@dataclass(frozen=True)
class Plan:
    """One scheme per independent sample."""

    schemes: tuple[Scheme, ...]

    def resamples(self, key: Key, replicates: Sequence[int]) -> Resamples:
        """Return the resamples with the numbers `replicates`; each depends on `key` and its own number alone."""
        weights = tuple(np.empty((len(replicates), scheme.n)) for scheme in self.schemes)
        for stream, scheme in enumerate(self.schemes):
            for row, replicate in enumerate(replicates):
                scheme.store_counts(key, stream, replicate, weights[stream][row])

        def indices(b: int) -> tuple[IntArray, ...]:
            return tuple(scheme.indices(key, i, replicates[b]) for i, scheme in enumerate(self.schemes))

        # Without an order the counts say all, and nothing needs to be drawn a second time.
        return Resamples(weights, indices if any(scheme.ordered for scheme in self.schemes) else None)

    def mean(self, influence: Influence) -> FloatArray:
        """Return the exact mean of the linear part, shape ``(k,)``."""
        return _total(s.mean(part) for s, part in zip(self.schemes, influence, strict=True))

    def variance(self, influence: Influence) -> FloatArray:
        """Return the exact variance of the linear part, shape ``(k,)`` (lemma ``lem: influence var``)."""
        return _total(s.variance(part) for s, part in zip(self.schemes, influence, strict=True))

    def covariance(self, influence: Influence) -> FloatArray:
        """Return the exact covariance of the linear part, shape ``(k, k)``; the samples are independent, so it adds."""
        return _total(s.covariance(part) for s, part in zip(self.schemes, influence, strict=True))

    @property
    def description(self) -> str:
        """Return in words what is resampled, sample by sample."""
        words = " + ".join(scheme.description for scheme in self.schemes)
        return words.replace(" rows + ", " + ") if words.endswith(" rows") and " in " not in words else words

    @property
    def has_draws(self) -> bool:
        """Return whether the linear part is a sum of independent draws, so that its law is known."""
        return all(scheme.has_draws for scheme in self.schemes)

    @property
    def has_tilt(self) -> bool:
        """Return whether rows, strata or groups are drawn independently, as second-order intervals need."""
        return all(scheme.has_tilt for scheme in self.schemes)

    def draws(self, influence: Influence) -> tuple[Draws, ...] | None:
        """Return the linear part as a sum of independent draws, or None if a scheme's is none."""
        parts = [scheme.draws(part) for scheme, part in zip(self.schemes, influence, strict=True)]
        if any(part is None for part in parts):
            return None
        return tuple(draws for part in parts if part is not None for draws in part)

    def tilt(self, influence: Influence) -> Influence | None:
        """Return the direction in which ABC tilts the weights of each sample, or None if a scheme has none."""
        parts = [scheme.tilt(part) for scheme, part in zip(self.schemes, influence, strict=True)]
        if any(part is None for part in parts):
            return None
        return tuple(part for part in parts if part is not None)
