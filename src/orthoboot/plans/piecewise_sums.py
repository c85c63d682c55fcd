"""Sums over the rows of resamples, of values that are computed block by block and never held whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any, Protocol, TypeVar

import numpy as np

from orthoboot.arrays.products import product_in_one_thread
from orthoboot.arrays.row_products import RowProducts, product_columns
from orthoboot.data.pieces import Block, ProductTables, RowsInPieces
from orthoboot.draws.kernels import Kernels, for_stretches
from orthoboot.draws.poisson import inversion
from orthoboot.draws.products import add_poisson_product_sums, multinomial_product_sums
from orthoboot.draws.random_counts import checked_rows, thrown_rows, weighted_sums
from orthoboot.typing import FloatArray, IntArray, Key

Found = TypeVar("Found")

_ROWS_WITHOUT_DATA = 1 << 24
"""Rows whose counts are drawn at once where nothing is read."""

_WIDE = 64
"""Columns from which a matrix product is worth an array of counts, where rows are read part by part."""

_COUNTS_AT_ONCE = 1 << 17
"""Counts in that array: a megabyte."""

_VALUES_AT_ONCE = 1 << 20
"""Values of thrown rows that are held at once: 8 MB."""


def multinomial_sums(key: Key, stream: int, replicates: Sequence[int], rows: RowsInPieces) -> FloatArray:
    """Return ``multinomial_counts @ rows``, shape ``(B, p)``: the draws of `orthoboot.draws.random_counts`.

    In memory the order of summation is that of `orthoboot.draws.summation`, too. Of rows that are read part by part,
    sums over the parts are added in their order.
    """
    tables = rows.product_tables
    found = None if tables is None else multinomial_product_sums(key, stream, replicates, *tables)
    if found is not None:
        return found
    draws = PoissonDraws(key, stream, tuple(replicates), checked_rows(len(rows)))
    # Wide rows are added by matrix products, which take the thrown rows with them.
    at_hand = rows.at_hand or (rows.sample.source.finds_rows and rows.width < _WIDE)
    return _sums_then_throws(draws, rows) if at_hand else _sums_of_parts(draws, rows)


@dataclass(frozen=True)
class PoissonDraws:
    """The Poisson part of some resamples of `n_rows`; see `orthoboot.draws.random_counts.poisson_counts`."""

    key: Key
    stream: int
    replicates: tuple[int, ...]
    n_rows: int
    attempt: int = 0

    def empty(self, width: int) -> tuple[IntArray, FloatArray]:
        """Return zeros for the totals ``(B,)`` and the sums ``(B, p)``."""
        return np.zeros(len(self.replicates), dtype=np.int64), np.zeros((len(self.replicates), width))

    def add(self, start: int, columns: FloatArray, totals: IntArray, sums: FloatArray) -> None:
        """Add the counts of the rows from `start` on to `totals` and their sums of columns ``(p, m)`` to `sums`."""
        law = inversion(self.n_rows)

        def draw(backend: Kernels, first: int, places: slice) -> None:
            seed = (*self.key, self.stream, first, self.attempt)
            backend.poisson_sums(*seed, law, self.n_rows, start, columns, totals[places], sums[places])

        for_stretches(self.replicates, columns.shape[1], draw)

    def counts(self, start: int, n_rows: int) -> FloatArray:
        """Return the counts of the rows from `start` on, shape ``(B, n_rows)``."""
        law, counts = inversion(self.n_rows), np.empty((len(self.replicates), n_rows))

        def draw(backend: Kernels, first: int, places: slice) -> None:
            for replicate, out in enumerate(counts[places], start=first):
                backend.poisson_counts(*self.key, self.stream, replicate, self.attempt, law, self.n_rows, start, out)

        for_stretches(self.replicates, n_rows, draw)
        return counts

    def of(self, places: Sequence[int]) -> PoissonDraws:
        """Return the Poisson part of some of the resamples."""
        return replace(self, replicates=tuple(self.replicates[place] for place in places))

    def again(self, place: int) -> PoissonDraws:
        """Return the next attempt of one of the resamples, whose total was more than the number of rows."""
        return replace(self, replicates=(self.replicates[place],), attempt=self.attempt + 1)

    def thrown(self, place: int, total: int) -> IntArray:
        """Return the rows that a resample with this total adds to its Poisson counts, in the order of the throws."""
        return thrown_rows(self.key, self.stream, self.replicates[place], self.n_rows, self.n_rows - total)


def _sums_then_throws(draws: PoissonDraws, rows: RowsInPieces) -> FloatArray:
    """Return the sums of rows any of which can be had: those of the throws are asked for when the totals are known."""
    totals, sums = _poisson_sums(draws, rows)
    most = max(draws.n_rows - int(totals.min()), 1)
    step = max(_VALUES_AT_ONCE // (most * rows.width), 1)
    for first in range(0, len(sums), step):
        places = range(first, min(first + step, len(sums)))
        thrown = [draws.thrown(place, int(totals[place])) for place in places]
        values = np.split(rows.found_at(np.concatenate(thrown)), np.cumsum([len(some) for some in thrown])[:-1])
        for place, own in zip(places, values, strict=True):
            sums[place] += weighted_sums(np.ones((1, len(own))), own)[0]
    return sums


def _poisson_sums(draws: PoissonDraws, rows: RowsInPieces) -> tuple[IntArray, FloatArray]:
    """Return the totals and the sums of Poisson counts whose totals are at most the number of rows."""
    totals, sums = draws.empty(rows.width)
    if rows.at_hand:
        for start, values in rows.blocks():
            draws.add(start, np.ascontiguousarray(values.T), totals, sums)
    else:
        for part_totals, part_sums in _drawn_parts(rows, partial(_poisson_sums_of_part, draws, rows.width)):
            totals += part_totals
            sums += part_sums
    for place in np.flatnonzero(totals > draws.n_rows).tolist():  # one in thirty thousand resamples
        one = slice(place, place + 1)
        totals[one], sums[one] = _poisson_sums(draws.again(place), rows)
    return totals, sums


def _poisson_sums_of_part(draws: PoissonDraws, width: int, blocks: Iterator[_RowBlock]) -> tuple[IntArray, FloatArray]:
    totals, sums = draws.empty(width)
    for block in blocks:
        block.add_to(draws, totals, sums)
    return totals, sums


class _RowBlock(Protocol):
    """Columns of some consecutive rows, which can be added up over resamples."""

    @property
    def start(self) -> int:
        """Return the number of the first row."""

    def __len__(self) -> int: ...

    def add_to(self, draws: PoissonDraws, totals: IntArray, sums: FloatArray) -> None:
        """Add the counts of the rows to `totals`, and their sums of the columns to `sums`."""

    def at(self, rows: IntArray) -> FloatArray:
        """Return the columns of some rows, counted from the first, shape ``(p, m)``."""


@dataclass(frozen=True, eq=False)
class _ColumnBlock:
    """Columns that were computed, shape ``(p, m)``."""

    start: int
    columns: FloatArray

    @staticmethod
    def of(block: Block) -> _ColumnBlock:
        """Return values of rows as columns."""
        start, values = block
        return _ColumnBlock(start, np.ascontiguousarray(values.T))

    def __len__(self) -> int:
        return int(self.columns.shape[1])

    def add_to(self, draws: PoissonDraws, totals: IntArray, sums: FloatArray) -> None:
        """Add the counts of the rows to `totals`, and their sums of the columns to `sums`."""
        draws.add(self.start, self.columns, totals, sums)

    def at(self, rows: IntArray) -> FloatArray:
        """Return the columns of some rows, shape ``(p, m)``."""
        return self.columns[:, rows]


@dataclass(frozen=True, eq=False)
class _ProductBlock:
    """Features that are computed where they are added."""

    start: int
    products: RowProducts
    tables: tuple[FloatArray, FloatArray]

    def __len__(self) -> int:
        return len(self.tables[0])

    def add_to(self, draws: PoissonDraws, totals: IntArray, sums: FloatArray) -> None:
        """Add the counts of the rows to `totals`, and their sums of the features to `sums`."""
        added = add_poisson_product_sums(
            draws.key,
            draws.stream,
            draws.attempt,
            draws.replicates,
            draws.n_rows,
            self.start,
            self.products,
            self.tables,
            totals,
            sums,
        )
        if not added:
            columns = np.ascontiguousarray(product_columns(self.products, self.tables).T)
            draws.add(self.start, columns, totals, sums)

    def at(self, rows: IntArray) -> FloatArray:
        """Return the features of some rows, shape ``(p, m)``."""
        return product_columns(self.products, [table[rows] for table in self.tables]).T


@dataclass(frozen=True, eq=False)
class SettledDraws:
    """Some resamples whose Poisson totals are known, so that the rows they throw are known too.

    Attributes
    ----------
    draws
        The Poisson part; of those that were rejected `again` has the last attempt, by their places.
    missing
        How many rows each resample throws, shape ``(B,)``.
    """

    draws: PoissonDraws
    again: dict[int, PoissonDraws]
    missing: tuple[int, ...]

    def sums(self, blocks: Iterator[_RowBlock], width: int) -> FloatArray:
        """Return the sums over the blocks of a part, shape ``(B, p)``."""
        totals, sums = self.draws.empty(width)
        rejected = {place: draws.empty(width) for place, draws in self.again.items()}
        for block in blocks:
            block.add_to(self.draws, totals, sums)
            for place, draws in self.again.items():
                block.add_to(draws, *rejected[place])
            inside, owners = self._thrown_among(block.start, len(block))
            self._add_thrown(owners, block.at(inside), sums, rejected)
        for place, (_, own) in rejected.items():
            sums[place] = own[0]
        return sums

    def sums_of_values(self, blocks: Iterator[Block], width: int) -> FloatArray:
        """Return the sums over blocks of values, shape ``(B, p)``."""
        if width >= _WIDE:
            return self._products(blocks, width)
        return self.sums(map(_ColumnBlock.of, blocks), width)

    def _products(self, blocks: Iterator[Block], width: int) -> FloatArray:
        """Return the sums as products with counts of a few resamples at a time."""
        sums = self.draws.empty(width)[1]
        for start, values in blocks:
            step = max(_COUNTS_AT_ONCE // max(len(values), 1), 1)
            for first in range(0, len(sums), step):
                some = range(first, min(first + step, len(sums)))
                sums[some.start : some.stop] += product_in_one_thread(self.counts(some, start, len(values)), values)
        return sums

    def counts(self, places: Sequence[int], start: int, n_rows: int) -> FloatArray:
        """Return how often each row from `start` on is in some of the resamples, shape ``(len(places), n_rows)``."""
        counts = self.draws.of(places).counts(start, n_rows)
        for position, place in enumerate(places):
            if place in self.again:
                counts[position] = self.again[place].counts(start, n_rows)[0]
        inside, owners = self._thrown_among(start, n_rows)
        positions = np.full(len(self.missing), -1)
        positions[list(places)] = np.arange(len(places))
        wanted = positions[owners] >= 0
        np.add.at(counts, (positions[owners[wanted]], inside[wanted]), 1.0)
        return counts

    @cached_property
    def _throws(self) -> tuple[IntArray, IntArray]:
        """Return the thrown rows in ascending order, and the resamples they belong to."""
        rows = [self.draws.thrown(place, self.draws.n_rows - number) for place, number in enumerate(self.missing)]
        joined = np.concatenate(rows)
        order = np.argsort(joined, kind="stable")
        return joined[order], np.repeat(np.arange(len(rows)), self.missing)[order]

    def _thrown_among(self, start: int, n_rows: int) -> tuple[IntArray, IntArray]:
        """Return the thrown rows from `start` on, counted from there, and the resamples they belong to."""
        rows, places = self._throws
        some = slice(*np.searchsorted(rows, [start, start + n_rows]).tolist())
        return rows[some] - start, places[some]

    def _add_thrown(self, owners: IntArray, columns: FloatArray, sums: FloatArray, rejected: Any) -> None:
        """Add the columns ``(p, m)`` of thrown rows to the sums of the resamples they belong to."""
        for feature, column in enumerate(columns):
            added = np.bincount(owners, weights=column, minlength=len(sums))
            sums[:, feature] += added
            for place, (_, own) in rejected.items():
                own[0, feature] += added[place]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the thrown rows, which every process finds itself."""
        return {name: value for name, value in vars(self).items() if name != "_throws"}


@dataclass(frozen=True, eq=False)
class MultinomialBlockWeights:
    """How often the rows of a block are in resamples, drawn where that block is read."""

    draws: SettledDraws

    def __call__(self, places: Sequence[int], start: int, block: Any) -> FloatArray:
        """Return the counts of the rows of a block, shape ``(len(places), m)``."""
        return self.draws.counts(places, start, block.sizes[0])


def multinomial_block_weights(key: Key, stream: int, replicates: Sequence[int], n_rows: int) -> MultinomialBlockWeights:
    """Return `multinomial_counts` as a function of a block of the rows."""
    return MultinomialBlockWeights(settled(PoissonDraws(key, stream, tuple(replicates), checked_rows(n_rows))))


@lru_cache(maxsize=2)
def settled(draws: PoissonDraws) -> SettledDraws:
    """Return the resamples with their Poisson totals, which are found without the data.

    The last ones are kept: whoever refits a model on resamples asks for the same ones in pass after pass.
    """
    totals, again = _totals(draws), {}
    for place in np.flatnonzero(totals > draws.n_rows).tolist():
        last = draws
        while totals[place] > draws.n_rows:
            last = last.again(place if last is draws else 0)
            totals[place] = _totals(last)[0]
        again[place] = last
    return SettledDraws(draws, again, tuple((draws.n_rows - totals).tolist()))


def _totals(draws: PoissonDraws) -> IntArray:
    """Return the Poisson totals, which are found without the data, shape ``(B,)``."""
    totals, sums = draws.empty(0)
    for start in range(0, draws.n_rows, _ROWS_WITHOUT_DATA):
        draws.add(start, np.empty((0, min(_ROWS_WITHOUT_DATA, draws.n_rows - start))), totals, sums)
    return totals


def _sums_of_parts(draws: PoissonDraws, rows: RowsInPieces) -> FloatArray:
    """Return the sums of rows that are read once, in order: the rows that are thrown are known before."""
    known, width = settled(draws), rows.width
    if width >= _WIDE:
        parts = rows.reduced(partial(_matrix_products_of_part, known, width))
    else:
        parts = _drawn_parts(rows, partial(_sums_of_part, known, width))
    total = draws.empty(width)[1]
    for part in parts:
        total += part
    return total


def _matrix_products_of_part(draws: SettledDraws, width: int, blocks: Iterator[Block]) -> FloatArray:
    return draws.sums_of_values(blocks, width)


def _sums_of_part(draws: SettledDraws, width: int, blocks: Iterator[_RowBlock]) -> FloatArray:
    return draws.sums(blocks, width)


def _drawn_parts(rows: RowsInPieces, task: Callable[[Iterator[_RowBlock]], Found]) -> Iterator[Found]:
    """Yield what `task` makes of the blocks of each part, in the order of the parts."""
    products = rows.product_blocks(partial(_of_products, task))
    return rows.reduced(partial(_of_columns, task)) if products is None else products


def _of_products(task: Callable[[Iterator[_RowBlock]], Found], blocks: Iterator[tuple[int, ProductTables]]) -> Found:
    return task(_ProductBlock(start, *block) for start, block in blocks)


def _of_columns(task: Callable[[Iterator[_RowBlock]], Found], blocks: Iterator[Block]) -> Found:
    return task(map(_ColumnBlock.of, blocks))
