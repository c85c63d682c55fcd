"""Which influence function a run uses, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoboot.autodiff import PACKAGES
from orthoboot.data import Data
from orthoboot.errors import (
    ArgumentError,
    InfluenceError,
    InfluenceMismatchWarning,
    MissingDependencyError,
    OrthobootWarning,
)
from orthoboot.functionals import Functional, Output
from orthoboot.functionals.user.differentiable import DifferentiableCallable
from orthoboot.influence.finite_difference import finite_difference_influence
from orthoboot.influence.given import given_influence
from orthoboot.influence.jackknife import jackknife_influence
from orthoboot.influence.probe import probed
from orthoboot.typing import Influence

GIVEN = "given by the user"
"""The source of influence values that the user brings."""

FINITE_DIFFERENCE_ROWS = 10_000
JACKKNIFE_ROWS = 2_000

ENGINES: dict[str, Callable[[Functional, Data, bool | None], Influence]] = {
    "finite-difference": finite_difference_influence,
    "jackknife": jackknife_influence,
}

EVALUATIONS_PER_ROW = {"finite-difference": 2, "jackknife": 1}


@dataclass(frozen=True, eq=False)
class Found:
    """An influence function, where it comes from and what is odd about it.

    `values` is None where there is none, and `advice` then says what would bring one, where something would.
    """

    values: Influence | None
    source: str
    warnings: tuple[OrthobootWarning, ...] = ()
    advice: str = ""


def influence_for(
    request: Any, functional: Functional, data: Data, output: Output, progress: bool | None = None
) -> Found:
    """Return the influence function that `request` asks for.

    Parameters
    ----------
    request
        "auto", the name of an engine or of a package that differentiates, one array or one per sample, or a function
        of the samples.
    progress
        Whether an engine shows a progress bar; None for long work on a terminal.
    """
    if isinstance(request, str):
        if request == "auto":
            return _automatic(functional, data, progress)
        if request in PACKAGES:
            return _differentiated(request, functional, data)
        if request not in ENGINES:
            names = ", ".join(repr(name) for name in ("auto", *PACKAGES, *ENGINES, "regression"))
            raise ArgumentError(f"`influence` must be one of {names}, an array or a function; got {request!r}.")
        return Found(
            _engine_values(request, functional, data, progress), f"{request}, {_cost(request, data)} (as asked)"
        )
    if request is None:
        raise ArgumentError('`influence` must not be None; for the ordinary bootstrap use estimator="standard".')
    values, findings = given_influence(request, functional, data, output)
    return Found(values, GIVEN, tuple(findings))


def closed_form(functional: Functional, data: Data) -> Found | None:
    """Return the influence function that the statistic brings; None where it brings none.

    One that is not finite at these data is no influence function: `values` is None, and `source` says why.
    """
    try:
        own = functional.influence(data)
    except InfluenceError as error:  # the automatic choice must not end a run that the standard bootstrap can do
        return Found(None, f"none ({str(error).rstrip('.')})")
    if own is None:
        return None
    if not _is_finite(own):
        return Found(None, f"none (the closed form of `{functional.name}` is not finite at these data)")
    return Found(own, functional.influence_source, _hidden(functional, own, data))


def _differentiated(package: str, functional: Functional, data: Data) -> Found:
    """Return the derivative of a function that was taken as one of `package`; raise for anything else."""
    own = functional.influence(data) if isinstance(functional, DifferentiableCallable) else None
    if own is None:
        raise InfluenceError(
            f'influence="{package}" is for functions with a `weights` parameter that are written in {package}; '
            f"`{functional.name}` is none."
        )
    return Found(own, functional.influence_source, _hidden(functional, own, data))


def _hidden(functional: Functional, influence: Influence, data: Data) -> tuple[OrthobootWarning, ...]:
    """Return a warning where a finite difference shows what automatic differentiation has not seen."""
    probe = probed(influence, functional, data) if isinstance(functional, DifferentiableCallable) else None
    if probe is None or probe.agrees.all():
        return ()
    worst = int(np.argmax(probe.disagreement))
    return (
        InfluenceMismatchWarning(
            f"the derivative of `{functional.output(data).names[worst]}` disagrees with its changes: in a trial "
            f"direction it changes by {probe.found[0, worst]:.4g}, and the derivative says "
            f"{probe.predicted[0, worst]:.4g}. What `float()`, `.item()`, `detach` and `stop_gradient` hide has no "
            "part in the derivative; or the function has steps or kinks. The replicates decide how far to trust it."
        ),
    )


def _automatic(functional: Functional, data: Data, progress: bool | None) -> Found:
    """Return the statistic's own influence, else the engine its kind and size allow, else none."""
    own = closed_form(functional, data)
    if own is not None:
        return own
    n = max(data.sizes)
    if functional.fractional:
        engine, limit, kind = "finite-difference", FINITE_DIFFERENCE_ROWS, "weights-aware function"
    else:
        engine, limit, kind = "jackknife", JACKKNIFE_ROWS, "plain function"
    if n > limit:
        source = f"none (a {kind} of {n:,} rows, and {engine} is automatic only up to {limit:,})"
        return Found(None, source, advice=_advice(engine, data))
    try:
        values = _engine_values(engine, functional, data, progress)
    except InfluenceError as error:  # the automatic choice must not end a run that the standard bootstrap can do
        return Found(None, f"none ({str(error).rstrip('.')})")
    return Found(values, f"{engine}, {_cost(engine, data)} (automatic for a {kind} of {n:,} rows)")


def _advice(engine: str, data: Data) -> str:
    """Return how to need fewer replicates where an engine would cost too many evaluations."""
    return (
        "To need fewer replicates write it in jax or torch with a `weights` parameter, which are differentiated; or "
        "pass `influence=ob.regression_on(features)` if it is close to a function of a few means, values of your own, "
        f'or "{engine}", {_cost(engine, data)}.'
    )


def _cost(engine: str, data: Data) -> str:
    """Return in words how often an engine has evaluated the statistic."""
    return f"{EVALUATIONS_PER_ROW[engine] * sum(data.sizes):,} evaluations"


def _engine_values(engine: str, functional: Functional, data: Data, progress: bool | None) -> Influence:
    """Return what an engine finds, or raise an `InfluenceError` that says why it finds nothing."""
    try:
        values = ENGINES[engine](functional, data, progress)
    except (InfluenceError, MissingDependencyError):
        raise
    except Exception as error:  # whatever the user's function raises is told with its cause
        raise InfluenceError(
            f'influence="{engine}" failed, since the statistic raised {type(error).__name__}: '
            f"{str(error).rstrip('.')}.{data.samples_hint}"
        ) from error
    if not _is_finite(values):
        raise InfluenceError(
            f'influence="{engine}" gave values that are not finite: the statistic is not differentiable at these data, '
            'or undefined when a row is left out; use estimator="standard" or give `influence` yourself.'
        )
    return values


def _is_finite(values: Influence) -> bool:
    return all(bool(np.isfinite(part).all()) for part in values)
