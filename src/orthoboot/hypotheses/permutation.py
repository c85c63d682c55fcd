"""`permutation_test`: whether two samples differ, by exchanging their rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from orthoboot.arguments import checked_alternative, checked_count
from orthoboot.data import Data, InputTable, read
from orthoboot.draws.random_counts import key_from
from orthoboot.errors import DataError, StatisticError, first_line
from orthoboot.functionals.base import Functional, unit_resamples
from orthoboot.functionals.combined.comparisons import Comparison, PairedDifference
from orthoboot.functionals.output import Output
from orthoboot.functionals.user.callables import as_functional
from orthoboot.typing import FloatArray, IntArray, Key

_ROUNDING = 100 * float(np.finfo(np.float64).eps)
"""Values that differ by less, relative to the largest, are equal but for rounding, as in scipy."""

Rows = tuple[IntArray, IntArray]
"""The rows of either sample, counted through both: those of the second follow those of the first."""


@dataclass(frozen=True, eq=False)
class PermutationTest:
    """The result of a permutation test; values have the shape of the statistic.

    Attributes
    ----------
    statistic
        The statistic on the data.
    pvalue
        The p-value of the hypothesis that the rows are exchangeable.
    n_resamples
        The number of permutations.
    null_distribution
        The statistic on each permutation; permutations are on the last axis.
    simulation_error
        The standard deviation of the p-value over seeds; zero if it is exact.
    exact
        Whether all permutations were used.
    alternative
        "two-sided", "less" or "greater".
    """

    statistic: Any
    pvalue: Any
    n_resamples: int
    null_distribution: Any = field(repr=False)
    simulation_error: Any
    exact: bool
    alternative: str


def permutation_test(
    data: Any,
    statistic: Any,
    *,
    n_resamples: int = 9999,
    alternative: str = "two-sided",
    paired: bool = False,
    rng: Any = None,
) -> PermutationTest:
    r"""Return the p-value of the hypothesis that two samples come from the same distribution.

    Under this hypothesis rows are exchangeable: all rows of independent samples, or the two rows of a pair. With c of B
    permutations whose statistic is at most that of the data, the p-value of the alternative "less" is

    .. math:: p = \frac{c + 1}{B + 1},

    or c / B if all permutations are used, which is the case if there are at most `n_resamples`. "greater" counts the
    permutations whose statistic is at least that of the data. The two-sided p-value is twice the smaller of these, but
    at most 1. The values are those of ``scipy.stats.permutation_test`` with ``permutation_type="independent"``, or
    ``"samples"`` if `paired`.

    Parameters
    ----------
    data
        Two samples, with rows first; for ``ob.paired_difference`` y and two predictions, ``(y, first, second)``. A
        function of your own gets arrays.
    statistic
        ``ob.difference(f)``, ``ob.relative_difference(f)``, ``ob.paired_difference(metric)``, or a function of two
        samples that returns a number, an array or a dict of these.
    n_resamples
        The number of permutations to draw, if there are more.
    alternative
        "two-sided"; or "less" or "greater" to test for a statistic below or above its values on permutations.
    paired
        Whether the rows of the samples belong together.
    rng
        None, a whole number, a SeedSequence or a Generator. Permutation b depends only on the seed and b.

    Returns
    -------
    PermutationTest

    References
    ----------
    Phipson, B. and Smyth, G. K. (2010). Permutation p-values should never be zero. Statistical Applications in Genetics
    and Molecular Biology 9, 39.

    Examples
    --------
    >>> import orthoboot as ob
    >>> found = ob.permutation_test(([1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]), ob.difference(ob.mean))
    >>> found.statistic, found.n_resamples, round(found.pvalue, 4)  # 2 of the 35 ways to choose three rows of seven
    (-3.5, 35, 0.0571)
    """
    n_resamples = checked_count("n_resamples", n_resamples, least=1)
    alternative = checked_alternative(alternative)
    key = key_from(rng)
    arranged = _arranged(data, statistic, paired=paired)
    number = arranged.n_arrangements
    exact = number <= n_resamples
    rows = arranged.all_arrangements() if exact else arranged.drawn(key, n_resamples)
    null = np.stack([arranged.value(one) for one in rows], axis=1)
    tail = _tail(null, arranged.observed, alternative, more=0 if exact else 1)
    sides = 2 if alternative == "two-sided" else 1
    error = np.zeros_like(tail) if exact else sides * np.sqrt(tail * (1 - tail) / null.shape[1])
    pack = arranged.output.pack
    pvalue = pack(np.minimum(sides * tail, 1.0))
    return PermutationTest(pack(arranged.observed), pvalue, null.shape[1], pack(null), pack(error), exact, alternative)


def _tail(null: FloatArray, observed: FloatArray, alternative: str, *, more: int) -> FloatArray:
    """Return the share of permutations as extreme as the data, with the data themselves where `more` is one."""
    slack = _ROUNDING * np.maximum(np.abs(observed), np.abs(null).max(axis=1))[:, np.newaxis]
    difference = null - observed[:, np.newaxis]
    counts = {"less": (difference <= slack).sum(axis=1), "greater": (difference >= -slack).sum(axis=1)}
    sides = counts.values() if alternative == "two-sided" else [counts[alternative]]
    return np.asarray((np.min(list(sides), axis=0) + more) / (null.shape[1] + more))


class _Arranged(NamedTuple):
    """A statistic of two samples whose rows can be arranged anew.

    Attributes
    ----------
    functional
        The statistic.
    output, observed
        The shape of its value, and its value on the data, shape ``(k,)``.
    pooled
        The rows of both samples.
    beside
        What does not change place: y, where the samples are predictions of it.
    sizes
        How many rows the samples have.
    swaps
        Whether only the rows of a pair change places.
    together
        Whether the statistic takes both as columns of the same rows.
    """

    functional: Functional
    output: Output
    observed: FloatArray
    pooled: np.ndarray[Any, Any]
    beside: tuple[InputTable, ...]
    sizes: tuple[int, int]
    swaps: bool
    together: bool

    @property
    def n_arrangements(self) -> int:
        """Return how many arrangements there are."""
        return 2 ** self.sizes[0] if self.swaps else math.comb(sum(self.sizes), self.sizes[0])

    def all_arrangements(self) -> Iterator[Rows]:
        """Yield every arrangement once."""
        if self.swaps:
            places = np.arange(self.sizes[0])
            return (self._swapped((number >> places) & 1) for number in range(self.n_arrangements))
        chosen = (np.array(first) for first in combinations(range(len(self.pooled)), self.sizes[0]))
        return ((first, np.setdiff1d(np.arange(len(self.pooled)), first, assume_unique=True)) for first in chosen)

    def drawn(self, key: Key, number: int) -> Iterator[Rows]:
        """Yield random arrangements, each a function of the key and its number."""
        for b in range(number):
            generator = np.random.Generator(np.random.Philox(key=np.array(key, dtype=np.uint64), counter=[0, 0, 0, b]))
            if self.swaps:
                yield self._swapped(generator.integers(0, 2, size=self.sizes[0]))
            else:
                order = generator.permutation(len(self.pooled))
                yield order[: self.sizes[0]], order[self.sizes[0] :]

    def _swapped(self, swap: IntArray) -> Rows:
        n = self.sizes[0]
        first = np.arange(n) + n * swap
        return first, np.arange(n) + n * (1 - swap)

    def value(self, rows: Rows) -> FloatArray:
        """Return the statistic where the samples have these rows, shape ``(k,)``."""
        tables = tuple(InputTable(self.pooled[chosen], f"data[{i}]") for i, chosen in enumerate(rows))
        if self.together:
            data = Data((*self.beside, *tables), (0,) * (len(self.beside) + 2), self.sizes[:1])
        else:
            data = Data(tables, (0, 1), self.sizes)
        try:
            value: FloatArray = self.functional.at(data).values(unit_resamples(data))[0]
        except StatisticError:
            raise
        except Exception as error:  # the user's function may raise anything
            raise StatisticError(
                f"`statistic` must have a value on every permutation of the rows; on one it raised "
                f"{type(error).__name__}: {first_line(error)}."
            ) from error
        if not np.isfinite(value).all():
            raise StatisticError(
                f"`statistic` must be finite on every permutation of the rows; got {value.tolist()} on one. Use one "
                "that is defined for any of them."
            )
        return value


def _arranged(data: Any, statistic: Any, *, paired: bool) -> _Arranged:
    """Return the statistic at two samples, checked."""
    given = read(data, paired=paired)
    compares_predictions = isinstance(statistic, PairedDifference)
    _check_samples(statistic, given, with_outcome=compares_predictions)
    tables = tuple(InputTable(array, table.label) for array, table in zip(given.arrays, given.tables, strict=True))
    beside, (first, second) = tables[:-2], tables[-2:]
    sizes = (first.n_rows, second.n_rows)
    together = given.sample_of != (0, 1) and not isinstance(statistic, Comparison)
    samples = Data(tables, given.sample_of, given.sizes) if together else Data((first, second), (0, 1), sizes)
    functional = as_functional(statistic, samples)
    prepared = functional.prepared(samples)
    if first.container.shape[1:] != second.container.shape[1:]:
        shapes = f"{first.container.shape[1:]} and {second.container.shape[1:]}"
        raise DataError(f"`data` must be two samples whose rows can be exchanged; got rows of shape {shapes}.")
    pooled = np.concatenate([first.container, second.container])
    swaps = given.sample_of != (0, 1)
    return _Arranged(functional, prepared.output, prepared.estimate, pooled, beside, sizes, swaps, together)


def _check_samples(statistic: Any, given: Data, *, with_outcome: bool) -> None:
    """Raise unless there are two samples, or y and two predictions."""
    if with_outcome and given.sample_of != (0, 0, 0):
        raise DataError(
            f"`{statistic.name}` takes y and two predictions for the same rows, `(y, first, second)`, with "
            f"`paired=True`; got {len(given.tables)} array(s) in {len(given.sizes)} sample(s)."
        )
    if not with_outcome and len(given.tables) != 2:
        raise DataError(
            f"`data` must be two samples, `(first, second)`, whose rows are exchanged; got {len(given.tables)}. For "
            "one sample use `ob.bootstrap(...).pvalue(null)`."
        )
