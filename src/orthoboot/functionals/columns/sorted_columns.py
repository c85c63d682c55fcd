"""Statistics of each column that need its rows in increasing order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import DataError
from orthoboot.functionals.columns.moments import check_one_table, columns_of
from orthoboot.functionals.formula import Formula, PreparedFormula
from orthoboot.functionals.output import Output, output_like
from orthoboot.typing import FloatArray, IntArray


@dataclass(frozen=True)
class SortedColumns:
    """The order ``(d, n)`` of the rows by each column, and the columns ``(d, n)`` in that order."""

    order: IntArray
    values: FloatArray


class SortedColumnStatistic(Formula[SortedColumns]):
    """A statistic of each column; the data are sorted once, and every resample only reorders its weights."""

    def check(self, at: PreparedFormula[SortedColumns]) -> None:
        """Raise unless there is one sample in one table."""
        n_samples = len(at.data.sizes)
        if n_samples > 1:
            raise DataError(
                f"`{self.name}` takes one sample; got {n_samples} independent samples. Compare two samples with "
                f"`difference({self.name})`.{at.data.samples_hint}"
            )
        check_one_table(self.name, at.data)

    def output(self, at: PreparedFormula[SortedColumns]) -> Output:
        """Return one number per column, named by it."""
        return output_like(np.zeros(at.data.arrays[0].shape[1:]), self.name, at.data.columns[0])

    def ordered_shares(
        self, at: PreparedFormula[SortedColumns], resamples: Resamples
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield for each column, in increasing order, the rows' shares of the weight ``(B, n)`` and their values."""
        columns = at.derived
        totals = resamples.totals(0)[:, np.newaxis]
        for order, values in zip(columns.order, columns.values, strict=True):
            # Indexing the second axis would leave the resamples side by side in memory, and sums would round otherwise.
            yield np.take(resamples.weights[0], order, axis=1) / totals, values

    def own_values(self, at: PreparedFormula[SortedColumns], resamples: Resamples) -> FloatArray:
        """Return each output on a resample of its own, from its own column; the columns come first in the outputs."""
        columns = at.derived
        n_columns = len(columns.order)
        values = np.empty(len(resamples))
        for number in range(len(resamples)):
            level, column = divmod(number, n_columns)
            own: PreparedFormula[SortedColumns] = PreparedFormula(self, at.data)
            vars(own)["derived"] = SortedColumns(columns.order[[column]], columns.values[[column]])
            values[number] = self.values(own, resamples.one(number))[0, level]
        return values

    def derived(self, data: Data) -> SortedColumns:
        """Return the columns of `data` in increasing order."""
        columns = np.ascontiguousarray(columns_of(data).T)
        order = np.argsort(columns, axis=1, kind="stable")
        return SortedColumns(order, np.take_along_axis(columns, order, axis=1))
