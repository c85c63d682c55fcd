"""Influence values of any statistic by leaving out one row at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoboot.draws.resamples import Resamples
from orthoboot.execution.evaluations import evaluations
from orthoboot.execution.execution import Execution
from orthoboot.execution.progress import ProgressBar
from orthoboot.functionals.base import Prepared
from orthoboot.influence.engine_values import complete_values
from orthoboot.typing import FloatArray, Influence


@dataclass(frozen=True)
class RowsLeftOut:
    """Weights that leave out one row, numbered by row."""

    sizes: tuple[int, ...]
    sample: int

    def resamples(self, numbers: Sequence[int]) -> Resamples:
        """Return the data without each of these rows in turn."""
        weights = tuple(np.ones((len(numbers), n)) for n in self.sizes)
        for place, row in enumerate(numbers):
            weights[self.sample][place, row] = 0.0
        return Resamples(weights)


def jackknife_influence(prepared: Prepared[Any], execution: Execution) -> Influence:
    """Return ``(n - 1) (phi_hat - phi_without_j)``, centred: one evaluation per row (R's ``empinf(type = "jack")``)."""
    sizes, estimate = prepared.data.sizes, prepared.estimate
    columns = []
    with ProgressBar(sum(sizes), unit="row", shown=execution.progress) as bar:
        for sample, n in enumerate(sizes):
            source, section = RowsLeftOut(sizes, sample), f"jackknife {sample}"
            columns.append(complete_values("jackknife", evaluations(prepared, source, n, execution, section, bar)))
    return tuple(_centred((len(values) - 1) * (estimate - values), estimate) for values in columns)


def _centred(values: FloatArray, estimate: FloatArray) -> FloatArray:
    """Return `values` minus their mean; columns that are rounding alone are set to zero."""
    rounding = len(values) * float(np.finfo(np.float64).eps) * np.abs(estimate)
    centred = values - values.mean(axis=0)
    return np.where(np.abs(centred).max(axis=0) > 10 * rounding, centred, 0.0)
