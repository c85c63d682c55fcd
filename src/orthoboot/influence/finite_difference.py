"""The empirical influence values of a weights-aware statistic, by central differences in the weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orthoboot.data import Data
from orthoboot.draws.resamples import Resamples
from orthoboot.errors import InfluenceError
from orthoboot.execution.progress import ProgressBar
from orthoboot.functionals import Functional
from orthoboot.typing import FloatArray, Influence

_WEIGHTS_AT_ONCE = 1 << 21
"""Weights held at once while the rows are perturbed."""

_FIRST_ORDER_STEPS = (1e-4, 1e-1)
"""In units of ``1/sqrt(n)``: short, and for large values with small changes long."""

_SECOND_ORDER_STEP = 1e-3

_ACCURACY = 1e-4
"""Rounding may be this share of the influence values before a longer step is taken."""

_EPSILON = float(np.finfo(np.float64).eps)


def finite_difference_influence(functional: Functional, data: Data, progress: bool | None = None) -> Influence:
    """Return ``(phi(towards row j) - phi(away from row j)) / (2 step)`` for every row.

    Row j's weight grows at the cost of all: weights ``(1 - e) + e n`` on row j and ``1 - e`` elsewhere. It costs two
    evaluations a row, each of n weights. Where the value is so large beside its changes that rounding would show, the
    differences are taken again with a longer step.
    """
    _check(functional)
    estimate = np.abs(functional.estimate(data))
    with ProgressBar(sum(data.sizes), unit="row", shown=progress) as bar:
        return tuple(_differences(functional, data, sample, estimate, bar) for sample in range(len(data.sizes)))


def _differences(functional: Functional, data: Data, sample: int, estimate: FloatArray, bar: ProgressBar) -> FloatArray:
    """Return the differences for the rows of one sample, shape ``(n, k)``; rounding alone counts as zero."""
    for step in (step / np.sqrt(data.sizes[sample]) for step in _FIRST_ORDER_STEPS):
        rounding = _EPSILON * estimate / step
        towards, away = (_perturbed(functional, data, sample, sign * step) for sign in (1, -1))
        pieces = []
        for up, down in zip(towards, away, strict=True):
            pieces.append((up - down) / (2 * step))
            bar.advance(len(up))
        values = np.concatenate(pieces)
        values -= values.mean(axis=0)
        spread = np.abs(values).max(axis=0)
        if (rounding <= _ACCURACY * spread).all():
            break
    return np.where(spread > 10 * rounding, values, 0.0)


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
