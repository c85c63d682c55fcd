"""Arrays with a row for each row of a sample, computed block by block whenever they are needed and never held whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from itertools import islice
from typing import Any, TypeVar, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from orthoboot.arrays.passes import KnowsSpread, Ranges, Spread, column_sums, joined_spread, spread_of, sums_of_cubes
from orthoboot.arrays.row_products import RowProducts
from orthoboot.arrays.threads import processors, run_tasks
from orthoboot.data.samples import Data, Whole
from orthoboot.data.sources import CHUNK, MemorySource, Rows, Source, blocks
from orthoboot.data.strata_in_pieces import PartStrata, StrataOfParts
from orthoboot.data.tables import InputTable
from orthoboot.data.tables_in_pieces import TableInPieces
from orthoboot.errors import DataError
from orthoboot.typing import FloatArray, IntArray

LONG = 1 << 16
"""Rows in memory from which what is computed of them is not held; fewer stay in the processor's cache anyway."""

_NUMBERS_AT_ONCE = 1 << 20
"""Numbers of a block: 8 MB at most."""

_BLOCKS_AT_ONCE = 4
"""Blocks that are computed at once and held together."""

_FEWEST_ROWS = 1024
"""Rows of a block at least, however wide they are, where they are read part by part."""

_SMALL = 1e-100

Result = TypeVar("Result")

Array = np.ndarray[Any, Any]

ProductTables = tuple[RowProducts, tuple[FloatArray, FloatArray]]
"""How columns are computed row by row, and the two tables ``(n, d)`` that they are computed from."""

Block = tuple[int, FloatArray]
"""The number of the first of some consecutive rows, and values of them, shape ``(m, p)``."""


@dataclass(frozen=True, eq=False)
class SampleInPieces:
    """A sample whose rows are read block by block.

    Attributes
    ----------
    source
        Where the rows come from.
    starts
        The number of the first row of each part.
    n_rows
        The number of all rows.
    whole
        The frame of all rows, in which each block is measured.
    first_row
        The first row, to see what is computed of it.
    tables
        Which of the tables of the source are wanted.
    strata
        The strata of the rows, where these are drawn within strata.
    """

    source: Source
    starts: tuple[int, ...]
    n_rows: int
    whole: Whole
    first_row: Rows
    tables: tuple[int, ...]
    strata: StrataOfParts | None = None

    def reduced(self, task: Callable[[Iterator[tuple[int, Data]]], Result], width: int) -> Iterator[Result]:
        """Yield what `task` makes of the blocks of each part, in the order of the parts.

        Parameters
        ----------
        task
            Takes the blocks of one part, each with the number of its first row; runs where that part is read.
        width
            How many numbers are computed of a row.
        """
        # In memory sums are promised in the order of whole chunks.
        least = CHUNK if self.source.in_memory else _FEWEST_ROWS
        of_blocks = partial(_of_blocks, task, self.starts, self.whole, self.tables, self.strata, width, least)
        return self.source.each(of_blocks)

    @property
    def example(self) -> Data:
        """Return the first row as data."""
        return _as_data(self.first_row, self.whole, self.tables)

    def blocks(self, width: int) -> Iterator[tuple[int, Data]]:
        """Yield the blocks of all rows in their order; only where they lie in memory."""
        assert isinstance(self.source, MemorySource)
        return _blocks_of_data(0, iter([self.source.tables]), self.whole, self.tables, width)

    @property
    def arrays(self) -> Rows:
        """Return its tables; only where they lie in memory."""
        assert isinstance(self.source, MemorySource)
        return tuple(self.source.tables[number] for number in self.tables)

    def at(self, rows: IntArray) -> Data:
        """Return some of the rows, in the order asked for; only where the source finds them."""
        return _as_data(self.source.at(rows), self.whole, self.tables)


def _blocks_of_data(
    start: int,
    rows: Iterator[Rows],
    whole: Whole,
    tables: tuple[int, ...],
    width: int,
    least: int = CHUNK,
    strata: PartStrata | None = None,
) -> Iterator[tuple[int, Data]]:
    size = _NUMBERS_AT_ONCE // max(width, 1)
    for first, block in blocks(start, rows, size, least=least):
        data = _as_data(block, whole, tables)
        yield first, data if strata is None else replace(data, find_strata=strata.next_block(block))


def _of_blocks(
    task: Callable[[Iterator[tuple[int, Data]]], Result],
    starts: tuple[int, ...],
    whole: Whole,
    tables: tuple[int, ...],
    strata: StrataOfParts | None,
    width: int,
    least: int,
    part: int,
    rows: Iterator[Rows],
) -> Result:
    own = None if strata is None else strata.of_part(part)
    with np.errstate(all="ignore"):  # what is not finite shows in the values
        return task(_blocks_of_data(starts[part], rows, whole, tables, width, least, own))


def _as_data(rows: Rows, whole: Whole, numbers: tuple[int, ...]) -> Data:
    tables = tuple(InputTable(_read_only(rows[number]), "data") for number in numbers)
    return Data(tables, (0,) * len(tables), (len(rows[0]),), whole=whole)


def _read_only(array: Array) -> Array:
    """Return rows that no function can write to: they may lie in a file or be the user's own."""
    view = array.view()
    view.flags.writeable = False
    return view


def in_pieces(data: Data) -> SampleInPieces | None:
    """Return the only sample as one that is worked on block by block, or None where it is short."""
    first = data.tables[0]
    if isinstance(first, TableInPieces):
        known = first.surveyed
        numbers = tuple(table.number for table in data.tables if isinstance(table, TableInPieces))
        frame, first_row = known.frame(numbers), known.first_row
        return SampleInPieces(known.source, known.starts, known.n_rows, frame, first_row, numbers, first.strata)
    if len(data.sizes) > 1 or data.sizes[0] < LONG:
        return None
    source = MemorySource(data.arrays)
    first_row = source.at(np.zeros(1, dtype=np.int64))
    return SampleInPieces(source, source.starts, data.sizes[0], data, first_row, tuple(range(len(data.tables))))


@dataclass(frozen=True, eq=False)
class _Composed:
    """Columns of a block that are computed from others of it."""

    inner: Callable[[Data], FloatArray]
    outer: Callable[[FloatArray], FloatArray]
    overwrites: bool = False
    """Whether the others are lost."""

    def __call__(self, data: Data) -> FloatArray:
        """Return the columns of a block, shape ``(m, p)``."""
        return self.outer(self.inner(data))


def _steps_between(
    first: Callable[[Data], FloatArray], last: Callable[[Data], FloatArray]
) -> list[Callable[[FloatArray], FloatArray]] | None:
    """Return the steps that make the columns `last` of the columns `first`, or None where they are made otherwise."""
    steps: list[Callable[[FloatArray], FloatArray]] = []
    while last is not first:
        if not isinstance(last, _Composed) or last.overwrites:
            return None
        steps.insert(0, last.outer)
        last = last.inner
    return steps


@dataclass(frozen=True, eq=False)
class RowsInPieces(KnowsSpread, NDArrayOperatorsMixin):
    """Columns computed from the rows of a sample, shape ``(n, p)``, as an array that nobody holds.

    What it takes to know of them, sums above all, is found in passes over the blocks. In whatever else is asked of
    them they are the array that `held` computes, where the rows lie in memory.

    Attributes
    ----------
    sample
        The rows.
    compute
        Returns the columns of a block, shape ``(m, p)``; each row must be computed from itself and the frame alone.
    width
        p.
    is_centred
        Whether the mean of each column is zero, by construction.
    """

    sample: SampleInPieces
    compute: Callable[[Data], FloatArray]
    width: int
    is_centred: bool = False

    def __len__(self) -> int:
        return self.sample.n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """Return ``(n, p)``."""
        return len(self), self.width

    @property
    def at_hand(self) -> bool:
        """Return whether the rows lie in memory, so that the array can be had where it must."""
        return self.sample.source.in_memory

    @property
    def product_tables(self) -> ProductTables | None:
        """Return how a kernel can compute the columns, where they are products of the numbers of a row; else None."""
        return None

    def product_blocks(self, task: Callable[[Iterator[tuple[int, ProductTables]]], Result]) -> Iterator[Result] | None:
        """Return what `task` makes of the blocks of each part, as `product_tables`, in the order of the parts.

        None where the columns are no products of the numbers of a row.
        """
        return None

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Return what a function of numpy makes of all rows."""
        arrays = (value.held if isinstance(value, RowsInPieces) else value for value in inputs)
        return getattr(ufunc, method)(*arrays, **options)

    def __getitem__(self, places: Any) -> Any:
        return self.held[places]

    def __getattr__(self, name: str) -> Any:
        # Whoever copies or pickles an object looks for private names before it has any field.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.held, name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        """Return all rows as an array; numpy takes its word that one which was asked for as a copy is one."""
        return np.array(self.held, dtype=dtype, copy=copy)

    @cached_property
    def held(self) -> FloatArray:
        """Return all rows as an array, column by column in memory; only where they lie there themselves."""
        if not self.at_hand:
            raise DataError(
                "this needs a number for every row at once, and the rows are read in pieces. Load them into memory "
                "first, if they fit."
            )
        columns = np.empty((self.width, len(self)))
        for _ in self.reduced(partial(_store, columns)):
            pass
        return columns.T

    def __mul__(self, factor: FloatArray | float) -> RowsInPieces:
        compute = _Composed(self.compute, partial(_times, factor))
        return _ScaledRows(self.sample, compute, self.width, self.is_centred, self, factor)

    def __truediv__(self, divisor: FloatArray | float) -> RowsInPieces:
        return self * (1 / np.asarray(divisor))

    __rmul__ = __mul__

    def __sub__(self, other: Any) -> Any:
        if not isinstance(other, RowsInPieces):
            return super().__sub__(other)
        one, two = _of_one_sample([self, other])
        compute = partial(_difference, one.compute, two.compute)
        return RowsInPieces(one.sample, compute, self.width, self.is_centred and other.is_centred)

    def mapped(
        self, function: Callable[[FloatArray], FloatArray], width: int | None = None, *, is_centred: bool = False
    ) -> RowsInPieces:
        """Return the columns that `function` computes from these ``(m, p)``."""
        compute = _Composed(self.compute, function)
        return RowsInPieces(self.sample, compute, self.width if width is None else width, is_centred)

    def reduced(self, task: Callable[[Iterator[Block]], Result]) -> Iterator[Result]:
        """Yield what `task` makes of the blocks of each part, in the order of the parts."""
        return self.sample.reduced(partial(_of_values, task, self.compute), self.width)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of all rows in their order, a few computed at once; only where they lie in memory."""
        left = self.sample.blocks(self.width)
        while some := list(islice(left, min(processors(), _BLOCKS_AT_ONCE))):
            yield from self._computed(some)

    def _computed(self, blocks: Sequence[tuple[int, Data]]) -> list[Block]:
        values: list[FloatArray] = [np.empty(0)] * len(blocks)

        def store(place: int) -> None:
            with np.errstate(all="ignore"):  # what is not finite shows in the values
                values[place] = self.compute(blocks[place][1])

        run_tasks([partial(store, place) for place in range(len(blocks))])
        return [(start, found) for (start, _), found in zip(blocks, values, strict=True)]

    def at(self, rows: IntArray) -> FloatArray:
        """Return the columns of some rows, shape ``(m, p)``; in one pass where the rows do not lie in memory.

        Then they must be asked for in ascending order.
        """
        if self.at_hand:
            return self.found_at(rows)
        return np.concatenate(list(self.reduced(partial(_taken, rows, self.width))))

    def found_at(self, rows: IntArray) -> FloatArray:
        """Return the columns of some rows in any order, shape ``(m, p)``; only where the source finds rows."""
        return self.compute(self.sample.at(rows))

    @cached_property
    def means(self) -> FloatArray:
        """Return the means of the columns, shape ``(p,)``."""
        return np.zeros(self.width) if self.is_centred else self._total(_sums) / len(self)

    def centred(self, *, in_place: bool = False, near: bool = False) -> tuple[FloatArray, RowsInPieces]:
        """Return the means of the columns, and the deviations from them.

        Parameters
        ----------
        in_place
            Whether a block of these columns may be overwritten, since nobody else needs it.
        near
            Whether the means are near zero. Otherwise the columns are first measured from their first row, so that
            numbers far from zero lose no digits.
        """
        shift = None if near else self.compute(self.sample.example)[0]
        moved = self if shift is None else self._less(shift, in_place=in_place)
        centre = moved.means if shift is None else shift + moved.means
        return centre, replace(moved._less(moved.means, in_place=in_place or shift is not None), is_centred=True)

    def _less(self, centre: FloatArray, *, in_place: bool) -> RowsInPieces:
        compute = _Composed(self.compute, partial(_less, centre, in_place), overwrites=in_place)
        return RowsInPieces(self.sample, compute, self.width)

    def sums_of_cubes(self, centre: FloatArray) -> FloatArray:
        """Return ``sum_j (row_j - centre)**3`` of each column, shape ``(p,)``."""
        return self._total(partial(_cubes, centre))

    def cross_sums(self, other: RowsInPieces) -> FloatArray:
        """Return ``self.T @ other`` of columns of the same rows, shape ``(p, q)``."""
        steps = _steps_between(other.compute, self.compute)
        if steps is not None and self.sample is other.sample:
            return other._total(partial(_products_after, steps))
        return _beside([self, other])._total(partial(_products, self.width))

    def beside(self, other: RowsInPieces) -> RowsInPieces:
        """Return these columns and then those of `other`, of the same rows."""
        return _beside([self, other])

    def columns_at(self, places: slice) -> RowsInPieces:
        """Return some of the columns."""
        width = len(range(*places.indices(self.width)))
        return self.mapped(partial(_columns_at, places), width, is_centred=self.is_centred)

    def own_sums(self, weights: RowsInPieces) -> FloatArray:
        """Return ``sum_j weights[j, b] row[j, i B + b]`` for B columns of weights, shape ``(p / B, B)``."""
        return _beside([weights, self])._total(partial(_own_products, weights.width))

    def weighted_sums(self, weights: Callable[[Sequence[int], int, Data], FloatArray], number: int) -> FloatArray:
        """Return the sums of the columns for each of a number of weights on the rows, shape ``(number, p)``.

        Parameters
        ----------
        weights
            Returns those of the rows of a block, ``(number, m)``; see `orthoboot.draws.resamples.BlockWeights`.
        """
        task = partial(_weighted, weights, range(number), self.compute)
        total: Any = sum(self.sample.reduced(task, max(self.width, number)), start=0.0)
        return np.asarray(total)

    def covariance(self) -> FloatArray:
        """Return the covariance of the columns, shape ``(p, p)``; best of columns whose means are about zero."""
        products = self._total(_products_and_sums)
        mean = products[:-1, -1] / len(self)
        covariance: FloatArray = products[:-1, :-1] / len(self) - np.outer(mean, mean)
        return covariance

    def _total(self, task: Callable[[Iterator[Block]], FloatArray | float]) -> FloatArray:
        with np.errstate(all="ignore"):  # what is not finite shows in the values
            total: Any = sum(self.reduced(task), start=0.0)
        return np.asarray(total)

    @cached_property
    def spread(self) -> Spread:
        """Return the ranges, the means and the sums of squares of the columns, from one pass."""
        with np.errstate(all="ignore"):  # what is not finite shows in the values
            found = reduce(joined_spread, self.reduced(_spread))
        assert found is not None
        return found


@dataclass(frozen=True, eq=False)
class _ScaledRows(RowsInPieces):
    """Columns times a factor, whose spread is known where theirs is."""

    of: RowsInPieces = field(kw_only=False, default=cast(RowsInPieces, None))
    factor: FloatArray | float = 1.0

    @cached_property
    def spread(self) -> Spread:
        """Return the ranges, the means and the sums of squares of the columns."""
        n, (low, high), mean, squares = self.of.spread
        if not (_is_ordinary(np.sqrt(squares)) and _is_ordinary(np.abs(self.factor))):
            return super().spread
        ends = low * self.factor, high * self.factor
        return Spread(n, Ranges(np.minimum(*ends), np.maximum(*ends)), mean * self.factor, squares * self.factor**2)

    def cross_sums(self, other: RowsInPieces) -> FloatArray:
        """Return ``self.T @ other`` of columns of the same rows, shape ``(p, q)``."""
        crosses = self.of.cross_sums(other)
        if not _is_ordinary(np.abs(crosses)):
            return super().cross_sums(other)
        return np.reshape(self.factor, (-1, 1)) * crosses


def _is_ordinary(sizes: FloatArray) -> bool:
    """Return whether the squares of numbers have all their digits, so that they need not be found in other units."""
    return bool(np.all((sizes == 0) | ((sizes > _SMALL) & (sizes < 1 / _SMALL))))


def as_array(rows: RowsInPieces) -> FloatArray:
    """Return the rows where an array is expected: they stand in for one wherever sums are all that is asked of it."""
    return cast(FloatArray, rows)


def as_pieces(values: Any) -> RowsInPieces | None:
    """Return rows that stand in for an array, or None where it is one."""
    return values if isinstance(values, RowsInPieces) else None


def held(values: FloatArray) -> FloatArray:
    """Return all rows as an array, in one pass where they are read part by part."""
    rows = as_pieces(values)
    return values if rows is None else rows.at(np.arange(len(rows)))


def side_by_side(parts: Sequence[FloatArray]) -> FloatArray:
    """Return the columns of several arrays of the same rows in one, in pieces where all of them are."""
    pieces = [rows for rows in map(as_pieces, parts) if rows is not None]
    return np.hstack(parts) if len(pieces) < len(parts) else as_array(_beside(pieces))


def _beside(several: Sequence[RowsInPieces]) -> RowsInPieces:
    """Return columns of the same rows as one."""
    same = _of_one_sample(several)
    compute = partial(_side_by_side, tuple(rows.compute for rows in same))
    width, is_centred = sum(rows.width for rows in same), all(rows.is_centred for rows in same)
    return RowsInPieces(same[0].sample, compute, width, is_centred)


def _of_one_sample(several: Sequence[RowsInPieces]) -> list[RowsInPieces]:
    """Return the same columns, each computed from blocks that hold the tables of all."""
    samples = [rows.sample for rows in several]
    if all(sample.source is samples[0].source for sample in samples):
        tables = tuple(sorted({table for sample in samples for table in sample.tables}))
        places = [tuple(tables.index(table) for table in sample.tables) for sample in samples]
        joined = replace(samples[0], tables=tables)
    else:
        # Rows in memory have a source for each choice of their tables, which it numbers for itself.
        arrays = {id(table): table for sample in samples for table in sample.arrays}
        places = [tuple(list(arrays).index(id(table)) for table in sample.arrays) for sample in samples]
        source = MemorySource(tuple(arrays.values()))
        first_row = source.at(np.zeros(1, dtype=np.int64))
        joined = replace(samples[0], source=source, first_row=first_row, tables=tuple(range(len(arrays))))
    if all(sample.tables == joined.tables and sample.source is joined.source for sample in samples):
        return list(several)
    computed = [
        partial(_of_some_tables, rows.compute, own, rows.sample.whole)
        for rows, own in zip(several, places, strict=True)
    ]
    return [
        RowsInPieces(joined, compute, rows.width, rows.is_centred)
        for rows, compute in zip(several, computed, strict=True)
    ]


def multiplied(values: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return ``values @ matrix``, in pieces where the values are."""
    rows = as_pieces(values)
    if rows is None:
        product: FloatArray = values @ matrix
        return product
    return as_array(rows.mapped(partial(_multiplied, matrix), matrix.shape[1], is_centred=rows.is_centred))


def zeros_like(values: FloatArray) -> FloatArray:
    """Return zeros in the shape of the values, in pieces where these are."""
    rows = as_pieces(values)
    return np.zeros_like(values) if rows is None else as_array(rows.mapped(np.zeros_like, is_centred=True))


def _multiplied(matrix: FloatArray, values: FloatArray) -> FloatArray:
    product: FloatArray = values @ matrix
    return product


def _columns_at(places: slice, values: FloatArray) -> FloatArray:
    return values[:, places]


def _of_values(
    task: Callable[[Iterator[Block]], Result],
    compute: Callable[[Data], FloatArray],
    pieces: Iterator[tuple[int, Data]],
) -> Result:
    return task((start, compute(data)) for start, data in pieces)


def _less(centre: FloatArray, in_place: bool, values: FloatArray) -> FloatArray:
    return np.subtract(values, centre, out=values if in_place else None)


def _store(columns: FloatArray, pieces: Iterator[Block]) -> None:
    for start, values in pieces:
        columns[:, start : start + len(values)] = values.T


def _taken(rows: IntArray, width: int, pieces: Iterator[Block]) -> FloatArray:
    found = [np.empty((0, width))]
    for start, values in pieces:
        first, last = np.searchsorted(rows, [start, start + len(values)]).tolist()
        found.append(values[rows[first:last] - start])
    return np.concatenate(found)


def _times(factor: FloatArray | float, values: FloatArray) -> FloatArray:
    product: FloatArray = values * factor
    return product


def _sums(pieces: Iterator[Block]) -> FloatArray | float:
    return sum((column_sums(values) for _, values in pieces), start=0.0)


def _cubes(centre: FloatArray, pieces: Iterator[Block]) -> FloatArray | float:
    return sum((sums_of_cubes(values, centre) for _, values in pieces), start=0.0)


def _of_some_tables(
    compute: Callable[[Data], FloatArray], places: tuple[int, ...], whole: Whole, data: Data
) -> FloatArray:
    tables = tuple(data.tables[place] for place in places)
    return compute(Data(tables, (0,) * len(tables), data.sizes, whole=whole, find_strata=data.find_strata))


def _side_by_side(parts: Sequence[Callable[[Data], FloatArray]], data: Data) -> FloatArray:
    return np.hstack([compute(data) for compute in parts])


def _difference(first: Callable[[Data], FloatArray], second: Callable[[Data], FloatArray], data: Data) -> FloatArray:
    return first(data) - second(data)


def _products(width: int, pieces: Iterator[Block]) -> FloatArray | float:
    return sum((values[:, :width].T @ values[:, width:] for _, values in pieces), start=0.0)


def _products_after(steps: Sequence[Callable[[FloatArray], FloatArray]], pieces: Iterator[Block]) -> FloatArray | float:
    """Return the sums of products of columns with others that are computed from them in some steps."""
    return sum((reduce(_applied, steps, values).T @ values for _, values in pieces), start=0.0)


def _applied(values: FloatArray, step: Callable[[FloatArray], FloatArray]) -> FloatArray:
    return step(values)


def _own_products(width: int, pieces: Iterator[Block]) -> FloatArray | float:
    split = ((values[:, :width].T, _in_blocks(values[:, width:], width)) for _, values in pieces)
    return sum((np.einsum("bm,pbm->pb", weights, columns) for weights, columns in split), start=0.0)


def _weighted(
    weights: Callable[[Sequence[int], int, Data], FloatArray],
    places: Sequence[int],
    compute: Callable[[Data], FloatArray],
    pieces: Iterator[tuple[int, Data]],
) -> FloatArray | float:
    return sum((weights(places, start, data) @ compute(data) for start, data in pieces), start=0.0)


def _products_and_sums(pieces: Iterator[Block]) -> FloatArray | float:
    with_ones = (np.vstack([values.T, np.ones(len(values))]) for _, values in pieces)
    return sum((columns @ columns.T for columns in with_ones), start=0.0)


def _spread(pieces: Iterator[Block]) -> Spread | None:
    return reduce(lambda known, block: joined_spread(known, spread_of(block[1])), pieces, None)


def _in_blocks(values: FloatArray, width: int) -> FloatArray:
    """Return columns ``(m, p)`` as shape ``(p / width, width, m)``."""
    return values.T.reshape(-1, width, len(values))
