"""The empirical influence values of a weights-aware statistic, by central differences in the weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoboot.draws.resamples import Resamples
from orthoboot.errors import InfluenceError
from orthoboot.execution.evaluations import evaluations
from orthoboot.execution.execution import Execution
from orthoboot.execution.progress import ProgressBar
from orthoboot.functionals.base import Prepared
from orthoboot.influence.engine_values import complete_values
from orthoboot.plans import Plan
from orthoboot.typing import FloatArray, Influence, IntArray

_ENGINE = "finite-difference"

_FIRST_ORDER_STEPS = (1e-4, 1e-1)
"""In units of ``1/sqrt(n)``: short, and for large values with small changes long."""

_SECOND_ORDER_STEP = 1e-3

_LONGER, _GROWTH, _NOTABLE = 8, 3, 0.1
"""A bias of more than a tenth of a standard error is that of a kink if eight times the step makes it a third."""

_ACCURACY = 1e-4
"""Rounding may be this share of the influence values before a longer step is taken."""

_EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class RowsMoved:
    """Weights with one row moved up or down, numbered by row.

    Row j has ``(1 - step) + step n`` and the others of its sample ``1 - step``; numbers from n on are the same rows
    with the opposite step.
    """

    sizes: tuple[int, ...]
    sample: int
    step: float

    def resamples(self, numbers: Sequence[int]) -> Resamples:
        """Return the weights moved towards or away from each of these rows in turn."""
        n = self.sizes[self.sample]
        rows, signs = np.asarray(numbers) % n, np.where(np.asarray(numbers) < n, self.step, -self.step)
        weights = [np.ones((len(numbers), rows_of_sample)) for rows_of_sample in self.sizes]
        weights[self.sample] -= signs[:, np.newaxis]
        weights[self.sample][np.arange(len(numbers)), rows] += signs * n
        return Resamples(tuple(weights))


def finite_difference_influence(prepared: Prepared[Any], execution: Execution, plan: Plan | None = None) -> Influence:
    """Return ``(phi(towards row j) - phi(away from row j)) / (2 step)`` for every row.

    Row j's weight grows at the cost of all: weights ``(1 - e) + e n`` on row j and ``1 - e`` elsewhere. It costs two
    evaluations a row, each of n weights. Where the value is so large beside its changes that rounding would show, the
    differences are taken again with a longer step.
    """
    _check(prepared)
    sizes = prepared.data.sizes
    with ProgressBar(2 * sum(sizes), unit="evaluation", shown=execution.progress) as bar:
        return tuple(_differences(prepared, sample, execution, bar) for sample in range(len(sizes)))


def _differences(prepared: Prepared[Any], sample: int, execution: Execution, bar: ProgressBar) -> FloatArray:
    """Return the differences for the rows of one sample, shape ``(n, k)``; rounding alone counts as zero."""
    estimate = np.abs(prepared.estimate)
    for step in (step / np.sqrt(prepared.data.sizes[sample]) for step in _FIRST_ORDER_STEPS):
        rounding = _EPSILON * estimate / step
        towards, away = _moved(prepared, sample, step, execution, bar)
        values = (towards - away) / (2 * step)
        values -= values.mean(axis=0)
        spread = np.abs(values).max(axis=0)
        if (rounding <= _ACCURACY * spread).all():
            break
    return np.where(spread > 10 * rounding, values, 0.0)


def finite_difference_bias(
    prepared: Prepared[Any], execution: Execution, standard_error: FloatArray | None = None
) -> FloatArray | None:
    """Return ``(1/2) sum_i sum_j d2_ij / n_i**2`` by second differences, shape ``(k,)``: two evaluations per row.

    None at a kink, where there is no second derivative and differences grow as one over the step: found where the bias
    is notable beside the standard error.
    """
    _check(prepared)
    centre, sizes = prepared.centre, prepared.data.sizes
    bias, kinked = np.zeros_like(centre), False
    least = np.inf if standard_error is None else _NOTABLE * standard_error
    with ProgressBar(2 * sum(sizes), unit="evaluation", shown=execution.progress) as bar:
        for sample, n in enumerate(sizes):
            step = _SECOND_ORDER_STEP / np.sqrt(n)
            towards, away = _moved(prepared, sample, step, execution, bar)
            second = towards - 2 * centre + away
            own = second.sum(axis=0) / (2 * step**2 * n**2)
            bias += own
            notable = np.flatnonzero(np.abs(own) > least)
            kinked = kinked or (notable.size > 0 and _has_kink(prepared, sample, step, second, notable))
    return None if kinked else bias


def _has_kink(prepared: Prepared[Any], sample: int, step: float, second: FloatArray, outputs: IntArray) -> bool:
    """Return whether second differences ``(n, k)`` grow with a shorter step, at the largest of each of some outputs."""
    rows = np.argmax(np.abs(second[:, outputs]), axis=0)
    moved = RowsMoved(prepared.data.sizes, sample, _LONGER * step)
    evaluation = prepared.evaluate(moved.resamples([*rows, *(rows + len(second))]))
    towards, away = np.split(complete_values(_ENGINE, evaluation)[:, outputs], 2)
    long = np.diag(towards - 2 * prepared.centre[outputs] + away) / _LONGER**2
    return bool((np.abs(second[rows, outputs]) > _GROWTH * np.abs(long)).any())


def _check(prepared: Prepared[Any]) -> None:
    if not prepared.functional.fractional:
        raise InfluenceError(
            'influence="finite-difference" needs a statistic with a `weights` parameter; this one gets whole rows. '
            'Give it one, or use influence="jackknife".'
        )


def _moved(
    prepared: Prepared[Any], sample: int, step: float, execution: Execution, bar: ProgressBar
) -> tuple[FloatArray, FloatArray]:
    """Return phi with the weight of each row of `sample` in turn moved up and down by `step`, each ``(n, k)``."""
    sizes = prepared.data.sizes
    section = f"{_ENGINE} {sample} {step!r}"
    evaluation = evaluations(prepared, RowsMoved(sizes, sample, step), 2 * sizes[sample], execution, section, bar)
    towards, away = np.split(complete_values(_ENGINE, evaluation), 2)
    return towards, away
