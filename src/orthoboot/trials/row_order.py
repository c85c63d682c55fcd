"""Whether a statistic depends on the order of the rows, which a resample does not keep."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoboot.errors import OrthobootWarning, RowOrderWarning
from orthoboot.functionals.base import Prepared
from orthoboot.functionals.user.outside import n_rows_of, read_from_outside
from orthoboot.functionals.user.user_function import CallableFunctional
from orthoboot.influence.probe import PROBE_SEED
from orthoboot.plans import Plan
from orthoboot.typing import FloatArray, IntArray

_HARMLESS = 0.5
"""In standard errors: a fit that draws rows by their position, as forests and stochastic gradients do, moves less."""

_SAME_VALUE = 1e-6
"""A relative change that summing in another order, or an iterative fit from other rounding, makes."""


def row_order_finding(prepared: Prepared[Any], plan: Plan, standard_error: FloatArray) -> tuple[OrthobootWarning, ...]:
    """Return a warning if the statistic of the rows in another order is another: one evaluation.

    Only a user's function is tried. The rows keep what the plan keeps: strata their places, groups their rows.
    """
    rows = _reordered(plan) if prepared.functional.by_user else None
    if rows is None:
        return ()
    value = _value(prepared, rows)
    if value is None:
        return ()
    change = np.abs(value - prepared.estimate)
    bound = _bound_rows(prepared)
    harmless = _SAME_VALUE if bound else _HARMLESS
    real = change > np.maximum(harmless * standard_error, _SAME_VALUE * np.abs(prepared.estimate))
    if not real.any() or _is_random(prepared, standard_error):
        return ()
    worst = int(np.argmax(np.where(real, change, -1.0)))
    name = prepared.functional.name if prepared.output.is_scalar else prepared.output.names[worst]
    return (
        RowOrderWarning(
            f"`{name}` depends on the order of the rows: with the same rows in another order it is {value[worst]:.6g} "
            f"instead of {prepared.estimate[worst]:.6g}. Rows that are drawn independently have no order. "
            f"{_remedy(bound)}"
        ),
    )


def _reordered(plan: Plan) -> tuple[IntArray, ...] | None:
    generator = np.random.default_rng(PROBE_SEED)
    rows = [scheme.reordered(generator) for scheme in plan.schemes]
    known = tuple(part for part in rows if part is not None)
    return known if len(known) == len(rows) else None


def _value(prepared: Prepared[Any], rows: tuple[IntArray, ...]) -> FloatArray | None:
    """Return the statistic of the rows in their order, or None if it has no finite value there."""
    try:
        value = prepared.value_of_rows(rows)
    except Exception:  # the user's function may raise anything; a replicate that does is reported
        return None
    return value if np.isfinite(value).all() else None


def _is_random(prepared: Prepared[Any], standard_error: FloatArray) -> bool:
    """Return whether the statistic differs from itself on the same rows in the same order."""
    value = _value(prepared, tuple(np.arange(n) for n in prepared.data.sizes))
    same = _SAME_VALUE * np.maximum(np.abs(prepared.estimate), standard_error)
    return value is None or bool((np.abs(value - prepared.estimate) > same).any())


def _bound_rows(prepared: Prepared[Any]) -> str:
    """Return the name of something with one value per row that the function reads besides its samples, or nothing."""
    if not isinstance(prepared.functional, CallableFunctional):
        return ""
    sizes = set(prepared.data.sizes)
    read = read_from_outside(prepared.functional.function)
    return next((name for name, value in read if n_rows_of(value) in sizes), "")


def _remedy(bound: str) -> str:
    if bound:
        return (
            f"`{bound}`, which it reads, has one value per row and stays in its place while the rows are drawn: pass "
            "it as a further sample, `ob.bootstrap((x, w), lambda x, w: ..., paired=True)`."
        )
    return (
        "For rows in time order pass `block_length`. Where a fit with a fixed seed draws rows by their position, as "
        "forests do, this is its own noise: more trees or starts make it smaller."
    )
