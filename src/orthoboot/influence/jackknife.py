"""Influence values of any statistic by leaving out one row at a time."""

from __future__ import annotations

import numpy as np

from orthoboot.data import Data
from orthoboot.functionals import Functional
from orthoboot.resamples import Resamples
from orthoboot.typing import FloatArray, Influence


def jackknife_influence(functional: Functional, data: Data) -> Influence:
    """Return ``(n - 1) (phi_hat - phi_without_j)``, centred: one evaluation a row (R's ``empinf(type = "jack")``)."""
    estimate = functional.estimate(data)
    columns = []
    for sample, n in enumerate(data.sizes):
        values = np.empty((n, len(estimate)))
        for row in range(n):
            weights = tuple(np.ones((1, rows)) for rows in data.sizes)
            weights[sample][0, row] = 0.0
            values[row] = (n - 1) * (estimate - functional.evaluate(data, Resamples(weights))[0])
        columns.append(values)
    return tuple(_centred(values, estimate) for values in columns)


def _centred(values: FloatArray, estimate: FloatArray) -> FloatArray:
    """Return `values` less their mean; columns that are rounding alone count as zero."""
    rounding = len(values) * float(np.finfo(np.float64).eps) * np.abs(estimate)
    centred = values - values.mean(axis=0)
    return np.where(np.abs(centred).max(axis=0) > 10 * rounding, centred, 0.0)
