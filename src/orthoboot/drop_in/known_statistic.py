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
from orthoboot.functionals.columns.moments import Mean
from orthoboot.functionals.columns.quantiles import Quantile
from orthoboot.influence import InfluenceFunction
from orthoboot.plans import Plan, plan_for
from orthoboot.run import Run
from orthoboot.typing import FloatArray, Key

_ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""A relative difference that rounding makes."""

_ROUNDING_OF_SUMS = 64 * float(np.finfo(np.float64).eps)
"""One that rounding makes in a sum over many rows."""

_LEAST_SPREAD = 1e-6
"""Share of the largest number by which the numbers of a column must differ, so that rounding has no say in ties."""

_SAME_VALUE = 1e-9
"""A relative difference that the order of additions may make, or one in terms of what resamples change."""

_TIE = 1e-12
"""In terms of what resamples change, a difference that rounding of the terms makes."""

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
        if not n_resamples:
            return np.empty((0, len(self.estimate)))
        level = self._level
        if level is None:
            found = self._in_batches(self._drawn(key), n_resamples, batch or self._batch_size(key))
        else:
            found = self._of_column(quantile_replicates(self.samples[0].reshape(-1), level, key, n_resamples))
        with np.errstate(invalid="ignore"):
            changes = np.abs(found - self.estimate)
            # Of terms that cancel, such as means that are equal, rounding is larger than that of their difference.
            typical = np.median(changes, axis=0)
            is_rounding = changes <= np.maximum(
                _ROUNDING * np.abs(self.estimate), _TIE * np.where(np.isfinite(typical), typical, 0.0)
            )
        return np.where(is_rounding, self.estimate, found)

    def without_each_row(self, sample: int) -> FloatArray:
        """Return its values without each row of a sample in turn, shape ``(n_i, k)``."""
        n = self.sizes[sample]
        parts = []
        for term, prepared in zip(self.formula.terms, self.prepared, strict=True):
            place = 0 if self.paired else term.samples.index(sample) if sample in term.samples else None
            if place is None:
                parts.append(prepared.estimate[np.newaxis])
            else:
                parts.append(_without_rounding(values_without_each_row(prepared, place), prepared))
        values = self.formula.evaluated(parts)
        # What rounding alone tells apart has no skewness.
        is_one = np.ptp(values, axis=0) <= _ROUNDING * np.abs(self.estimate)
        return np.broadcast_to(np.where(is_one, values[:1], values), (n, values.shape[1]))

    def agrees_with(self, value: Callable[..., Any]) -> bool:
        """Return whether a function of the samples has the same values, on the data and on a few resamples."""
        everything = tuple(np.arange(n) for n in self.sizes)
        drawn = self.plan.resamples(_TRIAL_KEY, range(_N_TRIALS))
        known = np.concatenate([self.estimate[np.newaxis], self._values(drawn)])
        # Terms may be of any size beside the formula: what resamples change is the scale on which it must agree.
        scale = np.ptp(known, axis=0)
        for expected, rows in zip(known, [everything, *map(drawn.indices, range(_N_TRIALS))], strict=True):
            of_samples = rows * len(self.samples) if self.paired else rows
            taken = [sample[chosen] for sample, chosen in zip(self.samples, of_samples, strict=True)]
            found = np.asarray(value(*taken), dtype=np.float64).reshape(-1)
            if found.shape != expected.shape:
                return False
            largest = np.max([np.abs(found), np.abs(expected), scale], axis=0)
            if not (np.abs(found - expected) <= _SAME_VALUE * largest).all():
                return False
        return True

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
            parts.append(_without_rounding(prepared.evaluate(of_term).values, prepared))
        return self.formula.evaluated(parts)

    def _batch_size(self, key: Key) -> int:
        """Return how many resamples to draw at once, for the term that takes most of each."""
        nothing = InfluenceFunction(None, "")
        return min(Run(prepared, self.plan, key, nothing).batch_size for prepared in self.prepared)


def _without_rounding(values: FloatArray, prepared: Prepared[Any]) -> FloatArray:
    """Return the values of a term; means are zero where they are rounding, as where all rows of a resample are zero.

    Means are sums of deviations from that of the data, whose rounding would have a sign, and could be divided by.
    """
    if not isinstance(prepared.functional, Mean):
        return values
    return np.where(np.abs(values) <= _ROUNDING_OF_SUMS * np.abs(prepared.estimate), 0.0, values)


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
        # A formula may make objects or truth values of numbers, which are scipy's to take or not.
        return known if known.estimate.dtype.kind == "f" and np.isfinite(known.estimate).all() else None
    except (ArgumentError, DataError, StatisticError, OverflowError):
        if formula.by_user:
            return None
        raise
