"""A call of `bootstrap`: its arguments where all of them are ordinary, and the statistic where it is known."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy._lib._util import check_random_state

from orthoboot.drop_in import formula_of
from orthoboot.drop_in.known_statistic import KnownStatistic, known_statistic
from orthoboot.functionals import Functional
from orthoboot.typing import FloatArray, Key

_METHODS = ("percentile", "basic", "bca")
_ALTERNATIVES = ("two-sided", "less", "greater")

_INTEGERS = (int, np.integer)

_FEWEST_NUMBERS = 1 << 21
"""Resampled numbers up to which scipy takes a few hundredths of a second, and there is nothing to gain."""

_LAST = frozenset({-1})
_ONLY = frozenset({None, 0, -1})


@dataclass(frozen=True, eq=False)
class Slices:
    """A known statistic at samples of any shape: for each slice along `axis`, or for all of them at once.

    Attributes
    ----------
    parts
        The statistic at each slice, or at all of them in columns.
    shape
        The shape of its value.
    dtype
        That of the numbers, as numpy's functions would have it.
    """

    parts: tuple[KnownStatistic, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the rows of each sample that is drawn by itself."""
        return self.parts[0].sizes

    @cached_property
    def estimate(self) -> FloatArray:
        """Return the value on the data, with an axis of length one behind it."""
        return self._joined([part.estimate[np.newaxis] for part in self.parts])

    def distribution(self, key: Key, n_resamples: int, batch: int | None) -> FloatArray:
        """Return the values on resamples, these on the last axis; all slices have the same ones."""
        if not n_resamples:
            return np.empty((*self.shape, 0), dtype=self.dtype)
        return self._joined([part.replicates(key, n_resamples, batch) for part in self.parts])

    def without_each_row(self, sample: int) -> FloatArray:
        """Return the values without each row of a sample in turn, these on the last axis."""
        return self._joined([part.without_each_row(sample) for part in self.parts])

    def _joined(self, values: list[FloatArray]) -> FloatArray:
        """Return values ``(B, k)`` of every part as one array; a vector of each slice stands before the slices."""
        n = len(values[0])
        joined = np.stack(values, axis=-1)
        return np.moveaxis(joined, 0, -1).reshape(*self.shape, n).astype(self.dtype, copy=False)


@dataclass(frozen=True, eq=False)
class Request:
    """The arguments of a call, checked."""

    samples: tuple[Any, ...]
    """With the rows on the last axis."""
    statistic: Any
    vectorized: bool
    paired: bool
    n_resamples: int
    batch: int | None
    confidence_level: float
    alternative: str
    method: str
    bootstrap_result: Any

    @classmethod
    def of(cls, *, data: Any, statistic: Any, vectorized: Any, axis: Any, **options: Any) -> Request | None:
        """Return the call, or None where an argument is not ordinary: scipy takes it, or has the words."""
        samples = _samples(data, axis)
        if samples is None or not _are_ordinary(**options) or not (vectorized is None or isinstance(vectorized, bool)):
            return None
        if options["paired"] and len({sample.shape[-1] for sample in samples}) > 1:
            return None
        if vectorized is None:
            vectorized = _has_axis(statistic)
        for name in ("alternative", "method"):
            options[name] = options[name].lower()
        return cls(samples, statistic, vectorized, **options)

    @cached_property
    def known(self) -> Slices | None:
        """Return the statistic at the samples, or None where it is not known, these are not ordinary, or few."""
        if not self.is_worthwhile:
            return None
        options = {"axis": -1} if self.vectorized and not isinstance(self.statistic, Functional) else {}
        row_axes = _LAST if self.vectorized else _ONLY
        formula = formula_of(self.statistic, len(self.samples), row_axes=row_axes, options=options)
        if formula is None or (self.needs_pairs(formula.terms) and not self.paired):
            return None
        shape = np.broadcast_shapes(*(sample.shape[:-1] for sample in self.samples))
        flat = [np.broadcast_to(one, (*shape, one.shape[-1])).reshape(-1, one.shape[-1]) for one in self.samples]
        if not flat[0].size:
            return None
        columns = (
            [[one.T for one in flat]] if formula.is_columnwise else [list(parts) for parts in zip(*flat, strict=True)]
        )
        parts = [known_statistic(formula, samples, paired=self.paired) for samples in columns]
        known = tuple(part for part in parts if part is not None)
        if len(known) < len(parts):
            return None
        if formula.by_user and not all(self._agrees(part) for part in known):
            return None
        own = () if formula.is_columnwise else _shape(known[0])
        return Slices(known, (*own, *shape), self._dtype if formula.by_user else np.dtype(np.float64))

    @property
    def _dtype(self) -> np.dtype[Any]:
        """Return the dtype of the function's value, which is not always that of the samples."""
        if all(sample.dtype == np.float64 for sample in self.samples):
            return np.dtype(np.float64)
        if self.vectorized:
            value = self.statistic(*(sample.copy() for sample in self.samples), axis=-1)
        else:
            value = self.statistic(*(sample[(0,) * (sample.ndim - 1)].copy() for sample in self.samples))
        dtype = np.asarray(value).dtype
        return dtype if dtype.kind == "f" else np.dtype(np.float64)

    @property
    def is_worthwhile(self) -> bool:
        """Return whether there is time to gain, or scipy does not take the statistic well."""
        drawn = self.n_resamples * sum(sample.size for sample in self.samples)
        left_out = sum(sample.size * sample.shape[-1] for sample in self.samples) if self.method == "bca" else 0
        return isinstance(self.statistic, Functional) or drawn + left_out > _FEWEST_NUMBERS

    def needs_pairs(self, terms: Sequence[Any]) -> bool:
        """Return whether a term takes columns of the same rows."""
        return any(term.functional.paired and len(term.samples) > 1 for term in terms)

    def _agrees(self, known: KnownStatistic) -> bool:
        """Return whether the function has the values of the catalogue, called as scipy would."""
        if self.vectorized:
            return known.agrees_with(lambda *samples: self.statistic(*(one.T for one in samples), axis=-1))
        return known.agrees_with(self._of_columns)

    def _of_columns(self, *samples: FloatArray) -> FloatArray:
        columns = zip(*(one.reshape(len(one), -1).T for one in samples), strict=True)
        return np.array([self.statistic(*column) for column in columns])


def _samples(data: Any, axis: Any) -> tuple[Any, ...] | None:
    """Return the samples with their rows on the last axis, or None where one is no array of numbers with rows."""
    if not isinstance(axis, _INTEGERS) or not isinstance(data, (tuple, list, np.ndarray)) or not len(data):
        return None
    if any(type(sample) not in (np.ndarray, list, tuple) for sample in data):
        return None
    try:
        arrays = [np.asarray(sample) for sample in data]
        moved = [np.moveaxis(array, int(axis), -1) for array in arrays]
        np.broadcast_shapes(*(array.shape[:-1] for array in moved))
    except ValueError:
        return None
    is_ordinary = all(array.ndim == moved[0].ndim and array.dtype.kind in "iuf" for array in moved)
    return tuple(moved) if is_ordinary else None


def _are_ordinary(
    *,
    n_resamples: Any,
    batch: Any,
    paired: Any,
    confidence_level: Any,
    alternative: Any,
    method: Any,
    bootstrap_result: Any,
) -> bool:
    drawn = getattr(bootstrap_result, "bootstrap_distribution", None)
    has_result = isinstance(drawn, np.ndarray) and drawn.size > 0
    return bool(
        isinstance(n_resamples, _INTEGERS)
        and n_resamples >= (0 if has_result else 1)
        and (bootstrap_result is None or has_result)
        and (batch is None or (isinstance(batch, _INTEGERS) and batch > 0))
        and isinstance(paired, bool)
        and isinstance(confidence_level, (*_INTEGERS, float, np.floating))
        and 0 < confidence_level < 1
        and isinstance(alternative, str)
        and alternative.lower() in _ALTERNATIVES
        and isinstance(method, str)
        and method.lower() in _METHODS
    )


def _has_axis(statistic: Any) -> bool:
    try:
        return "axis" in inspect.signature(statistic).parameters
    except (TypeError, ValueError):  # scipy has the words
        return False


def _shape(known: KnownStatistic) -> tuple[int, ...]:
    """Return the shape of the value at one slice."""
    if known.formula.by_user:
        return ()
    prepared = known.prepared[0]
    value = prepared.output.pack(prepared.estimate)
    return np.shape(value) if isinstance(value, (float, np.ndarray)) else (len(prepared.estimate),)


def key_of(rng: Any, random_state: Any) -> Key:
    """Return the key of the draws from a seed or a generator, which is advanced: by default numpy's global one."""
    source: Any = check_random_state(random_state) if rng is None else np.random.default_rng(rng)
    words = source.bytes(16)
    return int.from_bytes(words[:8], "little"), int.from_bytes(words[8:], "little")
