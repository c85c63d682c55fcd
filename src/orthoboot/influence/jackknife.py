"""Influence values of any statistic by leaving out one row at a time."""

from __future__ import annotations

import numpy as np

from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.execution.progress import ProgressBar
from orthoboot.functionals import Functional
from orthoboot.typing import FloatArray, Influence


def jackknife_influence(functional: Functional, data: Data, progress: bool | None = None) -> Influence:
    """Return ``(n - 1) (phi_hat - phi_without_j)``, centred: one evaluation a row (R's ``empinf(type = "jack")``)."""
    estimate = functional.estimate(data)
    with ProgressBar(sum(data.sizes), unit="row", shown=progress) as bar:
        columns = [_left_out(functional, data, sample, bar) for sample in range(len(data.sizes))]
    return tuple(_centred((len(values) - 1) * (estimate - values), estimate) for values in columns)


def _left_out(functional: Functional, data: Data, sample: int, bar: ProgressBar) -> FloatArray:
    """Return the statistic without each row of one sample, shape ``(n, k)``."""
    values = []
    for row in range(data.sizes[sample]):
        weights = tuple(np.ones((1, n)) for n in data.sizes)
        weights[sample][0, row] = 0.0
        values.append(functional.evaluate(data, Resamples(weights))[0])
        bar.advance(1)
    return np.array(values)


def _centred(values: FloatArray, estimate: FloatArray) -> FloatArray:
    """Return `values` less their mean; columns that are rounding alone count as zero."""
    rounding = len(values) * float(np.finfo(np.float64).eps) * np.abs(estimate)
    centred = values - values.mean(axis=0)
    return np.where(np.abs(centred).max(axis=0) > 10 * rounding, centred, 0.0)
