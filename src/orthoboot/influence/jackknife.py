"""Influence values of any statistic by leaving out one row, or one group, at a time."""

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
from orthoboot.plans import Plan
from orthoboot.typing import FloatArray, Influence, IntArray


@dataclass(frozen=True, eq=False)
class UnitsLeftOut:
    """Weights that leave out one unit: a row, or a group where whole groups are drawn.

    Attributes
    ----------
    sizes
        Rows of each sample.
    sample
        From which sample.
    codes
        The group of each of its rows, shape ``(n,)``; None to leave out rows.
    """

    sizes: tuple[int, ...]
    sample: int
    codes: IntArray | None = None

    def resamples(self, numbers: Sequence[int]) -> Resamples:
        """Return the data without each of these units in turn."""
        weights = tuple(np.ones((len(numbers), n)) for n in self.sizes)
        for place, unit in enumerate(numbers):
            weights[self.sample][place, unit if self.codes is None else self.codes == unit] = 0.0
        return Resamples(weights)


def jackknife_influence(prepared: Prepared[Any], execution: Execution, plan: Plan | None = None) -> Influence:
    """Return ``(n - 1) (phi_hat - phi_without_j)``, centred: one evaluation per row (R's ``empinf(type = "jack")``).

    Where the plan draws whole groups these are left out instead: rows left out one by one would not show what varies
    between groups. The rows of a group share its value, ``n / (G n_g) (G - 1) (phi_hat - phi_without_g)`` each.
    """
    sizes, estimate = prepared.data.sizes, prepared.estimate
    columns = []
    with ProgressBar(sum(jackknife_units(prepared, plan)), unit="evaluation", shown=execution.progress) as bar:
        for sample, n_units in enumerate(jackknife_units(prepared, plan)):
            codes = _group_codes(plan, sample)
            source = UnitsLeftOut(sizes, sample, codes)
            section = f"jackknife {sample}" if codes is None else f"jackknife of groups {sample}"
            without = complete_values("jackknife", evaluations(prepared, source, n_units, execution, section, bar))
            values = _centred((n_units - 1) * (estimate - without), estimate)
            columns.append(values if codes is None else _shared(values, codes))
    return tuple(columns)


def jackknife_units(prepared: Prepared[Any], plan: Plan | None) -> tuple[int, ...]:
    """Return how many units of each sample the jackknife leaves out in turn: its rows, or its groups."""
    codes = [_group_codes(plan, sample) for sample in range(len(prepared.data.sizes))]
    return tuple(n if one is None else int(one.max()) + 1 for n, one in zip(prepared.data.sizes, codes, strict=True))


def _group_codes(plan: Plan | None, sample: int) -> IntArray | None:
    return None if plan is None else plan.schemes[sample].group_codes


def _shared(values: FloatArray, codes: IntArray) -> FloatArray:
    """Return the values of groups ``(G, k)`` as values of their rows ``(n, k)``, which add up to n/G times as much."""
    sizes = np.bincount(codes)
    return (values * (len(codes) / len(values) / sizes)[:, np.newaxis])[codes]


def _centred(values: FloatArray, estimate: FloatArray) -> FloatArray:
    """Return `values` minus their mean; columns that are rounding alone are set to zero."""
    rounding = len(values) * float(np.finfo(np.float64).eps) * np.abs(estimate)
    centred = values - values.mean(axis=0)
    return np.where(np.abs(centred).max(axis=0) > 10 * rounding, centred, 0.0)
