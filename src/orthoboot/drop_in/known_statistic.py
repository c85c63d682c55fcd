"""A formula at its data: replicates by the kernels of the catalogue, and values without one row at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from orthoboot.data import read
from orthoboot.draws.resamples import Resamples
from orthoboot.drop_in.formula import Formula
from orthoboot.drop_in.left_out import values_without_each_row
from orthoboot.drop_in.order_statistics import quantile_replicates
from orthoboot.errors import ArgumentError, DataError, StatisticError
from orthoboot.functionals.base import Prepared
from orthoboot.functionals.columns.quantiles import Quantile
from orthoboot.influence import InfluenceFunction
from orthoboot.plans import Plan, plan_for
from orthoboot.run import Run
from orthoboot.typing import FloatArray, Key

_ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""A relative difference that rounding makes."""

_LEAST_SPREAD = 1e-6
"""Share of the largest number by which the numbers of a column must differ, so that rounding has no say in ties."""

_SAME_VALUE = 1e-9
"""A relative difference that the order of additions may make."""

_TRIAL_KEY = (2024, 1986)
_N_TRIALS = 3


@dataclass(frozen=True, eq=False)
class KnownStatistic:
    """A formula at its data.

    Attributes
    ----------
    formula
        The formula.
    samples
        The samples, rows first, of shape ``(n_i,)`` or ``(n_i, k)``.
    paired
        Whether their rows are drawn together.
    prepared
        Each term at its data.
    """

    formula: Formula
    samples: tuple[FloatArray, ...]
    paired: bool
    prepared: tuple[Prepared[Any], ...]

    @classmethod
    def at(cls, formula: Formula, samples: Sequence[FloatArray], *, paired: bool) -> KnownStatistic:
        """Return the formula at its data; raise a `DataError` where it does not exist for such data."""
        prepared = []
        for term in formula.terms:
            of_term = tuple(samples[number] for number in term.samples)
            prepared.append(term.functional.prepared(read(of_term, paired=paired and len(of_term) > 1)))
        return cls(formula, tuple(samples), paired and len(samples) > 1, tuple(prepared))

    @cached_property
    def plan(self) -> Plan:
        """Return how the rows are drawn: those of paired samples together."""
        return plan_for(self.sizes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the rows of each sample that is drawn by itself."""
        sizes = tuple(len(sample) for sample in self.samples)
        return sizes[:1] if self.paired else sizes

    @cached_property
    def estimate(self) -> FloatArray:
        """Return its value on the data, shape ``(k,)``."""
        return self.formula.evaluated([prepared.estimate for prepared in self.prepared])

    def replicates(self, key: Key, n_resamples: int, batch: int | None = None) -> FloatArray:
        """Return its values on ordinary bootstrap resamples, shape ``(B, k)``; NaN where it has none."""
        level = self._level
        if level is None:
            found = self._in_batches(self._drawn(key), n_resamples, batch or self._batch_size(key))
        else:
            found = self._of_column(quantile_replicates(self.samples[0].reshape(-1), level, key, n_resamples))
        is_rounding = np.abs(found - self.estimate) <= _ROUNDING * np.abs(self.estimate)
        return np.where(is_rounding, self.estimate, found)

    def without_each_row(self, sample: int) -> FloatArray:
        """Return its values without each row of a sample in turn, shape ``(n_i, k)``."""
        n = self.sizes[sample]
        parts = []
        for term, prepared in zip(self.formula.terms, self.prepared, strict=True):
            place = 0 if self.paired else term.samples.index(sample) if sample in term.samples else None
            parts.append(prepared.estimate[np.newaxis] if place is None else values_without_each_row(prepared, place))
        values = self.formula.evaluated(parts)
        return np.broadcast_to(values, (n, values.shape[1]))

    def agrees_with(self, value: Callable[..., Any]) -> bool:
        """Return whether a function of the samples has the same values, on the data and on a few resamples."""
        everything = tuple(np.arange(n) for n in self.sizes)
        drawn = self.plan.resamples(_TRIAL_KEY, range(_N_TRIALS))
        known = np.concatenate([self.estimate[np.newaxis], self._values(drawn)])
        for expected, rows in zip(known, [everything, *map(drawn.indices, range(_N_TRIALS))], strict=True):
            of_samples = rows * len(self.samples) if self.paired else rows
            taken = [sample[chosen] for sample, chosen in zip(self.samples, of_samples, strict=True)]
            found = np.asarray(value(*taken), dtype=np.float64).reshape(-1)
            largest = (
                np.max([np.abs(found), np.abs(expected), *self._scales], axis=0) if found.shape == expected.shape else 0
            )
            if found.shape != expected.shape or not (np.abs(found - expected) <= _SAME_VALUE * largest).all():
                return False
        return True

    @property
    def _scales(self) -> list[FloatArray]:
        """Return the sizes of the terms, whose difference may be small."""
        return [np.abs(prepared.estimate) for prepared in self.prepared]

    @property
    def _level(self) -> float | None:
        """Return the level where it is a function of one quantile of one column, which needs no resamples."""
        functional = self.formula.terms[0].functional
        is_one = len(self.formula.terms) == len(self.samples) == 1 and self.samples[0].size == len(self.samples[0])
        if not is_one or not isinstance(functional, Quantile):
            return None
        return functional.q if isinstance(functional.q, float) else None

    def _of_column(self, values: FloatArray) -> FloatArray:
        return self.formula.evaluated([values[:, np.newaxis]])

    def _drawn(self, key: Key) -> Callable[[range], Resamples]:
        return lambda numbers: self.plan.resamples(key, numbers)

    def _in_batches(self, resamples: Callable[[range], Resamples], n: int, at_once: int) -> FloatArray:
        starts = range(0, n, at_once)
        return np.concatenate([self._values(resamples(range(start, min(start + at_once, n)))) for start in starts])

    def _values(self, resamples: Resamples) -> FloatArray:
        """Return its values on some resamples, shape ``(B, k)``."""
        parts = []
        for term, prepared in zip(self.formula.terms, self.prepared, strict=True):
            alone = len(self.sizes) > 1 and len(term.samples) == 1
            of_term = resamples.sample(term.samples[0]) if alone else resamples
            parts.append(prepared.evaluate(of_term).values)
        return self.formula.evaluated(parts)

    def _batch_size(self, key: Key) -> int:
        """Return how many resamples to draw at once, for the term that takes most of each."""
        nothing = InfluenceFunction(None, "")
        return min(Run(prepared, self.plan, key, nothing).batch_size for prepared in self.prepared)


def is_ordinary(sample: Any) -> bool:
    """Return whether rows are finite numbers in an array of two rows or more, and differ beyond rounding."""
    if type(sample) is not np.ndarray or sample.dtype.kind not in "iuf" or sample.dtype.itemsize not in (1, 2, 4, 8):
        return False
    if sample.ndim == 0 or sample.size == 0 or len(sample) < 2 or sample.dtype == np.float16:
        return False
    low, high = (np.asarray(end, dtype=np.float64) for end in (sample.min(axis=0), sample.max(axis=0)))
    with np.errstate(all="ignore"):
        return bool(
            (high - low > _LEAST_SPREAD * np.maximum(np.abs(low), np.abs(high))).all() and np.isfinite(high - low).all()
        )


def known_statistic(formula: Formula | None, samples: Sequence[Any], *, paired: bool) -> KnownStatistic | None:
    """Return a formula at its data, or None where these are not ordinary or it has no value on them."""
    if formula is None or not all(map(is_ordinary, samples)):
        return None
    try:
        known = KnownStatistic.at(formula, [np.asarray(one, dtype=np.float64) for one in samples], paired=paired)
        return known if np.isfinite(known.estimate).all() else None
    except (ArgumentError, DataError, StatisticError):
        if formula.by_user:
            return None
        raise
