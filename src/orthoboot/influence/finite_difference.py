"""The empirical influence values of a weights-aware statistic, by central differences in the weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orthoboot.data import Data
from orthoboot.errors import InfluenceError
from orthoboot.functionals import Functional
from orthoboot.resamples import Resamples
from orthoboot.typing import FloatArray, Influence

_WEIGHTS_AT_ONCE = 1 << 21
"""Weights held at once while the rows are perturbed."""

_FIRST_ORDER_STEP = 1e-4
_SECOND_ORDER_STEP = 1e-3


def finite_difference_influence(functional: Functional, data: Data) -> Influence:
    """Return ``(phi(towards row j) - phi(away from row j)) / (2 step)`` for every row.

    Row j's weight grows at the cost of all: weights ``(1 - e) + e n`` on row j and ``1 - e`` elsewhere. It costs two
    evaluations a row, each of n weights.
    """
    _check(functional)
    columns = []
    for sample, n in enumerate(data.sizes):
        step = _FIRST_ORDER_STEP / np.sqrt(n)
        towards, away = _perturbed(functional, data, sample, step), _perturbed(functional, data, sample, -step)
        columns.append(np.concatenate([(up - down) / (2 * step) for up, down in zip(towards, away, strict=True)]))
    return tuple(values - values.mean(axis=0) for values in columns)


def finite_difference_bias(functional: Functional, data: Data) -> FloatArray:
    """Return ``(1/2) sum_i sum_j d2_ij / n_i**2`` by second differences, shape ``(k,)``: two evaluations a row."""
    _check(functional)
    centre = functional.estimate(data)
    bias = np.zeros_like(centre)
    for sample, n in enumerate(data.sizes):
        step = _SECOND_ORDER_STEP / np.sqrt(n)
        towards, away = _perturbed(functional, data, sample, step), _perturbed(functional, data, sample, -step)
        total = sum((up - 2 * centre + down).sum(axis=0) for up, down in zip(towards, away, strict=True))
        bias += total / (2 * step**2 * n**2)
    return bias


def _check(functional: Functional) -> None:
    if not functional.fractional:
        raise InfluenceError(
            'influence="finite-difference" needs a statistic with a `weights` parameter; this one gets whole rows. '
            'Give it one, or use influence="jackknife".'
        )


def _perturbed(functional: Functional, data: Data, sample: int, step: float) -> Iterator[FloatArray]:
    """Yield phi with the weight of each row of `sample` in turn moved by `step`, in batches of shape ``(b, k)``."""
    n = data.sizes[sample]
    size = max(_WEIGHTS_AT_ONCE // sum(data.sizes), 1)
    for start in range(0, n, size):
        rows = np.arange(start, min(start + size, n))
        weights = [np.ones((len(rows), rows_of_sample)) for rows_of_sample in data.sizes]
        weights[sample] -= step
        weights[sample][np.arange(len(rows)), rows] += step * n
        yield functional.evaluate(data, Resamples(tuple(weights)))
