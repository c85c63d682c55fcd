"""Which influence function a run uses, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from orthoboot.arrays.passes import ranges
from orthoboot.autodiff import PACKAGES
from orthoboot.errors import (
    ArgumentError,
    InfluenceError,
    InfluenceMismatchWarning,
    OrthobootWarning,
)
from orthoboot.execution.execution import Execution
from orthoboot.functionals.base import Functional, Prepared
from orthoboot.functionals.user.differentiable import DifferentiableCallable
from orthoboot.functionals.user.user_function import CallableFunctional
from orthoboot.influence.engine_values import EngineInfluence, not_finite
from orthoboot.influence.finite_difference import finite_difference_influence
from orthoboot.influence.given import GivenFunction, given_influence
from orthoboot.influence.jackknife import jackknife_influence
from orthoboot.influence.probe import probed
from orthoboot.influence.units import Units, units_of
from orthoboot.plans import Plan
from orthoboot.typing import FloatArray, Influence, IntArray

GIVEN = "given by the user"
"""The source of influence values that the user brings."""

FINITE_DIFFERENCE_ROWS = 10_000

_LAST_DIGITS = 8 * float(np.finfo(np.float64).eps)
"""Influence values below this share of the value are rounding."""

ENGINES: dict[str, Callable[[Prepared[Any], Execution, Plan | None], EngineInfluence]] = {
    "finite-difference": finite_difference_influence,
    "jackknife": jackknife_influence,
}

EVALUATIONS_PER_UNIT = {"finite-difference": 2, "jackknife": 1}

_MOST_UNITS = {"finite-difference": FINITE_DIFFERENCE_ROWS, "jackknife": 2_000}
"""The most rows, or groups where these are drawn, for which "auto" chooses an engine where it needs one."""

_OF_GROUPS = {"finite-difference": "groups moved", "jackknife": "groups left out"}
"""What an engine does where whole groups are drawn."""


class InfluenceOfRows(Protocol):
    """Finds the influence function on the rows of a resample; can be pickled if what the user gave can."""

    def __call__(self, prepared: Prepared[Any], rows: tuple[IntArray, ...]) -> Influence | None:
        """Return one value for each of the rows, ``(N_i, k)`` for each sample; None where there is none."""
        ...

    def divided_by(self, unit: FloatArray) -> InfluenceOfRows:
        """Return the same for the statistic divided by a unit, shape ``(k,)``."""
        ...


class OwnFunction:
    """The closed form or the derivative that the statistic itself has."""

    def __call__(self, prepared: Prepared[Any], rows: tuple[IntArray, ...]) -> Influence | None:
        """Return the statistic's own influence function on the rows."""
        return prepared.influence_of_rows(rows)

    def divided_by(self, unit: FloatArray) -> OwnFunction:
        """Return itself: the statistic that it is asked of is divided already."""
        return self


@dataclass(frozen=True, eq=False)
class InfluenceFunction:
    """Influence values, their source and warnings about them.

    `values` is None where there is none, and `advice` then says what would bring one, where something would. `own` says
    that they are the statistic's own, unchanged, so that it can give their linear part itself. `of_rows` finds the
    influence function again on the rows of a resample; None where that would take evaluations of the statistic.
    `second_order_bias`, shape ``(k,)``, is known where the evaluations that found the values show it; NaN for outputs
    where it cannot be trusted. `evaluations` is how many of the statistic an engine took to find them.
    """

    values: Influence | None
    source: str
    warnings: tuple[OrthobootWarning, ...] = ()
    advice: str = ""
    own: bool = False
    of_rows: InfluenceOfRows | None = None
    second_order_bias: FloatArray | None = None
    evaluations: int = 0

    def divided_by(self, unit: FloatArray) -> InfluenceFunction:
        """Return the influence function of the statistic divided by a unit, shape ``(k,)``."""
        values = None if self.values is None else tuple(part / unit for part in self.values)
        of_rows = None if self.of_rows is None else self.of_rows.divided_by(unit)
        bias = None if self.second_order_bias is None else self.second_order_bias / unit
        return replace(self, values=values, of_rows=of_rows, second_order_bias=bias)

    def to_keep(self) -> InfluenceFunction:
        """Return it without a function that no other process could read, such as a lambda: results can be pickled."""
        is_local = isinstance(self.of_rows, GivenFunction) and self.of_rows.is_local
        return replace(self, of_rows=None) if is_local else self

    @cached_property
    def largest(self) -> FloatArray:
        """Return the largest absolute value of each output, shape ``(k,)``; NaN or infinite where one is."""
        return np.asarray(np.max(self.largest_by_sample, axis=0))

    @cached_property
    def largest_by_sample(self) -> tuple[FloatArray, ...]:
        """Return the same for the rows of each sample."""
        assert self.values is not None
        return tuple(ranges(part).largest for part in self.values)

    @property
    def is_finite(self) -> bool:
        """Return whether all values are numbers."""
        return bool(np.isfinite(self.largest).all())


def influence_for(
    request: Any,
    prepared: Prepared[Any],
    execution: Execution,
    replaced: int | None = None,
    plan: Plan | None = None,
) -> InfluenceFunction:
    """Return the influence function that `request` asks for.

    Parameters
    ----------
    request
        "auto", the name of an engine or of a package that differentiates, one array or one per sample, or a function
        of the samples.
    prepared
        The statistic at its data.
    execution
        How the evaluations of an engine are carried out.
    replaced
        How many ordinary replicates would do instead: "auto" chooses no engine that takes more evaluations. None where
        an influence function is needed in any case.
    plan
        How the rows are drawn: engines leave out or move what is drawn.
    """
    if isinstance(request, str):
        return _named(request, _Search(prepared, execution, plan), replaced)
    if request is None:
        raise ArgumentError('`influence` must not be None; for the ordinary bootstrap use estimator="standard".')
    values, findings = given_influence(request, prepared, execution)
    of_rows = GivenFunction(request) if callable(request) else None
    return InfluenceFunction(values, GIVEN, tuple(findings), of_rows=of_rows)


@dataclass(frozen=True, eq=False)
class _Search:
    """A statistic at its data, how its evaluations are carried out, and what a resample draws."""

    prepared: Prepared[Any]
    execution: Execution
    plan: Plan | None

    def evaluations(self, engine: str) -> int:
        """Return how many evaluations an engine needs."""
        return EVALUATIONS_PER_UNIT[engine] * sum(units.number for units in self.units)

    @cached_property
    def units(self) -> tuple[Units, ...]:
        """Return what an engine changes in turn: the rows of each sample, or its groups."""
        return units_of(self.prepared.data.sizes, self.plan)

    @property
    def most_units(self) -> int:
        """Return how many units the sample with the most of them has."""
        return max(units.number for units in self.units)

    def cost(self, engine: str) -> str:
        """Return a description of how many evaluations an engine needs."""
        return f"{self.evaluations(engine):,} evaluations"

    def described(self, engine: str) -> str:
        """Return an engine in words: its name, whether it changes groups, and what it costs."""
        grouped = any(units.groups is not None for units in self.units)
        return ", ".join([engine, *([_OF_GROUPS[engine]] if grouped else []), self.cost(engine)])

    def by_engine(self, engine: str, why: str) -> InfluenceFunction:
        """Return the influence function by an engine, with the reason for it, or raise an `InfluenceError`."""
        try:
            values, bias = ENGINES[engine](self.prepared, self.execution, self.plan)
        except InfluenceError as error:
            raise InfluenceError(f"{error}{self.prepared.data.samples_hint}") from error
        source, evaluations = f"{self.described(engine)} ({why})", self.evaluations(engine)
        found = InfluenceFunction(values, source, second_order_bias=bias, evaluations=evaluations)
        if not found.is_finite:
            raise not_finite(engine)
        return found


def _named(request: str, search: _Search, replaced: int | None) -> InfluenceFunction:
    if request == "auto":
        return _automatic(search, replaced)
    if request in PACKAGES:
        return _differentiated(request, search.prepared, search.execution)
    if request not in ENGINES:
        names = ", ".join(repr(name) for name in ("auto", *PACKAGES, *ENGINES, "regression"))
        raise ArgumentError(f"`influence` must be one of {names}, an array or a function; got {request!r}.")
    return search.by_engine(request, "as asked")


def closed_form(prepared: Prepared[Any], execution: Execution) -> InfluenceFunction | None:
    """Return the influence function that the statistic has in closed form, or None.

    One that is not finite at these data is no influence function: `values` is None, and `source` says why.
    """
    try:
        own = prepared.influence()
    except InfluenceError as error:  # the automatic choice must not end a run that the standard bootstrap can do
        return InfluenceFunction(None, f"none ({str(error).rstrip('.')})")
    if own is None:
        return None
    found = InfluenceFunction(own, prepared.influence_source, own=True, of_rows=OwnFunction())
    if not found.is_finite:
        name = prepared.functional.name
        return InfluenceFunction(None, f"none (the closed form of `{name}` is not finite at these data)")
    found = _without_rounding(found, prepared)
    hidden = _hidden(prepared, own, execution)
    return replace(found, warnings=hidden) if hidden else found


def check_of_resamples(asker: str, request: Any, prepared: Prepared[Any]) -> None:
    """Raise an `InfluenceError` unless `request` is for an influence function that resamples have without refits.

    Called before anything is evaluated: an engine would take as many evaluations on every resample as on the data.

    Parameters
    ----------
    asker
        What needs it, as the user writes it.
    request
        As for `influence_for`.
    prepared
        The statistic at its data.
    """
    if request is None or (isinstance(request, str) and request in PACKAGES):
        return  # `influence_for` has the words
    if isinstance(request, str) and request == "auto":
        name = prepared.functional.name
        if not _has_own(prepared):
            raise not_of_resamples(asker, f"`{name}` has none in closed form")
    elif isinstance(request, str) and request in (*ENGINES, "regression"):
        raise not_of_resamples(asker, f'influence="{request}" finds it by evaluations of the statistic')
    elif not (isinstance(request, str) or callable(request)):
        raise not_of_resamples(asker, "`influence` is that of the data alone")


def _has_own(prepared: Prepared[Any]) -> bool:
    try:
        return prepared.influence() is not None
    except InfluenceError:  # which the search for it puts into words
        return True


def not_of_resamples(asker: str, reason: str) -> InfluenceError:
    """Return the error that resamples have no influence function of their own, with the reason and what to use."""
    return InfluenceError(
        f"{asker} needs the influence function of every resample, and {reason}. Use an entry of the catalogue, a "
        "function with a `weights` parameter written in jax or torch, or `influence=` a function of the samples; or "
        'method="bca".'
    )


def _differentiated(package: str, prepared: Prepared[Any], execution: Execution) -> InfluenceFunction:
    """Return the derivative of a function of `package`; raise for other statistics."""
    own = prepared.influence() if isinstance(prepared.functional, DifferentiableCallable) else None
    if own is None:
        raise InfluenceError(
            f'influence="{package}" is for functions with a `weights` parameter that are written in {package}; '
            f"`{prepared.functional.name}` is not."
        )
    hidden = _hidden(prepared, own, execution)
    return InfluenceFunction(own, prepared.influence_source, hidden, of_rows=OwnFunction())


def _hidden(prepared: Prepared[Any], influence: Influence, execution: Execution) -> tuple[OrthobootWarning, ...]:
    """Return a warning if a finite difference contradicts the automatic derivative."""
    is_differentiated = isinstance(prepared.functional, DifferentiableCallable)
    probe = probed(influence, prepared, execution) if is_differentiated else None
    if probe is None or probe.agrees.all():
        return ()
    worst = int(np.argmax(probe.disagreement))
    return (
        InfluenceMismatchWarning(
            f"the derivative of `{prepared.output.names[worst]}` disagrees with its changes: in a trial direction it "
            f"changes by {probe.found[0, worst]:.4g}, and the derivative predicts {probe.predicted[0, worst]:.4g}. "
            "The derivative misses what `float()`, `.item()`, `detach` and `stop_gradient` hide, or the function has "
            "steps or kinks. The replicates decide how far to trust it."
        ),
    )


def _automatic(search: _Search, replaced: int | None) -> InfluenceFunction:
    """Return the closed-form influence, else that of an engine that is worth its evaluations, else none."""
    prepared = search.prepared
    own = closed_form(prepared, search.execution)
    if own is not None:
        return own
    kind = _kind(prepared.functional)
    engine = _affordable(search, replaced)
    if engine is None:
        return _too_dear(kind, search, replaced)
    try:
        return search.by_engine(engine, f"automatic for a {kind} of {sum(prepared.data.sizes):,} rows")
    except InfluenceError as error:  # the automatic choice must not end a run that the standard bootstrap can do
        return InfluenceFunction(None, f"none ({str(error).rstrip('.')})")


def _kind(functional: Functional) -> str:
    """Return in words how a statistic without an influence function of its own is called."""
    if functional.fractional:
        return "weights-aware function"
    refusal = functional.weights_refusal if isinstance(functional, CallableFunctional) else ""
    return f"plain function, since its `weights` do not work: {refusal}," if refusal else "plain function"


def _too_dear(kind: str, search: _Search, replaced: int | None) -> InfluenceFunction:
    """Return no influence function, with the reason and advice, since an engine takes too many evaluations."""
    engine = _engines(search.prepared)[0 if replaced is None else -1]
    limit = (
        f"{engine} is automatic only up to {_MOST_UNITS[engine]:,}"
        if replaced is None
        else f"{engine} would take {search.cost(engine)}, more than the {replaced:,} replicates it replaces"
    )
    rows = sum(search.prepared.data.sizes)
    return InfluenceFunction(None, f"none (a {kind} of {rows:,} rows, and {limit})", advice=_advice(engine, search))


def _engines(prepared: Prepared[Any]) -> tuple[str, ...]:
    """Return the engines that suit the statistic, the best one first and the cheapest one last."""
    return ("finite-difference", "jackknife") if prepared.functional.fractional else ("jackknife",)


def _affordable(search: _Search, replaced: int | None) -> str | None:
    """Return the best engine that takes no more evaluations than the replicates it replaces, or None."""
    engines = _engines(search.prepared)
    if replaced is None:
        return next((engine for engine in engines if search.most_units <= _MOST_UNITS[engine]), None)
    return next((engine for engine in engines if search.evaluations(engine) <= replaced), None)


def _advice(engine: str, search: _Search) -> str:
    """Return advice if an engine would need too many evaluations."""
    return (
        "To need fewer replicates, write it in jax or torch with a `weights` parameter, so that it can be "
        "differentiated; or pass `influence=ob.regression_on(features)` if it is close to a function of a few means, "
        f'your own values, or "{engine}", {search.cost(engine)}.'
    )


def _without_rounding(found: InfluenceFunction, prepared: Prepared[Any]) -> InfluenceFunction:
    """Return the influence values, zero for outputs where all of them are below the last digit of the value.

    Where the rows themselves differ in their last digits only, such values are no rounding.
    """
    rounding = (found.largest > 0) & (found.largest < _LAST_DIGITS * np.abs(prepared.estimate))
    if found.values is None or not rounding.any() or prepared.data.has_few_digits:
        return found
    kept = np.where(rounding, 0.0, 1.0)  # a factor, since values in pieces are no arrays
    return replace(found, values=tuple(part * kept for part in found.values), own=False)
